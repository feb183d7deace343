package sql

import (
	"bytes"
	"context"
	dbsql "database/sql"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"idpool/alloc"
)

const (
	jobFields = `kind, pool, of_state, format, client, state, version, updated, done, parts, mark, tries, failure,
		why, started, total, tally, log, input, inputs, input_column, faults, change, spec, verdict`
	jobColumns = `id, created, ` + jobFields
	jobValues  = `$3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27` // of jobFields

	insertJob = `INSERT INTO jobs (` + jobColumns + `) VALUES ($1, $2, ` + jobValues + `) ON CONFLICT (id) DO NOTHING`
	updateJob = `UPDATE jobs SET (` + jobFields + `) = (` + jobValues + `) WHERE id = $1 AND created = $2`
)

// jobRow returns the values of jobColumns.
func jobRow(j alloc.Job) []any {
	log, inputs := make([]storedEvent, 0, len(j.Log)), make([]storedInput, 0, len(j.Inputs))
	for _, e := range j.Log {
		log = append(log, storedEvent{instant(e.At), e.Text})
	}
	for _, in := range j.Inputs {
		inputs = append(inputs, storedInput(in))
	}
	return []any{
		j.ID, instant(j.Created), j.Kind, j.Pool, j.Of, j.Format, j.By, j.State, j.Version, instant(j.Updated), j.Done, j.Parts, j.Mark, j.Tries, j.Failure,
		j.Why, optional(j.Started), j.Total, asJSON(new(storedTally(j.Tally))), asJSON(&log), asJSON(new(storedFormat(j.Input))), asJSON(&inputs), j.Column,
		j.Faults, j.Change, asJSON(new(storedSpec(j.Spec))), j.Verdict,
	}
}

func scanJob(row scanner) (j alloc.Job, err error) {
	var created, updated int64
	var started dbsql.NullInt64
	var tally storedTally
	var log []storedEvent
	var format storedFormat
	var inputs []storedInput
	var spec storedSpec
	err = row.Scan(
		&j.ID, &created, &j.Kind, &j.Pool, &j.Of, &j.Format, &j.By, &j.State, &j.Version, &updated, &j.Done, &j.Parts, &j.Mark, &j.Tries, &j.Failure,
		&j.Why, &started, &j.Total, asJSON(&tally), asJSON(&log), asJSON(&format), asJSON(&inputs), &j.Column,
		&j.Faults, &j.Change, asJSON(&spec), &j.Verdict)
	j.Spec = alloc.JobSpec(spec)
	j.Created, j.Updated, j.Started = moment(created), moment(updated), momentOf(started)
	j.Tally, j.Input = alloc.Tally(tally), alloc.SeedFormat(format)
	for _, e := range log {
		j.Log = append(j.Log, alloc.JobEvent{At: moment(e.At), Text: e.Text})
	}
	for _, in := range inputs {
		j.Inputs = append(j.Inputs, alloc.JobInput(in))
	}
	return j, err
}

// scanListed is scanJob for lists: a job whose record cannot be read as a whole is damaged, and does not hide the others.
func scanListed(row scanner) (alloc.Job, error) {
	j, err := scanJob(row)
	if err != nil && j.ID != "" { // the row is there
		j.State = alloc.JobDamaged
		return j, nil
	}
	return j, err
}

// keptJob is a copy of the job for a step that may outlive its caller, with its times as the columns give them back.
func keptJob(j alloc.Job) alloc.Job {
	j.Created, j.Updated, j.Started = plainTime(j.Created), plainTime(j.Updated), plainTime(j.Started)
	j.Spec.Since = plainTime(j.Spec.Since)
	j.Log, j.Inputs = slices.Clone(j.Log), slices.Clone(j.Inputs)
	for i := range j.Log {
		j.Log[i].At = plainTime(j.Log[i].At)
	}
	return j
}

// jobsSince is the moment before which a job must not have been made to count.
func (s *Store) jobsSince() int64 { return instant(s.clock().Add(-alloc.JobRetention)) }

// job reads one that counts; CodeJobNotFound.
func (t *tx) job(id alloc.JobID, since int64) (alloc.Job, error) {
	found, err := list(t, scanJob, `SELECT `+jobColumns+` FROM jobs WHERE id = $1 AND created > $2`, id, since)
	if err != nil {
		return alloc.Job{}, err
	}
	if len(found) == 0 {
		return alloc.Job{}, alloc.JobNotFound(id)
	}
	return found[0], nil
}

