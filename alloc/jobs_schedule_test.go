package alloc_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// hand is a worker whose every call of the Store waits until it is told how that goes.
type hand struct {
	*alloc.Service
	post    *post
	arrived chan struct{}
	verdict chan alloctest.Fault
	done    chan struct{}
	busy    bool
	dead    bool // what it still sends is lost
	kill    context.CancelFunc
}

func newHand(t testing.TB, b *bench) *hand {
	h := &hand{post: &b.post, arrived: make(chan struct{}), verdict: make(chan alloctest.Fault), done: make(chan struct{})}
	store := alloctest.NewFaulty(b.model, func(alloctest.Call) alloctest.Fault {
		h.arrived <- struct{}{}
		return <-h.verdict
	})
	s, err := alloc.NewService(alloc.Config{Store: store, Now: b.clock.Now, Encoders: encoders, Queue: h})
	if err != nil {
		t.Fatal(err)
	}
	h.Service = s
	return h
}

// Send implements alloc.Queue.
func (h *hand) Send(ctx context.Context, s alloc.Step) error {
	if h.dead {
		return nil
	}
	return h.post.Send(ctx, s)
}

// begin gives the worker a message, and comes back when it waits for its first call.
func (h *hand) begin(ctx context.Context, step alloc.Step) {
	ctx, h.kill = context.WithCancel(ctx)
	h.busy, h.dead = true, false
	go func() {
		h.Work(ctx, step) // what it comes to is seen by the job
		h.done <- struct{}{}
	}()
	h.await()
}

// await comes back when the worker waits for a call or has ended.
func (h *hand) await() {
	select {
	case <-h.arrived:
	case <-h.done:
		h.kill()
		h.busy = false
	}
}

// call lets the call go that the worker waits for.
func (h *hand) call(how alloctest.Fault) {
	h.verdict <- how
	h.await()
}

// die ends the worker where it is: nothing that it does from now on comes anywhere.
func (h *hand) die() {
	h.dead = true
	h.kill()
	for h.busy {
		h.call(alloctest.RefusedUnknown)
	}
}

// course is one course of events around a bench.
type course struct {
	*bench
	hands []*hand
}

// event lets one thing happen.
func (c *course) event(t *rapid.T) {
	h := c.hands[rapid.IntRange(0, len(c.hands)-1).Draw(t, "worker")]
	switch what := rapid.IntRange(0, 19).Draw(t, "event"); {
	case what < 10 && h.busy:
		h.call(rapid.SampledFrom([]alloctest.Fault{alloctest.Pass, alloctest.Pass, alloctest.Pass, alloctest.Pass, alloctest.Pass, alloctest.Refused, alloctest.RefusedUnknown, alloctest.AppliedButFailed}).Draw(t, "how"))
	case what < 10:
		c.deliverOne(t, h)
	case what == 10 && h.busy:
		h.die()
	case what == 11: // a message is lost
		if steps := c.post.take(); len(steps) > 0 {
			c.post.steps = steps[1:]
		}
	case what == 12:
		c.clock.Advance(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "time"))
	case what == 13:
		if _, err := c.Tend(c.ctx); err != nil {
			t.Fatal(err)
		}
	case what < 17: // an ID is used
		if _, err := c.model.Claim(c.ctx, alloc.ClaimOrder{Pool: pool, Count: 1, Owner: "someone"}); err != nil && !alloc.Is(err, alloc.CodePoolExhausted) {
			t.Fatal(err)
		}
	case what == 17: // the client repeats what it has sent
		if _, _, err := c.ReceivePart(c.ctx, c.job, 2, []byte(c.file.parts[2])); err != nil {
			t.Fatal(err)
		}
		if _, err := c.StartJob(c.ctx, c.job, len(c.file.parts)); err != nil && !alloc.Is(err, alloc.CodeJobEnded) {
			t.Fatal(err)
		}
	}
}

