package base

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"idpool/alloc"
	"idpool/infra/lambdahttp"
	"idpool/infra/metrics"
	"idpool/web"
)

// Main is the main of the function with the name: it makes what answers the events, and answers them. A function that
// cannot be made says why and ends.
func Main[H any](name string, make func(context.Context, func(string) (string, bool)) (H, error)) {
	handler, err := make(context.Background(), os.LookupEnv)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s does not start: %v\n", name, err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

// Function is what every function has.
type Function struct {
	Settings Settings
	Service  *alloc.Service
	Logger   *slog.Logger
	Metrics  metrics.Set
}

// Start reads the settings and makes what stands on them; see Settings.Service for the jobs.
func Start(ctx context.Context, lookup func(string) (string, bool), jobs *Jobs) (Function, error) {
	settings, err := Read(lookup)
	if err != nil {
		return Function{}, err
	}
	f := Function{Settings: settings, Logger: lambdacontext.NewLogger(), Metrics: metrics.Set{Table: settings.Table, Pools: settings.Pools}}
	f.Service, err = settings.Service(ctx, jobs, f.jobEnded, f.sequenceStopped)
	return f, err
}

// jobEnded logs the end of an audit, with its metrics.
func (f Function) jobEnded(ctx context.Context, j alloc.Job) {
	if web.AuditDone(j) {
		web.LogAudit(ctx, f.Logger, j, f.Metrics.Audited(time.Now(), j)...)
	}
}

// sequenceStopped logs that a sequence has stopped.
func (f Function) sequenceStopped(ctx context.Context, s alloc.Stop) { web.LogStop(ctx, f.Logger, s) }

// HTTP serves the handler, below the middleware that every request goes through.
func (f Function) HTTP(h http.Handler) (lambdahttp.Handler, error) {
	return lambdahttp.New(web.Stack(h, web.Options{Logger: f.Logger, Metrics: f.Metrics.Embedded}), lambdahttp.Options{BasePath: f.Settings.BasePath, Logger: f.Logger})
}
