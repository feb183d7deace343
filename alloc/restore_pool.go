package alloc

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A restore of a pool goes over the pool's own IDs where that is needed, phase by phase, and then over the old table.
//
// Where nothing tells what was taken after the restore point, what may have been taken is retired: what is held and on its way back, whose
// life may have gone on, and free IDs in the order in which they would have been handed out. The same is done behind a log for what was taken after it was begun,
// but that a hold that has not ended is confirmed: it can have come back only by its owner, and must not come back by its end.
//
// A pool that forgets leaves nothing of an ID that was claimed: a walk over the old table does not meet it. So there the pool's own IDs are looked up in the old
// table first, in the order in which they go from state to state. What that has not any more was taken since, and is retired; what it has as taken is carried as that, before
// it is forgotten; only what is free in both stays so.
//
// What a step does with the pool's own IDs is kept as an input of the job before it does the first: a try that comes after one that was cut off, or
// beside one, does the same, so that AtMost holds, and all are counted. They are not free or held any more then, so nothing else tells them from the next.

// poolMark is where a restore of a pool stands.
type poolMark struct {
	list  int // number of the next list of IDs
	phase restorePhase
	taken Count  // IDs of the phase on the lists before
	at    string // mark of the Store
}

func (m poolMark) String() string { return fmt.Sprintf("%d %s %d %s", m.list, m.phase, m.taken, m.at) }

// heldOn is how long a hold must go on to be taken for one that has not ended, on whatever clock.
const heldOn = 5 * time.Minute

// behindLog is where a restore goes on whose log is carried: with counters of periods, and with what is burned for what was taken since, where that is to be.
func (j Job) behindLog() string {
	switch {
	case j.Pool == "":
		return ""
	case j.Spec.AtMost == 0:
		return poolMark{phase: sightedPhases[0]}.String()
	}
	return poolMark{phase: blindPhases[0]}.String()
}

// inOwnList reports whether the mark is of the pool's own IDs, and not the number of a piece of a log.
func inOwnList(mark string) bool { return strings.Contains(mark, " ") }

// readPoolMark reads where a job stands that begins with the phase.
func readPoolMark(text string, first restorePhase) (m poolMark, err error) {
	if text == "" {
		return poolMark{phase: first}, nil
	}
	words := strings.SplitN(text, " ", 4)
	if len(words) == 4 {
		list, err1 := strconv.Atoi(words[0])
		taken, err2 := strconv.ParseInt(words[2], 10, 64)
		if err1 == nil && err2 == nil {
			return poolMark{list, restorePhase(words[1]), Count(taken), words[3]}, nil
		}
	}
	return poolMark{}, Errorf(CodeInternal, "where the job goes on is not known")
}

// restorePool does the next step of a restore from the old table, or of a burning, also of one behind a log. A phase in which there is nothing to do
// takes no step of its own.
func (s *Service) restorePool(ctx context.Context, j Job, p Pool) (forwarded, error) {
	phases := j.phases(p)
	mark, err := readPoolMark(j.Mark, phases[0])
	if err != nil {
		return forwarded{}, err
	}
	looked := Count(0)
	for {
		c, over, err := s.phaseStep(ctx, j, p, &mark)
		if err != nil {
			return forwarded{}, err
		}
		looked += c.looked
		c.looked = looked
		if !over {
			c.next = mark.String()
			return c, nil
		}
		next := slices.Index(phases, mark.phase) + 1
		if next == len(phases) {
			return c, nil
		}
		mark = poolMark{list: mark.list, phase: phases[next]}
		if c.done > 0 || len(c.notes) > 0 {
			c.next = mark.String()
			return c, nil
		}
	}
}

