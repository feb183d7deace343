package alloc_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// narrow is a Store whose walks have small pages, some of them empty though they are not the last.
type narrow struct {
	alloc.Store
	page   int
	walked func() // called before each page
}

func (n *narrow) WalkIDs(ctx context.Context, pool alloc.PoolName, state alloc.State, mark string, limit int) ([]alloc.IDRecord, string, error) {
	if n.walked != nil {
		n.walked()
	}
	page, next, err := n.Store.WalkIDs(ctx, pool, "", mark, min(n.page, limit))
	page = slices.DeleteFunc(page, func(r alloc.IDRecord) bool { return state != "" && r.State != state })
	return page, next, err
}

// works is a Service with a pool of IDs, every third of them claimed.
type works struct {
	*office
	narrow *narrow
	ids    map[alloc.State][]string
}

func newWorks(t testing.TB, n int) *works {
	t.Helper()
	w := &works{office: newOffice(t), ids: map[alloc.State][]string{}}
	w.narrow = &narrow{Store: w.model, page: 3}
	w.store = alloctest.NewFaulty(w.narrow, nil)
	w.Service = w.another(t, 0)
	if _, _, err := w.model.CreatePool(t.Context(), pool, alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	ids := make([]alloc.ID, n)
	for i := range ids {
		ids[i] = alloc.ID(fmt.Sprintf("ID-%04d", i))
	}
	if _, err := w.model.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "job", IDs: ids}); err != nil {
		t.Fatal(err)
	}
	for range n / 3 {
		if _, err := w.model.Claim(t.Context(), alloc.ClaimOrder{Pool: pool, Count: 1, Owner: "someone"}); err != nil {
			t.Fatal(err)
		}
	}
	for mark, more := "", true; more; more = mark != "" {
		page, next, err := w.model.WalkIDs(t.Context(), pool, "", mark, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			w.ids[r.State] = append(w.ids[r.State], string(r.ID))
			w.ids[""] = append(w.ids[""], string(r.ID))
		}
		mark = next
	}
	return w
}

