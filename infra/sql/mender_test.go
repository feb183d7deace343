package sql

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
)

// mender leases from the sequence q, rebuilds it again and again, rebuilds the pool p, carries IDs into it and records what it did, until
// it has made its rounds or is killed. It writes what it was answered: "range FIRST LAST", "recorded ID", "carried ID".
func mender(path string, out io.Writer) error {
	s, err := OpenSQLite(context.Background(), Config{Path: path})
	if err != nil {
		return err
	}
	defer s.Close()
	for n := range 60 {
		err := mend(s, out, fmt.Sprint(os.Getpid(), ".", n))
		if err != nil && !mayRepeat(err) && !alloc.Is(err, alloc.CodeRebuildStep) {
			return err
		}
	}
	return nil
}

func mend(s *Store, out io.Writer, name string) error {
	ctx := context.Background()
	if err := s.Record(ctx, alloc.AuditRecord{ID: name, Action: "mend", Result: "ok"}); err != nil {
		return err
	}
	fmt.Fprintln(out, "recorded", name)
	for range 5 {
		if err := leaseOnce(s, out, alloc.LeaseOrder{Sequence: "q", Count: alloc.Count(1 + rand.N(9))}); err != nil {
			return err
		}
	}
	if q, err := s.Watch(ctx, "q"); err != nil || q.State == alloc.SequenceStopped {
		return fmt.Errorf("watch: %+v, %w", q, err)
	}
	if _, err := s.RebuildPool(ctx, alloc.PoolRebuildOrder{Pool: "p", Job: alloc.JobID(name)}); err != nil {
		return err
	}
	taken := []alloc.IDRecord{{ID: alloc.ID(name), State: alloc.StateClaimed, Token: "t"}, {ID: "id-00000", State: alloc.StateRetired}}
	if _, err := s.Carry(ctx, "p", time.Time{}, taken); err != nil {
		return err
	}
	fmt.Fprintln(out, "carried", name)
	return rebuildOnce(s, out, alloc.JobID(name))
}

// leaseOnce leases, unless somebody else's rebuild is on.
func leaseOnce(s *Store, out io.Writer, o alloc.LeaseOrder) error {
	r, err := s.Lease(context.Background(), o)
	switch {
	case err == nil:
		fmt.Fprintln(out, "range", r.Start, r.End)
	case alloc.Is(err, alloc.CodeSequenceRebuilding), alloc.Is(err, alloc.CodeSequenceResuming):
		return nil
	}
	return err
}

// rebuildOnce makes the steps of a rebuild, those of another one that is on, if it comes upon it: whoever began that may be dead.
func rebuildOnce(s *Store, out io.Writer, rebuild alloc.JobID) error {
	ctx := context.Background()
	if _, err := s.Freeze(ctx, "q", rebuild); err != nil && !alloc.Is(err, alloc.CodeRebuildStep) {
		return err
	}
	e, err := s.Evidence(ctx, "q")
	if err != nil || e.Sequence.Rebuild == "" {
		return err
	}
	rebuild = e.Sequence.Rebuild
	o := alloc.RestartOrder{Sequence: "q", Rebuild: rebuild, From: e.Sequence.Epoch, To: e.Sequence.Epoch + 1, Next: e.Sequence.Next + 5}
	if _, err := s.Restart(ctx, o); err != nil {
		return err
	}
	if err := leaseOnce(s, out, alloc.LeaseOrder{Sequence: "q", Count: alloc.TestNumbers, Rebuild: rebuild}); err != nil {
		return err
	}
	if _, err := s.Thaw(ctx, "q", rebuild, alloc.SequenceResuming, 1+rand.N(99)); err != nil {
		return err
	}
	_, err = s.Thaw(ctx, "q", rebuild, alloc.SequenceActive, 0)
	return err
}

// Processes that mend at the same time, some of them killed at whatever step, take nothing twice and lose nothing that was answered.
func TestProcessesMendTogether(t *testing.T) {
	t.Parallel()
	path, a := storm(t, 50)
	s := openAt(t, Config{Path: path})
	processes := []*process{startAs(t, "mender", path), startAs(t, "mender", path), startAs(t, "mender", path)}
	lines := processes[0].some(1 + rand.N(200))
	if err := processes[0].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for i, p := range processes {
		more, err := p.wait()
		if lines = append(lines, more...); i > 0 && err != nil {
			t.Errorf("a process that was not killed: %v", err)
		}
	}
	var ranges []string
	recorded := 0
	for _, line := range lines {
		what, name, _ := strings.Cut(line, " ")
		switch what {
		case "range":
			ranges = append(ranges, line)
		case "recorded":
			recorded++
			if ask[int](t, path, `SELECT count(*) FROM trail WHERE id = $1`, name) != 1 {
				t.Errorf("%s was recorded, and is not there", name)
			}
		case "carried":
			if r, err := s.Inspect(t.Context(), "p", alloc.ID(name)); err != nil || r.State != alloc.StateClaimed {
				t.Errorf("%s was carried: got %+v and %v", name, r, err)
			}
		}
	}
	a.add(t, ranges)
	if recorded < 60 || len(ranges) < 60 {
		t.Errorf("got %d records and %d ranges, want at least 60 of each", recorded, len(ranges))
	}
	if got := broken(t, s); got != nil {
		t.Errorf("the trail: %q", got)
	}
	if got := append(audited(t, s, "p"), auditSequence(t, s, "q", 100).Findings...); got != nil {
		t.Errorf("audit: %+v", got)
	}
	wantCounts(t, s, path, "p")
	// Whoever comes ends what a killed one began.
	if err := rebuildOnce(s, io.Discard, "last"); err != nil {
		t.Errorf("a last rebuild: %v", err)
	}
	if q, err := s.Sequence(t.Context(), "q"); err != nil || q.State != alloc.SequenceActive {
		t.Errorf("at the end: got %+v and %v, want it active", q, err)
	}
}
