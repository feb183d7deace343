package dynamo

import (
	"context"
	"fmt"
	"time"

	"idpool/alloc"
)

// A job is the item J#id H, and part n of its result J#id R#n beside it. The catalogue of jobs is the partition N#job
// with an item for each ID, written before it. The IDs sort by the time at which jobs were made, so the newest stand at
// the end. All of it expires with "exp", JobRetention after the job was made; what has expired counts as absent.
//
//	kind     pool    of     fmt    by       what it is       st   state     ver   version     mark   where it goes on
//	born     upd     done   parts  tries    fail    what came of it; times in nanoseconds
//	data     ids     next                   of a part
const jobCatalogue = "N#job"

func jobKey(id alloc.JobID) Key { return Key{PK: "J#" + string(id), SK: skHead} }

func partKey(id alloc.JobID, n int) Key {
	return Key{PK: "J#" + string(id), SK: fmt.Sprintf("R#%06d", n)}
}

// jobExpiry is the second from which a job and its parts count as absent.
func jobExpiry(created time.Time) int64 { return created.Add(alloc.JobRetention).Unix() }

func jobItem(j alloc.Job) Item {
	return item(jobKey(j.ID), Item{
		"kind": string(j.Kind), "pool": string(j.Pool), "of": string(j.Of), "fmt": j.Format, "by": string(j.By),
		"st": string(j.State), "ver": int64(j.Version), "mark": j.Mark, "born": nanos(j.Created), "upd": nanos(j.Updated),
		"done": int64(j.Done), "parts": int64(j.Parts), "fail": j.Failure, "tries": int64(j.Tries), AttrExpires: jobExpiry(j.Created),
	})
}

func decodeJob(id alloc.JobID, it Item) alloc.Job {
	return alloc.Job{
		ID: id, Kind: alloc.JobKind(it.Str("kind")), Pool: alloc.PoolName(it.Str("pool")), Of: alloc.State(it.Str("of")),
		Format: it.Str("fmt"), By: alloc.ClientID(it.Str("by")), State: alloc.JobState(it.Str("st")), Version: alloc.Version(it.Int("ver")),
		Created: fromNanos(it.Int("born")), Updated: fromNanos(it.Int("upd")), Done: alloc.Count(it.Int("done")),
		Parts: int(it.Int("parts")), Mark: it.Str("mark"), Failure: it.Str("fail"), Tries: int(it.Int("tries")),
	}
}

// CreateJob implements alloc.Jobs.
func (s *Store) CreateJob(ctx context.Context, j alloc.Job) error {
	j.Version = 1
	entry := Item{AttrPK: jobCatalogue, AttrSK: string(j.ID), AttrExpires: jobExpiry(j.Created)}
	if err := s.putFresh(ctx, entry); err != nil {
		return err
	}
	return s.putFresh(ctx, jobItem(j))
}

// putFresh puts an item that expires where there is none that counts. That there is one is no error.
func (s *Store) putFresh(ctx context.Context, it Item) error {
	err := s.table.Put(ctx, it, Any(Absent(AttrPK), Le(AttrExpires, s.now().Unix())))
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}

// Job implements alloc.Jobs.
func (s *Store) Job(ctx context.Context, id alloc.JobID) (alloc.Job, error) {
	it, err := s.table.Get(ctx, jobKey(id))
	if err != nil {
		return alloc.Job{}, err
	}
	if it == nil || expired(it, s.now()) {
		return alloc.Job{}, alloc.JobNotFound(id)
	}
	return decodeJob(id, it), nil
}

// ChangeJob implements alloc.Jobs.
func (s *Store) ChangeJob(ctx context.Context, from alloc.Version, j alloc.Job) (alloc.Job, error) {
	j.Version = from + 1
	it, now := jobItem(j), s.now()
	err := s.table.Put(ctx, it, All(Eq("ver", int64(from)), Gt(AttrExpires, now.Unix())))
	old, met := refusedBy(err)
	switch {
	case err == nil:
		return decodeJob(j.ID, it), nil
	case !met:
		return alloc.Job{}, err
	case old == nil || expired(old, now):
		return alloc.Job{}, alloc.JobNotFound(j.ID)
	case old.has(it):
		return decodeJob(j.ID, old), nil
	}
	return alloc.Job{}, alloc.VersionMismatch("job", string(j.ID), alloc.Version(old.Int("ver")))
}

// ListJobs implements alloc.Jobs.
func (s *Store) ListJobs(ctx context.Context, before alloc.JobID, limit int) ([]alloc.Job, error) {
	var list []alloc.Job
	q := Query{PK: jobCatalogue, To: string(before), Descending: true}
	err := s.listed(ctx, q, limit, func(id string) Key { return jobKey(alloc.JobID(id)) }, func(id string, it Item) error {
		list = append(list, decodeJob(alloc.JobID(id), it))
		return nil
	})
	return list, err
}

// PutPart implements alloc.Jobs.
func (s *Store) PutPart(ctx context.Context, job alloc.JobID, n int, p alloc.Part) error {
	j, err := s.Job(ctx, job)
	if err != nil {
		return err
	}
	return s.putFresh(ctx, item(partKey(job, n), Item{
		"data": p.Data, "ids": int64(p.IDs), "next": p.Next, AttrExpires: jobExpiry(j.Created),
	}))
}

// Part implements alloc.Jobs.
func (s *Store) Part(ctx context.Context, job alloc.JobID, n int) (alloc.Part, error) {
	it, err := s.table.Get(ctx, partKey(job, n))
	if err != nil {
		return alloc.Part{}, err
	}
	if it == nil || expired(it, s.now()) {
		return alloc.Part{}, alloc.JobNotFound(job)
	}
	return alloc.Part{Data: it.Bytes("data"), IDs: alloc.Count(it.Int("ids")), Next: it.Str("next")}, nil
}
