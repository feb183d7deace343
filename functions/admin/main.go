// Command admin is the function of administration: everything under /v1 that allocate does not serve, and the dashboard.
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
	"idpool/web/admin"
	"idpool/web/api"
)

func main() {
	handler, err := newHandler(context.Background(), os.LookupEnv)
	if err != nil {
		fmt.Fprintf(os.Stderr, "admin does not start: %v\n", err)
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
	pages, err := admin.New(admin.Config{Service: svc, Environment: settings.Table + " · " + settings.Region})
	if err != nil {
		return nil, err
	}
	logger := lambdacontext.NewLogger()
	h := web.Split(web.Bearer(settings.Verify)(api.Admin(svc)), web.BasicOrBearer(settings.Verify)(pages))
	return lambdahttp.New(web.Stack(h, web.Options{Logger: logger}), lambdahttp.Options{BasePath: settings.BasePath, Logger: logger})
}
