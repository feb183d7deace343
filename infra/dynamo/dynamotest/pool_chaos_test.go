package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// poolRun is one random schedule of a pool: several processes claim, seed and sweep through all that chaos has.
type poolRun struct {
	*chaos
	w     *poolWorld
	size  int // IDs to be seeded
	jobs  []alloc.SeedBatch
	keys  []*poolKey
	left  int // operations to begin
	claim int // number of claims begun
	forms []func(*process)
	extra alloc.Count // what the head counts as seeded beyond the truth

	rebuilds *poolRebuilds // nil where the pool is never rebuilt

	policy alloc.Policy
	long   bool // goes on beyond the retention of keys
	holds  bool // some claims are for a time only, and owners settle what they have
}

// poolKey is one Idempotency-Key and what became of it.
type poolKey struct {
	name  string
	key   *alloc.Key
	n     alloc.Count
	hold  time.Duration
	first *alloc.Claim // the first answer

	otherKey *alloc.Key // the same with another request
	otherN   alloc.Count
}

// other takes the other request for the key's own.
func (k *poolKey) other() { k.key, k.n, k.otherKey, k.otherN = k.otherKey, k.otherN, k.key, k.n }

// newPoolRun draws the work of the run and makes the pool.
func newPoolRun(t *testing.T, seed uint64, mutate func(dynamo.Table) dynamo.Table) *poolRun {
	mem := NewMemory()
	w := newPoolWorld(mem)
	r := &poolRun{w: w}
	r.chaos = newChaos(t, seed, mem, w.table(), mutate)
	w.fail, w.saw, w.rules = r.fail, r.saw, true
	r.policy = alloc.PolicyKeep
	if r.chance(25) {
		r.policy = alloc.PolicyForget
	}
	if r.long = r.chance(15); r.long {
		r.jumps, r.leaps = 80*time.Hour, []time.Duration{13 * time.Hour, 25 * time.Hour}
	}
	r.holds, w.owners.retires = r.chance(50), r.chance(15)
	r.expire = w.expire
	r.size = 1 + r.rng.IntN(9)
	r.left = 8 + r.rng.IntN(22)
	var ids []alloc.ID
	for i := range r.size {
		ids = append(ids, alloc.ID(fmt.Sprintf("id%d", i)))
	}
	for job := range 1 + r.rng.IntN(3) {
		from := r.rng.IntN(r.size)
		to := from + 1 + r.rng.IntN(r.size-from)
		if job == 0 && r.chance(70) {
			from, to = 0, r.size
		}
		r.jobs = append(r.jobs, alloc.SeedBatch{Pool: pool, Job: alloc.JobID(fmt.Sprintf("job%d", job)), IDs: ids[from:to]})
	}
	for i := range 1 + r.rng.IntN(3) {
		name := fmt.Sprintf("key%d", i)
		n := alloc.Count(1 + r.rng.IntN(min(r.size, 5)))
		key := func(n alloc.Count) *alloc.Key {
			return alloc.NewKey("client", "claim", string(pool), name, fmt.Sprint(n))
		}
		r.keys = append(r.keys, &poolKey{name: name, n: n, hold: r.holdTime(), key: key(n), otherN: n + 1, otherKey: key(n + 1)})
	}
	keyed, keyless, sweep, seeding := 1+r.rng.IntN(8), 1+r.rng.IntN(8), 1+r.rng.IntN(3), 1+r.rng.IntN(2)
	settling := 0
	if r.holds {
		settling = 1 + r.rng.IntN(10)
	}
	for _, form := range []struct {
		n int
		f func(*process)
	}{{keyed, r.claimKeyed}, {keyless, r.claimKeyless}, {sweep, r.sweep}, {seeding, r.seed}, {settling, r.settleSome}, {1, r.look}, {r.rng.IntN(2), r.pause}} {
		for range form.n {
			r.forms = append(r.forms, form.f)
		}
	}
	return r
}

// next begins another operation on some process.
func (r *poolRun) next() bool {
	p := r.living[r.rng.IntN(len(r.living))]
	if p.frozen {
		return true
	}
	r.left--
	r.forms[r.rng.IntN(len(r.forms))](p)
	return r.left > 0
}

