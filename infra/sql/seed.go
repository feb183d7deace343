package sql

import (
	"context"
	"crypto/sha256"
	dbsql "database/sql"
	"encoding/base64"
	"fmt"
	"math"
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
	room, err := t.room(p, b.UpTo)
	if err != nil {
		return nil, err
	}
	if p.Config.Policy != alloc.PolicyForget {
		return t.add(p, b, room, 0, s.clock())
	}
	return t.addOnce(p, b, room, s.clock())
}

// room is how many IDs the pool takes: all that come, or as many as are missing to what is to be available.
func (t *tx) room(p poolRow, upTo alloc.Count) (alloc.Count, error) {
	if upTo == 0 {
		return math.MaxInt64, nil
	}
	var free alloc.Count
	found, err := t.row(`SELECT n_free FROM levels WHERE pool = $1`, []any{p.number}, &free)
	if err == nil && !found {
		err = lostCounts(p.Name)
	}
	return max(0, upTo-free), err
}

// addOnce is add for a pool that forgets: by the record of the batch it knows what is done of it. Only what was not needed
// then is looked at again.
func (t *tx) addOnce(p poolRow, b alloc.SeedBatch, room alloc.Count, at time.Time) ([]alloc.SeedOutcome, error) {
	digest := batchDigest(b.IDs)
	before, err := t.seedBatch(p, b.Job, digest)
	if err != nil || len(before) > 0 && !slices.Contains(before, alloc.SeedUnneeded) {
		return before, err
	}
	rest := b
	if len(before) > 0 {
		rest.IDs = nil
		for i, id := range b.IDs {
			if before[i] == alloc.SeedUnneeded {
				rest.IDs = append(rest.IDs, id)
			}
		}
	}
	outcomes, err := t.add(p, rest, room, alloc.Generation(at.Unix()), at)
	if err != nil {
		return nil, err
	}
	if len(before) > 0 {
		for i, o := range before {
			if o == alloc.SeedUnneeded {
				before[i], outcomes = outcomes[0], outcomes[1:]
			}
		}
		outcomes = before
	}
	_, err = t.exec(keepBatch, p.number, b.Job, digest, encodeOutcomes(outcomes), instant(at))
	return outcomes, err
}

const keepBatch = `INSERT INTO seed_batches (pool, job, digest, outcomes, at) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (pool, job, digest) DO UPDATE SET outcomes = excluded.outcomes, at = excluded.at`

// A batch is looked up in one statement and put in one, so that a large seeding costs little more than what the engine
// needs to keep its rows. The IDs are a JSON array.
const (
	lookUpBatch = `SELECT b.value, coalesce(i.state, ''), coalesce(i.job, ''), i.forget_at
		FROM json_each($2) b LEFT JOIN ids i ON i.pool = $1 AND i.id = b.value`
	insertBatch = `INSERT INTO ids (pool, id, state, generation, job) SELECT $1, value, 'free', $2, $3 FROM json_each($4) WHERE true ORDER BY key
		ON CONFLICT (pool, id) DO NOTHING`
)

// seedRow is what the pool knows of an ID that is to be added; an empty state is nothing.
type seedRow struct {
	id       alloc.ID
	state    alloc.State
	job      alloc.JobID
	forgetAt time.Time // zero for never
}

func scanSeedRow(row scanner) (r seedRow, err error) {
	var forget dbsql.NullInt64
	err = row.Scan(&r.id, &r.state, &r.job, &forget)
	r.forgetAt = momentOf(forget)
	return r, err
}

// add puts the IDs that are not there, as long as there is room, and says what became of each.
func (t *tx) add(p poolRow, b alloc.SeedBatch, room alloc.Count, g alloc.Generation, now time.Time) ([]alloc.SeedOutcome, error) {
	rows, err := list(t, scanSeedRow, lookUpBatch, p.number, asJSON(&b.IDs))
	if err != nil {
		return nil, err
	}
	present := make(map[alloc.ID]seedRow, len(rows))
	for _, r := range rows {
		present[r.id] = r
	}
	by := tally{}
	outcomes, fresh := make([]alloc.SeedOutcome, 0, len(b.IDs)), make([]alloc.ID, 0, len(b.IDs))
	for _, id := range b.IDs {
		r := present[id]
		absent := r.state == ""
		if over(r.forgetAt, now) && room > 0 {
			if err := changedOne(t.exec(forgetOneDue, p.number, id, instant(now))); err != nil {
				return nil, err
			}
			by.move(alloc.StateClaimed, countForgotten, 1)
			absent = true
		}
		switch {
		case absent && room > 0:
			room--
			fresh = append(fresh, id)
			outcomes = append(outcomes, alloc.SeedAdded)
		case absent || over(r.forgetAt, now):
			outcomes = append(outcomes, alloc.SeedUnneeded)
		default:
			outcomes = append(outcomes, r.outcome(b))
		}
	}
	if err := t.insertFree(p, b.Job, fresh, g); err != nil {
		return nil, err
	}
	by[countSeeded] += len(fresh)
	by[alloc.StateFree] += len(fresh)
	return outcomes, t.count(p, by)
}

// insertFree puts IDs that are not there.
func (t *tx) insertFree(p poolRow, job alloc.JobID, ids []alloc.ID, g alloc.Generation) error {
	if len(ids) == 0 {
		return nil
	}
	inserted, err := t.exec(insertBatch, p.number, g, job, asJSON(&ids))
	return changedAll(len(ids), inserted, err)
}

// outcome says what to answer for an ID that is there already. A batch is put as a whole: one that this job has put before
// was carried to its end.
func (r seedRow) outcome(b alloc.SeedBatch) alloc.SeedOutcome {
	switch {
	case r.job == b.Job && !b.Keyless:
		return alloc.SeedAdded
	case r.state == alloc.StateFree, r.state == alloc.StateReturning:
		return alloc.SeedDuplicate
	default:
		return alloc.SeedConflict
	}
}

// seedBatch reads what a batch became when the job put it before; none if it did not.
func (t *tx) seedBatch(p poolRow, job alloc.JobID, digest string) ([]alloc.SeedOutcome, error) {
	var letters string
	found, err := t.row(`SELECT outcomes FROM seed_batches WHERE pool = $1 AND job = $2 AND digest = $3`, []any{p.number, job, digest}, &letters)
	if err != nil || !found {
		return nil, err
	}
	return decodeOutcomes(letters)
}

// outcomeLetters are how outcomes are kept.
var outcomeLetters = map[alloc.SeedOutcome]byte{alloc.SeedAdded: 'a', alloc.SeedDuplicate: 'd', alloc.SeedConflict: 'c', alloc.SeedUnneeded: 'u'}

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
