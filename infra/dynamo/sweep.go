package dynamo

import (
	"context"
	"errors"
	"time"

	"idpool/alloc"
)

const (
	// sweepTries bounds how often a sweep begins anew because the tail moved under it.
	sweepTries = 5

	sampleAge  = 35 * 24 * time.Hour
	sampleTime = "20060102T1504Z"
)

// errReplan says that the tail was moved by another after the sweep had looked.
var errReplan = errors.New("the tail was moved by another")

// Sweep implements alloc.Claims. It also works on a pool that is paused or draining. In a deleted one it finishes what
// is on its way back, so that no key waits for ever; where there is nothing of that, it costs two reads. What it may cost
// is in sweep_cost.go.
func (s *Store) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	w := s.newSweep(pool)
	err := w.run(ctx)
	w.report.More = w.left || w.more != ""
	w.report.Calls, w.report.Writes = w.cost()
	return w.report, err
}

// sweep is one run.
type sweep struct {
	s      *Store
	memory *poolMemories // of the Store that was asked
	meter  *meter
	pool   alloc.PoolName
	report alloc.SweepReport

	deleted bool  // the pool is: nothing is counted
	left    bool  // another run has work at once, beside what more says
	voids   int64 // calls that keys given up have cost

	held  int64           // as the return items say that were met, in this run and those before it that it goes on from
	holds map[string]bool // sort keys of the return items that were met or put
	whole bool            // the last return item was met, by this run
	all   bool            // so was every other
	more  string          // where the next run goes on with the return items; "" at the beginning

	verify   string // from here on the IDs of holds that are not due are looked at next
	verified int    // how many this run has looked at
	skipped  bool   // it has left out one from there on
	begun    string // where it has begun with the return items

	series  int64 // of the chunks that the rest is about
	useless useless
	turn    int64 // the chunk from which on some are checked next
}

// run does one kind of work after the other. That one fails does not keep the others waiting.
func (w *sweep) run(ctx context.Context) error {
	h, err := w.s.poolHead(ctx, w.pool)
	if err != nil {
		return err
	}
	if h.pool.State == alloc.PoolDeleted {
		w.deleted = true
		return w.runDeleted(ctx)
	}
	unlock, from := w.s.sweepLock(ctx, w.pool)
	w.held, w.verify, w.begun = from.held, from.verify, from.sk
	w.series, w.useless, w.turn = from.series, from.useless, from.turn
	defer func() {
		unlock(stop{sk: w.more, held: w.held, verify: w.verify, series: w.series, useless: w.useless, turn: w.turn})
	}()
	if err := w.mendCopy(ctx, h); err != nil {
		return err
	}
	return firstOf([]error{w.returns(ctx, from.sk), w.tidyUp(ctx)})
}

// runDeleted begins with the return items at their beginning. Where there are more than one run meets, it also goes on
// from where the last such run stopped.
func (w *sweep) runDeleted(ctx context.Context) error {
	err := w.returns(ctx, "")
	if err == nil && w.more != "" {
		unlock, from := w.s.sweepLock(ctx, w.pool)
		defer func() { unlock(stop{sk: w.more}) }()
		err = w.returns(ctx, max(from.sk, w.more))
	}
	return err
}

// mendCopy makes the catalogue say what the head says, where a change was cut off after that.
func (w *sweep) mendCopy(ctx context.Context, h *head) error {
	if h.rebuilding {
		return nil
	}
	return w.s.keepCopy(ctx, h)
}

// tidyUp tidies by the head as it is, again where others move it meanwhile.
func (w *sweep) tidyUp(ctx context.Context) error {
	cost := w.share(tidyShare)
	for range sweepTries {
		h, err := w.s.poolHead(ctx, w.pool)
		if err != nil {
			return err
		}
		if h.rebuilding {
			return poolRebuilding(w.pool)
		}
		if err = w.tidy(ctx, h, cost); !errors.Is(err, errReplan) {
			return err
		}
		if cost.spent() {
			break
		}
	}
	w.left = true
	return nil
}

// tidy judges the queue, publishes again what is stale, raises the low mark and counts. h was read just now.
func (w *sweep) tidy(ctx context.Context, h *head, cost share) error {
	h, err := w.s.settleTail(ctx, h)
	if err != nil {
		return err
	}
	p := &plan{low: h.lo, listed: map[listing]bool{}, cost: cost}
	if err := w.check(ctx, h, p); err != nil {
		return err
	}
	if err := w.judge(ctx, h, p); err != nil {
		return err
	}
	unleased, err := w.s.unleased(ctx, h)
	if err != nil {
		return err
	}
	now, seeded, held := w.s.now(), h.seeded, w.held
	if !w.whole || held < 0 {
		held = h.counted.held
	}
	available := max(0, unleased+int64(len(p.relist))+p.free-p.dead)
	if h, err = w.publish(ctx, h, p, map[string]any{
		AttrDead: p.dead, AttrHeld: held, AttrCountedAt: now.UnixMilli(), AttrGone: max(0, seeded-available-held),
	}); err != nil {
		return err
	}
	w.report.Passed += alloc.Count(p.passed)
	w.report.Leased = alloc.Count(p.free)
	w.left = w.left || p.left
	w.memory.known(h, now)
	return w.sample(ctx, h, seeded, available, now)
}

// publish publishes what the plan says, a batch at a time, and moves the low mark with each over what is settled or listed
// again by then. What it has counted goes with every one of these moves, so that the level is right between them.
func (w *sweep) publish(ctx context.Context, h *head, p *plan, counts map[string]any) (*head, error) {
	list, done := relisted(drafts(w.pool, p.relist, h.seeded)), 0
	for {
		batch := list[:min(len(list), relistBatch)]
		list = list[len(batch):]
		n := 0
		for _, d := range batch {
			n += len(d.listings)
		}
		to := p.low
		if len(list) > 0 {
			to = p.from[done+n] // all before the first that is still to be listed
		}
		counts[AttrWindowFree] = p.free + int64(len(p.relist)-done-n)
		m := &move{from: h.lo, to: to, wanted: h.wanted && !p.left, dirtyTo: p.dirtyTo, set: counts}
		now, err := w.s.publish(ctx, h, batch, once(), m)
		if err != nil {
			return nil, err
		}
		w.report.Relisted += alloc.Count(n)
		h, done = now, done+n
		switch {
		case len(list) == 0:
			return h, nil
		case p.cost.spent():
			p.left = true
			return h, nil
		}
	}
}

// relisted marks drafts whose listings may stand elsewhere too.
func relisted(list []draft) []draft {
	for i := range list {
		list[i].relisted = true
	}
	return list
}

// once is a guard that lets one attempt through: before the next the caller must look again, or what another has just
// listed would be listed twice.
func once() func(context.Context) error {
	tried := false
	return func(context.Context) error {
		if tried {
			return errReplan
		}
		tried = true
		return nil
	}
}

// sample records the level once a minute, for the next sweeps and for forecasts: seeded and available belong together.
func (w *sweep) sample(ctx context.Context, h *head, seeded, available int64, now time.Time) error {
	it := Item{
		AttrPK: samplesPK(w.pool), AttrSK: now.UTC().Format(sampleTime), AttrTaken: now.UnixMilli(), AttrSeries: h.series,
		AttrLow: h.lo, AttrNext: h.nx, AttrTail: h.tl, AttrSeeded: seeded, AttrAvail: available, AttrExpires: now.Add(sampleAge).Unix(),
	}
	err := w.s.table.Put(ctx, it, Absent(AttrPK))
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}
