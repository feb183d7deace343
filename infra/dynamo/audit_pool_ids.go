package dynamo

import (
	"context"
	"slices"
	"strings"
	"time"

	"idpool/alloc"
)

const (
	// auditItems is after how many IDs a step of a scan ends, and auditTime after how long.
	auditItems = 20_000
	auditTime  = 5 * time.Second

	// clockSkew is what a clock may be wrong by. overdueAfter is how long a hold may be past its time: two runs of the schedule, and what the clock of
	// the one who took it, by which it ends, may differ from ours; it comes back by a third one.
	clockSkew    = 5 * time.Minute
	overdueAfter = 2*time.Minute + 2*clockSkew
)

// scan reads on in every segment of the table.
func (a *auditing) scan(ctx context.Context) error {
	begun, met := a.s.now(), 0
	for range stepRounds {
		read := a.s.now() // no later than what the items say was so: a process may stand still after it
		items, err := a.round(ctx)
		if err != nil {
			return err
		}
		if a.Phase == auditRecount {
			err = a.recount(ctx, items)
		} else {
			err = a.judge(ctx, items, read)
		}
		if err != nil {
			return err
		}
		met += len(items)
		if done(a.Positions) || a.full() || met >= auditItems || a.Candidates+len(a.ids) >= auditCandidates || a.s.now().Sub(begun) > auditTime {
			break
		}
	}
	switch {
	case a.Phase == auditRecount:
		if done(a.Positions) {
			return a.recounted(ctx)
		}
	case a.Candidates+len(a.ids) >= auditCandidates, done(a.Positions):
		return a.gathered(ctx)
	}
	return nil
}

// round reads the next page of every segment, and returns the items of IDs in it that the audit looks at.
func (a *auditing) round(ctx context.Context) ([]Item, error) {
	n, prefix := len(a.Positions), idKey(a.pool, "").PK
	found, next, errs := make([][]Item, n), slices.Clone(a.Positions), make([]error, n)
	each(n, n, func(i int) {
		if a.Positions[i] == scanEnd {
			return
		}
		errs[i] = a.s.insist(ctx, func() (err error) {
			var from Key
			found[i], from, err = a.s.table.Scan(ctx, Scan{
				Segment: i, Total: n, From: a.Positions[i].key(), Limit: scanItems, Prefixes: []string{prefix},
			})
			next[i] = positionOf(from)
			return err
		})
	})
	a.Positions = next
	all := slices.DeleteFunc(slices.Concat(found...), func(it Item) bool {
		return it.Str(AttrSK) != skID || !a.sampled(a.idOf(it))
	})
	return all, firstOf(errs)
}

func (a *auditing) idOf(it Item) alloc.ID {
	return alloc.ID(strings.TrimPrefix(it.Str(AttrPK), idKey(a.pool, "").PK))
}

// ofID is what is known of an ID that somebody has, or had last.
type ofID struct {
	listing
	it Item
}

// judge looks at IDs that were read after the time, counts them, and gathers those of which more has to be known.
func (a *auditing) judge(ctx context.Context, items []Item, read time.Time) error {
	var coming, keyed []ofID
	for _, it := range items {
		o := ofID{listing{a.idOf(it), it.Int(AttrGeneration)}, it}
		a.Latest = max(a.Latest, it.Int(AttrTaken))
		if why := damaged(it); why != "" {
			a.step.Done++
			a.Met++
			a.find(alloc.FindDamagedID, string(o.id), alloc.RemedyNone, "%s", why)
			continue
		}
		switch state := it.Str(AttrState); {
		case loose(it):
			a.Met, a.Loose = a.Met+1, a.Loose+1
			continue
		case state == StateForgotten, expired(it, read):
			continue
		case state == StateFree:
			a.ids = append(a.ids, candidateFree+o.String())
		case state == StateHeld || state == StateReturning:
			coming = append(coming, o)
		case state == StateRetired:
			a.RetiredMet++
		}
		a.Met++
		a.step.Done++
		a.count(it.Str(AttrState))
		if it.Str(AttrKey) != "" {
			keyed = append(keyed, o)
		}
	}
	if err := a.returns(ctx, coming, read); err != nil {
		return err
	}
	return a.keys(ctx, keyed)
}

func (a *auditing) count(state string) {
	t := &a.step.Tally
	switch state {
	case StateFree:
		t.Free++
	case StateHeld:
		t.Held++
	case StateClaimed:
		t.Claimed++
	case StateReturning:
		t.Returning++
	case StateRetired:
		t.Retired++
	}
}

// damaged says what of an ID's item cannot be read; "" where all can.
func damaged(it Item) string {
	state := it.Str(AttrState)
	switch {
	case stateOf[state] == "" && state != StateForgotten:
		return "its item says no state that there is"
	case !it.isOf(AttrGeneration):
		return "its item says no generation"
	case state == StateFree && it.Str(AttrToken) != "":
		return "it is free, and has the token of an owner"
	case state == StateFree && owned(it):
		return "it is free, and has what only an ID has that somebody has"
	case (state == StateHeld || state == StateClaimed || state == StateReturning) && it.Str(AttrToken) == "":
		return "its item says that it is taken, and not by whom"
	case state == StateHeld && !it.isOf(AttrHoldEnd):
		return "its item says that it is held, and not until when"
	}
	return ""
}

// returns looks at IDs that are held or on their way back. What lacks its return item is read again after that was seen: one that is
// returning still has lost it. A hold may be in the hands of its owner in this moment, or wait for a sweep to meet its listing.
func (a *auditing) returns(ctx context.Context, coming []ofID, read time.Time) error {
	if a.Deleted || len(coming) == 0 {
		return nil
	}
	keys := make([]Key, len(coming))
	for i, o := range coming {
		keys[i] = returnKey(a.pool, o.listing)
		if end := fromMilli(o.it.Int(AttrHoldEnd)); o.it.Str(AttrState) == StateHeld && end.Add(overdueAfter).Before(read) {
			a.find(alloc.FindOverdueHold, string(o.id), alloc.RemedySweep, "its hold has ended at %s, and it has not come back", end.Format(time.RFC3339))
		}
	}
	found, err := a.s.getAll(ctx, keys)
	if err != nil {
		return err
	}
	var lost []ofID
	for i, o := range coming {
		switch {
		case found[i] != nil:
		case o.it.Str(AttrState) == StateHeld:
			a.ids = append(a.ids, candidateHeld+o.String())
		case o.it.Str(AttrKey) != "":
			ret, err := a.s.table.Get(ctx, voidKey(a.pool, o.it.Str(AttrKey), o.it.Str(AttrToken)))
			if err != nil {
				return err
			}
			if ret == nil {
				lost = append(lost, o)
			}
		default:
			lost = append(lost, o)
		}
	}
	still, err := a.still(ctx, lost)
	for _, o := range still {
		a.find(alloc.FindNoReturn, string(o.id), alloc.RemedyRebuild, "it is on its way back, and nothing says so but itself")
	}
	return err
}

// still reads IDs again, and returns those whose items have not changed in state, generation and owner.
func (a *auditing) still(ctx context.Context, list []ofID) ([]ofID, error) {
	states := map[alloc.ID]Item{}
	ids := make([]alloc.ID, len(list))
	for i, o := range list {
		ids[i] = o.id
	}
	if err := a.s.readIDs(ctx, a.pool, ids, states); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(o ofID) bool {
		now := states[o.id]
		return now == nil || now.Str(AttrState) != o.it.Str(AttrState) || now.Int(AttrGeneration) != o.gen || now.Str(AttrToken) != o.it.Str(AttrToken)
	}), nil
}
