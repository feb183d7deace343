package alloc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// Two workers that got one message twice do the same step in the same second. One of them goes on.
func TestADoubledMessageDoesNotStayTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, queue := alloctest.NewModel(time.Now), &post{}
		store := &slow{Store: &narrow{Store: model, page: 1}, walk: 90 * time.Millisecond}
		s, err := alloc.NewService(alloc.Config{Store: store, Now: time.Now, Encoders: encoders, Queue: queue})
		if err != nil {
			t.Fatal(err)
		}
		ctx := asAdmin(t.Context())
		if _, _, err := s.CreatePool(ctx, pool, alloc.PoolConfig{}); err != nil {
			t.Fatal(err)
		}
		var ids []alloc.ID
		for i := range 100 {
			ids = append(ids, alloc.ID(fmt.Sprint("A", i)))
		}
		if _, err := model.Seed(ctx, alloc.SeedBatch{Pool: pool, Job: "j", IDs: ids}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Export(ctx, anExport); err != nil {
			t.Fatal(err)
		}
		steps := queue.take()
		steps = append(steps, steps[0])
		for round := range 3 {
			var all sync.WaitGroup
			for i, step := range steps {
				all.Go(func() {
					time.Sleep(time.Duration(i) * 5 * time.Millisecond) // not in the very same moment
					work, cancel := context.WithTimeout(ctx, 3*time.Second)
					defer cancel()
					if err := s.Work(work, step); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if steps = queue.take(); len(steps) != 1 {
				t.Fatalf("after round %d there are %d messages: %+v", round, len(steps), steps)
			}
		}
	})
}

// So do two whose steps fail for the same reason in the same second: their tries count, and one of them goes on.
func TestDoubledTriesDoNotCountAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMill(t, alloc.PoolConfig{})
		j := m.file(t, alloc.SeedFormat{}, "A1\n")
		m.start(t, j)
		m.store.SetPlan(failing("Seed", alloctest.Throttled))
		step := m.post.take()[0]
		var all sync.WaitGroup
		errs := make([]error, 2)
		for i := range errs {
			all.Go(func() { errs[i] = m.Work(m.ctx, step) })
		}
		all.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("they ended with %v and %v, want one that was overtaken and one that tells why the step failed", errs[0], errs[1])
		}
		if now := m.now(t, j.ID); now.Tries != 3 {
			t.Errorf("the job is %+v, want the tries of one", now)
		}
	})
}
