package alloc_test

import (
	"context"
	"slices"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// newRuin is a mill whose pool has lost its queue and its head, with IDs that are free, claimed, held and gone.
func newRuin(t testing.TB) *mill {
	t.Helper()
	m := newMill(t, alloc.PoolConfig{Description: "kept"}, "A-1", "A-2", "A-3", "A-4", "A-5", "A-6")
	for _, o := range []alloc.ClaimOrder{{Pool: pool, Count: 2}, {Pool: pool, Count: 1, Hold: alloc.MaxHold}} {
		if _, err := m.model.Claim(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	m.model.Damage(t, alloctest.Damage{Kind: alloctest.LoseQueue, Pool: pool})
	m.model.Damage(t, alloctest.Damage{Kind: alloctest.LoseHead, Pool: pool})
	return m
}

// wantRebuilt fails the test unless the pool is open, and each ID that was free can be claimed once.
func wantRebuilt(t testing.TB, m *mill) {
	t.Helper()
	if e, err := m.model.PoolEvidence(t.Context(), pool); err != nil || !e.Head || e.Rebuilding != "" || e.Pool.Config.Description != "kept" {
		t.Fatalf("after the rebuild the pool is %+v, %v", e, err)
	}
	if _, err := m.model.Sweep(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	c, err := m.model.Claim(t.Context(), alloc.ClaimOrder{Pool: pool, Count: 3})
	if err != nil || len(c.IDs) != 3 {
		t.Fatalf("what was free cannot be claimed: %+v, %v", c, err)
	}
	_, err = m.model.Claim(t.Context(), alloc.ClaimOrder{Pool: pool, Count: 1})
	wantErr(t, err, alloc.CodePoolExhausted)
}

// actions counts the records of the trail by their actions.
func actions(t testing.TB, m *alloctest.Model) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, r := range trail(t, m) {
		found[r.Action+" "+r.Result]++
	}
	return found
}

func wantActions(t testing.TB, m *alloctest.Model, want map[string]int) {
	t.Helper()
	got := actions(t, m)
	for action, n := range want {
		if got[action] != n {
			t.Errorf("the trail has %v, want %q %d times", got, action, n)
		}
	}
}

func (m *mill) rebuild(t testing.TB) alloc.Job {
	t.Helper()
	j, err := m.RebuildPool(m.ctx, alloc.PoolRebuildRequest{Pool: pool, Why: "head lost"})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestAPoolIsRebuilt(t *testing.T) {
	m := newRuin(t)
	_, err := m.model.Claim(t.Context(), alloc.ClaimOrder{Pool: pool, Count: 1})
	wantErr(t, err, alloc.CodePoolDamaged)
	e, err := m.PoolEvidence(m.ctx, pool)
	if err != nil || e.Head || !e.Configured || len(e.Damage) == 0 {
		t.Fatalf("the evidence is %+v, %v, want the head lost", e, err)
	}
	j := m.rebuild(t)
	if j.Kind != alloc.JobRebuild || j.State != alloc.JobQueued || j.Why != "head lost" {
		t.Fatalf("the job is %+v", j)
	}
	m.deliver(t)
	got, err := m.Job(m.ctx, j.ID)
	if want := (alloc.Tally{Free: 3, Claimed: 2, Held: 1, Looked: 6, ToLook: 6}); err != nil || got.State != alloc.JobDone || got.Tally != want || got.Done != 6 || got.Total != 6 || got.Parts != 0 {
		t.Errorf("the job is %+v, %v, want it done with %+v", got, err, want)
	}
	wantRebuilt(t, m)
	wantActions(t, m.model, map[string]int{"pool.rebuild ok": 1, "pool.done-rebuild ok": 1})
}

func TestAPoolIsRebuiltByOneJobAtATime(t *testing.T) {
	m := newRuin(t)
	j := m.rebuild(t)
	if again := m.rebuild(t); again.ID != j.ID {
		t.Errorf("there is another job %s beside %s", again.ID, j.ID)
	}
	steps := m.post.take()
	if err := m.Work(m.ctx, steps[0]); err != nil { // and the same message twice
		t.Fatal(err)
	}
	if err := m.Work(m.ctx, steps[len(steps)-1]); err != nil {
		t.Fatal(err)
	}
	m.deliver(t)
	wantRebuilt(t, m)
	if after := m.rebuild(t); after.ID == j.ID {
		t.Error("the next rebuild is the one that is done")
	}
	wantActions(t, m.model, map[string]int{"pool.rebuild ok": 3, "pool.done-rebuild ok": 1})
}

// With one intent it is the same job, also when that is done.
func TestARepeatOfARebuildIsTheSameJob(t *testing.T) {
	m := newRuin(t)
	r := alloc.PoolRebuildRequest{Pool: pool, Intent: alloc.NewIntent(m.clock.Now())}
	j, err := m.RebuildPool(m.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	m.deliver(t)
	other := m.rebuild(t) // on, and not what the repeat is of
	again, err := m.RebuildPool(m.ctx, r)
	if err != nil || again.ID != j.ID || again.State != alloc.JobDone || other.ID == j.ID {
		t.Errorf("the repeat gives %+v, %v, want the job %s, done", again, err, j.ID)
	}
}

// Two jobs that were made at the same time do not both rebuild the pool.
func TestTheSecondOfTwoRebuildsFails(t *testing.T) {
	m := newRuin(t)
	first := m.rebuild(t)
	second := first
	second.ID, second.Log = alloc.JobID(alloc.NewIntent(m.clock.Now())), nil
	if err := m.model.CreateJob(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if _, err := m.model.RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: pool, Job: first.ID}); err != nil {
		t.Fatal(err)
	}
	wantErr(t, m.Work(m.ctx, alloc.Step{Job: second.ID, Version: 1}), alloc.CodeJobEnded)
	if got, err := m.Job(m.ctx, second.ID); err != nil || got.State != alloc.JobFailed || got.Failure == "" {
		t.Errorf("the second job is %+v, %v, want it failed", got, err)
	}
	m.deliver(t)
	wantRebuilt(t, m)
	wantActions(t, m.model, map[string]int{"pool.fail-rebuild job_ended": 1, "pool.done-rebuild ok": 1})
}

func TestACancelledRebuildLetsThePoolGo(t *testing.T) {
	for how, fault := range faults {
		t.Run(how, func(t *testing.T) {
			m := newMill(t, alloc.PoolConfig{}, "A-1")
			j := m.rebuild(t)
			if _, err := m.model.RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: pool, Job: j.ID}); err != nil {
				t.Fatal(err)
			}
			m.store.SetPlan(alloctest.Script("AbandonRebuild", fault))
			_, err := m.CancelJob(m.ctx, j.ID)
			if e, ok := err.(*alloc.Error); !ok || !e.Unknown { //nolint:errorlint // the Service's own errors are not wrapped
				t.Fatalf("got %v, want it unknown", err)
			}
			if _, err := m.CancelJob(m.ctx, j.ID); err != nil {
				t.Fatalf("the repeat fails: %v", err)
			}
			if e, err := m.model.PoolEvidence(t.Context(), pool); err != nil || e.Rebuilding != "" {
				t.Errorf("the pool is %+v, %v, want it let go", e, err)
			}
			if _, err := m.model.Sweep(t.Context(), pool); err != nil {
				t.Error(err)
			}
		})
	}
}

// late is a Store whose steps of a rebuild are carried out after the job has been cancelled.
type late struct {
	alloc.Store
	cancel func()
}

func (s *late) RebuildPool(ctx context.Context, o alloc.PoolRebuildOrder) (alloc.PoolRebuilt, error) {
	if s.cancel != nil {
		cancel := s.cancel
		s.cancel = nil
		cancel()
	}
	return s.Store.RebuildPool(ctx, o)
}

// A step that comes after the cancellation lets go of what it has taken; where its process ends before that, the schedule does.
func TestALateStepOfARebuildLetsThePoolGo(t *testing.T) {
	for _, dies := range []bool{false, true} {
		m := newMill(t, alloc.PoolConfig{}, "A-1")
		j := m.rebuild(t)
		slow := &late{Store: m.store}
		s, err := alloc.NewService(alloc.Config{Store: slow, Now: m.clock.Now, Queue: &m.post})
		if err != nil {
			t.Fatal(err)
		}
		slow.cancel = func() {
			if _, err := m.CancelJob(m.ctx, j.ID); err != nil {
				t.Error(err)
			}
			if dies {
				m.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
					if c.Method == "RebuildPool" {
						return alloctest.Pass
					}
					return alloctest.RefusedUnknown
				})
			}
		}
		ctx, cancel := context.WithTimeout(m.ctx, 5e9)
		if err := s.Work(ctx, m.post.take()[0]); dies == (err == nil) {
			t.Errorf("the late step ended with %v", err)
		}
		cancel()
		m.store.SetPlan(nil)
		if dies {
			if e, err := m.model.PoolEvidence(t.Context(), pool); err != nil || e.Rebuilding != j.ID {
				t.Fatalf("the pool is %+v, %v, want it taken by the late step", e, err)
			}
			r, err := m.Tend(m.ctx)
			if err != nil || !alloc.Is(r.Failed[pool], alloc.CodePoolRebuilding) {
				t.Errorf("the run tells of %v, %v, want the pool not swept", r.Failed, err)
			}
		}
		if e, err := m.model.PoolEvidence(t.Context(), pool); err != nil || e.Rebuilding != "" {
			t.Errorf("dies %t: the pool is %+v, %v, want it let go", dies, e, err)
		}
	}
}

