package dynamo_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// rebuild rebuilds the pool in a new process, with the job given, and adds up what the steps have met.
func (b *bench) rebuild(job alloc.JobID) (sum alloc.PoolRebuilt) {
	b.Helper()
	return b.rebuildFrom(b.open(), alloc.PoolRebuildOrder{Pool: "p", Job: job})
}

func (b *bench) rebuildFrom(s *dynamo.Store, o alloc.PoolRebuildOrder) (sum alloc.PoolRebuilt) {
	b.Helper()
	for range 10000 {
		r, err := s.RebuildPool(b.Context(), o)
		if err != nil {
			b.Fatalf("RebuildPool of %s: %v", o.Job, err)
		}
		sum.Met += r.Met
		sum.Tally = plus(sum.Tally, r.Tally)
		if o.Step = r.Next; r.Next == "" {
			return sum
		}
	}
	b.Fatal("the rebuild does not end")
	return sum
}

func plus(a, b alloc.Tally) alloc.Tally {
	a.Free, a.Held, a.Claimed, a.Returning = a.Free+b.Free, a.Held+b.Held, a.Claimed+b.Claimed, a.Returning+b.Returning
	a.Retired, a.Lost = a.Retired+b.Retired, a.Lost+b.Lost
	return a
}

// walk walks over the whole pool in small pages, and demands that no ID is met twice.
func (b *bench) walk() map[alloc.ID]alloc.State {
	b.Helper()
	met := map[alloc.ID]alloc.State{}
	for mark := ""; ; {
		page, next, err := b.open().WalkIDs(b.Context(), "p", "", mark, 7)
		if err != nil {
			b.Fatalf("WalkIDs: %v", err)
		}
		for _, r := range page {
			if _, twice := met[r.ID]; twice {
				b.Errorf("a walk met %q twice", r.ID)
			}
			met[r.ID] = r.State
		}
		if mark = next; next == "" {
			return met
		}
	}
}

// mixed is a bench with IDs in every state: 60 seeded, of which 5 claimed, 4 held, 3 claimed by a key, 2 retired, 2 on their way back.
func mixed(t testing.TB) (b *bench, taken map[alloc.ID]alloc.State) {
	t.Helper()
	b = filled(t, 60, alloc.PoolConfig{})
	s := b.open()
	taken = map[alloc.ID]alloc.State{}
	note := func(c alloc.Claim, state alloc.State) alloc.Claim {
		for _, id := range c.IDs {
			taken[id] = state
		}
		return c
	}
	note(b.claim(s, want(5)), alloc.StateClaimed)
	hold := want(4)
	hold.Hold = time.Hour
	note(b.claim(s, hold), alloc.StateHeld)
	note(b.claim(s, wantKeyed(3, "k")), alloc.StateClaimed)
	b.settles(s, alloc.EventRetire, note(b.claim(s, want(2)), alloc.StateRetired))
	b.settles(s, alloc.EventRelease, note(b.claim(s, want(2)), alloc.StateReturning))
	return b, taken
}

func (b *bench) settles(s *dynamo.Store, e alloc.Event, c alloc.Claim) {
	b.Helper()
	if _, err := s.Settle(b.Context(), alloc.SettleOrder{Pool: "p", Event: e, IDs: c.IDs, Token: c.Token}); err != nil {
		b.Fatalf("Settle: %v", err)
	}
}

