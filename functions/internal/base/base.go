// Package base is what every function stands on: its settings, checked, and a Service on the table.
package base

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/sqs"
	"idpool/web"
)

// Settings is what the environment says to every function.
type Settings struct {
	Table    string // the DynamoDB table
	Old      string // the table from before a restore, which is only read; "" for none
	Endpoint string // of a server other than DynamoDB itself; "" for the service
	BasePath string // see lambdahttp.Options
	Queue    string // URL of the job queue; "" for none: the schedule carries jobs on itself
	SQS      string // endpoint of a server other than SQS itself; "" for the service
	Pools    bool   // metrics for each pool and sequence too
	Region   string // where the function runs
}

const (
	envTable    = "IDPOOL_TABLE"
	envOld      = "IDPOOL_OLD_TABLE"
	envEndpoint = "IDPOOL_DYNAMODB_ENDPOINT"
	envBasePath = "IDPOOL_BASE_PATH"
	envQueue    = "IDPOOL_QUEUE_URL"
	envSQS      = "IDPOOL_SQS_ENDPOINT"
	envPools    = "IDPOOL_POOL_METRICS"
)

var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

// Read reads the settings through lookup and reports all that is wrong with them together.
func Read(lookup func(string) (string, bool)) (Settings, error) {
	get := func(name string) string {
		v, _ := lookup(name)
		return v
	}
	s := Settings{
		Table: get(envTable), Old: get(envOld), Endpoint: get(envEndpoint), BasePath: get(envBasePath), Region: get("AWS_REGION"),
		Queue: get(envQueue), SQS: get(envSQS), Pools: get(envPools) == "true",
	}
	var faults []error
	if !tableName.MatchString(s.Table) {
		faults = append(faults, fmt.Errorf("%s must name the DynamoDB table, not %q", envTable, s.Table))
	}
	if s.Old != "" && (!tableName.MatchString(s.Old) || s.Old == s.Table) {
		faults = append(faults, fmt.Errorf("%s must name the DynamoDB table from before a restore, which is another than %s, or be empty, not %q", envOld, envTable, s.Old))
	}
	for _, u := range []struct{ name, value, none string }{
		{envEndpoint, s.Endpoint, "DynamoDB itself"}, {envSQS, s.SQS, "SQS itself"}, {envQueue, s.Queue, "none"},
	} {
		if parsed, err := url.Parse(u.value); u.value != "" && (err != nil || parsed.Host == "" || !strings.HasPrefix(parsed.Scheme, "http")) {
			faults = append(faults, fmt.Errorf("%s must be a URL as in http://127.0.0.1:8000, or empty for %s, not %q", u.name, u.none, u.value))
		}
	}
	if v := get(envPools); v != "" && v != "true" && v != "false" {
		faults = append(faults, fmt.Errorf("%s must be true or false, not %q", envPools, v))
	}
	return s, errors.Join(faults...)
}

// Verifier returns what knows credentials: those that are stored, and the bootstrap token whose hash the variable has, if
// it has one. A hash that is none is a fault: a mistake in the template must not look like an attack.
func (f Function) Verifier(lookup func(string) (string, bool), variable string) (web.Verifier, error) {
	hash, _ := lookup(variable)
	if hash == "" {
		return f.Service.Verify, nil
	}
	bootstrap, err := web.NewTokenVerifier(hash)
	if err != nil {
		return nil, fmt.Errorf("%s must be empty or right: %w", variable, err)
	}
	return web.FirstOf(bootstrap, f.Service.Verify), nil
}

// queue is the job queue, nil where there is none.
func (s Settings) queue(ctx context.Context) (alloc.Queue, error) {
	if s.Queue == "" {
		return nil, nil
	}
	return sqs.New(ctx, sqs.Config{URL: s.Queue, Endpoint: s.SQS})
}

// old is the table from before a restore, nil where there is none.
func (s Settings) old(client *dynamodb.Client) (alloc.Old, error) {
	if s.Old == "" {
		return nil, nil
	}
	return dynamo.New(dynamo.Config{Table: dynamo.NewSDKTable(client, s.Old)})
}

// warmTime bounds the first call of a new environment.
const warmTime = 2 * time.Second

// Jobs is the formats in which jobs write, for the functions that make or carry on jobs.
type Jobs struct {
	Encoders map[string]alloc.Encoder
	Log      alloc.LogCodec
}

// Service makes the Service on the table, which tells ended of the jobs that it has brought to their end, and stopped of the sequences that it meets so. It makes one cheap read, so that connection and TLS are paid for before the
// first request; a failure of it is left for that request to meet, or not. Only the
// functions that make or carry on jobs (nil for the others) have the queue and the old table.
func (s Settings) Service(ctx context.Context, jobs *Jobs, ended func(context.Context, alloc.Job), stopped func(context.Context, alloc.Stop)) (*alloc.Service, error) {
	client, err := dynamo.NewClient(ctx, dynamo.ClientConfig{Endpoint: s.Endpoint})
	if err != nil {
		return nil, err
	}
	store, err := dynamo.New(dynamo.Config{Table: dynamo.NewSDKTable(client, s.Table)})
	if err != nil {
		return nil, err
	}
	c := alloc.Config{Store: store, Ended: ended, Stopped: stopped}
	if jobs != nil {
		c.Encoders, c.Log = jobs.Encoders, jobs.Log
		if c.Queue, err = s.queue(ctx); err != nil {
			return nil, err
		}
		if c.Old, err = s.old(client); err != nil {
			return nil, err
		}
	}
	svc, err := alloc.NewService(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, warmTime)
	defer cancel()
	_ = svc.Ready(ctx) //nolint:errcheck // see above
	return svc, nil
}
