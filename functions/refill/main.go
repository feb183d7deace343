// Command refill is the function of the schedule: each minute it samples levels, sweeps and fills every pool, sees to jobs that stand still, and says how all of it is.
package main

import (
	"context"
	"encoding/json"

	"idpool/functions/internal/base"
	"idpool/web/api"
)

func main() { base.Main("refill", newHandler) }

func newHandler(ctx context.Context, lookup func(string) (string, bool)) (func(context.Context, json.RawMessage) (result, error), error) {
	f, err := base.Start(ctx, lookup, &base.Jobs{Encoders: api.Encoders(), Log: api.LogCodec()})
	if err != nil {
		return nil, err
	}
	return (&refill{service: f.Service, logger: f.Logger, metrics: f.Metrics}).run, nil
}
