package alloctest

import "idpool/alloc"

// midRefill leaves a refill behind that was cut off: the IDs of its batch are on its record, and not in the pool yet. Where it does not come to that, another has done it.
func (t *traveller) midRefill() {
	t.Helper()
	t.claimAll("filled")
	for calls := range 150 {
		p := t.process(t.fixture, nil)
		p.fuse.light(calls, false)
		_, err := p.service.Tend(p.ctx)
		p.fuse.died()
		s := t.fixture.Open(t, t.clock.Now)
		r, _ := s.Refill(t.Context(), "filled") // without one the next try may tell
		if len(r.IDs) == 0 {
			continue
		}
		if _, met := s.Inspect(t.Context(), "filled", r.IDs[0]); alloc.Is(met, alloc.CodeIDNotFound) {
			t.note("%s: a refill is cut off after %d calls: %s; it was to add %v", p.name, calls, says(err), r.IDs)
			return
		}
	}
}

// endRefill carries on in the old world what midRefill has left, and claims of that.
func (t *traveller) endRefill() {
	t.Helper()
	p := t.process(t.fixture, nil)
	t.note("%s: tend %s", p.name, t.tend(p))
	t.note("%s: claim %s", p.name, t.order(p, order("filled", 3)))
}

// claimAll claims what a pool has.
func (t *traveller) claimAll(pool alloc.PoolName) {
	t.Helper()
	p := t.process(t.fixture, nil)
	for {
		o := order(pool, 1)
		c, err := p.store.Claim(p.ctx, o)
		if err != nil {
			t.note("%s: claims all of %s: %s", p.name, pool, says(err))
			return
		}
		t.claimed(o, c)
	}
}
