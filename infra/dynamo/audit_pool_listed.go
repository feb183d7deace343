package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"idpool/alloc"
)

const (
	// auditCandidates is from how many candidates on they are struck off before more are gathered: what an audit has in memory is
	// bounded by that.
	auditCandidates = 100_000

	// strikeChunks is how many chunks a step reads for that, and tellMost of how many that are left a step reads the IDs.
	strikeChunks = 2000
	tellMost     = 2000

	// pieceBytes is how much of the candidates one item has.
	pieceBytes = 250 << 10

	candidateFree = "f" // before its listing
	candidateHeld = "h"
)

// A candidate is of one generation of an ID, free or held, without a return item. As long as that stays so, it is listed of that generation
// in a chunk from the low mark to the tail, from when its batch was carried to its end: a sweep moves the low mark over a listing only in the update that
// publishes it again, or after it has put the return item of a hold.
//
// So of a candidate that was met before a head was read, is in none of that head's chunks, and is read again after that as it was, only
// one thing is to be feared: that its batch had not listed it yet. So what is left after the first round is left out where its batch is open,
// and struck off in a second round by a head that is read after that. What is left then, and still as it was, is certain. Where a chunk below the low
// mark lists it, it was taken in this generation, and was set back to free past the Store: see passed.

// gathered begins the first round, where there are candidates.
func (a *auditing) gathered(ctx context.Context) error {
	if a.Headless || a.Candidates+len(a.ids) == 0 {
		a.ids, a.Pieces, a.Candidates = nil, nil, 0
		return a.goOn(ctx)
	}
	a.Struck, a.Round, a.Phase = nil, 1, auditListed
	a.QueueSeries = 0
	return nil
}

// goOn goes on behind the candidates.
func (a *auditing) goOn(ctx context.Context) error {
	a.Pieces, a.Candidates, a.Struck, a.SetBack = nil, 0, nil, nil
	a.Phase = auditIDs
	if done(a.Positions) {
		return a.counts(ctx)
	}
	return nil
}

// keepCandidates keeps what the step has gathered.
func (a *auditing) keepCandidates(ctx context.Context) error {
	name := string(alloc.NewToken())
	for len(a.ids) > 0 {
		n, size := 0, 0
		for n < len(a.ids) && size < pieceBytes {
			size += len(a.ids[n]) + 3
			n++
		}
		sk := fmt.Sprintf("A#%s#%s.%d", a.run, name, len(a.Pieces))
		if _, err := a.scratch(ctx, Key{PK: jobKey(a.job).PK, SK: sk}, Item{"ids": a.ids[:n]}); err != nil {
			return err
		}
		a.Pieces, a.Candidates, a.ids = append(a.Pieces, sk), a.Candidates+n, a.ids[n:]
	}
	return nil
}

// candidates reads them.
func (a *auditing) candidates(ctx context.Context) ([]string, error) {
	keys := make([]Key, len(a.Pieces))
	for i, sk := range a.Pieces {
		keys[i] = Key{PK: jobKey(a.job).PK, SK: sk}
	}
	items, err := a.s.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	list := make([]string, 0, a.Candidates)
	for _, it := range items {
		list = append(list, it.List("ids")...)
	}
	if len(list) != a.Candidates {
		return nil, internal(fmt.Errorf("%d of %d candidates of an audit are there", len(list), a.Candidates))
	}
	return list, nil
}

// strike strikes off candidates by some chunks of the head, which the first step of a round reads.
func (a *auditing) strike(ctx context.Context) error {
	list, err := a.candidates(ctx)
	if err != nil {
		return err
	}
	open := make(map[string]int, len(list))
	for i, c := range list {
		if !a.Struck.has(i) {
			open[c[1:]] = i
		}
	}
	if a.QueueSeries == 0 {
		if whole, err := a.readQueue(ctx); err != nil || !whole {
			return err
		}
	}
	var keys []Key
	for n := a.QueueAt; n < min(a.QueueAt+strikeChunks, a.QueueTail); n++ {
		keys = append(keys, chunkKey(a.pool, a.QueueSeries, n))
	}
	if len(keys) > 0 {
		items, err := a.s.getAll(ctx, keys)
		if err != nil {
			return err
		}
		for _, it := range items {
			a.Torn = a.Torn || torn(it)
			for _, l := range it.List(AttrListings) {
				if i, is := open[l]; is {
					a.Struck.set(i, true)
					delete(open, l)
				}
			}
		}
	}
	a.QueueAt += int64(len(keys))
	switch {
	case len(open) == 0:
		return a.goOn(ctx)
	case a.QueueAt >= a.QueueTail && a.Round == 1:
		a.Phase, a.QueueAt = auditAgain, 0
	case a.QueueAt >= a.QueueTail && a.Torn: // what is left may have been listed where nothing can be read
		a.Phase, a.QueueAt = auditTell, 0
	case a.QueueAt >= a.QueueTail:
		a.Phase, a.QueueAt = auditPassed, a.QueueLow
	}
	return nil
}

