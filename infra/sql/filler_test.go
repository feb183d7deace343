package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"idpool/alloc"
)

// fillLevel is the level up to which all fillers fill the pool p.
const fillLevel = 1500

// filler adds batches of its own up to the level until one was not needed to its end, and writes a line for each.
func filler(path string, out io.Writer) error {
	s, err := OpenSQLite(context.Background(), Config{Path: path})
	if err != nil {
		return err
	}
	defer s.Close()
	for n := 0; ; {
		b := alloc.SeedBatch{Pool: "p", Job: alloc.JobID(fmt.Sprint(os.Getpid(), ".", n)), UpTo: fillLevel}
		for i := range 20 {
			b.IDs = append(b.IDs, alloc.ID(fmt.Sprintf("%s-%d", b.Job, i)))
		}
		outcomes, err := s.Seed(context.Background(), b)
		switch {
		case err != nil && mayRepeat(err):
			continue // the same batch
		case err != nil:
			return err
		case slices.Contains(outcomes, alloc.SeedUnneeded):
			return nil
		}
		fmt.Fprintln(out, "added", b.Job)
		n++
	}
}

// Processes that fill a pool at the same time, some of them killed on the way, end at the level and never above it (C38).
func TestProcessesFillToOneLevel(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	s := openAt(t, Config{Path: path})
	filled(t, s, "p", 10)
	processes := []*process{startAs(t, "filler", path), startAs(t, "filler", path), startAs(t, "filler", path)}
	lines := processes[0].some(5)
	err := processes[0].cmd.Process.Kill()
	for i, p := range processes {
		more, ended := p.wait()
		if lines = append(lines, more...); i > 0 {
			err = errors.Join(err, ended)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if least := fillLevel / 20 / 2; len(lines) < least {
		t.Errorf("got %d batches from all, want at least %d", len(lines), least)
	}
	l, err := s.Level(t.Context(), "p")
	if err != nil || l.Available != fillLevel || l.Seeded != fillLevel {
		t.Errorf("level: got %+v and %v, want %d available, and as many seeded", l, err, fillLevel)
	}
	wantCounts(t, s, path, "p")
}
