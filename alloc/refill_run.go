package alloc

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"idpool/alloc/generator"
)

const (
	// refillBatches bounds the batches of a pool in one run.
	refillBatches = 20

	// refillSteps bounds the steps by which one batch is carried to its end, those included that somebody else was faster with.
	refillSteps = 25

	// refillTries is how often one change of the record is tried while its outcome is unknown.
	refillTries = 3

	// enoughMisses is how many IDs in a row have to be there already until a generator counts as used up: of few it may be
	// by chance.
	enoughMisses = 50
)

// filling is the refill of one pool in one run. Everything that two runs could do twice is decided by the record, and each
// step is repeatable: whatever a run has left behind, the next one finds in the record and carries on.
//
//	idle      Filling is off. Below the low mark a batch is ordered: its name is put into the record, and Filling with it.
//	ordered   Filling without IDs. The IDs are made and put into the record. What runs at the same time make, or a run
//	          after a crash, is of the same name: numbers of a sequence are leased under it, and so are the same.
//	open      IDs are there. They are seeded up to the target. When each was added or was there before, the batch has come
//	          to its end, and the next one is ordered or Filling goes off. Where some are not needed, as the target was
//	          reached, Filling goes off and the batch stays: its IDs are the first of the next refill.
//
// A batch whose end the record does not know yet may be seeded again at any time, by a run that has slept for an hour too:
// that adds nothing twice, and never lifts the pool above the batch's UpTo.
type filling struct {
	*Service
	caller Caller
	pool   Pool // as it was when the record was read
	burns  []Burn
	low    Count
	target Count
	rec    Refill
	fresh  bool   // rec and pool were read for the next batch
	level  *Level // read after rec; nil where it has to be read
	seen   Level  // the last that was read
	stale  bool   // IDs may have been added since
	misses int    // IDs in a row, of whole batches, that were there already
	report RefillReport
}

// fillable reports whether a pool is to be filled. A paused one is, so that it is full when it is resumed.
func (p Pool) fillable() bool {
	return !p.Config.Generator.IsZero() && (p.State == PoolActive || p.State == PoolPaused)
}

// read reads the record, and after it the pool: the record's generator is never newer than the pool's then.
func (f *filling) read(ctx context.Context) (err error) {
	if f.rec, err = f.store.Refill(ctx, f.pool.Name); err != nil {
		return err
	}
	if f.pool, err = f.store.Pool(ctx, f.pool.Name); err != nil {
		return err
	}
	f.level = nil
	return nil
}

// available is how many IDs are, as of after the record was read.
func (f *filling) available(ctx context.Context) (Count, error) {
	if f.level == nil {
		level, err := f.store.Level(ctx, f.pool.Name)
		if err != nil {
			return 0, err
		}
		f.level, f.seen, f.stale = &level, level, false
	}
	return f.level.Available, nil
}

// progress is what a step of a refill came to.
type progress int

const (
	goesOn   progress = iota
	carried           // a batch to its end; there may be another
	finished          // for this run
)

// batch carries the refill on until one batch has come to its end, or nothing is left to do. more says that another may
// follow in this run.
func (f *filling) batch(ctx context.Context) (more bool, err error) {
	if !f.fresh {
		if err := f.read(ctx); err != nil {
			return false, err
		}
	}
	f.fresh = false
	for range refillSteps {
		if !f.pool.fillable() {
			return false, nil
		}
		f.low, f.target = f.pool.Config.levels(f.burns)
		p, err := f.step(ctx)
		switch {
		case Is(err, CodeVersionMismatch): // somebody else's step; theirs is carried on
			if err := f.read(ctx); err != nil {
				return false, err
			}
		case err != nil:
			return false, err
		case p != goesOn:
			return p == carried, nil
		}
	}
	return false, nil
}

// step is what is next by the record.
func (f *filling) step(ctx context.Context) (progress, error) {
	if f.rec.Version > 0 && f.rec.Generator != f.pool.Config.Generator {
		return f.begin(ctx)
	}
	if !f.rec.Filling {
		return f.idle(ctx)
	}
	if len(f.rec.IDs) == 0 {
		return f.make(ctx)
	}
	return f.seed(ctx)
}

// begin makes the record one of the pool's present generator. A pool that was being filled is filled on. What is not added
// of another generator's batch was never to be claimed, and is dropped, but for numbers that would be missing then.
func (f *filling) begin(ctx context.Context) (progress, error) {
	r := Refill{Generator: f.pool.Config.Generator}
	switch {
	case f.numbersStay():
		r = f.rec
		r.Generator, r.Dry, r.DrySince = f.pool.Config.Generator, "", time.Time{}
	case f.rec.Filling:
		f.order(&r)
	}
	return f.change(ctx, r)
}

// numbersStay reports whether the record's batch has, or may have leased, numbers that the present generator goes on from.
func (f *filling) numbersStay() bool {
	was, is := f.rec.Generator, f.pool.Config.Generator
	if was.Kind != generator.Sequence || was.Kind != is.Kind || was.Sequence != is.Sequence {
		return false
	}
	at := orderOf(f.rec).at()
	return len(f.rec.IDs) > 0 || f.rec.Filling && periodOf(was, at) == periodOf(is, at)
}

// idle begins to fill a pool below its low mark, with what is left of the last batch where there is some.
func (f *filling) idle(ctx context.Context) (progress, error) {
	available, err := f.available(ctx)
	if err != nil {
		return goesOn, err
	}
	if available >= min(f.low, f.target) {
		return finished, nil
	}
	r := f.rec
	r.Generator = f.pool.Config.Generator
	if len(r.IDs) == 0 {
		f.order(&r)
	} else {
		r.Filling, r.UpTo = true, f.target
	}
	return f.change(ctx, r)
}

