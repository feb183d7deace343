package alloc_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// chaos is a sequence that several processes lease of and several operators rebuild, while its counter comes to harm and calls of the Store fail.
type chaos struct {
	*wreck
	test      testing.TB // of all that is drawn
	processes []*alloc.Service
	plan      string // that an operator has seen last, maybe long ago
	given     map[alloc.Number]bool
}

// give takes a number as given to somebody, and fails where it was given before.
func (c *chaos) give(rt *rapid.T, numbers ...alloc.Number) {
	for _, n := range numbers {
		if c.given[n] {
			rt.Fatalf("%d was given twice", n)
		}
		c.given[n] = true
	}
}

func (c *chaos) process(rt *rapid.T) *alloc.Service {
	return rapid.SampledFrom(c.processes).Draw(rt, "process")
}

// expect fails where a failure is none that a caller may see.
func (c *chaos) expect(rt *rapid.T, err error) {
	if alloc.Is(err, alloc.CodeInternal) {
		rt.Fatal(err)
	}
}

// seen notes a plan that an operator looks at.
func (c *chaos) seen(rt *rapid.T, r alloc.Rebuild, err error) {
	c.expect(rt, err)
	if err == nil && r.Plan.ID != "" {
		c.plan = r.Plan.ID
	}
}

func (c *chaos) lease(rt *rapid.T) {
	n := alloc.Count(rapid.IntRange(1, 40).Draw(rt, "n"))
	r, err := c.process(rt).Lease(c.ctx, alloc.LeaseRequest{Sequence: orders, Count: n})
	if c.expect(rt, err); err == nil {
		for n := r.Start; n <= r.End; n++ {
			c.give(rt, n)
		}
	}
}

func (c *chaos) next(rt *rapid.T) {
	by := alloc.ClientID(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "client"))
	numbers, _, err := c.process(rt).Next(c.of(by), alloc.LeaseRequest{Sequence: orders, Count: alloc.Count(rapid.IntRange(1, 5).Draw(rt, "n"))})
	c.expect(rt, err)
	c.give(rt, numbers...)
}

func (c *chaos) harm(rt *rapid.T) {
	switch rapid.SampledFrom([]string{"drop", "back", "back", "mark", "copy"}).Draw(rt, "harm") {
	case "drop":
		c.model.DropCounter(orders)
	case "back":
		c.model.SetCounter(orders, alloc.Number(rapid.IntRange(1, 3000).Draw(rt, "counter")))
	case "mark":
		c.model.Damage(c.test, alloctest.Damage{Kind: alloctest.LoseMark, Sequence: orders})
	case "copy":
		c.model.Damage(c.test, alloctest.Damage{Kind: alloctest.LoseSequenceCopy, Sequence: orders})
	}
}

// ask is the request of an operator: the configuration is at hand where it is lost.
func (c *chaos) ask(rt *rapid.T) alloc.RebuildRequest {
	return alloc.RebuildRequest{
		Sequence: orders, Margin: alloc.Count(rapid.SampledFrom([]int{0, 1, 50}).Draw(rt, "margin")), Config: chaosConfig,
		HasReported: true, // nothing above the first, as far as the operator knows
		Replaces:    rapid.SampledFrom([]string{"", c.plan}).Draw(rt, "replaces"),
	}
}

var chaosConfig = alloc.SequenceConfig{Segment: 7, MaxLease: 60, AutoRebuild: true, ResumeShare: 50}

func (c *chaos) rebuild(rt *rapid.T) {
	s := c.process(rt)
	ctx := c.of(alloc.ClientID(rapid.SampledFrom([]string{"ann", "ben"}).Draw(rt, "operator")))
	var r alloc.Rebuild
	var err error
	switch rapid.SampledFrom([]string{"plan", "apply", "apply", "resume", "cancel", "look"}).Draw(rt, "step") {
	case "plan":
		r, err = s.PlanRebuild(ctx, c.ask(rt))
	case "apply":
		r, err = s.ApplyRebuild(ctx, alloc.RebuildApproval{Sequence: orders, Plan: c.plan})
	case "resume":
		r, err = s.ResumeRebuild(ctx, orders, rapid.SampledFrom([]int{0, 10, 60, 100}).Draw(rt, "share"))
	case "cancel":
		r, err = s.CancelRebuild(ctx, orders)
	case "look":
		r, err = s.Rebuild(ctx, orders)
	}
	c.seen(rt, r, err)
}

