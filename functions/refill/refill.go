package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"idpool/alloc"
)

// reserve is what a run leaves of its time for its own last words.
const reserve = 2 * time.Second

// tender is what of alloc.Service a run needs.
type tender interface {
	Tend(context.Context) (alloc.TendReport, error)
}

type refill struct {
	service tender
	logger  *slog.Logger
}

// result is the answer to an event, and the log line of a run.
type result struct {
	Swept    int                           `json:"swept"`    // pools
	Passed   alloc.Count                   `json:"passed"`   // listings found settled
	Relisted alloc.Count                   `json:"relisted"` // free listings published again
	Returned alloc.Count                   `json:"returned"` // IDs that came back
	Voided   alloc.Count                   `json:"voided"`   // given-up batches settled
	Unswept  []alloc.PoolName              `json:"unswept"`  // pools with work left for the next run
	Left     int                           `json:"left"`     // pools that the time was over for
	Failed   map[alloc.PoolName]alloc.Code `json:"failed"`
	Jobs     int                           `json:"jobs"`    // that were carried on
	Written  alloc.Count                   `json:"written"` // IDs, by jobs
	Stuck    map[alloc.JobID]alloc.Code    `json:"stuck"`   // jobs that could not be carried on
}

// run answers one event of the schedule, whatever stands in it. It ends before the function's time does; the next run
// goes on where it stopped. A pool that could not be swept makes the run fail, and so does a job that could not be carried
// on, so that the function's error metric shows it; the others get their turn all the same, and repeating a run is harmless.
func (r *refill) run(ctx context.Context, _ json.RawMessage) (result, error) {
	ctx = alloc.WithCaller(ctx, alloc.Caller{
		Client: alloc.ScheduleClient, Scopes: []alloc.Scope{{Action: alloc.ActionTend, Pattern: "*"}},
	})
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-reserve))
		defer cancel()
	}
	report, err := r.service.Tend(ctx)
	res := result{Left: report.Left, Unswept: []alloc.PoolName{}, Failed: map[alloc.PoolName]alloc.Code{}, Stuck: map[alloc.JobID]alloc.Code{}}
	for _, s := range report.Swept {
		res.Swept++
		res.Passed += s.Passed
		res.Relisted += s.Relisted
		res.Returned += s.Returned
		res.Voided += s.Voided
		if s.More {
			res.Unswept = append(res.Unswept, s.Pool)
		}
	}
	faults := []error{err}
	for pool, fault := range report.Failed {
		if alloc.Is(fault, alloc.CodePoolRebuilding) { // it is swept when that is over
			if !slices.Contains(res.Unswept, pool) {
				res.Unswept = append(res.Unswept, pool)
			}
			continue
		}
		res.Failed[pool] = alloc.CodeOf(fault)
		faults = append(faults, fmt.Errorf("sweep %s: %w", pool, fault))
	}
	for _, j := range report.Jobs {
		res.Jobs++
		res.Written += j.IDs
		if j.Err != nil {
			res.Stuck[j.Job.ID] = alloc.CodeOf(j.Err)
			faults = append(faults, fmt.Errorf("job %s: %w", j.Job.ID, j.Err))
		}
	}
	err = errors.Join(faults...)
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelError
	}
	r.logger.LogAttrs(ctx, level, "run of the schedule", slog.Any("result", res), slog.Any("error", err))
	return res, err
}
