package alloc

import "context"

// Step is word to a worker: the job has a next step, as of that version. Where the job has moved on since, whoever moved it
// has sent word of its own, and this one is dropped. So messages that were doubled do not stay two.
type Step struct {
	Job     JobID
	Version Version
}

// Queue takes word to the workers. It may lose a message, deliver it twice, late or out of order: the job's own version
// decides what is still to be done, and the schedule sends again for jobs that stand still.
type Queue interface {
	Send(ctx context.Context, s Step) error
}
