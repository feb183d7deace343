package dynamotest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// trailRun is one random schedule of the trail: several processes with clocks of their own, around the end of a month, record steps and
// repeat what failed, and single writes are lost, applied without an answer, or come late.
type trailRun struct {
	mem    *Memory
	mutate func(*Call) (skip bool)
	now    time.Time

	mu   sync.Mutex
	rng  *rand.Rand
	late []Call
}

func newTrailRun(seed uint64, mutate func(*Call) bool) *trailRun {
	return &trailRun{
		mem: NewMemory(), mutate: mutate, rng: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // a schedule, no secret
		now: time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC),
	}
}

func (r *trailRun) draw(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rng.IntN(n)
}

// table makes trouble for writes, and lets late ones in.
func (r *trailRun) table() dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		if !c.Write() {
			return c.Do(ctx, r.mem)
		}
		if r.mutate != nil && r.mutate(&c) {
			return Answer{}
		}
		if r.draw(4) == 0 {
			r.letIn()
		}
		switch r.draw(12) {
		case 0:
			return LostRequest.Apply(ctx, c, r.mem)
		case 1:
			return AppliedButFailed.Apply(ctx, c, r.mem)
		case 2:
			return Refused.Apply(ctx, c, r.mem)
		case 3:
			return Repeated.Apply(ctx, c, r.mem)
		case 4:
			r.mu.Lock()
			r.late = append(r.late, c)
			r.mu.Unlock()
			return LostRequest.Apply(ctx, c, r.mem)
		}
		return c.Do(ctx, r.mem)
	})
}

// letIn makes a write that is late.
func (r *trailRun) letIn() bool {
	r.mu.Lock()
	if len(r.late) == 0 {
		r.mu.Unlock()
		return false
	}
	i := r.rng.IntN(len(r.late))
	c := r.late[i]
	r.late = append(r.late[:i:i], r.late[i+1:]...)
	r.mu.Unlock()
	c.Do(context.Background(), r.mem)
	return true
}

// open starts a process, whose clock is off by up to two minutes or by a month.
func (r *trailRun) open() (*dynamo.Store, error) {
	off := time.Duration(r.draw(240)-120) * time.Second
	if r.draw(6) == 0 {
		off += 31 * 24 * time.Hour
	}
	return dynamo.New(dynamo.Config{Table: r.table(), Now: func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now = r.now.Add(200 * time.Millisecond)
		return r.now.Add(off)
	}})
}

func (r *trailRun) time() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// play records so many steps, some of them by two at once, and says what is wrong with the trail then.
func (r *trailRun) play(ctx context.Context, steps int) string {
	var all sync.WaitGroup
	wrong := make([]string, steps)
	for n := range steps {
		rec := alloc.AuditRecord{
			ID: fmt.Sprintf("step-%03d", n), At: r.time(), Client: "c", Role: "manage:*", Action: "pool.create", Target: "pool/p", Result: "ok",
		}
		for range 1 + r.draw(2) {
			all.Go(func() {
				for try := range 200 {
					s, err := r.open()
					if err != nil {
						wrong[n] = err.Error()
						return
					}
					mine := rec
					mine.Detail = fmt.Sprint("try ", try)
					if r.draw(3) == 0 && s.Intend(ctx, mine) != nil {
						continue
					}
					if s.Record(ctx, mine) == nil {
						return
					}
				}
				wrong[n] = rec.ID + " could not be recorded"
			})
		}
	}
	all.Wait()
	for r.letIn() {
	}
	for _, w := range wrong {
		if w != "" {
			return w
		}
	}
	return r.verify(ctx, steps)
}

