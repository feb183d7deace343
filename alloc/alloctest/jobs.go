package alloctest

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"idpool/alloc"
)

var jobCases = []testCase{
	{"a job is read back as it was made, at version 1", func(w *world) {
		full, bare := w.job(1), alloc.Job{ID: w.job(2).ID, Kind: alloc.JobExport, Created: w.clock.Now(), Updated: w.clock.Now()}
		for _, j := range []alloc.Job{full, bare} {
			j.Version = 7 // is the Store's to set
			w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
			j.Version = 1
			w.sameJob(w.readJob(j.ID), j)
		}
	}},
	{"a repeat of a job's creation succeeds and changes nothing", func(w *world) {
		j := w.job(1)
		w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
		again := j
		again.State, again.Pool = alloc.JobDone, "another"
		w.ok(w.open().CreateJob(w.Context(), again), "CreateJob again")
		w.sameJob(w.readJob(j.ID), j)
		j.State = alloc.JobRunning
		_, err := w.open().ChangeJob(w.Context(), 1, j)
		w.ok(err, "ChangeJob")
		w.ok(w.open().CreateJob(w.Context(), again), "CreateJob after a change")
		j.Version = 2
		w.sameJob(w.readJob(j.ID), j)
	}},
	{"a job is kept in every field, with the longest lists that it has, and each change replaces all of it", func(w *world) {
		j := w.job(1)
		j.Log, j.Inputs = someEvents(j.Created, alloc.MaxJobEvents), someInputs(alloc.MaxJobInputs)
		bare := alloc.Job{ID: j.ID, Kind: alloc.JobCount, State: alloc.JobRunning, Created: j.Created, Updated: j.Updated}
		other := j
		other.Kind, other.State, other.Tally = alloc.JobSeed, alloc.JobReceiving, someTally(1<<50)
		other.Log, other.Inputs = someEvents(j.Updated, 1), someInputs(alloc.MaxJobInputs-1)
		w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
		w.sameJob(w.readJob(j.ID), j)
		for i, next := range []alloc.Job{other, j, bare, other} {
			for range 2 {
				_, err := w.open().ChangeJob(w.Context(), alloc.Version(i+1), next)
				w.ok(err, "ChangeJob")
				next.Version = alloc.Version(i + 2)
				w.sameJob(w.readJob(j.ID), next)
			}
		}
	}},
	{"a change of a job that differs in one field alone is no repeat", func(w *world) {
		n := 0
		for name, change := range jobChanges {
			n++
			j := w.job(n)
			w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
			_, err := w.open().ChangeJob(w.Context(), 1, j)
			w.ok(err, "ChangeJob")
			other := j
			other.Log, other.Inputs = slices.Clone(j.Log), slices.Clone(j.Inputs)
			change(&other)
			_, err = w.open().ChangeJob(w.Context(), 1, other)
			w.want(err, alloc.CodeVersionMismatch, "ChangeJob with another "+name)
			j.Version = 2
			w.sameJob(w.readJob(j.ID), j)
		}
	}},
	{"a job that is not there is job_not_found", func(w *world) {
		w.ok(w.open().CreateJob(w.Context(), w.job(1)), "CreateJob")
		_, err := w.open().Job(w.Context(), w.job(2).ID)
		w.want(err, alloc.CodeJobNotFound, "Job")
		_, err = w.open().ChangeJob(w.Context(), 1, w.job(2))
		w.want(err, alloc.CodeJobNotFound, "ChangeJob")
		_, err = w.open().Part(w.Context(), w.job(2).ID, 0)
		w.want(err, alloc.CodeJobNotFound, "Part")
	}},
	{"ChangeJob replaces the job and raises the version, and a repeat succeeds", func(w *world) {
		j := w.job(1)
		w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
		for i := range 4 {
			w.clock.Advance(time.Minute)
			j.State, j.Updated, j.Done, j.Parts = alloc.JobRunning, w.clock.Now(), alloc.Count(i)*1000, i
			j.Mark, j.Failure = fmt.Sprintf("mark %d/ä", i), fmt.Sprint("failure ", i)
			want := j
			want.Version = alloc.Version(i + 2)
			for range 2 {
				got, err := w.open().ChangeJob(w.Context(), alloc.Version(i+1), j)
				w.ok(err, "ChangeJob")
				w.sameJob(got, want)
				w.sameJob(w.readJob(j.ID), want)
			}
		}
	}},
	{"ChangeJob from another version is version_mismatch and changes nothing", func(w *world) {
		j := w.job(1)
		w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
		j.State = alloc.JobRunning
		_, err := w.open().ChangeJob(w.Context(), 1, j)
		w.ok(err, "ChangeJob")
		want := w.readJob(j.ID)
		j.State = alloc.JobCancelled
		for _, from := range []alloc.Version{1, 3, 1 << 40} {
			_, err := w.open().ChangeJob(w.Context(), from, j)
			equal(w, w.wantError(err, alloc.CodeVersionMismatch, "ChangeJob").Current, 2, "Current")
		}
		w.sameJob(w.readJob(j.ID), want)
	}},
	{"of many steps of a job at once, one is taken", func(w *world) {
		j := w.job(1)
		w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
		n := w.callers() / 5
		var taken atomic.Int64
		stores := w.processes(n)
		w.together(n, func(i int) {
			mine := j
			mine.Mark, mine.State = fmt.Sprint("step ", i), alloc.JobRunning
			switch _, err := stores[i].ChangeJob(w.Context(), 1, mine); {
			case err == nil:
				taken.Add(1)
			case !alloc.Is(err, alloc.CodeVersionMismatch):
				w.Errorf("ChangeJob beside others: got %v, want success or version_mismatch", err)
			}
		})
		equal(w, taken.Load(), 1, "steps that were taken")
	}},
	{"ListJobs lists newest first, page by page", func(w *world) {
		var want []string
		for i := range 9 {
			w.clock.Advance([]time.Duration{0, time.Second, time.Hour, 26 * time.Hour}[i%4])
			j := w.job(i)
			w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
			want = append(want, string(j.ID))
		}
		slices.Reverse(want)
		for _, limit := range []int{1, 4, 9, 100} {
			got := w.jobs(limit)
			equal(w, fmt.Sprint(got), fmt.Sprint(want), fmt.Sprintf("jobs in pages of %d", limit))
		}
		page, err := w.open().ListJobs(w.Context(), alloc.JobID(want[3]), 2)
		w.ok(err, "ListJobs before a job")
		equal(w, fmt.Sprint(page[0].ID, page[1].ID), fmt.Sprint(alloc.JobID(want[4]), alloc.JobID(want[5])), "jobs before a job")
	}},
	{"a job and its parts count as absent when its retention is over, and not before", func(w *world) {
		w.clock.Advance(time.Second)
		old := w.job(1)
		w.ok(w.open().CreateJob(w.Context(), old), "CreateJob")
		w.ok(w.open().PutPart(w.Context(), old.ID, 0, alloc.Part{Data: []byte("x"), IDs: 1}), "PutPart")
		w.clock.Advance(alloc.JobRetention - time.Second)
		young := w.job(2)
		w.ok(w.open().CreateJob(w.Context(), young), "CreateJob")
		equal(w, len(w.jobs(10)), 2, "jobs a second before the end")
		w.part(old.ID, 0, alloc.Part{Data: []byte("x"), IDs: 1})
		w.clock.Advance(2 * time.Second)
		_, err := w.open().Job(w.Context(), old.ID)
		w.want(err, alloc.CodeJobNotFound, "Job")
		_, err = w.open().ChangeJob(w.Context(), 1, old)
		w.want(err, alloc.CodeJobNotFound, "ChangeJob")
		_, err = w.open().Part(w.Context(), old.ID, 0)
		w.want(err, alloc.CodeJobNotFound, "Part")
		for _, limit := range []int{1, 10} {
			equal(w, fmt.Sprint(w.jobs(limit)), fmt.Sprint([]string{string(young.ID)}), "jobs")
		}
	}},
	{"a part is kept byte for byte, and the first of a number stays", func(w *world) {
		j, other := w.job(1), w.job(2)
		w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
		w.ok(w.open().CreateJob(w.Context(), other), "CreateJob")
		every := everyByte()
		parts := []alloc.Part{
			{Data: bytes.Repeat(every, alloc.MaxPartBytes/len(every)), IDs: 3000, Tally: someTally(7), Next: "mark/1 ä"},
			{Data: []byte{0}, IDs: 1, Tally: alloc.Tally{Invalid: 1}, Next: "mark 2"},
			{Data: nil, IDs: 0, Next: "an empty page"},
			{Data: every, IDs: 1 << 40},
		}
		for i, p := range parts {
			for range 2 {
				w.ok(w.open().PutPart(w.Context(), j.ID, i, p), "PutPart")
			}
			w.ok(w.open().PutPart(w.Context(), j.ID, i, alloc.Part{Data: []byte("another"), IDs: 7, Tally: someTally(9), Next: "x"}), "PutPart of another")
			_, err := w.open().Part(w.Context(), j.ID, i+1)
			w.want(err, alloc.CodeJobNotFound, "Part that is not there yet")
		}
		w.ok(w.open().PutPart(w.Context(), other.ID, 10, parts[1]), "PutPart")
		for i, p := range parts {
			w.part(j.ID, i, p)
		}
		w.part(other.ID, 10, parts[1])
		_, err := w.open().Part(w.Context(), other.ID, 1)
		w.want(err, alloc.CodeJobNotFound, "Part of a number that another's begins with")
	}},
	{"of many who put one part at once, one wins and stays", func(w *world) {
		j := w.job(1)
		w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
		n := w.callers() / 5
		stores := w.processes(n)
		w.together(n, func(i int) {
			if err := stores[i].PutPart(w.Context(), j.ID, 0, alloc.Part{Data: []byte{byte(i)}, IDs: alloc.Count(i), Next: fmt.Sprint(i)}); err != nil {
				w.Errorf("PutPart beside others: got %v, want no error", err)
			}
		})
		p, err := w.open().Part(w.Context(), j.ID, 0)
		w.ok(err, "Part")
		w.part(j.ID, 0, alloc.Part{Data: []byte{byte(p.IDs)}, IDs: p.IDs, Next: fmt.Sprint(p.IDs)})
	}},
	{"a creation, a step and a part whose answers are lost are repeated and stand once", func(w *world) {
		f := NewFaulty(w.open(), nil)
		for i, faults := range faultSeries() {
			j := w.job(i)
			f.SetPlan(Script("CreateJob", faults...))
			w.untilDone("CreateJob", func() error { return f.CreateJob(w.Context(), j) })
			p := alloc.Part{Data: []byte("part"), IDs: 1, Next: "m"}
			f.SetPlan(Script("PutPart", faults...))
			w.untilDone("PutPart", func() error { return f.PutPart(w.Context(), j.ID, 0, p) })
			w.part(j.ID, 0, p)
			j.Mark = "m"
			f.SetPlan(Script("ChangeJob", faults...))
			w.untilDone("ChangeJob", func() error { _, err := f.ChangeJob(w.Context(), 1, j); return err })
			j.Version = 2
			w.sameJob(w.readJob(j.ID), j)
		}
	}},
}

