package sql

import (
	"context"
	dbsql "database/sql"
	"strconv"
	"time"

	"idpool/alloc"
)

const stockRows = `SELECT i.n, ` + recordColumns + ` FROM ids i WHERE i.pool = $1 AND i.state = 'free' AND i.n > $2 ORDER BY i.n LIMIT $3`

// stocked is a free ID with its place in the order.
type stocked struct {
	n int64
	known
}

// beside is a row whose first column is read beside the others.
type beside struct {
	row   scanner
	first any
}

func (b beside) Scan(dest ...any) error { return b.row.Scan(append([]any{b.first}, dest...)...) }

func scanStocked(row scanner) (r stocked, err error) {
	r.known, err = scanKnown(beside{row, &r.n})
	return r, err
}

// Stock returns free IDs in the order in which they are handed out. One that comes back goes to its end.
func (s *Store) Stock(ctx context.Context, pool alloc.PoolName, mark string, limit int) (page []alloc.IDRecord, next string, err error) {
	after := int64(-1)
	if mark != "" {
		if after, err = strconv.ParseInt(mark, 10, 64); err != nil {
			return nil, "", alloc.Errorf(alloc.CodeInvalidRequest, "this is no mark of a walk over a pool's stock; begin it again").Because(err)
		}
	}
	rows, err := read(ctx, s.reader, func(t *tx) ([]stocked, error) {
		p, err := t.pool(pool)
		if err != nil {
			return nil, err
		}
		return list(t, scanStocked, stockRows, p.number, after, limit)
	})
	for _, r := range rows {
		r.Pool = pool
		page = append(page, r.IDRecord)
	}
	if n := len(rows); n > 0 && n == limit {
		next = strconv.FormatInt(rows[n-1].n, 10)
	}
	return page, next, err
}

// toCarry is a record that is to be carried forward, with its metadata as it is stored: the step may outlive its caller.
type toCarry struct {
	alloc.IDRecord
	metadata *string
}

// LookUp reads IDs, and leaves out what the pool does not know.
func (s *Store) LookUp(ctx context.Context, pool alloc.PoolName, ids []alloc.ID) (found []alloc.IDRecord, err error) {
	rows, err := read(ctx, s.reader, func(t *tx) ([]known, error) {
		p, err := t.pool(pool)
		if err != nil {
			return nil, err
		}
		return list(t, scanKnown, lookUpIDs, p.number, asJSON(&ids))
	})
	now := s.clock()
	for _, r := range rows {
		if r.forgotten(now) {
			continue
		}
		r.Pool = pool
		found = append(found, r.IDRecord)
	}
	return found, err
}

const lookUpIDs = `SELECT ` + recordColumns + ` FROM json_each($2) b JOIN ids i ON i.pool = $1 AND i.id = b.value`

// Carry makes each ID what the record says of it, as alloc.Standing.Carry decides.
func (s *Store) Carry(ctx context.Context, pool alloc.PoolName, point time.Time, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	records := make([]toCarry, len(taken))
	for i, r := range taken {
		metadata, err := encodeMetadata(r.Metadata)
		if err != nil {
			return nil, err
		}
		records[i] = toCarry{r, metadata}
	}
	return write(ctx, s.writer, func(t *tx) ([]alloc.CarryOutcome, error) {
		p, err := t.pool(pool)
		if err != nil {
			return nil, err
		}
		if p.State == alloc.PoolDeleted {
			return nil, p.CheckThere()
		}
		now, by := s.clock(), tally{}
		outcomes := make([]alloc.CarryOutcome, 0, len(records))
		for _, r := range records {
			outcome, err := t.carryID(p, point, r, now, by)
			if err != nil {
				return nil, err
			}
			outcomes = append(outcomes, outcome)
		}
		return outcomes, t.count(p, by)
	})
}

// carriedRow is what a pool has of an ID that is to be carried.
type carriedRow struct {
	n int64
	alloc.Standing
	forgetAt time.Time // zero for never
}

const (
	selectCarried = `SELECT n, state, generation, coalesce(token, ''), taken, changed, brought, ahead, forget_at FROM ids WHERE pool = $1 AND id = $2`

	// carryRow is the one statement to which the triggers allow what else no ID may do. The last token is one of the same generation.
	carryRow = `UPDATE ids SET carried = carried + 1, brought = 1, ahead = $14, last_token = CASE WHEN generation = $5 THEN last_token END, state = $4, generation = $5,
			token = $6, client = $7, owner = $8, metadata = $9, taken = $10, hold_until = $11, forget_at = $12, changed = $13
		WHERE n = $1 AND state = $2 AND generation = $3`
	addCarried = `INSERT INTO ids (pool, id, job, state, generation, token, client, owner, metadata, taken, hold_until, forget_at, changed, ahead, carried, brought)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 1, 1)`
)

// carriedRow reads an ID that is to be carried; the state is "" where the pool does not know it.
func (t *tx) carriedRow(p poolRow, id alloc.ID) (row carriedRow, err error) {
	var taken, changed, forget dbsql.NullInt64
	_, err = t.row(selectCarried, []any{p.number, id}, &row.n, &row.State, &row.Generation, &row.Token, &taken, &changed, &row.Carried, &row.Ahead, &forget)
	row.At, row.Changed, row.forgetAt = momentOf(taken), momentOf(changed), momentOf(forget)
	return row, err
}

// carryID carries one, and counts what it did.
func (t *tx) carryID(p poolRow, point time.Time, r toCarry, now time.Time, by tally) (alloc.CarryOutcome, error) {
	row, err := t.carriedRow(p, r.ID)
	if err != nil {
		return "", err
	}
	if over(row.forgetAt, now) {
		if err := changedOne(t.exec(forgetOneDue, p.number, r.ID, instant(now))); err != nil {
			return "", err
		}
		by.move(alloc.StateClaimed, countForgotten, 1)
		row = carriedRow{}
	}
	to, outcome := row.Carry(r.IDRecord, point)
	if outcome != alloc.CarryDone {
		return outcome, nil
	}
	ahead := to.Generation - r.Generation
	r.IDRecord = to
	values := []any{r.State, r.Generation, r.Token, r.By, r.Owner, r.metadata, optional(r.At), optional(r.heldUntil(now)), r.forgetAt(p, now), instant(now), ahead}
	if row.State == "" {
		by[countSeeded]++
		by[r.State]++
		return outcome, changedOne(t.exec(addCarried, append([]any{p.number, r.ID, r.Job}, values...)...))
	}
	by.move(row.State, r.State, 1)
	return outcome, changedOne(t.exec(carryRow, append([]any{row.n, row.State, row.Generation}, values...)...))
}

// heldUntil is when the hold ends; one whose end is not known is kept for as long as a hold may be.
func (r toCarry) heldUntil(now time.Time) time.Time {
	switch {
	case r.State != alloc.StateHeld:
		return time.Time{}
	case r.HeldUntil.IsZero():
		return now.Add(alloc.MaxHold)
	}
	return r.HeldUntil
}

// forgetAt is when a pool that forgets does so: as if it had been claimed here.
func (r toCarry) forgetAt(p poolRow, now time.Time) *int64 {
	if r.At.IsZero() {
		return forgetAt(p, r.State, now)
	}
	return forgetAt(p, r.State, r.At)
}
