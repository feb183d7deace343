package dynamo

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"idpool/alloc"
)

// found is what a run knows of one ID after it has put or read it.
type found struct {
	outcome alloc.SeedOutcome
	listing listing
	ours    bool   // this batch has put it
	count   bool   // it counts as added with the next chunk
	list    bool   // it is to be listed
	doubt   string // a job that has put it and may not have listed it; "" for none
	tag     string // of that job's batch
	run     string // of that job, where it has put the ID again; else ""
	batch   string // as the ID's item has it
	turn    int64  // likewise
}

// group is a stretch of the batch with what was found of it.
type group struct {
	from, to int
	found    []found
	look     bool // what is not there is not put: no more is needed
	err      error
	ready    chan struct{}
}

// run puts the batch group by group, side by side, and publishes the groups in order.
func (sd *seeding) run(ctx context.Context) ([]alloc.SeedOutcome, error) {
	finisher, err := sd.begin(ctx)
	if err != nil {
		return nil, err
	}
	if finisher != "" {
		whole, err := sd.report(ctx, finisher)
		if err == nil && !whole {
			err = sd.takeOver(ctx)
		}
		if err != nil || whole {
			return sd.outcomes, err
		}
	}
	if err := sd.findListed(ctx); err != nil {
		return nil, unsettled(err)
	}
	if sd.upTo > 0 {
		if err := sd.fill(ctx); err != nil {
			return nil, unsettled(err)
		}
		return sd.outcomes, nil
	}
	return sd.runAll(ctx)
}

// runAll puts and publishes all of the batch.
func (sd *seeding) runAll(ctx context.Context) ([]alloc.SeedOutcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	var putting sync.WaitGroup
	defer putting.Wait()
	defer cancel()
	published := 0
	for g := range sd.groups(ctx, &putting) {
		<-g.ready
		err := g.err
		if err == nil {
			err = sd.publish(ctx, g)
		}
		if err != nil {
			return nil, unsettled(err)
		}
		published = g.to
	}
	if published < len(sd.ids) {
		return nil, unsettled(outOfTime(ctx))
	}
	if err := sd.finish(ctx); err != nil {
		return nil, unsettled(err)
	}
	return sd.outcomes, nil
}

// groups starts the puts of each group in turn, a few groups ahead of who takes them, until the context ends.
func (sd *seeding) groups(ctx context.Context, putting *sync.WaitGroup) <-chan *group {
	ahead := make(chan *group, groupsAhead)
	putting.Go(func() {
		defer close(ahead)
		for from := 0; from < len(sd.ids); from += groupSize {
			to := min(from+groupSize, len(sd.ids))
			g := &group{from: from, to: to, found: make([]found, to-from), ready: make(chan struct{})}
			putting.Go(func() {
				defer close(g.ready)
				g.err = sd.settle(ctx, g)
			})
			select {
			case ahead <- g:
			case <-ctx.Done():
				return
			}
		}
	})
	return ahead
}

// settle puts the IDs of a group, or reads those that may have been published before.
func (sd *seeding) settle(ctx context.Context, g *group) error {
	ids := sd.ids[g.from:g.to]
	states := make(map[alloc.ID]Item, len(ids))
	var read []alloc.ID
	for i, id := range ids {
		if g.look || sd.past(g.from+i) != unknown {
			read = append(read, id)
		}
	}
	if err := sd.insist(ctx, func() error { return sd.s.readIDs(ctx, sd.pool, read, states) }); err != nil {
		return err
	}
	errs := make([]error, len(ids))
	each(len(ids), seedWidth, func(i int) {
		it, past := states[ids[i]], sd.past(g.from+i)
		if it != nil || past != unknown && sd.forget {
			g.found[i], errs[i] = sd.known(ctx, ids[i], it, past, g.look)
			return
		}
		if g.look {
			g.found[i] = found{outcome: alloc.SeedUnneeded}
			return
		}
		if errs[i] = sd.puts.enter(ctx); errs[i] != nil {
			return
		}
		defer sd.puts.leave()
		g.found[i], errs[i] = sd.put(ctx, ids[i])
	})
	return firstOf(errs)
}

// past is who put ID n of the batch before.
func (sd *seeding) past(n int) past {
	_, listed := sd.listed[sd.ids[n]]
	switch {
	case n >= sd.marked && !listed:
		return unknown
	case sd.theirs.has(n):
		return byOthers
	}
	return byUs
}

// put puts an ID that the pool does not know.
func (sd *seeding) put(ctx context.Context, id alloc.ID) (found, error) {
	it := sd.newID(id, sd.gen, sd.tag)
	err := sd.insist(ctx, func() error { return sd.s.table.Put(ctx, it, Absent(AttrPK)) })
	if old, met := refusedBy(err); met {
		return sd.known(ctx, id, old, unknown, false)
	}
	return found{outcome: alloc.SeedAdded, listing: listing{id, sd.gen}, ours: true, count: true, list: true, batch: sd.tag}, err
}