// CreateJob puts the job at version 1 if its ID is unused.
func (s *Store) CreateJob(ctx context.Context, j alloc.Job) error {
	j = keptJob(j)
	j.Version = 1
	_, err := write(ctx, s.writer, func(t *tx) (int64, error) {
		since := s.jobsSince()
		for _, expired := range []string{
			`DELETE FROM parts WHERE job IN (SELECT id FROM jobs WHERE id = $1 AND created <= $2)`,
			`DELETE FROM inputs WHERE job IN (SELECT id FROM jobs WHERE id = $1 AND created <= $2)`,
			`DELETE FROM jobs WHERE id = $1 AND created <= $2`,
		} {
			if _, err := t.exec(expired, j.ID, since); err != nil {
				return 0, err
			}
		}
		return t.exec(insertJob, jobRow(j)...)
	})
	return err
}

// Job reads one.
func (s *Store) Job(ctx context.Context, id alloc.JobID) (alloc.Job, error) {
	return read(ctx, s.reader, func(t *tx) (alloc.Job, error) { return t.job(id, s.jobsSince()) })
}

// ChangeJob replaces the job at version from. When it was made stays.
func (s *Store) ChangeJob(ctx context.Context, from alloc.Version, j alloc.Job) (alloc.Job, error) {
	j = keptJob(j)
	return write(ctx, s.writer, func(t *tx) (alloc.Job, error) {
		present, err := t.job(j.ID, s.jobsSince())
		if err != nil {
			return alloc.Job{}, err
		}
		changed := j
		changed.Created, changed.Version = present.Created, from+1
		if repeatedChange(present.Version, from) && present.Equal(changed) {
			return present, nil
		}
		if present.Version != from {
			return alloc.Job{}, alloc.VersionMismatch("job", string(j.ID), present.Version)
		}
		_, err = t.exec(updateJob, jobRow(changed)...)
		return changed, err
	})
}

const (
	newestJobs = `SELECT ` + jobColumns + ` FROM jobs WHERE created > $1 ORDER BY id DESC LIMIT $2`
	olderJobs  = `SELECT ` + jobColumns + ` FROM jobs WHERE created > $1 AND id < $3 ORDER BY id DESC LIMIT $2`
)

// ListJobs returns at most limit jobs, newest first, older than the one given: their IDs sort by time.
func (s *Store) ListJobs(ctx context.Context, before alloc.JobID, limit int) ([]alloc.Job, error) {
	return read(ctx, s.reader, func(t *tx) ([]alloc.Job, error) {
		if before == "" {
			return list(t, scanListed, newestJobs, s.jobsSince(), limit)
		}
		return list(t, scanListed, olderJobs, s.jobsSince(), limit, before)
	})
}

// openJobs has the condition of the index of jobs that go on, which is that of JobState.Ended.
const openJobs = `SELECT ` + jobColumns + ` FROM jobs WHERE state NOT IN ('done', 'failed', 'cancelled') AND id > $1 AND created > $2 ORDER BY id LIMIT $3`

// OpenJobs returns at most limit jobs that have not ended, the oldest first, after the one given.
func (s *Store) OpenJobs(ctx context.Context, after alloc.JobID, limit int) ([]alloc.Job, error) {
	return read(ctx, s.reader, func(t *tx) ([]alloc.Job, error) {
		return list(t, scanListed, openJobs, after, s.jobsSince(), limit)
	})
}

// failedJobs has the condition of the index of jobs that have ended badly, which is that of Job.EndedBadly.
const failedJobs = `SELECT ` + jobColumns + ` FROM jobs WHERE (state = 'failed' OR state = 'done' AND verdict = 'findings') AND updated >= $1 AND created > $2
	AND (updated, id) < ($4, $5) ORDER BY updated DESC, id DESC LIMIT $3`

