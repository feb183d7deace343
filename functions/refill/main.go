// Command refill is the function of the schedule: each minute it sweeps every pool.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"idpool/functions/internal/base"
)

func main() {
	settings, err := base.Read(os.LookupEnv)
	if err != nil {
		fail(err)
	}
	svc, err := settings.Service(context.Background())
	if err != nil {
		fail(err)
	}
	lambda.Start((&refill{service: svc, logger: lambdacontext.NewLogger()}).run)
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "refill does not start: %v\n", err)
	os.Exit(1)
}
