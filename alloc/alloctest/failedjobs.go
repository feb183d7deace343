package alloctest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"idpool/alloc"
)

var failedJobCases = []testCase{
	{"FailedJobs lists the jobs that ended badly, the last end first, page by page", func(w *world) {
		var want []string
		var order []alloc.Job
		for i := range 12 {
			j := w.job(i)
			w.ok(w.elsewhere().CreateJob(w.Context(), j), "CreateJob")
			order = append(order, j)
		}
		for i, n := range []int{7, 0, 11, 3, 5, 2, 9, 1, 10, 4, 8, 6} { // they end in another order than they were made
			w.clock.Advance([]time.Duration{0, time.Second, time.Hour}[i%3])
			if j := w.ends(order[n], ends[i%len(ends)]); j.EndedBadly() {
				want = append(want, j.EndPlace())
			}
		}
		slices.Sort(want)
		slices.Reverse(want)
		for _, limit := range []int{1, 2, 5, len(want), 100} {
			equal(w, fmt.Sprint(w.failedJobs(time.Time{}, limit)), fmt.Sprint(want), fmt.Sprintf("jobs that ended badly, in pages of %d", limit))
		}
	}},
	{"FailedJobs leaves out what ended before since, whenever that was made", func(w *world) {
		old, young, same := w.job(1), w.job(2), w.job(3)
		for _, j := range []alloc.Job{old, young, same} {
			w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
		}
		young = w.ends(young, alloc.Job{State: alloc.JobFailed})
		w.clock.Advance(time.Hour)
		since := w.clock.Now()
		same = w.ends(same, alloc.Job{State: alloc.JobFailed})
		w.clock.Advance(time.Hour)
		old = w.ends(old, alloc.Job{State: alloc.JobFailed})
		equal(w, fmt.Sprint(w.failedJobs(since, 10)), fmt.Sprint([]string{old.EndPlace(), same.EndPlace()}), "jobs since a moment")
		equal(w, fmt.Sprint(w.failedJobs(since.Add(-time.Hour), 1)), fmt.Sprint([]string{old.EndPlace(), same.EndPlace(), young.EndPlace()}), "jobs since an hour before")
		equal(w, len(w.failedJobs(w.clock.Now().Add(time.Second), 10)), 0, "jobs since a moment that is to come")
	}},
	{"a job is none that ended badly before its end, nor by a change that is refused", func(w *world) {
		j := w.job(1)
		w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
		equal(w, len(w.failedJobs(time.Time{}, 10)), 0, "jobs that ended badly, of one that is open")
		bad := j
		bad.State = alloc.JobFailed
		_, err := w.open().ChangeJob(w.Context(), 5, bad)
		w.want(err, alloc.CodeVersionMismatch, "ChangeJob")
		equal(w, len(w.failedJobs(time.Time{}, 10)), 0, "jobs that ended badly, after a change that was refused")
		good := j
		good.State = alloc.JobDone
		_, err = w.open().ChangeJob(w.Context(), 1, good)
		w.ok(err, "ChangeJob")
		_, err = w.open().ChangeJob(w.Context(), 1, bad)
		w.want(err, alloc.CodeVersionMismatch, "ChangeJob after the end")
		equal(w, len(w.failedJobs(time.Time{}, 10)), 0, "jobs that ended badly, of one that is done")
		bad = w.job(2)
		bad.State = alloc.JobFailed
		w.ok(w.open().CreateJob(w.Context(), bad), "CreateJob of one that has failed")
		equal(w, fmt.Sprint(w.failedJobs(time.Time{}, 10)), fmt.Sprint([]string{bad.EndPlace()}), "jobs that ended badly")
	}},
	{"a few jobs that ended badly are found among many that ended well", func(w *world) {
		n := size(300)
		var want []string
		for i := range n {
			j := w.job(i)
			w.ok(w.elsewhere().CreateJob(w.Context(), j), "CreateJob")
			state := alloc.JobDone
			if i == 0 || i == n/2 || i == n-1 {
				state = alloc.JobFailed
			}
			if j = w.ends(j, alloc.Job{State: state}); state == alloc.JobFailed {
				want = append(want, j.EndPlace())
			}
			w.clock.Advance(time.Second)
		}
		slices.Reverse(want)
		for _, limit := range []int{1, 2, 50} {
			equal(w, fmt.Sprint(w.failedJobs(time.Time{}, limit)), fmt.Sprint(want), "jobs that ended badly")
		}
	}},
	{"a job that ended badly is gone when its retention is over", func(w *world) {
		j := w.job(1)
		w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
		w.clock.Advance(alloc.JobRetention - time.Minute)
		w.ends(j, alloc.Job{State: alloc.JobFailed})
		equal(w, len(w.failedJobs(time.Time{}, 10)), 1, "jobs a minute before the end")
		w.clock.Advance(2 * time.Minute)
		equal(w, len(w.failedJobs(time.Time{}, 10)), 0, "jobs after it")
	}},
	{"a bad end that has lost its answer, or was refused, is listed once when it was repeated", func(w *world) {
		f := NewFaulty(w.open(), nil)
		for i, faults := range faultSeries() {
			j := w.job(i)
			w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
			j.State, j.Updated = alloc.JobFailed, w.clock.Now()
			f.SetPlan(Script("ChangeJob", faults...))
			w.untilDone("ChangeJob", func() error { _, err := f.ChangeJob(w.Context(), 1, j); return err })
			equal(w, fmt.Sprint(w.failedJobs(w.clock.Now(), 10)), fmt.Sprint([]string{j.EndPlace()}), "jobs that ended badly")
			w.clock.Advance(time.Second)
		}
	}},
	{"of two ends of a job one is taken, and that is the one that is listed", func(w *world) {
		for i := range 8 {
			j := w.job(i)
			w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
			stores := w.processes(2)
			var taken atomic.Int64
			w.together(2, func(n int) {
				mine := j
				mine.State, mine.Updated, mine.Failure = alloc.JobFailed, j.Updated.Add(time.Duration(n)*time.Second), fmt.Sprint(n)
				if _, err := stores[n].ChangeJob(w.Context(), 1, mine); err == nil {
					taken.Add(1)
				}
			})
			equal(w, taken.Load(), 1, "ends that were taken")
			equal(w, len(w.failedJobs(time.Time{}, 100)), i+1, "jobs that ended badly")
		}
	}},
}

// ends are the ways in which jobs end.
var ends = []alloc.Job{
	{State: alloc.JobFailed},
	{State: alloc.JobDone},
	{State: alloc.JobDone, Verdict: alloc.VerdictFindings},
	{State: alloc.JobCancelled},
	{State: alloc.JobDone, Verdict: alloc.VerdictHealthy},
}

// ends ends a job of version 1 now, as the end says.
func (w *world) ends(j, end alloc.Job) alloc.Job {
	w.Helper()
	j.State, j.Verdict, j.Updated = end.State, end.Verdict, w.clock.Now()
	ended, err := w.elsewhere().ChangeJob(w.Context(), 1, j)
	w.ok(err, "ChangeJob to the end")
	return ended
}

// failedJobs reads the whole list in pages, and checks that each is as Job reads it.
func (w *world) failedJobs(since time.Time, limit int) (places []string) {
	w.Helper()
	s := w.open()
	for _, j := range pages(w, "FailedJobs", limit, func(before string) ([]alloc.Job, error) {
		return s.FailedJobs(w.Context(), since, before, limit)
	}, alloc.Job.EndPlace) {
		w.sameJob(j, w.readJob(j.ID))
		places = append(places, j.EndPlace())
	}
	return places
}
