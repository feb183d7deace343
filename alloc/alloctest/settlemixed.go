package alloctest

import (
	"idpool/alloc"
)

// settleMixedCases are about orders whose IDs would not all be the same after it: a pool has changed what a release is.
// One order has one answer, so such a one is refused whole.
var settleMixedCases = []testCase{
	{"a release of what comes back and of what it would retire is refused whole, and names what comes back", func(w *world) {
		for pool, between := range map[alloc.PoolName]func(pool alloc.PoolName){
			"returning": func(alloc.PoolName) {},
			"free":      func(pool alloc.PoolName) { w.sweep(pool) },
			"taken":     func(pool alloc.PoolName) { w.sweep(pool); w.claim(w.open(), order(pool, 2)) },
		} {
			w.full(pool, 5)
			c := w.claim(w.open(), order(pool, 5))
			w.release(w.open(), c, c.IDs[1], c.IDs[3])
			w.releases(pool, alloc.ReleaseRetires)
			between(pool)
			back := []alloc.IDFault{{ID: c.IDs[1], Code: alloc.CodeNotOwner}, {ID: c.IDs[3], Code: alloc.CodeNotOwner}}
			w.refuseSome(w.open(), settleOrder(alloc.EventRelease, c), back, "release of all")
			w.refuseSome(w.open(), settleOrder(alloc.EventRelease, c, c.IDs[1], c.IDs[0]), back[:1], "release of two")
			w.refuseSome(w.open(), settleOrder(alloc.EventRelease, c, c.IDs[0], "nobody's", c.IDs[3]),
				[]alloc.IDFault{{ID: "nobody's", Code: alloc.CodeIDNotFound}, back[1]}, "release of two and an unknown ID")
			w.refuseSome(w.open(), settleOrder(alloc.EventRetire, c), back, "retirement of all")
			w.are(pool, []alloc.ID{c.IDs[0], c.IDs[2], c.IDs[4]}, alloc.StateClaimed)
			for range 2 { // each with its like
				w.release(w.open(), c, c.IDs[1], c.IDs[3])
				w.settleAs(w.open(), settleOrder(alloc.EventRelease, c, c.IDs[0], c.IDs[2]), alloc.StateRetired)
			}
			w.refuseSome(w.open(), settleOrder(alloc.EventRelease, c), back, "release of all, some of it retired")
			w.settleAs(w.open(), settleOrder(alloc.EventRelease, c, c.IDs[0], c.IDs[4]), alloc.StateRetired)
		}
	}},
	{"where a release retired once and returns now, what it retired is id_retired, and nothing else comes back beside it", func(w *world) {
		w.full("p", 3)
		w.releases("p", alloc.ReleaseRetires)
		c := w.claim(w.open(), order("p", 3))
		w.settleAs(w.open(), settleOrder(alloc.EventRelease, c, c.IDs[1]), alloc.StateRetired)
		w.releases("p", alloc.ReleaseReturns)
		w.refuseSome(w.open(), settleOrder(alloc.EventRelease, c), []alloc.IDFault{{ID: c.IDs[1], Code: alloc.CodeIDRetired}}, "release of all")
		w.refuseSettle(w.open(), settleOrder(alloc.EventRelease, c, c.IDs[1]), alloc.CodeIDRetired, "release of what is retired")
		w.release(w.open(), c, c.IDs[0], c.IDs[2])
		w.sweep("p")
		equal(w, w.drain(w.open(), "p"), 2, "IDs that came back")
	}},
}

// releases changes what a release is in a pool, and waits until every process knows.
func (w *world) releases(pool alloc.PoolName, what alloc.OnRelease) {
	w.Helper()
	p := w.readPool(pool)
	p.Config.OnRelease = what
	_, err := w.elsewhere().ChangePool(w.Context(), pool, p.Version, p.Config)
	w.ok(err, "ChangePool")
	w.clock.Advance(stateDelay)
}
