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

// auditedPools are random schedules of pools in which audits go on beside all else: they find nothing, whatever crashes, comes late or is
// repeated, in the middle of it and when all is quiet.
func auditedPools(t *testing.T, seed uint64, mutate func(dynamo.Table) dynamo.Table) runner {
	r := newPoolRun(t, seed, mutate)
	for range 2 + len(r.forms)/4 {
		r.forms = append(r.forms, r.audits)
	}
	return &auditedRun{r}
}

type auditedRun struct{ *poolRun }

// run ends with an audit of what the storm has left, before anybody has tidied up.
func (r *auditedRun) run() {
	defer r.stop()
	admin := r.open()
	if r.chance(80) {
		r.quietly(r.seeds(admin, r.jobs[0]))
	}
	r.storm(r.next)
	r.calm()
	if len(r.broken) == 0 {
		r.quietly(r.audited(r.spawn()))
		r.reap()
	}
}

func (r *poolRun) audits(p *process) { r.audited(p) }

// audited audits the pool, all steps by one process.
func (r *poolRun) audited(p *process) *act {
	job := alloc.JobID(fmt.Sprint("audit-", r.rng.IntN(1000)))
	return do(r.chaos, p, string(job), func(ctx context.Context, s *dynamo.Store) (found []alloc.Finding, err error) {
		for o := (alloc.AuditOrder{Job: job, Sample: 100}); ; {
			step, err := s.AuditPool(ctx, pool, o)
			if err != nil {
				return found, err
			}
			if found, o.Step = append(found, step.Findings...), step.Next; o.Step == "" {
				return found, nil
			}
		}
	}, func(_ *act, found []alloc.Finding, err error) {
		if err == nil && !p.dead {
			r.saw("an audit that came to its end")
		}
		lags := p.skew < -50*time.Minute // its clock stood still, for longer than is allowed for
		for _, f := range slices.DeleteFunc(found, r.excused) {
			if f.Kind == alloc.FindKey && lags {
				continue
			}
			r.fail("the audit finds %s on %s: %s", f.Kind, f.On, f.Detail)
		}
	})
}

// excused reports whether the schedule itself has made what was found: no schedule runs here that would bring holds back in time, the
// head was given another size by hand, and keys that nobody repeats are for information.
func (r *poolRun) excused(f alloc.Finding) bool {
	switch f.Kind {
	case alloc.FindOverdueHold, alloc.FindNothingHeard:
		return true
	case alloc.FindCounts:
		return r.extra > 0
	}
	return false
}

func TestModelOfAuditsBesidePools(t *testing.T) {
	runs := 300
	if raced {
		runs = 100
	}
	search(t, auditedPools, runs, "an audit that came to its end", "an ID that came back", "a key record void", "a late write that was applied", "a hold over")
}
