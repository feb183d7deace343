package alloctest

import (
	"fmt"
	"slices"

	"idpool/alloc"
)

// judge looks at what has come of it all.
func (t *traveller) judge() {
	t.Helper()
	for i := range t.crew {
		if t.crew[i].fuse.died() || t.chance(50) {
			t.crew[i] = t.process(t.fixture, nil)
		}
	}
	t.plan.deaths = 0
	t.told()
	t.audited()
	t.owners()
	t.drain()
	for range 10 {
		t.note("a lease: %s", t.lease(t.somebody()))
		t.note("next: %s", t.number(t.somebody()))
		t.note("a repeat: %s", t.repeat(t.somebody()))
	}
	t.schedule()
	t.seedAgain()
	t.drain()
	t.clock.Advance(alloc.MaxHold + 2*slack)
	t.schedule()
	t.drain()
	t.unlost()
	t.counts()
	t.audited()
}

// told fails the test unless what is in two hands was told.
func (t *traveller) told() {
	t.Helper()
	if t.plan.burned {
		return
	}
	for _, two := range t.book.twice {
		first, second := two.first, two.second
		if !first.surely(t.clock.Now()) || !second.surely(t.clock.Now()) || t.blind(first.pool) {
			continue
		}
		if travelConfig(second.pool).Policy == alloc.PolicyForget && second.state != alloc.StateHeld {
			continue // the pool may have forgotten it, or nobody has it any more
		}
		if !t.clash(first.pool, first.id) {
			t.Fatalf("nobody tells that it is in two hands: %v and %v", first, second)
		}
	}
	for _, two := range t.book.twins {
		if !slices.ContainsFunc(t.clashes[string(two[0].sequence)], func(l alloc.CarryLine) bool {
			return l.Outcome == alloc.CarryClash && l.Start <= min(two[0].end, two[1].end) && l.End >= max(two[0].start, two[1].start)
		}) {
			t.Fatalf("nobody tells of numbers in two hands: %+v", two)
		}
	}
}

// blind reports whether nothing told what was taken of the pool.
func (t *traveller) blind(pool alloc.PoolName) bool {
	return t.plan.burned || t.plan.source == alloc.RestoreLog && travelConfig(pool).Policy == alloc.PolicyForget
}

// clash reports whether it was told that the ID is in two hands.
func (t *traveller) clash(pool alloc.PoolName, id alloc.ID) bool {
	return slices.ContainsFunc(t.clashes[string(pool)], func(l alloc.CarryLine) bool { return l.Outcome == alloc.CarryClash && l.ID == id })
}

// clashed reports whether it was told that numbers of the sequence are in two hands.
func (t *traveller) clashed(name alloc.SequenceName) bool {
	return slices.ContainsFunc(t.clashes[string(name)], func(l alloc.CarryLine) bool { return l.Outcome == alloc.CarryClash })
}

// owners settle what they have.
func (t *traveller) owners() {
	t.Helper()
	for _, g := range t.book.grants {
		for _, h := range g.has {
			if !h.surely(t.clock.Now()) || h.unsure || h.state == alloc.StateRetired || h.era != astray && t.clash(h.pool, h.id) {
				continue
			}
			if t.blind(h.pool) && (h.era == old || h.changed == old || h.state == alloc.StateHeld) {
				continue
			}
			if travelConfig(h.pool).Policy == alloc.PolicyForget && h.state == alloc.StateClaimed {
				continue
			}
			if t.retiredSince(h) {
				continue
			}
			if last := t.last[h.pool][h.id]; h.era == before && h.changed == astray && last.Token != h.token && last.Token != "" {
				continue // its hold was over in the old world, where somebody else had it: he has settled it here since
			}
			o := alloc.SettleOrder{Pool: h.pool, Event: alloc.EventConfirm, IDs: []alloc.ID{h.id}, Token: h.token}
			if _, err := t.somebody().store.Settle(t.Context(), o); err != nil {
				t.Fatalf("an owner cannot confirm what it has: %v: %v", h, err)
			}
			h.state = alloc.StateClaimed
		}
	}
}

// retiredSince reports whether whoever had the ID at the point has retired it between the restore and the procedure: that stays so.
func (t *traveller) retiredSince(h *holding) bool {
	return slices.ContainsFunc(t.book.ids[h.pool][h.id], func(other *holding) bool {
		return other.token != h.token && other.changed == astray && other.state == alloc.StateRetired
	})
}

// drain claims all there is.
func (t *traveller) drain() {
	t.Helper()
	for _, pool := range travelPools {
		t.clock.Advance(staleStock)
		t.swept(pool.name)
		for {
			p := t.somebody()
			o := order(pool.name, 1)
			c, err := p.store.Claim(t.Context(), o)
			if alloc.Is(err, alloc.CodePoolExhausted) {
				break
			}
			if err != nil {
				t.Fatalf("a claim of %s after the restore: %v", pool.name, err)
			}
			t.note("%s: drains %v of %s", p.name, c.IDs, pool.name)
			t.claimed(o, c)
		}
	}
}

