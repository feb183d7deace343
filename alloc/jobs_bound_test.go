package alloc_test

import (
	"fmt"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

var anExport = alloc.ExportRequest{Pool: pool, Format: "lines"}

// makeAndCancel is what fills the list of jobs at no cost to the client.
func (w *works) makeAndCancel(t testing.TB, client alloc.ClientID) error {
	t.Helper()
	ctx := as(t.Context(), client, alloc.AllScopes()...)
	j, err := w.Export(ctx, anExport)
	if err != nil {
		return err
	}
	if _, err := w.CancelJob(ctx, j.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Second)
	return nil
}

// However fast a client cancels its jobs, it can make a stated number in an hour; others are not touched by that.
func TestAClientMakesSoManyJobsInAnHour(t *testing.T) {
	w := newWorks(t, 3)
	begin := w.clock.Now()
	for i := range 100 {
		if err := w.makeAndCancel(t, "busy"); err != nil {
			t.Fatalf("job %d: %v", i, err)
		}
	}
	e := wantCode(t, w.makeAndCancel(t, "busy"), alloc.CodeTooManyJobs)
	if want := begin.Add(time.Hour).Sub(w.clock.Now()); e.RetryAfter != want {
		t.Errorf("the hint is %v, want %v: until the first is an hour old", e.RetryAfter, want)
	}
	if err := w.makeAndCancel(t, "other"); err != nil {
		t.Errorf("another client: %v", err)
	}
	w.clock.Advance(begin.Add(time.Hour).Sub(w.clock.Now()))
	busy := as(t.Context(), "busy", alloc.AllScopes()...)
	if _, err := w.Export(busy, anExport); err != nil {
		t.Errorf("after an hour: %v", err)
	}
	_, err := w.Export(busy, anExport)
	if e := wantCode(t, err, alloc.CodeTooManyJobs); e.RetryAfter != time.Second {
		t.Errorf("but the first one, all are of the last hour still: the hint is %v, want a second", e.RetryAfter)
	}
}

// A count that has ended takes no place in the hour's hundred, but one in what a client may fill the list of jobs with.
func TestCountsThatHaveEndedLeaveRoom(t *testing.T) {
	w := newWorks(t, 3)
	count := func(client alloc.ClientID) error {
		j, err := w.CountPool(as(t.Context(), client, alloc.AllScopes()...), alloc.CountRequest{Pool: pool})
		if err == nil && j.State != alloc.JobDone {
			t.Fatalf("the count is %s", j.State)
		}
		return err
	}
	for i := range 100 {
		if err := count("busy"); err != nil {
			t.Fatalf("count %d: %v", i, err)
		}
		if err := w.makeAndCancel(t, "busy"); err != nil {
			t.Fatalf("export %d: %v", i, err)
		}
	}
	if e := wantCode(t, count("busy"), alloc.CodeTooManyJobs); e.RetryAfter != time.Hour-100*time.Second {
		t.Errorf("the hint is %v, want the time until the first export is an hour old", e.RetryAfter)
	}
	w.clock.Advance(time.Hour)
	for i := range 500 {
		if err := count("counter"); err != nil {
			t.Fatalf("count %d of another client: %v", i, err)
		}
	}
	wantCode(t, count("counter"), alloc.CodeTooManyJobs)
	if err := w.makeAndCancel(t, "busy"); err != nil {
		t.Errorf("the counts of one client leave no room for another: %v", err)
	}
}

// All clients together make so many in an hour as one request can look at.
func TestAllClientsMakeSoManyJobsInAnHour(t *testing.T) {
	w := newWorks(t, 3)
	for i := range 1000 {
		if err := w.makeAndCancel(t, alloc.ClientID("c"+string(rune('a'+i%20)))); err != nil {
			t.Fatalf("job %d: %v", i, err)
		}
	}
	if e := wantCode(t, w.makeAndCancel(t, "new"), alloc.CodeBusy); e.RetryAfter == 0 {
		t.Error("there should be a hint")
	}
	w.clock.Advance(time.Hour)
	if err := w.makeAndCancel(t, "new"); err != nil {
		t.Errorf("after an hour: %v", err)
	}
}

// All clients together have so many jobs that wait for their end as one request can look at.
func TestAllClientsWaitForSoManyJobs(t *testing.T) {
	w := newWorks(t, 3)
	for i := range 1000 {
		at := w.clock.Now().Add(time.Duration(i) * time.Millisecond)
		j := alloc.Job{ID: alloc.JobID(alloc.NewIntent(at)), Kind: alloc.JobExport, Pool: pool, Format: "lines", By: alloc.ClientID(fmt.Sprint("client-", i)), State: alloc.JobQueued, Created: at, Updated: at}
		if err := w.model.CreateJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	w.clock.Advance(2 * time.Hour)
	_, err := w.Export(w.ctx, anExport)
	if e := wantCode(t, err, alloc.CodeBusy); e.RetryAfter == 0 {
		t.Error("there should be a hint")
	}
}

// Ended jobs cost a run nothing, however many there are; what has not ended stays in sight, however old it is.
func TestEndedJobsAreNotListedEachMinute(t *testing.T) {
	w := newWorks(t, 30)
	old := w.export(t, alloc.StateFree)
	for range 3 {
		for range 100 { // a page of ended ones above it
			if err := w.makeAndCancel(t, "busy"); err != nil {
				t.Fatal(err)
			}
		}
		w.clock.Advance(time.Hour)
	}
	w.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		if c.Method == "WalkIDs" {
			return alloctest.Throttled
		}
		return alloctest.Pass
	})
	for range 3 {
		open, all := called(w.store, "OpenJobs"), called(w.store, "ListJobs")
		w.tend(t)
		if open, all = called(w.store, "OpenJobs")-open, called(w.store, "ListJobs")-all; open != 1 || all != 0 {
			t.Errorf("the run asked for %d pages of open jobs and %d of all, want one and none", open, all)
		}
		w.clock.Advance(40 * time.Hour)
	}
	w.store.SetPlan(nil)
	w.tend(t)
	w.wantResult(t, old)
}

