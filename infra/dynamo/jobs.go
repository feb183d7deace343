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
//	faults   change                           how many of tries do not pass by themselves; what the last change is known by
//	why      start   total  tally  log      what it is for, when it began, how much there is, what it met, what happened
//	in       col     ins                    of a seeding: how its parts are read, the column of the IDs, the parts
//	spec     verd                             what else it is to do, the verdict of an audit; absent in jobs from before there were such
//	data     ids     next   tally           of a part
//
// tally, log, in, ins and spec are JSON. A piece of a job's input is J#id I#name, with data alone. Which jobs are open is in
// open_jobs.go.
const jobCatalogue = "N#job"

func jobKey(id alloc.JobID) Key { return Key{PK: "J#" + string(id), SK: skHead} }

func partKey(id alloc.JobID, n int) Key {
	return Key{PK: "J#" + string(id), SK: fmt.Sprintf("R#%06d", n)}
}

func inputKey(id alloc.JobID, name string) Key { return Key{PK: "J#" + string(id), SK: "I#" + name} }

// jobExpiry is the second from which a job and its parts count as absent.
func jobExpiry(created time.Time) int64 { return created.Add(alloc.JobRetention).Unix() }

func jobItem(j alloc.Job) Item {
	return item(jobKey(j.ID), Item{
		"kind": string(j.Kind), "pool": string(j.Pool), "of": string(j.Of), "fmt": j.Format, "by": string(j.By),
		"st": string(j.State), "ver": int64(j.Version), "mark": j.Mark, "born": nanos(j.Created), "upd": nanos(j.Updated),
		"done": int64(j.Done), "parts": int64(j.Parts), "fail": j.Failure, "tries": int64(j.Tries), "faults": int64(j.Faults), "change": string(j.Change), AttrExpires: jobExpiry(j.Created),
		"why": j.Why, "start": nanos(j.Started), "total": int64(j.Total), "tally": document(storedTally(j.Tally)), "col": int64(j.Column),
		"log": listDocument(j.Log, func(e alloc.JobEvent) storedEvent { return storedEvent(e) }),
		"in":  document(storedFormat(j.Input)), "ins": listDocument(j.Inputs, func(in alloc.JobInput) storedInput { return storedInput(in) }),
		"spec": document(storedSpec(j.Spec)), "verd": j.Verdict,
	})
}

func decodeJob(id alloc.JobID, it Item) (alloc.Job, error) {
	tally, err1 := fromDocument[storedTally](it, "tally")
	format, err2 := fromDocument[storedFormat](it, "in")
	log, err3 := listFromDocument(it, "log", func(e storedEvent) alloc.JobEvent { return alloc.JobEvent(e) })
	inputs, err4 := listFromDocument(it, "ins", func(in storedInput) alloc.JobInput { return alloc.JobInput(in) })
	spec, err5 := fromDocument[storedSpec](it, "spec")
	return alloc.Job{
		ID: id, Kind: alloc.JobKind(it.Str("kind")), Pool: alloc.PoolName(it.Str("pool")), Of: alloc.State(it.Str("of")),
		Format: it.Str("fmt"), By: alloc.ClientID(it.Str("by")), State: alloc.JobState(it.Str("st")), Version: alloc.Version(it.Int("ver")),
		Created: fromNanos(it.Int("born")), Updated: fromNanos(it.Int("upd")), Done: alloc.Count(it.Int("done")),
		Parts: int(it.Int("parts")), Mark: it.Str("mark"), Failure: it.Str("fail"), Tries: int(it.Int("tries")), Faults: int(it.Int("faults")), Change: alloc.Token(it.Str("change")),
		Why: it.Str("why"), Started: fromNanos(it.Int("start")), Total: alloc.Count(it.Int("total")), Tally: alloc.Tally(tally), Log: log,
		Input: alloc.SeedFormat(format), Column: int(it.Int("col")), Inputs: inputs,
		Spec: alloc.JobSpec(spec), Verdict: it.Str("verd"),
	}, firstOf([]error{err1, err2, err3, err4, err5})
}

// listedJob is a job as lists have it: one whose record cannot be read as a whole is damaged, and does not hide the others.
func listedJob(id alloc.JobID, it Item) alloc.Job {
	j, err := decodeJob(id, it)
	if err != nil {
		j.State = alloc.JobDamaged
	}
	return j
}

