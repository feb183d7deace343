package dynamo

import (
	"context"

	"idpool/alloc"
)

// An ID that a batch with UpTo has put and does not need is loose: free, listed nowhere, and as good as absent. The next run
// of its batch takes it when it is needed; any other seeding of it makes it its own, and counts it as added.
//
// A seeding that meets an ID which such a batch has put, and may not have listed yet, has to list it, or it would answer that
// an ID is there which then is not. So it pins the ID first: a pinned one is not let go. The batch counts it as its own, and
// lists it for the record. Which of the two an ID becomes is one conditional write of its item.
//
//	from          to        by
//	put           loose     its batch
//	put           pinned    another seeding, before it lists it
//	loose         put       its batch, before it lists it, or another one, whose it is then
//	put           put       a later run of its batch, before it lists it
//
// What a run lists must not be let go any more by what an earlier one has sent, so it takes the ID first: it writes its turn
// into it, as the batch's record counts them. Only a later one takes it after that, and who lets an ID go asks for the
// turn by which it has it. What a run puts itself it need not take: an earlier one lets go only what was there while
// that was still the one at work.
//
// An ID that is claimed keeps the mark of its being pinned, which then means nothing.

// loose reports whether the ID is as good as absent.
func loose(it Item) bool { return it.Str(AttrPut) == putLoose && it.Str(AttrState) == StateFree }

// asFound is the condition that the ID is free and still that batch's.
func asFound(l listing, job, batch string) Cond {
	return All(Eq(AttrState, StateFree), Eq(AttrGeneration, l.gen), Eq(AttrJob, job), Eq(AttrBatch, batch))
}

// loosen lets an ID go. held says that it cannot be: it is pinned, or was even claimed. Where it is another batch's by now
// it was let go, by this very call, whose answer was lost.
func (sd *seeding) loosen(ctx context.Context, f found) (held bool, err error) {
	now, err := sd.updateID(ctx, f.listing.id, Update{Set: map[string]any{AttrPut: putLoose}}, All(asFound(f.listing, sd.job, f.batch), Absent(AttrPut), countIs(AttrTurn, f.turn)))
	return sd.owns(now) && !loose(now), err
}

// pin pins an ID that another batch has put. Where it is not as it was found, it is returned as it is.
func (sd *seeding) pin(ctx context.Context, f *found) (now Item, err error) {
	now, err = sd.updateID(ctx, f.listing.id, Update{Set: map[string]any{AttrPut: putPinned}}, All(asFound(f.listing, f.doubt, f.batch), Ne(AttrPut, putLoose)))
	return now, err
}

// letGoSince reads an ID that another batch had put before it was parked, and returns it if it has become loose.
func (sd *seeding) letGoSince(ctx context.Context, f *found) (now Item, err error) {
	err = sd.insist(ctx, func() (err error) {
		now, err = sd.s.table.Get(ctx, idKey(sd.pool, f.listing.id))
		return err
	})
	if err != nil || !loose(now) {
		return nil, err
	}
	return now, nil
}

// take makes this run's an ID that is loose, or that an earlier run of the batch has put. Where it is not as it was found,
// it is returned as it is.
func (sd *seeding) take(ctx context.Context, l listing, it Item, u Update, c ...Cond) (now Item, err error) {
	put := Absent(AttrPut)
	if loose(it) {
		put = Eq(AttrPut, putLoose)
	}
	u.Remove = []string{AttrPut}
	now, err = sd.updateID(ctx, l.id, u, All(append(c, put, asFound(l, it.Str(AttrJob), it.Str(AttrBatch)))...))
	if now == nil || now.Str(AttrPut) != "" || now.Str(AttrState) != StateFree || now.Int(AttrGeneration) != l.gen {
		return now, err
	}
	for attr, v := range u.Set {
		if now[attr] != v {
			return now, err
		}
	}
	return nil, err // taken by this very call, whose answer was lost
}

// turnBelow holds of an ID that no run of the turn or of a later one has taken.
func turnBelow(turn int64) Cond { return Any(Absent(AttrTurn), Lt(AttrTurn, turn)) }

// adopt makes a loose ID of another batch this one's. It names the run, as putAgain does and for the same reason.
func (sd *seeding) adopt(ctx context.Context, l listing, it Item) (found, error) {
	u := Update{Set: map[string]any{AttrJob: sd.job, AttrBatch: sd.ownTag(), AttrTurn: sd.turn}}
	if now, err := sd.take(ctx, l, it, u); now != nil || err != nil {
		return sd.orKnown(ctx, l.id, now, false, err)
	}
	return found{outcome: alloc.SeedAdded, listing: l, ours: true, count: true, list: true, batch: sd.ownTag(), turn: sd.turn}, nil
}

// updateID changes an ID's item, and returns that where the condition failed; one that is gone is an item without attributes.
func (sd *seeding) updateID(ctx context.Context, id alloc.ID, u Update, c Cond) (now Item, err error) {
	u.Quiet = true
	err = sd.insist(ctx, func() error {
		_, err := sd.s.table.Update(ctx, idKey(sd.pool, id), u, c)
		return err
	})
	if old, met := refusedBy(err); met {
		if old == nil {
			old = Item{}
		}
		return old, nil
	}
	return nil, err
}

// orKnown judges an ID anew that was not as it was found.
func (sd *seeding) orKnown(ctx context.Context, id alloc.ID, now Item, look bool, err error) (found, error) {
	switch {
	case err != nil:
		return found{}, err
	case now.Str(AttrPK) == "" && look:
		return found{outcome: alloc.SeedUnneeded}, nil
	case now.Str(AttrPK) == "":
		return sd.put(ctx, id)
	}
	return sd.known(ctx, id, now, unknown, look)
}
