package alloctest

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"idpool/alloc"
)

// overdue is after how long past its time a hold is a finding: two runs of the schedule.
const overdue = 2 * time.Minute

// drawn reports whether what is named is in the sample: always the same.
func drawn(name string, percent int) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never returns an error
	return int(h.Sum32()%100) < percent
}

// AuditPool implements alloc.Audits, in one step.
func (m *Model) AuditPool(ctx context.Context, pool alloc.PoolName, o alloc.AuditOrder) (step alloc.AuditStep, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.poolAsIs(pool)
		if err != nil {
			return err
		}
		if p.lost {
			found(&step, alloc.FindHead, string(pool), "the head is lost", alloc.RemedyRebuild)
		}
		for _, id := range slices.Sorted(maps.Keys(p.ids)) {
			if drawn(string(id), o.Sample) {
				p.audit(&step, p.ids[id], m.now())
			}
		}
		for _, id := range slices.Sorted(maps.Keys(p.gone)) {
			if drawn(string(id), o.Sample) {
				step.Tally.Lost++
				found(&step, alloc.FindLostID, string(id), "it is listed and has no record", alloc.RemedyRebuild)
			}
		}
		if known := alloc.Count(len(p.ids)) + p.forgotten; o.Sample == 100 && known != p.seeded {
			found(&step, alloc.FindCounts, string(pool), fmt.Sprintf("%d were seeded, and %d are known", p.seeded, known), alloc.RemedyRebuild)
		}
		return nil
	})
	return step, err
}

// audit verifies one ID.
func (p *modelPool) audit(step *alloc.AuditStep, r *modelID, now time.Time) {
	step.Done++
	tally(&step.Tally, r.State)
	switch {
	case r.State == alloc.StateFree && r.unlisted:
		found(step, alloc.FindUnlisted, string(r.ID), "it is free, and nothing lists it", alloc.RemedyRebuild)
	case r.State == alloc.StateHeld && now.After(r.HeldUntil.Add(overdue)):
		found(step, alloc.FindOverdueHold, string(r.ID), "its time is over", alloc.RemedySweep)
	}
}

func found(step *alloc.AuditStep, kind alloc.FindingKind, on, detail string, remedy alloc.Remedy) {
	step.Findings = append(step.Findings, alloc.Finding{Kind: kind, On: on, Detail: detail, Remedy: remedy})
}

// AuditSequence implements alloc.Audits, in one step.
func (m *Model) AuditSequence(ctx context.Context, name alloc.SequenceName, o alloc.AuditOrder) (step alloc.AuditStep, err error) {
	err = m.step(ctx, func(d *modelData) error {
		q := d.sequences[name]
		if q == nil {
			return alloc.Errorf(alloc.CodeSequenceNotFound, "there is no sequence %q; create it first", name)
		}
		next := q.Next
		if q.lost {
			found(&step, alloc.FindCounter, string(name), "the counter is lost", alloc.RemedyRebuild)
			next = alloc.MaxNumber + 1 // nothing is behind it
		}
		if q.marked != nil && next <= q.marked.last {
			found(&step, alloc.FindMark, string(name), fmt.Sprintf("the counter is at %d, the mark at %d", next, q.marked.last), alloc.RemedyRebuild)
		}
		if highest, any := q.highest(); any && highest >= next {
			found(&step, alloc.FindCounter, string(name), fmt.Sprintf("the counter is at %d, and %d is leased", next, highest), alloc.RemedyRebuild)
		}
		q.auditLedger(&step, o.Sample, m.now())
		return nil
	})
	return step, err
}

// highest is the highest number that is leased, as far as the ledger can be read.
func (q *modelSequence) highest() (highest alloc.Number, any bool) {
	for _, l := range q.ledger {
		if !l.damaged {
			highest, any = max(highest, l.End), true
		}
	}
	return highest, any
}

// auditLedger verifies the entries that are drawn, each against all below it.
func (q *modelSequence) auditLedger(step *alloc.AuditStep, sample int, now time.Time) {
	var gaps alloc.Gaps
	reach, proven := alloc.Number(0), false
	for _, l := range slices.SortedFunc(slices.Values(q.ledger), func(a, b modelLease) int { return cmp.Compare(a.Start, b.Start) }) {
		on := startMark(l.Start)
		look := drawn(on, sample)
		if look {
			step.Done++
		}
		switch {
		case l.damaged && look:
			remedy, advice := alloc.Unreadable(!q.lost && (l.Start >= q.Next || q.State == alloc.SequenceStopped))
			found(step, alloc.FindLease, on, "it cannot be read; "+advice, remedy)
		case look && (l.End < l.Start || l.Start < q.Config.Start || l.End > q.Config.Limit):
			found(step, alloc.FindLease, on, "it lies outside the sequence", alloc.RemedyNone)
		case look && l.Proven && proven && l.Start <= reach:
			found(step, alloc.FindOverlap, on, "it overlaps one before", alloc.RemedyNone)
		}
		if l.Proven && !l.damaged {
			reach, proven = max(reach, l.End), true
		}
		if l.damaged {
			l.LeaseRecord = alloc.LeaseRecord{Start: l.Start}
		}
		gaps = gaps.Plus(l.LeaseRecord, q.Config.Start, now)
	}
	if q.marked != nil {
		gaps = gaps.Until(q.marked.last, q.marked.epoch, q.marked.at, now)
	}
	if f, ok := gaps.Finding(q.Name); ok {
		step.Findings = append(step.Findings, f)
	}
}
