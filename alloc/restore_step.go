package alloc

import (
	"bytes"
	"cmp"
	"context"
	"strconv"
	"time"
)

// A restore goes on in steps: a piece of its log, a page of the old table, or some of the IDs that are retired. What a step does to a pool or
// a ledger can be done again: it is then so already. So of a step that was cut off, what it has carried may be counted as so already by
// the try that is counted; no line about what is amiss is lost.

// restorePage is how many IDs or leases a round of a step reads of an old table, or retires: as many as surely have their lines in one part.
const restorePage = 130

// restoreTime and restoreRounds bound how many of these a step does one after the other.
const (
	restoreTime   = 5 * time.Second
	restoreRounds = 50
)

// restoreStep does the next step: as much as its time allows, round by round, as long as nothing is amiss of which a line has to find room in its part. Where a
// round fails that is not the first, what was done before it is kept, and the next step meets what is the matter.
func (s *Service) restoreStep(ctx context.Context, j Job) (doneStep, error) {
	expected, err := s.toRestore(ctx, j)
	if err != nil {
		return doneStep{}, err
	}
	begun, at := s.now(), j
	var c forwarded
	for round := range restoreRounds {
		some, err := s.restoreRound(ctx, at)
		if err != nil && round == 0 {
			return doneStep{}, err
		}
		if err != nil {
			break
		}
		c = c.plus(some)
		at.Mark = c.next
		if c.next == "" || len(c.lines) > 0 || s.now().Sub(begun) >= restoreTime {
			break
		}
	}
	done, err := s.carriedStep(ctx, j, c)
	if err == nil && j.Pool != "" {
		done.job.Tally = done.job.Tally.looked(c.looked, max(0, expected-j.Tally.Looked-c.looked))
		if done.last {
			done.job.Tally = done.job.Tally.looked(0, 0)
		}
	}
	return done, err
}

// toRestore is at how many IDs the restore of a pool looks in all, as far as is known: at its log, and at the IDs of the pool; and at those of the old table, which has
// about as many.
func (s *Service) toRestore(ctx context.Context, j Job) (Count, error) {
	if j.Pool == "" || j.Tally.ToLook > 0 {
		return j.Tally.ToLook, nil
	}
	p, err := s.store.Pool(ctx, j.Pool)
	if err != nil {
		return 0, rebuildFirst(err, "rebuild the pool %q first, then restore it anew", j.Pool)
	}
	l, err := s.store.Level(ctx, j.Pool)
	if err != nil {
		return 0, rebuildFirst(err, "rebuild the pool %q first, then restore it anew", j.Pool)
	}
	there := l.Available + l.Held + l.Claimed + l.Returning + l.Retired
	switch {
	case j.Spec.Source == RestoreTable && j.sighted(p):
		return there, nil
	case j.Spec.Source == RestoreTable:
		return 2*there - l.Retired, nil
	case j.sighted(p):
		return j.Total, nil
	case j.Spec.AtMost > 0:
		return j.Total + l.Held + l.Returning + min(l.Available, j.Spec.AtMost), nil
	}
	return j.Total + l.Held + l.Returning + l.Available, nil
}

// restoreRound does the next round of a step. A pool is looked at each time: what is taken in the middle of a restore may be in two hands.
func (s *Service) restoreRound(ctx context.Context, j Job) (forwarded, error) {
	var p Pool
	if j.Pool != "" {
		var err error
		if p, err = s.store.Pool(ctx, j.Pool); err != nil {
			return forwarded{}, rebuildFirst(err, "rebuild the pool %q first, then restore it anew", j.Pool)
		}
		if err := j.checkRestored(p); err != nil {
			return forwarded{}, err
		}
	}
	step, err := s.restoreStepOf(j, p)
	if err != nil {
		return forwarded{}, err
	}
	return step(ctx, j)
}

func (s *Service) restoreStepOf(j Job, p Pool) (func(context.Context, Job) (forwarded, error), error) {
	switch source := j.Spec.Source; {
	case source == RestoreLog && !inOwnList(j.Mark):
		return s.carryPiece, nil
	case j.Pool != "":
		return func(ctx context.Context, j Job) (forwarded, error) { return s.restorePool(ctx, j, p) }, nil
	case source == RestoreTable:
		return s.carryOldLeases, nil
	case source == RestoreBurn: // what there is to do is said: see restoreSum
		return func(context.Context, Job) (forwarded, error) { return forwarded{}, nil }, nil
	}
	return nil, Errorf(CodeInternal, "what the job restores from is not known")
}

// forwarded is what a step has carried.
type forwarded struct {
	next  string // mark after it; "" at the end
	done  Count  // entries
	tally Tally
	lines []CarryLine // about all that is amiss
	notes []string    // for the job's log

	looked Count // IDs, whether or not something was to be done with them
}

// plus adds what the next round has carried.
func (c forwarded) plus(d forwarded) forwarded {
	return forwarded{
		next: d.next, done: c.done + d.done, looked: c.looked + d.looked, tally: c.tally.plus(d.tally), lines: append(c.lines, d.lines...), notes: append(c.notes, d.notes...),
	}
}

// carriedStep puts what is amiss as a part, and returns the job as it is after the step.
func (s *Service) carriedStep(ctx context.Context, j Job, c forwarded) (doneStep, error) {
	p := Part{IDs: Count(len(c.lines)), Tally: c.tally}
	if len(c.lines) > 0 {
		data, err := withoutPanic(func() ([]byte, error) { return s.log.EncodeCarries(c.lines) })
		if err != nil || len(data) > MaxPartBytes {
			return doneStep{}, Errorf(CodeInternal, "what was not carried cannot be written as a part of the result").Because(err)
		}
		p.Data = data
	}
	p, way, parts, err := s.putPassage(ctx, j, p, passage{from: j.Mark, to: c.next, done: c.done})
	if err != nil {
		return doneStep{}, err
	}
	to := j
	to.Mark, to.Parts = way.to, parts
	to.Done += way.done
	to.Tally = j.Tally.plus(p.Tally)
	for _, note := range c.notes {
		to = to.noting(s.second(), "%s", note)
	}
	last := way.to == ""
	if last {
		to.Parts = max(to.Parts, 1)
	}
	return doneStep{to, last}, nil
}

