package alloc

import (
	"context"
	"strconv"

	"idpool/alloc/generator"
)

// previewed is how many examples a preview has.
const previewed = 5

// PreviewGenerator checks a configuration as a whole, and shows what its generator would make. CodeInvalidConfig with the
// arithmetic where it cannot work or would be unwise. Needs ActionManage on the pool's name, and for a generator of a sequence
// ActionLease on that, as CreatePool does.
func (s *Service) PreviewGenerator(ctx context.Context, r PreviewRequest) (Preview, error) {
	if _, err := s.admit(ctx, ActionManage, string(r.Pool)); err != nil {
		return Preview{}, err
	}
	c := r.Config.WithDefaults()
	g := c.Generator
	if g.IsZero() {
		return Preview{}, Errorf(CodeInvalidConfig, "there is no generator to preview; give one")
	}
	if err := c.Check(); err != nil {
		return Preview{}, err
	}
	if err := s.checkSource(ctx, r.Pool, 0, c); err != nil {
		return Preview{}, err
	}
	_, target := c.atRest()
	p := Preview{Target: target, Bits: g.Bits(), Collision: g.Collision(int64(target)), Guesses: g.Guesses(int64(target))}
	var err error
	p.Examples, p.Space, err = s.examples(ctx, g)
	return p, err
}

// examples are what the generator makes, or would make next of the sequence's numbers: as many as are left and fit. space is
// Preview.Space.
func (s *Service) examples(ctx context.Context, g generator.Config) (made []string, space string, err error) {
	now := s.now()
	if g.Kind != generator.Sequence {
		made, err := g.Generate(previewed, now)
		if err != nil {
			return nil, "", badGenerator(err)
		}
		if n := g.Space(); n != nil {
			space = n.String()
		}
		return made, space, nil
	}
	q, err := s.numbersAhead(ctx, g)
	if err != nil {
		return nil, "", err
	}
	room := q.roomIn(g)
	for i := range uint64(min(previewed, room)) {
		text, err := g.Number(uint64(q.Next)+i, now)
		if err != nil {
			return nil, "", badGenerator(err)
		}
		made = append(made, text)
	}
	return made, strconv.FormatInt(int64(room), 10), nil
}