// jobChanges change one field of a job each.
var jobChanges = map[string]func(j *alloc.Job){
	"why":        func(j *alloc.Job) { j.Why = "" },
	"started":    func(j *alloc.Job) { j.Started = time.Time{} },
	"total":      func(j *alloc.Job) { j.Total++ },
	"tally":      func(j *alloc.Job) { j.Tally.Returning++ },
	"event":      func(j *alloc.Job) { j.Log[0].Text += "!" },
	"event time": func(j *alloc.Job) { j.Log[1].At = j.Log[1].At.Add(time.Second) },
	"log":        func(j *alloc.Job) { j.Log = j.Log[:1] },
	"column":     func(j *alloc.Job) { j.Column++ },
	"format":     func(j *alloc.Job) { j.Input.CSV = false },
	"ranges":     func(j *alloc.Job) { j.Input.Ranges = false },
	"check":      func(j *alloc.Job) { j.Spec.Check = "" },
	"first new":  func(j *alloc.Job) { j.Spec.FirstNew = "a" },
	"last new":   func(j *alloc.Job) { j.Spec.LastNew = "b" },
	"header":     func(j *alloc.Job) { j.Input.Header = alloc.HeaderNo },
	"inputs":     func(j *alloc.Job) { j.Inputs = nil },
	"digest":     func(j *alloc.Job) { j.Inputs[1].Digest = "0" },
	"entries":    func(j *alloc.Job) { j.Inputs[0].Entries++ },
	"state":      func(j *alloc.Job) { j.State = alloc.JobDone },
	"faults":     func(j *alloc.Job) { j.Faults++ },
	"change":     func(j *alloc.Job) { j.Change = "another" },
	"mark":       func(j *alloc.Job) { j.Mark += "2" },
}

