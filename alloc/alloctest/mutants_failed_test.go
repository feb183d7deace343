package alloctest

import (
	"context"
	"slices"
	"strings"
	"time"

	"idpool/alloc"
)

// failedMutants list the jobs that ended badly in another way.
var failedMutants = []mutant{
	{"jobs with findings have ended well", []string{"FailedJobs lists the jobs"}, failingJobs(func(s failedJobs, since time.Time, before string, limit int) []alloc.Job {
		return s.all(since, before, limit, func(j alloc.Job) bool { return j.State == alloc.JobFailed })
	})},
	{"jobs that were cancelled have ended badly", []string{"FailedJobs lists the jobs"}, failingJobs(func(s failedJobs, since time.Time, before string, limit int) []alloc.Job {
		return s.all(since, before, limit, func(j alloc.Job) bool { return j.EndedBadly() || j.State == alloc.JobCancelled })
	})},
	{"jobs that ended badly come in the order in which they were made", []string{"FailedJobs lists the jobs"}, failingJobs(func(s failedJobs, since time.Time, before string, limit int) []alloc.Job {
		jobs := s.all(since, before, limit, alloc.Job.EndedBadly)
		slices.SortFunc(jobs, func(a, b alloc.Job) int { return strings.Compare(string(b.ID), string(a.ID)) })
		return jobs
	})},
	{"a job counts by when it was made, not by when it ended", []string{"FailedJobs leaves out"}, failingJobs(func(s failedJobs, since time.Time, before string, limit int) []alloc.Job {
		return s.all(since, before, limit, func(j alloc.Job) bool { return j.EndedBadly() && !j.Created.Before(since) })
	})},
	{"jobs that ended badly are looked for among the newest", []string{"a few jobs that ended badly"}, failingJobs(func(s failedJobs, since time.Time, before string, limit int) []alloc.Job {
		newest, err := s.ListJobs(context.Background(), "", size(25))
		return s.all(since, before, limit, func(j alloc.Job) bool {
			return err == nil && j.EndedBadly() && slices.ContainsFunc(newest, func(n alloc.Job) bool { return n.ID == j.ID })
		})
	})},
	{"what ended at the very moment is left out", []string{"FailedJobs leaves out"}, failingJobs(func(s failedJobs, since time.Time, before string, limit int) []alloc.Job {
		return s.all(since, before, limit, func(j alloc.Job) bool { return j.EndedBadly() && j.Updated.After(since) })
	})},
}

type failedJobs struct {
	*Model
	by func(s failedJobs, since time.Time, before string, limit int) []alloc.Job
}

func failingJobs(by func(s failedJobs, since time.Time, before string, limit int) []alloc.Job) func(m *Model) alloc.Store {
	return func(m *Model) alloc.Store { return failedJobs{m, by} }
}

func (s failedJobs) FailedJobs(ctx context.Context, since time.Time, before string, limit int) ([]alloc.Job, error) {
	if _, err := s.Model.FailedJobs(ctx, since, before, limit); err != nil {
		return nil, err
	}
	return s.by(s, since, before, limit), nil
}

// all lists the jobs that the filter takes as FailedJobs does.
func (s failedJobs) all(since time.Time, before string, limit int, takes func(alloc.Job) bool) (found []alloc.Job) {
	jobs, err := s.ListJobs(context.Background(), "", 1<<20)
	for _, j := range jobs {
		if err == nil && takes(j) && !j.Updated.Before(since) && (before == "" || j.EndPlace() < before) {
			found = append(found, j)
		}
	}
	slices.SortFunc(found, func(a, b alloc.Job) int {
		if a.EndPlace() > b.EndPlace() {
			return -1
		}
		return 1
	})
	return found[:min(limit, len(found))]
}
