package sql

import (
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
}

func scanClaimKey(row scanner) (k claimKey, err error) {
	var ids string
	var at int64
	if err = row.Scan(&k.fingerprint, &k.pool, &ids, &k.token, &at); err != nil {
		return k, err
	}
	k.at = moment(at)
	return k, json.Unmarshal([]byte(ids), &k.ids)
}

// replayClaim answers from the record of the order's key; found is false where there is none that has not expired. It
// comes before every look at the pool: a replay needs no free ID and no active pool.
func (t *tx) replayClaim(o alloc.ClaimOrder, now time.Time) (c alloc.Claim, found bool, err error) {
	records, err := list(t, scanClaimKey, `SELECT fingerprint, pool, ids, token, at FROM claim_keys WHERE hash = $1 AND expires > $2`,
		o.Key.Hash, instant(now))
	if err != nil || len(records) == 0 {
		return alloc.Claim{}, false, err
	}
	k := records[0]
	if k.fingerprint != o.Key.Fingerprint {
		return alloc.Claim{}, false, otherRequest()
	}
	p, err := t.pool(o.Pool)
	if err != nil {
		return alloc.Claim{}, false, err
	}
	if p.number != k.pool {
		return alloc.Claim{}, false, otherRequest()
	}
	owned, err := t.stillOwned(p, k)
	if err != nil {
		return alloc.Claim{}, false, err
	}
	if !owned {
		return alloc.Claim{}, false, alloc.Errorf(alloc.CodeKeyEnded,
			"every ID that this Idempotency-Key claimed has been released or retired since; use a new key")
	}
	return alloc.Claim{Pool: o.Pool, IDs: k.ids, State: alloc.StateClaimed, Token: k.token, At: k.at, Replayed: true}, true, nil
}

// stillOwned reports whether one at least of the record's IDs is still taken by it. A pool that forgets does not know;
// there an ID never comes back.
func (t *tx) stillOwned(p poolRow, k claimKey) (bool, error) {
	if p.Config.Policy == alloc.PolicyForget {
		return true, nil
	}
	for _, id := range k.ids {
		var one int
		owned, err := t.row(`SELECT 1 FROM ids WHERE pool = $1 AND id = $2 AND token = $3 AND state IN ('held', 'claimed')`,
			[]any{p.number, id, k.token}, &one)
		if err != nil || owned {
			return owned, err
		}
	}
	return false, nil
}

// keepClaim writes the record of a claim, over an expired one where there is one.
func (t *tx) keepClaim(key *alloc.Key, p poolRow, c alloc.Claim) error {
	ids, err := json.Marshal(c.IDs)
	if err != nil {
		return err
	}
	kept, err := t.exec(`INSERT INTO claim_keys (hash, fingerprint, pool, ids, token, at, expires) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (hash) DO UPDATE SET fingerprint = excluded.fingerprint, pool = excluded.pool, ids = excluded.ids,
			token = excluded.token, at = excluded.at, expires = excluded.expires WHERE claim_keys.expires <= excluded.at`,
		key.Hash, key.Fingerprint, p.number, string(ids), c.Token, instant(c.At), instant(c.At.Add(alloc.KeyRetention)))
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

func otherRequest() error {
	return alloc.Errorf(alloc.CodeKeyMismatch, "this Idempotency-Key was used for a different request; use a new key for a new request")
}
