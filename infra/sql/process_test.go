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
	"testing"

	"idpool/alloc"
)

// TestMain runs the test binary as one of several processes when it is started with "claimer PATH", "filler PATH", "mender PATH" or "opener PATH".
func TestMain(m *testing.M) {
	flag.Parse()
	roles := map[string]func(string, io.Writer) error{"claimer": claimer, "filler": filler, "mender": mender}
	switch args := flag.Args(); {
	case len(args) == 2 && roles[args[0]] != nil:
		if err := roles[args[0]](args[1], os.Stdout); err != nil {
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

// process is a running claimer, filler or mender.
type process struct {
	cmd     *exec.Cmd
	answers chan string // its lines, closed when there are no more
}

func start(t *testing.T, path string) *process { return startAs(t, "claimer", path) }

func startAs(t *testing.T, role, path string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], role, path), answers: make(chan string)}
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
	known map[alloc.ID]bool
	owner map[alloc.ID]alloc.Token      // who has it for good
	high  map[alloc.Number]alloc.Number // of each range, by its start
}

// add books what a process was answered; nobody gets what somebody has for good, and no number comes twice.
func (a *account) add(t *testing.T, lines []string) {
	t.Helper()
	for _, line := range lines {
		var what string
		var id alloc.ID
		var token alloc.Token
		var low, high alloc.Number
		if _, err := fmt.Sscanf(line, "range %d %d", &low, &high); err == nil {
			if before, twice := a.high[low]; twice {
				t.Errorf("two ranges begin at %d; one ends at %d, the other at %d", low, before, high)
			}
			a.high[low] = high
			continue
		}
		if _, err := fmt.Sscanf(line, "%s %s %s", &what, &id, &token); err != nil || what != "has" && what != "had" {
			t.Errorf("a process wrote %q", line)
		}
		a.known[id] = true
		if what == "has" {
			if before, twice := a.owner[id]; twice {
				t.Errorf("%s was answered twice, to %s and %s", id, before, token)
			}
			a.owner[id] = token
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
		// One whose confirmation was cut off is still held.
		r, err := s.Inspect(t.Context(), "p", id)
		if err != nil || r.State != alloc.StateClaimed && r.State != alloc.StateHeld || r.Token != token {
			t.Errorf("%s was answered to %s: got %+v and %v", id, token, r, err)
		}
	}
	wantCounts(t, s, path, "p")
	sweepOut(t, s, "p")
	wantCounts(t, s, path, "p")
	if l, err := s.Level(t.Context(), "p"); err != nil || l.Seeded != seeded || l.Returning != 0 || l.Retired != 0 {
		t.Errorf("level: got %+v and %v, want %d seeded, and nothing on its way back after a sweep", l, err, seeded)
	}
	q, err := s.Sequence(t.Context(), "q")
	if err != nil {
		t.Fatal(err)
	}
	if got := ask[alloc.Number](t, path, `SELECT coalesce(max(high), 0) + 1 FROM leases`); q.Next != got {
		t.Errorf("next number: got %d, want %d, the one after the ledger's last", q.Next, got)
	}
	if gaps := ask[int](t, path, `SELECT count(*) FROM (SELECT low, lag(high, 1, 0) OVER (ORDER BY low) AS before FROM leases) WHERE low <> before + 1`); gaps != 0 {
		t.Errorf("got %d gaps in the ledger, want none", gaps)
	}
	byHand(t, path, func(db *dbsql.DB) error {
		for low, high := range a.high {
			var got alloc.Number
			if err := db.QueryRowContext(t.Context(), `SELECT coalesce(max(high), 0) FROM leases WHERE sequence = 1 AND low = $1`, low).Scan(&got); err != nil {
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
	return path, &account{known: map[alloc.ID]bool{}, owner: map[alloc.ID]alloc.Token{}, high: map[alloc.Number]alloc.Number{}}
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
	if len(a.known) != ids {
		t.Errorf("got %d IDs from all processes, want all %d", len(a.known), ids)
	}
	a.check(t, path, ids)
}

// Processes killed at a random moment of a storm leave nothing half done, and what they were answered stays theirs.
func TestKill(t *testing.T) {
	t.Parallel()
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
