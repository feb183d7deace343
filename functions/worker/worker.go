package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"idpool/alloc"
	"idpool/infra/metrics"
	"idpool/infra/sqs"
)

// reserve is what an invocation leaves of its time for its own last words.
const reserve = 2 * time.Second

// carrier is what of alloc.Service a worker needs.
type carrier interface {
	Work(context.Context, alloc.Step) error
}

type worker struct {
	service carrier
	logger  *slog.Logger
	metrics metrics.Set
}

// handle carries on the jobs that the messages name, one after the other, each with an equal share of what time is left.
// Messages that failed are named in the answer, and only these come again; after some times they go to the queue of dead
// letters, and the schedule has picked up the job before that. Whatever comes twice does nothing twice: see alloc.Step.
func (w *worker) handle(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	ctx = alloc.AsSchedule(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-reserve))
		defer cancel()
	}
	said := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for i, m := range event.Records {
		begin := time.Now()
		err := w.carryOn(ctx, m, len(event.Records)-i)
		if err != nil {
			said.BatchItemFailures = append(said.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
		w.log(ctx, m, begin, err)
	}
	return said, nil
}

// carryOn is the work on one message, the first of so many that are left.
func (w *worker) carryOn(ctx context.Context, m events.SQSMessage, left int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	step, err := sqs.Decode(m.Body)
	if err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return w.service.Work(ctx, step)
}

func (w *worker) log(ctx context.Context, m events.SQSMessage, begin time.Time, err error) {
	level, outcome := slog.LevelInfo, "carried_out"
	if err != nil {
		level, outcome = slog.LevelError, "failed"
	}
	attrs := []slog.Attr{
		slog.String("operation", "work"), slog.String("outcome", outcome), slog.Float64("duration_ms", float64(time.Since(begin).Microseconds())/1000),
		slog.String("message", m.MessageId), slog.String("received", m.Attributes["ApproximateReceiveCount"]),
	}
	if step, err := sqs.Decode(m.Body); err == nil {
		attrs = append(attrs, slog.String("job", string(step.Job)), slog.Int64("version", int64(step.Version)))
	}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	attrs = append(attrs, w.metrics.Embedded(begin, attrs)...)
	w.logger.LogAttrs(ctx, level, "step of a job", attrs...)
}
