package dynamotest

import (
	"context"
	"slices"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// walks walks over the pool, in pages of two, when nothing is under way: each ID that is there and listed is met once,
// as it is, whatever has become of the seedings that have put it, and whether or not they were carried to their end.
func (r *poolRun) walks() {
	a := do(r.chaos, r.spawn(), "walk", func(ctx context.Context, s *dynamo.Store) (all []alloc.IDRecord, err error) {
		for mark, more := "", true; more && err == nil; more = mark != "" {
			var page []alloc.IDRecord
			page, mark, err = s.WalkIDs(ctx, pool, "", mark, 2)
			all = append(all, page...)
		}
		return all, err
	}, func(_ *act, all []alloc.IDRecord, err error) {
		if err != nil {
			r.fail("a quiet walk: %v", err)
		}
		met := map[alloc.ID]int{}
		for _, id := range all {
			if met[id.ID]++; met[id.ID] > 1 {
				r.fail("a walk met %s twice", id.ID)
			}
			if is := stateOf(r.w.ids[id.ID]); is != id.State {
				r.fail("a walk met %s as %s, and it is %s", id.ID, id.State, is)
			}
		}
		for id, it := range r.w.ids {
			exp, expires := it[dynamo.AttrExpires].(int64)
			gone := stateOf(it) == stateForgotten || expires && exp <= time.Now().Add(wrong).Unix()
			if !gone && met[id] == 0 && r.w.everListed(listing{id, it.Int(dynamo.AttrGeneration)}) {
				r.fail("a walk did not meet %s, which is %v", id, it)
			}
		}
	})
	r.quietly(a)
	r.reap()
}

// everListed tells whether a published chunk has the listing.
func (w *poolWorld) everListed(l listing) bool {
	for n := -w.head.Int(dynamo.AttrBase); n < w.head.Int(dynamo.AttrTail); n++ {
		if slices.Contains(listingsOf(w.chunks[n]), l) {
			return true
		}
	}
	return false
}
