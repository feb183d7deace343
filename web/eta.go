package web

import (
	"math"
	"time"

	"idpool/alloc"
)

// ETA is when a running job ends if it goes on as it has, in whole seconds. It is told by what was done from its first step to
// its last; ok is false where that is nothing yet, or nobody knows how much there is to do.
func ETA(j alloc.Job) (at time.Time, ok bool) {
	took, p := j.Updated.Sub(j.Started), j.Progress()
	if j.State != alloc.JobRunning || j.Started.IsZero() || took <= 0 || p.Done <= 0 || p.Done >= p.Total {
		return time.Time{}, false
	}
	left := took.Seconds() * float64(p.Total-p.Done) / float64(p.Done)
	if left > alloc.JobRetention.Seconds() { // by then nobody can ask for it any more
		return time.Time{}, false
	}
	return j.Updated.Add(time.Duration(math.Ceil(left)) * time.Second), true
}