// Whoever may export a pool cancels what a credential of its client has made there, and whoever manages the pool cancels all.
func TestWhoMayCancel(t *testing.T) {
	export := alloc.Scope{Action: alloc.ActionExport, Pattern: string(pool)}
	manage := alloc.Scope{Action: alloc.ActionManage, Pattern: "team-a.*"}
	other := alloc.Scope{Action: alloc.ActionExport, Pattern: "other"}
	read := alloc.Scope{Action: alloc.ActionRead, Pattern: "*"}
	for _, c := range []struct {
		who     string
		client  alloc.ClientID
		scopes  []alloc.Scope
		need    alloc.Action
		allowed bool
	}{
		{"its maker", "maker", []alloc.Scope{export}, alloc.ActionExport, true},
		{"its maker, who also reads", "maker", []alloc.Scope{read, export}, alloc.ActionExport, true},
		{"its maker, who has lost the scope", "maker", []alloc.Scope{read, other}, alloc.ActionExport, false},
		{"its maker, who manages", "maker", []alloc.Scope{manage}, alloc.ActionManage, true},
		{"another who may export", "another", []alloc.Scope{export}, alloc.ActionManage, false},
		{"another who reads", "another", []alloc.Scope{read}, alloc.ActionManage, false},
		{"a manager", "manager", []alloc.Scope{manage}, alloc.ActionManage, true},
	} {
		t.Run(c.who, func(t *testing.T) {
			w := newWorks(t, 3)
			j, err := w.Export(as(t.Context(), "maker", export), anExport)
			if err != nil {
				t.Fatal(err)
			}
			ctx := as(t.Context(), c.client, c.scopes...)
			if need, on, err := w.NeedToChange(ctx, j.ID); err != nil || need != c.need || on != string(pool) {
				t.Errorf("needed is %s on %s, %v, want %s", need, on, err, c.need)
			}
			_, err = w.CancelJob(ctx, j.ID)
			if c.allowed && err != nil || !c.allowed && !alloc.Is(err, alloc.CodeForbidden) {
				t.Errorf("got %v, want it allowed: %t", err, c.allowed)
			}
			if now, err := w.Job(w.ctx, j.ID); err != nil || (now.State == alloc.JobCancelled) != c.allowed {
				t.Errorf("the job is %s, %v", now.State, err)
			}
		})
	}
	w := newWorks(t, 3)
	_, _, err := w.NeedToChange(t.Context(), w.export(t, "").ID)
	wantCode(t, err, alloc.CodeUnauthenticated)
}

// An administrator has all pools logged, restored, rebuilt and audited in one night; nobody else waits for that.
func TestRecoveryOfManyPoolsIsNotHeldUp(t *testing.T) {
	w := newWorks(t, 3)
	s, err := alloc.NewService(alloc.Config{Store: w.model, Now: w.clock.Now, Log: logCodec, Queue: new(post)})
	if err != nil {
		t.Fatal(err)
	}
	begin := w.clock.Now()
	audit := func() error {
		_, err := s.Audit(w.ctx, alloc.AuditRequest{Pool: pool})
		w.clock.Advance(time.Millisecond)
		return err
	}
	for i := range 2000 {
		if err := audit(); err != nil {
			t.Fatalf("audit %d: %v", i, err)
		}
	}
	if e := wantCode(t, audit(), alloc.CodeBusy); e.RetryAfter == 0 {
		t.Error("there should be a hint")
	}
	if err := w.makeAndCancel(t, "other"); err != nil {
		t.Errorf("another client's export: %v", err)
	}
	open, err := w.model.OpenJobs(t.Context(), "", 5000)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range open {
		if _, err := s.CancelJob(w.ctx, j.ID); err != nil {
			t.Fatal(err)
		}
	}
	w.clock.Advance(begin.Add(time.Minute).Sub(w.clock.Now()))
	for i := range 3000 { // the others of the hour
		at := w.clock.Now().Add(time.Duration(i) * time.Millisecond)
		j := alloc.Job{ID: alloc.JobID(alloc.NewIntent(at)), Kind: alloc.JobAudit, Pool: pool, By: "admin", State: alloc.JobCancelled, Created: at, Updated: at}
		if err := w.model.CreateJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	w.clock.Advance(time.Minute)
	if e := wantCode(t, audit(), alloc.CodeBusy); e.RetryAfter == 0 {
		t.Error("there should be a hint")
	}
	if err := w.makeAndCancel(t, "other"); err != nil {
		t.Errorf("another client's export: %v", err)
	}
	w.clock.Advance(time.Hour)
	if err := audit(); err != nil {
		t.Errorf("after an hour: %v", err)
	}
}
