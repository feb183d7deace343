package sql

import (
	dbsql "database/sql"
	"encoding/json"
	"time"

	"idpool/alloc"
)

// claimKey is the idempotency record of a claim.
type claimKey struct {
	fingerprint string
	pool        int64
	ids         []alloc.ID
	token       alloc.Token
	at          time.Time
	heldUntil   time.Time // zero where the IDs were claimed for good
}

const claimKeyColumns = `fingerprint, pool, ids, token, at, hold_until`

func scanClaimKey(row scanner) (k claimKey, err error) {
	var ids string
	var at int64
	var held dbsql.NullInt64
	if err = row.Scan(&k.fingerprint, &k.pool, &ids, &k.token, &at, &held); err != nil {
		return k, err
	}
	k.at, k.heldUntil = moment(at), momentOf(held)
	return k, json.Unmarshal([]byte(ids), &k.ids)
}

// replayClaim answers from the record of the order's key; found is false where there is none that has not expired. It
// comes before every look at the pool's state: a replay needs no free ID and no active pool.
func (t *tx) replayClaim(o alloc.ClaimOrder, now time.Time) (c alloc.Claim, found bool, err error) {
	records, err := list(t, scanClaimKey, `SELECT `+claimKeyColumns+` FROM claim_keys WHERE hash = $1 AND expires > $2`, o.Key.Hash, instant(now))
	if err != nil || len(records) == 0 {
		return alloc.Claim{}, false, err
	}
	k := records[0]
	p, err := t.poolAsIs(o.Pool)
	if err != nil {
		return alloc.Claim{}, false, err
	}
	if k.fingerprint != o.Key.Fingerprint || k.pool != p.number {
		return alloc.Claim{}, false, alloc.KeyMismatch()
	}
	ended, err := t.ended(k)
	if err != nil {
		return alloc.Claim{}, false, err
	}
	if len(ended) == len(k.ids) {
		return alloc.Claim{}, false, alloc.KeyEnded()
	}
	c = alloc.Claim{Pool: o.Pool, IDs: k.ids, State: alloc.StateClaimed, Token: k.token, At: k.at, Replayed: true, Ended: ended}
	if !k.heldUntil.IsZero() {
		c.State, c.HeldUntil = alloc.StateHeld, k.heldUntil
	}
	return c, true, nil
}

const stateOfOwn = `SELECT state FROM ids WHERE pool = $1 AND id = $2 AND token = $3`

// ended returns those of the record's IDs that it has no longer, in its order. One that is free, another's or forgotten
// has come back in the meantime.
func (t *tx) ended(k claimKey) (ended []alloc.EndedID, err error) {
	for _, id := range k.ids {
		var state alloc.State
		known, err := t.row(stateOfOwn, []any{k.pool, id, k.token}, &state)
		if err != nil {
			return nil, err
		}
		switch {
		case !known:
			ended = append(ended, alloc.EndedID{ID: id, State: alloc.StateReturning})
		case state == alloc.StateReturning || state == alloc.StateRetired:
			ended = append(ended, alloc.EndedID{ID: id, State: state})
		}
	}
	return ended, nil
}

// keepClaim writes the record of a claim, in the place of one that has expired.
func (t *tx) keepClaim(key *alloc.Key, p poolRow, c alloc.Claim) error {
	ids, err := json.Marshal(c.IDs)
	if err != nil {
		return err
	}
	kept, err := t.exec(`INSERT INTO claim_keys (hash, expires, `+claimKeyColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (hash) DO UPDATE SET expires = excluded.expires, fingerprint = excluded.fingerprint, pool = excluded.pool, ids = excluded.ids,
			token = excluded.token, at = excluded.at, hold_until = excluded.hold_until WHERE claim_keys.expires <= excluded.at`,
		key.Hash, instant(c.At.Add(alloc.KeyRetention)), key.Fingerprint, p.number, string(ids), c.Token, instant(c.At), optional(c.HeldUntil))
	return keptKey(kept, err)
}

// keptKey refuses a step whose key another request has taken in the meantime. Where steps run one after the other that
// cannot be; it is the last line.
func keptKey(kept int64, err error) error {
	if err == nil && kept != 1 {
		return alloc.Errorf(alloc.CodeKeyBusy, "a request with the same Idempotency-Key is in work; repeat it").After(time.Second)
	}
	return err
}

// keep returns a copy for a step that may outlive its caller.
func keep(key *alloc.Key) *alloc.Key {
	if key == nil {
		return nil
	}
	return new(*key)
}
