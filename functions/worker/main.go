// Command worker is the function of the job queue: it carries long work on, a step after the other.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"idpool/functions/internal/base"
	"idpool/web/api"
)

func main() { base.Main("worker", newHandler) }

func newHandler(ctx context.Context, lookup func(string) (string, bool)) (func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), error) {
	f, err := base.Start(ctx, lookup, &base.Jobs{Encoders: api.Encoders(), Log: api.LogCodec()})
	if err != nil {
		return nil, err
	}
	return (&worker{service: f.Service, logger: f.Logger, metrics: f.Metrics}).handle, nil
}
