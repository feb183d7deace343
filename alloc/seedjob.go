package alloc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// putsAtOnce is how many pieces of a part are put at the same time.
const putsAtOnce = 8

// OpenSeeding makes a job that takes a file in parts, by ReceivePart, and adds its IDs once StartJob has said that all are
// there. Needs ActionSeed. CodeInvalidRequest; what CheckSeed says; CodeBusy as in Export.
func (s *Service) OpenSeeding(ctx context.Context, r SeedJobRequest) (j Job, err error) {
	id := newJobID(r.Intent, s.now())
	st := step{need: ActionSeed, on: aPool, name: string(r.Pool), verb: "open-seed", detail: func() string {
		return fmt.Sprintf("job %s, csv %t, column %s, why %q", id, r.Format.CSV, quoteShort(r.Format.Column), r.Why)
	}}
	err = s.administer(ctx, st, func() (err error) {
		wanted := Job{ID: id, Kind: JobSeed, Pool: r.Pool, State: JobReceiving, Why: r.Why, Input: r.Format, Column: -1}
		j, err = s.makeJob(ctx, wanted, r.Intent, func(p Pool) error {
			if err := checkFormat(r.Format); err != nil {
				return err
			}
			if err := checkWhy(r.Why); err != nil {
				return err
			}
			return p.CheckSeed()
		})
		return err
	})
	return j, err
}

// seeding refuses a job that takes no file.
func (j Job) seeding() error {
	if j.Kind != JobSeed {
		return Errorf(CodeInvalidRequest, "the job is %s; only a seeding takes a file", kindOf(j.Kind).what)
	}
	return nil
}

// ReceivePart takes part n, from 0, of the job's file: whole lines, at most MaxInputBytes. Parts come in their order; one
// that comes again, with the same bytes, is a success. CodeInvalidRequest with what cannot be read, another part n or a gap; CodeJobEnded,
// and CodeInvalidRequest once the job was started. Needs what NeedToChange says.
func (s *Service) ReceivePart(ctx context.Context, id JobID, n int, data []byte) (j Job, warnings []string, err error) {
	if j, err = s.findJob(ctx, id); err != nil {
		return Job{}, nil, err
	}
	need, err := s.needToChange(ctx, j)
	if err != nil {
		return Job{}, nil, err
	}
	if _, err := s.permit(ctx, need, string(j.Pool)); err != nil {
		return Job{}, nil, err
	}
	if err := j.seeding(); err != nil {
		return Job{}, nil, err
	}
	if len(data) > MaxInputBytes {
		return Job{}, nil, Errorf(CodeInvalidRequest, "a part has at most %d bytes; cut the file at ends of lines into more of them", MaxInputBytes)
	}
	sum := sha256.Sum256(data)
	part := receivedPart{n: n, data: data, digest: hex.EncodeToString(sum[:])}
	for range changeTries {
		there, err := part.check(j)
		switch {
		case err != nil:
			return Job{}, nil, err
		case there:
			return j, part.warnings(j), nil
		}
		pool, err := s.store.Pool(ctx, j.Pool)
		if err != nil {
			return Job{}, nil, err
		}
		if pool.State == PoolDeleted {
			return Job{}, nil, pool.deleted()
		}
		to, warnings, pieces, err := part.read(j, pool.Config.FoldCase)
		if err != nil {
			return Job{}, nil, err
		}
		if err := s.putPieces(ctx, part, j.ID, pieces); err != nil {
			return Job{}, nil, err
		}
		to.Updated = s.second()
		switch j, err = s.changeJob(ctx, j, to); {
		case err == nil:
			return j, warnings, nil
		case !Is(err, CodeVersionMismatch):
			return Job{}, nil, err
		}
		if j, err = s.store.Job(ctx, id); err != nil {
			return Job{}, nil, err
		}
	}
	return Job{}, nil, Errorf(CodeBusy, "the job is changed all the time; repeat the request").After(retrySoon)
}

// receivedPart is part n of a file as it came.
type receivedPart struct {
	n      int
	data   []byte
	digest string
}

// check says whether the job has the part already, and refuses what it cannot take.
func (p receivedPart) check(j Job) (there bool, err error) {
	have := len(j.Inputs)
	switch {
	case p.n < 0 || p.n >= MaxJobInputs:
		return false, Errorf(CodeInvalidRequest, "the parts of a file are numbered from 0 to %d", MaxJobInputs-1)
	case p.n < have && j.Inputs[p.n].Digest == p.digest:
		return true, nil
	case j.State.Ended():
		return false, Errorf(CodeJobEnded, "the job has ended, it is %s; open a new one for another file", j.State)
	case p.n < have:
		return false, Errorf(CodeInvalidRequest, "part %d was received with other bytes, and stays as it is; the next one is part %d. For another file open a new job", p.n, have)
	case j.State != JobReceiving:
		return false, Errorf(CodeInvalidRequest, "the job was started with %s and takes no more; open a new one for the rest", several(have, "part", "parts"))
	case p.n > have:
		return false, Errorf(CodeInvalidRequest, "parts come in their order, and part %d is the next one", have)
	}
	return false, nil
}

