package sqs_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/infra/sqs"
)

func send(t *testing.T, q alloc.Queue, steps ...alloc.Step) {
	t.Helper()
	for _, s := range steps {
		if err := q.Send(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// crew runs workers on a queue until the test's end, and keeps what they were given.
type crew struct {
	mu     sync.Mutex
	given  []alloc.Step
	failed []alloc.Step
}

func (c *crew) run(ctx context.Context, q *sqs.Local, workers int, work sqs.Work) *sync.WaitGroup {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			q.Run(ctx, func(ctx context.Context, s alloc.Step) error {
				c.mu.Lock()
				c.given = append(c.given, s)
				c.mu.Unlock()
				return work(ctx, s)
			}, time.Minute, func(s alloc.Step, _ error) {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.failed = append(c.failed, s)
			})
		})
	}
	return &all
}

func TestLocalDeliversInTurnAndTheLatestWordAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sqs.NewLocal()
		send(t, q, alloc.Step{Job: "a", Version: 1}, alloc.Step{Job: "b", Version: 7}, alloc.Step{Job: "a", Version: 3}, alloc.Step{Job: "a", Version: 2}, alloc.Step{Job: "b", Version: 7})
		if q.Len() != 2 {
			t.Errorf("%d wait, want 2", q.Len())
		}
		ctx, cancel := context.WithCancel(t.Context())
		var c crew
		all := c.run(ctx, q, 1, func(context.Context, alloc.Step) error { return nil })
		synctest.Wait()
		if want := []alloc.Step{{Job: "a", Version: 3}, {Job: "b", Version: 7}}; !slices.Equal(c.given, want) {
			t.Errorf("given %v, want %v", c.given, want)
		}
		cancel()
		all.Wait()
	})
}

func TestLocalWorkersShareTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sqs.NewLocal()
		ctx, cancel := context.WithCancel(t.Context())
		var c crew
		all := c.run(ctx, q, 3, func(context.Context, alloc.Step) error {
			time.Sleep(time.Second)
			return nil
		})
		begin := time.Now()
		for _, job := range []alloc.JobID{"a", "b", "c", "d", "e", "f"} {
			send(t, q, alloc.Step{Job: job, Version: 1})
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if took := time.Since(begin); len(c.given) != 6 || took != 2*time.Second {
			t.Errorf("%d steps in %s, want 6 in 2s by three workers", len(c.given), took)
		}
		cancel()
		all.Wait()
	})
}

func TestLocalDeliversAgainWhatFailedAndGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sqs.NewLocal()
		ctx, cancel := context.WithCancel(t.Context())
		var c crew
		all := c.run(ctx, q, 2, func(_ context.Context, s alloc.Step) error {
			switch s.Job {
			case "bad":
				return errors.New("it fails")
			case "worse":
				panic("it panics")
			}
			return nil
		})
		send(t, q, alloc.Step{Job: "bad", Version: 1}, alloc.Step{Job: "worse", Version: 1}, alloc.Step{Job: "good", Version: 1})
		time.Sleep(time.Hour)
		synctest.Wait()
		times := map[alloc.JobID]int{}
		for _, s := range c.given {
			times[s.Job]++
		}
		if times["bad"] != 5 || times["worse"] != 5 || times["good"] != 1 || len(c.failed) != 10 || q.Len() != 0 {
			t.Errorf("given %v, %d failures, %d waiting", times, len(c.failed), q.Len())
		}
		send(t, q, alloc.Step{Job: "bad", Version: 2}) // the schedule's word begins anew
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(c.failed) != 15 {
			t.Errorf("%d failures after the schedule's word, want 15", len(c.failed))
		}
		cancel()
		all.Wait()
	})
}

// What is under way when the program ends is told so by its context, and is no failure.
func TestLocalEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sqs.NewLocal()
		ctx, cancel := context.WithCancel(t.Context())
		var c crew
		all := c.run(ctx, q, 1, func(ctx context.Context, _ alloc.Step) error {
			<-ctx.Done()
			return ctx.Err()
		})
		send(t, q, alloc.Step{Job: "a", Version: 1}, alloc.Step{Job: "b", Version: 1})
		synctest.Wait()
		cancel()
		all.Wait()
		if len(c.given) != 1 || len(c.failed) != 0 {
			t.Errorf("given %v, failed %v", c.given, c.failed)
		}
	})
}
