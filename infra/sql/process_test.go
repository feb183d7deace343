package sql

import (
	"bufio"
	"context"
	dbsql "database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"idpool/alloc"
)

// TestMain runs the test binary as one of several processes when it is started with "claimer PATH" or "opener PATH".
func TestMain(m *testing.M) {
	flag.Parse()
	switch args := flag.Args(); {
	case len(args) == 2 && args[0] == "claimer":
		if err := claimer(args[1], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(args) == 2 && args[0] == "opener":
		fmt.Println(opener(args[1]))
	default:
		os.Exit(m.Run())
	}
}

// opener opens the file and says what came of it.
func opener(path string) string {
	s, err := OpenSQLite(context.Background(), Config{Path: path})
	switch {
	case errors.Is(err, ErrReadOnly):
		return "read-only"
	case errors.Is(err, ErrNoAccess):
		return "no access"
	case err != nil:
		return err.Error()
	}
	return errors.Join(errors.New("opened"), s.Close()).Error()
}

// claimer claims from the pool p and leases from the sequence q with several callers, until the pool is exhausted. It
// writes each answer as a line, when it has it.
func claimer(path string, out io.Writer) error {
	s, err := OpenSQLite(context.Background(), Config{Path: path})
	if err != nil {
		return err
	}
	defer s.Close()
	var callers sync.WaitGroup
	var mu sync.Mutex
	for i := range 4 {
		callers.Go(func() {
			for n := 0; ; n++ {
				lines, err := calls(s, i+n)
				mu.Lock()
				for _, line := range lines {
					fmt.Fprintln(out, line)
				}
				mu.Unlock()
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

// calls makes one round of calls and returns what was answered.
func calls(s *Store, n int) (lines []string, err error) {
	ctx := context.Background()
	o := one("p")
	if n%3 == 0 {
		key := fmt.Sprint(os.Getpid(), rand.Uint64())
		o.Key = alloc.NewKey("c", "claim", "pool/p", key)
	}
	c, err := s.Claim(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, id := range c.IDs {
		lines = append(lines, fmt.Sprintf("id %s %s", id, c.Token))
	}
	if o.Key != nil {
		again, err := s.Claim(ctx, o)
		if err != nil {
			return lines, err
		}
		if !again.Replayed || !slices.Equal(again.IDs, c.IDs) || again.Token != c.Token {
			return lines, fmt.Errorf("a repeat was answered with %+v, first %+v", again, c)
		}
	}
	r, err := s.Lease(ctx, alloc.LeaseOrder{Sequence: "q", Count: alloc.Count(1 + n%7), By: "test"})
	if err != nil {
		return lines, err
	}
	return append(lines, fmt.Sprintf("range %d %d", r.Start, r.End)), nil
}

func mayRepeat(err error) bool {
	return alloc.Is(err, alloc.CodeBusy) || alloc.Is(err, alloc.CodeUnavailable)
}

// process is a running claimer.
type process struct {
	cmd     *exec.Cmd
	answers chan string // its lines, closed when there are no more
}

func start(t *testing.T, path string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], "claimer", path), answers: make(chan string)}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.answers)
		for in := bufio.NewReader(out); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return // what is left has no end: it was cut off while it was written
			}
			p.answers <- strings.TrimSuffix(line, "\n")
		}
	}()
	return p
}

// some returns the next n answers, or as many as there are.
func (p *process) some(n int) (lines []string) {
	for range n {
		line, more := <-p.answers
		if !more {
			break
		}
		lines = append(lines, line)
	}
	return lines
}

// wait returns the rest of the answers, and how the process ended.
func (p *process) wait() ([]string, error) {
	var lines []string
	for line := range p.answers {
		lines = append(lines, line)
	}
	return lines, p.cmd.Wait()
}

// account is everything that was answered to anybody.
type account struct {
	owner map[alloc.ID]alloc.Token
	high  map[alloc.Number]alloc.Number // of each range, by its start
}

