package sql

import (
	"context"
	dbsql "database/sql"
	"encoding/json"
	"time"

	"idpool/alloc"
)

// Claim takes exactly o.Count different free IDs, or none.
func (s *Store) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	metadata, err := encodeMetadata(o.Metadata) // now, as the step may outlive this call
	if err != nil {
		return alloc.Claim{}, err
	}
	o.Key = keep(o.Key)
	claim, err := write(ctx, s.writer, func(t *tx) (alloc.Claim, error) { return s.claim(t, o, metadata) })
	return claim, contended(err)
}

func (s *Store) claim(t *tx, o alloc.ClaimOrder, metadata *string) (alloc.Claim, error) {
	at := s.clock()
	if o.Key != nil {
		replay, found, err := t.replayClaim(o, at)
		if err != nil || found {
			return replay, err
		}
	}
	p, err := t.pool(o.Pool)
	if err != nil {
		return alloc.Claim{}, err
	}
	if err := p.CheckClaim(o); err != nil {
		return alloc.Claim{}, err
	}
	c := alloc.Claim{Pool: o.Pool, State: alloc.StateClaimed, Token: alloc.NewToken(), At: at}
	if o.Hold > 0 {
		c.State, c.HeldUntil = alloc.StateHeld, at.Add(o.Hold)
	}
	taken := c.State
	// A pool that forgets keeps what is held, and what a key claimed until the key expires, for its replays.
	if p.Config.Policy == alloc.PolicyForget && o.Key == nil && o.Hold == 0 {
		taken = countForgotten
		c.IDs, err = list(t, scanID, forgetRows, p.number, o.Count)
	} else {
		c.IDs, err = list(t, scanID, takeRows, p.number, o.Count, c.State, c.Token, o.By, o.Owner, metadata, instant(at),
			optional(c.HeldUntil), forgetAt(p, c.State, at))
	}
	if err != nil {
		return alloc.Claim{}, err
	}
	if alloc.Count(len(c.IDs)) != o.Count {
		// The savepoint takes back what was taken.
		return alloc.Claim{}, alloc.Exhausted(o.Pool, o.Count)
	}
	if err := t.count(p, tally{}.move(alloc.StateFree, taken, len(c.IDs))); err != nil {
		return alloc.Claim{}, err
	}
	if o.Key != nil {
		err = t.keepClaim(o.Key, p, c)
	}
	return c, err
}

// The statements of a claim. Both find their rows in the index of free ones, oldest first. One that was made free by hand and has its
// owner's token still is nobody else's.
const (
	freeRows = `SELECT n FROM ids WHERE pool = $1 AND state = 'free' AND token IS NULL ORDER BY n LIMIT $2`
	takeRows = `UPDATE ids SET state = $3, token = $4, client = $5, owner = $6, metadata = $7, taken = $8, hold_until = $9, forget_at = $10
		WHERE n IN (` + freeRows + `) RETURNING id`
)

func scanID(row scanner) (id alloc.ID, err error) {
	err = row.Scan(&id)
	return id, err
}

// Inspect reads one ID.
func (s *Store) Inspect(ctx context.Context, pool alloc.PoolName, id alloc.ID) (alloc.IDRecord, error) {
	return read(ctx, s.reader, func(t *tx) (alloc.IDRecord, error) {
		found, err := list(t, scanKnown, `SELECT `+recordColumns+`
			FROM pools p LEFT JOIN ids i ON i.pool = p.pool AND i.id = $2 WHERE p.name = $1`, pool, id)
		switch {
		case err != nil:
			return alloc.IDRecord{}, err
		case len(found) == 0:
			return alloc.IDRecord{}, t.absent(pool)
		case found[0].ID == "" || found[0].forgotten(s.clock()):
			return alloc.IDRecord{}, alloc.Errorf(alloc.CodeIDNotFound, "the pool %q does not know this ID", pool)
		}
		found[0].Pool = pool
		return found[0].IDRecord, nil
	})
}

// known is what the pool has of an ID, and when it forgets that.
type known struct {
	alloc.IDRecord
	forgetAt time.Time // zero for never
}

func (k known) forgotten(now time.Time) bool { return over(k.forgetAt, now) }

// recordColumns are the columns of a record, of a row i that may be missing.
const recordColumns = `coalesce(i.id, ''), coalesce(i.state, ''), coalesce(i.generation, 0), coalesce(i.job, ''),
	coalesce(i.token, ''), coalesce(i.client, ''), coalesce(i.owner, ''), i.metadata, i.taken, i.hold_until, i.forget_at, i.changed`

func scanKnown(row scanner) (r known, err error) {
	var metadata dbsql.NullString
	var taken, held, forget, changed dbsql.NullInt64
	err = row.Scan(&r.ID, &r.State, &r.Generation, &r.Job, &r.Token, &r.By, &r.Owner, &metadata, &taken, &held, &forget, &changed)
	if err != nil {
		return r, err
	}
	r.At, r.HeldUntil, r.forgetAt, r.Changed = momentOf(taken), momentOf(held), momentOf(forget), momentOf(changed)
	if metadata.Valid {
		err = json.Unmarshal([]byte(metadata.String), &r.Metadata)
	}
	return r, err
}

// encodeMetadata returns the column's value, nil for none.
func encodeMetadata(m map[string]string) (*string, error) {
	if len(m) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, alloc.Errorf(alloc.CodeInternal, "the metadata could not be stored").Because(err)
	}
	return new(string(text)), nil
}
