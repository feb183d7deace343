package alloc

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Where nothing tells what was taken after the restore point, what may have been taken is retired: what is held and on its way back, whose
// life may have gone on, and free IDs in the order in which they would have been handed out.
//
// Which IDs a step retires is kept as an input of the job before it retires the first: a try that comes after one that was cut off, or
// beside one, retires the same, so that AtMost holds, and all are counted. They are not free or held any more then, so nothing else tells them from the next.

// burnPhase is what a burn retires.
type burnPhase string

// The phases, in their order.
const (
	burnHeld      burnPhase = "held"
	burnReturning burnPhase = "returning"
	burnStock     burnPhase = "stock"
)

// burnTries is how often a step goes after an ID that comes back meanwhile.
const burnTries = 3

// burnMark is where a burn stands.
type burnMark struct {
	list  int // number of the next list of IDs
	phase burnPhase
	taken Count  // IDs of the phase on the lists before
	at    string // mark of the Store
}

func (m burnMark) String() string { return fmt.Sprintf("%d %s %d %s", m.list, m.phase, m.taken, m.at) }

func readBurnMark(text string) (m burnMark, err error) {
	if text == "" {
		return burnMark{phase: burnHeld}, nil
	}
	words := strings.SplitN(text, " ", 4)
	if len(words) == 4 {
		list, err1 := strconv.Atoi(words[0])
		taken, err2 := strconv.ParseInt(words[2], 10, 64)
		if err1 == nil && err2 == nil {
			return burnMark{list, burnPhase(words[1]), Count(taken), words[3]}, nil
		}
	}
	return burnMark{}, Errorf(CodeInternal, "where the job goes on is not known")
}

// burn retires the next IDs.
func (s *Service) burn(ctx context.Context, j Job) (forwarded, error) {
	mark, err := readBurnMark(j.Mark)
	if err != nil {
		return forwarded{}, err
	}
	ids, at, err := s.burnList(ctx, j, mark)
	if err != nil {
		return forwarded{}, err
	}
	c, err := s.retire(ctx, j, ids)
	mark.list, mark.taken, mark.at = mark.list+1, mark.taken+Count(len(ids)), at
	all := mark.phase == burnStock && j.Spec.AtMost > 0 && mark.taken >= j.Spec.AtMost
	switch {
	case !all && at != "":
		c.next = mark.String()
	case mark.phase == burnHeld:
		c.next = burnMark{list: mark.list, phase: burnReturning}.String()
	case mark.phase == burnReturning:
		c.next = burnMark{list: mark.list, phase: burnStock}.String()
	}
	return c, err
}

// burnList makes the list of the IDs that a step retires, and returns the one that stands, with where the next goes on.
func (s *Service) burnList(ctx context.Context, j Job, mark burnMark) (ids []IDRecord, next string, err error) {
	data, err := s.encodeBurnList(ctx, j, mark)
	if err != nil {
		return nil, "", err
	}
	name := "burn." + strconv.Itoa(mark.list)
	if err := s.store.PutInput(ctx, j.ID, name, data); err != nil {
		return nil, "", err
	}
	if data, err = s.store.Input(ctx, j.ID, name); err != nil {
		return nil, "", err
	}
	return s.readBurnList(j, data)
}

// encodeBurnList writes a list of as many IDs as it can hold with all that is known of them.
func (s *Service) encodeBurnList(ctx context.Context, j Job, mark burnMark) ([]byte, error) {
	for limit := restorePage; limit > 0; limit /= 2 {
		page, next, err := s.burnPage(ctx, j, mark, limit)
		if err != nil {
			return nil, rebuildFirst(err, "rebuild the pool %q first, then burn what is left of it", j.Pool)
		}
		data := []byte(strconv.Quote(next) + "\n")
		if len(page) > 0 {
			lines, err := withoutPanic(func() ([]byte, error) { return s.log.EncodeIDs(page) })
			if err != nil {
				return nil, unwritten(err)
			}
			data = append(data, lines...)
		}
		if len(data) <= MaxPartBytes {
			return data, nil
		}
	}
	return nil, Errorf(CodeInvalidRequest, "one ID with all that is known of it is too long for a list of %d bytes", MaxPartBytes)
}

// burnPage reads what the next list may have, about limit of it.
func (s *Service) burnPage(ctx context.Context, j Job, mark burnMark, limit int) (page []IDRecord, next string, err error) {
	switch mark.phase {
	case burnHeld:
		return s.store.WalkIDs(ctx, j.Pool, StateHeld, mark.at, limit)
	case burnReturning:
		return s.store.WalkIDs(ctx, j.Pool, StateReturning, mark.at, limit)
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

func (s *Service) readBurnList(j Job, data []byte) (ids []IDRecord, next string, err error) {
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	if next, err = strconv.Unquote(string(head)); err != nil {
		return nil, "", Errorf(CodeInternal, "a list of IDs to retire cannot be read as it was kept").Because(err)
	}
	for line := range bytes.Lines(rest) {
		l, err := s.readLogLine(bytes.TrimSpace(line))
		if err == nil {
			err = l.checkFor(j)
		}
		if err != nil {
			return nil, "", Errorf(CodeInternal, "a list of IDs to retire cannot be read as it was kept").Because(err)
		}
		ids = append(ids, *l.ID)
	}
	return ids, next, nil
}

// retire retires IDs as they were met. One that has come back in the meantime is looked at again, as it is as likely to have been taken as
// before.
func (s *Service) retire(ctx context.Context, j Job, ids []IDRecord) (c forwarded, err error) {
	for try := 1; len(ids) > 0; try++ {
		for i := range ids {
			ids[i].State, ids[i].HeldUntil = StateRetired, time.Time{}
			if ids[i].At.IsZero() {
				ids[i].At, ids[i].By = j.Created, j.By
			}
		}
		outcomes, err := s.store.Carry(ctx, j.Pool, ids)
		if err != nil {
			return forwarded{}, err
		}
		if len(outcomes) != len(ids) {
			return forwarded{}, Errorf(CodeInternal, "the store gave %d outcomes for %d IDs", len(outcomes), len(ids))
		}
		var again []IDRecord
		for i, o := range outcomes {
			if o == CarryBehind && try < burnTries {
				now, err := s.store.Inspect(ctx, j.Pool, ids[i].ID)
				if err != nil {
					return forwarded{}, err
				}
				if now.State != StateClaimed {
					again = append(again, now)
					continue
				}
			}
			c.outcome(j.Pool, ids[i], o)
		}
		ids = again
	}
	c.tally.Burned, c.tally.Carried, c.tally.Duplicate = c.tally.Carried+c.tally.Duplicate, 0, 0
	return c, nil
}
