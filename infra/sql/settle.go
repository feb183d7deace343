package sql

import (
	"context"
	dbsql "database/sql"
	"slices"
	"time"

	"idpool/alloc"
)

// Settle confirms, releases or retires IDs by the token of their claim: all of them, or none.
func (s *Store) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	o.IDs = slices.Clone(o.IDs) // the step may outlive this call
	return write(ctx, s.writer, func(t *tx) (alloc.Settled, error) { return s.settle(t, o) })
}

func (s *Store) settle(t *tx, o alloc.SettleOrder) (alloc.Settled, error) {
	p, err := t.pool(o.Pool)
	if err != nil {
		return alloc.Settled{}, err
	}
	now := s.clock()
	rows, ends, codes := make([]idRow, len(o.IDs)), make([]alloc.Transition, len(o.IDs)), make([]alloc.Code, len(o.IDs))
	for i, id := range o.IDs {
		if rows[i], codes[i], err = t.idOf(p, id, now); err != nil {
			return alloc.Settled{}, err
		}
		if codes[i] == "" {
			ends[i], codes[i] = rows[i].settled(p.Config, o)
		}
	}
	state, err := verdict(p.Config, o, ends, codes)
	if err != nil {
		return alloc.Settled{}, err
	}
	by := tally{}
	for i, row := range rows {
		if ends[i].Effect == alloc.EffectRepeat {
			continue
		}
		if err := t.move(p, row, ends[i].To, now); err != nil {
			return alloc.Settled{}, err
		}
		by.move(row.state, ends[i].To, 1)
	}
	return alloc.Settled{Pool: o.Pool, IDs: o.IDs, State: state}, t.count(p, by)
}

// verdict is what all of the IDs are after the order, or why it is refused. Where a release is a retirement, IDs that
// come back all the same (their hold was over, or they were released before that was the rule) are not the token's to
// retire: they are a success among their like alone, as one answer is about all.
func verdict(c alloc.PoolConfig, o alloc.SettleOrder, ends []alloc.Transition, codes []alloc.Code) (alloc.State, error) {
	back := 0
	for i, end := range ends {
		if codes[i] == "" && end.To == alloc.StateReturning {
			back++
		}
	}
	mixed := c.Settles(o.Event) == alloc.EventRetire && back > 0 && back < len(ends)
	var state alloc.State
	var faults []alloc.IDFault
	for i, code := range codes {
		state = ends[i].To
		if mixed && code == "" && ends[i].To == alloc.StateReturning {
			code = alloc.CodeNotOwner
		}
		if code != "" {
			faults = append(faults, alloc.IDFault{ID: o.IDs[i], Code: code})
		}
	}
	if len(faults) > 0 {
		return "", alloc.Refused(o.Event, faults)
	}
	return state, nil
}

// idRow is what decides about an ID.
type idRow struct {
	n         int64
	state     alloc.State
	token     alloc.Token // "" where it is free
	lastToken alloc.Token // by which it came back last
}

const selectID = `SELECT n, state, coalesce(token, ''), coalesce(last_token, ''), forget_at FROM ids WHERE pool = $1 AND id = $2`

// idOf reads an ID; CodeIDNotFound for none.
func (t *tx) idOf(p poolRow, id alloc.ID, now time.Time) (r idRow, refusal alloc.Code, err error) {
	var forget dbsql.NullInt64
	found, err := t.row(selectID, []any{p.number, id}, &r.n, &r.state, &r.token, &r.lastToken, &forget)
	if err == nil && (!found || over(momentOf(forget), now)) {
		refusal = alloc.CodeIDNotFound
	}
	return r, refusal, err
}

// settled says what the order does to the ID, or for which reason it is refused. A release that was done is a repeat,
// whatever the pool's configuration has made of releases since.
func (r idRow) settled(c alloc.PoolConfig, o alloc.SettleOrder) (alloc.Transition, alloc.Code) {
	owned := r.token == o.Token
	back := owned && r.state == alloc.StateReturning || !owned && r.lastToken == o.Token && o.Token != ""
	switch {
	case o.Event == alloc.EventRelease && back:
		return alloc.Transition{Effect: alloc.EffectRepeat, To: alloc.StateReturning}, ""
	case !owned:
		return alloc.Transition{}, alloc.CodeNotOwner
	}
	end := r.state.On(c.Settles(o.Event))
	if end.Effect == alloc.EffectRefuse {
		return end, alloc.RefusalOf(r.state)
	}
	return end, ""
}

const moveRow = `UPDATE ids SET state = $4, hold_until = NULL, forget_at = $5, brought = 0, changed = coalesce($6, changed) WHERE n = $1 AND state = $2 AND token = $3`

// move carries a settlement out.
func (t *tx) move(p poolRow, r idRow, to alloc.State, now time.Time) error {
	changed := now
	if to == alloc.StateReturning { // which is nobody's any more
		changed = time.Time{}
	}
	return changedOne(t.exec(moveRow, r.n, r.state, r.token, to, forgetAt(p, to, now), optional(changed)))
}

// changedOne refuses a step whose row somebody else has changed since it was read. Where steps run one after the other
// that cannot be; it is the last line.
func changedOne(changed int64, err error) error { return changedAll(1, changed, err) }

// changedAll is changedOne for so many rows.
func changedAll(rows int, changed int64, err error) error {
	if err == nil && changed != int64(rows) {
		return unavailable("an ID is being changed by somebody else; try again").After(time.Second)
	}
	return err
}
