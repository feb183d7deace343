package alloc_test

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
)

// What there is to say of a pool's refill costs a list one read for each pool with a generator, and nothing for others.
func TestTheStatusOfARefillCostsOneRead(t *testing.T) {
	w := newWorks(t, 3)
	kept := alloc.PoolConfig{Generator: generator.Config{Kind: generator.ULID}, Marks: alloc.Marks{Low: 2, Target: 4}}
	hourly := alloc.PoolConfig{Generator: generator.Config{Kind: generator.ULID}, Marks: alloc.Marks{LowHours: 2, TargetHours: 4}}
	alarm := alloc.PoolConfig{Marks: alloc.Marks{Low: 2}}
	for name, c := range map[alloc.PoolName]alloc.PoolConfig{"kept": kept, "hourly": hourly, "alarm": alarm} {
		if _, _, err := w.CreatePool(w.ctx, name, c); err != nil {
			t.Fatal(err)
		}
	}
	w.tend(t)
	reads := func() map[string]int {
		all := map[string]int{}
		for _, method := range []string{"Level", "Refill", "PoolSamples"} {
			all[method] = called(w.store, method)
		}
		return all
	}
	since := func(before map[string]int) (levels, refills, samples int) {
		now := reads()
		return now["Level"] - before["Level"], now["Refill"] - before["Refill"], now["PoolSamples"] - before["PoolSamples"]
	}
	before := reads()
	pools, _, err := w.Pools(w.ctx, "", 100)
	if levels, refills, samples := since(before); err != nil || levels != len(pools) || refills != 2 || samples != 0 {
		t.Errorf("%d pools, %v: %d levels, %d refills and %d queries of samples were read, want all, two and none", len(pools), err, levels, refills, samples)
	}
	got := map[alloc.PoolName]*alloc.RefillStatus{}
	for _, p := range pools {
		got[p.Pool.Name] = p.Refill
	}
	if got[pool] != nil || got["kept"] == nil || *got["kept"] != (alloc.RefillStatus{}) || got["alarm"] == nil || *got["alarm"] != (alloc.RefillStatus{Low: true}) {
		t.Errorf("the refills are %+v", got)
	}

	// Marks in hours need the rates of the moment, which one pool alone is looked at for.
	for range 10 {
		if _, err := w.Claim(w.ctx, alloc.ClaimRequest{Pool: "hourly", Count: 5}); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(time.Minute)
		if _, err := w.Sweep(w.ctx, "hourly"); err != nil {
			t.Fatal(err)
		}
	}
	before = reads()
	one, err := w.Pool(w.ctx, "hourly")
	if levels, refills, samples := since(before); err != nil || levels != 1 || refills != 1 || samples != 2 || !one.Refill.Low {
		t.Errorf("%v: %d levels, %d refills and %d queries, %+v, want it low", err, levels, refills, samples, one.Refill)
	}
}

// A refill that cannot be read fails alone, and one of a generator that the pool has no longer is nobody's.
func TestTheStatusOfARefillFailsAlone(t *testing.T) {
	w := newWorks(t, 3)
	c := alloc.PoolConfig{Generator: generator.Config{Kind: generator.Random, Alphabet: "0123456789", Length: 2}, Marks: alloc.Marks{Low: 5, Target: 10}}
	p, _, err := w.CreatePool(w.ctx, "kept", c)
	if err != nil {
		t.Fatal(err)
	}
	dry := alloc.Refill{Pool: "kept", Filling: true, Dry: "all used", Generator: p.Config.Generator}
	if _, err := w.model.ChangeRefill(t.Context(), 0, dry); err != nil {
		t.Fatal(err)
	}
	s, err := w.Pool(w.ctx, "kept")
	if want := (alloc.RefillStatus{Low: true, Filling: true, Dry: "all used"}); err != nil || s.Refill == nil || *s.Refill != want {
		t.Errorf("got %+v, %v", s.Refill, err)
	}
	for _, method := range []string{"Refill", "Level"} {
		w.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
			if c.Method == method {
				return alloctest.Refused
			}
			return alloctest.Pass
		})
		s, err := w.Pool(w.ctx, "kept")
		if err != nil || s.Refill != nil || (s.RefillError != nil) != (method == "Refill") || (s.LevelError != nil) != (method == "Level") {
			t.Errorf("without %s: %+v, %v", method, s, err)
		}
	}
	w.store.SetPlan(nil)
	c.Generator.Length = 3
	if _, err := w.ChangePool(w.ctx, "kept", p.Version, c); err != nil {
		t.Fatal(err)
	}
	if s, err := w.Pool(w.ctx, "kept"); err != nil || *s.Refill != (alloc.RefillStatus{Low: true}) {
		t.Errorf("with another generator: %+v, %v", s.Refill, err)
	}
}
