package alloc_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

func TestWhatNoExportCanBeIsRefused(t *testing.T) {
	w := newWorks(t, 3)
	for _, r := range []alloc.ExportRequest{
		{Pool: pool}, {Pool: pool, Format: "csv"}, {Pool: pool, Format: "LINES"}, {Pool: pool, Format: "lines", Of: "gone"}, {Pool: pool, Format: "lines", Of: "forgotten"},
	} {
		_, err := w.Export(w.ctx, r)
		wantCode(t, err, alloc.CodeInvalidRequest)
	}
	_, err := w.Export(w.ctx, alloc.ExportRequest{Pool: "none", Format: "lines"})
	wantCode(t, err, alloc.CodePoolNotFound)
	must(t, w.model.SetPoolState, pool, alloc.PoolDeleted)
	_, err = w.Export(w.ctx, alloc.ExportRequest{Pool: pool, Format: "lines"})
	wantCode(t, err, alloc.CodePoolDeleted)
	if jobs, _, err := w.Jobs(w.ctx, "", 10); err != nil || len(jobs) != 0 {
		t.Errorf("there are the jobs %+v, %v", jobs, err)
	}
	for _, id := range []alloc.JobID{"", "x", "0123456789ABCDEFGHIJKLMNO/", "0123456789abcdefghijklmnop", alloc.JobID(strings.Repeat("0", 500)), alloc.JobID(alloc.NewIntent(time.Now()))} {
		_, err := w.Job(w.ctx, id)
		wantCode(t, err, alloc.CodeJobNotFound)
		_, err = w.CancelJob(w.ctx, id)
		wantCode(t, err, alloc.CodeJobNotFound)
		_, err = w.JobPart(w.ctx, id, 0)
		wantCode(t, err, alloc.CodeJobNotFound)
	}
}

// However a request is cut off, its repeats with the intent make one job.
func TestARepeatedExportIsOneJob(t *testing.T) {
	intent := alloc.NewIntent(time.Now())
	r := alloc.ExportRequest{Pool: pool, Format: "lines", Intent: intent}
	for how, fault := range faults {
		for at := 0; ; at++ {
			w := newWorks(t, 3)
			hit, n := false, 0
			w.store.SetPlan(func(alloctest.Call) alloctest.Fault {
				if n++; n == at+1 {
					hit = true
					return fault
				}
				return alloctest.Pass
			})
			for range 3 {
				if j, err := w.Export(w.ctx, r); err == nil && j.ID != alloc.JobID(intent) || err != nil && !alloctest.Injected(err) {
					t.Errorf("got %+v, %v", j, err)
				}
				w.clock.Advance(time.Second)
			}
			w.store.SetPlan(nil)
			if jobs, _, err := w.Jobs(w.ctx, "", 10); err != nil || len(jobs) != 1 {
				t.Errorf("there are %+v, %v, want one job", jobs, err)
			}
			w.tend(t)
			must(t, w.model.SetPoolState, pool, alloc.PoolDeleted)
			if j, err := w.Export(w.ctx, r); err != nil || j.State != alloc.JobDone {
				t.Errorf("a repeat long after: %+v, %v, want the job as it is", j, err)
			}
			if t.Failed() {
				t.Fatalf("with call %d %s", at, how)
			}
			if !hit {
				break
			}
		}
	}
}

func TestIntentsSortByTime(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var all []alloc.Token
	for i := range 500 {
		all = append(all, alloc.NewIntent(at.Add(time.Duration(i*i)*time.Millisecond)))
	}
	if !slices.IsSorted(all) || all[0] == alloc.NewIntent(at) {
		t.Error("they should sort by time, and never be the same")
	}
}

func TestCancelJob(t *testing.T) {
	w := newWorks(t, 100)
	j := w.export(t, "")
	w.clock.Advance(time.Minute)
	got, err := w.CancelJob(w.ctx, j.ID)
	if err != nil || got.State != alloc.JobCancelled || !got.Updated.Equal(w.clock.Now()) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if again, err := w.CancelJob(w.ctx, j.ID); err != nil || !again.Equal(got) {
		t.Errorf("cancelled again: %+v, %v, want the same", again, err)
	}
	if left := w.tend(t); len(left) != 0 {
		t.Errorf("the next run tells of %+v", left)
	}
	done := w.export(t, "")
	w.tend(t)
	_, err = w.CancelJob(w.ctx, done.ID)
	wantCode(t, err, alloc.CodeJobEnded)
	w.wantResult(t, done)
}

