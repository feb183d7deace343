package alloctest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/generator"
)

var poolCases = []testCase{
	{"CreatePool makes an active pool at version 1, and Pool reads it back", func(w *world) {
		config := alloc.PoolConfig{
			Description: "vouchers, größer", MaxBatch: 7, FoldCase: true, OnRelease: alloc.ReleaseRetires, RequireKey: true,
		}.WithDefaults()
		made, created, err := w.open().CreatePool(w.Context(), "p", config)
		w.ok(err, "CreatePool")
		equal(w, created, true, "created")
		want := alloc.Pool{Name: "p", Config: config, State: alloc.PoolActive, Version: 1, Created: w.clock.Now()}
		samePool(w, made, want)
		samePool(w, w.readPool("p"), want)
	}},
	{"a pool keeps every field of its generator and its marks, and a change replaces them", func(w *world) {
		for i, config := range filledConfigs() {
			name := alloc.PoolName(fmt.Sprintf("p%d", i))
			w.ok(config.Check(), "the configuration with a generator and marks")
			w.pool(name, config)
			equal(w, w.readPool(name).Config, config, "configuration")
			_, created, err := w.open().CreatePool(w.Context(), name, config)
			w.ok(err, "CreatePool again")
			equal(w, created, false, "created")
			for v, next := range append(filledConfigs(), alloc.PoolConfig{}.WithDefaults(), config) {
				for range 2 {
					_, err := w.open().ChangePool(w.Context(), name, alloc.Version(v+1), next)
					w.ok(err, "ChangePool")
				}
				equal(w, w.readPool(name).Config, next, "configuration after a change")
			}
		}
	}},
	{"CreatePool with an equal configuration is a repeat that changes nothing", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 7})
		w.setState("p", alloc.PoolPaused)
		before := w.readPool("p")
		again, created, err := w.open().CreatePool(w.Context(), "p", before.Config)
		w.ok(err, "CreatePool again")
		equal(w, created, false, "created")
		samePool(w, again, before)
		samePool(w, w.readPool("p"), before)
	}},
	{"CreatePool with another configuration is pool_exists and changes nothing", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 7})
		before := w.readPool("p")
		for _, other := range []alloc.PoolConfig{
			{MaxBatch: 8},
			{MaxBatch: 7, FoldCase: true},
			{MaxBatch: 7, Policy: alloc.PolicyForget},
			{MaxBatch: 7, OnRelease: alloc.ReleaseRetires},
			{MaxBatch: 7, RequireKey: true},
			{MaxBatch: 7, Marks: alloc.Marks{Low: 1}},
			{MaxBatch: 7, Generator: generator.Config{Kind: generator.UUIDv7}, Marks: alloc.Marks{Low: 1, Target: 2}},
		} {
			_, created, err := w.open().CreatePool(w.Context(), "p", other.WithDefaults())
			w.want(err, alloc.CodePoolExists, "CreatePool with another configuration")
			equal(w, created, false, "created")
		}
		samePool(w, w.readPool("p"), before)
	}},
	{"C05 of many callers who create one pool at once, one creates it", func(w *world) {
		n := w.callers()
		var firsts atomic.Int64
		stores := w.processes(n)
		w.together(n, func(i int) {
			_, created, err := stores[i].CreatePool(w.Context(), "p", alloc.PoolConfig{}.WithDefaults())
			if err != nil {
				w.Errorf("CreatePool of an equal pool: got %v, want no error", err)
			}
			if created {
				firsts.Add(1)
			}
		})
		equal(w, firsts.Load(), 1, "callers who created the pool")
	}},
	{"C05 of many callers who create one name with different configurations, one wins and its configuration stays", func(w *world) {
		n := w.callers()
		var firsts, winner atomic.Int64
		stores := w.processes(n)
		w.together(n, func(i int) {
			config := alloc.PoolConfig{MaxBatch: alloc.Count(i + 1)}.WithDefaults()
			_, created, err := stores[i].CreatePool(w.Context(), "p", config)
			switch {
			case created && err == nil:
				firsts.Add(1)
				winner.Store(int64(config.MaxBatch))
			case !alloc.Is(err, alloc.CodePoolExists):
				w.Errorf("CreatePool beside another: got created %v and %v, want pool_exists", created, err)
			}
		})
		equal(w, firsts.Load(), 1, "callers who created the pool")
		equal(w, w.readPool("p").Config.MaxBatch, alloc.Count(winner.Load()), "max_batch of the winner")
	}},
	{"a pool is found at once by a process that missed it a moment ago", func(w *world) {
		s := w.open()
		w.refuse(s, order("p", 1), alloc.CodePoolNotFound, "Claim of a pool that is not there")
		w.full("p", 1)
		w.claim(s, order("p", 1))
	}},
	{"a pool that was never created is pool_not_found in every method", func(w *world) {
		s, ctx := w.open(), w.Context()
		w.refuse(s, order("p", 1), alloc.CodePoolNotFound, "Claim")
		w.refuse(s, keyedOrder("p", 1, "k"), alloc.CodePoolNotFound, "Claim with a key")
		_, err := s.Pool(ctx, "p")
		w.want(err, alloc.CodePoolNotFound, "Pool")
		_, err = s.ChangePool(ctx, "p", 1, alloc.PoolConfig{}.WithDefaults())
		w.want(err, alloc.CodePoolNotFound, "ChangePool")
		_, err = s.SetPoolState(ctx, "p", 0, alloc.PoolPaused)
		w.want(err, alloc.CodePoolNotFound, "SetPoolState")
		_, err = s.Level(ctx, "p")
		w.want(err, alloc.CodePoolNotFound, "Level")
		_, err = s.Inspect(ctx, "p", "x")
		w.want(err, alloc.CodePoolNotFound, "Inspect")
		_, err = s.Seed(ctx, alloc.SeedBatch{Pool: "p", Job: "j", IDs: []alloc.ID{"x"}})
		w.want(err, alloc.CodePoolNotFound, "Seed")
		_, err = s.Sweep(ctx, "p")
		w.want(err, alloc.CodePoolNotFound, "Sweep")
		_, err = s.Settle(ctx, alloc.SettleOrder{Pool: "p", Event: alloc.EventRelease, IDs: []alloc.ID{"x"}, Token: alloc.NewToken()})
		w.want(err, alloc.CodePoolNotFound, "Settle")
		_, _, err = s.WalkIDs(ctx, "p", "", "", 10)
		w.want(err, alloc.CodePoolNotFound, "WalkIDs")
		_, err = s.RecentClaims(ctx, "p", 10)
		w.want(err, alloc.CodePoolNotFound, "RecentClaims")
	}},
	{"ChangePool replaces the configuration at its version and raises the version", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 7})
		want := w.readPool("p")
		want.Config.MaxBatch, want.Config.Description, want.Version = 9, "changed", 2
		want.Config.OnRelease, want.Config.RequireKey = alloc.ReleaseRetires, true
		got, err := w.open().ChangePool(w.Context(), "p", 1, want.Config)
		w.ok(err, "ChangePool")
		samePool(w, got, want)
		samePool(w, w.readPool("p"), want)
	}},
	{"a repeat of the change made last succeeds and changes nothing", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 7})
		config := alloc.PoolConfig{MaxBatch: 9}.WithDefaults()
		for range 3 {
			got, err := w.open().ChangePool(w.Context(), "p", 1, config)
			w.ok(err, "ChangePool")
			equal(w, got.Version, 2, "version")
			equal(w, got.Config, config, "configuration")
		}
	}},
	{"ChangePool from another version is version_mismatch with the present one, and changes nothing", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 7})
		_, err := w.open().ChangePool(w.Context(), "p", 1, alloc.PoolConfig{MaxBatch: 8}.WithDefaults())
		w.ok(err, "ChangePool")
		before := w.readPool("p")
		for _, from := range []alloc.Version{1, 3, 100} {
			_, err := w.open().ChangePool(w.Context(), "p", from, alloc.PoolConfig{MaxBatch: 9}.WithDefaults())
			e := w.wantError(err, alloc.CodeVersionMismatch, fmt.Sprintf("ChangePool from version %d", from))
			equal(w, e.Current, 2, "Current")
		}
		samePool(w, w.readPool("p"), before)
	}},
	{"of many callers who change one version at once, one does", func(w *world) {
		n := w.callers()
		w.pool("p", alloc.PoolConfig{MaxBatch: 1000})
		var done, winner atomic.Int64
		stores := w.processes(n)
		w.together(n, func(i int) {
			_, err := stores[i].ChangePool(w.Context(), "p", 1, alloc.PoolConfig{MaxBatch: alloc.Count(i + 1)}.WithDefaults())
			switch {
			case err == nil:
				done.Add(1)
				winner.Store(int64(i + 1))
			case !alloc.Is(err, alloc.CodeVersionMismatch):
				w.Errorf("ChangePool beside another: got %v, want version_mismatch", err)
			}
		})
		equal(w, done.Load(), 1, "callers who changed the pool")
		equal(w, w.readPool("p").Version, 2, "version")
		equal(w, w.readPool("p").Config.MaxBatch, alloc.Count(winner.Load()), "max_batch of the winner")
	}},
	{"C25 ChangePool refuses what is fixed and what cannot work, and changes nothing", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 7})
		before := w.readPool("p")
		for _, bad := range []alloc.PoolConfig{
			{Policy: alloc.PolicyForget, MaxBatch: 7},
			{Policy: alloc.PolicyKeep, MaxBatch: 7, FoldCase: true},
			{Policy: alloc.PolicyKeep, MaxBatch: 0},
			{Policy: alloc.PolicyKeep, MaxBatch: -1},
			{Policy: alloc.PolicyKeep, MaxBatch: alloc.MaxBatchLimit + 1},
		} {
			_, err := w.open().ChangePool(w.Context(), "p", 1, bad)
			w.want(err, alloc.CodeInvalidConfig, fmt.Sprintf("ChangePool to %+v", bad))
		}
		samePool(w, w.readPool("p"), before)
	}},
	{"a changed limit holds in every process within 30 seconds", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 2})
		w.seedNew("p", "first", someIDs("p-", 20))
		warm := w.open()
		w.claim(warm, order("p", 2))
		changed, err := w.open().ChangePool(w.Context(), "p", 1, alloc.PoolConfig{MaxBatch: 3}.WithDefaults())
		w.ok(err, "ChangePool")
		w.clock.Advance(stateDelay)
		w.claim(warm, order("p", 3))
		w.claim(w.open(), order("p", 3))
		_, err = w.open().ChangePool(w.Context(), "p", changed.Version, alloc.PoolConfig{MaxBatch: 1}.WithDefaults())
		w.ok(err, "ChangePool")
		w.clock.Advance(stateDelay)
		w.refuse(warm, order("p", 2), alloc.CodeInvalidCount, "Claim above the new limit")
		w.refuse(w.open(), order("p", 2), alloc.CodeInvalidCount, "Claim above the new limit")
	}},
	{"ListPools gives every pool in the order of the names' bytes, page by page", func(w *world) {
		shuffled(len(listNames), func(i int) { w.pool(alloc.PoolName(listNames[i]), alloc.PoolConfig{MaxBatch: alloc.Count(i + 1)}) })
		w.setState("a.b", alloc.PoolDeleted)
		for _, limit := range []int{1, 3, len(listNames), 100} {
			var got []string
			for _, p := range pages(w, "ListPools", limit, func(after alloc.PoolName) ([]alloc.Pool, error) {
				return w.open().ListPools(w.Context(), after, limit)
			}, func(p alloc.Pool) alloc.PoolName { return p.Name }) {
				got = append(got, string(p.Name))
				samePool(w, p, w.readPool(p.Name))
			}
			if diff := cmp.Diff(listNames, got); diff != "" {
				w.Fatalf("pools in pages of %d (-want +got):\n%s", limit, diff)
			}
		}
		page, err := w.open().ListPools(w.Context(), "a-zzz", 1)
		w.ok(err, "ListPools after a name that is none")
		equal(w, len(page), 1, "pools after a name that is none")
		equal(w, page[0].Name, "a.b", "first pool after a name that is none")
	}},
	{"Level is exact after a sweep with no stock in any memory", func(w *world) {
		w.full("p", 30)
		s := w.open()
		for range 4 {
			w.claim(s, order("p", 3))
		}
		w.settle("p")
		got, err := w.open().Level(w.Context(), "p")
		w.ok(err, "Level")
		want := alloc.Level{Available: 18, Seeded: 30, Claimed: 12, CountedAt: got.CountedAt}
		equal(w, got, want, "level")
		if age := w.clock.Now().Sub(got.CountedAt); age < 0 || age > time.Minute {
			w.Errorf("CountedAt: got %v, want the time of the sweep, %v", got.CountedAt, w.clock.Now())
		}
	}},
	{"Level of a new pool is empty, and counts what a first seeding added", func(w *world) {
		w.pool("p", alloc.PoolConfig{})
		got, err := w.open().Level(w.Context(), "p")
		w.ok(err, "Level")
		equal(w, got.Available, 0, "Available of an empty pool")
		w.seedNew("p", "first", someIDs("p-", 25))
		got, err = w.open().Level(w.Context(), "p")
		w.ok(err, "Level")
		equal(w, got.Available, 25, "Available after seeding, with no claim")
	}},
	{"Ready succeeds on an engine that answers", func(w *world) {
		w.ok(w.open().Ready(w.Context()), "Ready")
	}},
}

