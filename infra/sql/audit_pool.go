package sql

import (
	"context"
	dbsql "database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"idpool/alloc"
)

// AuditPool verifies the pool's counts against its rows, then each row, then each record of a key against the rows that it
// names. Chunks there are none: what lists the free IDs is an index, which the engine keeps.
func (s *Store) AuditPool(ctx context.Context, pool alloc.PoolName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	return read(ctx, s.reader, func(t *tx) (alloc.AuditStep, error) {
		p, err := t.poolAsIs(pool)
		if err != nil {
			return alloc.AuditStep{}, err
		}
		if o.Step == "" {
			return t.auditCounts(p)
		}
		switch stage, place := stageOf(o.Step); stage {
		case stageIDs:
			return t.auditIDs(p, place, o.Sample, s.clock())
		case stageKeys:
			return t.auditKeys(p, place, o.Sample, s.clock())
		}
		return alloc.AuditStep{}, noStep()
	})
}

// auditCounts holds the level against the rows, both of one moment.
func (t *tx) auditCounts(p poolRow) (alloc.AuditStep, error) {
	step := alloc.AuditStep{Next: stageIDs}
	if p.damaged() {
		found(&step, alloc.FindHead, string(p.Name), alloc.RemedyRebuild, "what says what the pool is, is lost or cannot be read")
		return step, nil
	}
	c, err := t.countRows(p)
	if err != nil {
		return step, err
	}
	rows, level := c.tally, alloc.Tally{
		Free: c.level.Available, Held: c.level.Held, Claimed: c.level.Claimed, Returning: c.level.Returning, Retired: c.level.Retired,
	}
	switch {
	case !c.known:
		found(&step, alloc.FindHead, string(p.Name), alloc.RemedyRebuild, "its counts are lost")
	case rows != level:
		found(&step, alloc.FindCounts, string(p.Name), alloc.RemedyRebuild, "it counts %s, and has %s", words(level), words(rows))
	case c.level.Seeded != c.rows+c.level.Forgotten:
		found(&step, alloc.FindCounts, string(p.Name), alloc.RemedyRebuild, "%d were seeded, and %d are known or forgotten", c.level.Seeded, c.rows+c.level.Forgotten)
	case p.Config.Policy != alloc.PolicyForget && c.level.Forgotten != 0:
		found(&step, alloc.FindCounts, string(p.Name), alloc.RemedyRebuild, "%d are counted as forgotten, and it forgets none", c.level.Forgotten)
	}
	return step, nil
}

func words(y alloc.Tally) string {
	return fmt.Sprintf("%d free, %d held, %d claimed, %d returning, %d retired", y.Free, y.Held, y.Claimed, y.Returning, y.Retired)
}

// auditedRow is a row as it stands, readable or not.
type auditedRow struct {
	id         alloc.ID
	state      alloc.State
	generation alloc.Generation
	token      dbsql.Null[alloc.Token]
	metadata   dbsql.NullString
	holdUntil  time.Time
	forgetAt   time.Time
}

const auditedRows = `SELECT id, state, generation, token, metadata, hold_until, forget_at FROM ids WHERE pool = $1 AND id > $2 ORDER BY id LIMIT $3`

func scanAudited(row scanner) (r auditedRow, err error) {
	var held, forget dbsql.NullInt64
	err = row.Scan(&r.id, &r.state, &r.generation, &r.token, &r.metadata, &held, &forget)
	r.holdUntil, r.forgetAt = momentOf(held), momentOf(forget)
	return r, err
}

// damage is what cannot be in the row, in words; "" for nothing.
func (r auditedRow) damage() string {
	switch {
	case r.generation < 0:
		return "its generation is below 0"
	case r.state == alloc.StateFree && r.token.Valid:
		return "it is free, and has the token of an owner"
	case r.state != alloc.StateFree && r.state != alloc.StateRetired && r.token.V == "": // what was burned has none
		return "it is taken, and has no token"
	}
	var metadata map[string]string
	if r.metadata.Valid && json.Unmarshal([]byte(r.metadata.String), &metadata) != nil {
		return "its metadata cannot be read"
	}
	return ""
}

