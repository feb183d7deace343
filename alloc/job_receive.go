package alloc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"sync/atomic"
)

// putsAtOnce is how many pieces of a part are put at the same time.
const putsAtOnce = 8

// intake is how a job reads a file that comes in parts.
type intake struct {
	// read returns the job as it is with its next part, what is worth a look in that, and its pieces. The same part gives the same ones.
	read func(s *Service, ctx context.Context, j Job, p receivedPart) (to Job, warnings []string, pieces [][]byte, err error)

	// again is what was worth a look in a part that the job has.
	again func(j Job, p receivedPart) []string

	// ready refuses to start the job with a whole file, as what it is about stands now. It makes of the file's reading nothing new.
	ready func(s *Service, ctx context.Context, j Job) error

	nothing string // why a file without an entry is refused; "" where it is not
}

// file is how the job reads its file; it refuses a job that takes none.
func (j Job) file() (*intake, error) {
	kind := kindOf(j.Kind)
	if kind.takes != nil {
		if file := kind.takes(j); file != nil {
			return file, nil
		}
	}
	return nil, Errorf(CodeInvalidRequest, "the job is %s that takes no file", kind.what)
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
	if _, err := s.permit(ctx, need, j.covered()); err != nil {
		return Job{}, nil, err
	}
	file, err := j.file()
	if err != nil {
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
			return j, file.again(j, part), nil
		}
		to, warnings, pieces, err := file.read(s, ctx, j, part)
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
