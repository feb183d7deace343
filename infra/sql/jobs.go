package sql

import (
	"bytes"
	"context"

	"idpool/alloc"
)

const jobColumns = `id, kind, pool, of_state, format, client, state, version, created, updated, done, parts, mark, tries, failure`

func scanJob(row scanner) (j alloc.Job, err error) {
	var created, updated int64
	err = row.Scan(&j.ID, &j.Kind, &j.Pool, &j.Of, &j.Format, &j.By, &j.State, &j.Version, &created, &updated, &j.Done, &j.Parts, &j.Mark, &j.Tries, &j.Failure)
	j.Created, j.Updated = moment(created), moment(updated)
	return j, err
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
	_, err := write(ctx, s.writer, func(t *tx) (int64, error) {
		since := s.jobsSince()
		for _, expired := range []string{
			`DELETE FROM parts WHERE job IN (SELECT id FROM jobs WHERE id = $1 AND created <= $2)`,
			`DELETE FROM jobs WHERE id = $1 AND created <= $2`,
		} {
			if _, err := t.exec(expired, j.ID, since); err != nil {
				return 0, err
			}
		}
		return t.exec(`INSERT INTO jobs (`+jobColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (id) DO NOTHING`,
			j.ID, j.Kind, j.Pool, j.Of, j.Format, j.By, j.State, instant(j.Created), instant(j.Updated), j.Done, j.Parts, j.Mark, j.Tries, j.Failure)
	})
	return err
}

// Job reads one.
func (s *Store) Job(ctx context.Context, id alloc.JobID) (alloc.Job, error) {
	return read(ctx, s.reader, func(t *tx) (alloc.Job, error) { return t.job(id, s.jobsSince()) })
}

// ChangeJob replaces the job at version from. When it was made stays.
func (s *Store) ChangeJob(ctx context.Context, from alloc.Version, j alloc.Job) (alloc.Job, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.Job, error) {
		present, err := t.job(j.ID, s.jobsSince())
		if err != nil {
			return alloc.Job{}, err
		}
		changed := j
		changed.Created, changed.Updated, changed.Version = present.Created, moment(instant(j.Updated)), from+1
		if repeatedChange(present.Version, from) && present.Equal(changed) {
			return present, nil
		}
		if present.Version != from {
			return alloc.Job{}, alloc.VersionMismatch("job", string(j.ID), present.Version)
		}
		_, err = t.exec(`UPDATE jobs SET kind = $2, pool = $3, of_state = $4, format = $5, client = $6, state = $7, version = $8,
				updated = $9, done = $10, parts = $11, mark = $12, tries = $13, failure = $14 WHERE id = $1`,
			j.ID, j.Kind, j.Pool, j.Of, j.Format, j.By, j.State, changed.Version, instant(j.Updated), j.Done, j.Parts, j.Mark, j.Tries, j.Failure)
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
			return list(t, scanJob, newestJobs, s.jobsSince(), limit)
		}
		return list(t, scanJob, olderJobs, s.jobsSince(), limit, before)
	})
}

// PutPart keeps part n of a job's result if there is none of that number yet.
func (s *Store) PutPart(ctx context.Context, job alloc.JobID, n int, p alloc.Part) error {
	p.Data = bytes.Clone(p.Data) // the step may outlive this call
	_, err := write(ctx, s.writer, func(t *tx) (int64, error) {
		if _, err := t.job(job, s.jobsSince()); err != nil {
			return 0, err
		}
		return t.exec(`INSERT INTO parts (job, k, data, ids, next) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (job, k) DO NOTHING`,
			job, n, blob(p.Data), p.IDs, p.Next)
	})
	return err
}

// Part reads part n of a job's result.
func (s *Store) Part(ctx context.Context, job alloc.JobID, n int) (alloc.Part, error) {
	return read(ctx, s.reader, func(t *tx) (p alloc.Part, err error) {
		found, err := t.row(`SELECT data, ids, next FROM parts JOIN jobs ON id = job WHERE job = $1 AND k = $2 AND created > $3`,
			[]any{job, n, s.jobsSince()}, &p.Data, &p.IDs, &p.Next)
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
