package alloc

import (
	"context"
	"time"

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
	if space := g.Space(); space != nil {
		p.Space = space.String()
	}
	var err error
	p.Examples, err = s.examples(ctx, g)
	return p, err
}

// examples are what the generator makes, or would make next of the sequence's numbers: as many as are left and fit.
func (s *Service) examples(ctx context.Context, g generator.Config) ([]string, error) {
	now := s.now()
	if g.Kind != generator.Sequence {
		made, err := g.Generate(previewed, now)
		if err != nil {
			return nil, badGenerator(err)
		}
		return made, nil
	}
	next, left, err := s.nextNumbers(ctx, g, now)
	if err != nil {
		return nil, err
	}
	if left == 0 {
		return nil, Errorf(CodeInvalidConfig, "generator: no number is left in the sequence %q; raise its limit or use another", periodOf(g, now))
	}
	n, refusal := fitting(g, next, now, min(previewed, left))
	if refusal != nil {
		return nil, Errorf(CodeInvalidConfig, "generator: %s", refusal.Message)
	}
	var made []string
	for i := range uint64(n) {
		text, err := g.Number(uint64(next)+i, now)
		if err != nil {
			return nil, badGenerator(err)
		}
		made = append(made, text)
	}
	return made, nil
}

// nextNumbers is where the numbers of the period go on, and how many are left.
func (s *Service) nextNumbers(ctx context.Context, g generator.Config, at time.Time) (next Number, left Count, err error) {
	q, err := s.store.Sequence(ctx, SequenceName(g.Sequence))
	if err != nil {
		return 0, 0, err
	}
	if name := periodOf(g, at); name != q.Name {
		period, err := s.store.Sequence(ctx, name)
		if err != nil && !Is(err, CodeSequenceNotFound) {
			return 0, 0, err
		}
		q = q.inPeriod(period, err == nil)
	}
	return q.Next, q.Remaining(), nil
}
