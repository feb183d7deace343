package sql

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"time"

	"idpool/alloc"
)

// Seed adds the IDs that the pool does not know. In a pool that forgets, the repeat of a batch by the same job is known
// for seedRetention.
func (s *Store) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	b.IDs = slices.Clone(b.IDs) // the step may outlive this call
	return write(ctx, s.writer, func(t *tx) ([]alloc.SeedOutcome, error) { return s.seed(t, b) })
}

func (s *Store) seed(t *tx, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	p, err := t.pool(b.Pool)
	if err != nil {
		return nil, err
	}
	if err := p.CheckSeed(); err != nil {
		return nil, err
	}
	if p.Config.Policy != alloc.PolicyForget {
		return t.add(p, b, 0, s.clock())
	}
	batch := batchDigest(b.IDs)
	outcomes, found, err := t.seedBatch(p, b.Job, batch)
	if err != nil || found {
		return outcomes, err
	}
	at := s.clock()
	if outcomes, err = t.add(p, b, alloc.Generation(at.Unix()), at); err != nil {
		return nil, err
	}
	_, err = t.exec(`INSERT INTO seed_batches (pool, job, digest, outcomes, at) VALUES ($1, $2, $3, $4, $5)`,
		p.number, b.Job, batch, encodeOutcomes(outcomes), instant(at))
	return outcomes, err
}

// add puts the IDs that are not there and says what became of each.
func (t *tx) add(p poolRow, b alloc.SeedBatch, g alloc.Generation, now time.Time) ([]alloc.SeedOutcome, error) {
	outcomes := make([]alloc.SeedOutcome, 0, len(b.IDs))
	by := tally{}
	for _, id := range b.IDs {
		inserted, err := t.put(p, b.Job, id, g, now, by)
		if err != nil {
			return nil, err
		}
		outcome := alloc.SeedAdded
		if !inserted {
			if outcome, err = t.present(p, b, id); err != nil {
				return nil, err
			}
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, t.count(p, by)
}

const insertID = `INSERT INTO ids (pool, id, state, generation, job) VALUES ($1, $2, 'free', $3, $4) ON CONFLICT (pool, id) DO NOTHING`

// put puts an ID that is not there, or that is to be forgotten by now, and counts that.
func (t *tx) put(p poolRow, job alloc.JobID, id alloc.ID, g alloc.Generation, now time.Time, by tally) (bool, error) {
	inserted, err := t.exec(insertID, p.number, id, g, job)
	if err == nil && inserted == 0 && p.Config.Policy == alloc.PolicyForget {
		var due int64
		if due, err = t.exec(forgetOneDue, p.number, id, instant(now)); err != nil || due == 0 {
			return false, err
		}
		by.move(alloc.StateClaimed, countForgotten, 1)
		inserted, err = t.exec(insertID, p.number, id, g, job)
	}
	if err != nil || inserted == 0 {
		return false, err
	}
	by[countSeeded]++
	by[alloc.StateFree]++
	return true, nil
}

// present says what to answer for an ID that is there already. A batch is put as a whole: one that this job has put before
// was carried to its end.
func (t *tx) present(p poolRow, b alloc.SeedBatch, id alloc.ID) (alloc.SeedOutcome, error) {
	var state alloc.State
	var putBy alloc.JobID
	if _, err := t.row(`SELECT state, job FROM ids WHERE pool = $1 AND id = $2`, []any{p.number, id}, &state, &putBy); err != nil {
		return "", err
	}
	switch {
	case putBy == b.Job && !b.Keyless:
		return alloc.SeedAdded, nil
	case state == alloc.StateFree, state == alloc.StateReturning:
		return alloc.SeedDuplicate, nil
	default:
		return alloc.SeedConflict, nil
	}
}

// seedBatch reads what a batch became when the job put it before.
func (t *tx) seedBatch(p poolRow, job alloc.JobID, batch string) ([]alloc.SeedOutcome, bool, error) {
	var letters string
	found, err := t.row(`SELECT outcomes FROM seed_batches WHERE pool = $1 AND job = $2 AND digest = $3`, []any{p.number, job, batch}, &letters)
	if err != nil || !found {
		return nil, false, err
	}
	outcomes, err := decodeOutcomes(letters)
	return outcomes, true, err
}

// outcomeLetters are how outcomes are kept.
var outcomeLetters = map[alloc.SeedOutcome]byte{alloc.SeedAdded: 'a', alloc.SeedDuplicate: 'd', alloc.SeedConflict: 'c'}

func encodeOutcomes(outcomes []alloc.SeedOutcome) string {
	letters := make([]byte, 0, len(outcomes))
	for _, o := range outcomes {
		letters = append(letters, outcomeLetters[o])
	}
	return string(letters)
}

func decodeOutcomes(letters string) ([]alloc.SeedOutcome, error) {
	byLetter := map[byte]alloc.SeedOutcome{}
	for outcome, letter := range outcomeLetters {
		byLetter[letter] = outcome
	}
	outcomes := make([]alloc.SeedOutcome, 0, len(letters))
	for i := range len(letters) {
		outcome, known := byLetter[letters[i]]
		if !known {
			return nil, fmt.Errorf("a seed batch has the outcome %q", letters[i])
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

// batchDigest names a batch by its IDs, with their lengths so that no two lists run into each other.
func batchDigest(ids []alloc.ID) string {
	h := sha256.New()
	for _, id := range ids {
		h.Write([]byte(strconv.Itoa(len(id)) + ":" + string(id)))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
