package alloctest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"idpool/alloc"
)

var openJobCases = []testCase{
	{"OpenJobs lists the jobs that have not ended, the oldest first, page by page", func(w *world) {
		var want []string
		for i, state := range slices.Concat(openStates, endedStates, openStates, openStates, endedStates, openStates) {
			w.clock.Advance([]time.Duration{0, time.Second, time.Hour}[i%3])
			if j := w.inState(i, state); !state.Ended() {
				want = append(want, string(j.ID))
			}
		}
		for _, limit := range []int{1, 5, len(want), 100} {
			equal(w, fmt.Sprint(w.openJobs(limit)), fmt.Sprint(want), fmt.Sprintf("open jobs in pages of %d", limit))
		}
		page, err := w.open().OpenJobs(w.Context(), alloc.JobID(want[3]), 2)
		w.ok(err, "OpenJobs after a job")
		equal(w, fmt.Sprint(page[0].ID, page[1].ID), fmt.Sprint(alloc.JobID(want[4]), alloc.JobID(want[5])), "open jobs after a job")
	}},
	{"a job is open in every state but the last ones, from its creation to the change that ends it", func(w *world) {
		for i, end := range endedStates {
			j := w.job(i)
			j.State = alloc.JobReceiving
			w.ok(w.open().CreateJob(w.Context(), j), "CreateJob")
			for n, state := range slices.Concat(openStates, openStates[1:]) {
				j.State, j.Mark = state, fmt.Sprint("mark ", n)
				_, err := w.open().ChangeJob(w.Context(), alloc.Version(n+1), j)
				w.ok(err, "ChangeJob")
				equal(w, fmt.Sprint(w.openJobs(10)), fmt.Sprint([]alloc.JobID{j.ID}), "open jobs")
			}
			j.State = end
			for range 2 { // a repeat ends it too
				_, err := w.open().ChangeJob(w.Context(), 6, j)
				w.ok(err, "ChangeJob to the end")
				equal(w, len(w.openJobs(10)), 0, fmt.Sprintf("open jobs after one is %s", end))
			}
			equal(w, w.readJob(j.ID).State, end, "state")
		}
	}},
	{"a change that is refused neither ends a job nor opens one", func(w *world) {
		open, ended := w.inState(1, alloc.JobRunning), w.inState(2, alloc.JobDone)
		for _, from := range []alloc.Version{0, 5} {
			for to, j := range map[alloc.JobState]alloc.Job{alloc.JobDone: open, alloc.JobRunning: ended} {
				j.State = to
				_, err := w.open().ChangeJob(w.Context(), from, j)
				w.want(err, alloc.CodeVersionMismatch, "ChangeJob")
			}
		}
		w.ok(w.open().CreateJob(w.Context(), w.job(2)), "CreateJob again")
		equal(w, fmt.Sprint(w.openJobs(10)), fmt.Sprint([]alloc.JobID{open.ID}), "open jobs")
	}},
	{"a few open jobs are found among many that have ended, wherever they stand", func(w *world) {
		n := size(300)
		var want []string
		for i := range n {
			state := endedStates[i%3]
			if i == 0 || i == n/2 || i == n-1 {
				state = alloc.JobQueued
			}
			if j := w.inState(i, state); state == alloc.JobQueued {
				want = append(want, string(j.ID))
			}
			if i%10 == 0 {
				w.clock.Advance(time.Minute)
			}
		}
		for _, limit := range []int{1, 2, 50} {
			equal(w, fmt.Sprint(w.openJobs(limit)), fmt.Sprint(want), fmt.Sprintf("open jobs in pages of %d", limit))
		}
	}},
	{"a job that never ended is not open any more when its retention is over", func(w *world) {
		old := w.inState(1, alloc.JobRunning)
		w.clock.Advance(alloc.JobRetention - time.Second)
		young := w.inState(2, alloc.JobReceiving)
		equal(w, fmt.Sprint(w.openJobs(1)), fmt.Sprint([]alloc.JobID{old.ID, young.ID}), "open jobs a second before the end")
		w.clock.Advance(2 * time.Second)
		for _, limit := range []int{1, 10} {
			equal(w, fmt.Sprint(w.openJobs(limit)), fmt.Sprint([]alloc.JobID{young.ID}), "open jobs")
		}
	}},
	{"where there are no jobs, none are open", func(w *world) {
		equal(w, len(w.openJobs(10)), 0, "open jobs")
		page, err := w.open().OpenJobs(w.Context(), w.job(5).ID, 10)
		w.ok(err, "OpenJobs after a job that is not there")
		equal(w, len(page), 0, "open jobs after one")
	}},
	{"no open job is missed while others are made and end", func(w *world) {
		const rounds = 4
		n := w.callers() / 5
		stays := []string{string(w.inState(5000, alloc.JobRunning).ID), string(w.inState(6000, alloc.JobQueued).ID)}
		stores := w.processes(n)
		var ended atomic.Int64
		w.together(n, func(i int) {
			for round := range rounds {
				if i == 0 {
					page, err := stores[i].OpenJobs(w.Context(), "", 1000)
					for _, id := range stays {
						if !slices.ContainsFunc(page, func(j alloc.Job) bool { return string(j.ID) == id }) {
							w.Errorf("OpenJobs beside others: got %d jobs and %v, want %s among them", len(page), err, id)
						}
					}
					continue
				}
				j := w.job(100*i + round)
				err := stores[i].CreateJob(w.Context(), j)
				if err == nil {
					j.State = alloc.JobDone
					_, err = stores[i].ChangeJob(w.Context(), 1, j)
				}
				if err != nil {
					w.Errorf("a job beside others: got %v, want no error", err)
					continue
				}
				ended.Add(1)
			}
		})
		equal(w, ended.Load(), int64(rounds*(n-1)), "jobs that ended")
		equal(w, fmt.Sprint(w.openJobs(100)), fmt.Sprint(stays), "open jobs")
	}},
	{"a job whose creation or end has lost its answer, or was refused, is open or not when it was repeated", func(w *world) {
		f := NewFaulty(w.open(), nil)
		for i, faults := range faultSeries() {
			j := w.job(i)
			f.SetPlan(Script("CreateJob", faults...))
			w.untilDone("CreateJob", func() error { return f.CreateJob(w.Context(), j) })
			equal(w, fmt.Sprint(w.openJobs(10)), fmt.Sprint([]alloc.JobID{j.ID}), "open jobs")
			j.State = alloc.JobCancelled
			f.SetPlan(Script("ChangeJob", faults...))
			w.untilDone("ChangeJob", func() error { _, err := f.ChangeJob(w.Context(), 1, j); return err })
			equal(w, len(w.openJobs(10)), 0, "open jobs after the end")
		}
	}},
}

