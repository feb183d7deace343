package sqs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"idpool/alloc"
)

// Config is what a Queue is made of.
type Config struct {
	URL string // of the queue; required

	// Endpoint is the URL of a server that speaks SQS's protocol; "" is the service itself. With an Endpoint and no
	// credentials on the machine, requests are signed with made-up ones.
	Endpoint string
}

// What a send may take. It stands at the end of a request or a run: word that does not get through in that time is sent
// by the next run of the schedule.
const (
	sendTime    = 2 * time.Second
	sendTries   = 3
	sendReserve = 100 * time.Millisecond // kept of the caller's own time
)

// Queue sends to an SQS queue.
type Queue struct {
	client *sqs.Client
	url    string
}

var _ alloc.Queue = (*Queue)(nil)

// New returns a queue. It makes no call.
func New(ctx context.Context, c Config) (*Queue, error) {
	if c.URL == "" {
		return nil, errors.New("sqs: Config.URL is required")
	}
	load := []func(*config.LoadOptions) error{config.WithLogConfigurationWarnings(false)}
	if c.Endpoint != "" {
		load = append(load, config.WithDefaultRegion("us-east-1"))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fmt.Errorf("sqs: load the AWS configuration: %w", err)
	}
	if c.Endpoint != "" {
		cfg.BaseEndpoint = aws.String(c.Endpoint)
		if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
			cfg.Credentials = credentials.NewStaticCredentialsProvider("local", "local", "")
		}
	}
	client := sqs.NewFromConfig(cfg, func(o *sqs.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = sendTries })
	})
	return &Queue{client: client, url: c.URL}, nil
}

// Send implements alloc.Queue. A send whose outcome is unknown may have been made: a message more does no harm.
func (q *Queue) Send(ctx context.Context, s alloc.Step) error {
	body, err := Encode(s)
	if err != nil {
		return unsent(err)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	if deadline, ok := ctx.Deadline(); ok {
		var early context.CancelFunc
		ctx, early = context.WithDeadline(ctx, deadline.Add(-sendReserve))
		defer early()
	}
	if _, err := q.client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: aws.String(q.url), MessageBody: aws.String(body)}); err != nil {
		return unsent(err)
	}
	return nil
}

func unsent(err error) error {
	return alloc.Errorf(alloc.CodeUnavailable, "the job's queue does not answer; the schedule carries the job on").Because(err)
}