func (c *chaos) state(rt *rapid.T) {
	to := rapid.SampledFrom([]alloc.SequenceState{alloc.SequencePaused, alloc.SequenceActive, alloc.SequenceActive}).Draw(rt, "state")
	_, err := c.process(rt).SetSequenceState(c.ctx, orders, 0, to)
	c.expect(rt, err)
}

func (c *chaos) schedule(rt *rapid.T) {
	_, err := c.process(rt).Tend(alloc.AsSchedule(c.ctx))
	c.expect(rt, err)
	c.clock.Advance(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 6 * time.Minute}).Draw(rt, "wait"))
}

// C11, C12, C13, C14, C16: in every order of leases, harm to the counter, steps of several operators, runs of the schedule and
// failing calls, no number is given twice; and at the end, when nothing fails, a rebuild opens the sequence.
func TestNoNumberTwiceInAnyOrderOfHarmAndRebuild(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := &chaos{test: t, wreck: newWreckFor(t.Context(), rt, chaosConfig), plan: "none", given: map[alloc.Number]bool{}}
		for range 3 {
			c.processes = append(c.processes, c.another())
		}
		faulty := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "faults"), 1))
		often := rapid.SampledFrom([]int{5, 20, 100_000}).Draw(rt, "one call in")
		c.store.SetPlan(alloctest.Sometimes(faulty.IntN, often, alloctest.Refused, alloctest.RefusedUnknown, alloctest.AppliedButFailed, alloctest.Throttled))
		rt.Repeat(map[string]func(*rapid.T){
			"lease": c.lease, "next": c.next, "harm": c.harm, "rebuild": c.rebuild, "rebuild further": c.rebuild, "rebuild on": c.rebuild,
			"state": c.state, "tend": c.schedule,
		})
		c.store.SetPlan(nil)
		c.recover(rt)
		before := len(c.given)
		for _, s := range c.processes {
			r, err := s.Lease(c.ctx, alloc.LeaseRequest{Sequence: orders, Count: 5})
			if err != nil {
				rt.Fatal(err)
			}
			for n := r.Start; n <= r.End; n++ {
				c.give(rt, n)
			}
		}
		if len(c.given) != before+15 {
			rt.Fatalf("%d numbers were given, want 15", len(c.given)-before)
		}
	})
}

// recover is what an operator does at the end, who goes on where the others have left the rebuild, and begins another where that has
// become of no use.
func (c *chaos) recover(rt *rapid.T) {
	for i := 0; i < 5; i++ {
		r, err := c.Rebuild(c.ctx, orders)
		if err != nil && !alloc.Is(err, alloc.CodeRebuildStep) {
			rt.Fatal(err)
		}
		if err != nil || r.Step != alloc.RebuildApplied && r.Step != alloc.RebuildVerified && r.Step != alloc.RebuildResuming {
			if r, err = c.PlanRebuild(c.ctx, alloc.RebuildRequest{Sequence: orders, Config: chaosConfig, HasReported: true}); err != nil {
				rt.Fatal(err)
			}
		}
		if r.Step == alloc.RebuildPlanned || r.Step == alloc.RebuildApplied {
			if r, err = c.ApplyRebuild(c.ctx, alloc.RebuildApproval{Sequence: orders, Plan: r.Plan.ID}); err != nil {
				continue // the plan is another by now
			}
		}
		_, err = c.ResumeRebuild(c.ctx, orders, 100)
		q, werr := c.model.Watch(c.ctx, orders)
		switch {
		case werr != nil:
			rt.Fatal(werr)
		case err == nil && q.State != alloc.SequenceStopped && !q.Behind:
			i = 5
		case q.State == alloc.SequenceStopped, q.Behind: // it came to harm once more while it was frozen
			if _, err := c.PlanRebuild(c.ctx, alloc.RebuildRequest{Sequence: orders, Config: chaosConfig, HasReported: true}); err != nil {
				rt.Fatal(err)
			}
		}
	}
	q, err := c.Sequence(c.ctx, orders)
	if err != nil {
		rt.Fatal(err)
	}
	if q.State == alloc.SequencePaused {
		if _, err := c.SetSequenceState(c.ctx, orders, 0, alloc.SequenceActive); err != nil {
			rt.Fatal(err)
		}
	}
}
