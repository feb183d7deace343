// Command allocate is the function that hands out IDs and numbers: claims, leases and what belongs to them.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"idpool/functions/internal/base"
	"idpool/infra/lambdahttp"
	"idpool/web"
	"idpool/web/api"
)

func main() {
	handler, err := newHandler(context.Background(), os.LookupEnv)
	if err != nil {
		fmt.Fprintf(os.Stderr, "allocate does not start: %v\n", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

func newHandler(ctx context.Context, lookup func(string) (string, bool)) (lambdahttp.Handler, error) {
	settings, err := base.Read(lookup)
	if err != nil {
		return nil, err
	}
	svc, err := settings.Service(ctx)
	if err != nil {
		return nil, err
	}
	logger := lambdacontext.NewLogger()
	h := web.Stack(web.Bearer(settings.Verify)(api.Allocate(svc)), web.Options{Logger: logger})
	return lambdahttp.New(h, lambdahttp.Options{BasePath: settings.BasePath, Logger: logger})
}