// job makes the nth job, at the present time, with an ID of the form that Service gives it.
func (w *world) job(n int) alloc.Job {
	at := w.clock.Now()
	return alloc.Job{
		ID:   alloc.JobID(fmt.Sprintf("%013d%013d", at.Unix(), n)),
		Kind: alloc.JobExport, Pool: "p", Of: alloc.StateClaimed, Format: "csv", By: "client", State: alloc.JobQueued,
		Version: 1, Created: at, Updated: at.Add(time.Second), Done: 1, Parts: 2, Mark: "m/ä", Tries: 3, Faults: 2, Failure: "because", Change: "change",
		Why: "the fair in “Köln”\t2027", Started: at.Add(2 * time.Second), Total: 1 << 53, Tally: someTally(1), Log: someEvents(at, 2),
		Input:  alloc.SeedFormat{CSV: true, Column: "Code, größer", Header: alloc.HeaderYes, Ranges: true},
		Column: 3, Inputs: someInputs(2), Spec: alloc.JobSpec{Check: "another", FirstNew: "a\nb", LastNew: "größer"},
	}
}

// someTally has every field set, each to another number.
func someTally(n alloc.Count) alloc.Tally {
	return alloc.Tally{
		Added: n + 1, Duplicate: n + 2, Conflict: n + 3, Invalid: n + 4,
		Free: n + 5, Held: n + 6, Claimed: n + 7, Returning: n + 8, Retired: n + 1<<40,
	}
}

