package alloc

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// When a sequence is near its end: it takes long to put that off.
const (
	endingWithin = 30 * 24 * time.Hour
	endingShare  = 0.1 // of its numbers is left
)

// IsEnding reports whether an active sequence has numbers left, and not for long.
func (q SequenceOnBoard) IsEnding() bool {
	if q.State != SequenceActive || q.Left <= 0 {
		return false
	}
	left, ends := q.Forecast().Runway()
	return ends && left < endingWithin || float64(q.Left) < endingShare*(float64(q.Limit-q.Start)+1)
}

// HasEnded reports whether an active sequence has no number left.
func (q SequenceOnBoard) HasEnded() bool { return q.State == SequenceActive && q.Left <= 0 }

// BoardSequenceStates are the states of sequences that a BoardQuery may ask for.
func BoardSequenceStates() []string {
	return []string{
		string(SequenceActive), "ending", "ended", string(SequenceStopped), string(SequenceFrozen), string(SequenceResuming), string(SequencePaused),
	}
}

func (q BoardQuery) wantsSequence(row SequenceOnBoard) bool {
	if !q.named(string(row.Sequence)) {
		return false
	}
	switch q.State {
	case "":
		return true
	case "ending":
		return row.IsEnding()
	case "ended":
		return row.HasEnded()
	}
	return q.State == string(row.State)
}

func (q BoardQuery) sequenceKey(row SequenceOnBoard) string {
	switch q.Order {
	case ByName:
		return string(row.Sequence)
	case ByAvailable:
		return fmt.Sprintf("%019d %s", max(0, row.Left), row.Sequence)
	}
	return row.urgency()
}

// SequenceSeen is a sequence as it stands now, and as it stood on the board.
type SequenceSeen struct {
	Sequence Sequence
	Err      error           // why it cannot be read; then Sequence has only its name, and the state that it had
	Board    SequenceOnBoard // its At is zero for one that was never on a board
}

// Now is the row of a board as the sequence stands now.
func (q SequenceSeen) Now() SequenceOnBoard {
	row := q.Board
	row.Sequence, row.State, row.Next, row.Left = q.Sequence.Name, q.Sequence.State, q.Sequence.Next, q.Sequence.Remaining()
	if q.Sequence.Version > 0 {
		row.Start, row.Limit = q.Sequence.Config.Start, q.Sequence.Config.Limit
	}
	return row
}

// SequencesBy is to sequences what PoolsBy is to pools: at a read each and one more.
func (s *Service) SequencesBy(ctx context.Context, b Board, q BoardQuery, c Cursor, limit int) (sequences []SequenceSeen, next Cursor, err error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := checkPage(limit); err != nil {
		return nil, "", err
	}
	if b.At.IsZero() {
		return s.sequencesByName(ctx, q, c, limit)
	}
	rows, known, err := s.addNewSequences(ctx, caller, b.Sequences)
	if err != nil {
		return nil, "", err
	}
	page, next, err := boardPage(ctx, s, q.list("board sequences"), c, limit, rows, q.sequenceKey, q.wantsSequence)
	if err != nil {
		return nil, "", err
	}
	look := func(row SequenceOnBoard) SequenceSeen { return s.lookAtSequence(ctx, row, known) }
	for _, seen := range someAtOnce(page, look) {
		if seen.Sequence.State != SequenceDeleted {
			sequences = append(sequences, seen)
		}
	}
	return sequences, next, nil
}

// sequencesByName is SequencesBy without a board.
func (s *Service) sequencesByName(ctx context.Context, q BoardQuery, c Cursor, limit int) (sequences []SequenceSeen, next Cursor, err error) {
	found, next, err := readable(ctx, s, q.list("sequences without a board"), c, limit, s.store.ListSequences, func(one Sequence) entry[SequenceName] {
		hidden := one.State == SequenceDeleted || !q.wantsSequence(rowOf(one))
		return entry[SequenceName]{position: one.Name, name: string(one.Name), hidden: hidden}
	})
	for _, one := range found {
		sequences = append(sequences, SequenceSeen{Sequence: one, Board: rowOf(one)})
	}
	return sequences, next, err
}

// rowOf is the row of a sequence that is on no board.
func rowOf(q Sequence) SequenceOnBoard {
	return SequenceOnBoard{Sequence: q.Name, State: q.State, Start: q.Config.Start, Limit: q.Config.Limit, Next: q.Next, Left: q.Remaining()}
}

// addNewSequences is addNew of sequences. Those that it has read stand as they are now.
func (s *Service) addNewSequences(ctx context.Context, caller Caller, rows []SequenceOnBoard) ([]SequenceOnBoard, map[SequenceName]Sequence, error) {
	if len(rows) > maxPage {
		return rows, nil, nil
	}
	first, err := s.store.ListSequences(ctx, "", maxPage)
	if err != nil {
		return nil, nil, err
	}
	rows = slices.Clone(rows)
	before := map[SequenceName]int{}
	for i, q := range rows {
		before[q.Sequence] = i
	}
	known := map[SequenceName]Sequence{}
	for _, q := range first {
		known[q.Name] = q
		if i, there := before[q.Name]; there {
			rows[i] = SequenceSeen{Sequence: q, Board: rows[i]}.Now()
		} else if q.State != SequenceDeleted && caller.permits(ActionRead, string(q.Name)) {
			rows = append(rows, rowOf(q))
		}
	}
	return rows, known, nil
}

func (s *Service) lookAtSequence(ctx context.Context, row SequenceOnBoard, known map[SequenceName]Sequence) SequenceSeen {
	if q, ok := known[row.Sequence]; ok {
		return SequenceSeen{Sequence: q, Board: row}
	}
	q, err := withoutPanic(func() (Sequence, error) { return s.store.Sequence(ctx, row.Sequence) })
	switch {
	case CodeOf(err) == CodeSequenceStopped: // its counter is lost
		return SequenceSeen{Sequence: Sequence{Name: row.Sequence, State: SequenceStopped}, Board: row}
	case err != nil:
		return SequenceSeen{Sequence: Sequence{Name: row.Sequence, State: row.State}, Err: err, Board: row}
	}
	return SequenceSeen{Sequence: q, Board: row}
}