// FailedJobs returns at most limit jobs that have ended badly at or after since, the last first, from before the place given.
func (s *Store) FailedJobs(ctx context.Context, since time.Time, before string, limit int) ([]alloc.Job, error) {
	from, end, id := int64(0), int64(math.MaxInt64), ""
	if since.Unix() > 0 {
		from = instant(since)
	}
	if at, of, ok := strings.Cut(before, "#"); ok {
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return nil, alloc.Errorf(alloc.CodeInternal, "a place among jobs that have ended cannot be read").Because(err)
		}
		end, id = n, of
	}
	return read(ctx, s.reader, func(t *tx) ([]alloc.Job, error) {
		return list(t, scanListed, failedJobs, from, s.jobsSince(), limit, end, id)
	})
}

// PutInput keeps a piece of a job's input under the name if there is none of that name yet.
func (s *Store) PutInput(ctx context.Context, job alloc.JobID, name string, data []byte) error {
	data = bytes.Clone(data) // the step may outlive this call
	_, err := write(ctx, s.writer, func(t *tx) (int64, error) {
		if _, err := t.job(job, s.jobsSince()); err != nil {
			return 0, err
		}
		return t.exec(`INSERT INTO inputs (job, name, data) VALUES ($1, $2, $3) ON CONFLICT (job, name) DO NOTHING`, job, name, blob(data))
	})
	return err
}

const selectInput = `SELECT data FROM inputs JOIN jobs ON id = job WHERE job = $1 AND name = $2 AND created > $3`

// Input reads a piece of a job's input.
func (s *Store) Input(ctx context.Context, job alloc.JobID, name string) ([]byte, error) {
	return read(ctx, s.reader, func(t *tx) (data []byte, err error) {
		found, err := t.row(selectInput, []any{job, name, s.jobsSince()}, &data)
		if err == nil && !found {
			err = alloc.JobNotFound(job)
		}
		return data, err
	})
}

// PutPart keeps part n of a job's result if there is none of that number yet.
func (s *Store) PutPart(ctx context.Context, job alloc.JobID, n int, p alloc.Part) error {
	p.Data = bytes.Clone(p.Data) // the step may outlive this call
	_, err := write(ctx, s.writer, func(t *tx) (int64, error) {
		if _, err := t.job(job, s.jobsSince()); err != nil {
			return 0, err
		}
		return t.exec(`INSERT INTO parts (job, k, data, ids, next, tally) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (job, k) DO NOTHING`,
			job, n, blob(p.Data), p.IDs, p.Next, asJSON(new(storedTally(p.Tally))))
	})
	return err
}

// Part reads part n of a job's result.
func (s *Store) Part(ctx context.Context, job alloc.JobID, n int) (alloc.Part, error) {
	return read(ctx, s.reader, func(t *tx) (p alloc.Part, err error) {
		var tally storedTally
		found, err := t.row(`SELECT data, ids, next, p.tally FROM parts p JOIN jobs ON id = job WHERE job = $1 AND k = $2 AND created > $3`,
			[]any{job, n, s.jobsSince()}, &p.Data, &p.IDs, &p.Next, asJSON(&tally))
		p.Tally = alloc.Tally(tally)
		if err == nil && !found {
			err = alloc.JobNotFound(job)
		}
		return p, err
	})
}

// walkIDs reads a page in the order of the IDs: that never changes, so that a walk meets none twice, whatever becomes of
// it meanwhile, and misses none.
const walkIDs = `SELECT ` + recordColumns + ` FROM ids i WHERE i.pool = $1 AND i.id > $2 ORDER BY i.id LIMIT $3`

// WalkIDs looks at limit IDs of the pool and returns those in the state.
func (s *Store) WalkIDs(
	ctx context.Context, pool alloc.PoolName, state alloc.State, mark string, limit int,
) (page []alloc.IDRecord, next string, err error) {
	records, err := read(ctx, s.reader, func(t *tx) ([]known, error) {
		p, err := t.pool(pool)
		if err != nil {
			return nil, err
		}
		return list(t, scanKnown, walkIDs, p.number, mark, limit)
	})
	if err != nil {
		return nil, "", err
	}
	now := s.clock()
	for _, r := range records {
		if (state == "" || r.State == state) && !r.forgotten(now) {
			r.Pool = pool
			page = append(page, r.IDRecord)
		}
	}
	if n := len(records); n > 0 && n == limit {
		next = string(records[n-1].ID)
	}
	return page, next, nil
}
