package dynamotest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// A seeding that was cut off, and is repeated, closes the tail with a chunk that lists nothing: that is no damage. So the glance at a healthy pool says
// nothing of it, and what is set back is found on either side of it.
func TestTheEmptyChunkOfARepeatedSeedingIsNoDamage(t *testing.T) {
	for name, sweeps := range map[string]bool{"above the low mark": false, "below the low mark": true} {
		t.Run(name, func(t *testing.T) {
			s := newAuditStage(t, 100, alloc.PoolConfig{})
			items := copied(s.mem)
			taken := s.claim(order(4, ""))
			s.sweep() // their chunks are passed

			s.cutOffSeeding("more", ids("more", 40))
			s.clock.Advance(time.Minute)
			s.seed("more", ids("more", 40)...)
			empty := 0
			for _, it := range s.mem.Items() {
				if _, lists := it[dynamo.AttrListings]; strings.HasPrefix(it.Str("pk"), "P#"+string(pool)+"#1#") && !lists && !it.Bool(dynamo.AttrVoid) {
					empty++
				}
			}
			if empty != 1 {
				t.Fatalf("%d empty chunks, want one", empty)
			}
			if e, err := s.open().PoolEvidence(t.Context(), pool); err != nil || len(e.Damage) > 0 {
				t.Errorf("a healthy pool is said to be damaged: %v, %v", e.Damage, err)
			}
			if sweeps {
				for range 120 {
					if _, err := s.open().Claim(t.Context(), order(1, "")); err != nil {
						t.Fatal(err)
					}
				}
				s.clock.Advance(time.Hour)
				s.sweep()
			}
			for _, id := range taken.IDs {
				s.mem.Set(items.Item(idItem(id)))
			}
			found, _ := s.findings(100)
			for _, f := range found {
				if f.Kind != alloc.FindSetBack {
					t.Errorf("found %+v", f)
				}
			}
			s.clock.Advance(time.Minute)
			sum := s.rebuiltAs("rebuild")
			if slices.Sort(sum.SetBack); !slices.Equal(sum.SetBack, slices.Sorted(slices.Values(taken.IDs))) {
				t.Errorf("the rebuild said %v set back, want %v", sum.SetBack, taken.IDs)
			}
			for {
				got, err := s.open().Claim(s.Context(), order(1, ""))
				if err != nil {
					break
				}
				if slices.Contains(taken.IDs, got.IDs[0]) {
					s.Errorf("%s is handed out twice", got.IDs[0])
				}
			}
		})
	}
}

// cutOffSeeding seeds in a process that dies when the tail is to be raised over its first chunks.
func (s *auditStage) cutOffSeeding(job alloc.JobID, list []alloc.ID) {
	s.Helper()
	f := NewFaults(s.mem, nil)
	dead := false
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	f.Plan(func(c Call) Fault {
		if dead || c.Op == OpUpdate && c.Key() == headItem {
			dead = true
			cancel()
			return LostRequest
		}
		return None
	})
	store, err := dynamo.New(dynamo.Config{Table: f, Now: s.clock.Now})
	if err != nil {
		s.Fatal(err)
	}
	_, _ = store.Seed(ctx, alloc.SeedBatch{Pool: pool, Job: job, IDs: list})
	if !dead {
		s.Fatal("not cut off")
	}
}
