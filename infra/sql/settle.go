package sql

import (
	"context"
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
	var rows []idRow
	var ends []alloc.Transition
	var faults []alloc.IDFault
	for _, id := range o.IDs {
		row, code, err := t.idOf(p, id)
		if err != nil {
			return alloc.Settled{}, err
		}
		end := alloc.Transition{}
		if code == "" {
			end, code = row.settled(p.Config, o)
		}
		if code != "" {
			faults = append(faults, alloc.IDFault{ID: id, Code: code})
		}
		rows, ends = append(rows, row), append(ends, end)
	}
	if len(faults) > 0 {
		return alloc.Settled{}, alloc.Refused(o.Event, faults)
	}
	settled, by := alloc.Settled{Pool: o.Pool, IDs: o.IDs}, tally{}
	for i, row := range rows {
		if ends[i].Effect == alloc.EffectRepeat {
			continue
		}
		to, err := s.move(t, p, row, ends[i].To)
		if err != nil {
			return alloc.Settled{}, err
		}
		by.move(row.state, to, 1)
		settled.State = ends[i].To
	}
	if settled.State == "" && len(ends) > 0 { // all was done before
		settled.State = ends[0].To
	}
	return settled, t.count(p, by)
}

// idRow is what decides about an ID.
type idRow struct {
	n         int64
	state     alloc.State
	token     alloc.Token // "" where it is free
	lastToken alloc.Token // by which it came back last
	keyHash   string
}

const selectID = `SELECT n, state, coalesce(token, ''), coalesce(last_token, ''), coalesce(key_hash, '') FROM ids WHERE pool = $1 AND id = $2`

// idOf reads an ID; CodeIDNotFound for none.
func (t *tx) idOf(p poolRow, id alloc.ID) (r idRow, refusal alloc.Code, err error) {
	found, err := t.row(selectID, []any{p.number, id}, &r.n, &r.state, &r.token, &r.lastToken, &r.keyHash)
	if err == nil && !found {
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

const (
	moveRow    = `UPDATE ids SET state = $4, hold_until = NULL WHERE n = $1 AND state = $2 AND token = $3`
	forgetRow  = `DELETE FROM ids WHERE n = $1 AND state = $2 AND token = $3`
	keyInForce = `SELECT 1 FROM claim_keys WHERE hash = $1 AND token = $2 AND expires > $3`
)

// move carries a settlement out and returns what the ID counts as after it. A pool that forgets does so with the
// confirmation, unless a key still answers with the ID: then with the end of that.
func (s *Store) move(t *tx, p poolRow, r idRow, to alloc.State) (alloc.State, error) {
	if to == alloc.StateClaimed && p.Config.Policy == alloc.PolicyForget {
		var one int
		answers, err := t.row(keyInForce, []any{r.keyHash, r.token, instant(s.clock())}, &one)
		if err != nil {
			return "", err
		}
		if !answers {
			return countForgotten, changedOne(t.exec(forgetRow, r.n, r.state, r.token))
		}
	}
	return to, changedOne(t.exec(moveRow, r.n, r.state, r.token, to))
}

// changedOne refuses a step whose row somebody else has changed since it was read. Where steps run one after the other
// that cannot be; it is the last line.
func changedOne(changed int64, err error) error {
	if err == nil && changed != 1 {
		return unavailable("an ID is being changed by somebody else; try again").After(time.Second)
	}
	return err
}
