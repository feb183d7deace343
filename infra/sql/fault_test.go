package sql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"idpool/alloc"
)

// spoil puts the writer's connection into a state by hand, for as long as that connection lasts.
func spoil(t *testing.T, s *Store, pragma string) {
	t.Helper()
	err := s.writer.do(t.Context(), func(t *tx) error {
		var ignored string
		_, err := t.row(pragma, nil, &ignored)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", pragma, err)
	}
}

// pages is how many pages the file has.
func pages(t *testing.T, path string) int { return ask[int](t, path, `PRAGMA page_count`) }

func bigBatch(n int) alloc.SeedBatch {
	b := alloc.SeedBatch{Pool: "p", Job: "big"}
	for i := range n {
		b.IDs = append(b.IDs, alloc.ID(fmt.Sprintf("%05d%s", i, strings.Repeat("x", 200))))
	}
	return b
}

func TestFullDisk(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 10)
	spoil(t, s, fmt.Sprintf(`PRAGMA max_page_count = %d`, pages(t, path)+2))
	_, err := s.Seed(t.Context(), bigBatch(1000))
	if e := wantCode(t, err, alloc.CodeUnavailable); e.Unknown || e.RetryAfter == 0 || !strings.Contains(e.Message, "no room") {
		t.Errorf("seed on a full disk: got %+v, want a known outcome, a hint and what to do", e)
	}
	if got := census(t, path, "p"); got[alloc.StateFree] != 10 {
		t.Errorf("after it: got %v, want the 10 free IDs of before", got)
	}
	// The next connection has room.
	if _, err := s.Seed(t.Context(), bigBatch(1000)); err != nil {
		t.Errorf("seed with room: %v", err)
	}
	if l, err := s.Level(t.Context(), "p"); err != nil || l.Available != 1010 || l.Seeded != 1010 {
		t.Errorf("level: got %+v and %v, want 1010", l, err)
	}
}

func TestReadOnlyDatabase(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 1)
	spoil(t, s, `PRAGMA query_only = 1`)
	_, err := s.Claim(t.Context(), one("p"))
	if e := wantCode(t, err, alloc.CodeUnavailable); e.Unknown || e.RetryAfter == 0 || !strings.Contains(e.Message, "writable") {
		t.Errorf("got %+v, want a known outcome, a hint and what to do", e)
	}
	if got := census(t, path, "p"); got[alloc.StateFree] != 1 {
		t.Errorf("after it: got %v, want 1 free", got)
	}
}

func TestDamagedPage(t *testing.T) {
	path := newFile(t)
	storeThere(t, path)
	size := int64(pages(t, path)) * 4096
	overwrite(t, path, 4096, int(size-4096)) // all but the schema's first page
	s, err := OpenSQLite(t.Context(), Config{Path: path})
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("open: got %v, want %v", err, ErrDamaged)
		}
		return
	}
	defer s.Close()
	for name, err := range map[string]error{
		"claim": second(s.Claim(t.Context(), one("p"))),
		"read":  second(s.Pool(t.Context(), "p")),
	} {
		if e := wantCode(t, err, alloc.CodeInternal); e.Unknown || !strings.Contains(e.Message, "restore") {
			t.Errorf("%s: got %+v, want a known outcome and what to do", name, e)
		}
	}
}

func TestFolderGoesAway(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, Config{Path: filepath.Join(folder, "idpool.db")})
	filled(t, s, "p", 1)
	spoil(t, s, `PRAGMA max_page_count = 1`) // so that the connection is given up and a new one is needed
	if _, err := s.Seed(t.Context(), bigBatch(1000)); err == nil {
		t.Fatal("seed without room: got no error")
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	_, err := s.Claim(t.Context(), one("p"))
	if e := wantCode(t, err, alloc.CodeUnavailable); e.Unknown || e.RetryAfter == 0 {
		t.Errorf("got %+v, want a known outcome and a hint", e)
	}
}

func TestMessagesDoNotNameThePath(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 1)
	spoil(t, s, `PRAGMA query_only = 1`)
	_, err := s.Claim(t.Context(), one("p"))
	if e := wantCode(t, err, alloc.CodeUnavailable); strings.Contains(e.Message, path) || strings.Contains(e.Message, "SQL") {
		t.Errorf("got the message %q, want nothing of the engine in it", e.Message)
	}
}

func TestFault(t *testing.T) {
	refusal := alloc.Errorf(alloc.CodePoolPaused, "paused")
	for name, c := range map[string]struct {
		err  error
		want alloc.Code
	}{
		"nothing":                {nil, ""},
		"a refusal":              {refusal, alloc.CodePoolPaused},
		"a wrapped refusal":      {fmt.Errorf("while: %w", refusal), alloc.CodePoolPaused},
		"an end by the caller":   {fmt.Errorf("while: %w", context.Canceled), alloc.CodeUnavailable},
		"an end by the deadline": {context.DeadlineExceeded, alloc.CodeUnavailable},
		"anything else":          {errors.New("database is locked"), alloc.CodeInternal}, // by type, never by text
	} {
		if got := alloc.CodeOf(fault(c.err)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
