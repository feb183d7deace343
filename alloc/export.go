package alloc

import "context"

// An export goes on in steps, as a log does. Each reads some of the pool's IDs from the job's mark on, puts them as a part of the
// result, and moves the mark. Of a part's number the first one stands, whoever put it, and the mark that it was put with
// is where the next step begins: so a step may be repeated, done by several at once, or cut off anywhere, and no ID is in
// two parts.
const (
	partIDs   = 1000 // that a step tries to put into a part; fewer where they would be too long for one
	walkPages = 10   // that a step reads at most, where few IDs are in the state
)

// writer reads what is to be written from the job's mark on, about limit of it, and encodes it; without data where there is nothing up to
// next.
type writer func(ctx context.Context, j Job, limit int) (data []byte, n Count, next string, err error)

// exportStep writes the next part.
func (s *Service) exportStep(ctx context.Context, j Job) (doneStep, error) {
	return s.writeStep(ctx, j, s.exportIDs)
}

// writeStep writes the next part of what write gives.
func (s *Service) writeStep(ctx context.Context, j Job, write writer) (doneStep, error) {
	p, err := s.nextPart(ctx, j, write)
	if err != nil {
		return doneStep{}, err
	}
	to := j
	to.Mark = p.Next
	if len(p.Data) > 0 {
		to.Parts++
		to.Done += p.IDs
	}
	if p.Next == "" {
		to.Parts = max(to.Parts, 1) // of a file without IDs, the head at least can be fetched
	}
	return doneStep{to, p.Next == ""}, nil
}

// nextPart makes the job's next part, and returns the one that stands; without data where there is none up to its Next.
func (s *Service) nextPart(ctx context.Context, j Job, write writer) (Part, error) {
	p, err := encodePart(ctx, j, write)
	if err != nil || len(p.Data) == 0 {
		return p, err
	}
	if err := s.store.PutPart(ctx, j.ID, j.Parts, p); err != nil {
		return Part{}, err
	}
	return s.store.Part(ctx, j.ID, j.Parts)
}

// encodePart makes a part of as much as it can hold.
func encodePart(ctx context.Context, j Job, write writer) (Part, error) {
	for limit := partIDs; limit > 0; limit /= 2 {
		data, n, next, err := write(ctx, j, limit)
		if err != nil {
			return Part{}, err
		}
		if len(data) <= MaxPartBytes {
			return Part{Data: data, IDs: n, Next: next}, nil
		}
	}
	return Part{}, Errorf(CodeInvalidRequest, "one entry with all that is known of it is too long for a part of %d bytes", MaxPartBytes)
}

// exportIDs encodes IDs in the job's format.
func (s *Service) exportIDs(ctx context.Context, j Job, limit int) (data []byte, n Count, next string, err error) {
	ids, next, err := s.walk(ctx, j, limit)
	if err != nil || len(ids) == 0 {
		return nil, 0, next, err
	}
	data, err = withoutPanic(func() ([]byte, error) { return s.encoders[j.Format](ids) })
	if err != nil {
		return nil, 0, "", Errorf(CodeInvalidRequest, "some IDs of the pool cannot be written as %s; try another format", j.Format).Because(err)
	}
	return data, Count(len(ids)), next, nil
}

// walk reads IDs from the job's mark on, about limit of them, without their tokens: whoever has one owns the ID.
func (s *Service) walk(ctx context.Context, j Job, limit int) (ids []IDRecord, next string, err error) {
	next = j.Mark
	for range walkPages {
		var page []IDRecord
		if page, next, err = s.store.WalkIDs(ctx, j.Pool, j.Of, next, limit-len(ids)); err != nil {
			return nil, "", err
		}
		for _, id := range page {
			id.Token = ""
			ids = append(ids, id)
		}
		if next == "" || 2*len(ids) >= limit {
			break
		}
	}
	return ids, next, nil
}
