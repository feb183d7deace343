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
	"idpool/infra/metrics"
	"idpool/web"
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
	metrics metrics.Set
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
	Added    alloc.Count                   `json:"added"`    // IDs, by refills
	Low      []alloc.PoolName              `json:"low"`      // pools below their low mark
	Dry      map[alloc.PoolName]string     `json:"dry"`      // pools whose generator can make no more, and why
	Unfilled map[alloc.PoolName]alloc.Code `json:"unfilled"` // pools that could not be filled
	Calls    alloc.Count                   `json:"calls"`    // of the store, by sweeps
	Writes   alloc.Count                   `json:"writes"`   // among these
	Open     int                           `json:"open"`     // jobs that have not ended
	Foreign  int                           `json:"foreign"`  // of these, those of a kind that this version does not know
	Sent     int                           `json:"sent"`     // of these, those that stood still and were sent to the queue again
	Unsent   int                           `json:"unsent"`   // of these, those that stood still and were not sent: the queue did not take one of them, or the time was over
	Jobs     int                           `json:"jobs"`     // that were carried on
	Written  alloc.Count                   `json:"written"`  // IDs, by jobs
	Stuck    map[alloc.JobID]alloc.Code    `json:"stuck"`    // jobs that could not be carried on
	Stopped  []alloc.SequenceName          `json:"stopped"`  // sequences that hand out nothing until they are rebuilt
	Rebuilds map[alloc.SequenceName]string `json:"rebuilds"` // that this run began or carried on, and how far they are
	Unheard  int                           `json:"unheard"`  // administrative steps that were begun, and of which nobody knows how they ended
}

// run answers one event of the schedule, whatever stands in it. It ends before the function's time does; the next run
// goes on where it stopped. A pool that could not be swept makes the run fail, and so does a job that could not be carried
// on or a pool that could not be filled, so that the function's error metric shows it; the others get their turn all the same, and repeating a run is harmless.
// A dry generator is no failure of the run: it is said once at ERROR when it becomes so, and pools_dry shows it in every run.
func (r *refill) run(ctx context.Context, _ json.RawMessage) (result, error) {
	ctx = alloc.AsSchedule(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-reserve))
		defer cancel()
	}
	report, err := r.service.Tend(ctx)
	res, faults := summary(report)
	err = errors.Join(append(faults, err)...)
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelError
	}
	web.LogAlarms(ctx, r.logger, report)
	r.logger.LogAttrs(ctx, level, "run of the schedule", slog.Any("result", res), slog.Any("error", err))
	for _, line := range r.metrics.Lines(time.Now(), report, err) {
		r.logger.LogAttrs(ctx, slog.LevelInfo, "metrics", line...)
	}
	return res, err
}

// summary is what the run's own line says of the report, and what in it makes the run fail.
func summary(report alloc.TendReport) (res result, faults []error) {
	res = result{
		Left: report.Left, Unswept: []alloc.PoolName{}, Failed: map[alloc.PoolName]alloc.Code{}, Stuck: map[alloc.JobID]alloc.Code{},
		Low: []alloc.PoolName{}, Dry: map[alloc.PoolName]string{}, Unfilled: map[alloc.PoolName]alloc.Code{}, Stopped: []alloc.SequenceName{}, Rebuilds: map[alloc.SequenceName]string{}, Unheard: report.Unheard, Open: report.Open, Foreign: report.Foreign, Sent: report.Sent, Unsent: report.Unsent,
	}
	for _, s := range report.Swept {
		res.swept(s)
	}
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
	for _, f := range report.Refills {
		res.Added += f.Added
		if f.Dry != "" {
			res.Dry[f.Pool] = f.Dry
		}
		if f.Err != nil && !alloc.Is(f.Err, alloc.CodePoolRebuilding) {
			res.Unfilled[f.Pool] = alloc.CodeOf(f.Err)
			faults = append(faults, fmt.Errorf("refill %s: %w", f.Pool, f.Err))
		}
	}
	for _, p := range report.Pools {
		if p.IsLow() {
			res.Low = append(res.Low, p.Pool)
		}
	}
	for _, q := range report.Sequences {
		if q.Faulty() {
			res.Stopped = append(res.Stopped, q.Sequence)
		}
	}
	for _, b := range report.Rebuilds {
		res.Rebuilds[b.Sequence] = string(b.Step)
	}
	for _, j := range report.Jobs {
		res.Jobs++
		res.Written += j.IDs
		if j.Err != nil {
			res.Stuck[j.Job.ID] = alloc.CodeOf(j.Err)
			faults = append(faults, fmt.Errorf("job %s: %w", j.Job.ID, j.Err))
		}
	}
	return res, faults
}

func (r *result) swept(s alloc.SweepReport) {
	r.Swept++
	r.Passed += s.Passed
	r.Relisted += s.Relisted
	r.Returned += s.Returned
	r.Voided += s.Voided
	r.Calls += s.Calls
	r.Writes += s.Writes
	if s.More {
		r.Unswept = append(r.Unswept, s.Pool)
	}
}