// add books what a process was answered; no ID and no number may come twice.
func (a *account) add(t *testing.T, lines []string) {
	t.Helper()
	for _, line := range lines {
		var id alloc.ID
		var token alloc.Token
		var low, high alloc.Number
		if _, err := fmt.Sscanf(line, "id %s %s", &id, &token); err == nil {
			if before, twice := a.owner[id]; twice {
				t.Errorf("%s was answered twice, to %s and %s", id, before, token)
			}
			a.owner[id] = token
		} else if _, err := fmt.Sscanf(line, "range %d %d", &low, &high); err == nil {
			if before, twice := a.high[low]; twice {
				t.Errorf("two ranges begin at %d; one ends at %d, the other at %d", low, before, high)
			}
			a.high[low] = high
		} else {
			t.Errorf("a process wrote %q", line)
		}
	}
	top := alloc.Number(0)
	for _, low := range slices.Sorted(maps.Keys(a.high)) {
		if low <= top {
			t.Errorf("the range %d to %d overlaps one that ends at %d", low, a.high[low], top)
		}
		top = a.high[low]
	}
}

// check holds the file against the account: all that was acknowledged is there, and nothing was lost.
func (a *account) check(t *testing.T, path string, seeded alloc.Count) {
	t.Helper()
	s := openAt(t, Config{Path: path})
	for id, token := range a.owner {
		r, err := s.Inspect(t.Context(), "p", id)
		if err != nil || r.State != alloc.StateClaimed || r.Token != token {
			t.Errorf("%s was answered to %s: got %+v and %v", id, token, r, err)
		}
	}
	counts := census(t, path, "p")
	l, err := s.Level(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	if counts[alloc.StateFree]+counts[alloc.StateClaimed] != seeded ||
		l.Available != counts[alloc.StateFree] || l.Claimed != counts[alloc.StateClaimed] || l.Seeded != seeded {
		t.Errorf("got %v and the level %+v, want %d in all", counts, l, seeded)
	}
	if claimed := int(counts[alloc.StateClaimed]); claimed < len(a.owner) {
		t.Errorf("got %d claimed, want at least the %d that were answered", claimed, len(a.owner))
	}
	q, err := s.Sequence(t.Context(), "q")
	if err != nil {
		t.Fatal(err)
	}
	if got := ask[alloc.Number](t, path, `SELECT coalesce(max(high), 0) + 1 FROM leases`); q.Next != got {
		t.Errorf("next number: got %d, want %d, the one after the ledger's last", q.Next, got)
	}
	if gaps := ask[int](t, path, `SELECT count(*) FROM leases l WHERE low > 1 AND NOT EXISTS (SELECT 1 FROM leases b WHERE b.high = l.low - 1)`); gaps != 0 {
		t.Errorf("got %d gaps in the ledger, want none", gaps)
	}
	byHand(t, path, func(db *dbsql.DB) error {
		for low, high := range a.high {
			var got alloc.Number
			if err := db.QueryRowContext(t.Context(), `SELECT coalesce(max(high), 0) FROM leases WHERE low = $1`, low).Scan(&got); err != nil {
				return err
			}
			if got != high {
				t.Errorf("the range from %d: the ledger has it to %d, want %d", low, got, high)
			}
		}
		return nil
	})
}

func storm(t *testing.T, ids int) (path string, a *account) {
	t.Helper()
	path = newFile(t)
	s := openAt(t, Config{Path: path})
	filled(t, s, "p", ids)
	if _, _, err := s.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	return path, &account{owner: map[alloc.ID]alloc.Token{}, high: map[alloc.Number]alloc.Number{}}
}

func TestProcessesShareAFile(t *testing.T) {
	const ids = 1200
	path, a := storm(t, ids)
	var processes []*process
	for range 4 {
		processes = append(processes, start(t, path))
	}
	for _, p := range processes {
		lines, err := p.wait()
		if err != nil {
			t.Errorf("a process: %v", err)
		}
		a.add(t, lines)
	}
	if len(a.owner) != ids {
		t.Errorf("got %d IDs from all processes, want all %d", len(a.owner), ids)
	}
	a.check(t, path, ids)
}

// Processes killed at a random moment of a storm leave nothing half done, and what they were answered stays theirs.
func TestKill(t *testing.T) {
	const ids, rounds = 20_000, 10
	path, a := storm(t, ids)
	for range rounds {
		processes := []*process{start(t, path), start(t, path)}
		a.add(t, processes[0].some(1+rand.N(300)))
		for _, p := range processes {
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range processes {
			lines, _ := p.wait() // it was killed
			a.add(t, lines)
		}
	}
	a.check(t, path, ids)
}
