package dynamo

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// ClientConfig is what a client of DynamoDB is made of. The zero value reaches the service by the machine's own
// configuration.
type ClientConfig struct {
	// Region is the service's region; default what the machine's configuration says, and "us-east-1" beside an Endpoint.
	Region string

	// Endpoint is the URL of a DynamoDB-compatible server; "" is the service itself. With an Endpoint and no credentials
	// on the machine, requests are signed with made-up ones, which such servers take.
	Endpoint string

	// HTTPClient sends the requests; default the SDK's, with enough idle connections for a busy process.
	HTTPClient dynamodb.HTTPClient

	// Limits bound one operation in time; the zero value is what an answer within an HTTP request can bear.
	Limits Limits

	// APIOptions are further middleware of every operation: meters, and the faults of tests.
	APIOptions []func(*middleware.Stack) error
}

// What the retryer does is set here in full, not taken from the SDK's defaults or the environment, both of which change
// without a change of this program. Standard mode: the adaptive one slows the whole client down for one hot key.
const (
	maxAttempts = 4

	retryQuota        = 500 // tokens that all operations of the client share
	retryCost         = 14  // of a repeat after a fault
	throttleRetryCost = 5   // of a repeat after a throttle
	retryRefund       = 1   // for a success at the first attempt
)

// NewClient makes the one client of a process: its connections, its retry quota and what it knows of the server's clock
// are worth sharing.
func NewClient(ctx context.Context, c ClientConfig) (*dynamodb.Client, error) {
	load := []func(*config.LoadOptions) error{config.WithLogConfigurationWarnings(false)}
	if c.Region != "" {
		load = append(load, config.WithRegion(c.Region))
	}
	if c.Endpoint != "" {
		load = append(load, config.WithDefaultRegion("us-east-1"),
			config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fmt.Errorf("dynamo: load the AWS configuration: %w", err)
	}
	if c.Endpoint != "" {
		cfg.BaseEndpoint = aws.String(c.Endpoint)
		if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
			cfg.Credentials = credentials.NewStaticCredentialsProvider("local", "local", "")
		}
	}
	if cfg.Region == "" {
		return nil, fmt.Errorf("dynamo: no region; set AWS_REGION or ClientConfig.Region")
	}
	limits := &limiter{Limits: c.Limits.withDefaults()}
	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.Retryer = newRetryer()
		o.RetryMaxAttempts = maxAttempts
		o.RetryMode = aws.RetryModeStandard
		// One host for the whole region: a host per account would have to be let through by every egress rule.
		o.AccountIDEndpointMode = aws.AccountIDEndpointModeDisabled
		o.EndpointDiscovery.EnableEndpointDiscovery = aws.EndpointDiscoveryDisabled
		o.HTTPClient = c.HTTPClient
		if o.HTTPClient == nil {
			o.HTTPClient = newHTTPClient()
		}
		o.APIOptions = append(o.APIOptions, limits.install)
		o.APIOptions = append(o.APIOptions, c.APIOptions...)
	}), nil
}

func newHTTPClient() dynamodb.HTTPClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns = 256
		t.MaxIdleConnsPerHost = 128
	})
}

func newRetryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = maxAttempts
		o.Retryables = append(o.Retryables, retry.RetryableErrorCode{Codes: throttleCodes})
		o.Throttles = append(o.Throttles, retry.ThrottleErrorCode{Codes: throttleCodes})
		o.Backoff = retry.BackoffDelayerFunc(backoff)
		o.RateLimiter = ratelimit.NewTokenRateLimit(retryQuota)
		o.RetryCost = retryCost
		o.ThrottlingRetryCost = throttleRetryCost
		o.NoRetryIncrement = retryRefund
	})
}

// backoff is the wait after a failed attempt, counted from 1. It is short for throttles too (the SDK waits a second): who
// asks is waiting for an answer, and is told to come back later when this does not help.
func backoff(attempt int, err error) (time.Duration, error) {
	limit := 25 * time.Millisecond
	if isThrottle(err) {
		limit = 50 * time.Millisecond
	}
	return jitter(limit << min(max(attempt-1, 0), maxAttempts)), nil
}