// auditIDs looks at rows in the order of their IDs.
func (t *tx) auditIDs(p poolRow, after string, sample int, now time.Time) (step alloc.AuditStep, err error) {
	rows, err := list(t, scanAudited, auditedRows, p.number, after, auditRows)
	if err != nil {
		return step, err
	}
	for _, r := range rows {
		if over(r.forgetAt, now) || !drawn(string(r.id), sample) {
			continue
		}
		step.Done++
		tallyState(&step.Tally, r.state)
		if damage := r.damage(); damage != "" {
			found(&step, alloc.FindDamagedID, string(r.id), alloc.RemedyNone, "%s", damage)
		}
		if r.state == alloc.StateHeld && now.After(r.holdUntil.Add(overdue)) {
			found(&step, alloc.FindOverdueHold, string(r.id), alloc.RemedySweep, "its hold ended at %s", r.holdUntil.Format(time.RFC3339))
		}
	}
	step.Next = stageKeys
	if n := len(rows); n == auditRows {
		step.Next = stageIDs + string(rows[n-1].id)
	}
	return step, nil
}

func tallyState(y *alloc.Tally, state alloc.State) {
	switch state {
	case alloc.StateFree:
		y.Free++
	case alloc.StateHeld:
		y.Held++
	case alloc.StateClaimed:
		y.Claimed++
	case alloc.StateReturning:
		y.Returning++
	case alloc.StateRetired:
		y.Retired++
	}
}

// auditedKey is a record of a key as it stands.
type auditedKey struct {
	hash    string
	expires int64
	token   alloc.Token
	ids     string
}

const (
	auditedKeys = `SELECT hash, expires, token, ids FROM claim_keys
		WHERE pool = $1 AND (expires, hash) > ($2, $3) ORDER BY expires, hash LIMIT $4`
	namedByKey = `SELECT b.value, coalesce(i.state, ''), coalesce(i.generation, 0), coalesce(i.token, ''), coalesce(i.last_token, '')
		FROM json_each($2) b LEFT JOIN ids i ON i.pool = $1 AND i.id = b.value`
)

func scanAuditedKey(row scanner) (k auditedKey, err error) {
	err = row.Scan(&k.hash, &k.expires, &k.token, &k.ids)
	return k, err
}

// auditKeys looks at records of keys that count, in the order in which they expire.
func (t *tx) auditKeys(p poolRow, place string, sample int, now time.Time) (step alloc.AuditStep, err error) {
	expires, hash := instant(now), "~" // after all that expire now
	if place != "" {
		first, rest, _ := strings.Cut(place, "/")
		if expires, err = strconv.ParseInt(first, 10, 64); err != nil {
			return step, noStep()
		}
		hash = rest
	}
	keys, err := list(t, scanAuditedKey, auditedKeys, p.number, expires, hash, auditKeys)
	if err != nil {
		return step, err
	}
	for _, k := range keys {
		if !drawn(k.hash, sample) {
			continue
		}
		fault, err := t.keyFault(p, k)
		if err != nil {
			return step, err
		}
		if fault != "" {
			found(&step, alloc.FindKey, k.hash, alloc.RemedyNone, "%s", fault)
		}
	}
	if n := len(keys); n == auditKeys {
		step.Next = fmt.Sprintf("%s%d/%s", stageKeys, keys[n-1].expires, keys[n-1].hash)
	}
	return step, nil
}

// namedRow is what an ID that a key names is now.
type namedRow struct {
	id         string
	state      alloc.State // "" where it is not known
	generation alloc.Generation
	token      alloc.Token
	lastToken  alloc.Token
}

func scanNamed(row scanner) (r namedRow, err error) {
	err = row.Scan(&r.id, &r.state, &r.generation, &r.token, &r.lastToken)
	return r, err
}

// keyFault is what does not fit between a key's record and the IDs that it names, in words; "" for nothing. Whatever becomes
// of the IDs between the two readings, it fits: they are the key's, or came back from it, or have come back since.
func (t *tx) keyFault(p poolRow, k auditedKey) (string, error) {
	var ids []alloc.ID
	if json.Unmarshal([]byte(k.ids), &ids) != nil || len(ids) == 0 {
		return "the IDs that it names cannot be read", nil
	}
	if p.Config.Policy == alloc.PolicyForget {
		return "", nil // there any of them may be gone, or be there again as another
	}
	named, err := list(t, scanNamed, namedByKey, p.number, k.ids)
	if err != nil {
		return "", err
	}
	for _, r := range named {
		switch {
		case r.state == "":
			return fmt.Sprintf("it names %q, which the pool does not know", r.id), nil
		case r.token != k.token && r.lastToken != k.token && r.generation == 0:
			return fmt.Sprintf("it names %q, which is not its own and never came back", r.id), nil
		}
	}
	return "", nil
}
