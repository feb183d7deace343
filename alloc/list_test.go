package alloc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// shelf is a Store on the way to another. It counts the pages that are read of it, and takes time for a level.
type shelf struct {
	alloc.Store
	pages int

	mu   sync.Mutex
	busy int
	most int // levels that were being read at once
}

func (s *shelf) ListPools(ctx context.Context, after alloc.PoolName, limit int) ([]alloc.Pool, error) {
	s.pages++
	return s.Store.ListPools(ctx, after, limit)
}

func (s *shelf) ListSequences(ctx context.Context, after alloc.SequenceName, limit int) ([]alloc.Sequence, error) {
	s.pages++
	return s.Store.ListSequences(ctx, after, limit)
}

func (s *shelf) Level(ctx context.Context, name alloc.PoolName) (alloc.Level, error) {
	s.mu.Lock()
	s.busy++
	s.most = max(s.most, s.busy)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.busy--
		s.mu.Unlock()
	}()
	time.Sleep(10 * time.Millisecond) // in a bubble
	if name == "p-0050" {
		panic("a bug in the Store")
	}
	level, err := s.Store.Level(ctx, name)
	for i := range name { // tells the pools apart
		level.Seeded = level.Seeded*10 + alloc.Count(name[i]-'0')
	}
	return level, err
}

// newShelf makes n pools and as many sequences, p-0000 and so on; those for which is holds are deleted.
func newShelf(t *testing.T, n int, deleted func(i int) bool) (*alloc.Service, *shelf) {
	t.Helper()
	s := &shelf{Store: alloctest.NewModel(nil)}
	for i := range n {
		name := fmt.Sprintf("p-%04d", i)
		if _, _, err := s.CreatePool(t.Context(), alloc.PoolName(name), alloc.PoolConfig{}.WithDefaults()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.CreateSequence(t.Context(), alloc.SequenceName(name), alloc.SequenceConfig{}.WithDefaults()); err != nil {
			t.Fatal(err)
		}
		if deleted(i) {
			must(t, s.SetPoolState, alloc.PoolName(name), alloc.PoolDeleted)
			must(t, s.SetSequenceState, alloc.SequenceName(name), alloc.SequenceDeleted)
		}
	}
	return newService(t, s), s
}

func TestPoolsReadsLevelsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newShelf(t, 120, func(i int) bool { return i%6 == 0 })
		begin := time.Now()
		pools, next, err := s.Pools(asAdmin(t.Context()), "", 80)
		if err != nil || len(pools) != 80 || next == "" {
			t.Fatalf("%d pools, next %q, %v; want 80 and more", len(pools), next, err)
		}
		if took := time.Since(begin); store.most != 8 || took != 100*time.Millisecond {
			t.Errorf("%d levels at once in %v, want 8 in the time of ten", store.most, took)
		}
		for i, p := range pools {
			want := alloc.PoolName(fmt.Sprintf("p-%04d", i+i/5+1))
			if p.Pool.Name != want {
				t.Fatalf("pool %d is %s, want %s", i, p.Pool.Name, want)
			}
			if want == "p-0050" { // a panic is that pool's own affair
				if !alloc.Is(p.LevelError, alloc.CodeInternal) {
					t.Errorf("%s: level %+v, %v; want an internal error", want, p.Level, p.LevelError)
				}
				continue
			}
			if level, err := store.Level(t.Context(), want); err != nil || p.LevelError != nil || p.Level != level {
				t.Errorf("%s has the level %+v, %v; want %+v", want, p.Level, p.LevelError, level)
			}
		}
	})
}

// What a caller may not see costs a bounded number of pages for each request, and hides nothing that comes after it.
func TestListsOfWhatMostlyMayNotBeReadAreBounded(t *testing.T) {
	const all = 1300
	s, store := newShelf(t, all, func(i int) bool { return i >= 100 && i < 1150 })
	lists := map[string]func(ctx context.Context, c alloc.Cursor, limit int) (names []string, next alloc.Cursor, err error){
		"Pools": func(ctx context.Context, c alloc.Cursor, limit int) (names []string, next alloc.Cursor, err error) {
			pools, n, err := s.Pools(ctx, c, limit)
			for _, p := range pools {
				names = append(names, string(p.Pool.Name))
			}
			return names, n, err
		},
		"Sequences": func(ctx context.Context, c alloc.Cursor, limit int) (names []string, next alloc.Cursor, err error) {
			sequences, n, err := s.Sequences(ctx, c, limit)
			for _, q := range sequences {
				names = append(names, string(q.Name))
			}
			return names, n, err
		},
	}
	for name, list := range lists {
		for _, limit := range []int{1, 100} {
			t.Run(fmt.Sprintf("%s by %d", name, limit), func(t *testing.T) {
				ctx := as(t.Context(), "c", alloc.Scope{Action: alloc.ActionRead, Pattern: "p-0003"}, alloc.Scope{Action: alloc.ActionRead, Pattern: "p-12*"})
				var got []string
				calls := 0
				for c := alloc.Cursor(""); ; calls++ {
					store.pages = 0
					names, next, err := list(ctx, c, limit)
					if err != nil || len(names) > limit || store.pages > 10 {
						t.Fatalf("%d names from %d pages, %v; want at most %d from 10", len(names), store.pages, err, limit)
					}
					got = append(got, names...)
					if c = next; c == "" {
						break
					}
				}
				if len(got) != 101 || got[0] != "p-0003" || got[1] != "p-1200" || got[100] != "p-1299" {
					t.Errorf("got %v, want p-0003 and p-1200 to p-1299", got)
				}
				if calls > 101+all/900+1 {
					t.Errorf("%d calls for %d names", calls, len(got))
				}
			})
		}
	}
}