func (sd *seeding) newID(id alloc.ID, gen int64, batch string) Item {
	return item(idKey(sd.pool, id), Item{AttrState: StateFree, AttrGeneration: gen, AttrJob: sd.job, AttrBatch: batch})
}

// past is who has put an ID that an earlier run has marked.
type past int

const (
	unknown past = iota // it is not marked
	byUs
	byOthers
)

// known judges an ID that is there, or was. With look nothing is put.
func (sd *seeding) known(ctx context.Context, id alloc.ID, it Item, put past, look bool) (found, error) {
	state, l := it.Str(AttrState), listing{id, it.Int(AttrGeneration)}
	_, listed := sd.listed[id]
	forgotten := it == nil || sd.forget && (state == StateForgotten || expired(it, sd.s.now()))
	switch {
	case sd.owns(it):
		return sd.own(ctx, l, it, look)
	case put == byUs && (listed || sd.forget):
		// Claimed and forgotten since, and perhaps seeded again by another. Whether it has counted before the pool was rebuilt,
		// nothing tells; mostly it has, or it could not have been claimed.
		return found{outcome: alloc.SeedAdded, listing: l, ours: true, count: !listed && sd.series == sd.head.series}, nil
	case forgotten && put == byOthers:
		return found{outcome: alloc.SeedDuplicate}, nil // this batch has had its turn with the ID
	case loose(it) && look, forgotten && look:
		return found{outcome: alloc.SeedUnneeded}, nil
	case loose(it):
		return sd.adopt(ctx, l, it)
	case it.Str(AttrJob) == sd.job:
		return doubtful(alloc.SeedAdded, l, it), nil
	case forgotten:
		return sd.putAgain(ctx, id, it)
	case state == StateFree || state == StateReturning:
		if sd.upTo > 0 {
			return found{outcome: alloc.SeedDuplicate}, nil // the pool is not filled by what another is about to add
		}
		return doubtful(alloc.SeedDuplicate, l, it), nil
	}
	return found{outcome: alloc.SeedConflict}, nil
}

// own judges an ID that this batch has put.
func (sd *seeding) own(ctx context.Context, l listing, it Item, look bool) (found, error) {
	gen, listed := sd.listed[l.id]
	if look && !listed && loose(it) {
		return found{outcome: alloc.SeedUnneeded}, nil
	}
	f := found{outcome: alloc.SeedAdded, listing: l, ours: true, count: !listed, batch: it.Str(AttrBatch), turn: it.Int(AttrTurn)}
	pinned := it.Str(AttrPut) == putPinned
	if it.Str(AttrState) == StateFree {
		// Put again by a run that was overtaken, it may be listed of an older generation only. One that is pinned is in the
		// hands of another, who lists it.
		_, run := batchOf(it)
		again := sd.forget && listed && run != "" && gen < l.gen
		f.list = again || !listed && !pinned
	}
	if loose(it) || f.list && sd.fills && !pinned && f.turn != sd.turn {
		if f.turn >= sd.turn {
			return found{}, errTakenOver
		}
		now, err := sd.take(ctx, l, it, Update{Set: map[string]any{AttrTurn: sd.turn}}, turnBelow(sd.turn))
		if now != nil || err != nil {
			return sd.orKnown(ctx, l.id, now, look, err)
		}
		f.turn = sd.turn
	}
	return f, nil
}

// owns reports whether this batch has put the ID, in whichever run.
func (sd *seeding) owns(it Item) bool {
	tag, _ := batchOf(it)
	return it.Str(AttrJob) == sd.job && tag == sd.tag
}

// batchOf is the tag of the batch that has put an ID and, where the ID stood in the place of a forgotten one, the run.
func batchOf(it Item) (tag, run string) {
	tag, run, _ = strings.Cut(it.Str(AttrBatch), "/")
	return tag, run
}

// doubtful is an ID that another batch has put. While it is free, that one may not have listed it yet.
func doubtful(o alloc.SeedOutcome, l listing, it Item) found {
	f := found{outcome: o, listing: l, batch: it.Str(AttrBatch)}
	if it.Str(AttrState) == StateFree {
		f.doubt = it.Str(AttrJob)
		f.tag, f.run = batchOf(it)
	}
	return f
}

