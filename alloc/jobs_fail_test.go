package alloc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

func TestAnExportThatCannotWorkFails(t *testing.T) {
	cannot := map[string]alloc.Encoder{
		"an error":      func([]alloc.IDRecord) ([]byte, error) { return nil, errors.New("internal detail") },
		"a panic":       func([]alloc.IDRecord) ([]byte, error) { panic("internal detail") },
		"too long a ID": func([]alloc.IDRecord) ([]byte, error) { return make([]byte, alloc.MaxPartBytes+1), nil },
	}
	for what, encode := range cannot {
		w := newWorks(t, 30)
		bad := w.export(t, "")
		w.clock.Advance(time.Second)
		s, err := alloc.NewService(alloc.Config{Store: w.store, Now: w.clock.Now, Encoders: map[string]alloc.Encoder{"lines": encode}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Tend(w.ctx)
		if err != nil || len(r.Jobs) != 1 || r.Jobs[0].Err == nil || r.Jobs[0].Steps != 0 {
			t.Errorf("%s: the run tells of %+v, %v", what, r.Jobs, err)
		}
		j, err := w.Job(w.ctx, bad.ID)
		if err != nil || j.State != alloc.JobFailed || j.Failure == "" || strings.Contains(j.Failure, "internal detail") {
			t.Errorf("%s: the job is %+v, %v, want it failed in words for a client", what, j, err)
		}
		if left := w.tend(t); len(left) != 0 {
			t.Errorf("%s: the next run tells of %+v", what, left)
		}
	}
}

// A step is tried once a run; one that works makes good for all before.
func TestAStepThatFailsIsTriedAgain(t *testing.T) {
	w := newWorks(t, 100)
	j, other := w.export(t, ""), w.export(t, alloc.StateClaimed)
	w.store.SetPlan(failing("PutPart", alloctest.Refused))
	for try := 1; try < alloc.MaxJobTries; try++ {
		for _, r := range w.tend(t) {
			if r.Job.Tries != try || r.Steps != 0 || !alloctest.Injected(r.Err) || r.Job.State.Ended() {
				t.Fatalf("try %d: %+v", try, r)
			}
		}
	}
	w.store.SetPlan(nil)
	if _, err := w.CancelJob(w.ctx, other.ID); err != nil {
		t.Fatal(err)
	}
	w.tend(t)
	w.wantResult(t, j)
}

// faulted is a Store in which no part can be put, for a reason of ours.
type faulted struct{ alloc.Store }

func (faulted) PutPart(context.Context, alloc.JobID, int, alloc.Part) error {
	return alloc.Errorf(alloc.CodeInternal, "something went wrong on our side")
}

// What does not pass by itself is tried a stated number of times, however many tries failed before for what does.
func TestAFaultOfOursIsGivenUpAfterSoManyTries(t *testing.T) {
	w := newWorks(t, 100)
	j := w.export(t, "")
	w.store.SetPlan(failing("PutPart", alloctest.Throttled))
	for range 3 * alloc.MaxJobTries {
		w.tend(t)
	}
	w.store = alloctest.NewFaulty(faulted{w.narrow}, nil)
	w.Service = w.another(t, 0)
	for try := 1; try <= alloc.MaxJobTries; try++ {
		if now, err := w.Job(w.ctx, j.ID); err != nil || now.State != alloc.JobQueued || now.Tries != 3*alloc.MaxJobTries+try-1 || now.Faults != try-1 {
			t.Fatalf("before try %d the job is %+v, %v", try, now, err)
		}
		w.tend(t)
	}
	if got, err := w.Job(w.ctx, j.ID); err != nil || got.State != alloc.JobFailed || !strings.Contains(got.Failure, "given up after 80 tries") {
		t.Errorf("the job is %+v, %v, want it given up", got, err)
	}
}

// What passes by itself fails a job after a day without a step that went well, and one of these begins the day anew.
func TestAnOutageOfADayFailsAJob(t *testing.T) {
	w := newWorks(t, 100)
	j := w.export(t, "")
	puts := 0
	w.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		if c.Method != "PutPart" {
			return alloctest.Pass
		}
		if puts++; puts == 11 {
			return alloctest.Pass
		}
		return alloctest.RefusedUnknown
	})
	for run := range 35 { // in the run with put 11, put 12 fails: the hour before the last event
		now, err := w.Job(w.ctx, j.ID)
		if err != nil || now.State.Ended() {
			t.Fatalf("before run %d the job is %+v, %v", run, now, err)
		}
		w.tend(t)
		w.clock.Advance(time.Hour)
	}
	got, err := w.Job(w.ctx, j.ID)
	if err != nil || got.State != alloc.JobFailed || got.Parts != 1 || !strings.Contains(got.Failure, "tries in 24h0m0s") || strings.Contains(got.Failure, "injected") {
		t.Errorf("the job is %+v, %v, want it given up a day after its only step, in words for a client", got, err)
	}
}

func TestAnExportOfAPoolThatIsGoneFails(t *testing.T) {
	w := newWorks(t, 30)
	j := alloc.Job{ID: alloc.JobID(alloc.NewIntent(w.clock.Now())), Kind: alloc.JobExport, Pool: "gone", Format: "lines", State: alloc.JobQueued, Created: w.clock.Now()}
	if err := w.model.CreateJob(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	w.tend(t)
	if got, err := w.Job(w.ctx, j.ID); err != nil || got.State != alloc.JobFailed || !strings.Contains(got.Failure, "gone") {
		t.Errorf("the job is %+v, %v", got, err)
	}
}

func TestExportsWithAnotherFormatAreLeftToOthers(t *testing.T) {
	w := newWorks(t, 30)
	j := w.export(t, "")
	for _, encoders := range []map[string]alloc.Encoder{nil, {"csv": encoders["lines"]}} {
		s, err := alloc.NewService(alloc.Config{Store: w.store, Now: w.clock.Now, Encoders: encoders})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Tend(w.ctx); err != nil || len(r.Jobs) != 0 {
			t.Errorf("the run tells of %+v, %v", r.Jobs, err)
		}
		_, err = s.Export(w.ctx, alloc.ExportRequest{Pool: pool, Format: "lines"})
		wantCode(t, err, alloc.CodeInvalidRequest)
	}
	w.tend(t)
	w.wantResult(t, j)
}
