package alloc_test

import (
	"context"

	"idpool/alloc"
)

// what becomes of a puppet's call.
type fate int

const (
	passes  fate = iota
	refused      // it is not carried out
	lost         // it is carried out, and reported as failed
	crashes      // it is not carried out, and its process is gone
	dies         // it is carried out, and its process is gone
)

// puppet is the Store of one run, each of whose calls for the refill waits until it is told how to go on. So a test decides
// in which order the calls of several runs are carried out, and where a run ends.
type puppet struct {
	alloc.Store
	at   chan string // the call that waits; closed when the run is over
	fate chan fate
	gone bool
}

// pull starts a run. Whoever has it calls next until that says it is over.
func pull(store alloc.Store, run func(alloc.Store)) *puppet {
	p := &puppet{Store: store, at: make(chan string), fate: make(chan fate)}
	go func() {
		defer close(p.at)
		run(p)
	}()
	return p
}

// next is the call that the run has come to; over says that it has ended.
func (p *puppet) next() (call string, over bool) {
	call, more := <-p.at
	return call, !more
}

// toEnd lets the run go on to its end.
func (p *puppet) toEnd() {
	for _, over := p.next(); !over; _, over = p.next() {
		p.fate <- passes
	}
}

func waits[A any](p *puppet, method string, call func() (A, error)) (A, error) {
	var none A
	fails := alloc.Errorf(alloc.CodeUnavailable, "no answer")
	if p.gone {
		return none, fails
	}
	p.at <- method
	what := <-p.fate
	p.gone = what == crashes || what == dies
	switch what {
	case refused, crashes:
		return none, fails
	case lost, dies:
		_, _ = call() // the answer is lost
		fails.Unknown = true
		return none, fails
	}
	return call()
}

func (p *puppet) Refill(ctx context.Context, name alloc.PoolName) (alloc.Refill, error) {
	return waits(p, "Refill", func() (alloc.Refill, error) { return p.Store.Refill(ctx, name) })
}

func (p *puppet) ChangeRefill(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
	return waits(p, "ChangeRefill", func() (alloc.Refill, error) { return p.Store.ChangeRefill(ctx, from, r) })
}

func (p *puppet) Pool(ctx context.Context, name alloc.PoolName) (alloc.Pool, error) {
	return waits(p, "Pool", func() (alloc.Pool, error) { return p.Store.Pool(ctx, name) })
}

func (p *puppet) Level(ctx context.Context, name alloc.PoolName) (alloc.Level, error) {
	return waits(p, "Level", func() (alloc.Level, error) { return p.Store.Level(ctx, name) })
}

func (p *puppet) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	return waits(p, "Seed", func() ([]alloc.SeedOutcome, error) { return p.Store.Seed(ctx, b) })
}

func (p *puppet) Sequence(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	return waits(p, "Sequence", func() (alloc.Sequence, error) { return p.Store.Sequence(ctx, name) })
}

func (p *puppet) CreateSequence(ctx context.Context, name alloc.SequenceName, c alloc.SequenceConfig) (q alloc.Sequence, created bool, err error) {
	q, err = waits(p, "CreateSequence", func() (q alloc.Sequence, err error) {
		q, created, err = p.Store.CreateSequence(ctx, name, c)
		return q, err
	})
	return q, created, err
}

func (p *puppet) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	return waits(p, "Lease", func() (alloc.Range, error) { return p.Store.Lease(ctx, o) })
}

func (p *puppet) Record(ctx context.Context, r alloc.AuditRecord) error {
	_, err := waits(p, "Record", func() (struct{}, error) { return struct{}{}, p.Store.Record(ctx, r) })
	return err
}