// read returns the job as it is with the part, and its pieces.
func (p receivedPart) read(j Job, fold bool) (to Job, warnings []string, pieces [][]byte, err error) {
	file, err := goOn(j)
	if err != nil {
		return j, nil, nil, err
	}
	before := file.lines
	c := cutter{fold: fold}
	if warnings, err = file.read(p.data, c.add); err != nil {
		return j, nil, nil, err
	}
	to = j
	to.Column, to.Mark = file.column, file.mark()
	to.Total += c.count
	in := JobInput{Digest: p.digest, Pieces: len(c.pieces), Entries: c.count, Lines: file.lines - before}
	to.Inputs = append(slices.Clone(j.Inputs), in)
	return to, warnings, c.pieces, nil
}

// warnings are those of a part that the job has: of the first, which is read as it was when it came.
func (p receivedPart) warnings(j Job) []string {
	if p.n > 0 {
		return nil
	}
	warnings, err := beginSeedFile(j.Input).read(p.data, func(SeedEntry) {})
	if err != nil {
		return nil
	}
	return warnings
}

// putPieces keeps the pieces of a part. Whatever of them was kept before, by a try that was cut off, is the same.
func (s *Service) putPieces(ctx context.Context, p receivedPart, id JobID, pieces [][]byte) error {
	var all sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, putsAtOnce)
	for w := range errs {
		all.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(pieces) {
					return
				}
				_, errs[w] = withoutPanic(func() (struct{}, error) {
					return struct{}{}, s.store.PutInput(ctx, id, inputName(p.n, p.digest, i), pieces[i])
				})
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// StartJob says that the job's file has so many parts, and all are there. A repeat is a success. CodeInvalidRequest where
// they are not, or have no entry; CodeJobEnded where it was cancelled before; what CheckSeed says. Needs what NeedToChange says.
func (s *Service) StartJob(ctx context.Context, id JobID, parts int) (j Job, err error) {
	if j, err = s.findJob(ctx, id); err != nil {
		return Job{}, err
	}
	need, err := s.needToChange(ctx, j)
	if err != nil {
		return Job{}, err
	}
	found := j
	st := step{need: need, on: aPool, name: string(j.Pool), verb: "start-" + string(j.Kind), detail: func() string {
		if j.ID == "" { // it was refused
			j = found
		}
		return fmt.Sprintf("job %s, %s said, %d there with %s, %s", id, several(parts, "part", "parts"), len(j.Inputs), several(j.Total, "entry", "entries"), j.digests())
	}}
	err = s.administer(ctx, st, func() (err error) {
		if j, err = s.start(ctx, j, parts); err == nil && j.State == JobQueued {
			s.tell(ctx, j)
		}
		return err
	})
	if err != nil {
		return Job{}, err
	}
	return j, nil
}

func (s *Service) start(ctx context.Context, j Job, parts int) (Job, error) {
	if err := j.seeding(); err != nil {
		return Job{}, err
	}
	for range changeTries {
		switch have := len(j.Inputs); {
		case j.State == JobCancelled:
			return Job{}, Errorf(CodeJobEnded, "the job was cancelled; open a new one")
		case parts != have:
			return Job{}, Errorf(CodeInvalidRequest, "the job has received %s, and not %d; send those that are missing, or say how many there are", several(have, "part", "parts"), parts)
		case j.State != JobReceiving:
			return j, nil
		case j.Total == 0:
			return Job{}, Errorf(CodeInvalidRequest, "there are no IDs in the file; cancel the job, or send at least one")
		}
		pool, err := s.store.Pool(ctx, j.Pool)
		if err != nil {
			return Job{}, err
		}
		if err := pool.CheckSeed(); err != nil {
			return Job{}, err
		}
		to := j
		to.State, to.Mark, to.Updated = JobQueued, "", s.second()
		to = to.noting(to.Updated, "all of its file is there: %s in %s", several(to.Total, "entry", "entries"), several(parts, "part", "parts"))
		started, err := s.changeJob(ctx, j, to)
		if !Is(err, CodeVersionMismatch) {
			return started, err
		}
		if j, err = s.store.Job(ctx, j.ID); err != nil {
			return Job{}, err
		}
	}
	return Job{}, Errorf(CodeBusy, "the job is changed all the time; repeat the request").After(retrySoon)
}
