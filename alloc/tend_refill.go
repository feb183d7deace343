package alloc

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// tendRounds bounds how often one run sweeps a pool that has work left after each sweep.
const tendRounds = 10

// tending is a run on its way through the pools.
type tending struct {
	*Service
	caller Caller
	over   func() bool     // the run's time is
	time   context.Context // ends with the time for pools
	enough func() bool     // that is over

	sequences map[SequenceName]Sequence // that are not deleted, as of the beginning of the run
	all       []*tended                 // the pools that the run came to, or was to come to
}

// tended is a pool in a run.
type tended struct {
	pool   Pool
	swept  SweepReport
	sweeps int   // that went well
	sweep  bool  // it is to be swept
	failed error // why a sweep or a look failed
	seen   *sight
	fill   *filling // nil where it is not to be filled
	batch  bool     // another batch is to follow
}

// sight is how a pool stood when the run looked at it.
type sight struct {
	at    time.Time
	level Level // the last that was read
	burns []Burn
}

// pools comes to every pool, and again to those with work left, until the time for pools is over.
func (t *tending) pools(ctx context.Context, pools []Pool) TendReport {
	all := make([]*tended, len(pools))
	for i, p := range pools {
		all[i] = &tended{pool: p, sweep: true}
	}
	t.all = all
	due := all
	for round := 0; round < max(tendRounds, refillBatches) && len(due) > 0; round++ {
		visited := due
		due = nil
		for _, p := range visited {
			if t.enough() {
				break
			}
			t.visit(ctx, p, round)
			if p.sweep && round+1 < tendRounds || p.batch && round+1 < refillBatches {
				due = append(due, p)
			}
		}
		if t.enough() {
			break
		}
	}
	return t.report(all)
}

// visit does for a pool what is next in the round.
func (t *tending) visit(ctx context.Context, p *tended, round int) {
	if p.sweep && round < tendRounds {
		t.sweep(ctx, p, round)
	}
	if p.pool.State == PoolDeleted {
		return
	}
	if round == 0 && !t.over() {
		t.look(ctx, p)
	}
	if p.batch && !t.over() {
		t.refill(ctx, p)
	}
}

// sweep sweeps the pool within the time for pools, the first time in half of what is left of it at most: a pool with much to be
// swept leaves the other half to what else there is to do.
func (t *tending) sweep(ctx context.Context, p *tended, round int) {
	p.sweep = false
	early := time.Duration(0)
	if round == 0 {
		early = timeOf(t.time) / 2
	}
	share, cancel := endingBefore(t.time, early)
	defer cancel()
	soon, cancel := endingBefore(share, tendMargin)
	defer cancel()
	ctx, cancel = until(ctx, share)
	defer cancel()
	switch r, err := t.store.Sweep(ctx, p.pool.Name); {
	case err == nil:
		p.swept = p.swept.plus(r)
		p.swept.Pool, p.swept.More, p.sweep = p.pool.Name, r.More, r.More
		p.sweeps++
	case soon.Err() == nil:
		p.failed = err
	}
}

// look reads how the pool stands, and before that its record where it has a generator.
func (t *tending) look(ctx context.Context, p *tended) {
	if p.pool.fillable() {
		p.fill = &filling{Service: t.Service, caller: t.caller, pool: p.pool, report: RefillReport{Pool: p.pool.Name}}
		if t.refilled(p, p.fill.read(ctx)) {
			p.pool, p.batch, p.fill.fresh = p.fill.pool, true, true
		}
	}
	level, err := t.store.Level(ctx, p.pool.Name)
	if err != nil {
		p.batch = false
		t.fail(p, err)
		return
	}
	seen := sight{at: t.now(), level: level}
	if seen.burns, err = t.poolBurns(ctx, p.pool.Name, seen.at, level); err != nil {
		t.fail(p, err) // what is in hours counts as unknown
	}
	p.seen = &seen
	if p.batch {
		p.fill.level, p.fill.seen, p.fill.burns = &level, level, seen.burns
	}
}

func (t *tending) fail(p *tended, err error) {
	if !t.over() {
		p.failed = cmp.Or(p.failed, err)
	}
}

// refill carries the pool's refill on by a batch.
func (t *tending) refill(ctx context.Context, p *tended) {
	more, err := p.fill.batch(ctx)
	p.batch = t.refilled(p, err) && more
	p.pool = p.fill.pool
	if p.fill.stale && !t.over() {
		if _, err := p.fill.available(ctx); err != nil {
			t.fail(p, err)
		}
	}
	p.seen.level = p.fill.seen
}

// refilled notes how a step of the refill ended; ok is false for not well. That the pool takes no IDs by now, or just now, is
// no failure.
func (t *tending) refilled(p *tended, err error) (ok bool) {
	switch CodeOf(err) {
	case "":
		return true
	case CodePoolDraining, CodePoolDeleted, CodePoolRebuilding:
		return false
	}
	if !t.over() {
		p.fill.report.Err = err
	}
	return false
}

// report says what became of the pools.
func (t *tending) report(all []*tended) TendReport {
	r := TendReport{Failed: map[PoolName]error{}}
	slices.SortFunc(all, func(a, b *tended) int { return cmp.Compare(a.pool.Name, b.pool.Name) })
	for _, p := range all {
		switch {
		case p.sweeps > 0:
			r.Swept = append(r.Swept, p.swept)
		case p.failed == nil:
			r.Left++
		}
		if p.failed != nil {
			r.Failed[p.pool.Name] = p.failed
		}
		if p.pool.State == PoolDeleted {
			continue
		}
		if p.fill != nil {
			p.fill.report.Dry = p.fill.rec.Dry
			r.Refills = append(r.Refills, p.fill.report)
		}
		if p.seen != nil {
			r.Pools = append(r.Pools, t.standing(p))
		}
	}
	return r
}

// standing is how the pool stands by what was seen of it last.
func (t *tending) standing(p *tended) PoolStanding {
	low, target := p.pool.Config.levels(p.seen.burns)
	room, supply := t.supply(p)
	return PoolStanding{
		Pool: p.pool.Name, State: p.pool.State, Level: p.seen.level, Low: low, Target: target,
		Filled: !p.pool.Config.Generator.IsZero(), Dry: p.fill != nil && p.fill.rec.Dry != "",
		Forecast: poolForecast(p.seen.at, p.seen.level, p.seen.burns),
		Room:     room, Supply: supply,
	}
}