// A pool that waits for its rebuild has not failed in a run of the schedule.
func TestAPoolThatIsRebuiltHasNotFailed(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A-1")
	j := m.rebuild(t)
	if _, err := m.model.RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: pool, Job: j.ID}); err != nil {
		t.Fatal(err)
	}
	r, err := m.Tend(m.ctx)
	if err != nil || len(r.Failed) != 0 {
		t.Errorf("the run tells of %v, %v, want nothing failed", r.Failed, err)
	}
}

// However it is cut off, the pool is rebuilt in the end, by one job with one record of its end.
func TestARebuildEndsWhateverFails(t *testing.T) {
	everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
		b := &bench{mill: newRuin(t)}
		j := b.rebuild(t)
		plan(b.store)
		b.toTheEnd(t)
		b.store.SetPlan(nil)
		if got, err := b.model.Job(t.Context(), j.ID); err != nil || got.State != alloc.JobDone {
			t.Fatalf("the job is %+v, %v, want it done", got, err)
		}
		wantRebuilt(t, b.mill)
		wantActions(t, b.model, map[string]int{"pool.rebuild ok": 1, "pool.done-rebuild ok": 1})
	})
}

func TestARebuildThatCannotBeIsRefused(t *testing.T) {
	m := newRuin(t)
	m.model.Damage(t, alloctest.Damage{Kind: alloctest.LoseCopy, Pool: pool})
	for _, c := range []struct {
		r    alloc.PoolRebuildRequest
		want alloc.Code
	}{
		{alloc.PoolRebuildRequest{Pool: "nothing"}, alloc.CodePoolNotFound},
		{alloc.PoolRebuildRequest{Pool: pool}, alloc.CodeInvalidConfig},
		{alloc.PoolRebuildRequest{Pool: pool, Policy: "purple"}, alloc.CodeInvalidConfig},
		{alloc.PoolRebuildRequest{Pool: pool, Policy: alloc.PolicyKeep}, alloc.CodeInvalidConfig},
		{alloc.PoolRebuildRequest{Pool: pool, FoldCase: new(false)}, alloc.CodeInvalidConfig},
		{alloc.PoolRebuildRequest{Pool: pool, Policy: alloc.PolicyKeep, FoldCase: new(false), Why: " x"}, alloc.CodeInvalidRequest},
	} {
		_, err := m.RebuildPool(m.ctx, c.r)
		wantCode(t, err, c.want)
	}
	if jobs, err := m.model.ListJobs(t.Context(), "", 10); err != nil || len(jobs) > 0 {
		t.Errorf("there are jobs: %+v, %v", jobs, err)
	}
	if _, err := m.RebuildPool(m.ctx, alloc.PoolRebuildRequest{Pool: pool, Policy: alloc.PolicyKeep, FoldCase: new(true)}); err != nil {
		t.Fatal(err)
	}
	m.deliver(t)
	if p, err := m.model.Pool(t.Context(), pool); err != nil || p.Config.Policy != alloc.PolicyKeep || !p.Config.FoldCase {
		t.Errorf("the pool is %+v, %v", p, err)
	}
	for _, r := range []alloc.PoolRebuildRequest{{Pool: pool, Policy: alloc.PolicyForget}, {Pool: pool, FoldCase: new(false)}} {
		_, err := m.RebuildPool(m.ctx, r) // it is known, and is another
		wantCode(t, err, alloc.CodeInvalidConfig)
	}
	if _, err := m.RebuildPool(m.ctx, alloc.PoolRebuildRequest{Pool: pool, Policy: alloc.PolicyKeep, FoldCase: new(true)}); err != nil {
		t.Errorf("what is known, said again: %v", err)
	}
	must(t, m.model.SetPoolState, pool, alloc.PoolDeleted)
	_, err := m.RebuildPool(m.ctx, alloc.PoolRebuildRequest{Pool: pool})
	wantCode(t, err, alloc.CodePoolDeleted)
	_, err = m.PoolEvidence(m.ctx, pool)
	wantCode(t, err, alloc.CodePoolDeleted)
}

