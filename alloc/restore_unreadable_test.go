package alloc_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"idpool/alloc"
)

// smeared is a table in which it cannot be read what has become of one ID.
type smeared struct {
	alloc.Store
	id alloc.ID
}

func (s smeared) WalkIDs(ctx context.Context, pool alloc.PoolName, state alloc.State, mark string, limit int) (page []alloc.IDRecord, next string, err error) {
	page, next, err = s.Store.WalkIDs(ctx, pool, "", mark, limit)
	return s.smear(page), next, err
}

func (s smeared) LookUp(ctx context.Context, pool alloc.PoolName, ids []alloc.ID) ([]alloc.IDRecord, error) {
	found, err := s.Store.LookUp(ctx, pool, ids)
	return s.smear(found), err
}

func (s smeared) smear(page []alloc.IDRecord) []alloc.IDRecord {
	if i := slices.IndexFunc(page, func(r alloc.IDRecord) bool { return r.ID == s.id }); i >= 0 {
		page[i] = alloc.IDRecord{Pool: page[i].Pool, ID: s.id}
	}
	return page
}

// What cannot be read of one ID keeps nobody from carrying the others forward, and nobody gets that one again.
func TestAnIDThatCannotBeReadIsRetiredByARestore(t *testing.T) {
	for _, source := range []alloc.RestoreSource{alloc.RestoreLog, alloc.RestoreTable} {
		t.Run(string(source), func(t *testing.T) {
			d := newDisaster(t)
			var lost alloc.ID
			for id, r := range d.taken {
				if r.State == alloc.StateClaimed && r.At.After(d.point) && r.Generation == 0 { // nobody had it at the point
					lost = id
				}
			}
			d.lost = lost
			var parts []string
			if source == alloc.RestoreLog {
				log := d.log(t, alloc.LogRequest{Pool: pool})
				if !strings.Contains(log, `"Unreadable":1`) {
					t.Errorf("the log does not say that an ID could not be read:\n%s", log)
				}
				parts = []string{log}
			}
			d.restore(t, alloc.RestoreRequest{Pool: pool, Source: source}, parts...)
			if r, err := d.model.Inspect(t.Context(), pool, lost); err != nil || r.State != alloc.StateRetired {
				t.Errorf("it is %+v, %v, want it retired", r, err)
			}
			delete(d.taken, lost)
			d.wantCarried(t)
		})
	}
}
