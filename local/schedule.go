package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"idpool/alloc"
	"idpool/infra/sqs"
	"idpool/web"
)

// Bounds of the work in the background: of one run of the schedule, and of one step of a job.
const (
	tendTime = time.Minute
	stepTime = 30 * time.Second
	workers  = 2
)

// work starts what the functions refill and worker do: the schedule on a ticker, and workers on the queue. What is waited for
// is their end, soon after the context's.
func work(ctx context.Context, svc *alloc.Service, queue *sqs.Local, every time.Duration, seen *monitor, logger *slog.Logger) *sync.WaitGroup {
	ctx = alloc.AsSchedule(ctx)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			queue.Run(ctx, seen.counted(svc.Work), stepTime, func(s alloc.Step, err error) {
				logger.WarnContext(ctx, "a step of a job failed; it is tried again", "job", s.Job, "error", err)
			})
		})
	}
	all.Go(func() {
		resume(ctx, svc, logger)
		schedule(ctx, svc, every, seen, logger)
	})
	return &all
}

// resume sends word of the jobs that were open when the last process ended: the queue ended with it.
func resume(ctx context.Context, svc *alloc.Service, logger *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, tendTime)
	defer cancel()
	if _, err := svc.ResumeJobs(ctx); err != nil && ctx.Err() == nil {
		logger.WarnContext(ctx, "open jobs could not be looked up; the schedule comes to them", "error", err)
	}
}

// schedule is the function refill on a ticker: one run at once, then one each interval, never two at a time. It returns
// when the context ends, and at once where it is switched off.
func schedule(ctx context.Context, svc *alloc.Service, every time.Duration, seen *monitor, logger *slog.Logger) {
	if every == 0 {
		return
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		tend(ctx, svc, seen, logger)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func tend(ctx context.Context, svc *alloc.Service, seen *monitor, logger *slog.Logger) {
	within, cancel := context.WithTimeout(ctx, tendTime)
	defer cancel()
	report, err := svc.Tend(within)
	if ctx.Err() != nil {
		return // the program ends
	}
	seen.ran(time.Now(), report, err)
	if err != nil {
		logger.WarnContext(ctx, "a run of the schedule failed; the next one tries again", "error", err)
	}
	for pool, err := range report.Failed {
		logger.WarnContext(ctx, "a pool could not be swept; the next run tries again", "pool", pool, "error", err)
	}
	web.LogAlarms(ctx, logger, report)
	for _, f := range report.Refills {
		if f.Err != nil {
			logger.WarnContext(ctx, "a pool could not be filled; the next run tries again", "pool", f.Pool, "error", f.Err)
		}
	}
	for _, j := range report.Jobs {
		if j.Err != nil {
			logger.WarnContext(ctx, "a job could not be carried on; the next run tries again", "job", j.Job.ID, "error", j.Err)
		}
	}
}
