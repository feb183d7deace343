package alloc

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// piece reads piece k of all that the job has received.
func (s *Service) piece(ctx context.Context, j Job, k int) ([]byte, error) {
	name, ok := j.pieceName(k)
	if !ok {
		return nil, Errorf(CodeInternal, "the job has no piece %d", k)
	}
	data, err := s.store.Input(ctx, cmp.Or(j.Spec.File, j.ID), name)
	if Is(err, CodeJobNotFound) && !j.expired(s.now()) {
		return nil, Errorf(CodeInternal, "a piece of the file is missing").Because(err)
	}
	return data, err
}

// putResult puts the part, if there is something in it, and returns the one that stands and how many there are then: of several tries of
// one step, which same knows, the first part stands. One of another step that stands there is of a step before: of a try that came so late that the job had
// gone on without it, as others had met nothing to put. It stays, and counts for nothing.
func (s *Service) putResult(ctx context.Context, j Job, p Part, same func(stands Part) bool) (stands Part, parts int, err error) {
	if p.IDs == 0 {
		return p, j.Parts, nil
	}
	for n := j.Parts; ; n++ {
		if err := s.store.PutPart(ctx, j.ID, n, p); err != nil {
			return Part{}, 0, err
		}
		if stands, err = s.store.Part(ctx, j.ID, n); err != nil {
			return Part{}, 0, err
		}
		if same(stands) {
			return stands, n + 1, nil
		}
	}
}

// passage is what the step of a job leads from and to, where two tries of it may not come to the same mark. It is kept as the mark of
// the step's part: with the part that stands goes the mark that stands, and what else the step has found.
type passage struct {
	from, to string
	done     Count  // that the step has looked at
	note     string // what else it has found
}

func (p passage) String() string {
	return fmt.Sprintf("%q%q%d %s", p.from, p.note, p.done, p.to)
}

// readPassage reads what String has written.
func readPassage(text string) (p passage, ok bool) {
	for _, field := range []*string{&p.from, &p.note} {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return passage{}, false
		}
		text = strings.TrimPrefix(text, quoted)
		if *field, err = strconv.Unquote(quoted); err != nil {
			return passage{}, false
		}
	}
	done, to, ok := strings.Cut(text, " ")
	n, err := strconv.ParseInt(done, 10, 64)
	p.done, p.to = Count(n), to
	return p, ok && err == nil
}

// putPassage is putResult for such a step, of which the part tells all but its passage. It returns the passage that stands as well.
func (s *Service) putPassage(ctx context.Context, j Job, p Part, way passage) (stands Part, stood passage, parts int, err error) {
	p.Next = way.String()
	stood = way
	stands, parts, err = s.putResult(ctx, j, p, func(stands Part) bool {
		found, ok := readPassage(stands.Next)
		if ok = ok && found.from == way.from; ok {
			stood = found
		}
		return ok
	})
	return stands, stood, parts, err
}
