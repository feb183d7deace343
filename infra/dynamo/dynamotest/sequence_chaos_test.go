package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// sequence is the sequence of every schedule.
const sequence alloc.SequenceName = "seq"

// sequenceRun is one random schedule of a sequence: several processes lease through all that chaos has, and in some
// runs somebody sets the counter back or removes it.
type sequenceRun struct {
	*chaos
	config alloc.SequenceConfig
	keys   []*sequenceKey
	left   int
	leased int // leases begun
	edits  int // edits by hand still to come
	edited bool
	moved  bool         // the limit was changed, or may have been
	most   alloc.Number // highest limit that there may have been
	halted int64        // the epoch in which somebody was told that the sequence is stopped; 0 for none

	rebuilds bool  // operators are at work
	cut      bool  // entries of the ledger were removed
	epoch    int64 // the latest that was seen

	answers []answeredRange
}

// sequenceKey is one Idempotency-Key and its first answer.
type sequenceKey struct {
	name  string
	key   *alloc.Key
	n     alloc.Count
	first *alloc.Range
}

type answeredRange struct {
	who string
	r   alloc.Range
}

func newSequenceRun(t *testing.T, seed uint64, mutate func(dynamo.Table) dynamo.Table) *sequenceRun {
	mem := NewMemory()
	r := &sequenceRun{chaos: newChaos(t, seed, mem, mem, mutate)}
	r.left = 8 + r.rng.IntN(22)
	if r.chance(50) {
		r.edits = 1 + r.rng.IntN(3)
	}
	r.config = alloc.SequenceConfig{MaxLease: 20}
	if r.chance(30) {
		r.config.Limit = alloc.Number(10 + r.rng.IntN(100))
	}
	if r.chance(10) {
		r.config.Start = alloc.MaxNumber - 60
		r.config.Limit = alloc.MaxNumber
	}
	r.config = r.config.WithDefaults()
	r.most = r.config.Limit
	for i := range 1 + r.rng.IntN(3) {
		name, n := fmt.Sprintf("key%d", i), alloc.Count(1+r.rng.IntN(8))
		r.keys = append(r.keys, &sequenceKey{name: name, n: n, key: alloc.NewKey("client", "lease", string(sequence), name, fmt.Sprint(n))})
	}
	return r
}

// next begins another operation on some process, or edits the counter by hand.
func (r *sequenceRun) next() bool {
	p := r.living[r.rng.IntN(len(r.living))]
	if p.frozen {
		return true
	}
	r.left--
	switch n := r.rng.IntN(20); {
	case n == 0:
		r.change(p)
	case n <= 2 && r.edits > 0:
		r.edits--
		r.edit()
	case n <= 4:
		r.watch(p)
	case n == 5:
		r.audit(p)
	case n <= 8 && r.rebuilds:
		r.operate(p)
	case n <= 10:
		r.leaseKeyed(p)
	default:
		r.leaseKeyless(p)
	}
	return r.left > 0
}

// edit sets the counter to a number that was leased before, or removes it.
func (r *sequenceRun) edit() {
	it := r.mem.Item(counterKey)
	if it == nil {
		return
	}
	r.edited = true
	r.saw("a counter edited")
	if r.rebuilds && r.chance(60) {
		r.harm(it)
		return
	}
	if r.chance(20) {
		r.note("somebody removes the counter")
		r.mem.Drop(counterKey)
		return
	}
	if !isWhole(it) {
		return
	}
	before := int64(r.config.Start) - 1
	it[attrLast] = before + r.rng.Int64N(max(1, it.Int(attrLast)-before))
	r.note("somebody sets the last number leased to %d", it[attrLast])
	r.mem.Set(it)
}

// change reads the sequence and moves its limit: up, or down to what is leased.
func (r *sequenceRun) change(p *process) {
	by := alloc.Number(r.rng.IntN(30))
	do(r.chaos, p, "change", func(ctx context.Context, s *dynamo.Store) (alloc.Sequence, error) {
		q, err := s.Sequence(ctx, sequence)
		if err != nil {
			return q, err
		}
		c := q.Config
		c.Limit = min(max(c.Start, q.Next-1)+by, alloc.MaxNumber)
		r.moved, r.most = true, max(r.most, c.Limit)
		return s.ChangeSequence(ctx, sequence, q.Version, c)
	}, func(_ *act, q alloc.Sequence, err error) {
		if err == nil && !p.dead && q.Next > q.Config.Limit+1 && !r.edited {
			r.fail("the limit was moved below what is leased: %+v", q)
		}
	})
}

func (r *sequenceRun) leaseKeyless(p *process) *act {
	r.leased++
	who, n, halted := fmt.Sprintf("lease%d", r.leased), alloc.Count(1+r.rng.IntN(10)), r.halted
	by := alloc.ClientID(fmt.Sprintf("client%d", r.rng.IntN(4)))
	return r.leases(p, who, alloc.LeaseOrder{Sequence: sequence, Count: n, By: by}, func(got alloc.Range) {
		if int64(got.Epoch) <= halted {
			r.fail("%s was answered %d to %d in the epoch %d, in which the sequence was stopped before", who, got.Start, got.End, got.Epoch)
		}
		r.answer(who, n, got)
	})
}

func (r *sequenceRun) leaseKeyed(p *process) *act {
	k := r.keys[r.rng.IntN(len(r.keys))]
	return r.leases(p, k.name, alloc.LeaseOrder{Sequence: sequence, Count: k.n, By: "client", Key: k.key}, func(got alloc.Range) {
		r.keyed(k, got)
	})
}

