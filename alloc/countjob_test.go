package alloc_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

var countOf = alloc.CountRequest{Pool: pool, Why: "monthly report"}

func TestASmallPoolIsCountedAtOnce(t *testing.T) {
	w := newWorks(t, 30) // in ten pages
	j, err := w.CountPool(w.ctx, countOf)
	if err != nil || j.State != alloc.JobDone || j.Tally != (alloc.Tally{Free: 20, Claimed: 10}) || j.Done != 30 || j.Why != "monthly report" || j.Parts != 0 {
		t.Errorf("got %+v, %v", j, err)
	}
	if log := told(j); log != "made by admin; started; done: of 30 IDs 20 free, 0 held, 10 claimed, 0 returning, 0 retired" {
		t.Errorf("the log says %s", log)
	}
	_, err = w.JobPart(w.ctx, j.ID, 0)
	wantCode(t, err, alloc.CodeJobNotFound)
	_, err = w.CountPool(w.ctx, alloc.CountRequest{Pool: "none"})
	wantCode(t, err, alloc.CodePoolNotFound)
	_, err = w.CountPool(w.ctx, alloc.CountRequest{Pool: pool, Why: " x"})
	wantCode(t, err, alloc.CodeInvalidRequest)
}

// A large pool is counted by those who carry jobs on.
func TestALargePoolIsCountedByAJob(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	w := newWorks(t, 1000)
	m.office, w.narrow.page = w.office, 1
	m.Service = m.another(t)
	j, err := m.CountPool(m.ctx, countOf)
	if err != nil || j.State != alloc.JobRunning || j.Done != 200 {
		t.Errorf("got %+v, %v, want it counted as far as a request may", j, err)
	}
	m.deliver(t)
	if now := m.now(t, j.ID); now.State != alloc.JobDone || now.Tally != (alloc.Tally{Free: 667, Claimed: 333}) {
		t.Errorf("the job is %+v", now)
	}
}

// A request for a count that has used up its time leaves the rest to others, and fails nothing.
func TestACountThatTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMill(t, alloc.PoolConfig{}, "A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9")
		m.store = alloctest.NewFaulty(&slow{Store: &narrow{Store: m.model, page: 1}, walk: 350 * time.Millisecond}, nil)
		m.Service = m.another(t)
		begin := time.Now()
		j, err := m.CountPool(m.ctx, countOf)
		if err != nil || j.State.Ended() || j.Tries != 0 || time.Since(begin) > 2*time.Second {
			t.Errorf("after %s: %+v, %v", time.Since(begin), j, err)
		}
		m.deliver(t)
		if now := m.now(t, j.ID); now.State != alloc.JobDone || now.Tally.Free != 9 || strings.Contains(told(now), "failed") {
			t.Errorf("the job is %+v", now)
		}
	})
}

// Whatever fails, repeats of a request with its intent have one job, which counts each ID once.
func TestACountIsExactWhateverFails(t *testing.T) {
	everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
		w := newWorks(t, 30)
		w.narrow.page = 1
		m := &mill{office: w.office}
		m.Service = m.another(t)
		r := alloc.CountRequest{Pool: pool, Intent: alloc.NewIntent(w.clock.Now())}
		plan(w.store)
		for range 3 {
			if _, err := m.CountPool(w.ctx, r); err != nil && !alloctest.Injected(err) {
				t.Error(err)
			}
		}
		for range 3 {
			m.clock.Advance(3 * time.Minute)
			if _, err := m.Tend(m.ctx); err != nil && !alloctest.Injected(err) {
				t.Error(err)
			}
			for _, step := range m.post.take() {
				if err := m.Work(m.ctx, step); err != nil && !alloctest.Injected(err) {
					t.Error(err)
				}
			}
		}
		w.store.SetPlan(nil)
		j, err := m.CountPool(w.ctx, r)
		if err != nil || j.State != alloc.JobDone || j.Tally != (alloc.Tally{Free: 20, Claimed: 10}) {
			t.Errorf("got %+v, %v", j, err)
		}
	})
}

// Each kind of job is seen and cancelled by those who may do what it does, and by no others.
func TestWhoSeesAJob(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A1")
	scope := func(a alloc.Action) alloc.Scope { return alloc.Scope{Action: a, Pattern: string(pool)} }
	maker := as(t.Context(), "maker", scope(alloc.ActionExport), scope(alloc.ActionSeed), scope(alloc.ActionRead))
	file, err := m.OpenSeeding(maker, alloc.SeedJobRequest{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.ReceivePart(maker, file.ID, 0, []byte("A1\nA2\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.StartJob(maker, file.ID, 1); err != nil {
		t.Fatal(err)
	}
	written, err := m.Export(maker, anExport)
	if err != nil {
		t.Fatal(err)
	}
	m.deliver(t)
	counted, err := m.CountPool(maker, countOf)
	if err != nil {
		t.Fatal(err)
	}
	needs := map[alloc.JobID]alloc.Action{file.ID: alloc.ActionSeed, written.ID: alloc.ActionExport, counted.ID: alloc.ActionRead}
	for _, a := range []alloc.Action{alloc.ActionSeed, alloc.ActionExport, alloc.ActionRead, alloc.ActionManage, alloc.ActionClaim} {
		for _, client := range []alloc.ClientID{"maker", "another"} {
			ctx := as(t.Context(), client, scope(a))
			seen, _, err := m.Jobs(ctx, "", 10)
			if err != nil {
				t.Fatal(err)
			}
			listed := map[alloc.JobID]bool{}
			for _, j := range seen {
				listed[j.ID] = true
			}
			for id, need := range needs {
				_, err := m.Job(ctx, id)
				if may := a == need || a == alloc.ActionManage; may && err != nil || !may && !alloc.Is(err, alloc.CodeForbidden) || listed[id] != may {
					t.Errorf("%s with %s sees a job that needs %s: %v, listed %t", client, a, need, err, listed[id])
				}
				want := need
				if client != "maker" || a == alloc.ActionManage {
					want = alloc.ActionManage
				}
				if got, on, err := m.NeedToChange(ctx, id); err != nil || got != want || on != string(pool) {
					t.Errorf("%s with %s needs %s on %s to cancel, %v, want %s", client, a, got, on, err, want)
				}
			}
		}
	}
	// What was not added tells of IDs that are in the pool, which may be free.
	if part, err := m.JobPart(as(t.Context(), "maker", scope(alloc.ActionSeed)), file.ID, 0); err != nil || !strings.Contains(string(part), "A1") {
		t.Errorf("its maker reads %q, %v", part, err)
	}
	_, err = m.JobPart(as(t.Context(), "another", scope(alloc.ActionSeed)), file.ID, 0)
	wantCode(t, err, alloc.CodeForbidden)
	if _, err = m.JobPart(as(t.Context(), "another", scope(alloc.ActionSeed), scope(alloc.ActionExport)), file.ID, 0); err != nil {
		t.Error(err)
	}
}