// carryPiece carries the next piece of a log.
func (s *Service) carryPiece(ctx context.Context, j Job) (forwarded, error) {
	if j.pieces() == 0 { // it is whole, and nothing was taken
		return forwarded{next: j.behindLog()}, nil
	}
	k, err := strconv.Atoi(cmp.Or(j.Mark, "0"))
	if err != nil {
		return forwarded{}, Errorf(CodeInternal, "where the job goes on is not known").Because(err)
	}
	data, err := s.piece(ctx, j, k)
	if err != nil {
		return forwarded{}, err
	}
	var ids []IDRecord
	var leases []LeaseRecord
	for line := range bytes.Lines(data) {
		l, err := s.readLogLine(bytes.TrimSpace(line))
		if err == nil {
			err = l.checkFor(j)
		}
		switch {
		case err != nil:
			return forwarded{}, Errorf(CodeInternal, "a piece of the log cannot be read as it was kept").Because(err)
		case l.ID != nil:
			ids = append(ids, *l.ID)
		default:
			leases = append(leases, *l.Lease)
		}
	}
	c, err := s.carry(ctx, j, ids, leases)
	c.looked = Count(len(ids))
	if k+1 < j.pieces() {
		c.next = strconv.Itoa(k + 1)
	} else {
		c.next = j.behindLog()
	}
	return c, err
}

// carryOldLeases carries the next leases of the old table.
func (s *Service) carryOldLeases(ctx context.Context, j Job) (forwarded, error) {
	page, next, err := s.old.WalkLedger(ctx, j.Spec.Sequence, j.Mark, restorePage)
	if err != nil {
		return forwarded{}, err
	}
	c, err := s.carry(ctx, j, nil, page)
	c.next = next
	return c, err
}

// carry carries IDs to the job's pool, or leases to its sequence, and tells what is amiss.
func (s *Service) carry(ctx context.Context, j Job, ids []IDRecord, leases []LeaseRecord) (c forwarded, err error) {
	for _, some := range onceEach(ids, maxCarry, func(r IDRecord) ID { return r.ID }) {
		if err := s.carryIDs(ctx, j, some, &c); err != nil {
			return forwarded{}, err
		}
	}
	for _, some := range onceEach(leases, maxCarry, func(r LeaseRecord) Number { return r.Start }) {
		if err := s.carryLeases(ctx, j, some, &c); err != nil {
			return forwarded{}, err
		}
	}
	return c, nil
}

// maxCarry is how many a Store carries at once.
const maxCarry = 1000

// onceEach cuts a list into some of at most size, none of which has the same key twice: what comes later in the list comes in a later one.
func onceEach[T any, K comparable](list []T, size int, key func(T) K) (cut [][]T) {
	for len(list) > 0 {
		met := make(map[K]bool, len(list))
		var now, later []T
		for _, t := range list {
			if len(now) < size && !met[key(t)] {
				now = append(now, t)
			} else {
				later = append(later, t)
			}
			met[key(t)] = true
		}
		cut, list = append(cut, now), later
	}
	return cut
}

// carryIDs carries IDs, none of them twice.
func (s *Service) carryIDs(ctx context.Context, j Job, ids []IDRecord, c *forwarded) error {
	outcomes, err := s.store.Carry(ctx, j.Pool, j.Spec.Since, ids)
	if err != nil {
		return err
	}
	if len(outcomes) != len(ids) {
		return Errorf(CodeInternal, "the store gave %d outcomes for %d IDs", len(outcomes), len(ids))
	}
	for i, o := range outcomes {
		if o == CarryClash {
			if err := s.keepHold(ctx, j.Pool, ids[i].ID); err != nil {
				return err
			}
		}
		c.outcome(j.Pool, ids[i], o)
	}
	return nil
}

// keepHold confirms the hold of an ID that is in two hands: it must not come back by itself, for a third.
func (s *Service) keepHold(ctx context.Context, pool PoolName, id ID) error {
	r, err := s.store.Inspect(ctx, pool, id)
	switch {
	case Is(err, CodeIDNotFound): // the pool has forgotten it
		return nil
	case err != nil || r.State != StateHeld:
		return err
	}
	_, err = s.store.Settle(ctx, SettleOrder{Pool: pool, Event: EventConfirm, IDs: []ID{id}, Token: r.Token})
	switch CodeOf(err) {
	case CodeNotOwner, CodeIDNotFound, CodeIDRetired: // he has given it back, or retired it, in this very moment
		return nil
	}
	return err
}

// outcome counts what became of an ID, and tells of one that is not as it was said to be.
func (c *forwarded) outcome(pool PoolName, r IDRecord, o CarryOutcome) {
	c.done++
	line := CarryLine{Pool: pool, ID: r.ID, Outcome: o}
	switch o {
	case CarryDone:
		c.tally.Carried++
		return
	case CarryKnown:
		c.tally.Duplicate++
		return
	case CarryClash:
		c.tally.Conflict++
		line.Detail = "somebody else has taken it since the restore: it is in two hands"
	case CarryBehind:
		c.tally.Invalid++
		line.Detail = "what is said of it is over: it has come back since"
	default:
		c.tally.Invalid++
		line.Detail = "what became of it is not known"
	}
	c.lines = append(c.lines, line)
}