// passed looks at some chunks below the low mark, the latest first. What one of them lists, and none after it, was taken in that generation or the
// low mark would not have passed it: free it is by a hand past the Store. Below one that cannot be read as a whole nothing tells that.
func (a *auditing) passed(ctx context.Context) error {
	list, err := a.candidates(ctx)
	if err != nil {
		return err
	}
	open := make(map[string]int, len(list))
	for i, c := range list {
		if !a.Struck.has(i) && !a.SetBack.has(i) && strings.HasPrefix(c, candidateFree) {
			open[c[1:]] = i
		}
	}
	from := max(-a.QueueBase, a.QueueAt-strikeChunks)
	items, err := a.s.chunksOf(ctx, a.pool, a.QueueSeries, from, a.QueueAt)
	if err != nil {
		return err
	}
	whole := true
	for _, it := range slices.Backward(items) {
		if whole = whole && !torn(it); !whole {
			break
		}
		for _, l := range it.List(AttrListings) {
			if i, is := open[l]; is {
				a.SetBack.set(i, true)
				delete(open, l)
			}
		}
	}
	if a.QueueAt = from; !whole || len(open) == 0 || from <= -a.QueueBase {
		a.Phase, a.QueueAt = auditTell, 0
	}
	return nil
}

// torn reports whether something of a chunk is lost.
func torn(it Item) bool {
	_, lists := it[AttrListings]
	return !lists && !hollow(it) || !it.isOf(AttrBefore) || len(it.List(AttrListings)) != len(decodeChunk(0, it).listings)
}

// hollow reports whether a chunk lists nothing because it is to list nothing: it was not to count, or closes the tail to a seeding that was cut off
// (findListed). Any other adds IDs, or names the batch, the return or the rebuild that has listed them.
func hollow(it Item) bool {
	_, tags := it[AttrTags]
	return it.Bool(AttrVoid) || it.isOf(AttrSeeded) && it.Int(AttrSeeded) == 0 && it.Str(AttrSource) != "" && !tags && it.Str(AttrBatch) == "" && !it.Bool(AttrRelisted)
}

// chunksOf reads the chunks of a series from one to before another; nil stands for one that is lost.
func (s *Store) chunksOf(ctx context.Context, pool alloc.PoolName, series, from, to int64) ([]Item, error) {
	var keys []Key
	for n := from; n < to; n++ {
		keys = append(keys, chunkKey(pool, series, n))
	}
	return s.readAll(ctx, keys)
}

// readQueue reads the head by which candidates are struck off. Where it has been lost since, nothing can be said of them.
func (a *auditing) readQueue(ctx context.Context) (whole bool, err error) {
	h, err := a.s.poolHead(ctx, a.pool)
	switch {
	case alloc.Is(err, alloc.CodePoolDamaged):
	case err != nil:
		return false, err
	case h.rebuilding:
		return false, poolRebuilding(a.pool)
	case h.whole():
		a.QueueSeries, a.QueueAt, a.QueueTail = h.series, h.lo, h.tl
		a.QueueLow, a.QueueBase, a.Torn = h.lo, h.base, false
		return true, nil
	}
	a.Headless = true
	a.find(alloc.FindHead, string(a.pool), alloc.RemedyRebuild, "the head of the pool was lost or damaged in these minutes")
	return false, a.goOn(ctx)
}

