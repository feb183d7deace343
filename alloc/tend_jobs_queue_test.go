package alloc_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/infra/metrics"
)

// hangs is a queue that gives no answer: infra/sqs gives a send two seconds.
type hangs struct{ sends int }

func (h *hangs) Send(ctx context.Context, _ alloc.Step) error {
	h.sends++
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	<-ctx.Done()
	return alloc.Errorf(alloc.CodeUnavailable, "the job's queue does not answer")
}

// stillJobs puts so many jobs into the model that wait for a worker.
func stillJobs(t testing.TB, model *alloctest.Model, kind alloc.JobKind, n int, at time.Time) {
	t.Helper()
	for i := range n {
		made := at.Add(time.Duration(i) * time.Millisecond)
		j := alloc.Job{ID: alloc.JobID(alloc.NewIntent(made)), Kind: kind, Pool: pool, By: "x", State: alloc.JobQueued, Created: made, Updated: made, Column: -1}
		if err := model.CreateJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
}

// An outage of the queue is no reason to leave pools empty: a run waits for the queue once, after the pools, and says so.
func TestAQueueThatHangsDoesNotKeepPoolsFromBeingTended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, queue := alloctest.NewModel(time.Now), &hangs{}
		s, err := alloc.NewService(alloc.Config{Store: model, Now: time.Now, Encoders: encoders, Queue: queue})
		if err != nil {
			t.Fatal(err)
		}
		ctx := asAdmin(t.Context())
		if _, _, err := s.CreatePool(ctx, pool, filled(10, 20, random)); err != nil {
			t.Fatal(err)
		}
		stillJobs(t, model, alloc.JobCount, 40, time.Now())
		time.Sleep(3 * time.Minute)
		run, cancel := context.WithTimeout(ctx, 58*time.Second)
		defer cancel()
		begin := time.Now()
		r, err := s.Tend(run)
		wantCode(t, err, alloc.CodeUnavailable)
		if took := time.Since(begin); queue.sends != 1 || r.Sent != 0 || r.Unsent != 40 || r.Open != 40 || r.Left != 0 || len(r.Swept) != 1 || took != 2*time.Second {
			t.Errorf("in %s there were %d sends, and the run tells of %+v", took, queue.sends, r)
		}
		if l, err := model.Level(ctx, pool); err != nil || l.Available != 20 {
			t.Errorf("the pool has %d IDs, %v, want its target of 20", l.Available, err)
		}
	})
}

// Where the pools take all the time there is, the jobs' share is left for the sends.
func TestSendsHaveTheirShareOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := newSlow(t, 4, 10*time.Second, 0)
		queue := &post{}
		s, err := alloc.NewService(alloc.Config{Store: w.store, Now: w.clock.Now, Encoders: encoders, Queue: queue})
		if err != nil {
			t.Fatal(err)
		}
		w.Service = s
		stillJobs(t, w.model, alloc.JobCount, 3, w.clock.Now())
		w.clock.Advance(3 * time.Minute)
		if r := w.runFor(t, 61*time.Second); r.Sent != 3 || r.Unsent != 0 || len(r.Swept) != 1 || len(queue.take()) != 3 {
			t.Errorf("the run tells of %+v", r)
		}
	})
}

// A queue that fails is told, and the next run begins with the same jobs.
func TestARunTellsOfAQueueThatFails(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A1")
	stillJobs(t, m.model, alloc.JobCount, 3, m.clock.Now())
	m.clock.Advance(3 * time.Minute)
	m.post.fails = errors.New("no queue")
	r, err := m.Tend(m.ctx)
	wantCode(t, err, alloc.CodeUnavailable)
	if r.Sent != 0 || r.Unsent != 3 || len(r.Swept) != 1 {
		t.Errorf("the run tells of %+v", r)
	}
	m.post.fails = nil
	if r, err := m.Tend(m.ctx); err != nil || r.Sent != 3 || r.Unsent != 0 {
		t.Errorf("the next one tells of %+v, %v", r, err)
	}
}

