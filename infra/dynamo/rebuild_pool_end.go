package dynamo

import (
	"context"

	"idpool/alloc"
)

// switchSeries is the last step: the marked head is replaced by one of the new series. again says that the head is another, which somebody
// has put there by hand: then what it has published since is not in the new series, and the rebuild begins anew. So it does where the head is
// lost: another process may have come to the end before, and the new series may have grown since.
func (s *Store) switchSeries(ctx context.Context, r *rebuilding) (again bool, err error) {
	asOf := s.now()
	for range changeTries {
		old, err := s.table.Get(ctx, headKey(r.pool))
		if err != nil {
			return false, err
		}
		switch {
		case old != nil && old.Int(AttrSeries) == r.series:
			return false, s.endRebuild(ctx, r)
		case old.Str(AttrRebuild) != r.job:
			return true, s.beginAgain(ctx, r)
		}
		it := r.switched(old, asOf.UnixMilli())
		err = s.insist(ctx, func() error { return s.table.Put(ctx, it, All(Eq(AttrRebuild, r.job), old.is(AttrSeries))) })
		if _, met := refusedBy(err); met {
			continue
		}
		if err != nil {
			return false, err
		}
		s.pools.known(decodeHead(r.pool, it), asOf)
		return false, s.endRebuild(ctx, r)
	}
	return false, poolContended(r.pool)
}

// switched is the head of the new series. All of its queue counts as such that may list what is of no use: claims out of memory have
// gone on.
func (r *rebuilding) switched(old Item, now int64) Item {
	it := r.headItem()
	seeded := r.met
	if it.Str(AttrPolicy) == string(alloc.PolicyForget) {
		seeded = max(seeded, r.size) // what is forgotten leaves no item
	}
	it[AttrSeries], it[AttrLow], it[AttrNext], it[AttrTail], it[AttrPublished] = r.series, int64(0), int64(0), r.tail, r.published
	it[AttrSeeded], it[AttrRetired] = seeded, r.counts[tallyRetired]
	it[AttrDirtyFrom], it[AttrDirtyTo] = int64(0), r.tail
	it[AttrHeld], it[AttrGone], it[AttrCountedAt] = r.counts[tallyHeld], max(0, seeded-r.published-r.counts[tallyHeld]), now
	it[AttrRebuilt] = r.tail
	if r.base > 0 {
		it[AttrBase] = r.base
	}
	for _, attr := range []string{AttrAbandons, AttrRestored} {
		if n, ok := old[attr]; ok {
			it[attr] = n
		}
	}
	return it
}

// endRebuild says that the rebuild is done.
func (s *Store) endRebuild(ctx context.Context, r *rebuilding) error {
	if err := s.advance(ctx, r, map[string]any{AttrState: rebuildDone}); err != nil {
		return err
	}
	s.copyAfter(ctx, &head{pool: alloc.Pool{Name: r.pool}})
	return nil
}

// beginAgain begins the rebuild anew, in another series.
func (s *Store) beginAgain(ctx context.Context, r *rebuilding) error {
	empty := tally{}.in(map[string]any{
		AttrSeries: max(r.series+1, s.now().Unix()), attrStep: int64(0), AttrTail: int64(0), AttrBase: int64(0), AttrPublished: int64(0), AttrSeeded: int64(0),
		attrOld: int64(0), attrPositions: make([]string, scanSegments),
	})
	return s.advance(ctx, r, empty)
}

// AbandonRebuild implements alloc.Repairs.
func (s *Store) AbandonRebuild(ctx context.Context, pool alloc.PoolName, job alloc.JobID) error {
	for range changeTries {
		c, err := s.poolCondition(ctx, pool)
		if alloc.Is(err, alloc.CodePoolNotFound) || alloc.Is(err, alloc.CodePoolDeleted) && !c.rebuild.on() {
			return nil
		} else if c == nil {
			return err
		}
		r := c.rebuild
		if r.job == string(job) && r.phase == rebuildDone {
			return nil
		}
		if r.it.Str(attrGiven) != string(job) {
			if given, err := s.giveUpRebuild(ctx, r, job); err != nil {
				return err
			} else if !given {
				continue
			}
		}
		if open, err := s.unmark(ctx, pool, job); err != nil || open {
			return err
		}
	}
	return poolContended(pool)
}

// giveUpRebuild says that the job does not rebuild the pool any more, whether or not it does: so it does not begin either.
func (s *Store) giveUpRebuild(ctx context.Context, r *rebuilding, job alloc.JobID) (given bool, err error) {
	set := map[string]any{attrGiven: string(job)}
	if r.it == nil {
		set[AttrState], set[attrChange] = rebuildEnded, int64(1)
		it := item(rebuildKey(r.pool), set)
		err = s.insist(ctx, func() error { return s.table.Put(ctx, it, Absent(AttrPK)) })
	} else {
		if r.on() && r.job == string(job) {
			set[AttrState] = rebuildEnded
		}
		change := r.it.Int(attrChange)
		set[attrChange] = change + 1
		err = s.insist(ctx, func() error {
			_, err := s.table.Update(ctx, rebuildKey(r.pool), Update{Set: set, Quiet: true}, countIsThere(attrChange, change))
			return err
		})
	}
	if _, met := refusedBy(err); met {
		return false, nil
	}
	return err == nil, err
}

// countIsThere is countIs of an item that is there.
func countIsThere(attr string, n int64) Cond { return All(Exists(AttrPK), countIs(attr, n)) }

// unmark takes the job's mark from the head, or the head that it has made, and counts that, so that none can come any more. Where
// the head has changed meanwhile it is not open yet.
func (s *Store) unmark(ctx context.Context, pool alloc.PoolName, job alloc.JobID) (open bool, err error) {
	it, err := s.table.Get(ctx, headKey(pool))
	if err != nil || it == nil {
		return err == nil, err
	}
	own := it.Str(AttrRebuild) == string(job)
	err = s.insist(ctx, func() error {
		if own && it.Bool(AttrMade) {
			_, err := s.table.Delete(ctx, it.Key(), All(Eq(AttrRebuild, string(job)), Eq(AttrMade, true)))
			return err
		}
		u := Update{Set: map[string]any{AttrAbandons: it.Int(AttrAbandons) + 1}, Quiet: true}
		if own {
			u.Remove = []string{AttrRebuild}
		}
		_, err := s.table.Update(ctx, it.Key(), u, All(Exists(AttrPK), it.is(AttrAbandons), it.is(AttrRebuild)))
		return err
	})
	if _, met := refusedBy(err); met {
		return false, nil
	}
	return err == nil, err
}
