package alloc

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
)

// A seeding goes on in steps, a piece of its file in each. Piece k is added under a name of its own, <job>.<k>, so that a repeat,
// however late, knows its own IDs: what it added counts as added again, whatever became of it since, and all else was there
// before. What was not added is put as the next part of the result, with the counts of the whole piece; the first one
// stands, and where there is one the counts are taken from there. So the counts are those of one try, whichever.
//
// In a pool that forgets an ID may be gone that another seeding had put, and a repeat may add what the first try found
// there; the counts are those of the try whose part stands.

// seedStep adds the next piece.
func (s *Service) seedStep(ctx context.Context, j Job) (doneStep, error) {
	return s.fileStep(ctx, j, func(k int, ids []ID) ([]SeedOutcome, error) {
		return s.store.Seed(ctx, SeedBatch{Pool: j.Pool, Job: j.ID + JobID("."+strconv.FormatInt(int64(k), 36)), IDs: ids})
	})
}

// adding says what became of the IDs of piece k, or would.
type adding func(k int, ids []ID) ([]SeedOutcome, error)

// fileStep goes over the next piece of a file.
func (s *Service) fileStep(ctx context.Context, j Job, add adding) (doneStep, error) {
	k, err := strconv.Atoi(cmp.Or(j.Mark, "0"))
	if err != nil {
		return doneStep{}, Errorf(CodeInternal, "where the job goes on is not known").Because(err)
	}
	p, err := s.filePiece(ctx, j, k, add)
	if err != nil {
		return doneStep{}, err
	}
	to := j
	if p, to.Parts, err = s.putResult(ctx, j, p, func(stands Part) bool { return stands.Next == p.Next }); err != nil {
		return doneStep{}, err
	}
	to.Tally = j.Tally.plus(p.Tally)
	to.Done = to.Tally.Added + to.Tally.rejected()
	to.Mark = p.Next
	last := k+1 == j.pieces()
	if last {
		to.Parts = max(to.Parts, 1) // where all was added, the head at least can be fetched
	}
	return doneStep{to, last}, nil
}

// filePiece goes over the IDs of piece k and returns what was not added, as a part.
func (s *Service) filePiece(ctx context.Context, j Job, k int, add adding) (Part, error) {
	data, err := s.piece(ctx, j, k)
	if err != nil {
		return Part{}, err
	}
	entries, err := readPiece(data)
	if err != nil {
		return Part{}, err
	}
	outcomes, err := seedEntries(entries, func(ids []ID) ([]SeedOutcome, error) { return add(k, ids) })
	if err != nil {
		return Part{}, err
	}
	return rejectsOf(entries, outcomes, strconv.Itoa(k+1))
}

// settled is what became of an entry.
type settled struct {
	outcome SeedOutcome
	id      string // as it is shown
	reason  string
}

// seedEntries adds what can be added of the entries, as one batch, and says of each what became of it.
func seedEntries(entries []pieceEntry, add func([]ID) ([]SeedOutcome, error)) ([]settled, error) {
	all := make([]settled, len(entries))
	ids := make([]ID, 0, len(entries))
	lines := make(map[ID]int, len(entries))
	wanted := make([]int, 0, len(entries)) // which entry an ID is of
	for i, e := range entries {
		id := ID(e.Raw)
		if why := idFault(e.Raw); why != "" {
			all[i] = settled{SeedInvalid, quoteShort(e.Raw), why}
			continue
		}
		line, twice := lines[id]
		if e.twice > 0 {
			line, twice = e.twice, true
		}
		if twice {
			all[i] = settled{SeedDuplicate, e.Raw, fmt.Sprintf("it is on line %d already", line)}
			continue
		}
		lines[id] = e.Line
		ids, wanted = append(ids, id), append(wanted, i)
	}
	if len(ids) == 0 {
		return all, nil
	}
	outcomes, err := add(ids)
	if err != nil {
		return nil, err
	}
	if len(outcomes) != len(ids) {
		return nil, Errorf(CodeInternal, "the store gave %d outcomes for %d IDs", len(outcomes), len(ids))
	}
	for i, at := range wanted {
		all[at] = settled{outcomes[i], string(ids[i]), poolReason(outcomes[i])}
	}
	return all, nil
}

// poolReason says why an ID was not added.
func poolReason(o SeedOutcome) string {
	switch o {
	case SeedAdded:
		return ""
	case SeedConflict:
		return "it is in the pool and taken"
	default:
		return "it is in the pool already"
	}
}

// rejectsOf makes a part of what was not added.
func rejectsOf(entries []pieceEntry, all []settled, next string) (Part, error) {
	var r rejects
	for i, e := range entries {
		o := all[i]
		switch o.outcome {
		case SeedAdded:
			r.tally.Added++
			continue
		case SeedConflict:
			r.tally.Conflict++
		case SeedInvalid:
			r.tally.Invalid++
		default:
			r.tally.Duplicate++
		}
		if err := r.write(e.Line, o.id, o.outcome, o.reason); err != nil {
			return Part{}, err
		}
	}
	return Part{Data: r.text.Bytes(), IDs: r.tally.rejected(), Tally: r.tally, Next: next}, nil
}
