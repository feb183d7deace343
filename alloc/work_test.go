package alloc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// job is one that is queued.
func (m *mill) job(t testing.TB) alloc.Job {
	t.Helper()
	j, err := m.Export(m.ctx, anExport)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func (m *mill) now(t testing.TB, id alloc.JobID) alloc.Job {
	t.Helper()
	j, err := m.model.Job(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// told are the texts of a job's log.
func told(j alloc.Job) string {
	var all []string
	for _, e := range j.Log {
		all = append(all, e.Text)
	}
	return strings.Join(all, "; ")
}

func TestWhoMakesAJobSendsIt(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A1")
	j := m.job(t)
	if steps := m.post.take(); len(steps) != 1 || steps[0] != (alloc.Step{Job: j.ID, Version: 1}) {
		t.Errorf("sent are %+v", steps)
	}
	m.post.fails = errors.New("no queue")
	if _, err := m.Export(m.ctx, anExport); err != nil {
		t.Errorf("a queue that fails is no failure of the request: %v", err)
	}
	f := m.file(t, alloc.SeedFormat{}, "A2\n")
	if _, err := m.StartJob(m.ctx, f.ID, 1); err != nil {
		t.Errorf("nor of a start: %v", err)
	}
}

// A message of a version that the job has left, of a job that has ended, is not started or not there, is dropped.
func TestOvertakenStepsAreDropped(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A1")
	running, cancelled, receiving := m.job(t), m.job(t), m.file(t, alloc.SeedFormat{}, "A2\n")
	if _, err := m.CancelJob(m.ctx, cancelled.ID); err != nil {
		t.Fatal(err)
	}
	m.post.take()
	before := len(m.store.Calls())
	for _, step := range []alloc.Step{
		{Job: running.ID, Version: 0},
		{Job: running.ID, Version: 2},
		{Job: cancelled.ID, Version: 2},
		{Job: receiving.ID, Version: receiving.Version},
		{Job: alloc.JobID(alloc.NewIntent(m.clock.Now())), Version: 1},
		{Job: "no job", Version: 1},
		{},
	} {
		if err := m.Work(m.ctx, step); err != nil {
			t.Errorf("%+v: %v", step, err)
		}
	}
	for _, c := range m.store.Calls()[before:] {
		if c.Method != "Job" {
			t.Errorf("it called %s", c.Method)
		}
	}
	if sent := m.post.take(); len(sent) > 0 {
		t.Errorf("it sent %+v", sent)
	}
}

// Work that comes near its deadline sends word of the rest, with what the version is then, also where a step was cut off.
func TestWorkEndsBeforeItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for extra := range 12 {
			m := newMill(t, alloc.PoolConfig{}, "A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8")
			m.store = alloctest.NewFaulty(&slow{Store: &narrow{Store: m.model, page: 1}, walk: 90 * time.Millisecond}, nil)
			m.Service = m.another(t)
			j := m.job(t)
			workers := 0
			for steps := m.post.take(); len(steps) > 0; steps = m.post.take() {
				if workers++; len(steps) > 1 || workers > 20 {
					t.Fatalf("worker %d gets %+v", workers, steps)
				}
				ctx, cancel := context.WithTimeout(m.ctx, 2*time.Second+time.Duration(extra)*130*time.Millisecond)
				begin := time.Now()
				if err := m.Work(ctx, steps[0]); err != nil {
					t.Fatal(err)
				}
				if left := 2*time.Second + time.Duration(extra)*130*time.Millisecond - time.Since(begin); left < 900*time.Millisecond {
					t.Errorf("it ended %s before the deadline", left)
				}
				cancel()
			}
			if now := m.now(t, j.ID); now.State != alloc.JobDone || strings.Contains(told(now), "failed") || now.Done != 8 {
				t.Errorf("the job is %+v", now)
			}
		}
	})
}

// failing lets a method fail in every call.
func failing(method string, how alloctest.Fault) alloctest.Plan {
	return func(c alloctest.Call) alloctest.Fault {
		if c.Method == method {
			return how
		}
		return alloctest.Pass
	}
}

