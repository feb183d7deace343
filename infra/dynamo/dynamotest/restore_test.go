package dynamotest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// walked returns all IDs that a walk meets, each of which it must meet once.
func (s *auditStage) walked() map[alloc.ID]alloc.IDRecord {
	s.Helper()
	all := map[alloc.ID]alloc.IDRecord{}
	for mark := ""; ; {
		page, next, err := s.open().WalkIDs(s.Context(), pool, "", mark, 500)
		if err != nil {
			s.Fatal(err)
		}
		for _, r := range page {
			if _, twice := all[r.ID]; twice {
				s.Fatalf("a walk meets %s twice", r.ID)
			}
			all[r.ID] = r
		}
		if mark = next; mark == "" {
			return all
		}
	}
}

// stock returns the IDs that Stock meets.
func (s *auditStage) stock(limit int) []alloc.ID {
	s.Helper()
	var all []alloc.ID
	for mark := ""; ; {
		page, next, err := s.open().Stock(s.Context(), pool, mark, limit)
		if err != nil {
			s.Fatal(err)
		}
		for _, r := range page {
			if r.State != alloc.StateFree || r.Pool != pool {
				s.Fatalf("the stock has %+v", r)
			}
			all = append(all, r.ID)
		}
		if mark = next; mark == "" {
			return all
		}
	}
}

func (s *auditStage) carry(records ...alloc.IDRecord) []alloc.CarryOutcome {
	s.Helper()
	outcomes, err := s.open().Carry(s.Context(), pool, s.point, records)
	if err != nil {
		s.Fatal(err)
	}
	return outcomes
}

