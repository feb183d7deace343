package sqs_test

import (
	"context"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/sqs"
	"idpool/infra/sqs/sqstest"
)

func newQueue(t *testing.T, endpoint, url string) *sqs.Queue {
	t.Helper()
	q, err := sqs.New(t.Context(), sqs.Config{URL: url, Endpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestSend(t *testing.T) {
	server := sqstest.Start(t)
	q := newQueue(t, server.URL, server.QueueURL)
	step := alloc.Step{Job: "A", Version: 3}
	send(t, q, step)
	server.Fail(2) // which are repeated
	send(t, q, alloc.Step{Job: "B", Version: 1})
	bodies := server.Take()
	if len(bodies) != 2 || server.Calls() != 4 {
		t.Fatalf("%q after %d calls", bodies, server.Calls())
	}
	if got, err := sqs.Decode(bodies[0]); err != nil || got != step {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSendFails(t *testing.T) {
	server := sqstest.Start(t)
	q := newQueue(t, server.URL, server.QueueURL)
	step := alloc.Step{Job: "A", Version: 3}
	server.Fail(100)
	if err := q.Send(t.Context(), step); !alloc.Is(err, alloc.CodeUnavailable) {
		t.Errorf("a server that fails: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Send(ended, step); !alloc.Is(err, alloc.CodeUnavailable) {
		t.Errorf("a context that has ended: %v", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	before := server.Calls()
	if err := q.Send(soon, step); !alloc.Is(err, alloc.CodeUnavailable) || server.Calls() != before {
		t.Errorf("too little time: %v after %d calls more", err, server.Calls()-before)
	}
	if _, err := sqs.New(t.Context(), sqs.Config{}); err == nil {
		t.Error("a queue without URL was made")
	}
}