// phaseStep does the next step of the phase that the mark is at, and moves the mark behind it; over says that the phase is.
func (s *Service) phaseStep(ctx context.Context, j Job, p Pool, mark *poolMark) (c forwarded, over bool, err error) {
	switch mark.phase {
	case phaseSeedings, phaseAgain:
		c, mark.at, err = s.endSeedings(ctx, j, mark.at)
	case phasePeriods:
		c, err = s.closePeriods(ctx, j, p)
	case phaseOld:
		c, mark.at, err = s.carryOldIDs(ctx, j, mark.at)
	case phaseRefill:
		if mark.at == "" {
			err = s.takeBurn(ctx, j)
		}
		if err == nil {
			c, over, err = s.carryOwnIDs(ctx, j, mark)
		}
	default:
		c, over, err = s.carryOwnIDs(ctx, j, mark)
	}
	return c, over || mark.at == "", err
}

// carryOldIDs carries the next IDs of the old table: also those that are free there, as the pool may not know them.
func (s *Service) carryOldIDs(ctx context.Context, j Job, from string) (c forwarded, next string, err error) {
	page, next, err := s.old.WalkIDs(ctx, j.Pool, "", from, restorePage)
	if err != nil {
		return forwarded{}, "", oldFirst(err, j)
	}
	for i, r := range page {
		page[i] = r.orLost()
	}
	c, err = s.carry(ctx, j, page, nil)
	c.looked = Count(len(page))
	return c, next, err
}

// carryOwnIDs retires or carries the next IDs of the pool itself, and moves the mark behind them; over says that the phase is.
func (s *Service) carryOwnIDs(ctx context.Context, j Job, mark *poolMark) (c forwarded, over bool, err error) {
	ids, looked, at, err := s.ownList(ctx, j, *mark)
	if err != nil {
		return forwarded{}, false, err
	}
	mark.list, mark.taken, mark.at = mark.list+1, mark.taken+Count(len(ids)), at
	var retired, taken []IDRecord
	for _, r := range ids {
		if r.State == StateRetired {
			retired = append(retired, r)
		} else {
			taken = append(taken, r)
		}
	}
	if c, err = s.carry(ctx, j, retired, nil); err != nil {
		return forwarded{}, false, err
	}
	c.looked = looked
	c.tally.Burned, c.tally.Carried, c.tally.Duplicate = c.tally.Carried+c.tally.Duplicate, 0, 0
	also, err := s.carry(ctx, j, taken, nil)
	c.done, c.tally, c.lines = c.done+also.done, c.tally.plus(also.tally), append(c.lines, also.lines...)
	if err == nil && mark.phase == phaseRefill && at != "" {
		over, err = s.resetRefill(ctx, j, at)
	}
	return c, over || mark.phase == phaseStock && j.Spec.AtMost > 0 && mark.taken >= j.Spec.AtMost, err
}

// ownList makes the list of what a step makes of the pool's own IDs, and returns the one that stands, with where the next goes on.
// looked is at how many IDs it has looked for that.
func (s *Service) ownList(ctx context.Context, j Job, mark poolMark) (ids []IDRecord, looked Count, next string, err error) {
	data, looked, err := s.encodeOwnList(ctx, j, mark)
	if err != nil {
		return nil, 0, "", err
	}
	name := "own." + strconv.Itoa(mark.list)
	if err := s.store.PutInput(ctx, j.ID, name, data); err != nil {
		return nil, 0, "", err
	}
	if data, err = s.store.Input(ctx, j.ID, name); err != nil {
		return nil, 0, "", err
	}
	ids, next, err = s.readOwnList(j, data)
	return ids, looked, next, err
}

// encodeOwnList writes a list of as many IDs as it can hold with all that is known of them.
func (s *Service) encodeOwnList(ctx context.Context, j Job, mark poolMark) (data []byte, looked Count, err error) {
	for limit := restorePage; limit > 0; limit /= 2 {
		page, next, err := s.ownPage(ctx, j, mark, limit)
		if err != nil {
			return nil, 0, rebuildFirst(err, "rebuild the pool %q first, then restore it anew", j.Pool)
		}
		looked = Count(len(page))
		if page, err = s.become(ctx, j, page); err != nil {
			return nil, 0, err
		}
		data := []byte(strconv.Quote(next) + "\n")
		if len(page) > 0 {
			lines, err := withoutPanic(func() ([]byte, error) { return s.log.EncodeIDs(page) })
			if err != nil {
				return nil, 0, unwritten(err)
			}
			data = append(data, lines...)
		}
		if len(data) <= MaxPartBytes {
			return data, looked, nil
		}
	}
	return nil, 0, Errorf(CodeInvalidRequest, "one ID with all that is known of it is too long for a list of %d bytes", MaxPartBytes)
}

