package main

import (
	"context"
	"log/slog"
	"time"

	"idpool/alloc"
)

// tendTime bounds one run of the schedule.
const tendTime = time.Minute

// schedule is the function refill on a ticker: one run at once, then one each interval, never two at a time. It returns
// when the context ends.
func schedule(ctx context.Context, svc *alloc.Service, every time.Duration, logger *slog.Logger) {
	ctx = alloc.WithCaller(ctx, alloc.Caller{
		Client: alloc.ScheduleClient, Scopes: []alloc.Scope{{Action: alloc.ActionTend, Pattern: "*"}},
	})
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		tend(ctx, svc, logger)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func tend(ctx context.Context, svc *alloc.Service, logger *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, tendTime)
	defer cancel()
	report, err := svc.Tend(ctx)
	if ctx.Err() != nil {
		return // the program ends, or the next run goes on
	}
	if err != nil {
		logger.WarnContext(ctx, "a run of the schedule failed; the next one tries again", "error", err)
	}
	for pool, err := range report.Failed {
		logger.WarnContext(ctx, "a pool could not be swept; the next run tries again", "pool", pool, "error", err)
	}
	for _, j := range report.Jobs {
		if j.Err != nil {
			logger.WarnContext(ctx, "a job could not be carried on; the next run tries again", "job", j.Job.ID, "error", j.Err)
		}
	}
}
