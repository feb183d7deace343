package alloc

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Where nothing tells what was taken after the restore point, what may have been taken is retired: what is held and on its way back, whose
// life may have gone on, and free IDs in the order in which they would have been handed out.
//
// Which free IDs a step retires is kept as an input of the job before it retires the first: a try that comes after one that was cut off, or
// beside one, retires the same, so that AtMost holds. Those are not free any more then, so no mark tells them from the next.

// The phases of a burn, in their order: the beginning of the job's mark.
const (
	burnHeld      = "held "
	burnReturning = "returning "
	burnStock     = "stock "
)

// burnTries is how often a step goes after an ID that comes back meanwhile.
const burnTries = 3

// burn retires the next IDs.
func (s *Service) burn(ctx context.Context, j Job) (forwarded, error) {
	if at, ok := strings.CutPrefix(j.Mark, burnStock); ok {
		return s.burnStock(ctx, j, at)
	}
	if at, ok := strings.CutPrefix(j.Mark, burnReturning); ok {
		return s.burnWalked(ctx, j, StateReturning, at, burnReturning, burnMark{}.String())
	}
	return s.burnWalked(ctx, j, StateHeld, strings.TrimPrefix(j.Mark, burnHeld), burnHeld, burnReturning)
}

// burnWalked retires the next IDs in the state; after is the mark of the phase after that.
func (s *Service) burnWalked(ctx context.Context, j Job, state State, at, phase, after string) (forwarded, error) {
	page, next, err := s.store.WalkIDs(ctx, j.Pool, state, at, restorePage)
	if err != nil {
		return forwarded{}, err
	}
	c, err := s.retire(ctx, j, page)
	if c.next = after; next != "" {
		c.next = phase + next
	}
	return c, err
}

// burnMark is where the retiring of free IDs stands.
type burnMark struct {
	list  int   // number of the next list of IDs
	taken Count // free IDs on the lists before
	stock string
}

func (m burnMark) String() string {
	return fmt.Sprintf("%s%d %d %s", burnStock, m.list, m.taken, m.stock)
}

func readBurnMark(text string) (m burnMark, err error) {
	words := strings.SplitN(text, " ", 3)
	if len(words) == 3 {
		list, err1 := strconv.Atoi(words[0])
		taken, err2 := strconv.ParseInt(words[1], 10, 64)
		if err1 == nil && err2 == nil {
			return burnMark{list, Count(taken), words[2]}, nil
		}
	}
	return burnMark{}, Errorf(CodeInternal, "where the job goes on is not known")
}

// burnStock retires the next free IDs.
func (s *Service) burnStock(ctx context.Context, j Job, at string) (forwarded, error) {
	mark, err := readBurnMark(at)
	if err != nil {
		return forwarded{}, err
	}
	ids, next, err := s.burnList(ctx, j, mark)
	if err != nil {
		return forwarded{}, err
	}
	c, err := s.retire(ctx, j, ids)
	mark.list, mark.taken, mark.stock = mark.list+1, mark.taken+Count(len(ids)), next
	if next != "" && (j.Spec.AtMost == 0 || mark.taken < j.Spec.AtMost) {
		c.next = mark.String()
	}
	return c, err
}

// burnList makes the list of the free IDs that a step retires, and returns the one that stands, with where the next goes on.
func (s *Service) burnList(ctx context.Context, j Job, mark burnMark) (ids []IDRecord, next string, err error) {
	left := Count(math.MaxInt32)
	if j.Spec.AtMost > 0 {
		left = j.Spec.AtMost - mark.taken
	}
	page, next, err := s.store.Stock(ctx, j.Pool, mark.stock, int(min(restorePage, left)))
	if err != nil {
		return nil, "", err
	}
	if Count(len(page)) > left { // a page has about as many as were asked for
		page = page[:left]
	}
	data := []byte(strconv.Quote(next) + "\n")
	if len(page) > 0 {
		lines, err := withoutPanic(func() ([]byte, error) { return s.log.EncodeIDs(page) })
		if err != nil {
			return nil, "", unwritten(err)
		}
		data = append(data, lines...)
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

func (s *Service) readBurnList(j Job, data []byte) (ids []IDRecord, next string, err error) {
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	if next, err = strconv.Unquote(string(head)); err != nil {
		return nil, "", Errorf(CodeInternal, "a list of IDs to retire cannot be read as it was kept").Because(err)
	}
	for line := range bytes.Lines(rest) {
		l, err := s.readLogLine(j, bytes.TrimSpace(line))
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