// left reads the IDs of some candidates that are left, from the one on with which the step goes on, and returns those that are as they were.
func (a *auditing) left(ctx context.Context) (list []string, at []int, items []Item, err error) {
	all, err := a.candidates(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	var keys []Key
	for ; a.QueueAt < int64(len(all)) && len(at) < tellMost; a.QueueAt++ {
		if i := int(a.QueueAt); !a.Struck.has(i) {
			l, _ := parseListing(all[i][1:])
			list, at = append(list, all[i]), append(at, i)
			keys = append(keys, idKey(a.pool, l.id), returnKey(a.pool, l))
		}
	}
	if len(keys) == 0 {
		return nil, nil, nil, nil
	}
	found, err := a.s.getAll(ctx, keys)
	if err != nil {
		return nil, nil, nil, err
	}
	items = make([]Item, len(at))
	for i, c := range list {
		l, _ := parseListing(c[1:])
		it, ret := found[2*i], found[2*i+1]
		free := strings.HasPrefix(c, candidateFree) && it.Str(AttrState) == StateFree && !loose(it)
		held := strings.HasPrefix(c, candidateHeld) && it.Str(AttrState) == StateHeld && ret == nil
		if it.Int(AttrGeneration) != l.gen || !free && !held {
			a.Struck.set(at[i], true)
			continue
		}
		items[i] = it
	}
	return list, at, items, nil
}

// again looks at what the first round has left, and leaves out what is of batches that are open.
func (a *auditing) again(ctx context.Context) error {
	list, at, items, err := a.left(ctx)
	if err != nil {
		return err
	}
	settled := map[string]bool{}
	for i, c := range list {
		if items[i] == nil || strings.HasPrefix(c, candidateHeld) {
			continue
		}
		ok, err := a.batchSettled(ctx, items[i], settled)
		if err != nil {
			return err
		}
		if !ok {
			a.Struck.set(at[i], true)
		}
	}
	if a.QueueAt < int64(a.Candidates) {
		return nil
	}
	a.Round, a.Phase, a.QueueSeries = 2, auditListed, 0
	for i := range a.Candidates {
		if !a.Struck.has(i) {
			return nil
		}
	}
	return a.goOn(ctx)
}

// tell reports what is left, some in each step.
func (a *auditing) tell(ctx context.Context) error {
	list, at, items, err := a.left(ctx)
	if err != nil {
		return err
	}
	for i, c := range list {
		l, _ := parseListing(c[1:])
		switch {
		case items[i] == nil:
		case a.SetBack.has(at[i]):
			a.find(alloc.FindSetBack, string(l.id), alloc.RemedyNone, "it is free, and was taken: the queue has passed it, and it has not come back; somebody has it, or had it last")
		case strings.HasPrefix(c, candidateHeld):
			a.find(alloc.FindNoReturn, string(l.id), alloc.RemedyRebuild, "it is held, and nothing brings it back")
		default:
			a.find(alloc.FindUnlisted, string(l.id), alloc.RemedyRebuild, "it is free, and in no chunk that is still to be used: nobody can get it")
		}
	}
	if a.QueueAt < int64(a.Candidates) {
		return nil
	}
	return a.goOn(ctx)
}

// batchSettled reports whether the batch that has put the ID was carried to its end or is parked, and with that has listed it or let it go. One of
// which there is no record nobody can repeat any more.
func (a *auditing) batchSettled(ctx context.Context, it Item, known map[string]bool) (bool, error) {
	name := it.Str(AttrJob) + "\x00" + it.Str(AttrBatch)
	if settled, is := known[name]; is {
		return settled, nil
	}
	tag, run := batchOf(it)
	first := batchKey(it.Str(AttrJob), a.pool, tag)
	page, err := a.s.table.Query(ctx, Query{PK: first.PK, From: first.SK, To: first.SK + "~"})
	if err != nil {
		return false, err
	}
	open := slices.ContainsFunc(page.Items, func(b Item) bool { return b.Str(AttrState) != batchDone && b.Str(AttrState) != batchParked })
	own := run == "" || len(page.Items) == 0 || slices.ContainsFunc(page.Items, func(b Item) bool { return runTag(b.Str(AttrRun)) == run })
	known[name] = !open && own
	return known[name], nil
}
