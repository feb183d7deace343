package dynamo_test

import (
	"fmt"
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

func TestAPoolWhoseCreationWasCutOffAnywhereIsMadeByARepeat(t *testing.T) {
	config := alloc.PoolConfig{MaxBatch: 7}.WithDefaults()
	for _, fault := range []dynamotest.Fault{dynamotest.LostRequest, dynamotest.AppliedButFailed} {
		for n := range 3 {
			t.Run(fmt.Sprintf("%s at call %d", fault, n), func(t *testing.T) {
				b := newBench(t)
				b.table.Plan(dynamotest.Nth(n, anyCall, fault))
				_, _, err := b.open().CreatePool(t.Context(), "p", config)
				refused(t, err, alloc.CodeUnavailable)
				b.table.Plan(nil)
				if n == 0 { // before the head there is no pool
					_, err := b.open().Pool(t.Context(), "p")
					refused(t, err, alloc.CodePoolNotFound)
					list, err := b.open().ListPools(t.Context(), "", 10)
					if err != nil || len(list) != 0 {
						t.Errorf("ListPools: got %v and %v, want none", list, err)
					}
				}
				p, _, err := b.open().CreatePool(t.Context(), "p", config)
				if err != nil || p.Config != config {
					t.Fatalf("CreatePool again: got %+v and %v, want the pool", p, err)
				}
				b.mem.Drop(b.head().Key())
				_, err = b.open().Pool(t.Context(), "p")
				refused(t, err, alloc.CodePoolDamaged)
			})
		}
	}
}

func TestARepeatedWriteOfACreationIsKnownAsOnesOwn(t *testing.T) {
	for n := range 3 {
		b := newBench(t)
		b.table.Plan(dynamotest.Nth(n, anyCall, dynamotest.Repeated))
		_, created, err := b.open().CreatePool(t.Context(), "p", alloc.PoolConfig{}.WithDefaults())
		if err != nil || !created {
			t.Errorf("call %d repeated: got created %v and %v, want true", n, created, err)
		}
	}
}

func TestAPoolThatHasLostItsHeadIsDamagedAndNotMadeAnew(t *testing.T) {
	b := filled(t, 10, alloc.PoolConfig{})
	warm := b.open()
	b.claim(warm, wantKeyed(1, "k"))
	b.mem.Drop(b.head().Key())
	s, ctx := b.open(), t.Context()
	_, _, err := s.CreatePool(ctx, "p", alloc.PoolConfig{}.WithDefaults())
	refused(t, err, alloc.CodePoolDamaged)
	_, err = s.Pool(ctx, "p")
	refused(t, err, alloc.CodePoolDamaged)
	_, err = s.Level(ctx, "p")
	refused(t, err, alloc.CodePoolDamaged)
	_, err = s.Seed(ctx, alloc.SeedBatch{Pool: "p", Job: "j", IDs: someIDs(1)})
	refused(t, err, alloc.CodePoolDamaged)
	_, err = s.Sweep(ctx, "p")
	refused(t, err, alloc.CodePoolDamaged)
	b.refuse(s, want(1), alloc.CodePoolDamaged)
	if c := b.claim(s, wantKeyed(1, "k")); !c.Replayed {
		t.Error("a repeat in a damaged pool: got a new claim, want the first answer")
	}
	list, err := s.ListPools(ctx, "", 10)
	if err != nil || len(list) != 1 || list[0].Name != "p" {
		t.Errorf("ListPools: got %v and %v, want the damaged pool's name", list, err)
	}
}

func TestASweepMendsACatalogueWhoseMarkWasCutOff(t *testing.T) {
	b := newBench(t)
	catalogue := dynamo.Key{PK: "N#pool", SK: "p"}
	live := func(c dynamotest.Call) bool { return c.Op == dynamotest.OpUpdate && c.Key() == catalogue }
	b.table.Plan(dynamotest.Nth(0, live, dynamotest.LostRequest))
	_, _, err := b.open().CreatePool(t.Context(), "p", alloc.PoolConfig{}.WithDefaults())
	refused(t, err, alloc.CodeUnavailable)
	b.table.Plan(nil)
	b.sweep()
	b.mem.Drop(b.head().Key())
	_, _, err = b.open().CreatePool(t.Context(), "p", alloc.PoolConfig{}.WithDefaults())
	refused(t, err, alloc.CodePoolDamaged)
}

func TestLevelIsTwoReadsWhateverThePoolsSize(t *testing.T) {
	for _, n := range []int{1, 100, 4000} {
		b := filled(t, n, alloc.PoolConfig{})
		b.claim(b.open(), want(1))
		b.table.Seen()
		if _, err := b.open().Level(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		if got := len(b.table.Seen()); got > 2 {
			t.Errorf("Level of %d IDs: got %d calls, want at most 2", n, got)
		}
	}
}

func TestEveryHeadUpdateTestsTheSeriesAndThatNoRebuildIsOn(t *testing.T) {
	b := filled(t, 60, alloc.PoolConfig{})
	s := b.open()
	b.claim(s, want(5))
	b.sweep()
	b.seed(s, "more", []alloc.ID{"more"})
	b.drain(s)
	if _, err := s.SetPoolState(t.Context(), "p", 0, alloc.PoolPaused); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ChangePool(t.Context(), "p", 1, alloc.PoolConfig{MaxBatch: 3}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	updates := 0
	for _, c := range b.table.Seen() {
		if c.Key().SK != "H" || c.Op != dynamotest.OpUpdate {
			continue
		}
		updates++
		for name, head := range map[string]dynamo.Item{
			"another series": with(b.head(), dynamo.AttrSeries, b.head().Int(dynamo.AttrSeries)+1),
			"a rebuild":      with(b.head(), dynamo.AttrRebuild, "job"),
		} {
			if ok, err := dynamotest.Holds(c.Cond, head); ok || err != nil {
				t.Errorf("%s goes through under %s", c, name)
			}
		}
	}
	if updates < 6 {
		t.Errorf("got %d head updates, want those of leases, sweep, seeding and changes", updates)
	}
}

func with(it dynamo.Item, attr string, v any) dynamo.Item {
	it[attr] = v
	return it
}

func TestAPoolThatIsBeingRebuiltLeasesAndPublishesNothing(t *testing.T) {
	b := filled(t, 100, alloc.PoolConfig{})
	warm := b.open()
	b.claim(warm, want(1))
	b.edit(b.head().Key(), func(it dynamo.Item) { it[dynamo.AttrRebuild] = "job" })
	before := b.head()
	b.claim(warm, want(1)) // stock that is warm is harmless
	b.refuse(b.open(), want(1), alloc.CodePoolRebuilding)
	_, err := b.open().Sweep(t.Context(), "p")
	refused(t, err, alloc.CodePoolRebuilding)
	_, err = b.open().Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "j", IDs: []alloc.ID{"late"}})
	refused(t, err, alloc.CodePoolRebuilding)
	if after := b.head(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the head changed during a rebuild: from %v to %v", before, after)
	}
}
