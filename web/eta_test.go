package web

import (
	"testing"
	"time"

	"idpool/alloc"
)

func TestETA(t *testing.T) {
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	job := func(state alloc.JobState, took time.Duration, done, total alloc.Count) alloc.Job {
		return alloc.Job{State: state, Started: noon, Updated: noon.Add(took), Done: done, Total: total}
	}
	unbegun := job(alloc.JobRunning, time.Minute, 5, 10)
	unbegun.Started = time.Time{}
	for name, tt := range map[string]struct {
		job  alloc.Job
		want time.Duration // after noon; 0 where it cannot be told
	}{
		"half of it took a minute":             {job(alloc.JobRunning, time.Minute, 5, 10), 2 * time.Minute},
		"the rest is rounded up":               {job(alloc.JobRunning, time.Second, 3, 10), 4 * time.Second},
		"it was queued":                        {job(alloc.JobQueued, time.Minute, 5, 10), 0},
		"it has ended":                         {job(alloc.JobDone, time.Minute, 5, 10), 0},
		"nothing is done":                      {job(alloc.JobRunning, time.Minute, 0, 10), 0},
		"all is done":                          {job(alloc.JobRunning, time.Minute, 10, 10), 0},
		"nobody knows how much there is":       {job(alloc.JobRunning, time.Minute, 5, 0), 0},
		"it took no time":                      {job(alloc.JobRunning, 0, 5, 10), 0},
		"it never began":                       {unbegun, 0},
		"it was changed before it began":       {job(alloc.JobRunning, -time.Minute, 5, 10), 0},
		"by then there is no such job":         {job(alloc.JobRunning, time.Hour, 1, 200), 0},
		"by then nobody who asks is there":     {job(alloc.JobRunning, time.Hour, 1, 1<<62), 0},
		"at the end of the time it is kept":    {job(alloc.JobRunning, time.Hour, 1, 169), 169 * time.Hour},
		"just beyond the time that it is kept": {job(alloc.JobRunning, time.Hour, 1, 170), 0},
	} {
		at, ok := ETA(tt.job)
		if ok != (tt.want != 0) || ok && !at.Equal(noon.Add(tt.want)) {
			t.Errorf("%s: %v, %t; want %s after noon", name, at, ok, tt.want)
		}
	}
}
