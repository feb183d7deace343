package alloc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"idpool/alloc/generator"
)

// checkFilling refuses a generator that cannot work in the pool or would be unwise, and marks that contradict each other
// or the generator.
func (c PoolConfig) checkFilling() error {
	if err := c.Marks.check(); err != nil {
		return err
	}
	g := c.Generator
	if g.IsZero() {
		return nil
	}
	if err := g.Check(); err != nil {
		return Errorf(CodeInvalidConfig, "generator: %s", err)
	}
	if c.FoldCase {
		if err := g.FoldedOK(); err != nil {
			return Errorf(CodeInvalidConfig, "generator: %s", err)
		}
	}
	if c.Policy == PolicyForget && g.Kind == generator.Random {
		return Errorf(CodeInvalidConfig, "a pool that forgets cannot have a generator of kind %s, which may make an ID again that was handed out and forgotten: use %s, %s or %s, or policy %s",
			generator.Random, generator.Sequence, generator.UUIDv7, generator.ULID, PolicyKeep)
	}
	if err := checkMade(g); err != nil {
		return err
	}
	return c.checkMarks()
}

// checkMade refuses a generator whose IDs no pool would take, and one of a sequence whose periods' counters would have no
// allowed names.
func checkMade(g generator.Config) error {
	at := time.Date(2026, time.December, 31, 0, 0, 0, 0, time.UTC)
	example := g.Prefix + "0"
	if g.Kind == generator.Sequence {
		if err := CheckName(g.Sequence); err != nil {
			return Errorf(CodeInvalidConfig, "generator: %s", asError(err).Message)
		}
		if name := periodOf(g, at); len(name) > MaxNameBytes {
			return Errorf(CodeInvalidConfig, "generator: the counter of a period, such as %s, would have a longer name than the %d bytes allowed; use a sequence with a shorter name", name, MaxNameBytes)
		}
		var err error
		if example, err = g.Number(0, at); err != nil {
			return Errorf(CodeInvalidConfig, "generator: %s", err)
		}
	}
	if why := idFault(example); why != "" {
		return Errorf(CodeInvalidConfig, "generator: it would make IDs like %s, which are not allowed: %s", quoteShort(example), why)
	}
	return nil
}

// fillingWords says in words what fills the pool and between which levels it is kept; "" for nothing.
func (c PoolConfig) fillingWords() (words string) {
	if !c.Generator.IsZero() {
		words = ", generator " + generatorWords(c.Generator)
	}
	if marks := c.Marks.words(); marks != "" {
		words += ", " + marks
	}
	return words
}

// generatorWords says in words what the generator is. The block list is counted only: it may be longer than a record.
func generatorWords(g generator.Config) string {
	words := []string{string(g.Kind)}
	text := func(name, value string) {
		if value != "" {
			words = append(words, fmt.Sprintf("%s %q", name, value))
		}
	}
	number := func(name string, n int) {
		if n != 0 {
			words = append(words, fmt.Sprintf("%s %d", name, n))
		}
	}
	text("prefix", g.Prefix)
	text("alphabet", g.Alphabet)
	number("length", g.Length)
	number("group", g.Group)
	text("separator", g.Separator)
	text("check", string(g.CheckChar))
	if g.WithoutAmbiguous {
		words = append(words, "without_ambiguous")
	}
	number("words blocked", len(strings.Fields(g.Block)))
	text("sequence", g.Sequence)
	text("format", g.Format)
	text("overflow", string(g.Overflow))
	text("time_zone", g.TimeZone)
	return strings.Join(words, " ")
}

// checkSource refuses to save a generator of a sequence for a caller who may not take numbers of that, and one of a sequence that is not
// there or not active, whose present period another sequence has the name of, or which has fewer numbers left than the target. A generator that the pool has already
// may stay; but whoever raises its marks takes more numbers, and has to be allowed to. What is in the pool is the
// configuration at version from or a later one, else the Store refuses the change.
//
// Who may lease of the sequence has its generators take numbers in each of its periods. To lease of a period's counter himself,
// he needs the scope for that.
func (s *Service) checkSource(ctx context.Context, name PoolName, from Version, c PoolConfig) error {
	g := c.Generator
	if g.Kind != generator.Sequence {
		return nil
	}
	p, err := s.store.Pool(ctx, name)
	switch {
	case Is(err, CodePoolDamaged):
		return nil // the Store says what becomes of the pool
	case err != nil && !Is(err, CodePoolNotFound):
		return err
	}
	stays := err == nil && p.Config.Generator == g
	if stays && p.Version >= from && !c.takesMoreThan(p.Config) {
		return nil
	}
	if _, err := s.permit(ctx, ActionLease, g.Sequence); err != nil || stays {
		return err
	}
	q, err := s.numbersAhead(ctx, g)
	if err != nil {
		return err
	}
	if _, target := c.atRest(); target > q.roomIn(g) {
		return Errorf(CodeInvalidConfig, "generator: the target is %d IDs, but there are only %d numbers left that the sequence %q has up to its limit of %d and format %q has room for, from %d on; make the target smaller, raise the limit or give {n} more places",
			target, q.roomIn(g), q.Name, q.Config.Limit, g.Format, q.Next)
	}
	return nil
}

// numbersAhead is the counter of which the generator takes numbers in the present period. CodeInvalidConfig where that has none for it.
func (s *Service) numbersAhead(ctx context.Context, g generator.Config) (Sequence, error) {
	base, refusal, err := s.usable(ctx, SequenceName(g.Sequence))
	q, name := base, periodOf(g, s.now())
	if err == nil && refusal == nil && name != base.Name {
		q, refusal, err = s.periodCounter(ctx, base.Name, name)
		made := refusal == nil || refusal.Code != CodeSequenceNotFound
		if !made {
			refusal = nil
		}
		q = base.inPeriod(q, made)
	}
	switch {
	case err != nil:
		return Sequence{}, err
	case refusal != nil:
	case q.Remaining() == 0:
		return Sequence{}, Errorf(CodeInvalidConfig, "generator: no number is left in the sequence %q; raise its limit or use another", name)
	case q.roomIn(g) == 0:
		refusal = overflows(g, nil)
	}
	if refusal != nil {
		return Sequence{}, Errorf(CodeInvalidConfig, "generator: %s", refusal.Message)
	}
	return q, nil
}

// takesMoreThan reports whether more may be made for a pool with these marks than with those of the other configuration.
func (c PoolConfig) takesMoreThan(was PoolConfig) bool {
	low, target := c.atRest()
	wasLow, wasTarget := was.atRest()
	return low > wasLow || target > wasTarget || c.Marks.Low > was.Marks.Low || c.Marks.Target > was.Marks.Target ||
		c.Marks.LowHours > was.Marks.LowHours || c.Marks.TargetHours > was.Marks.TargetHours
}