// ownPage reads the next IDs of the phase, about limit of them.
func (s *Service) ownPage(ctx context.Context, j Job, mark poolMark, limit int) (page []IDRecord, next string, err error) {
	if mark.phase == phaseRefill {
		return s.refillPage(ctx, j, mark.at, limit)
	}
	if mark.phase != phaseStock {
		return s.store.WalkIDs(ctx, j.Pool, State(mark.phase), mark.at, limit)
	}
	if j.Spec.AtMost == 0 {
		return s.store.Stock(ctx, j.Pool, mark.at, limit)
	}
	left := j.Spec.AtMost - mark.taken
	page, next, err = s.store.Stock(ctx, j.Pool, mark.at, int(min(Count(limit), left)))
	if Count(len(page)) > left { // a page has about as many as were asked for
		page = page[:left]
	}
	return page, next, err
}

// become is what is to become of IDs of the pool: all are retired by a burning, and by the old table those that it does not know.
func (s *Service) become(ctx context.Context, j Job, page []IDRecord) (become []IDRecord, err error) {
	there := map[ID]IDRecord{}
	if j.Spec.Source == RestoreTable && len(page) > 0 {
		ids := make([]ID, len(page))
		for i, r := range page {
			ids[i] = r.ID
		}
		found, err := s.old.LookUp(ctx, j.Pool, ids)
		if err != nil {
			return nil, oldFirst(err, j)
		}
		for _, r := range found {
			there[r.ID] = r
		}
	}
	for _, r := range page {
		old, known := there[r.ID]
		switch {
		case j.Spec.Source == RestoreLog && r.State == StateHeld && r.HeldUntil.After(s.now().Add(heldOn)):
			r.State, r.HeldUntil = StateClaimed, time.Time{}
			become = append(become, r)
		case !known && j.Spec.Source == RestoreTable && r.At.After(j.Spec.Since):
			r.Token = "" // somebody has taken it here since the restore, and somebody there: a clash
			become = append(become, r.retiredFor(j))
		case !known:
			become = append(become, r.retiredFor(j))
		case old.State != StateFree:
			become = append(become, old.orLost())
		}
	}
	return become, nil
}

// oldFirst is the error where the old table is to be rebuilt first.
func oldFirst(err error, j Job) error {
	return rebuildFirst(err, "rebuild the pool %q in the old table first, then restore it anew, or restore it from a log", j.Pool)
}

// orLost is the ID, and retired where it cannot be read what it is: somebody may have it, so nobody gets it.
func (r IDRecord) orLost() IDRecord {
	if r.State == "" {
		r.State, r.HeldUntil = StateRetired, time.Time{}
	}
	return r
}

// retiredFor is the ID as the job retires it: with the token of whoever has it.
func (r IDRecord) retiredFor(j Job) IDRecord {
	r.State, r.HeldUntil = StateRetired, time.Time{}
	if r.At.IsZero() {
		r.At, r.By = j.Created, j.By
	}
	return r
}

func (s *Service) readOwnList(j Job, data []byte) (ids []IDRecord, next string, err error) {
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	if next, err = strconv.Unquote(string(head)); err != nil {
		return nil, "", Errorf(CodeInternal, "a list of IDs cannot be read as it was kept").Because(err)
	}
	for line := range bytes.Lines(rest) {
		l, err := s.readLogLine(bytes.TrimSpace(line))
		if err == nil {
			err = l.checkFor(j)
		}
		if err != nil {
			return nil, "", Errorf(CodeInternal, "a list of IDs cannot be read as it was kept").Because(err)
		}
		ids = append(ids, *l.ID)
	}
	return ids, next, nil
}