func (t *traveller) swept(pool alloc.PoolName) {
	t.Helper()
	s := t.fixture.Open(t, t.clock.Now)
	for range 50 {
		r, err := s.Sweep(t.Context(), pool)
		if err != nil {
			t.Fatalf("a sweep of %s: %v", pool, err)
		}
		if !r.More {
			return
		}
	}
	t.Fatalf("sweeps of %s do not end", pool)
}

// schedule is switched on again: jobs and refills of before are carried on.
func (t *traveller) schedule() {
	t.Helper()
	for _, j := range t.openJobs() {
		if j.State == alloc.JobReceiving {
			continue
		}
		p := t.process(t.fixture, nil)
		err := p.service.Work(p.ctx, alloc.Step{Job: j.ID, Version: j.Version})
		t.note("%s of %s goes on: %s", j.Kind, j.Pool, says(err))
	}
	for range 3 {
		p := t.process(t.fixture, nil)
		r, err := p.service.Tend(p.ctx)
		t.note("the schedule: %s, refills %+v", says(err), r.Refills)
		if err != nil || len(r.Failed) > 0 {
			t.Fatalf("the schedule: %v, %v", err, r.Failed)
		}
	}
}

// seedAgain repeats what was seeded, where it is known what of it was taken.
func (t *traveller) seedAgain() {
	t.Helper()
	for _, b := range t.batches {
		if !t.blind(b.Pool) && travelConfig(b.Pool).Policy == alloc.PolicyKeep {
			t.note("again %s", t.seeding(t.process(t.fixture, nil), b))
		}
	}
}

// unlost fails the test where an ID is retired that was free all the time.
func (t *traveller) unlost() {
	t.Helper()
	now := t.whole(t.fixture)
	for _, pool := range travelPools {
		if t.blind(pool.name) {
			continue
		}
		for id, was := range t.then[pool.name] {
			is, there := now[pool.name][id]
			last := t.last[pool.name][id]
			if len(t.book.ids[pool.name][id]) > 0 || t.plan.dirty == 2 && pool.config.Policy == alloc.PolicyForget {
				continue // somebody has taken it since, or may have
			}
			if was.State == alloc.StateFree && last.State == alloc.StateFree && was.Generation == last.Generation && there && is.State == alloc.StateRetired {
				t.Fatalf("%s of %s was free all the time, and is retired: %+v", id, pool.name, is)
			}
		}
	}
}

// counts fails the test unless the level says what there is.
func (t *traveller) counts() {
	t.Helper()
	for _, pool := range travelPools {
		t.swept(pool.name)
		l, err := t.fixture.Open(t, t.clock.Now).Level(t.Context(), pool.name)
		if err != nil {
			t.Fatalf("Level: %v", err)
		}
		c := t.fixture.Census(t, pool.name)
		got := []alloc.Count{l.Available, l.Held, l.Returning, l.Claimed + l.Retired, l.Seeded}
		want := []alloc.Count{
			c[alloc.StateFree], c[alloc.StateHeld], c[alloc.StateReturning], c[alloc.StateClaimed] + c[alloc.StateRetired],
			l.Available + l.Held + l.Claimed + l.Returning + l.Retired + l.Forgotten,
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the level of %s is %+v, the pool has %v", pool.name, l, c)
		}
	}
}

// audited fails the test where an audit finds something that nobody was told.
func (t *traveller) audited() {
	t.Helper()
	s := t.fixture.Open(t, t.clock.Now)
	audit := func(what string, step func(o alloc.AuditOrder) (alloc.AuditStep, error), expected func(alloc.Finding) bool) {
		o := alloc.AuditOrder{Job: alloc.JobID(fmt.Sprint("audit-", t.next())), Sample: 100}
		for {
			done, err := step(o)
			if err != nil {
				t.Fatalf("an audit of %s: %v", what, err)
			}
			for _, f := range done.Findings {
				if !expected(f) {
					t.Fatalf("an audit of %s finds %+v", what, f)
				}
			}
			if o.Step = done.Next; o.Step == "" {
				return
			}
		}
	}
	for _, pool := range travelPools {
		t.swept(pool.name)
		audit(string(pool.name), func(o alloc.AuditOrder) (alloc.AuditStep, error) { return s.AuditPool(t.Context(), pool.name, o) },
			func(f alloc.Finding) bool { return f.Kind == alloc.FindNothingHeard })
	}
	for _, name := range travelSequences {
		audit(string(name), func(o alloc.AuditOrder) (alloc.AuditStep, error) { return s.AuditSequence(t.Context(), name, o) },
			func(f alloc.Finding) bool {
				return f.Kind == alloc.FindGaps || f.Kind == alloc.FindOverlap && t.clashed(name)
			})
	}
}