// filledConfigs have, all together, every field of a generator and of marks.
func filledConfigs() []alloc.PoolConfig {
	configs := []alloc.PoolConfig{
		{
			Generator: generator.Config{
				Kind: generator.Random, Alphabet: "ABCDEFGHJKMNPQRSTUVWXYZ0123456789", Length: 20, Prefix: "größer-", Group: 5, Separator: "~",
				CheckChar: generator.CheckMod3736, WithoutAmbiguous: true, Block: "DAMN HECK",
			},
			Marks: alloc.Marks{Low: 10, Target: alloc.MaxTarget, LowHours: 3, TargetHours: alloc.MaxRunwayHours},
		},
		{
			Generator: generator.Config{
				Kind: generator.Sequence, Sequence: "invoices", Format: "INV-{yyyy}-{n:6}", Overflow: generator.OverflowGrow, TimeZone: "Europe/Berlin",
			},
			Marks: alloc.Marks{LowHours: 1, TargetHours: 2},
		},
		{Generator: generator.Config{Kind: generator.ULID}, Marks: alloc.Marks{Low: 1, Target: 2}},
		{Marks: alloc.Marks{Low: 5}},
	}
	for i := range configs {
		configs[i] = configs[i].WithDefaults()
	}
	return configs
}

// readPool reads a pool from another process.
func (w *world) readPool(name alloc.PoolName) alloc.Pool {
	w.Helper()
	p, err := w.elsewhere().Pool(w.Context(), name)
	w.ok(err, "Pool")
	return p
}

// processes opens n Stores with nothing in memory.
func (w *world) processes(n int) []alloc.Store {
	w.Helper()
	stores := make([]alloc.Store, n)
	for i := range stores {
		stores[i] = w.open()
	}
	return stores
}

func samePool(w *world, got, want alloc.Pool) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(sameTime)); diff != "" {
		w.Fatalf("pool (-want +got):\n%s", diff)
	}
}
