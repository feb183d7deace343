package sql

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"idpool/alloc"
)

// claimer makes rounds of calls on the pool p and the sequence q with several callers, until the pool is exhausted. It
// writes what a round was answered, or may have done, as lines in one piece, when it has it.
func claimer(path string, out io.Writer) error {
	s, err := OpenSQLite(context.Background(), Config{Path: path})
	if err != nil {
		return err
	}
	defer s.Close()
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			for n := i; ; n++ {
				r := round{s: s}
				err := r.calls(n)
				io.WriteString(out, r.lines.String()) // at once: a process that is killed writes all of it or nothing
				if err != nil && !mayRepeat(err) {
					if !alloc.Is(err, alloc.CodePoolExhausted) {
						fmt.Fprintln(os.Stderr, err)
						os.Exit(1)
					}
					return
				}
			}
		})
	}
	callers.Wait()
	return nil
}

// round is one round of calls of one caller. Its lines say what was answered: who has an ID for good ("has ID TOKEN"), who
// had it and may have it no longer ("had ID TOKEN"), and who leased what ("range FIRST LAST").
type round struct {
	s     *Store
	lines strings.Builder
}

func (r *round) calls(n int) error {
	ctx := context.Background()
	if n%40 == 39 {
		if _, err := r.s.Sweep(ctx, "p"); err != nil {
			return err
		}
	}
	o := one("p")
	if n%2 == 0 {
		o.Key = alloc.NewKey("c", "claim", "pool/p", fmt.Sprint(os.Getpid(), rand.Uint64()))
	}
	var err error
	switch n % 5 {
	case 0: // for good
		err = r.claim(o, "has", "")
	case 1: // held and confirmed
		o.Hold = alloc.MaxHold
		err = r.claim(o, "has", alloc.EventConfirm)
	case 2: // held and given back
		o.Hold = alloc.MaxHold
		err = r.claim(o, "had", alloc.EventRelease)
	case 3: // given back
		err = r.claim(o, "had", alloc.EventRelease)
	default: // held and left to itself
		o.Key, o.Hold = nil, time.Second
		err = r.claim(o, "had", "")
	}
	if err != nil {
		return err
	}
	l, err := r.s.Lease(ctx, alloc.LeaseOrder{Sequence: "q", Count: alloc.Count(1 + n%7), By: "test"})
	if err == nil {
		fmt.Fprintf(&r.lines, "range %d %d\n", l.Start, l.End)
	}
	return err
}

// claim claims, repeats that if it can, and settles what it got, twice.
func (r *round) claim(o alloc.ClaimOrder, becomes string, e alloc.Event) error {
	ctx := context.Background()
	c, err := r.s.Claim(ctx, o)
	if err != nil {
		return err
	}
	for _, id := range c.IDs {
		fmt.Fprintf(&r.lines, "%s %s %s\n", becomes, id, c.Token)
	}
	if o.Key != nil {
		again, err := r.s.Claim(ctx, o)
		if err != nil {
			return err
		}
		if !again.Replayed || !slices.Equal(again.IDs, c.IDs) || again.Token != c.Token || again.State != c.State {
			return fmt.Errorf("a repeat was answered with %+v, first %+v", again, c)
		}
	}
	if e == "" {
		return nil
	}
	order := alloc.SettleOrder{Pool: o.Pool, Event: e, IDs: c.IDs, Token: c.Token}
	if _, err := r.s.Settle(ctx, order); err != nil {
		return err
	}
	_, err = r.s.Settle(ctx, order)
	if e == alloc.EventRelease && alloc.Is(err, alloc.CodeNotOwner) {
		return nil // somebody else has claimed and released it since
	}
	return err
}

func mayRepeat(err error) bool {
	return alloc.Is(err, alloc.CodeBusy) || alloc.Is(err, alloc.CodeUnavailable)
}