func (w *works) export(t testing.TB, of alloc.State) alloc.Job {
	t.Helper()
	j, err := w.Export(w.ctx, alloc.ExportRequest{Pool: pool, Of: of, Format: "lines"})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// result is what the parts of a job have, put together.
func (w *works) result(t testing.TB, id alloc.JobID) []string {
	t.Helper()
	j, err := w.Job(w.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for n := range j.Parts {
		part, err := w.JobPart(w.ctx, id, n)
		if err != nil || len(part) == 0 && j.Done > 0 || len(part) > alloc.MaxPartBytes {
			t.Fatalf("part %d has %d bytes, %v", n, len(part), err)
		}
		text = append(text, part...)
	}
	lines := strings.Fields(string(text))
	if j.Done != alloc.Count(len(lines)) {
		t.Errorf("the job counts %d IDs, its parts have %d", j.Done, len(lines))
	}
	return lines
}

// wantResult fails the test unless the job is done and has each ID in the state once.
func (w *works) wantResult(t testing.TB, j alloc.Job) {
	t.Helper()
	got, err := w.Job(w.ctx, j.ID)
	if err != nil || got.State != alloc.JobDone || got.Mark != "" || got.Failure != "" {
		t.Errorf("the job is %+v, %v, want it done", got, err)
	}
	if diff := cmp.Diff(w.ids[j.Of], w.result(t, j.ID), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the result (-want +got):\n%s", diff)
	}
}

func (w *works) tend(t testing.TB) []alloc.JobReport {
	t.Helper()
	r, err := w.Tend(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r.Jobs
}

func TestExportsHaveEachIDOnce(t *testing.T) {
	w := newWorks(t, 200)
	var jobs []alloc.Job
	for _, of := range []alloc.State{"", alloc.StateFree, alloc.StateClaimed, alloc.StateRetired} {
		j := w.export(t, of)
		want := alloc.Job{
			ID: j.ID, Kind: alloc.JobExport, Pool: pool, Of: of, Format: "lines", By: "admin", State: alloc.JobQueued, Version: 1,
			Created: w.clock.Now(), Updated: w.clock.Now(), Log: []alloc.JobEvent{{At: w.clock.Now(), Text: "made by admin"}},
		}
		if diff := cmp.Diff(want, j); diff != "" {
			t.Errorf("the job (-want +got):\n%s", diff)
		}
		jobs = append(jobs, j)
		w.clock.Advance(time.Second)
	}
	reports := w.tend(t)
	if len(reports) != 4 {
		t.Fatalf("the run tells of %+v, want four jobs", reports)
	}
	for i, j := range jobs {
		w.wantResult(t, j)
		r := reports[i]
		if r.Job.ID != j.ID || r.Job.State != alloc.JobDone || r.IDs != alloc.Count(len(w.ids[j.Of])) || r.Steps == 0 || r.Err != nil {
			t.Errorf("the run tells of %+v", r)
		}
	}
	if again := w.tend(t); len(again) != 0 {
		t.Errorf("the next run tells of %+v, want nothing left", again)
	}
	list, _, err := w.Jobs(w.ctx, "", 10)
	if err != nil || len(list) != 4 || list[0].ID != jobs[3].ID || list[3].ID != jobs[0].ID {
		t.Errorf("the jobs are %+v, %v, want the newest first", list, err)
	}
}

// A file without IDs is a file all the same: it has one part, which is empty.
func TestAnExportWithoutIDsHasOneEmptyPart(t *testing.T) {
	for n, of := range map[int]alloc.State{0: "", 30: alloc.StateRetired} {
		w := newWorks(t, n)
		j := w.export(t, of)
		_, err := w.JobPart(w.ctx, j.ID, 0)
		wantCode(t, err, alloc.CodeJobNotFound) // nobody knows yet
		w.tend(t)
		w.wantResult(t, j)
		if part, err := w.JobPart(w.ctx, j.ID, 0); err != nil || part == nil || len(part) > 0 {
			t.Errorf("part 0 is %q, %v", part, err)
		}
		if j, err = w.Job(w.ctx, j.ID); err != nil || j.Parts != 1 || j.Done != 0 {
			t.Errorf("the job is %+v, %v, want one part", j, err)
		}
		_, err = w.JobPart(w.ctx, j.ID, 1)
		wantCode(t, err, alloc.CodeJobNotFound)
	}
}

// However the work is cut off, the next runs come to its end, and the result has each ID once.
func TestACutOffExportIsResumed(t *testing.T) {
	for how, fault := range faults {
		for at := 0; ; at++ {
			w := newWorks(t, 100)
			j := w.export(t, alloc.StateFree)
			hit, n := false, 0
			w.store.SetPlan(func(alloctest.Call) alloctest.Fault {
				if n++; n == at+1 {
					hit = true
					return fault
				}
				return alloctest.Pass
			})
			for range 3 {
				s := w.another(t, 0) // a process that knows nothing of the one before
				if _, err := s.Tend(w.ctx); err != nil && !alloctest.Injected(err) {
					t.Error(err)
				}
			}
			w.store.SetPlan(nil)
			w.wantResult(t, j)
			if t.Failed() {
				t.Fatalf("with call %d %s", at, how)
			}
			if !hit {
				break
			}
		}
	}
}

// A process that dies between any two calls leaves what the next one goes on with.
func TestAnExportSurvivesItsProcess(t *testing.T) {
	for at := 0; ; at++ {
		w := newWorks(t, 100)
		j := w.export(t, "")
		ctx, die := context.WithCancel(w.ctx)
		n := 0
		w.store.SetPlan(func(alloctest.Call) alloctest.Fault {
			if n++; n > at {
				die()
				return alloctest.RefusedUnknown
			}
			return alloctest.Pass
		})
		if _, err := w.Tend(ctx); err != nil {
			t.Fatal(err)
		}
		died := ctx.Err() != nil
		die()
		w.store.SetPlan(nil)
		if job, err := w.Job(w.ctx, j.ID); err != nil || job.Tries != 0 {
			t.Fatalf("died after %d calls: %+v, %v; it was no failure", at, job, err)
		}
		w.tend(t)
		if w.wantResult(t, j); t.Failed() {
			t.Fatalf("died after %d calls", at)
		}
		if !died {
			break
		}
	}
}

// Several workers at once, over a pool in use, do each ID once at most, and what stays as it is surely.
func TestWorkersAtOnce(t *testing.T) {
	w := newWorks(t, 300)
	j := w.export(t, alloc.StateClaimed)
	before := w.ids[alloc.StateClaimed]
	var all sync.WaitGroup
	for range 5 {
		s := w.another(t, 0)
		all.Go(func() {
			for range 1000 { // each run but those that others are faster than brings it on
				if _, err := s.Tend(w.ctx); err != nil {
					t.Error(err)
					return
				}
				if now, err := s.Job(w.ctx, j.ID); err != nil || now.State.Ended() {
					return
				}
			}
			t.Error("the job does not end")
		})
	}
	all.Go(func() {
		for range 100 {
			if _, err := w.model.Claim(w.ctx, alloc.ClaimOrder{Pool: pool, Count: 1}); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	got := w.result(t, j.ID)
	if once := slices.Compact(slices.Sorted(slices.Values(got))); len(once) != len(got) {
		t.Errorf("%d IDs, %d of them different", len(got), len(once))
	}
	for _, id := range before {
		if !slices.Contains(got, id) {
			t.Errorf("%s is missing", id)
		}
	}
}

func TestTokensAreNotExported(t *testing.T) {
	w := newWorks(t, 30)
	w.export(t, "")
	var seen []alloc.IDRecord
	s, err := alloc.NewService(alloc.Config{Store: w.store, Now: w.clock.Now, Encoders: map[string]alloc.Encoder{
		"lines": func(ids []alloc.IDRecord) ([]byte, error) { seen = append(seen, ids...); return []byte("x"), nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tend(w.ctx); err != nil {
		t.Fatal(err)
	}
	owned := 0
	for _, r := range seen {
		if r.Token != "" {
			t.Errorf("the token of %s is given to the encoder", r.ID)
		}
		if r.Owner == "someone" && r.State == alloc.StateClaimed && !r.At.IsZero() {
			owned++
		}
	}
	if len(seen) != 30 || owned != 10 {
		t.Errorf("%d IDs, %d with their owner, want 30 and 10", len(seen), owned)
	}
	if r, err := w.model.Inspect(t.Context(), pool, "ID-0000"); err != nil || r.Token == "" && r.State == alloc.StateClaimed {
		t.Errorf("the pool's own record lost its token: %+v, %v", r, err)
	}
}

// Records that are too long for a part of the usual number make more parts.
func TestPartsAreBounded(t *testing.T) {
	for _, c := range []struct{ ids, lineBytes, parts int }{
		{3000, 10, 3}, {3000, 400, 6}, {60, 10_000, 2}, {4, alloc.MaxPartBytes, 4},
	} {
		w := newWorks(t, c.ids)
		w.narrow.page = 1000
		line := strings.Repeat(" ", c.lineBytes)
		wide := map[string]alloc.Encoder{"lines": func(ids []alloc.IDRecord) (text []byte, err error) {
			for _, id := range ids {
				text = append(append(text, id.ID...), line[len(id.ID)+1:]...)
				text = append(text, '\n')
			}
			return text, nil
		}}
		j := w.export(t, "")
		s, err := alloc.NewService(alloc.Config{Store: w.store, Now: w.clock.Now, Encoders: wide})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Tend(w.ctx); err != nil {
			t.Fatal(err)
		}
		w.wantResult(t, j)
		if j, err = w.Job(w.ctx, j.ID); err != nil || j.Parts < c.parts || j.Parts > 2*c.parts {
			t.Errorf("with %d bytes an ID there are %d parts, %v, want %d or a few more", c.lineBytes, j.Parts, err, c.parts)
		}
	}
}

// Of a part's number the first one stands, and the work goes on where that ends, not where ours would have.
func TestTheFirstPartStands(t *testing.T) {
	w := newWorks(t, 100)
	j := w.export(t, "")
	theirs := alloc.Part{Data: []byte("ID-0000\nID-0001\n"), IDs: 2, Next: "ID-0001"}
	if err := w.model.PutPart(t.Context(), j.ID, 0, theirs); err != nil {
		t.Fatal(err)
	}
	w.tend(t)
	w.wantResult(t, j)
	if part, err := w.JobPart(w.ctx, j.ID, 0); err != nil || string(part) != string(theirs.Data) {
		t.Errorf("part 0 is %q, %v", part, err)
	}
}
