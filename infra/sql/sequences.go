package sql

import (
	"context"
	dbsql "database/sql"
	"time"

	"idpool/alloc"
)

// sequenceRow is a sequence with the number that other tables know it by. Without a counter its state is stopped and its
// position is that of the ledger. Where its row is lost it is the copy that stands with its name, and has no counter: what is
// left of that is as good as a high-water mark.
type sequenceRow struct {
	number  int64
	lost    bool
	counter bool
	left    dbsql.NullInt64     // position of the counter, or of what is left of it
	stored  alloc.SequenceState // beside which stands what follows
	was     alloc.SequenceState // of a frozen one: its state before; else ""
	thawed  alloc.JobID         // the rebuild that ended last
	epoch   alloc.Epoch         // as it is kept apart from the counter
	alloc.Sequence
}

const (
	sequenceColumns = `sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of,
		auto_rebuild, resume_share, state, rebuild, share, was, thawed, epoch, version, created`

	sequenceFields = `s.sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of,
		auto_rebuild, resume_share, state, rebuild, share, was, thawed, s.epoch, version, created,
		c.position, coalesce(c.epoch, s.epoch), coalesce(c.position, ` + reach + `, s.first_number - 1)`

	allSequences  = `SELECT 0, ` + sequenceFields + ` FROM sequences s LEFT JOIN counters c ON c.sequence = s.sequence `
	lostSequences = `SELECT 1, ` + sequenceFields + ` FROM sequence_names s LEFT JOIN counters c ON c.sequence = s.sequence
		WHERE NOT EXISTS (SELECT 1 FROM sequences WHERE sequences.sequence = s.sequence) `

	// selectSequence and listSequences read sequences with their positions, as selectPool and listPools do pools.
	selectSequence = allSequences + `WHERE name = $1 UNION ALL ` + lostSequences + `AND name = $1`
	listSequences  = allSequences + `WHERE name > $1 UNION ALL ` + lostSequences + `AND name > $1 ORDER BY name LIMIT $2`

	// insertSequence takes a number as insertPool does.
	insertSequence = `INSERT INTO sequences (sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of,
			auto_rebuild, resume_share, state, version, created)
		VALUES ((SELECT coalesce(max(taken), 0) + 1 FROM (SELECT max(sequence) AS taken FROM sequences UNION ALL SELECT max(sequence) FROM sequence_names
			UNION ALL SELECT max(sequence) FROM counters UNION ALL SELECT max(sequence) FROM leases UNION ALL SELECT max(sequence) FROM marks) AS numbers),
			$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1, $13)`

	keepSequenceName = `INSERT INTO sequence_names (` + sequenceColumns + `) SELECT ` + sequenceColumns + ` FROM sequences WHERE sequence = $1
		ON CONFLICT (sequence) DO NOTHING`
	restoreSequence = `INSERT INTO sequences (` + sequenceColumns + `) SELECT ` + sequenceColumns + ` FROM sequence_names WHERE sequence = $1`
)

// reach is the greatest end of all leases of the sequence s, NULL without any. Those that were not carried are disjoint, so
// the last one ends last.
const reach = `(SELECT max(high) FROM (
		SELECT * FROM (SELECT high FROM leases WHERE sequence = s.sequence AND carried = 0 ORDER BY low DESC LIMIT 1) AS own
		UNION ALL SELECT max(high) FROM leases WHERE sequence = s.sequence AND carried = 1) AS both)`

func scanSequence(row scanner) (q sequenceRow, err error) {
	var created, position int64
	c := &q.Config
	err = row.Scan(&q.lost, &q.number, &q.Name, &c.Description, &c.Start, &c.StartAtZero, &c.Limit, &c.MaxLease, &c.Segment, &c.RequireKey, &c.PeriodOf,
		&c.AutoRebuild, &c.ResumeShare, &q.stored, &q.Rebuild, &q.Share, &q.was, &q.thawed, &q.epoch, &q.Version, &created,
		&q.left, &q.Epoch, &position)
	q.counter = q.left.Valid && !q.lost
	switch {
	case q.stored == alloc.SequenceDeleted:
		q.State = q.stored
	case !q.counter:
		q.State, q.Rebuild, q.Share = alloc.SequenceStopped, "", 0
	case q.was != "":
		q.State = alloc.SequenceFrozen
	case q.Share > 0:
		q.State = alloc.SequenceResuming
	default:
		q.State = q.stored
	}
	q.Created = moment(created)
	q.Next = alloc.Number(position) + 1 // of -1 it is 0, and of the greatest position it still fits
	return q, err
}

// sequence reads a sequence; CodeSequenceNotFound.
func (t *tx) sequence(name alloc.SequenceName) (sequenceRow, error) {
	found, err := list(t, scanSequence, selectSequence, name)
	if err != nil {
		return sequenceRow{}, err
	}
	if len(found) == 0 {
		return sequenceRow{}, alloc.Errorf(alloc.CodeSequenceNotFound, "there is no sequence %q; create it first", name)
	}
	return found[0], nil
}

// checkCounter refuses a sequence whose counter is lost, unless it is deleted anyway.
func (q sequenceRow) checkCounter() error {
	if !q.counter && q.State != alloc.SequenceDeleted {
		return alloc.Stopped(q.Name)
	}
	return nil
}

// checkThere refuses a deleted sequence.
func (q sequenceRow) checkThere() error {
	if q.State == alloc.SequenceDeleted {
		return q.CheckTo(q.State)
	}
	return nil
}

