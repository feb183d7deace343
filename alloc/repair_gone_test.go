package alloc_test

import (
	"context"
	"fmt"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// backStore finds some IDs set back in a rebuild.
type backStore struct {
	alloc.Store
	ids []alloc.ID
}

func (s backStore) RebuildPool(ctx context.Context, o alloc.PoolRebuildOrder) (alloc.PoolRebuilt, error) {
	done, err := s.Store.RebuildPool(ctx, o)
	if err == nil && done.Next == "" {
		done.SetBack, done.Tally.Lost = s.ids, alloc.Count(len(s.ids))
	}
	return done, err
}

func TestARebuildNamesTheIDsThatWereSetBack(t *testing.T) {
	o, _ := newAudit(t)
	s, err := alloc.NewService(alloc.Config{Store: backStore{o.store, []alloc.ID{"A-1", "A-2"}}, Now: o.clock.Now, Log: logCodec})
	if err != nil {
		t.Fatal(err)
	}
	o.Service = s
	j, err := o.RebuildPool(o.ctx, alloc.PoolRebuildRequest{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	j, found := o.finished(t, j.ID)
	if j.State != alloc.JobDone || j.Tally.Lost != 2 || len(found) != 2 {
		t.Fatalf("the job is %+v with %+v", j, found)
	}
	for i, f := range found {
		if f.Kind != alloc.FindSetBack || f.On != fmt.Sprintf("A-%d", i+1) || f.Remedy != alloc.RemedyNone {
			t.Errorf("finding %d is %+v", i, f)
		}
	}
}

// A rebuild of a pool of which IDs are gone names the first of them in its result, and counts all; of one of which none is gone there is none.
func TestARebuildNamesTheIDsThatAreGone(t *testing.T) {
	for _, gone := range []int{0, 3, alloc.MaxFindings + 50} {
		o, _ := newAudit(t)
		ids := make([]alloc.ID, 200)
		for i := range ids {
			ids[i] = alloc.ID(fmt.Sprintf("A-%03d", i))
		}
		if _, err := o.model.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "before", IDs: ids}); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids[:gone] {
			o.model.Damage(t, alloctest.Damage{Kind: alloctest.LoseID, Pool: pool, ID: id})
		}
		j, err := o.RebuildPool(o.ctx, alloc.PoolRebuildRequest{Pool: pool})
		if err != nil {
			t.Fatal(err)
		}
		j, found := o.finished(t, j.ID)
		if shown := min(gone, alloc.MaxFindings); j.State != alloc.JobDone || j.Tally.Lost != alloc.Count(gone) || len(found) != shown || (j.Parts > 0) != (gone > 0) {
			t.Errorf("of %d IDs that are gone %d are shown in %d parts; the job is %+v", gone, len(found), j.Parts, j)
		}
		for i, f := range found {
			if f.Kind != alloc.FindLostID || f.On != string(ids[i]) || f.Remedy != alloc.RemedyNone {
				t.Errorf("finding %d is %+v, want %s lost", i, f, ids[i])
			}
		}
		if _, err := o.JobPart(o.ctx, j.ID, 0); alloc.Is(err, alloc.CodeJobNotFound) == (gone > 0) {
			t.Errorf("part 0 of a rebuild with %d IDs gone: %v", gone, err)
		}
	}
}