// A step that fails is tried a few times with pauses, then left to the schedule, and the job says so.
func TestWorkOnAStepThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMill(t, alloc.PoolConfig{}, "A1")
		j := m.file(t, alloc.SeedFormat{}, "A1\nA2\n")
		m.start(t, j)
		m.store.SetPlan(failing("Seed", alloctest.Throttled))
		begin := time.Now()
		for _, step := range m.post.take() {
			if err := m.Work(m.ctx, step); !alloctest.Injected(err) {
				t.Errorf("got %v, want why the step failed", err)
			}
		}
		if took := time.Since(begin); took != 2*alloctest.ThrottleHint {
			t.Errorf("three tries took %s, want twice what the engine asked for", took)
		}
		now := m.now(t, j.ID)
		if now.Tries != 3 || !strings.Contains(told(now), "try 3 failed: the store did not answer") || len(m.post.take()) != 0 {
			t.Fatalf("the job is %+v", now)
		}

		m.store.SetPlan(nil)
		m.clock.Advance(time.Minute)
		if r, err := m.Tend(m.ctx); err != nil || r.Sent != 0 || r.Open != 1 || !r.Oldest.Equal(now.Updated) || len(r.Jobs) != 0 {
			t.Errorf("a minute later the schedule says %+v, %v", r, err)
		}
		m.clock.Advance(time.Minute)
		if r, err := m.Tend(m.ctx); err != nil || r.Sent != 1 || r.Open != 1 {
			t.Errorf("after two minutes the schedule says %+v, %v", r, err)
		}
		m.deliver(t)
		if now = m.now(t, j.ID); now.State != alloc.JobDone || now.Tally != (alloc.Tally{Added: 1, Duplicate: 1}) ||
			!strings.Contains(told(now), "resumed; tries that failed before: 3; done: of 2 entries 1 added, 1 duplicate, 0 conflict, 0 invalid") {
			t.Errorf("the job is %+v", now)
		}
		if r, err := m.Tend(m.ctx); err != nil || r.Sent != 0 || r.Open != 0 || !r.Oldest.IsZero() {
			t.Errorf("then the schedule says %+v, %v", r, err)
		}

		gone := m.file(t, alloc.SeedFormat{}, "A3\n")
		m.start(t, gone)
		m.post.take()
		m.store.SetPlan(failing("Seed", alloctest.RefusedUnknown))
		for range 8 {
			m.clock.Advance(3 * time.Hour)
			if r, err := m.Tend(m.ctx); err != nil || r.Sent != 1 || !r.Oldest.Equal(gone.Created) {
				t.Fatalf("the schedule says %+v, %v; want it to tell since when no step went well", r, err)
			}
			for _, step := range m.post.take() {
				m.Work(m.ctx, step) // fails
			}
		}
		now = m.now(t, gone.ID)
		if now.State != alloc.JobFailed || !strings.Contains(now.Failure, "22 tries in 24h0m0s") || len(now.Log) != alloc.MaxJobEvents || strings.Contains(told(now), "injected") {
			t.Errorf("the job is %+v, want it given up, in words for a client", now)
		}
	})
}

// What no other try can mend fails the job at once.
func TestAPoolThatChangesUnderAJob(t *testing.T) {
	for _, c := range []struct {
		to   alloc.PoolState
		says string
	}{{alloc.PoolDraining, "drain"}, {alloc.PoolDeleted, "deleted"}} {
		m := newMill(t, alloc.PoolConfig{})
		j := m.file(t, alloc.SeedFormat{}, "A1\n", "A2\n")
		m.start(t, j)
		must(t, m.model.SetPoolState, pool, c.to)
		for _, step := range m.post.take() {
			if err := m.Work(m.ctx, step); err == nil {
				t.Error("the log should hear of it")
			}
			if err := m.Work(m.ctx, step); err != nil {
				t.Errorf("the message again: %v, want it dropped", err)
			}
		}
		if now := m.now(t, j.ID); now.State != alloc.JobFailed || !strings.Contains(now.Failure, c.says) || !strings.Contains(told(now), "failed: "+now.Failure) {
			t.Errorf("the job is %+v", now)
		}
		_, err := m.CountPool(m.ctx, alloc.CountRequest{Pool: pool})
		if gone := c.to == alloc.PoolDeleted; alloc.Is(err, alloc.CodePoolDeleted) != gone {
			t.Errorf("a count: %v", err)
		}
	}
}

