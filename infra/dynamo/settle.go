package dynamo

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"idpool/alloc"
)

const (
	// tallyTime is how long a call that has retired IDs may go on to count them.
	tallyTime = time.Second

	// dropTime is how long a call may take to remove the return items of holds that it has ended, with what the client
	// keeps back of every time.
	dropTime = 600 * time.Millisecond
)

// Settle implements alloc.Claims. One ID is confirmed or retired by one conditional write, whose failure tells why.
// Several are read first, so that none is changed where one cannot be. A release puts the return item first, which names
// the generation, so it reads too: from then on the ID comes back, by this call or by a sweep.
func (s *Store) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	if ctx.Err() != nil {
		return alloc.Settled{}, outOfTime(ctx)
	}
	_, h, err := s.poolOf(ctx, o.Pool)
	if err != nil {
		return alloc.Settled{}, err
	}
	w := &settlement{
		s: s, pool: o.Pool, token: string(o.Token), asked: o.Event, event: h.pool.Config.Settles(o.Event),
		forgets: h.pool.Config.Policy == alloc.PolicyForget, call: string(alloc.NewToken()[:8]), ids: o.IDs,
	}
	err = w.run(ctx)
	var rest sync.WaitGroup
	rest.Go(func() { w.dropHolds(ctx) })
	if n := w.count(settledNow); n > 0 && w.event == alloc.EventRetire {
		s.tallyRetired(ctx, h, w.call, n)
	}
	rest.Wait()
	if err != nil {
		return alloc.Settled{}, err
	}
	return alloc.Settled{Pool: o.Pool, IDs: slices.Clone(o.IDs), State: w.state()}, nil
}

// settlement is one call of Settle.
type settlement struct {
	s       *Store
	pool    alloc.PoolName
	token   string
	asked   alloc.Event
	event   alloc.Event // what it is in this pool
	forgets bool
	call    string // of this call: by it, beside the token, a write that was repeated knows itself
	ids     []alloc.ID

	ends []settledAs // of the IDs, in their order
	over []*listing  // of those whose hold this call has ended, or may have; nil for the others
}

// settledAs is what became of one ID in a settlement.
type settledAs int

const (
	settledNot   settledAs = iota
	settledNow             // by this call
	settledSince           // what the event is in this pool has happened before
	settledAsked           // it was released before the pool's rule for releases changed
)

func (w *settlement) count(as settledAs) int64 {
	n := int64(0)
	for _, end := range w.ends {
		if end == as {
			n++
		}
	}
	return n
}

var settledState = map[alloc.Event]alloc.State{
	alloc.EventConfirm: alloc.StateClaimed, alloc.EventRelease: alloc.StateReturning, alloc.EventRetire: alloc.StateRetired,
}

func (w *settlement) state() alloc.State {
	if int(w.count(settledAsked)) == len(w.ids) {
		return settledState[w.asked]
	}
	return settledState[w.event]
}

// judge says what the event does to an ID: as is settledNot for one that is to be changed, and where code is not empty,
// it is refused.
func (w *settlement) judge(it Item) (as settledAs, code alloc.Code) {
	state := stateOf[it.Str(AttrState)]
	switch {
	case it.Str(AttrSource) == w.call && it.Str(AttrToken) == w.token:
		return settledNow, "" // our own write, whose answer was lost
	case it == nil || state == "" || expired(it, w.s.now()):
		return settledNot, alloc.CodeIDNotFound // what the pool has forgotten among them
	case w.token == "":
		return settledNot, alloc.CodeNotOwner // what nobody has, has no token either
	case it.Str(AttrToken) == w.token:
	case bytes.Equal(it.Bytes(AttrLast), markOf(w.token)) && w.asked == alloc.EventRelease:
		return settledAsked, ""
	default:
		return settledNot, alloc.CodeNotOwner
	}
	switch effect := state.On(w.event).Effect; {
	case effect == alloc.EffectMove:
		return settledNot, ""
	case effect == alloc.EffectRepeat:
		return settledSince, ""
	case state.On(w.asked).Effect == alloc.EffectRepeat:
		return settledAsked, ""
	}
	return settledNot, alloc.RefusalOf(state)
}

