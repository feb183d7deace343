package dynamo

import (
	"context"
	"sync"

	"idpool/alloc"
)

// found is what a run knows of one ID after it has put or read it.
type found struct {
	outcome alloc.SeedOutcome
	listing listing
	count   bool   // it counts as added with the next chunk
	list    bool   // it is to be listed
	doubt   string // a job that has put it and may not have listed it; "" for none
}

// group is a stretch of the batch with what was found of it.
type group struct {
	n, from, to int
	found       []found
	err         error
	ready       chan struct{}
}

// run puts the batch group by group, side by side, and publishes the groups in order.
func (sd *seeding) run(ctx context.Context) ([]alloc.SeedOutcome, error) {
	done, err := sd.begin(ctx)
	if err != nil {
		return nil, err
	}
	if done {
		return sd.report(ctx)
	}
	if err := sd.findListed(ctx); err != nil {
		return nil, unsettled(err)
	}
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
			g := &group{n: from / groupSize, from: from, to: to, found: make([]found, to-from), ready: make(chan struct{})}
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

// settle puts the IDs of a group, or reads those of one that may have been published before.
func (sd *seeding) settle(ctx context.Context, g *group) error {
	ids := sd.ids[g.from:g.to]
	states := make(map[alloc.ID]Item, len(ids))
	before := int64(g.n) < sd.marked
	if before {
		if err := sd.insist(ctx, func() error { return sd.s.readIDs(ctx, sd.pool, ids, states) }); err != nil {
			return err
		}
	}
	errs := make([]error, len(ids))
	each(len(ids), seedWidth, func(i int) {
		if before && (states[ids[i]] != nil || sd.forget) {
			g.found[i], errs[i] = sd.known(ctx, ids[i], states[ids[i]], true)
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

// put puts an ID that the pool does not know.
func (sd *seeding) put(ctx context.Context, id alloc.ID) (found, error) {
	it := sd.newID(id, sd.gen)
	err := sd.insist(ctx, func() error { return sd.s.table.Put(ctx, it, Absent(AttrPK)) })
	if old, met := refusedBy(err); met {
		return sd.known(ctx, id, old, false)
	}
	return found{outcome: alloc.SeedAdded, listing: listing{id, sd.gen}, count: true, list: true}, err
}

func (sd *seeding) newID(id alloc.ID, gen int64) Item {
	return item(idKey(sd.pool, id), Item{AttrState: StateFree, AttrGeneration: gen, AttrJob: sd.job, AttrBatch: sd.tag})
}

// known judges an ID that is there. before says that its group may have been published by an earlier run.
func (sd *seeding) known(ctx context.Context, id alloc.ID, it Item, before bool) (found, error) {
	state, l := it.Str(AttrState), listing{id, it.Int(AttrGeneration)}
	ours := it.Str(AttrJob) == sd.job
	switch {
	case it == nil && before, ours && it.Str(AttrBatch) == sd.tag:
		// Put by this batch; one that is not there any more was claimed and forgotten since.
		unlisted := !sd.listed[id]
		return found{outcome: alloc.SeedAdded, listing: l, count: unlisted, list: unlisted && state == StateFree}, nil
	case ours:
		return found{outcome: alloc.SeedAdded, listing: l, doubt: doubtOf(it)}, nil
	case sd.forget && (state == StateForgotten || expired(it, sd.s.now())):
		return sd.putAgain(ctx, id, it)
	case state == StateFree || state == StateReturning:
		return found{outcome: alloc.SeedDuplicate, listing: l, doubt: doubtOf(it)}, nil
	}
	return found{outcome: alloc.SeedConflict}, nil
}

// doubtOf is the job that has put a free ID that has never come back: it may not have listed it yet.
func doubtOf(it Item) string {
	if it.Str(AttrState) != StateFree {
		return ""
	}
	return it.Str(AttrJob)
}

// putAgain seeds an ID that the pool has forgotten, in the place of what is left of it and of a higher generation.
func (sd *seeding) putAgain(ctx context.Context, id alloc.ID, old Item) (found, error) {
	gen := max(sd.gen, old.Int(AttrGeneration)+1)
	it := sd.newID(id, gen)
	err := sd.insist(ctx, func() error {
		return sd.s.table.Put(ctx, it, All(
			Eq(AttrState, old.Str(AttrState)), Eq(AttrToken, old.Str(AttrToken)), Eq(AttrGeneration, old.Int(AttrGeneration))))
	})
	if now, met := refusedBy(err); met {
		if now == nil { // TTL has removed it
			return sd.put(ctx, id)
		}
		return sd.known(ctx, id, now, false)
	}
	return found{outcome: alloc.SeedAdded, listing: listing{id, gen}, count: true, list: true}, err
}

// publish lists what a group has put.
func (sd *seeding) publish(ctx context.Context, g *group) error {
	var sure, taken, doubtful []listing
	for i, f := range g.found {
		sd.outcomes[g.from+i] = f.outcome
		switch {
		case f.list:
			sure = append(sure, f.listing)
		case f.count:
			taken = append(taken, f.listing)
		case f.doubt != "":
			open, err := sd.unfinished(ctx, f.doubt)
			if err != nil {
				return err
			}
			if open {
				doubtful = append(doubtful, f.listing)
			}
		}
	}
	size := sd.head.seeded + int64(len(sd.ids)-g.from)
	// What is taken already, out of a listing of another batch, is listed for the record: so that it is counted once.
	list := append(drafts(sd.pool, sure, size), relisted(drafts(sd.pool, taken, size))...)
	for i := range list {
		list[i].added, list[i].batch = len(list[i].listings), sd.tag
	}
	list = append(list, relisted(drafts(sd.pool, doubtful, size))...)
	if len(list) == 0 {
		return nil
	}
	h, err := sd.s.publish(ctx, sd.head, list, func(ctx context.Context) error { return sd.mark(ctx, int64(g.n)) }, nil)
	if err == nil {
		sd.head = h
	}
	return err
}

// unfinished reports whether the job has a batch for this pool, other than this one, that was not carried to its end: so
// that what it has put may not be listed. It is asked after the ID was seen.
func (sd *seeding) unfinished(ctx context.Context, job string) (bool, error) {
	if open, known := sd.open[job]; known {
		return open, nil
	}
	q := Query{PK: batchKey(job, sd.pool, "").PK, From: batchPrefix(sd.pool), To: batchPrefix(sd.pool) + "~"}
	for {
		var page Page
		err := sd.insist(ctx, func() (err error) {
			page, err = sd.s.table.Query(ctx, q)
			return err
		})
		if err != nil {
			return false, err
		}
		for _, it := range page.Items {
			if it.Str(AttrState) == batchOpen && it.Key() != sd.key {
				sd.open[job] = true
				return true, nil
			}
		}
		if !page.More || len(page.Items) == 0 {
			sd.open[job] = false
			return false, nil
		}
		q.From = page.Items[len(page.Items)-1].Str(AttrSK) + "\x00"
	}
}

// findListed reads the chunks since the batch began, where an earlier run may have published some of it.
func (sd *seeding) findListed(ctx context.Context) error {
	sd.listed = map[alloc.ID]bool{}
	if sd.marked == 0 {
		return nil
	}
	h, err := sd.s.poolHead(ctx, sd.pool)
	if err != nil {
		return err
	}
	if h, err = sd.s.settleTail(ctx, h); err != nil {
		return err
	}
	sd.head = h
	from := sd.from
	if h.series != sd.series {
		from = 0
	}
	const stretch = 1000
	for ; from < h.tl; from += stretch {
		var keys []Key
		for n := from; n < min(from+stretch, h.tl); n++ {
			keys = append(keys, chunkKey(sd.pool, h.series, n))
		}
		items, err := sd.s.getAll(ctx, keys)
		if err != nil {
			return err
		}
		for _, it := range items {
			if it.Str(AttrBatch) != sd.tag {
				continue
			}
			for _, l := range decodeChunk(0, it).listings {
				sd.listed[l.id] = true
			}
		}
	}
	return nil
}

// report answers a batch that was carried to its end before.
func (sd *seeding) report(ctx context.Context) ([]alloc.SeedOutcome, error) {
	states := make(map[alloc.ID]Item, len(sd.ids))
	if err := sd.insist(ctx, func() error { return sd.s.readIDs(ctx, sd.pool, sd.ids, states) }); err != nil {
		return nil, err
	}
	for i, id := range sd.ids {
		it := states[id]
		switch state := it.Str(AttrState); {
		case it == nil || it.Str(AttrJob) == sd.job:
			sd.outcomes[i] = alloc.SeedAdded
		case state == StateFree || state == StateReturning || state == StateForgotten:
			sd.outcomes[i] = alloc.SeedDuplicate
		default:
			sd.outcomes[i] = alloc.SeedConflict
		}
	}
	return sd.outcomes, nil
}
