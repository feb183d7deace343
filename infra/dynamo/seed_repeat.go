package dynamo

import (
	"context"
	"time"

	"idpool/alloc"
)

// What a run of a seeding finds out about runs before it: of its own batch, and of other jobs.

// finished reads how far a job has come. It is asked after the IDs of a group were seen.
func (sd *seeding) finished(ctx context.Context, job string) (*otherJob, error) {
	if other := sd.others[job]; other != nil {
		return other, nil
	}
	other := &otherJob{runs: map[string]bool{}}
	q := Query{PK: batchKey(job, sd.pool, "").PK, From: batchPrefix(sd.pool), To: batchPrefix(sd.pool) + "~"}
	for {
		var page Page
		err := sd.insist(ctx, func() (err error) {
			page, err = sd.s.table.Query(ctx, q)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			switch state := it.Str(AttrState); {
			case state == batchDone, state == batchParked:
				other.runs[runTag(it.Str(AttrRun))] = true
				other.parked = other.parked || state == batchParked
			case it.Key() != sd.key:
				other.open, other.fills = true, other.fills || it.Int(AttrUpTo) > 0
			}
		}
		if !page.More || len(page.Items) == 0 {
			sd.others[job] = other
			return other, nil
		}
		q.From = page.Items[len(page.Items)-1].Str(AttrSK) + "\x00"
	}
}

// findListed reads the chunks since the batch began, where an earlier run may have published some of it. What it finds is
// final, as nothing of an earlier run can come to be listed any more:
//
//   - A run that was cut off, or is only slow, may have a chunk on its way. It has known the tail, then found in the record
//     that it is the one at work, and then placed its chunks: from that tail on, without a gap, up to the first place that
//     it finds taken. All that was known before this run took the record over. So the tail, as it is read now, is at least
//     that high, and an empty chunk of this run at the tail is a place beyond which none of those chunks can come. Those
//     that came before it are below the tail then. To go on without it would not do: a chunk that comes to the tail after
//     this run has looked there, and that somebody raises the tail over before this run looks at the head again, is never
//     seen, and what it lists is counted twice.
//   - What a run has placed in a series of chunks before a rebuild is of no use any more. All that the batch had put by
//     then, the rebuild has listed, for the batch: also where no run had come to list anything.
//   - A run that has ended by itself, with the batch done, parked or left open, has had the answers to all of its puts, and
//     has closed the tail to those before it.
func (sd *seeding) findListed(ctx context.Context) error {
	sd.listed = map[alloc.ID]int64{}
	if !sd.tried && sd.head.series == sd.series {
		return nil // whoever was at work finds in the record that it is not any more before it places anything
	}
	h, err := sd.s.poolHead(ctx, sd.pool)
	if err != nil {
		return err
	}
	if sd.tried && sd.cutOff {
		if h, err = sd.s.publish(ctx, h, []draft{{}}, nil, nil); err != nil {
			return err
		}
	}
	sd.head = h
	from := sd.from
	if h.series != sd.series {
		if from, err = sd.listedByRebuild(ctx, h); err != nil {
			return err
		}
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
			c := decodeChunk(0, it)
			for i, l := range c.listings {
				if c.counts(i, sd.tag) {
					sd.listed[l.id] = max(sd.listed[l.id], l.gen)
				}
			}
		}
	}
	return nil
}

// listedByRebuild notes what the rebuild that has made the head's series has listed of the batch, and returns the first chunk that comes after
// that. The rebuild has written down what it has listed of each batch that was not done when it met it. One that was done then, and goes on all the same, was
// taken over after that: for it, all chunks are read; and so they are when what was written down may have expired.
func (sd *seeding) listedByRebuild(ctx context.Context, h *head) (from int64, err error) {
	if sd.again || h.rebuilt < 0 || sd.s.now().Sub(time.Unix(h.series, 0)) > pageAge-24*time.Hour { // a series is numbered by the second of its beginning, or higher
		return -h.base, nil
	}
	prefix := rebuiltBatchPrefix(sd.tag)
	q := Query{PK: rebuiltPageKey(sd.pool, h.series, 0).PK, From: prefix, To: prefix + "~"}
	for {
		var page Page
		err := sd.insist(ctx, func() (err error) {
			page, err = sd.s.table.Query(ctx, q)
			return err
		})
		if err != nil {
			return 0, err
		}
		for _, it := range page.Items {
			for _, l := range decodeChunk(0, it).listings {
				sd.listed[l.id] = max(sd.listed[l.id], l.gen)
			}
		}
		if !page.More || len(page.Items) == 0 {
			return h.rebuilt, nil
		}
		q.From = page.Items[len(page.Items)-1].Str(AttrSK) + "\x00"
	}
}

// report answers a batch that was carried to its end before, by the run given. whole is false where another run has put
// an ID that may not be listed.
func (sd *seeding) report(ctx context.Context, finisher string) (whole bool, err error) {
	states := make(map[alloc.ID]Item, len(sd.ids))
	if err := sd.insist(ctx, func() error { return sd.s.readIDs(ctx, sd.pool, sd.ids, states) }); err != nil {
		return false, err
	}
	whole = true
	for i, id := range sd.ids {
		it := states[id]
		_, run := batchOf(it)
		switch state := it.Str(AttrState); {
		case sd.owns(it) && state == StateFree && run != "" && run != runTag(finisher):
			whole = false
		case !sd.keyless && (it == nil || it.Str(AttrJob) == sd.job):
			sd.outcomes[i] = alloc.SeedAdded
		case it == nil || state == StateFree || state == StateReturning || state == StateForgotten:
			sd.outcomes[i] = alloc.SeedDuplicate
		default:
			sd.outcomes[i] = alloc.SeedConflict
		}
	}
	return whole, nil
}
