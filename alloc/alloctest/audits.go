package alloctest

import (
	"fmt"
	"slices"

	"idpool/alloc"
)

var auditCases = []testCase{
	{"an audit of a healthy pool looks at every ID, finds nothing and changes nothing", func(w *world) {
		m := w.mixture("p")
		for round := range 2 {
			before := w.fixture.Census(w.TB, "p")
			tally := w.healthy("p")
			equal(w, tally, alloc.Tally{
				Free: before[alloc.StateFree], Held: before[alloc.StateHeld], Claimed: before[alloc.StateClaimed],
				Returning: before[alloc.StateReturning], Retired: before[alloc.StateRetired],
			}, fmt.Sprintf("tally of round %d", round))
			for state, n := range w.fixture.Census(w.TB, "p") {
				equal(w, n, before[state], "IDs that are "+string(state))
			}
			w.settle("p")
		}
		w.whole(m)
		w.healthy("p")
	}},
	{"an audit of a healthy pool that forgets, of an empty and of a deleted one finds nothing", func(w *world) {
		w.forgetting("forgets", 20)
		w.claim(w.open(), order("forgets", 5))
		w.claim(w.open(), keyedOrder("forgets", 2, "k"))
		w.healthy("forgets")
		w.clock.Advance(expiry)
		w.sweep("forgets")
		w.healthy("forgets")
		w.pool("empty", alloc.PoolConfig{})
		w.healthy("empty")
		w.full("deleted", 5)
		w.claim(w.open(), order("deleted", 2))
		w.setState("deleted", alloc.PoolDeleted)
		w.healthy("deleted")
	}},
	{"audits beside claims, returns, seedings and sweeps find nothing", func(w *world) {
		const workers, auditors = 4, 2
		w.full("p", 60)
		stores := w.processes(workers + auditors + 1)
		ended, left := make(chan struct{}), make(chan struct{}, auditors)
		w.together(len(stores), func(i int) {
			switch {
			case i < workers:
				w.workBeside(stores[i], i, ended)
			case i == workers:
				w.sweepBeside(stores[i], ended)
			default:
				for range 5 {
					w.auditBeside(stores[i])
				}
				if left <- struct{}{}; len(left) == auditors {
					close(ended)
				}
			}
		})
		w.settle("p")
		w.healthy("p")
	}},
	{"a pool that is damaged in any part shows it, each finding once, until it is rebuilt", func(w *world) {
		for kind, finds := range map[DamageKind][]alloc.FindingKind{
			LoseHead:  {alloc.FindHead, alloc.FindCounts},
			LoseQueue: {alloc.FindChunk, alloc.FindUnlisted},
			SkewCount: {alloc.FindCounts, alloc.FindHead},
		} {
			pool := alloc.PoolName("p-" + kind[5:])
			w.full(pool, 20)
			w.claim(w.open(), order(pool, 1))
			w.settle(pool)
			if !w.damage(Damage{Kind: kind, Pool: pool}) {
				continue
			}
			f := w.finds(pool, finds...)
			equal(w, f.Remedy, alloc.RemedyRebuild, "remedy of "+string(kind))
			w.rebuiltPool(pool, "rebuild")
			w.sweep(pool)
			w.healthy(pool)
		}
	}},
	{"an ID that is listed and gone is found, and named", func(w *world) {
		ids := w.full("p", 20)
		if !w.damage(Damage{Kind: LoseID, Pool: "p", ID: ids[7]}) {
			return // the form of this engine has each ID in one place
		}
		equal(w, w.finds("p", alloc.FindLostID).On, string(ids[7]), "the ID that is named")
		w.book.lose("p", ids[7:8])
		w.rebuiltPool("p", "rebuild")
		w.sweep("p")
		w.healthy("p")
	}},
	{"a hold that is past its time for longer than two runs of the schedule is found, and swept away", func(w *world) {
		w.full("p", 10)
		held := w.claim(w.open(), holdOrder("p", 1, holdTime))
		w.healthy("p")
		w.pass(holdTime)
		w.pass(2*overdue + staleStock)
		f := w.finds("p", alloc.FindOverdueHold)
		equal(w, f.On, string(held.IDs[0]), "the ID that is named")
		equal(w, f.Remedy, alloc.RemedySweep, "remedy")
		w.sweep("p")
		w.healthy("p")
	}},
	{"an audit of a share looks at the same IDs each time, and at more of them as it grows", func(w *world) {
		w.full("p", 200)
		last := alloc.Count(0)
		for _, sample := range []int{1, 25, 50, 100} {
			step := w.auditPool("p", sample)
			equal(w, w.auditPool("p", sample).Done, step.Done, "IDs that were looked at again")
			if len(step.Findings) > 0 || step.Done < last {
				w.Fatalf("an audit of %d percent: got %d IDs and %v, want no fewer than %d and no findings", sample, step.Done, step.Findings, last)
			}
			last = step.Done
		}
		equal(w, last, 200, "IDs of a full audit")
	}},
	{"nothing that is not there is audited", func(w *world) {
		_, err := w.open().AuditPool(w.Context(), "none", alloc.AuditOrder{Job: "audit", Sample: 100})
		w.want(err, alloc.CodePoolNotFound, "AuditPool")
		_, err = w.open().AuditSequence(w.Context(), "none", alloc.AuditOrder{Job: "audit", Sample: 100})
		w.want(err, alloc.CodeSequenceNotFound, "AuditSequence")
	}},
}

