package alloc_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// wantOneEnd fails the test unless the action is in the trail once, with one of the results.
func wantOneEnd(t testing.TB, m *alloctest.Model, action string, results ...string) {
	t.Helper()
	var got []string
	for _, r := range trail(t, m) {
		if r.Action == action {
			got = append(got, r.Result)
		}
	}
	if len(got) != 1 || !strings.Contains(" "+strings.Join(results, " ")+" ", " "+got[0]+" ") {
		t.Errorf("%s is in the trail with %v, want one of %v once", action, got, results)
	}
}

// later runs the schedule again and again, with another process each time, until long after every intent is recorded.
func (m *mill) later(t testing.TB) {
	t.Helper()
	for range 12 {
		m.clock.Advance(3 * time.Minute)
		s := m.another(t)
		if _, err := s.Tend(m.ctx); err != nil && !alloctest.Injected(err) {
			t.Fatal(err)
		}
		for _, step := range m.post.take() {
			if err := s.Work(m.ctx, step); err != nil && !alloctest.Injected(err) && !alloc.Is(err, alloc.CodePoolNotFound) {
				t.Fatal(err)
			}
		}
	}
}

// However it is cut off, a job that fails has one record of that; where its process ends in between, it may say that nobody heard how.
func TestAFailureIsRecordedOnceWhateverFails(t *testing.T) {
	for _, kind := range []alloc.JobKind{alloc.JobAudit, alloc.JobExport, alloc.JobLog} {
		t.Run(string(kind), func(t *testing.T) {
			everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
				m := newMill(t, alloc.PoolConfig{})
				j := alloc.Job{
					ID: alloc.JobID(alloc.NewIntent(m.clock.Now())), Kind: kind, Pool: "gone", Format: "lines", By: "admin", State: alloc.JobQueued, Created: m.clock.Now(),
					Updated: m.clock.Now(), Spec: alloc.JobSpec{Sample: 100},
				}
				if err := m.model.CreateJob(t.Context(), j); err != nil {
					t.Fatal(err)
				}
				plan(m.store)
				m.later(t)
				m.store.SetPlan(nil)
				if got, err := m.model.Job(t.Context(), j.ID); err != nil || got.State != alloc.JobFailed {
					t.Fatalf("the job is %+v, %v, want it failed", got, err)
				}
				wantOneEnd(t, m.model, "pool.fail-"+string(kind), "pool_not_found", alloc.ResultUnknown)
				wantNoIntents(t, m.model)
			})
		})
	}
}

// A file that does not come is given up with one record.
func TestAGivenUpFileIsRecordedOnceWhateverFails(t *testing.T) {
	everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
		m := newMill(t, alloc.PoolConfig{})
		must(t, m.model.SetPoolState, pool, alloc.PoolPaused)
		j, err := m.Restore(m.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, AtMost: none, Point: m.clock.Now()})
		if err != nil {
			t.Fatal(err)
		}
		m.clock.Advance(25 * time.Hour)
		plan(m.store)
		m.later(t)
		m.store.SetPlan(nil)
		if got, err := m.model.Job(t.Context(), j.ID); err != nil || got.State != alloc.JobCancelled {
			t.Fatalf("the job is %+v, %v, want it given up", got, err)
		}
		wantOneEnd(t, m.model, "pool.give-up-restore", "ok", alloc.ResultUnknown)
		wantNoIntents(t, m.model)
	})
}

// A step that comes long after its job has ended in another way leaves no record of an end of its own, whether it goes well or fails.
func TestAStepThatComesLateRecordsNoEnd(t *testing.T) {
	for _, fails := range []bool{false, true} {
		m := newMill(t, alloc.PoolConfig{}, "A-1")
		j, err := m.LogTaken(m.ctx, alloc.LogRequest{Pool: pool})
		if err != nil {
			t.Fatal(err)
		}
		slow := &gone{narrow: narrow{Store: m.store, page: 100}, fails: fails}
		slow.walked = func() {
			slow.walked = nil
			if _, err := m.CancelJob(m.ctx, j.ID); err != nil {
				t.Error(err)
			}
		}
		s, err := alloc.NewService(alloc.Config{Store: slow, Now: m.clock.Now, Queue: &m.post, Log: logCodec})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Work(m.ctx, m.post.take()[0]); err != nil {
			t.Errorf("fails %t: a step that was overtaken: %v", fails, err)
		}
		if got := actions(t, m.model); len(got) != 2 || got["pool.cancel-log ok"] != 1 || got["pool.log ok"] != 1 {
			t.Errorf("fails %t: the trail has %v", fails, got)
		}
		wantNoIntents(t, m.model)
	}
}

// gone is a Store whose pool may be gone once it was walked.
type gone struct {
	narrow
	fails bool
}

func (s *gone) WalkIDs(ctx context.Context, name alloc.PoolName, state alloc.State, mark string, limit int) ([]alloc.IDRecord, string, error) {
	page, next, err := s.narrow.WalkIDs(ctx, name, state, mark, limit)
	if s.fails {
		return nil, "", alloc.Errorf(alloc.CodePoolNotFound, "there is no pool %q", name)
	}
	return page, next, err
}

// Where the trail takes nothing, a job does not end.
func TestAJobDoesNotEndWithoutItsRecord(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A-1")
	j, err := m.LogTaken(m.ctx, alloc.LogRequest{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	m.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		if c.Method == "Record" || c.Method == "Intend" {
			return alloctest.Refused
		}
		return alloctest.Pass
	})
	ctx, cancel := context.WithTimeout(m.ctx, time.Second)
	defer cancel()
	for range 3 {
		m.clock.Advance(3 * time.Minute)
		if _, err := m.Tend(ctx); err != nil && !alloctest.Injected(err) {
			t.Fatal(err)
		}
	}
	if got, err := m.Job(m.ctx, j.ID); err != nil || got.State.Ended() {
		t.Fatalf("the job is %+v, %v, want it not ended", got, err)
	}
	m.store.SetPlan(nil)
	m.later(t)
	if got, err := m.Job(m.ctx, j.ID); err != nil || got.State != alloc.JobDone {
		t.Fatalf("the job is %+v, %v, want it done", got, err)
	}
	wantActions(t, m.model, map[string]int{"pool.done-log ok": 1})
}
