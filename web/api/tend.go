package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"idpool/alloc"
	"idpool/web"
)

// At most so many entries of each kind are in the answer of a run of the schedule, so that it can be kept under a key
// however many pools there are. The log of the function refill has all.
const (
	maxSwept    = 350
	maxFailed   = 100
	maxJobs     = 50
	maxRefills  = 100
	maxRebuilds = 50
)

type tendAnswer struct {
	Swept    []sweepAnswer   `json:"swept"`
	Failed   []failedPool    `json:"failed"`
	Left     int             `json:"left"` // pools that the time was over for; the next run goes on with them
	Jobs     []tendedJob     `json:"jobs"`
	Refills  []tendedPool    `json:"refills"`
	Rebuilds []tendedRebuild `json:"rebuilds"`
	Unheard  int             `json:"unheard,omitzero"` // administrative steps that nobody has told the end of
	Open     int             `json:"open"`             // jobs that have not ended
	Foreign  int             `json:"foreign,omitzero"` // of these, those of a kind that this version does not know
	Oldest   time.Time       `json:"oldest,omitzero"`  // when a step of the one of these that has stood still longest last went well
	Sent     int             `json:"sent"`             // jobs that stood still, and were sent to the queue again
	Unsent   int             `json:"unsent,omitzero"`  // those that were not
	Omitted  int             `json:"omitted,omitzero"` // entries that are left out, as there are too many
}

type failedPool struct {
	Pool alloc.PoolName `json:"pool"`
	partialError
}

// tendedJob is a job that the run carried on, as it was left.
type tendedJob struct {
	ID       alloc.JobID        `json:"id"`
	Kind     alloc.JobKind      `json:"kind"`
	Pool     alloc.PoolName     `json:"pool,omitzero"`
	Sequence alloc.SequenceName `json:"sequence,omitzero"`
	State    alloc.JobState     `json:"state"`
	Steps    int                `json:"steps"`
	Written  alloc.Count        `json:"written"`         // IDs, or entries
	Error    *partialError      `json:"error,omitempty"` // why the run went no further with it
}

// tendedPool is a pool with a generator, and what the run did to fill it.
type tendedPool struct {
	Pool    alloc.PoolName `json:"pool"`
	Added   alloc.Count    `json:"added"`
	Batches int            `json:"batches"`
	Dry     string         `json:"dry,omitzero"`    // why the generator can make no more
	Error   *partialError  `json:"error,omitempty"` // why the run went no further
}

// tendedRebuild is the rebuild of a sequence that the run began or carried on, as it was left.
type tendedRebuild struct {
	Sequence  alloc.SequenceName `json:"sequence"`
	ID        alloc.JobID        `json:"id"`
	Step      alloc.RebuildStep  `json:"step"`
	Automatic bool               `json:"automatic"`
}

// tend does one run of the schedule's work.
func (a api) tend(ctx context.Context, _ request) (answer, error) {
	r, err := a.svc.Tend(ctx)
	web.LogAlarms(ctx, web.Logger(ctx), r)
	if err != nil {
		return answer{}, err
	}
	body := newTendAnswer(ctx, r)
	body.bound()
	return answer{status: http.StatusOK, body: body}, nil
}

func newTendAnswer(ctx context.Context, r alloc.TendReport) tendAnswer {
	a := tendAnswer{
		Swept: []sweepAnswer{}, Failed: []failedPool{}, Left: r.Left, Jobs: []tendedJob{}, Refills: []tendedPool{},
		Rebuilds: []tendedRebuild{}, Unheard: r.Unheard,
		Open: r.Open, Foreign: r.Foreign, Oldest: utc(r.Oldest), Sent: r.Sent, Unsent: r.Unsent,
	}
	for _, s := range r.Swept {
		a.Swept = append(a.Swept, newSweepAnswer(s))
	}
	for name, err := range r.Failed {
		a.Failed = append(a.Failed, failedPool{name, *explained(ctx, err)})
	}
	slices.SortFunc(a.Failed, func(x, y failedPool) int { return cmp.Compare(x.Pool, y.Pool) })
	for _, j := range r.Jobs {
		a.Jobs = append(a.Jobs, tendedJob{ID: j.Job.ID, Kind: j.Job.Kind, Pool: j.Job.Pool, Sequence: j.Job.Spec.Sequence, State: j.Job.State, Steps: j.Steps, Written: j.IDs, Error: explained(ctx, j.Err)})
	}
	for _, f := range r.Refills {
		a.Refills = append(a.Refills, tendedPool{f.Pool, f.Added, f.Batches, f.Dry, explained(ctx, f.Err)})
	}
	for _, b := range r.Rebuilds {
		a.Rebuilds = append(a.Rebuilds, tendedRebuild{b.Sequence, b.ID, b.Step, b.Auto})
	}
	return a
}

// explained is what a client may read of an error that spoils only a part of an answer; nil for none.
func explained(ctx context.Context, err error) *partialError {
	if err == nil {
		return nil
	}
	code, detail := web.Explain(ctx, err)
	return &partialError{code, detail}
}

// bound leaves out what is too much.
func (a *tendAnswer) bound() {
	all := a.entries()
	a.Swept = a.Swept[:min(len(a.Swept), maxSwept)]
	a.Failed = a.Failed[:min(len(a.Failed), maxFailed)]
	a.Jobs = a.Jobs[:min(len(a.Jobs), maxJobs)]
	a.Refills = a.Refills[:min(len(a.Refills), maxRefills)]
	a.Rebuilds = a.Rebuilds[:min(len(a.Rebuilds), maxRebuilds)]
	a.Omitted = all - a.entries()
}

func (a *tendAnswer) entries() int {
	return len(a.Swept) + len(a.Failed) + len(a.Jobs) + len(a.Refills) + len(a.Rebuilds)
}