// Jobs on a pool, a sequence and the trail alone are in the list of whoever may see them.
func TestJobsOnAnythingAreListed(t *testing.T) {
	s, _, m := newWorld(t, nil)
	for _, r := range []alloc.AuditRequest{{Pool: pool}, {Sequence: sequence}, {}} {
		if _, err := s.Audit(asAdmin(t.Context()), r); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		pattern string
		want    int
	}{{"*", 3}, {string(sequence), 1}, {string(pool), 1}, {"team-a*", 2}, {"team-b*", 0}} {
		ctx := as(t.Context(), "other", alloc.Scope{Action: alloc.ActionManage, Pattern: c.pattern})
		jobs, _, err := s.Jobs(ctx, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		audits := slices.DeleteFunc(jobs, func(j alloc.Job) bool { return j.Kind != alloc.JobAudit || j.ID == failedAudit().ID })
		if len(audits) != c.want {
			t.Errorf("with manage:%s %d audits are listed, want %d", c.pattern, len(audits), c.want)
		}
		for _, j := range audits {
			if _, err := s.Job(ctx, j.ID); err != nil {
				t.Error(err)
			}
			if need, on, err := s.NeedToChange(ctx, j.ID); err != nil || need != alloc.ActionManage || on == "" {
				t.Errorf("%s on %q, %v, want to manage it", need, on, err)
			}
			if _, err := s.CancelJob(ctx, j.ID); err != nil {
				t.Error(err)
			}
		}
		if all, err := m.ListJobs(t.Context(), "", 100); err != nil {
			t.Fatal(err)
		} else {
			for _, j := range all {
				if c.want == 0 && j.Kind == alloc.JobAudit {
					_, err := s.Job(ctx, j.ID)
					wantErr(t, err, alloc.CodeForbidden)
					_, err = s.CancelJob(ctx, j.ID)
					wantErr(t, err, alloc.CodeForbidden)
				}
			}
		}
	}
	wantActions(t, m, map[string]int{"pool.audit ok": 1, "sequence.audit ok": 1, "trail.audit ok": 1, "trail.cancel-audit ok": 1})
	for _, r := range trail(t, m) {
		if r.Action == "trail.audit" && r.Target != "trail" {
			t.Errorf("the target is %q", r.Target)
		}
	}
}
