package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"idpool/alloc"
	"idpool/infra/metrics"
)

// carrying fails, or panics, at the jobs of those names, and takes as long as it may for "long".
type carrying struct {
	steps   []alloc.Step
	callers []alloc.Caller
	took    map[alloc.JobID]time.Duration
}

func (c *carrying) Work(ctx context.Context, s alloc.Step) error {
	caller, _ := alloc.CallerFrom(ctx)
	c.steps, c.callers = append(c.steps, s), append(c.callers, caller)
	switch s.Job {
	case "failing":
		return alloc.Errorf(alloc.CodeThrottled, "later")
	case "panicking":
		panic("x")
	case "long":
		begin := time.Now()
		<-ctx.Done()
		c.took[s.Job] += time.Since(begin)
	}
	return nil
}

func records(bodies ...string) (e events.SQSEvent) {
	for i, body := range bodies {
		e.Records = append(e.Records, events.SQSMessage{
			MessageId: string(rune('a' + i)), Body: body, Attributes: map[string]string{"ApproximateReceiveCount": "1"},
		})
	}
	return e
}

func TestOnlyWhatFailedComesAgain(t *testing.T) {
	var log strings.Builder
	c := &carrying{}
	w := &worker{service: c, logger: slog.New(slog.NewJSONHandler(&log, nil)), metrics: metrics.Set{Table: "idpool"}}
	said, err := w.handle(t.Context(), records(`{"job":"good","version":1}`, `{"job":"failing","version":2}`, `gibberish`, `{"job":"panicking","version":1}`, `{"job":"good","version":9}`))
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	for _, f := range said.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}
	if want := []string{"b", "c", "d"}; !slices.Equal(failed, want) {
		t.Errorf("failed %q, want %q", failed, want)
	}
	if want := []alloc.Step{{Job: "good", Version: 1}, {Job: "failing", Version: 2}, {Job: "panicking", Version: 1}, {Job: "good", Version: 9}}; !slices.Equal(c.steps, want) {
		t.Errorf("steps %v, want %v", c.steps, want)
	}
	for _, caller := range c.callers {
		if caller.Client != alloc.ScheduleClient || len(caller.Scopes) != 1 || caller.Scopes[0].Action != alloc.ActionTend {
			t.Errorf("caller %+v, want the schedule with the one scope to tend", caller)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 5 || strings.Count(log.String(), `"outcome":"failed"`) != 3 || strings.Count(log.String(), `"requests":1`) != 5 {
		t.Errorf("log: %s", log.String())
	}
	if strings.Contains(log.String(), "gibberish") {
		t.Errorf("the log has a message's content: %s", log.String())
	}
}

// An answer without failures has the member all the same: its absence would count as a success of everything too, but null is
// a failure of the whole batch.
func TestNothingFailed(t *testing.T) {
	w := &worker{service: &carrying{}, logger: slog.New(slog.DiscardHandler)}
	said, err := w.handle(t.Context(), records(`{"job":"good","version":1}`))
	text, encodeErr := json.Marshal(said)
	if err := errors.Join(err, encodeErr); err != nil || string(text) != `{"batchItemFailures":[]}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestMessagesShareTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &carrying{took: map[alloc.JobID]time.Duration{}}
		w := &worker{service: c, logger: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithTimeout(t.Context(), 122*time.Second)
		defer cancel()
		long := `{"job":"long","version":1}`
		if said, err := w.handle(ctx, records(long, long, long)); err != nil || len(said.BatchItemFailures) != 0 {
			t.Errorf("%+v, %v", said, err)
		}
		if took := c.took["long"]; took != 120*time.Second || len(c.steps) != 3 {
			t.Errorf("%d steps in %s, want 3 in all but the last two seconds", len(c.steps), took)
		}
	})
}