func (r *sequenceRun) keyed(k *sequenceKey, got alloc.Range) {
	if f := k.first; f != nil {
		r.saw("a lease replayed")
		if f.Start != got.Start || f.End != got.End || f.Token != got.Token || f.Epoch != got.Epoch {
			r.fail("%s was answered %+v, and then %+v", k.name, *f, got)
		}
		return
	}
	k.first = &got
	r.answer(k.name, k.n, got)
}

// leaseRefusals are what a lease may be refused with in any run.
var leaseRefusals = []alloc.Code{alloc.CodeBusy, alloc.CodeThrottled, alloc.CodeUnavailable}

// refusable reports whether a lease may be refused so.
func (r *sequenceRun) refusable(err error) bool {
	code := alloc.CodeOf(err)
	return slices.Contains(leaseRefusals, code) || r.rebuilds && (code == alloc.CodeSequenceRebuilding || code == alloc.CodeSequenceResuming)
}

func (r *sequenceRun) leases(p *process, who string, o alloc.LeaseOrder, answered func(alloc.Range)) *act {
	epoch := r.present()
	return do(r.chaos, p, fmt.Sprintf("%s(%d)", who, o.Count), func(ctx context.Context, s *dynamo.Store) (alloc.Range, error) {
		return s.Lease(ctx, o)
	}, func(_ *act, got alloc.Range, err error) {
		switch {
		case p.dead:
		case err == nil:
			answered(got)
		case alloc.Is(err, alloc.CodeSequenceStopped):
			r.halted = max(r.halted, epoch)
			r.saw("a sequence stopped")
			if !r.edited {
				r.fail("%s was told that the sequence is stopped, and nobody touched it", who)
			}
		case alloc.Is(err, alloc.CodeSequenceExhausted):
			r.saw("a lease refused as exhausted")
			r.exhausted(who, o.Count)
		case !r.refusable(err):
			r.fail("%s: %v", who, err)
		}
	})
}

// exhausted holds the refusal against the counter, which never falls by itself.
func (r *sequenceRun) exhausted(who string, n alloc.Count) {
	it := r.mem.Item(counterKey)
	if it == nil || r.edited || r.moved {
		return
	}
	if last := it.Int(attrLast) + int64(n); last <= int64(r.config.Limit) && last > 0 {
		r.fail("%s asked for %d and was told that the sequence is exhausted; it has leased up to %d, the limit is %d", who, n, it.Int(attrLast), r.config.Limit)
	}
}

// answer holds an answered range against all others.
func (r *sequenceRun) answer(who string, n alloc.Count, got alloc.Range) {
	if got.Len() != n || got.End < got.Start || got.Start < r.config.Start || got.End > r.most || got.Token == "" {
		r.fail("%s asked for %d and was answered %+v", who, n, got)
	}
	for _, a := range r.answers {
		if got.Start <= a.r.End && a.r.Start <= got.End {
			r.fail("%s was answered %d to %d, which overlaps %d to %d of %s", who, got.Start, got.End, a.r.Start, a.r.End, a.who)
		}
	}
	r.answers = append(r.answers, answeredRange{who, got})
}

// run plays the whole schedule.
func (r *sequenceRun) run() {
	defer r.stop()
	r.quietly(do(r.chaos, r.spawn(), "create", func(ctx context.Context, s *dynamo.Store) (alloc.Sequence, error) {
		q, _, err := s.CreateSequence(ctx, sequence, r.config)
		return q, err
	}, func(_ *act, _ alloc.Sequence, err error) {
		if err != nil {
			r.fail("create: %v", err)
		}
	}))
	r.storm(r.next)
	r.calm()
	if len(r.broken) == 0 {
		r.settle()
	}
}

// settle shows that keys have their answer still, that the ledger has every range that was answered, and that a counter
// which nobody touched still leases.
func (r *sequenceRun) settle() {
	p := r.spawn()
	r.pass(time.Minute)
	r.flush()
	if r.rebuilds {
		r.recover(p)
	}
	for _, k := range r.keys {
		r.quietly(do(r.chaos, p, k.name+" at last", func(ctx context.Context, s *dynamo.Store) (alloc.Range, error) {
			return s.Lease(ctx, alloc.LeaseOrder{Sequence: sequence, Count: k.n, By: "client", Key: k.key})
		}, func(_ *act, got alloc.Range, err error) {
			switch {
			case err == nil:
				r.keyed(k, got)
			case k.first != nil, !alloc.Is(err, alloc.CodeSequenceExhausted) && !(r.edited && alloc.Is(err, alloc.CodeSequenceStopped)):
				r.fail("%s (first answer %+v), at last: %v", k.name, k.first, err)
			}
		}))
		r.reap()
	}
	r.quietly(r.leaseKeyless(p))
	r.reap()
	r.checkLedger(p)
}

func (r *sequenceRun) checkLedger(p *process) {
	r.quietly(do(r.chaos, p, "ledger", func(ctx context.Context, s *dynamo.Store) ([]alloc.LeaseRecord, error) {
		return s.Leases(ctx, sequence, alloc.MaxNumber+1, 1000)
	}, func(_ *act, ledger []alloc.LeaseRecord, err error) {
		if err != nil {
			r.fail("the ledger: %v", err)
			return
		}
		for i, l := range ledger {
			if i > 0 && ledger[i-1].Start <= l.End {
				r.fail("the ledger has %+v below %+v", l, ledger[i-1])
			}
		}
		for _, a := range r.answers {
			if !r.cut && !slices.ContainsFunc(ledger, func(l alloc.LeaseRecord) bool { return l.Proven && l.Start <= a.r.Start && a.r.End <= l.End }) {
				r.fail("the ledger does not have %d to %d, answered to %s", a.r.Start, a.r.End, a.who)
			}
		}
	}))
	r.reap()
}