// order orders a batch. Its name begins with the time, which is that of its IDs: all who make them make the same.
func (f *filling) order(r *Refill) {
	r.Batch, r.IDs, r.UpTo, r.Filling = JobID(newOrder(f.now())), nil, f.target, true
}

// make makes the IDs of the batch that was ordered, as many as are missing to the target, and puts them into the record.
func (f *filling) make(ctx context.Context) (progress, error) {
	available, err := f.available(ctx)
	if err != nil {
		return goesOn, err
	}
	n := max(1, f.target-available)
	switch {
	case f.misses > 0 && f.pool.Config.Generator.Kind == generator.Random:
		n = MaxRefillIDs // of a space that is nearly used up, few of those drawn are new
	case f.misses > 0:
		n = max(n, enoughMisses)
	}
	ids, why, err := f.generate(ctx, min(n, MaxRefillIDs))
	switch {
	case err != nil:
		return goesOn, err
	case why == "":
		r := f.rec
		r.Batch, r.IDs, r.UpTo = JobID(orderOf(r)), ids, f.target
		return f.change(ctx, r)
	case why == f.rec.Dry:
		return finished, nil
	}
	return f.runDry(ctx, f.rec, why)
}

// seed adds the IDs of the batch, up to the target.
func (f *filling) seed(ctx context.Context) (progress, error) {
	r := f.rec
	if f.target < r.UpTo || r.UpTo < 1 { // 0 would be all, always
		r.UpTo = f.target
		return f.change(ctx, r)
	}
	outcomes, err := f.store.Seed(ctx, SeedBatch{Pool: f.pool.Name, Job: r.Batch, IDs: r.IDs, UpTo: r.UpTo})
	f.level, f.stale = nil, true
	if err != nil {
		return goesOn, err
	}
	if len(outcomes) != len(r.IDs) {
		return goesOn, Errorf(CodeInternal, "the store gave %d outcomes for %d IDs", len(outcomes), len(r.IDs))
	}
	added, unneeded := countOf(outcomes, SeedAdded), countOf(outcomes, SeedUnneeded)
	switch {
	case unneeded == 0:
		return f.close(ctx, added)
	case f.target > r.UpTo: // it was raised since
		r.UpTo = f.target
		return f.change(ctx, r)
	}
	r.Filling = false
	if added+unneeded == len(outcomes) {
		r.Dry, r.DrySince = "", time.Time{}
	}
	if p, err := f.change(ctx, r); err != nil {
		return p, err
	}
	return finished, nil
}

func countOf(outcomes []SeedOutcome, o SeedOutcome) (n int) {
	for _, other := range outcomes {
		if other == o {
			n++
		}
	}
	return n
}

// close ends a batch of which every ID was added or was there before, and orders the next one while the target is not
// reached. Whoever closes it counts what it has added.
func (f *filling) close(ctx context.Context, added int) (progress, error) {
	available, err := f.available(ctx)
	if err != nil {
		return goesOn, err
	}
	r := f.rec
	n := len(r.IDs)
	r.Batch, r.IDs, r.UpTo, r.Filling = "", nil, 0, false
	if available < f.target {
		f.order(&r)
	}
	misses := 0
	if added == 0 {
		misses = f.misses + n
	}
	if misses >= enoughMisses {
		p, err := f.runDry(ctx, r, f.repeats(misses))
		if err == nil {
			f.report.Batches++
		}
		return p, err
	}
	if added > 0 {
		r.Dry, r.DrySince = "", time.Time{}
	}
	if p, err := f.change(ctx, r); err != nil {
		return p, err
	}
	f.misses = misses
	f.report.Added += Count(added)
	f.report.Batches++
	if !r.Filling {
		return finished, nil
	}
	return carried, nil
}

// repeats is the reason of a generator that has made nothing new.
func (f *filling) repeats(misses int) string {
	g := f.pool.Config.Generator
	why := fmt.Sprintf("the last %d IDs that it made are in the pool already", misses)
	if g.Kind == generator.Random {
		why += fmt.Sprintf("; there can be %s in all", spaceOf(g))
	}
	return why + "; it goes on trying; change the generator so that there are more"
}

// change puts the record in the place of the one that was read. Without IDs no two changes are equal, so that of two runs
// that mean the same only one has made it.
func (f *filling) change(ctx context.Context, r Refill) (progress, error) {
	r.Pool, r.Updated, r.Burning = f.pool.Name, f.second(), f.rec.Burning
	if len(r.IDs) == 0 {
		r.Batch = orderOf(r).unique()
	}
	changed, err := f.store.ChangeRefill(ctx, f.rec.Version, r)
	for try := 1; try < refillTries && err != nil && asError(err).Unknown; try++ {
		changed, err = f.store.ChangeRefill(ctx, f.rec.Version, r) // so that what it says is said, if it was made
	}
	if err != nil {
		return goesOn, err
	}
	f.rec = changed
	return goesOn, nil
}

// runDry notes with the change to r that the generator can make no more. It is said by the run whose change it was.
func (f *filling) runDry(ctx context.Context, r Refill, why string) (progress, error) {
	before := f.rec.Dry
	if r.Dry = why; before == "" {
		r.DrySince = f.second()
	}
	p, err := f.change(ctx, r)
	told := before == "" && (err == nil || asError(err).Unknown) // rather twice than never
	if told {
		f.report.DryNow = true
		err = cmp.Or(err, f.record(ctx, f.caller, aPool, string(f.pool.Name), "refill-dry", why, nil))
	}
	if err != nil {
		return p, err
	}
	return finished, nil
}
