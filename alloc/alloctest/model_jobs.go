package alloctest

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"idpool/alloc"
)

// modelJob is a job with the pieces of its input and the parts of its result.
type modelJob struct {
	alloc.Job
	inputs map[string][]byte
	parts  map[int]alloc.Part
}

// copyOf is the job as it is given and taken: it shares no memory with what the Model has.
func copyOf(j alloc.Job) alloc.Job {
	j.Log, j.Inputs = slices.Clone(j.Log), slices.Clone(j.Inputs)
	return j
}

// job finds a job whose retention is not over.
func (m *Model) job(d *modelData, id alloc.JobID) (*modelJob, error) {
	j := d.jobs[id]
	if j == nil || !m.now().Before(j.Created.Add(alloc.JobRetention)) {
		return nil, alloc.JobNotFound(id)
	}
	return j, nil
}

// CreateJob implements alloc.Jobs.
func (m *Model) CreateJob(ctx context.Context, j alloc.Job) error {
	return m.step(ctx, func(d *modelData) error {
		if _, err := m.job(d, j.ID); err == nil {
			return nil
		}
		j.Version = 1
		d.jobs[j.ID] = &modelJob{Job: copyOf(j), inputs: map[string][]byte{}, parts: map[int]alloc.Part{}}
		return nil
	})
}

// Job implements alloc.Jobs.
func (m *Model) Job(ctx context.Context, id alloc.JobID) (found alloc.Job, err error) {
	err = m.step(ctx, func(d *modelData) error {
		j, err := m.job(d, id)
		if err != nil {
			return err
		}
		found = copyOf(j.Job)
		return nil
	})
	return found, err
}

// ChangeJob implements alloc.Jobs.
func (m *Model) ChangeJob(ctx context.Context, from alloc.Version, j alloc.Job) (changed alloc.Job, err error) {
	err = m.step(ctx, func(d *modelData) error {
		there, err := m.job(d, j.ID)
		if err != nil {
			return err
		}
		j.Version = from + 1
		if repeat := cmp.Equal(there.Job, j, cmpopts.EquateEmpty()); !repeat {
			if there.Version != from {
				return alloc.VersionMismatch("job", string(j.ID), there.Version)
			}
			there.Job = copyOf(j)
		}
		changed = copyOf(there.Job)
		return nil
	})
	return changed, err
}

// ListJobs implements alloc.Jobs.
func (m *Model) ListJobs(ctx context.Context, before alloc.JobID, limit int) (jobs []alloc.Job, err error) {
	err = m.step(ctx, func(d *modelData) error {
		ids := slices.Sorted(maps.Keys(d.jobs))
		slices.Reverse(ids)
		for _, id := range ids {
			j, err := m.job(d, id)
			if err == nil && (before == "" || id < before) && len(jobs) < limit {
				jobs = append(jobs, copyOf(j.Job))
			}
		}
		return nil
	})
	return jobs, err
}

// OpenJobs implements alloc.Jobs.
func (m *Model) OpenJobs(ctx context.Context, after alloc.JobID, limit int) (jobs []alloc.Job, err error) {
	err = m.step(ctx, func(d *modelData) error {
		for _, id := range slices.Sorted(maps.Keys(d.jobs)) {
			j, err := m.job(d, id)
			if err == nil && !j.State.Ended() && id > after && len(jobs) < limit {
				jobs = append(jobs, copyOf(j.Job))
			}
		}
		return nil
	})
	return jobs, err
}

// FailedJobs implements alloc.Jobs.
func (m *Model) FailedJobs(ctx context.Context, since time.Time, before string, limit int) (jobs []alloc.Job, err error) {
	err = m.step(ctx, func(d *modelData) error {
		for id := range d.jobs {
			j, err := m.job(d, id)
			if err == nil && j.EndedBadly() && !j.Updated.Before(since) && (before == "" || j.EndPlace() < before) {
				jobs = append(jobs, copyOf(j.Job))
			}
		}
		slices.SortFunc(jobs, func(a, b alloc.Job) int { return strings.Compare(b.EndPlace(), a.EndPlace()) })
		jobs = jobs[:min(limit, len(jobs))]
		return nil
	})
	return jobs, err
}

// PutInput implements alloc.Jobs.
func (m *Model) PutInput(ctx context.Context, job alloc.JobID, name string, data []byte) error {
	return m.step(ctx, func(d *modelData) error {
		j, err := m.job(d, job)
		if err != nil {
			return err
		}
		if _, there := j.inputs[name]; !there {
			j.inputs[name] = bytes.Clone(data)
		}
		return nil
	})
}

// Input implements alloc.Jobs.
func (m *Model) Input(ctx context.Context, job alloc.JobID, name string) (data []byte, err error) {
	err = m.step(ctx, func(d *modelData) error {
		j, err := m.job(d, job)
		if err != nil {
			return err
		}
		piece, there := j.inputs[name]
		if !there {
			return alloc.JobNotFound(job)
		}
		data = bytes.Clone(piece)
		return nil
	})
	return data, err
}

// PutPart implements alloc.Jobs.
func (m *Model) PutPart(ctx context.Context, job alloc.JobID, n int, p alloc.Part) error {
	return m.step(ctx, func(d *modelData) error {
		j, err := m.job(d, job)
		if err != nil {
			return err
		}
		if _, there := j.parts[n]; !there {
			p.Data = bytes.Clone(p.Data)
			j.parts[n] = p
		}
		return nil
	})
}

// Part implements alloc.Jobs.
func (m *Model) Part(ctx context.Context, job alloc.JobID, n int) (part alloc.Part, err error) {
	err = m.step(ctx, func(d *modelData) error {
		j, err := m.job(d, job)
		if err != nil {
			return err
		}
		p, there := j.parts[n]
		if !there {
			return alloc.JobNotFound(job)
		}
		part = p
		part.Data = bytes.Clone(p.Data)
		return nil
	})
	return part, err
}

// WalkIDs implements alloc.Jobs: the mark is the last ID that was given.
func (m *Model) WalkIDs(ctx context.Context, pool alloc.PoolName, state alloc.State, mark string, limit int) (found []alloc.IDRecord, next string, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.pool(pool)
		if err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(p.ids)) {
			if r := p.ids[id]; string(id) > mark && (state == "" || r.State == state) {
				if len(found) == limit {
					next = string(found[limit-1].ID)
					return nil
				}
				found = append(found, r.record())
			}
		}
		return nil
	})
	return found, next, err
}