// whole demands that the pool is as mixed has left it: every ID is met once, what was taken stays so, what was on its way
// back and what is free can be claimed, once.
func (b *bench) whole(taken map[alloc.ID]alloc.State) {
	b.Helper()
	met := b.walk()
	if len(met) != 60 {
		b.Errorf("a walk met %d IDs, want 60", len(met))
	}
	for id, state := range taken {
		if met[id] != state {
			b.Errorf("%q is %s, want %s", id, met[id], state)
		}
	}
	b.sweep()
	b.level(alloc.Level{Available: 46, Seeded: 60, Held: 4, Claimed: 8, Retired: 2})
	got := b.drain(b.open())
	distinct(b.TB, got)
	if len(got) != 46 {
		b.Errorf("%d IDs could be claimed, want 46", len(got))
	}
	for _, id := range got {
		if state := taken[id]; state != "" && state != alloc.StateReturning {
			b.Errorf("%q was handed out, which is %s", id, state)
		}
	}
	b.clock.Advance(2 * time.Hour)
	b.sweep()
	if got := b.drain(b.open()); len(got) != 4 {
		b.Errorf("%d IDs came back from their holds, want 4", len(got))
	}
}

func TestARebuiltPoolIsWhole(t *testing.T) {
	returns := func(it dynamo.Item) bool { return it.Str("pk") == "P#p#R" }
	chunks := func(it dynamo.Item) bool { return it.Str("sk") == "C" }
	for name, lost := range map[string]func(dynamo.Item) bool{
		"nothing":              func(dynamo.Item) bool { return false },
		"the head":             func(it dynamo.Item) bool { return it.Str("sk") == "H" && it.Str("pk") == "P#p" },
		"all chunks":           chunks,
		"the return items":     returns,
		"chunks, and returns":  func(it dynamo.Item) bool { return chunks(it) || returns(it) },
		"the catalogue":        func(it dynamo.Item) bool { return it.Str("pk") == "N#pool" },
		"all but ID and names": func(it dynamo.Item) bool { return !strings.HasPrefix(it.Str("pk"), "I#") && it.Str("pk") != "N#pool" },
	} {
		t.Run(name, func(t *testing.T) {
			b, taken := mixed(t)
			b.rebuildOf(lost)
			b.whole(taken)
		})
	}
}

// rebuildOf loses items and rebuilds, twice.
func (b *bench) rebuildOf(lost func(dynamo.Item) bool) {
	b.Helper()
	for _, it := range b.mem.Items() {
		if lost(it) {
			b.mem.Drop(it.Key())
		}
	}
	for _, job := range []alloc.JobID{"first", "second"} {
		sum := b.rebuild(job)
		if want := (alloc.Tally{Free: 44, Held: 4, Claimed: 8, Returning: 2, Retired: 2}); sum.Tally != want || sum.Met != 60 {
			b.Errorf("%s met %d IDs: %+v, want 60: %+v", job, sum.Met, sum.Tally, want)
		}
		b.clock.Advance(time.Second)
	}
}

func TestIDsThatAreGoneAreRetired(t *testing.T) {
	b, taken := mixed(t)
	for n := range 20 {
		id := someIDs(60)[3*n]
		delete(taken, id)
		b.mem.Drop(idItem(id))
	}
	sum := b.rebuild("job")
	if sum.Tally.Lost != 20 || sum.Met != 60 {
		t.Errorf("met %d IDs: %+v; want 60, and 20 of them lost", sum.Met, sum.Tally)
	}
	again := b.rebuild("again")
	if again.Tally.Lost != 0 || again.Met != 60 {
		t.Errorf("again met %d IDs: %+v; want 60, and none of them lost", again.Met, again.Tally)
	}
	b.sweep()
	for _, id := range b.drain(b.open()) {
		if slices.Index(someIDs(60), id)%3 == 0 {
			t.Errorf("%q was handed out, which was lost", id)
		}
	}
	met := b.walk()
	for n, id := range someIDs(60) {
		if n%3 == 0 && met[id] != alloc.StateRetired {
			t.Errorf("%q, which was lost, is %q", id, met[id])
		}
	}
	outcomes, err := b.open().Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "more", IDs: []alloc.ID{someIDs(60)[0]}})
	if err != nil || outcomes[0] != alloc.SeedConflict {
		t.Errorf("seeding one again: %v, %v; want a conflict", outcomes, err)
	}
}

