package sql

import (
	"context"
	dbsql "database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"idpool/alloc"
)

// AuditSequence verifies the counter against mark and ledger, then each entry of the ledger.
func (s *Store) AuditSequence(ctx context.Context, name alloc.SequenceName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	return read(ctx, s.reader, func(t *tx) (alloc.AuditStep, error) {
		q, err := t.sequence(name)
		if err != nil {
			return alloc.AuditStep{}, err
		}
		if o.Step == "" {
			return t.auditCounter(q)
		}
		stage, place := stageOf(o.Step)
		from, ok := ledgerPlaceOf(place)
		if stage != stageLedger || !ok {
			return alloc.AuditStep{}, noStep()
		}
		return t.auditLedger(q, from, o.Sample, s.clock())
	})
}

// auditCounter reads mark and ledger first and then the counter, which only rises: what it is behind of it was behind of.
func (t *tx) auditCounter(q sequenceRow) (alloc.AuditStep, error) {
	step := alloc.AuditStep{Next: stageLedger + ledgerPlace{low: -1, reach: -1}.String()}
	w, err := t.highWater(q)
	if err != nil {
		return step, err
	}
	var highest dbsql.Null[alloc.Number]
	if _, err := t.row(`SELECT `+reach+` FROM (SELECT $1 AS sequence) AS s`, []any{q.number}, &highest); err != nil {
		return step, err
	}
	if q, err = t.sequence(q.Name); err != nil {
		return step, err
	}
	on := string(q.Name)
	switch {
	case q.State == alloc.SequenceDeleted:
		return step, nil
	case q.lost:
		found(&step, alloc.FindCounter, on, alloc.RemedyRebuild, "what says what the sequence is, is lost with its counter")
		return step, nil
	case !q.counter:
		found(&step, alloc.FindCounter, on, alloc.RemedyRebuild, "the counter is lost")
		return step, nil
	case q.Next < q.Config.Start:
		found(&step, alloc.FindCounter, on, alloc.RemedyRebuild, "the counter is at %d, below the start of the sequence", q.Next)
	case highest.Valid && q.Next <= highest.V:
		found(&step, alloc.FindCounter, on, alloc.RemedyRebuild, "the counter is at %d, and %d is leased", q.Next, highest.V)
	}
	if w.known && q.Next <= w.high {
		found(&step, alloc.FindMark, on, alloc.RemedyRebuild, "the counter is at %d, and the high-water mark at %d", q.Next, w.high)
	}
	return step, nil
}

// ledgerPlace is where an audit of a ledger goes on: after the entry that starts at low, with the greatest end of the proven
// ones until then; -1 for none; and what was missing.
type ledgerPlace struct {
	low, reach int64
	gaps       alloc.Gaps
}

func (p ledgerPlace) String() string { return fmt.Sprintf("%d/%d/%s", p.low, p.reach, p.gaps) }

func ledgerPlaceOf(text string) (p ledgerPlace, ok bool) {
	parts := strings.SplitN(text, "/", 3)
	if len(parts) != 3 {
		return p, false
	}
	var lowErr, reachErr, gapsErr error
	p.low, lowErr = strconv.ParseInt(parts[0], 10, 64)
	p.reach, reachErr = strconv.ParseInt(parts[1], 10, 64)
	p.gaps, gapsErr = alloc.GapsFrom(parts[2])
	return p, lowErr == nil && reachErr == nil && gapsErr == nil
}

// auditLedger looks at entries, each against all that start below it. The configuration is read after them: the limit is never
// below what is leased, and was none of theirs.
func (t *tx) auditLedger(q sequenceRow, from ledgerPlace, sample int, now time.Time) (step alloc.AuditStep, err error) {
	entries, err := list(t, scanLease, walkLedger, q.number, from.low, auditRows)
	if err != nil {
		return step, err
	}
	if q, err = t.sequence(q.Name); err != nil {
		return step, err
	}
	for _, l := range entries {
		on := fmt.Sprintf("%020d", l.Start)
		from.low = int64(l.Start)
		if drawn(on, sample) {
			step.Done++
			switch {
			case !readable(l):
				remedy, advice := alloc.Unreadable(q.counter && (l.Start >= q.Next || q.State == alloc.SequenceStopped))
				found(&step, alloc.FindLease, on, remedy, "the entry of the ledger cannot be read; %s", advice)
			case l.Start < q.Config.Start || l.End > q.Config.Limit:
				found(&step, alloc.FindLease, on, alloc.RemedyNone, "the lease of %d to %d lies outside the sequence", l.Start, l.End)
			case l.Proven && int64(l.Start) <= from.reach:
				found(&step, alloc.FindOverlap, on, alloc.RemedyNone, "the lease of %d to %d overlaps one before it, which reaches %d", l.Start, l.End, from.reach)
			}
		}
		if l.Proven && readable(l) {
			from.reach = max(from.reach, int64(l.End))
		}
		from.gaps = from.gaps.Plus(l, q.Config.Start, now)
	}
	if len(entries) == auditRows {
		step.Next = stageLedger + from.String()
		return step, nil
	}
	w, err := t.highWater(q)
	if err != nil {
		return step, err
	}
	if w.known {
		from.gaps = from.gaps.Until(w.high, w.epoch, w.at, now)
	}
	if f, ok := from.gaps.Finding(q.Name); ok {
		step.Findings = append(step.Findings, f)
	}
	return step, nil
}