func (r *poolRun) claimKeyless(p *process) {
	r.claim++
	who, n := fmt.Sprintf("claim%d", r.claim), alloc.Count(1)
	if r.chance(30) {
		n = alloc.Count(1 + r.rng.IntN(min(r.size+1, 5)))
	}
	r.claims(p, who, alloc.ClaimOrder{Pool: pool, Count: n, By: "client", Hold: r.holdTime()}, func(c alloc.Claim) { r.w.answer(who, n, c) })
}

func (r *poolRun) claimKeyed(p *process) {
	k := r.keys[r.rng.IntN(len(r.keys))]
	if r.chance(5) {
		r.claimMismatched(p, k)
		return
	}
	r.claims(p, k.name, alloc.ClaimOrder{Pool: pool, Count: k.n, By: "client", Hold: k.hold, Key: k.key}, func(c alloc.Claim) {
		r.keyed(k, c)
	})
}

// keyed holds the answer of a key against its first one. Where more time may pass than a key is remembered, all that is
// known is that one token always names the same IDs.
func (r *poolRun) keyed(k *poolKey, c alloc.Claim) {
	r.w.answer(k.name, k.n, c)
	r.toldEnded(k, c)
	if c.Replayed {
		r.saw("a claim replayed")
	}
	switch {
	case k.first == nil || r.long:
		k.first = &c
	case k.first.Token != c.Token || !slices.Equal(k.first.IDs, c.IDs) || k.first.State != c.State || !k.first.HeldUntil.Equal(c.HeldUntil):
		r.fail("%s was answered %v, and then %v", k.name, *k.first, c)
	}
}

// claimMismatched uses the key for another request: it never gets anything once the key has been answered.
func (r *poolRun) claimMismatched(p *process, k *poolKey) {
	n, key, answered := k.otherN, k.otherKey, k.first != nil
	r.claims(p, k.name, alloc.ClaimOrder{Pool: pool, Count: n, By: "client", Hold: k.hold, Key: key}, func(c alloc.Claim) {
		r.w.answer(k.name, n, c)
		if answered && !r.long {
			r.fail("%s was answered %v although its fingerprint is another", k.name, c)
		}
		if k.key != key {
			k.other()
		}
		k.first = &c
	})
}

// claims carries an order out and sees to what every claim must keep.
func (r *poolRun) claims(p *process, who string, o alloc.ClaimOrder, answered func(alloc.Claim)) {
	a := do(r.chaos, p, fmt.Sprintf("%s(%d)", who, o.Count), func(ctx context.Context, s *dynamo.Store) (alloc.Claim, error) {
		return s.Claim(ctx, o)
	}, func(a *act, c alloc.Claim, err error) {
		defer delete(r.w.watchers, a)
		switch {
		case p.dead:
			r.lost(o)
		case err == nil:
			answered(c)
		case alloc.Is(err, alloc.CodePoolExhausted):
			r.saw("a claim refused as exhausted")
			if unknown(err) {
				r.fail("%s: exhausted says that nothing was taken, and yet that it is not known: %v", who, err)
			}
			if !r.standing {
				r.w.exhausted(a, o.Count)
			}
		case alloc.Is(err, alloc.CodeKeyEnded):
			r.keyMayEnd(o)
		case !slices.Contains(claimRefusals, alloc.CodeOf(err)) && !r.rebuilds.explain(err):
			r.fail("%s: %v", who, err)
		case unknown(err):
			r.lost(o)
		}
	})
	r.w.claims(a)
}

// lost books a claim whose outcome nobody knows. Without a key its IDs may stay claimed, and so may those of a key that
// has been forgotten when its client comes again.
func (r *poolRun) lost(o alloc.ClaimOrder) {
	if o.Key == nil || r.long {
		r.w.unheardOf += o.Count
	}
}

// claimRefusals are what a claim may be refused with here, beside exhausted.
var claimRefusals = []alloc.Code{
	alloc.CodeBusy, alloc.CodeThrottled, alloc.CodeUnavailable, alloc.CodeKeyBusy, alloc.CodeKeyMismatch, alloc.CodePoolPaused,
	alloc.CodeInvalidCount,
}

func unknown(err error) bool {
	e := asError(err)
	return e != nil && e.Unknown
}

// asError is err as the one error type of the domain; nil where it is none.
func asError(err error) *alloc.Error {
	e, _ := errors.AsType[*alloc.Error](err)
	return e
}