func (s *auditStage) inspect(id alloc.ID) alloc.IDRecord {
	s.Helper()
	r, err := s.open().Inspect(s.Context(), pool, id)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// whole ends a test: the audit has nothing to say, and the level is right after a sweep.
func (s *auditStage) whole() {
	s.Helper()
	s.sweep()
	s.sweep()
	if found, _ := s.findings(100); len(found) > 0 {
		s.Errorf("the audit finds %s", words(found))
	}
	level, err := s.open().Level(s.Context(), pool)
	if err != nil {
		s.Fatal(err)
	}
	counts := map[alloc.State]alloc.Count{}
	all := s.walked()
	for _, r := range all {
		counts[r.State]++
	}
	got := []alloc.Count{level.Seeded, level.Available, level.Held, level.Claimed + level.Retired}
	want := []alloc.Count{alloc.Count(len(all)), counts[alloc.StateFree], counts[alloc.StateHeld], counts[alloc.StateClaimed] + counts[alloc.StateRetired]}
	if !slices.Equal(got, want) {
		s.Errorf("seeded, available, held, claimed or retired: the level says %v, the IDs %v", got, want)
	}
	if level.Retired > counts[alloc.StateRetired] { // a crash may leave some of them among the claimed
		s.Errorf("the level says that %d are retired, and %d are", level.Retired, counts[alloc.StateRetired])
	}
}

func TestTheStockHasEachFreeIDInAboutItsOrder(t *testing.T) {
	s := newAuditStage(t, 1000, alloc.PoolConfig{})
	taken := map[alloc.ID]bool{}
	for range 30 {
		taken[s.claim(order(1, "")).IDs[0]] = true
	}
	for _, limit := range []int{1, 100, 5000} {
		got := s.stock(limit)
		if len(got) != 970 {
			t.Errorf("in pages of %d: %d IDs, want 970", limit, len(got))
		}
		seen := map[alloc.ID]bool{}
		for _, id := range got {
			if taken[id] || seen[id] {
				t.Errorf("in pages of %d: %s is taken, or was met", limit, id)
			}
			seen[id] = true
		}
	}
	s.remove(headItem)
	if _, _, err := s.open().Stock(t.Context(), pool, "", 10); !alloc.Is(err, alloc.CodePoolDamaged) {
		t.Errorf("without a head: %v, want %s", err, alloc.CodePoolDamaged)
	}
	if _, _, err := s.open().Stock(t.Context(), "none", "", 10); !alloc.Is(err, alloc.CodePoolNotFound) {
		t.Errorf("of no pool: %v, want %s", err, alloc.CodePoolNotFound)
	}
}

// What a seeding that was cut off has put may have been listed and taken after the backup was made.
func TestTheStockHasWhatIsPutAndNotListed(t *testing.T) {
	s := newAuditStage(t, 40, alloc.PoolConfig{})
	cut, stop := context.WithCancel(t.Context())
	broken := Through(func(ctx context.Context, c Call) Answer {
		if c.Op == OpPut && kindOf(c.Key()) == kindChunk {
			stop()
		}
		return c.Do(ctx, s.mem)
	})
	store, err := dynamo.New(dynamo.Config{Table: broken, Now: s.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Seed(cut, alloc.SeedBatch{Pool: pool, Job: "cut", IDs: ids("cut", 20)}); err == nil {
		t.Fatal("the seeding was not cut off")
	}
	if got := s.stock(100); len(got) != 60 {
		t.Errorf("%d IDs, want 60: %v", len(got), got)
	}
	if found, _ := s.findings(100); len(found) > 0 {
		t.Errorf("the audit finds %s", words(found))
	}
}

func TestCarryMakesAnIDWhatIsAheadOfIt(t *testing.T) {
	at := time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)
	const mine, other = "0123456789abcdef0123456789", "zyxwvutsrqponmlkjihgfedcba"
	is := func(state alloc.State, g alloc.Generation, token alloc.Token) alloc.IDRecord {
		r := alloc.IDRecord{Pool: pool, ID: "x", State: state, Generation: g, Token: token, Job: "setup"}
		if token != "" {
			r.At, r.By, r.Owner, r.Metadata = at, "somebody", "owner", map[string]string{"a": "b"}
		}
		if state == alloc.StateHeld {
			r.HeldUntil = at.Add(time.Hour)
		}
		return r
	}
	const none, free, hold, claimed, back, gone = "", alloc.StateFree, alloc.StateHeld, alloc.StateClaimed, alloc.StateReturning, alloc.StateRetired
	for _, c := range []struct {
		name        string
		has, record alloc.IDRecord
		want        alloc.CarryOutcome
		becomes     alloc.IDRecord
	}{
		{"a claim of a free ID", is(free, 0, ""), is(claimed, 0, mine), alloc.CarryDone, is(claimed, 0, mine)},
		{"a hold of a free ID", is(free, 0, ""), is(hold, 0, mine), alloc.CarryDone, is(hold, 0, mine)},
		{"a return of a free ID", is(free, 0, ""), is(back, 0, mine), alloc.CarryDone, is(back, 0, mine)},
		{"a claim in a later life", is(free, 0, ""), is(claimed, 3, mine), alloc.CarryDone, is(claimed, 3, mine)},
		{"a claim in a later life of one that is claimed", is(claimed, 0, other), is(claimed, 1, mine), alloc.CarryDone, is(claimed, 1, mine)},
		{"a hold that was confirmed", is(hold, 0, mine), is(claimed, 0, mine), alloc.CarryDone, is(claimed, 0, mine)},
		{"a hold that was released", is(hold, 0, mine), is(back, 0, mine), alloc.CarryDone, is(back, 0, mine)},
		{"a claim that was released", is(claimed, 0, mine), is(back, 0, mine), alloc.CarryKnown, is(claimed, 0, mine)},
		{"a return of what has come to be claimed", is(back, 0, mine), is(claimed, 0, mine), alloc.CarryDone, is(claimed, 0, mine)},
		{"a return of what another has claimed", is(back, 1, other), is(claimed, 1, mine), alloc.CarryDone, is(claimed, 2, mine)},
		{"a claim that was retired", is(claimed, 0, mine), is(gone, 0, mine), alloc.CarryDone, is(gone, 0, mine)},
		{"what is known", is(claimed, 0, mine), is(claimed, 0, mine), alloc.CarryKnown, is(claimed, 0, mine)},
		{"what has gone on", is(claimed, 0, mine), is(hold, 0, mine), alloc.CarryKnown, is(claimed, 0, mine)},
		{"what an earlier log has with another", is(claimed, 0, other), is(claimed, 0, mine), alloc.CarryDone, is(claimed, 1, mine)},
		{"what an earlier log has as held by another", is(hold, 0, other), is(claimed, 0, mine), alloc.CarryDone, is(claimed, 1, mine)},
		{"an earlier life, of which a hold has ended here", is(free, 2, ""), is(claimed, 1, mine), alloc.CarryDone, is(claimed, 2, mine)},
		{"an earlier life that is over", is(free, 2, ""), is(back, 1, mine), alloc.CarryBehind, is(free, 2, "")},
		{"what says free", is(claimed, 0, mine), is(free, 4, ""), alloc.CarryKnown, is(claimed, 0, mine)},
		{"a burning of a free ID", is(free, 0, ""), is(gone, 0, ""), alloc.CarryDone, is(gone, 0, "")},
		{"a burning of what is claimed", is(claimed, 0, mine), is(gone, 0, ""), alloc.CarryClash, is(claimed, 0, mine)},
		{"a claim of what was burned", is(gone, 0, ""), is(claimed, 0, mine), alloc.CarryKnown, is(gone, 0, "")},
		{"a claim of an unknown ID", is(none, 0, ""), is(claimed, 2, mine), alloc.CarryDone, is(claimed, 2, mine)},
		{"a hold of an unknown ID", is(none, 0, ""), is(hold, 0, mine), alloc.CarryDone, is(hold, 0, mine)},
		{"a return of an unknown ID", is(none, 0, ""), is(back, 1, mine), alloc.CarryDone, is(back, 1, mine)},
		{"an unknown ID that was free", is(none, 0, ""), is(free, 1, ""), alloc.CarryDone, is(gone, 1, "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newAuditStage(t, 30, alloc.PoolConfig{})
			if c.has.State != none {
				s.seed("setup", "x")
				if c.has.State != free || c.has.Generation > 0 { // as some history has left it
					s.carry(c.has)
					if c.has.State == free {
						s.set(idItem("x"), dynamo.AttrGeneration, int64(c.has.Generation))
					}
				}
			}
			for i, want := range []alloc.CarryOutcome{c.want, repeated(c.want)} {
				if got := s.carry(c.record); !slices.Equal(got, []alloc.CarryOutcome{want}) {
					t.Errorf("carry %d: %v, want %s", i+1, got, want)
				}
			}
			became := s.inspect("x")
			became.Changed = time.Time{} // of the carry, or of none
			if diff := cmp.Diff(c.becomes, became); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if _, met := s.walked()["x"]; !met {
				t.Errorf("a walk does not meet it")
			}
			if c.has.State != free || c.has.Generation == 0 { // else it was set by hand
				s.comesBack(c.becomes)
				s.whole()
			}
		})
	}
}

// repeated is what a repeat says.
func repeated(o alloc.CarryOutcome) alloc.CarryOutcome {
	if o == alloc.CarryDone {
		return alloc.CarryKnown
	}
	return o
}

// comesBack looks that what is on its way back, or held for a time, can be had again.
func (s *auditStage) comesBack(r alloc.IDRecord) {
	s.Helper()
	switch r.State {
	case alloc.StateHeld:
		s.clock.Advance(r.HeldUntil.Sub(s.clock.Now()) + time.Minute)
	case alloc.StateReturning:
	default:
		return
	}
	s.sweep()
	s.sweep()
	if got := s.inspect("x"); got.State != alloc.StateFree || got.Generation != r.Generation+1 {
		s.Errorf("after a sweep: %+v", got)
	}
}

func TestCarryRefusesWhatCannotBeHad(t *testing.T) {
	s := newAuditStage(t, 5, alloc.PoolConfig{})
	r := alloc.IDRecord{ID: "x", State: alloc.StateClaimed, Token: "t"}
	for name, want := range map[alloc.PoolName]alloc.Code{"none": alloc.CodePoolNotFound, pool: alloc.CodePoolDeleted} {
		if name == pool {
			for _, to := range []alloc.PoolState{alloc.PoolPaused, alloc.PoolDeleted} {
				if _, err := s.open().SetPoolState(t.Context(), pool, 0, to); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := s.open().Carry(t.Context(), name, time.Time{}, []alloc.IDRecord{r}); !alloc.Is(err, want) {
			t.Errorf("into %s: %v, want %s", name, err, want)
		}
	}
	s.remove(headItem)
	if _, err := s.open().Carry(t.Context(), pool, time.Time{}, []alloc.IDRecord{r}); !alloc.Is(err, alloc.CodePoolDamaged) {
		t.Errorf("without a head: %v, want %s", err, alloc.CodePoolDamaged)
	}
	if _, err := s.open().Carry(t.Context(), pool, time.Time{}, make([]alloc.IDRecord, 1001)); !alloc.Is(err, alloc.CodeInvalidRequest) {
		t.Errorf("too many: %v, want %s", err, alloc.CodeInvalidRequest)
	}
}

// A call that is cut off at any write, before it or behind it, is repeated by another process: each ID is there, once.
func TestCarrySurvivesAFaultAtEveryWrite(t *testing.T) {
	records := func() (list []alloc.IDRecord) {
		at := time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)
		for i, id := range slices.Concat(ids("id", 12), ids("new", 12)) {
			state := []alloc.State{alloc.StateFree, alloc.StateHeld, alloc.StateClaimed, alloc.StateReturning, alloc.StateRetired}[i%5]
			r := alloc.IDRecord{Pool: pool, ID: id, State: state, Generation: alloc.Generation(i % 2), Token: alloc.Token(fmt.Sprint("token", i)), At: at, By: "b"}
			if state == alloc.StateHeld {
				r.HeldUntil = at.Add(100 * 24 * time.Hour)
			}
			list = append(list, r)
		}
		return list
	}()
	for _, applied := range []bool{false, true} {
		for n := 0; ; n++ {
			s := newAuditStage(t, 30, alloc.PoolConfig{})
			var writes atomic.Int64
			cut, stop := context.WithCancel(t.Context())
			broken := Through(func(ctx context.Context, c Call) Answer {
				if c.Write() && writes.Add(1) == int64(n+1) {
					if applied {
						c.Do(ctx, s.mem)
					}
					stop()
					return Answer{Err: unavailable(context.Canceled)}
				}
				return c.Do(ctx, s.mem)
			})
			store, err := dynamo.New(dynamo.Config{Table: broken, Now: s.clock.Now})
			if err != nil {
				t.Fatal(err)
			}
			_, err = store.Carry(cut, pool, time.Time{}, records)
			reached := writes.Load() > int64(n)
			if !reached && err != nil {
				t.Fatalf("without a fault: %v", err)
			}
			s.carry(records...)
			s.checkCarried(records)
			s.whole()
			stop()
			if t.Failed() {
				t.Fatalf("at write %d, applied: %v", n+1, applied)
			}
			if !reached {
				break
			}
		}
	}
}

// checkCarried looks that each ID is what its record says, and that no free one is among those that were taken.
func (s *auditStage) checkCarried(records []alloc.IDRecord) {
	s.Helper()
	all := s.walked()
	for _, r := range records {
		got := all[r.ID]
		switch {
		case r.State == alloc.StateFree && r.ID[0] == 'n' && got.State != alloc.StateRetired:
			s.Errorf("%s was free, and unknown: it is %+v", r.ID, got)
		case r.State != alloc.StateFree && (got.State != r.State || got.Generation != r.Generation || got.Token != r.Token):
			s.Errorf("%s is %+v, want %+v", r.ID, got, r)
		}
	}
	if n := len(all); n != 42 {
		s.Errorf("there are %d IDs, want 42: %v", n, slices.Sorted(maps.Keys(all)))
	}
}
