package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// What the schedules know of a sequence's other items.
var (
	markKey    = dynamo.Key{PK: "S#" + string(sequence), SK: "W"}
	rebuildKey = dynamo.Key{PK: "S#" + string(sequence), SK: "B"}
	entryKey   = dynamo.Key{PK: "N#seq", SK: string(sequence)}
)

// newRebuildRun is a sequenceRun in which operators rebuild the sequence at any time, several at once, by the Service's own
// procedure; and more is harmed: the head, the ledger below the mark, the mark, the entry of the catalogue, the rebuild's record.
func newRebuildRun(t *testing.T, seed uint64, mutate func(dynamo.Table) dynamo.Table) *sequenceRun {
	r := newSequenceRun(t, seed, mutate)
	r.rebuilds = true
	r.left += 10
	if r.edits > 0 {
		r.edits += 2
	}
	if r.config.Limit < 1000 {
		r.config.Limit *= 100
		r.most = r.config.Limit
	}
	return r
}

// present is the epoch of the counter, or the latest that it had.
func (r *sequenceRun) present() int64 {
	r.epoch = max(r.epoch, r.mem.Item(counterKey).Int("ep"))
	return r.epoch
}

// harm does harm that only a rebuild can mend.
func (r *sequenceRun) harm(head dynamo.Item) {
	switch r.rng.IntN(6) {
	case 0:
		attr := []string{attrLast, "ep", attrState, "lim", "beg"}[r.rng.IntN(5)]
		r.note("somebody damages %s of the head", attr)
		if delete(head, attr); r.chance(50) {
			head[attr] = true
		}
		r.mem.Set(head)
	case 1, 2:
		r.cutLedger()
	case 3:
		if !r.cut {
			r.note("somebody removes the mark")
			r.mem.Drop(markKey)
		}
	case 4:
		if r.cut || r.hasLeased() { // else nothing would be left of the sequence, if its head goes too
			r.note("somebody removes the entry of the catalogue")
			r.mem.Drop(entryKey)
		}
	default:
		r.note("somebody removes the record of the rebuild")
		r.mem.Drop(rebuildKey)
	}
}

// hasLeased reports whether the ledger shows a lease for good.
func (r *sequenceRun) hasLeased() bool {
	return slices.ContainsFunc(r.mem.Items(), func(it dynamo.Item) bool { return it.Str("pk") == "S#"+string(sequence)+"#L" && it.Bool("pr") })
}

// isWhole reports whether nobody has damaged the head: else whoever sets the counter mends it.
func isWhole(head dynamo.Item) bool {
	for _, attr := range []string{attrLast, "ep", "lim", "beg"} {
		if _, ok := head[attr].(int64); !ok {
			return false
		}
	}
	return head.Str(attrState) != ""
}

// cutLedger removes what the ledger has up to the mark, and mostly sets the counter back into it. All processes end with it: one that
// goes on relies on what it knew of the mark a minute ago.
func (r *sequenceRun) cutLedger() {
	mark, marked := r.mem.Item(markKey)[attrLast].(int64)
	if !marked {
		return
	}
	r.saw("a ledger cut")
	r.note("somebody removes the ledger up to %d", mark)
	r.cut = true
	for _, p := range slices.Clone(r.living) {
		r.crash(p)
	}
	for _, it := range r.mem.Items() {
		if it.Str("pk") == "S#"+string(sequence)+"#L" && it.Int("end") <= mark {
			r.mem.Drop(it.Key())
		}
	}
	if it := r.mem.Item(counterKey); isWhole(it) && r.chance(70) {
		it[attrLast] = int64(r.config.Start) - 1 + r.rng.Int64N(mark-int64(r.config.Start)+2)
		r.note("and sets the last number leased to %d", it[attrLast])
		r.mem.Set(it)
	}
}

func (r *sequenceRun) watch(p *process) {
	do(r.chaos, p, "watch", func(ctx context.Context, s *dynamo.Store) (alloc.Sequence, error) {
		return s.Watch(ctx, sequence)
	}, func(_ *act, q alloc.Sequence, err error) {
		switch {
		case p.dead || err != nil:
		case q.State == alloc.SequenceStopped && !r.edited:
			r.fail("the watch stopped the sequence, and nobody touched it")
		case q.State == alloc.SequenceStopped:
			r.saw("a watch that stopped the sequence, or met it stopped")
		}
	})
}

func (r *sequenceRun) audit(p *process) {
	do(r.chaos, p, "audit", func(ctx context.Context, s *dynamo.Store) (alloc.AuditStep, error) {
		return s.AuditSequence(ctx, sequence, alloc.AuditOrder{Job: "audit", Sample: 100})
	}, func(_ *act, step alloc.AuditStep, err error) {
		switch {
		case p.dead || err != nil || kinds(step.Findings) == "" || kinds(step.Findings) == string(alloc.FindGaps): // what a crash cuts off is missing
		case !r.edited:
			r.fail("the audit found %+v, and nobody touched anything", step.Findings)
		default:
			r.saw("an audit with findings")
		}
	})
}

// operator is the caller of a rebuild.
func operator(ctx context.Context) context.Context {
	return alloc.WithCaller(ctx, alloc.Caller{Client: "operator", Scopes: alloc.AllScopes()})
}