// run settles all IDs or, as far as a look at them can tell, none.
func (w *settlement) run(ctx context.Context) error {
	n := len(w.ids)
	w.ends, w.over = make([]settledAs, n), make([]*listing, n)
	items := make([]Item, n)
	if n > 1 || w.event == alloc.EventRelease || w.forgets {
		if err := w.read(ctx, items); err != nil {
			return err
		}
	}
	errs := make([]error, n)
	codes := make([]alloc.Code, n)
	each(n, claimWidth, func(i int) {
		if w.ends[i] == settledNot {
			w.ends[i], codes[i], errs[i] = w.settle(ctx, i, items[i])
		}
	})
	return w.verdict(codes, errs)
}

// read reads the IDs, strongly, and refuses the order where one of them does not allow it. Before a release their return
// items are put.
func (w *settlement) read(ctx context.Context, items []Item) error {
	states := make(map[alloc.ID]Item, len(w.ids))
	if err := w.s.readIDs(ctx, w.pool, w.ids, states); err != nil {
		return err
	}
	codes := make([]alloc.Code, len(w.ids))
	for i, id := range w.ids {
		items[i] = states[id]
		w.ends[i], codes[i] = w.judge(items[i])
	}
	if err := w.verdict(codes, nil); err != nil || w.event != alloc.EventRelease {
		return err
	}
	errs := make([]error, len(w.ids))
	each(len(w.ids), claimWidth, func(i int) {
		if w.ends[i] == settledNot {
			errs[i] = w.announce(ctx, listing{w.ids[i], items[i].Int(AttrGeneration)})
		}
	})
	err := firstOf(errs)
	if err != nil && len(errs) > 1 {
		return unsettled(err) // where an item was put, a sweep does the rest
	}
	return err
}

// announce is step 1 of coming back: the return item of a release, in the place of that of a hold.
func (w *settlement) announce(ctx context.Context, l listing) error {
	err := w.s.table.Put(ctx, returnItem(w.pool, l, w.token, ReasonRelease, 0), Any(Absent(AttrPK), Eq(AttrReason, ReasonHold)))
	if _, met := refusedBy(err); met {
		return nil // it comes back by the one that is there
	}
	return err
}

// settle changes one ID; it is nil where it was not read.
func (w *settlement) settle(ctx context.Context, i int, it Item) (as settledAs, code alloc.Code, err error) {
	for range changeTries {
		u, cond := w.change(it)
		u.Quiet = it != nil // else the answer tells the generation
		now, err := w.s.table.Update(ctx, idKey(w.pool, w.ids[i]), u, cond)
		if err == nil {
			if it == nil || it.Str(AttrState) == StateHeld {
				w.over[i] = &listing{w.ids[i], max(it.Int(AttrGeneration), now.Int(AttrGeneration))}
			}
			return settledNow, "", nil
		}
		old, met := refusedBy(err)
		if !met {
			return settledNot, "", err
		}
		switch as, code := w.judge(old); {
		case w.event == alloc.EventRelease && w.cameBack(it, old, as):
			return settledNow, "", nil
		case as != settledNot || code != "":
			return as, code, nil
		}
		it = old
	}
	return settledNot, "", poolContended(w.pool)
}

// cameBack reports whether an ID that a release has announced is on its way back, or has come back since: by the return item
// of the release, whoever did it. Where others had it after that, it need not remember the token any more, but it is of a
// later generation than that in which it was read as the token's.
func (w *settlement) cameBack(read, now Item, as settledAs) bool {
	return as != settledNot || now.Int(AttrGeneration) > read.Int(AttrGeneration)
}

// change is the one write that decides about an ID. A token owns an ID in one generation only, so the token names that
// too; where the ID was read, it is tested all the same.
func (w *settlement) change(it Item) (Update, Cond) {
	conds := []Cond{Eq(AttrToken, w.token)}
	if it != nil {
		conds = append(conds, Eq(AttrGeneration, it.Int(AttrGeneration)))
	}
	taken := Any(Eq(AttrState, StateHeld), Eq(AttrState, StateClaimed))
	switch w.event {
	case alloc.EventConfirm:
		return w.confirmed(it), All(append(conds, Eq(AttrState, StateHeld))...)
	case alloc.EventRetire:
		set := map[string]any{AttrState: StateRetired, AttrSource: w.call, AttrWritten: w.s.now().UnixMilli()}
		current := Any(Absent(AttrExpires), Gt(AttrExpires, w.s.now().Unix()))
		// It comes back no more, so it ends no key; without that name it stays within one write unit.
		return Update{Set: set, Remove: []string{AttrHoldEnd, AttrExpires, AttrCarried, AttrKey}}, All(append(conds, taken, current)...)
	default: // step 2 of coming back; it must not expire on its way
		set := map[string]any{AttrState: StateReturning}
		return Update{Set: set, Remove: []string{AttrExpires, AttrCarried}}, All(append(conds, taken)...)
	}
}