// A job of a kind that this version does not know, as after a roll-back, is left to the schedule of one that does; that it
// stands still is told.
func TestAJobOfAnUnknownKindIsNotSent(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A1")
	made := m.clock.Now()
	stillJobs(t, m.model, "verify", 1, made)
	for range 60 {
		m.clock.Advance(time.Minute)
		r, err := m.Tend(m.ctx)
		if err != nil || r.Sent != 0 || r.Unsent != 0 || r.Open != 1 || r.Foreign != 1 || !r.Oldest.Equal(made) {
			t.Fatalf("the run tells of %+v, %v", r, err)
		}
	}
	if r, err := newTimed(t, m).Tend(m.ctx); err != nil || r.Foreign != 1 || len(r.Jobs) != 0 {
		t.Errorf("without a queue the run tells of %+v, %v", r, err)
	}
}

// A job whose record cannot be read is told in each run, and keeps the others from nothing.
func TestADamagedJobIsTold(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A1")
	damaged := alloc.Job{ID: alloc.JobID(alloc.NewIntent(m.clock.Now())), Kind: alloc.JobCount, Pool: pool, State: alloc.JobDamaged, Created: m.clock.Now()}
	if err := m.model.CreateJob(t.Context(), damaged); err != nil { // as lists have it
		t.Fatal(err)
	}
	m.clock.Advance(time.Second)
	stillJobs(t, m.model, alloc.JobCount, 1, m.clock.Now())
	m.clock.Advance(25 * time.Hour)
	r, err := m.Tend(m.ctx)
	if err != nil || r.Sent != 1 || r.Open != 2 || len(r.Jobs) != 1 || r.Jobs[0].Job.ID != damaged.ID || !alloc.Is(r.Jobs[0].Err, alloc.CodeInternal) {
		t.Errorf("the run tells of %+v, %v", r, err)
	}
	if r, err := newTimed(t, m).Tend(m.ctx); err != nil || len(r.Jobs) != 2 || r.Jobs[0].Job.ID != damaged.ID || r.Jobs[1].Job.State != alloc.JobDone {
		t.Errorf("without a queue the run tells of %+v, %v", r, err)
	}
	if n, err := m.ResumeJobs(m.ctx); n != 0 || err != nil {
		t.Errorf("%d jobs are resumed, %v", n, err)
	}
	if _, err := m.Export(m.ctx, anExport); err != nil {
		t.Errorf("beside it: %v", err)
	}
	if jobs, _, err := m.Jobs(m.ctx, "", 10); err != nil || len(jobs) != 3 || jobs[2].State != alloc.JobDamaged {
		t.Errorf("the jobs are %+v, %v", jobs, err)
	}
}

// A store that throttles for an hour fails no job, and the alarm sees that no step of it goes well.
func TestAJobOutlivesAnHourOfThrottling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMill(t, alloc.PoolConfig{})
		j := m.file(t, alloc.SeedFormat{}, "A1\nA2\n")
		m.start(t, j)
		m.store.SetPlan(failing("Seed", alloctest.Throttled))
		still := 0.0
		for range 60 {
			for _, step := range m.post.take() {
				work, cancel := context.WithTimeout(m.ctx, 118*time.Second)
				if err := m.Work(work, step); !alloctest.Injected(err) {
					t.Errorf("got %v, want why the step failed", err)
				}
				cancel()
			}
			m.clock.Advance(time.Minute)
			r, err := m.Tend(m.ctx)
			for _, v := range metrics.Run(m.clock.Now(), r, err) {
				if v.Name == "job_still_minutes" {
					still = v.Of
				}
			}
		}
		if now := m.now(t, j.ID); now.State != alloc.JobQueued || now.Tries < alloc.MaxJobTries || still < 59 {
			t.Errorf("after an hour the job is %+v, and has stood still for %.0f minutes", now, still)
		}
		m.store.SetPlan(nil)
		m.deliver(t)
		if now := m.now(t, j.ID); now.State != alloc.JobDone || now.Tally.Added != 2 || now.Tries != 0 {
			t.Errorf("then the job is %+v", now)
		}
	})
}