// putAgain seeds an ID that the pool has forgotten, in the place of what is left of it and of a higher generation. It
// names the run: such a put is not held back by one of the same batch before it, so one of a run that was overtaken may
// come when the batch is done, and only a repeat lists it.
func (sd *seeding) putAgain(ctx context.Context, id alloc.ID, old Item) (found, error) {
	gen := max(sd.gen, old.Int(AttrGeneration)+1)
	it := sd.newID(id, gen, sd.ownTag())
	err := sd.insist(ctx, func() error {
		return sd.s.table.Put(ctx, it, All(
			Eq(AttrState, old.Str(AttrState)), Eq(AttrToken, old.Str(AttrToken)), Eq(AttrGeneration, old.Int(AttrGeneration))))
	})
	if now, met := refusedBy(err); met {
		if now == nil { // TTL has removed it
			return sd.put(ctx, id)
		}
		return sd.known(ctx, id, now, unknown, false)
	}
	return found{outcome: alloc.SeedAdded, listing: listing{id, gen}, ours: true, count: true, list: true, batch: sd.ownTag()}, err
}

// toList is what of a group is to be listed.
type toList struct {
	sure   []listing            // put by this batch
	taken  []listing            // put by this batch and taken already, out of a listing of another one: for the record, so that it is counted once
	unsure map[string][]listing // put by others, by the tag of their batch, or listed before of a generation that is behind
}

// sort notes the outcomes of a group, and says what is to be listed.
func (sd *seeding) sort(ctx context.Context, g *group) (toList, error) {
	list := toList{unsure: map[string][]listing{}}
	clear(sd.others) // one that is parked may have been opened since
	for i := range g.found {
		unsure, err := sd.unsure(ctx, g, i)
		if err != nil {
			return toList{}, err
		}
		n, f := g.from+i, g.found[i]
		sd.outcomes[n] = f.outcome
		sd.theirs.set(n, !f.ours)
		switch {
		case f.list && f.count:
			list.sure = append(list.sure, f.listing)
		case f.list:
			list.unsure[sd.tag] = append(list.unsure[sd.tag], f.listing)
		case f.count:
			list.taken = append(list.taken, f.listing)
		case unsure:
			list.unsure[f.tag] = append(list.unsure[f.tag], f.listing)
		}
	}
	return list, nil
}

// unsure reports whether ID i of the group was put by another batch that may not have listed it. Where that may let the ID
// go instead, it is pinned first, or judged anew.
func (sd *seeding) unsure(ctx context.Context, g *group, i int) (bool, error) {
	for {
		f := &g.found[i]
		if f.doubt == "" {
			return false, nil
		}
		other, err := sd.finished(ctx, f.doubt)
		if err != nil {
			return false, err
		}
		open := other.open || f.run != "" && !other.runs[f.run]
		var now Item
		switch {
		case open && !other.fills:
			return true, nil
		case open:
			now, err = sd.pin(ctx, f)
		case other.parked:
			now, err = sd.letGoSince(ctx, f)
		}
		if now == nil && err == nil {
			return open, nil
		}
		clear(sd.others)
		if *f, err = sd.orKnown(ctx, f.listing.id, now, g.look, err); err != nil {
			return false, err
		}
	}
}

// counted drafts listings by which IDs count as added.
func (sd *seeding) counted(ls []listing, size int64) []draft {
	list := drafts(sd.pool, ls, size)
	for i := range list {
		list[i].added, list[i].batch = len(list[i].listings), sd.tag
	}
	return list
}

// doubted drafts listings of IDs that the batch of the tag has put.
func (sd *seeding) doubted(tag string, ls []listing, size int64) []draft {
	list := relisted(drafts(sd.pool, ls, size))
	for i := range list {
		list[i].doubt = tag
	}
	return list
}

// publish lists what a group has put.
func (sd *seeding) publish(ctx context.Context, g *group) error {
	what, err := sd.sort(ctx, g)
	if err != nil {
		return err
	}
	size := sd.head.seeded + int64(len(sd.ids)-g.from)
	list := append(sd.counted(what.sure, size), relisted(sd.counted(what.taken, size))...)
	for _, tag := range slices.Sorted(maps.Keys(what.unsure)) {
		list = append(list, sd.doubted(tag, what.unsure[tag], size)...)
	}
	if len(list) == 0 {
		return nil
	}
	h, err := sd.s.publish(ctx, sd.head, list, func(ctx context.Context) error { return sd.mark(ctx, g.to) }, nil)
	if err == nil {
		sd.head = h
	}
	return err
}

// otherJob is how far a job has come with its batches for this pool, but for this one.
type otherJob struct {
	open   bool            // one was not carried to its end: what it has put may not be listed
	fills  bool            // one of these has UpTo: it may let go what it has put
	parked bool            // one is, and has let go what it had put and did not list
	runs   map[string]bool // those that have carried one to its end, or parked it
}