func TestWhileAPoolIsRebuiltClaimsOutOfMemoryGoOn(t *testing.T) {
	for name, lose := range map[string]func(*bench){"whole": func(*bench) {}, "without a head": func(b *bench) { b.mem.Drop(b.head().Key()) }} {
		t.Run(name, func(t *testing.T) {
			b := filled(t, 1000, alloc.PoolConfig{})
			warm := b.open()
			b.claim(warm, want(1))
			lose(b)
			r, err := b.open().RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "j"})
			if err != nil || r.Next == "" {
				t.Fatalf("the first step: %+v, %v", r, err)
			}
			b.clock.Advance(time.Minute)
			c := b.claim(warm, want(1))
			b.refuse(b.open(), want(1), alloc.CodePoolRebuilding)
			_, err = warm.Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "more", IDs: []alloc.ID{"more"}})
			refused(t, err, alloc.CodePoolRebuilding)
			_, err = warm.Sweep(t.Context(), "p")
			refused(t, err, alloc.CodePoolRebuilding)
			_, err = warm.RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "other"})
			refused(t, err, alloc.CodePoolRebuilding)
			_, err = warm.SetPoolState(t.Context(), "p", 0, alloc.PoolPaused)
			refused(t, err, alloc.CodePoolRebuilding)
			b.rebuildFrom(b.open(), alloc.PoolRebuildOrder{Pool: "p", Job: "j", Step: r.Next})
			b.sweep()
			b.level(alloc.Level{Available: 998, Seeded: 1000, Claimed: 2})
			got := append(b.drain(warm), c.IDs...)
			if distinct(t, got); len(got) != 999 {
				t.Errorf("%d IDs were claimed, want 999", len(got))
			}
		})
	}
}

func TestAnAbandonedRebuildLeavesThePoolAsItWas(t *testing.T) {
	b, taken := mixed(t)
	r, err := b.open().RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "j"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = b.open().RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "j", Step: r.Next}); err != nil || r.Next == "" {
		t.Fatalf("a step: %+v, %v", r, err)
	}
	for range 2 {
		if err := b.open().AbandonRebuild(t.Context(), "p", "j"); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []string{"", r.Next} {
		_, err = b.open().RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "j", Step: step})
		refused(t, err, alloc.CodeJobEnded)
	}
	b.whole(taken)
}

func TestAnAbandonedRebuildOfALostHeadLeavesItLost(t *testing.T) {
	b, taken := mixed(t)
	b.mem.Drop(b.head().Key())
	if _, err := b.open().RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "j"}); err != nil {
		t.Fatal(err)
	}
	if err := b.open().AbandonRebuild(t.Context(), "p", "j"); err != nil {
		t.Fatal(err)
	}
	b.refuse(b.open(), want(1), alloc.CodePoolDamaged)
	b.rebuild("k")
	b.whole(taken)
}

func TestTheCopySaysWhatTheHeadSays(t *testing.T) {
	b := newBench(t)
	s := b.open()
	config := generated(1)
	if _, _, err := s.CreatePool(t.Context(), "p", config); err != nil {
		t.Fatal(err)
	}
	config.Description = "changed"
	if _, err := s.ChangePool(t.Context(), "p", 1, config); err != nil {
		t.Fatal(err)
	}
	want, err := s.SetPoolState(t.Context(), "p", 0, alloc.PoolPaused)
	if err != nil {
		t.Fatal(err)
	}
	b.mem.Drop(b.head().Key())
	for _, it := range b.mem.Items() {
		if strings.HasPrefix(it.Str("sk"), "G#") {
			b.mem.Drop(it.Key())
		}
	}
	e, err := b.open().PoolEvidence(t.Context(), "p")
	if err != nil || e.Head || !e.Configured || len(e.Damage) != 2 {
		t.Errorf("the evidence is %+v, %v", e, err)
	}
	b.rebuild("j")
	if got, err := b.open().Pool(t.Context(), "p"); err != nil || got != want {
		t.Errorf("rebuilt, the pool is %+v, %v; want %+v", got, err, want)
	}
}