// someEvents are n events, a second each.
func someEvents(at time.Time, n int) []alloc.JobEvent {
	events := make([]alloc.JobEvent, n)
	for i := range events {
		events[i] = alloc.JobEvent{At: at.Add(time.Duration(i) * time.Second), Text: fmt.Sprintf("event %d, “größer”\n", i)}
	}
	return events
}

// someInputs are n parts, no two alike.
func someInputs(n int) []alloc.JobInput {
	inputs := make([]alloc.JobInput, n)
	for i := range inputs {
		inputs[i] = alloc.JobInput{Digest: fmt.Sprintf("%064x", i+1), Pieces: i + 1, Entries: alloc.Count(i) << 30, Lines: i * 1000}
	}
	return inputs
}

func (w *world) readJob(id alloc.JobID) alloc.Job {
	w.Helper()
	j, err := w.elsewhere().Job(w.Context(), id)
	w.ok(err, "Job")
	return j
}

func (w *world) sameJob(got, want alloc.Job) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(sameTime), cmpopts.EquateEmpty()); diff != "" {
		w.Fatalf("job (-want +got):\n%s", diff)
	}
}

// jobs reads the whole list in pages, and checks that each is as Job reads it.
func (w *world) jobs(limit int) (ids []string) {
	w.Helper()
	for _, j := range pages(w, "ListJobs", limit, func(before alloc.JobID) ([]alloc.Job, error) {
		return w.elsewhere().ListJobs(w.Context(), before, limit)
	}, func(j alloc.Job) alloc.JobID { return j.ID }) {
		w.sameJob(j, w.readJob(j.ID))
		ids = append(ids, string(j.ID))
	}
	return ids
}

// part stops the test unless the part of a job is as wanted.
func (w *world) part(id alloc.JobID, n int, want alloc.Part) {
	w.Helper()
	var got alloc.Part
	w.untilDone("Part", func() (err error) { // a long answer may be cut off, which a client repeats
		got, err = w.elsewhere().Part(w.Context(), id, n)
		return err
	})
	if !bytes.Equal(got.Data, want.Data) || got.IDs != want.IDs || got.Next != want.Next || got.Tally != want.Tally {
		w.Fatalf("part %d: got %d bytes, %d IDs, %+v, next %q; want %d, %d, %+v, %q",
			n, len(got.Data), got.IDs, got.Tally, got.Next, len(want.Data), want.IDs, want.Tally, want.Next)
	}
}
