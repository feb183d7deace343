package alloc_test

import (
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

// A step is tried once a run, for a stated number of runs; one that works makes good for all before.
func TestAStepThatFailsIsTriedAgain(t *testing.T) {
	w := newWorks(t, 100)
	j, other := w.export(t, ""), w.export(t, alloc.StateClaimed)
	broken := func(c alloctest.Call) alloctest.Fault {
		if c.Method == "PutPart" {
			return alloctest.Refused
		}
		return alloctest.Pass
	}
	w.store.SetPlan(broken)
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

	failing := w.export(t, "")
	w.store.SetPlan(broken)
	for range alloc.MaxJobTries {
		w.tend(t)
	}
	got, err := w.Job(w.ctx, failing.ID)
	if err != nil || got.State != alloc.JobFailed || !strings.Contains(got.Failure, "20 tries") || strings.Contains(got.Failure, "injected") {
		t.Errorf("the job is %+v, %v, want it given up", got, err)
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