// operate begins or goes on with a rebuild, some steps far.
func (r *sequenceRun) operate(p *process) *act {
	depth, cancel := r.rng.IntN(4), r.chance(15)
	request := alloc.RebuildRequest{Sequence: sequence, Why: "chaos", Margin: alloc.Count(1 + r.rng.IntN(3)), Config: r.config}
	return do(r.chaos, p, fmt.Sprintf("operator(%d)", depth), func(ctx context.Context, s *dynamo.Store) (alloc.Rebuild, error) {
		done, err := rebuildBy(operator(ctx), s, request, depth, cancel && depth < 2)
		if again := cancel && depth >= 2; again && err == nil && (done.Step == alloc.RebuildVerified || done.Step == alloc.RebuildResuming) {
			request.Replaces = done.Plan.ID
			return rebuildBy(operator(ctx), s, request, 0, false)
		}
		return done, err
	}, func(_ *act, done alloc.Rebuild, err error) {
		if p.dead {
			return
		}
		r.rebuilt(done)
		if err != nil {
			r.saw("a rebuild refused: " + string(alloc.CodeOf(err)))
		}
	})
}

// rebuildBy carries a rebuild on by so many steps behind the plan, or cancels it.
func rebuildBy(ctx context.Context, s *dynamo.Store, request alloc.RebuildRequest, depth int, cancel bool) (alloc.Rebuild, error) {
	service, err := alloc.NewService(alloc.Config{Store: s})
	if err != nil {
		return alloc.Rebuild{}, err
	}
	now, err := service.Rebuild(ctx, request.Sequence)
	if err != nil || now.Step.Ended() || now.Step == alloc.RebuildGathering || now.Step == alloc.RebuildPlanned || request.Replaces != "" {
		if now, err = service.PlanRebuild(ctx, request); err != nil {
			return now, err
		}
	}
	if cancel {
		return service.CancelRebuild(ctx, request.Sequence)
	}
	for ; depth > 0 && err == nil && !now.Step.Ended(); depth-- {
		switch now.Step {
		case alloc.RebuildPlanned, alloc.RebuildApplied:
			now, err = service.ApplyRebuild(ctx, alloc.RebuildApproval{Sequence: request.Sequence, Plan: now.Plan.ID, Exhausts: true})
		case alloc.RebuildVerified:
			now, err = service.ResumeRebuild(ctx, request.Sequence, 30)
		default:
			now, err = service.ResumeRebuild(ctx, request.Sequence, 100)
		}
		if alloc.Is(err, alloc.CodeRebuildStep) || alloc.Is(err, alloc.CodePlanChanged) { // it has stopped again, or another operator is at work
			now, err = service.PlanRebuild(ctx, request)
		}
	}
	return now, err
}

// rebuilt notes what a rebuild has come to. Its test numbers are nobody else's.
func (r *sequenceRun) rebuilt(now alloc.Rebuild) {
	if now.Step != "" {
		r.saw("a rebuild " + string(now.Step))
	}
	if len(now.Tested) != 2 || slices.ContainsFunc(r.answers, func(a answeredRange) bool { return a.who == string(now.ID) }) {
		return
	}
	for _, a := range r.answers {
		if now.Tested[0] <= a.r.End && a.r.Start <= now.Tested[1] {
			r.fail("the test of the rebuild leased %d to %d, which overlaps %d to %d of %s", now.Tested[0], now.Tested[1], a.r.Start, a.r.End, a.who)
		}
	}
	r.answers = append(r.answers, answeredRange{string(now.ID), alloc.Range{Start: now.Tested[0], End: now.Tested[1]}})
}

// recover rebuilds the sequence at last, whatever has become of it, and shows that it goes on above all that was ever answered. Where the
// counter was harmed during the rebuild that was on, it takes another one.
func (r *sequenceRun) recover(p *process) {
	var err error
	for range 4 {
		if err = r.rebuildAtLast(p); err == nil {
			err = r.leaseAtLast(p)
		}
		if err == nil || alloc.Is(err, alloc.CodeSequenceExhausted) {
			r.saw("a sequence rebuilt at last")
			return
		}
		r.pass(time.Minute)
	}
	// Where nobody ever got a number that he knows of, and only the counter says otherwise, it is for the operator to say.
	if !alloc.Is(err, alloc.CodeNoEvidence) || len(r.answers) > 0 {
		r.fail("the rebuild at last ended with %v, and the head is %v", err, r.mem.Item(counterKey))
	}
}

func (r *sequenceRun) rebuildAtLast(p *process) (err error) {
	r.quietly(do(r.chaos, p, "rebuild at last", func(ctx context.Context, s *dynamo.Store) (alloc.Rebuild, error) {
		return rebuildBy(operator(ctx), s, alloc.RebuildRequest{Sequence: sequence, Why: "at last", Margin: 1, Config: r.config}, 6, false)
	}, func(_ *act, done alloc.Rebuild, failed error) {
		err = failed
		r.rebuilt(done)
	}))
	r.reap()
	return err
}

func (r *sequenceRun) leaseAtLast(p *process) (err error) {
	r.quietly(do(r.chaos, p, "lease at last", func(ctx context.Context, s *dynamo.Store) (alloc.Range, error) {
		return s.Lease(ctx, alloc.LeaseOrder{Sequence: sequence, Count: 1, By: "client"})
	}, func(_ *act, got alloc.Range, failed error) {
		if err = failed; err != nil {
			return
		}
		for _, a := range r.answers {
			if a.r.End >= got.Start {
				r.fail("after the rebuild %d was leased, and %s had %d to %d before", got.Start, a.who, a.r.Start, a.r.End)
			}
		}
		r.answers = append(r.answers, answeredRange{"lease at last", got})
	}))
	r.reap()
	return err
}

func rebuilds(t *testing.T, seed uint64, mutate func(dynamo.Table) dynamo.Table) runner {
	return newRebuildRun(t, seed, mutate)
}

func TestModelOfRebuilds(t *testing.T) {
	search(t, rebuilds, 600, "a counter edited", "a sequence stopped", "a ledger cut", "a watch that stopped the sequence, or met it stopped",
		"a rebuild verified", "a rebuild resuming", "a rebuild done", "a rebuild cancelled", "a late write that was applied", "a sequence rebuilt at last")
}