// confirmed is what a confirmation changes. A pool that forgets does so with it as long after that as a key is kept, and
// never before the key of the claim: so a repeat finds what it has confirmed, and so does whatever its owner began before.
func (w *settlement) confirmed(it Item) Update {
	u := Update{Set: map[string]any{AttrState: StateClaimed}, Remove: []string{AttrHoldEnd, AttrCarried}}
	if !w.forgets {
		u.Set[AttrWritten] = w.s.now().UnixMilli()
	} else {
		taken := time.UnixMilli(it.Int(AttrTaken) + 1) // or a part of a millisecond before
		u.Set[AttrExpires] = max(keyExpiry(w.s.now()), keyExpiry(taken))
	}
	return u
}

// dropHolds removes the return items of holds that were confirmed or retired, so that no sweep has to find out. That is no
// part of what was promised: one that stays is dropped by a sweep.
func (w *settlement) dropHolds(ctx context.Context) {
	if w.event == alloc.EventRelease {
		return // its item has taken the place of the hold's
	}
	ctx, cancel := context.WithTimeout(ctx, dropTime)
	defer cancel()
	each(len(w.over), claimWidth, func(i int) {
		if l := w.over[i]; l != nil {
			_ = w.s.dropReturn(ctx, returnItem(w.pool, *l, w.token, ReasonHold, 0)) //nolint:errcheck // a sweep does it
		}
	})
}

// verdict is the error of the call, from what refused its IDs and what failed. Where a release is a retirement, IDs that
// come back all the same (their hold was over, or they were released before that was the rule) are not the token's to
// retire: they are a success among their like alone, as one answer is about all.
func (w *settlement) verdict(codes []alloc.Code, errs []error) error {
	var faults []alloc.IDFault
	back := int(w.count(settledAsked))
	mixed := w.event != w.asked && back > 0 && back < len(w.ids)
	for i, code := range codes {
		if mixed && w.ends[i] == settledAsked {
			code = alloc.CodeNotOwner
		}
		if code != "" {
			faults = append(faults, alloc.IDFault{ID: w.ids[i], Code: code})
		}
	}
	some := w.count(settledNow) > 0
	err := firstOf(errs)
	for _, e := range errs {
		some = some || isUnknown(e)
	}
	switch {
	case err == nil && faults == nil:
		return nil
	case err == nil:
		refused := alloc.Refused(w.event, faults)
		refused.Unknown = some
		return refused
	case some || w.event == alloc.EventRelease: // its return item is there: a sweep does the rest
		return unsettled(err)
	}
	return err
}

// tallyRetired counts IDs that a call has retired. It is no part of what was promised: a call that is cut off before it
// leaves them counted as claimed, and so does one that cannot tell whether it has counted. The sum only rises, so a write
// that tests it counts once, however late it arrives.
//
// h was read before the first of them was retired. It ends where a rebuild has begun or ended since: that counts by the items as its scan
// meets them, before the retirement or after it, and only what it has met before could be counted once more. In the series of h no
// scan has met them retired, as the scan that made it was over when h was read.
func (s *Store) tallyRetired(ctx context.Context, h *head, call string, n int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tallyTime)
	defer cancel()
	doubt := false
	for try := range publishTries {
		sum, asOf := h.retired, s.now()
		now, moved, err := s.updateHead(ctx, h, Update{Set: map[string]any{AttrRetired: sum + n, AttrRetiredBy: call}}, Eq(AttrRetired, sum))
		if err == nil {
			s.pools.known(now, asOf) // so that the next call begins with this sum
		}
		switch {
		case err == nil && (!moved || now.retiredBy == call || now.rebuilding || now.series != h.series):
			return
		case err == nil:
			if doubt && now.retired != sum {
				return
			}
			h = now
		case isUnknown(err):
			doubt = true
		case !alloc.Is(err, alloc.CodeThrottled):
			return
		}
		if s.wait(ctx, time.Duration(s.intN(int(publishPause<<min(try, 6))))) != nil {
			return
		}
	}
}