// auditPool does the steps of an audit, each in another process than the last, and adds them up. A finding that comes twice
// stops the test.
func (w *world) auditPool(pool alloc.PoolName, sample int) alloc.AuditStep {
	w.Helper()
	return w.auditSteps(func(s alloc.Store, o alloc.AuditOrder) (alloc.AuditStep, error) {
		o.Sample = sample
		return s.AuditPool(w.Context(), pool, o)
	})
}

func (w *world) auditSteps(step func(s alloc.Store, o alloc.AuditOrder) (alloc.AuditStep, error)) (sum alloc.AuditStep) {
	w.Helper()
	stores, o := w.processes(2), alloc.AuditOrder{Job: "audit"}
	for i := range 1000 {
		got, err := step(stores[i%2], o)
		w.ok(err, "a step of an audit")
		sum = plusAudit(sum, got)
		if o.Step = got.Next; o.Step == "" {
			w.onceEach(sum.Findings)
			return sum
		}
	}
	w.Fatalf("an audit has not ended after 1000 steps")
	return sum
}

func plusAudit(a, b alloc.AuditStep) alloc.AuditStep {
	a.Done += b.Done
	a.Findings = append(a.Findings, b.Findings...)
	a.Tally.Free += b.Tally.Free
	a.Tally.Held += b.Tally.Held
	a.Tally.Claimed += b.Tally.Claimed
	a.Tally.Returning += b.Tally.Returning
	a.Tally.Retired += b.Tally.Retired
	a.Tally.Lost += b.Tally.Lost
	return a
}

// onceEach stops the test if a finding stands twice, or does not say what it is about.
func (w *world) onceEach(findings []alloc.Finding) {
	w.Helper()
	for i, f := range findings {
		if f.On == "" || f.Detail == "" || slices.ContainsFunc(findings[:i], func(g alloc.Finding) bool { return g.Kind == f.Kind && g.On == f.On }) {
			w.Fatalf("findings: got %+v in %+v, want each once, with what it is about in words", f, findings)
		}
	}
}

// healthy stops the test if an audit finds anything, and returns what it met.
func (w *world) healthy(pool alloc.PoolName) alloc.Tally {
	w.Helper()
	step := w.auditPool(pool, 100)
	if len(step.Findings) > 0 {
		w.Fatalf("an audit of %q, which is healthy: got %+v", pool, step.Findings)
	}
	t := step.Tally
	equal(w, t.Free+t.Held+t.Claimed+t.Returning+t.Retired, step.Done, "IDs that were counted")
	return t
}

// finds stops the test unless an audit finds one of the kinds, and returns the first.
func (w *world) finds(pool alloc.PoolName, kinds ...alloc.FindingKind) alloc.Finding {
	w.Helper()
	findings := w.auditPool(pool, 100).Findings
	i := slices.IndexFunc(findings, func(f alloc.Finding) bool { return slices.Contains(kinds, f.Kind) })
	if i < 0 {
		w.Fatalf("an audit of %q: got %+v, want one of %v", pool, findings, kinds)
	}
	return findings[i]
}

// auditBeside audits the pool "p" beside others. It must not stop the test.
func (w *world) auditBeside(s alloc.Store) {
	w.Helper()
	w.quietBeside(func(o alloc.AuditOrder) (alloc.AuditStep, error) { return s.AuditPool(w.Context(), "p", o) })
}

// quietBeside does the steps of an audit beside others, which must find nothing. It must not stop the test.
func (w *world) quietBeside(step func(alloc.AuditOrder) (alloc.AuditStep, error)) {
	w.Helper()
	o := alloc.AuditOrder{Job: "audit", Sample: 100}
	for range 100 * patience {
		done, err := step(o)
		if repeatable(err) {
			continue
		}
		if err != nil || len(done.Findings) > 0 {
			w.Errorf("an audit beside others: got %+v and %v, want no findings", done.Findings, err)
			return
		}
		if o.Step = done.Next; o.Step == "" {
			return
		}
	}
	w.Errorf("an audit beside others does not end")
}