// CreateSequence makes the sequence if its name is unused.
func (s *Store) CreateSequence(ctx context.Context, name alloc.SequenceName, config alloc.SequenceConfig) (alloc.Sequence, bool, error) {
	type answer struct {
		sequence alloc.Sequence
		created  bool
	}
	config, born := config.Birth()
	a, err := write(ctx, s.writer, func(t *tx) (answer, error) {
		q, err := t.sequence(name)
		switch {
		case alloc.Is(err, alloc.CodeSequenceNotFound):
			q, err = t.makeSequence(name, config, born, s.clock())
			return answer{q.Sequence, true}, err
		case err != nil:
			return answer{}, err
		}
		if err := q.checkThere(); err != nil {
			return answer{}, err
		}
		if err := q.checkCounter(); err != nil {
			return answer{}, err
		}
		if q.Config != config {
			return answer{}, alloc.Errorf(alloc.CodeSequenceExists,
				"the sequence %q is there with another configuration; choose another name, or change that sequence", name)
		}
		return answer{q.Sequence, false}, nil
	})
	return a.sequence, a.created, err
}

// makeSequence makes a sequence of a name that is unused.
func (t *tx) makeSequence(name alloc.SequenceName, config alloc.SequenceConfig, born alloc.SequenceState, now time.Time) (sequenceRow, error) {
	_, err := t.exec(insertSequence, name, config.Description, config.Start, config.StartAtZero, config.Limit, config.MaxLease, config.Segment,
		config.RequireKey, config.PeriodOf, config.AutoRebuild, config.ResumeShare, born, instant(now))
	if err != nil {
		return sequenceRow{}, err
	}
	_, err = t.exec(`INSERT INTO counters (sequence, position, epoch) SELECT sequence, first_number - 1, 1 FROM sequences WHERE name = $1`, name)
	if err != nil {
		return sequenceRow{}, err
	}
	return t.sequence(name)
}

// Sequence reads configuration and position.
func (s *Store) Sequence(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	return read(ctx, s.reader, func(t *tx) (alloc.Sequence, error) {
		q, err := t.sequence(name)
		if err == nil {
			err = q.checkCounter()
		}
		if err != nil {
			return alloc.Sequence{}, err
		}
		return q.Sequence, nil
	})
}

// ChangeSequence replaces the configuration of the sequence at version from.
func (s *Store) ChangeSequence(ctx context.Context, name alloc.SequenceName, from alloc.Version, config alloc.SequenceConfig) (alloc.Sequence, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.Sequence, error) {
		q, err := t.sequence(name)
		if err != nil {
			return alloc.Sequence{}, err
		}
		if err := q.checkThere(); err != nil {
			return alloc.Sequence{}, err
		}
		if err := q.checkCounter(); err != nil {
			return alloc.Sequence{}, err
		}
		if repeatedChange(q.Version, from) && q.Config == config {
			return q.Sequence, nil
		}
		if q.Version != from {
			return alloc.Sequence{}, alloc.VersionMismatch("sequence", string(name), q.Version)
		}
		if err := q.Config.CheckChange(config, q.Next); err != nil {
			return alloc.Sequence{}, err
		}
		q.Config, q.Version = config, q.Version+1
		_, err = t.exec(`UPDATE sequences SET description = $2, from_zero = $3, last_number = $4, max_lease = $5, segment = $6, require_key = $7,
				auto_rebuild = $8, resume_share = $9, version = $10 WHERE sequence = $1`,
			q.number, config.Description, config.StartAtZero, config.Limit, config.MaxLease, config.Segment, config.RequireKey,
			config.AutoRebuild, config.ResumeShare, q.Version)
		return q.Sequence, err
	})
}

// SetSequenceState moves the sequence to the state.
func (s *Store) SetSequenceState(ctx context.Context, name alloc.SequenceName, from alloc.Version, to alloc.SequenceState) (alloc.Sequence, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.Sequence, error) {
		q, err := t.sequence(name)
		if err != nil {
			return alloc.Sequence{}, err
		}
		if err := q.checkCounter(); err != nil {
			return alloc.Sequence{}, err
		}
		if err := q.CheckTo(to); err != nil {
			return alloc.Sequence{}, err
		}
		if from != 0 && q.Version != from {
			return alloc.Sequence{}, alloc.VersionMismatch("sequence", string(name), q.Version)
		}
		if q.State == to {
			return q.Sequence, nil
		}
		return t.setSequenceState(q, to)
	})
}

// setSequenceState puts the sequence into a state that no rebuild has to do with.
func (t *tx) setSequenceState(q sequenceRow, to alloc.SequenceState) (alloc.Sequence, error) {
	q.State, q.Rebuild, q.Share = to, "", 0
	_, err := t.exec(`UPDATE sequences SET state = $2, rebuild = '', share = 0, was = '' WHERE sequence = $1`, q.number, to)
	return q.Sequence, err
}

// ListSequences returns at most limit sequences in the order of their names, after the name given.
func (s *Store) ListSequences(ctx context.Context, after alloc.SequenceName, limit int) ([]alloc.Sequence, error) {
	return read(ctx, s.reader, func(t *tx) ([]alloc.Sequence, error) {
		return list(t, func(row scanner) (alloc.Sequence, error) {
			q, err := scanSequence(row)
			return q.Sequence, err
		}, listSequences, after, limit)
	})
}