// CreateJob implements alloc.Jobs.
func (s *Store) CreateJob(ctx context.Context, j alloc.Job) error {
	j.Version = 1
	if !j.State.Ended() {
		if err := s.putFresh(ctx, openEntry(j)); err != nil {
			return err
		}
	}
	if err := s.putFailed(ctx, j); err != nil {
		return err
	}
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
	it, err := s.piece(ctx, id, jobKey(id))
	if err != nil {
		return alloc.Job{}, err
	}
	return decodeJob(id, it)
}

// ChangeJob implements alloc.Jobs.
func (s *Store) ChangeJob(ctx context.Context, from alloc.Version, j alloc.Job) (alloc.Job, error) {
	j.Version = from + 1
	if err := s.putFailed(ctx, j); err != nil {
		return alloc.Job{}, err
	}
	it, now := jobItem(j), s.now()
	err := s.table.Put(ctx, it, All(Eq("ver", int64(from)), Gt(AttrExpires, now.Unix())))
	old, met := refusedBy(err)
	switch {
	case err == nil, met && old.has(it) && !expired(old, now):
		if j.State.Ended() {
			s.noMoreOpen(ctx, openEntry(j))
		}
		return decodeJob(j.ID, it)
	case !met:
		return alloc.Job{}, err
	case old == nil || expired(old, now):
		return alloc.Job{}, alloc.JobNotFound(j.ID)
	}
	return alloc.Job{}, alloc.VersionMismatch("job", string(j.ID), alloc.Version(old.Int("ver")))
}

// ListJobs implements alloc.Jobs.
func (s *Store) ListJobs(ctx context.Context, before alloc.JobID, limit int) ([]alloc.Job, error) {
	var list []alloc.Job
	q := Query{PK: jobCatalogue, To: string(before), Descending: true}
	err := s.listed(ctx, q, limit, func(id string) Key { return jobKey(alloc.JobID(id)) }, func(id string, it Item) error {
		list = append(list, listedJob(alloc.JobID(id), it))
		return nil
	})
	return list, err
}

// PutPart implements alloc.Jobs.
func (s *Store) PutPart(ctx context.Context, job alloc.JobID, n int, p alloc.Part) error {
	return s.putPiece(ctx, job, item(partKey(job, n), Item{
		"data": p.Data, "ids": int64(p.IDs), "next": p.Next, "tally": document(storedTally(p.Tally)),
	}))
}

// putPiece puts what belongs to a job, and expires with it, if it is not there yet.
func (s *Store) putPiece(ctx context.Context, job alloc.JobID, it Item) error {
	j, err := s.Job(ctx, job)
	if err != nil {
		return err
	}
	it[AttrExpires] = jobExpiry(j.Created)
	return s.putFresh(ctx, it)
}

// piece reads what belongs to a job.
func (s *Store) piece(ctx context.Context, job alloc.JobID, k Key) (Item, error) {
	it, err := s.table.Get(ctx, k)
	if err != nil {
		return nil, err
	}
	if it == nil || expired(it, s.now()) {
		return nil, alloc.JobNotFound(job)
	}
	return it, nil
}

// Part implements alloc.Jobs.
func (s *Store) Part(ctx context.Context, job alloc.JobID, n int) (alloc.Part, error) {
	it, err := s.piece(ctx, job, partKey(job, n))
	if err != nil {
		return alloc.Part{}, err
	}
	tally, err := fromDocument[storedTally](it, "tally")
	return alloc.Part{Data: it.Bytes("data"), IDs: alloc.Count(it.Int("ids")), Tally: alloc.Tally(tally), Next: it.Str("next")}, err
}

// PutInput implements alloc.Jobs.
func (s *Store) PutInput(ctx context.Context, job alloc.JobID, name string, data []byte) error {
	return s.putPiece(ctx, job, item(inputKey(job, name), Item{"data": data}))
}

// Input implements alloc.Jobs.
func (s *Store) Input(ctx context.Context, job alloc.JobID, name string) ([]byte, error) {
	it, err := s.piece(ctx, job, inputKey(job, name))
	return it.Bytes("data"), err
}
