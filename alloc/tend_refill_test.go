package alloc_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
)

// filled is the configuration of a pool that a generator keeps between the levels.
func filled(low, target alloc.Count, g generator.Config) alloc.PoolConfig {
	return alloc.PoolConfig{Generator: g, Marks: alloc.Marks{Low: low, Target: target}}.WithDefaults()
}

var (
	uuids  = generator.Config{Kind: generator.UUIDv7}
	random = generator.Config{Kind: generator.Random, Length: 10}
	yearly = generator.Config{Kind: generator.Sequence, Sequence: "invoices", Format: "inv-{yyyy}-{n:6}"}
	plain  = generator.Config{Kind: generator.Sequence, Sequence: "invoices", Format: "inv-{n:6}"}
)

// plant is a Service on a clock over a model with a pool that is filled, and the sequence of its generator.
type plant struct {
	*alloc.Service
	t     failer
	ctx   context.Context
	clock *alloctest.Clock
	model *alloctest.Model
	store *alloctest.Faulty // between the Service and the model
}

// failer is what tests and those of drawn cases have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func newPlant(t testing.TB, config alloc.PoolConfig) *plant {
	t.Helper()
	return newPlantFor(t.Context(), t, config)
}

func newPlantFor(ctx context.Context, t failer, config alloc.PoolConfig) *plant {
	t.Helper()
	p := &plant{t: t, ctx: asAdmin(ctx), clock: alloctest.NewClock()}
	p.model = alloctest.NewModel(p.clock.Now)
	p.store = alloctest.NewFaulty(p.model, nil)
	p.Service = p.another(p.store)
	if name := config.Generator.Sequence; name != "" {
		if _, _, err := p.CreateSequence(p.ctx, alloc.SequenceName(name), alloc.SequenceConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := p.CreatePool(p.ctx, pool, config); err != nil {
		t.Fatal(err)
	}
	return p
}

// another is a Service as another process has it.
func (p *plant) another(store alloc.Store) *alloc.Service {
	s, err := alloc.NewService(alloc.Config{Store: store, Now: p.clock.Now, Encoders: encoders})
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// run is one run of the schedule, in which nothing may fail.
func (p *plant) run() alloc.TendReport {
	p.t.Helper()
	r, err := p.Tend(p.ctx)
	if err != nil || len(r.Failed) > 0 {
		p.t.Fatalf("a run: %v, failed %v", err, r.Failed)
	}
	for _, f := range r.Refills {
		if f.Err != nil {
			p.t.Fatalf("a run: the refill of %s: %v", f.Pool, f.Err)
		}
	}
	return r
}

// available is how many IDs the pool has.
func (p *plant) available() alloc.Count {
	p.t.Helper()
	l, err := p.model.Level(p.ctx, pool)
	if err != nil {
		p.t.Fatal(err)
	}
	return l.Available
}

func (p *plant) wantAvailable(want alloc.Count, when string) {
	p.t.Helper()
	if got := p.available(); got != want {
		p.t.Fatalf("%s: %d IDs are available, want %d", when, got, want)
	}
}

// claim takes IDs, a hundred at once.
func (p *plant) claim(n alloc.Count) (ids []alloc.ID) {
	p.t.Helper()
	for alloc.Count(len(ids)) < n {
		c, err := p.model.Claim(p.ctx, alloc.ClaimOrder{Pool: pool, Count: min(100, n-alloc.Count(len(ids)))})
		if err != nil {
			p.t.Fatal(err)
		}
		ids = append(ids, c.IDs...)
	}
	return ids
}

// ids lists all IDs of the pool that are in the state, in the order of their names.
func (p *plant) ids(state alloc.State) (ids []alloc.ID) {
	p.t.Helper()
	for mark, more := "", true; more; more = mark != "" {
		page, next, err := p.model.WalkIDs(p.ctx, pool, state, mark, 1000)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, r := range page {
			ids = append(ids, r.ID)
		}
		mark = next
	}
	return ids
}

func (p *plant) change(config alloc.PoolConfig) {
	p.t.Helper()
	now, err := p.model.Pool(p.ctx, pool)
	if err == nil {
		_, err = p.ChangePool(p.ctx, pool, now.Version, config)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *plant) seedByHand(job alloc.JobID, ids ...alloc.ID) {
	p.t.Helper()
	if _, err := p.model.Seed(p.ctx, alloc.SeedBatch{Pool: pool, Job: job, IDs: ids}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plant) refill() alloc.Refill {
	p.t.Helper()
	r, err := p.model.Refill(p.ctx, pool)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// numbered is count IDs of a format with one number, from the first on.
func numbered(format string, first, count int) (ids []alloc.ID) {
	for i := range count {
		ids = append(ids, alloc.ID(fmt.Sprintf(format, first+i)))
	}
	return ids
}

func TestARunFillsAPoolToItsTarget(t *testing.T) {
	for _, c := range []struct {
		kind    string
		config  alloc.PoolConfig
		batches int
	}{
		{"random", filled(10, 1234, random), 3},
		{"uuids", filled(10, 20, uuids), 1},
		{"a sequence", filled(10, 1001, plain), 3},
		{"a sequence with a period", filled(10, 500, yearly), 1},
		{"a pool that forgets", alloc.PoolConfig{Policy: alloc.PolicyForget, Generator: uuids, Marks: alloc.Marks{Low: 1, Target: 5}}, 1},
	} {
		t.Run(c.kind, func(t *testing.T) {
			p, target := newPlant(t, c.config), c.config.Marks.Target
			r := p.run()
			p.wantAvailable(target, "after a run")
			want := alloc.RefillReport{Pool: pool, Added: target, Batches: c.batches}
			if len(r.Refills) != 1 || r.Refills[0] != want {
				t.Errorf("the run tells of %+v, want %+v", r.Refills, want)
			}
			if len(r.Pools) != 1 || r.Pools[0].Level.Available != target || r.Pools[0].IsLow() || !r.Pools[0].Filled || r.Pools[0].Dry {
				t.Errorf("the pool stands at %+v", r.Pools)
			}
			if rec := p.refill(); rec.Filling || len(rec.IDs) > 0 || rec.Dry != "" {
				t.Errorf("the record is %+v, want it at rest", rec)
			}

			// Between the marks nothing is added; below low it is filled again.
			p.claim(target - c.config.Marks.Low)
			r = p.run()
			p.wantAvailable(c.config.Marks.Low, "between the marks")
			if r.Refills[0].Added != 0 || r.Refills[0].Batches != 0 {
				t.Errorf("between the marks the run tells of %+v", r.Refills)
			}
			p.claim(1)
			p.run()
			p.wantAvailable(target, "after it was below low")
		})
	}
}

func TestIDsOfASequenceHaveNoGap(t *testing.T) {
	p := newPlant(t, filled(100, 1200, yearly))
	p.clock.Advance(time.Hour) // into 2038
	p.run()
	p.claim(1150)
	p.run()
	want := numbered("inv-2038-%06d", 1, 1200+1150)
	if got := p.ids(""); !slices.Equal(got, want) {
		t.Errorf("got %d IDs, %v to %v, want the numbers 1 to %d", len(got), got[0], got[len(got)-1], len(want))
	}
}