func TestAPoolWithoutHeadAndCopyIsRebuiltAsIsSaid(t *testing.T) {
	for name, swept := range map[string]bool{"swept": true, "never swept": false} {
		t.Run(name, func(t *testing.T) { rebuiltAsIsSaid(t, swept) })
	}
}

func rebuiltAsIsSaid(t *testing.T, swept bool) {
	b, taken := mixed(t)
	if swept {
		b.sweep()
	}
	b.mem.Drop(b.head().Key())
	b.mem.Drop(dynamo.Key{PK: "N#pool", SK: "p"})
	b.refuse(b.open(), want(1), alloc.CodePoolDamaged)
	_, err := b.open().Pool(t.Context(), "p")
	refused(t, err, alloc.CodePoolDamaged)
	if e, err := b.open().PoolEvidence(t.Context(), "p"); err != nil || e.Head || e.Configured || len(e.Damage) == 0 {
		t.Errorf("the evidence is %+v, %v", e, err)
	}
	_, _, err = b.open().CreatePool(t.Context(), "p", alloc.PoolConfig{}.WithDefaults())
	refused(t, err, alloc.CodePoolDamaged)
	_, err = b.open().RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "j"})
	refused(t, err, alloc.CodeInvalidConfig)
	b.rebuildFrom(b.open(), alloc.PoolRebuildOrder{Pool: "p", Job: "j", Policy: alloc.PolicyKeep})
	for id, state := range taken {
		if state == alloc.StateReturning {
			taken[id] = alloc.StateFree
		}
	}
	b.sweep()
	if met := b.walk(); len(met) != 60 {
		t.Errorf("a walk met %d IDs, want 60", len(met))
	}
	if list, err := b.open().ListPools(t.Context(), "", 10); err != nil || len(list) != 1 || list[0].State != alloc.PoolActive {
		t.Errorf("the list of pools is %v, %v", list, err)
	}
}

// TestACreationThatWasCutOffIsNotDoneAgainOverAUsedPool loses the head of a pool whose catalogue item was never made live.
func TestACreationThatWasCutOffIsNotDoneAgainOverAUsedPool(t *testing.T) {
	for name, key := range map[string]dynamo.Key{
		"its first chunk": {PK: "P#p#1#0", SK: "C"}, "its sweeps": {PK: "P#p", SK: "L"}, "its refill": {PK: "P#p", SK: "F"},
		"a sample": {PK: "P#p#V", SK: "20250101T0000Z"}, "a return": {PK: "P#p#R", SK: "I#id#0"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.mem.Set(dynamo.Item{"pk": "N#pool", "sk": "p", dynamo.AttrState: "c"})
			b.mem.Set(dynamo.Item{"pk": key.PK, "sk": key.SK})
			for range 2 {
				_, _, err := b.open().CreatePool(t.Context(), "p", alloc.PoolConfig{}.WithDefaults())
				refused(t, err, alloc.CodePoolDamaged)
			}
			b.refuse(b.open(), want(1), alloc.CodePoolDamaged)
			b.mem.Drop(key)
			b.refuse(b.open(), want(1), alloc.CodePoolNotFound)
			b.pool(alloc.PoolConfig{})
		})
	}
}

func TestWhatAScanReadsCannotBreakIt(t *testing.T) {
	b := filled(t, 3, alloc.PoolConfig{})
	b.edit(idItem("id-000000"), func(it dynamo.Item) { it[dynamo.AttrState] = "?" })
	b.edit(idItem("id-000001"), func(it dynamo.Item) { delete(it, dynamo.AttrGeneration) })
	if sum := b.rebuild("j"); sum.Met != 3 || sum.Tally.Free != 1 {
		t.Errorf("met %+v, want one free of three", sum)
	}
	if got := b.drain(b.open()); len(got) != 1 {
		t.Errorf("claimed %v, want the one that is whole", got)
	}
}