// The end of a step whose answer is lost is found out, so that its worker goes on.
func TestALostAnswerDoesNotStopAWorker(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	j := m.file(t, alloc.SeedFormat{}, "A1\n", "A2\n", "A3\n")
	m.start(t, j)
	script := alloctest.Script("ChangeJob", alloctest.AppliedButFailed, alloctest.Pass, alloctest.AppliedButFailed)
	m.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		m.clock.Advance(time.Second) // so that no step done again is the same to the second
		return script(c)
	})
	m.deliver(t)
	if now := m.now(t, j.ID); now.State != alloc.JobDone || now.Tries != 0 || now.Done != 3 {
		t.Errorf("the job is %+v", now)
	}
}

func TestResumeJobs(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A1")
	var want []alloc.JobID
	for range 3 {
		m.clock.Advance(time.Second)
		want = append(want, m.job(t).ID)
	}
	m.file(t, alloc.SeedFormat{}, "A2\n") // its file is on the way
	done := m.job(t)
	if _, err := m.CancelJob(m.ctx, done.ID); err != nil {
		t.Fatal(err)
	}
	m.post.take()
	n, err := m.ResumeJobs(m.ctx)
	sent := m.post.take()
	if err != nil || n != 3 || len(sent) != 3 {
		t.Fatalf("%d, %v, and %+v were sent, want three", n, err, sent)
	}
	for i, step := range sent {
		if step != (alloc.Step{Job: want[i], Version: 1}) {
			t.Errorf("message %d is %+v", i, step)
		}
	}
	m.post.fails = errors.New("no queue")
	if n, err := m.ResumeJobs(m.ctx); n != 0 || !alloc.Is(err, alloc.CodeUnavailable) {
		t.Errorf("without its queue: %d, %v", n, err)
	}
	if n, err := newService(t, m.model).ResumeJobs(m.ctx); n != 0 || err != nil {
		t.Errorf("where there is no queue: %d, %v", n, err)
	}
}

// A worker that cannot carry a job on drops its message: it would only become a dead letter. The job is left as it is, and another
// carries it on.
func TestWorkThatAnotherCanDo(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A1")
	j := m.job(t)
	s, err := alloc.NewService(alloc.Config{Store: m.model, Now: m.clock.Now, Queue: &m.post})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range m.post.take() {
		for _, worker := range []*alloc.Service{s, m.Service} {
			if err := worker.Work(m.ctx, step); err != nil {
				t.Error(err)
			}
		}
	}
	if now := m.now(t, j.ID); now.State != alloc.JobDone || now.Tries != 0 {
		t.Errorf("the job is %+v", now)
	}
	unknown := alloc.Job{ID: alloc.JobID(alloc.NewIntent(m.clock.Now())), Kind: "purge", Pool: pool, State: alloc.JobQueued, Created: m.clock.Now(), Updated: m.clock.Now()}
	if err := m.model.CreateJob(t.Context(), unknown); err != nil {
		t.Fatal(err)
	}
	if err := m.Work(m.ctx, alloc.Step{Job: unknown.ID, Version: 1}); err != nil {
		t.Error(err)
	}
	if now := m.now(t, unknown.ID); now.Version != 1 || now.State != alloc.JobQueued {
		t.Errorf("the unknown job is %+v, want it as it was", now)
	}
	if _, err := m.Job(as(t.Context(), "c", alloc.Scope{Action: alloc.ActionRead, Pattern: "*"}), unknown.ID); !alloc.Is(err, alloc.CodeForbidden) {
		t.Errorf("got %v, want a kind from another version for managers only", err)
	}
	if _, err := m.CancelJob(m.ctx, unknown.ID); err != nil {
		t.Error(err)
	}
}