func (r *poolRun) seed(p *process) { r.seeds(p, r.jobs[r.rng.IntN(len(r.jobs))]) }

func (r *poolRun) seeds(p *process, b alloc.SeedBatch) *act {
	r.w.attempts[string(b.Job)]++
	return do(r.chaos, p, string(b.Job), func(ctx context.Context, s *dynamo.Store) ([]alloc.SeedOutcome, error) {
		return s.Seed(ctx, b)
	}, func(_ *act, outcomes []alloc.SeedOutcome, err error) {
		if p.dead || err != nil {
			return
		}
		free := r.w.free()
		for i, id := range b.IDs {
			it := r.w.ids[id]
			mine := it != nil && it.Str(dynamo.AttrJob) == string(b.Job)
			if outcomes[i] == alloc.SeedUnneeded {
				continue
			}
			if r.policy == alloc.PolicyForget {
				mine = mine && outcomes[i] == alloc.SeedAdded // it may have been claimed, and seeded again by another, since
			} else if added := outcomes[i] == alloc.SeedAdded; mine != added && (added || b.UpTo == 0) {
				r.fail("%s: %s is %s, and the item is %v", b.Job, id, outcomes[i], it)
				continue
			}
			r.w.promised[id] = true
			if !r.w.rebuilt.harmed && mine && outcomes[i] == alloc.SeedAdded && it != nil && stateOf(it) == alloc.StateFree && !slices.Contains(free, id) {
				r.fail("%s: %s was added and cannot be claimed", b.Job, id)
			}
		}
	})
}

func (r *poolRun) sweep(p *process) {
	do(r.chaos, p, "sweep", func(ctx context.Context, s *dynamo.Store) (alloc.SweepReport, error) {
		return s.Sweep(ctx, pool)
	}, func(*act, alloc.SweepReport, error) {})
}

func (r *poolRun) look(p *process) {
	do(r.chaos, p, "level", func(ctx context.Context, s *dynamo.Store) (alloc.Level, error) {
		return s.Level(ctx, pool)
	}, func(_ *act, l alloc.Level, err error) {
		if err == nil && l.Available < 0 {
			r.fail("the level is %+v", l)
		}
	})
}

// pause switches the pool off or on again.
func (r *poolRun) pause(p *process) {
	to := []alloc.PoolState{alloc.PoolPaused, alloc.PoolDraining, alloc.PoolActive, alloc.PoolActive}[r.rng.IntN(4)]
	r.setState(p, to)
}

func (r *poolRun) setState(p *process, to alloc.PoolState) *act {
	return do(r.chaos, p, string(to), func(ctx context.Context, s *dynamo.Store) (alloc.Pool, error) {
		return s.SetPoolState(ctx, pool, 0, to)
	}, func(*act, alloc.Pool, error) {})
}

func (r *poolRun) config() alloc.PoolConfig {
	c := alloc.PoolConfig{Policy: r.policy}
	if r.w.owners.retires {
		c.OnRelease = alloc.ReleaseRetires
	}
	return c.WithDefaults()
}

// run plays the whole schedule: the pool is made, the storm passes, and what is left must be whole.
func (r *poolRun) run() {
	defer r.stop()
	admin := r.open()
	if r.chance(80) {
		r.quietly(r.seeds(admin, r.jobs[0]))
	}
	r.storm(r.next)
	r.calm()
	if len(r.broken) == 0 {
		r.settle()
	}
}

// open makes the pool.
func (r *poolRun) open() (admin *process) {
	admin = r.spawn()
	create := do(r.chaos, admin, "create", func(ctx context.Context, s *dynamo.Store) (alloc.Pool, error) {
		p, _, err := s.CreatePool(ctx, pool, r.config())
		return p, err
	}, func(_ *act, _ alloc.Pool, err error) {
		if err != nil {
			r.fail("create: %v", err)
		}
	})
	r.quietly(create)
	r.reap()
	r.pretendSize()
	return admin
}

// pretendSize makes the head believe in a larger pool, so that chunks list several IDs: small pools have chunks of one.
func (r *poolRun) pretendSize() {
	if r.chance(30) {
		return
	}
	r.extra = alloc.Count(50 * (2 + r.rng.IntN(4)))
	it := r.mem.Item(headKey)
	it[dynamo.AttrSeeded] = int64(r.extra)
	r.mem.Set(it)
	r.w.head = it
}