// A job that is cancelled in the middle of a step stops there; the parts that were there stay.
func TestAJobIsCancelledInTheMiddle(t *testing.T) {
	w := newWorks(t, 300)
	j := w.export(t, "")
	pages := 0
	w.narrow.walked = func() {
		if pages++; pages == 45 { // in the fifth step
			if _, err := w.CancelJob(w.ctx, j.ID); err != nil {
				t.Error(err)
			}
		}
	}
	if r := w.tend(t); len(r) != 1 || r[0].Steps != 4 || r[0].Err != nil {
		t.Errorf("the run tells of %+v, want four steps, and no error: a client may cancel what is its own", r)
	}
	got, err := w.Job(w.ctx, j.ID)
	if err != nil || got.State != alloc.JobCancelled || got.Parts != 4 || pages != 50 {
		t.Errorf("after %d pages it is %+v, %v", pages, got, err)
	}
	if part, err := w.JobPart(w.ctx, j.ID, 3); err != nil || len(part) == 0 {
		t.Errorf("part 3: %d bytes, %v", len(part), err)
	}
	for _, n := range []int{4, 5, -1} { // the fifth was put, and does not count
		_, err := w.JobPart(w.ctx, j.ID, n)
		wantCode(t, err, alloc.CodeJobNotFound)
	}
}

// moving is a Store in which a job moves on whenever it is read.
type moving struct{ alloc.Store }

func (m moving) Job(ctx context.Context, id alloc.JobID) (alloc.Job, error) {
	j, err := m.Store.Job(ctx, id)
	if err == nil {
		_, err = m.Store.ChangeJob(ctx, j.Version, j)
	}
	return j, err
}

func TestAJobThatIsAlwaysMovingIsBusy(t *testing.T) {
	w := newWorks(t, 3)
	j := w.export(t, "")
	_, err := newService(t, moving{w.model}).CancelJob(w.ctx, j.ID)
	if e := wantCode(t, err, alloc.CodeBusy); e.RetryAfter == 0 {
		t.Error("there should be a hint")
	}
}

// One client cannot queue work without bound, and does not keep others from theirs.
func TestWaitingJobsAreBounded(t *testing.T) {
	w := newWorks(t, 3)
	var last alloc.Job
	for range 10 {
		last = w.export(t, "")
	}
	r := alloc.ExportRequest{Pool: pool, Format: "lines"}
	_, err := w.Export(w.ctx, r)
	if e := wantCode(t, err, alloc.CodeTooManyJobs); e.RetryAfter != time.Minute {
		t.Errorf("the hint is %v, want a minute", e.RetryAfter)
	}
	if _, err := w.Export(as(t.Context(), "other", alloc.AllScopes()...), r); err != nil {
		t.Errorf("another client: %v", err)
	}
	if _, err := w.CancelJob(w.ctx, last.ID); err != nil {
		t.Fatal(err)
	}
	w.export(t, "")
}

func TestJobsEndWithTheirRetention(t *testing.T) {
	w := newWorks(t, 3)
	j := w.export(t, "")
	w.clock.Advance(alloc.JobRetention)
	_, err := w.Job(w.ctx, j.ID)
	wantCode(t, err, alloc.CodeJobNotFound)
	if left := w.tend(t); len(left) != 0 {
		t.Errorf("the run tells of %+v", left)
	}
}

// A run that cannot list the jobs says so, and has swept all the same.
func TestTendWithoutAListOfJobs(t *testing.T) {
	w := newWorks(t, 3)
	w.store.SetPlan(alloctest.Script("OpenJobs", alloctest.Throttled))
	r, err := w.Tend(w.ctx)
	if wantCode(t, err, alloc.CodeThrottled); len(r.Swept) != 1 || len(r.Jobs) != 0 {
		t.Errorf("it tells of %+v", r)
	}
}

// Jobs are carried on side by side, in bounded runs.
func TestALongJobDoesNotHoldUpOthers(t *testing.T) {
	w := newWorks(t, 100)
	w.narrow.page = 1 // 10 steps for each
	if _, _, err := w.model.CreatePool(t.Context(), "empty", alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	var jobs []alloc.Job
	for i := range 61 {
		w.clock.Advance(time.Second)
		j := alloc.Job{ID: alloc.JobID(alloc.NewIntent(w.clock.Now())), Kind: alloc.JobExport, Pool: pool, Format: "lines", State: alloc.JobQueued, Created: w.clock.Now()}
		if i == 60 {
			j.Pool = "empty"
		}
		if err := w.model.CreateJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	steps := 0
	for i, r := range w.tend(t) {
		steps += r.Steps
		if ended := r.Job.State.Ended(); r.Job.ID != jobs[i].ID || ended != (i == 60) {
			t.Errorf("job %d: it tells of %+v", i, r)
		}
	}
	if steps != 500 {
		t.Errorf("%d steps in the run, want 500", steps)
	}
	w.tend(t)
	for _, j := range jobs[:60] {
		w.wantResult(t, j)
	}
}
