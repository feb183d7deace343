package sql

import (
	"bytes"
	"context"

	"idpool/alloc"
)

// keptRow is the record of a keyed request whose answer is kept as it was given.
type keptRow struct {
	fingerprint string
	alloc.Kept
}

const (
	selectKept = `SELECT fingerprint, token, at, done, answer, shared FROM kept_keys WHERE hash = $1 AND expires > $2`
	putKept    = `INSERT INTO kept_keys (hash, fingerprint, token, at, expires, done, answer, shared) VALUES ($1, $2, $3, $4, $5, $6, $7, 0)
		ON CONFLICT (hash) DO UPDATE SET fingerprint = excluded.fingerprint, token = excluded.token, at = excluded.at,
			expires = excluded.expires, done = excluded.done, answer = excluded.answer, shared = 0 WHERE kept_keys.expires <= excluded.at`
	shareKept = `UPDATE kept_keys SET shared = 1 WHERE hash = $1 AND token = $2 AND done = 0`
	closeKept = `UPDATE kept_keys SET done = 1, shared = 0, answer = $4 WHERE hash = $1 AND token = $2 AND expires > $3 AND done = 0`
	dropKept  = `DELETE FROM kept_keys WHERE hash = $1 AND token = $2 AND done = 0 AND shared = 0`
)

func scanKept(row scanner) (k keptRow, err error) {
	var at int64
	if err = row.Scan(&k.fingerprint, &k.Token, &at, &k.Done, &k.Answer, &k.Shared); err != nil {
		return k, err
	}
	k.At = moment(at)
	if !k.Done {
		k.Answer = nil
	}
	return k, nil
}

// OpenKey puts the intent, or with an answer the whole record, if no record counts, and returns the one that does.
func (s *Store) OpenKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	answer = bytes.Clone(answer) // the step may outlive this call
	return write(ctx, s.writer, func(t *tx) (alloc.Kept, error) {
		now := s.clock()
		put, err := t.exec(putKept, key.Hash, key.Fingerprint, token, instant(now), instant(now.Add(alloc.KeyRetention)), answer != nil, blob(answer))
		if err == nil && put > 0 {
			err = t.expireSome(expireKeptKeys, now)
		}
		if err != nil {
			return alloc.Kept{}, err
		}
		k, _, err := t.kept(key, instant(now))
		if err != nil || k.Done || k.Shared || k.Token == token {
			return k, err
		}
		k.Shared = true
		_, err = t.exec(shareKept, key.Hash, k.Token)
		return k, err
	})
}

// FindKey returns the record that counts.
func (s *Store) FindKey(ctx context.Context, key alloc.Key) (k alloc.Kept, ok bool, err error) {
	k, err = read(ctx, s.reader, func(t *tx) (k alloc.Kept, err error) {
		k, ok, err = t.kept(key, instant(s.clock()))
		return k, err
	})
	return k, ok, err
}

// kept reads the record that counts now; CodeKeyMismatch.
func (t *tx) kept(key alloc.Key, now int64) (k alloc.Kept, found bool, err error) {
	records, err := list(t, scanKept, selectKept, key.Hash, now)
	switch {
	case err != nil || len(records) == 0:
		return alloc.Kept{}, false, err
	case records[0].fingerprint != key.Fingerprint:
		return alloc.Kept{}, false, alloc.KeyMismatch()
	}
	return records[0].Kept, true, nil
}

// CloseKey keeps the answer with the record of the token, if that is open, and returns what it is then.
func (s *Store) CloseKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	answer = bytes.Clone(answer)
	return write(ctx, s.writer, func(t *tx) (alloc.Kept, error) {
		now := s.clock()
		if _, err := t.exec(closeKept, key.Hash, token, instant(now), blob(answer)); err != nil {
			return alloc.Kept{}, err
		}
		records, err := list(t, scanKept, selectKept, key.Hash, instant(now))
		if err != nil {
			return alloc.Kept{}, err
		}
		if len(records) == 0 || records[0].Token != token {
			return alloc.Kept{Token: token, At: now, Done: true, Answer: answer}, nil
		}
		return records[0].Kept, nil
	})
}

// DropKey removes the record of the token if it is open and one attempt's alone, and returns it if it is not.
func (s *Store) DropKey(ctx context.Context, key alloc.Key, token alloc.Token) (k alloc.Kept, ok bool, err error) {
	left, err := write(ctx, s.writer, func(t *tx) ([]keptRow, error) {
		if _, err := t.exec(dropKept, key.Hash, token); err != nil {
			return nil, err
		}
		return list(t, scanKept, selectKept, key.Hash, instant(s.clock()))
	})
	if err != nil || len(left) == 0 || left[0].Token != token {
		return alloc.Kept{}, false, err
	}
	return left[0].Kept, true, nil
}

// blob is the column's value of an answer: never NULL, as the driver makes of nil.
func blob(answer []byte) []byte {
	if answer == nil {
		return []byte{}
	}
	return answer
}