var (
	openStates  = []alloc.JobState{alloc.JobReceiving, alloc.JobQueued, alloc.JobRunning}
	endedStates = []alloc.JobState{alloc.JobDone, alloc.JobFailed, alloc.JobCancelled}
)

// inState makes the nth job in a state; one that has ended is made open, and ended then.
func (w *world) inState(n int, state alloc.JobState) alloc.Job {
	w.Helper()
	j := w.job(n)
	if !state.Ended() {
		j.State = state
	}
	w.ok(w.elsewhere().CreateJob(w.Context(), j), "CreateJob")
	if state.Ended() {
		j.State = state
		_, err := w.elsewhere().ChangeJob(w.Context(), 1, j)
		w.ok(err, "ChangeJob to the end")
	}
	return j
}

// openJobs reads the whole list in pages, and checks that each is as Job reads it.
func (w *world) openJobs(limit int) (ids []string) {
	w.Helper()
	s := w.open()
	for _, j := range pages(w, "OpenJobs", limit, func(after alloc.JobID) ([]alloc.Job, error) {
		return s.OpenJobs(w.Context(), after, limit)
	}, func(j alloc.Job) alloc.JobID { return j.ID }) {
		w.sameJob(j, w.readJob(j.ID))
		ids = append(ids, string(j.ID))
	}
	return ids
}