// verify reads the whole trail, undisturbed, and holds it against what was promised.
func (r *trailRun) verify(ctx context.Context, steps int) string {
	s, err := dynamo.New(dynamo.Config{Table: r.mem, Now: func() time.Time { return r.now }})
	if err != nil {
		return err.Error()
	}
	months, err := s.Months(ctx)
	if err != nil {
		return err.Error()
	}
	times, previous, total := map[string]int{}, "", 0
	for _, m := range months {
		chain, err := s.Chain(ctx, m.Month, 0, 10_000)
		if err != nil {
			return err.Error()
		}
		for i, rec := range chain {
			times[rec.ID]++
			total++
			switch {
			case rec.Position != int64(i+1):
				return fmt.Sprintf("%s has position %d behind position %d", m.Month, rec.Position, i)
			case rec.Previous != previous:
				return fmt.Sprintf("%s/%d does not have the hash of the one before it", m.Month, rec.Position)
			case !rec.Intact():
				return fmt.Sprintf("%s/%d is not intact", m.Month, rec.Position)
			}
			previous = rec.Hash
		}
		if last := len(chain); m.Last != int64(last) || last == 0 || chain[last-1].Hash != m.Hash {
			return fmt.Sprintf("the end of %s is kept as %d, and the chain has %d", m.Month, m.Last, last)
		}
	}
	for n := range steps {
		if id := fmt.Sprintf("step-%03d", n); times[id] != 1 {
			return fmt.Sprintf("%s is recorded %d times", id, times[id])
		}
	}
	list, err := s.Records(ctx, "", 10_000)
	if err != nil || len(list) != total || total != steps {
		return fmt.Sprintf("the trail has %d records, its chains %d, of %d: %v", len(list), total, steps, err)
	}
	left, err := s.Intended(ctx, r.now.Add(100*24*time.Hour), 1000)
	if err != nil || len(left) > 0 {
		return fmt.Sprintf("%d steps are intended, and recorded: %v", len(left), err)
	}
	return ""
}

const trailSteps = 14

func TestTheTrailIsOneChainWhateverHappensToItsWrites(t *testing.T) {
	runs := uint64(150)
	if raced {
		runs = 40
	}
	most := 0
	for seed := range runs {
		r := newTrailRun(seed, nil)
		if wrong := r.play(t.Context(), trailSteps); wrong != "" {
			t.Fatalf("schedule %d: %s", seed, wrong)
		}
		months := 0
		for _, it := range r.mem.Items() {
			if it.Str("pk") == "A#months" && it.Str("sk") != "0" {
				months++
			}
		}
		most = max(most, months)
	}
	if most < 2 {
		t.Errorf("no schedule went over the end of a month")
	}
}

// isChained tells whether the call puts an item of a chain: a record, or with next what closes the month.
func isChained(c *Call, closes bool) bool {
	if c.Op != OpPut || !strings.HasPrefix(c.Key().PK, "A#20") {
		return false
	}
	return (c.Item.Str("next") != "") == closes
}

func TestMutantsOfTheTrailAreCaught(t *testing.T) {
	unconditional := func(match func(*Call) bool) func(*Call) bool {
		return func(c *Call) bool {
			if match(c) {
				c.Cond = dynamo.Cond{}
			}
			return false
		}
	}
	isPut := func(pk, but string) func(*Call) bool {
		return func(c *Call) bool { return c.Op == OpPut && c.Key().PK == pk && c.Key().SK != but }
	}
	for name, mutate := range map[string]func(*Call) bool{
		"a record is put over another":         unconditional(func(c *Call) bool { return isChained(c, false) }),
		"a month is closed over a record":      unconditional(func(c *Call) bool { return isChained(c, true) }),
		"a month is not closed":                func(c *Call) bool { return isChained(c, true) },
		"the end of a month may be lowered":    unconditional(isPut("A#months", "0")),
		"the trail begins in two months":       unconditional(func(c *Call) bool { return c.Key() == dynamo.Key{PK: "A#months", SK: "0"} }),
		"what is known of an ID is put anew":   unconditional(isPut("A#known", "")),
		"nothing is known of an ID":            func(c *Call) bool { return isPut("A#known", "")(c) },
		"the end of a month is not kept":       func(c *Call) bool { return isPut("A#months", "0")(c) },
		"an intent stays when it was recorded": func(c *Call) bool { return c.Op == OpDelete || c.Op == OpUpdate && c.Key().PK == "A#known" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(3000) {
				if newTrailRun(seed, mutate).play(t.Context(), trailSteps) != "" {
					return
				}
			}
			t.Error("not caught")
		})
	}
}