// deliverOne gives the worker one of the messages, which may come again.
func (c *course) deliverOne(t *rapid.T, h *hand) {
	steps := c.post.take()
	if len(steps) == 0 {
		return
	}
	i := rapid.IntRange(0, len(steps)-1).Draw(t, "message")
	step := steps[i]
	if !rapid.Bool().Draw(t, "comes again") {
		steps = append(steps[:i], steps[i+1:]...)
	}
	c.post.steps = steps
	h.begin(c.ctx, step)
}

// Whatever becomes of messages and workers, a seeding comes to its end with the counts that its pool shows, beside others that
// use and fill the pool.
func TestASeedingEndsExactlyInAnyOrder(t *testing.T) {
	for _, file := range []benchFile{benchMixed, benchPlain} {
		t.Run(string(file.policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rapid.Check(struct{ rapid.TB }{t}, func(rt *rapid.T) { // in a bubble there is no deadline to ask for
					c := &course{bench: newBench(t, file)}
					c.hands = []*hand{newHand(t, c.bench), newHand(t, c.bench)}
					c.run(rt)
				})
			})
		})
	}
}

// run is a course of events to its end.
func (c *course) run(t *rapid.T) {
	others := rapid.IntRange(0, 60).Draw(t, "when others seed")
	cancel := rapid.IntRange(0, 300).Draw(t, "when it is cancelled")
	theirs, cancelled := alloc.Count(0), false
	for at := range rapid.IntRange(0, 120).Draw(t, "events") {
		c.event(t)
		if at == others && c.file.policy == alloc.PolicyKeep { // an ID of the file
			outcomes, err := c.model.Seed(c.ctx, alloc.SeedBatch{Pool: pool, Job: "others", IDs: []alloc.ID{"A6"}})
			if err != nil {
				t.Fatal(err)
			}
			if outcomes[0] == alloc.SeedAdded {
				theirs = 1
			}
		}
		if at == cancel {
			_, err := c.CancelJob(c.ctx, c.job)
			if cancelled = err == nil; err != nil && !alloc.Is(err, alloc.CodeJobEnded) {
				t.Fatal(err)
			}
		}
	}
	for _, h := range c.hands {
		for goesOn := rapid.Bool().Draw(t, "goes on"); h.busy && goesOn; {
			h.call(alloctest.Pass)
		}
	}
	for _, h := range c.hands {
		if h.busy {
			h.die()
		}
	}
	c.toTheEnd(t)
	c.wantExact(t, cancelled, theirs)
}

// wantExact fails the test unless the job's counts are those that its result and the pool show.
func (c *course) wantExact(t *rapid.T, cancelled bool, theirs alloc.Count) {
	j, err := c.model.Job(c.ctx, c.job)
	if err != nil {
		t.Fatal(err)
	}
	told := alloc.Tally{Added: j.Tally.Added}
	for _, line := range c.rejects(t, c.job) {
		switch {
		case strings.Contains(line, ",duplicate,"):
			told.Duplicate++
		case strings.Contains(line, ",conflict,"):
			told.Conflict++
		case strings.Contains(line, ",invalid,"):
			told.Invalid++
		}
	}
	if told != j.Tally || j.Done != told.Added+told.Duplicate+told.Conflict+told.Invalid {
		t.Errorf("the result tells of %+v, the job, with %d done, of %+v", told, j.Done, j.Tally)
	}
	added, want := c.added(t), c.file.tally.Added-theirs
	switch {
	case cancelled:
		if j.State != alloc.JobCancelled || j.Tally.Added > added {
			t.Errorf("the job is %+v, and has brought %d IDs into the pool", j, added)
		}
	case j.State != alloc.JobDone || j.Done != j.Total || added != want || j.Tally.Added != want || j.Tally.Invalid != c.file.tally.Invalid:
		t.Errorf("the job is %+v, and has brought %d IDs into the pool, want %d", j, added, want)
	}
}
