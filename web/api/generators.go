package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// generatorBody is how a pool makes IDs. What is left out has its default, and is left out of answers too.
type generatorBody struct {
	Kind             generator.Kind      `json:"kind"`
	Alphabet         string              `json:"alphabet,omitzero"`
	Length           int                 `json:"length,omitzero"`
	Prefix           string              `json:"prefix,omitzero"`
	Group            int                 `json:"group,omitzero"`
	Separator        string              `json:"separator,omitzero"`
	Check            generator.CheckKind `json:"check,omitzero"`
	WithoutAmbiguous bool                `json:"without_ambiguous,omitzero"`
	Block            []string            `json:"block,omitempty"`
	Sequence         string              `json:"sequence,omitzero"`
	Format           string              `json:"format,omitzero"`
	Overflow         generator.Overflow  `json:"overflow,omitzero"`
	TimeZone         string              `json:"time_zone,omitzero"`
}

func (b *generatorBody) fields() []field {
	return []field{
		text("generator.kind", &b.Kind), text("generator.alphabet", &b.Alphabet), whole("generator.length", &b.Length), text("generator.prefix", &b.Prefix),
		whole("generator.group", &b.Group), text("generator.separator", &b.Separator), text("generator.check", &b.Check),
		flag("generator.without_ambiguous", &b.WithoutAmbiguous), words("generator.block", &b.Block),
		text("generator.sequence", &b.Sequence), text("generator.format", &b.Format), text("generator.overflow", &b.Overflow), text("generator.time_zone", &b.TimeZone),
	}
}

// words reads a list of words without spaces, which the domain has as one text with spaces between.
func words(name string, to *[]string) field {
	read := texts(name, to).read
	return field{name, func(value []byte) error {
		if err := read(value); err != nil {
			return err
		}
		for i, word := range *to {
			if fields := strings.Fields(word); len(fields) != 1 || fields[0] != word {
				return alloc.Errorf(alloc.CodeInvalidConfig, "%s[%d] must be one word without spaces", name, i)
			}
		}
		return nil
	}}
}

// generatorOf reads a generator that has to say what kind it is: the zero value would be none.
func generatorOf(to **generatorBody) field {
	read := object("generator", to).read
	return field{"generator", func(value []byte) error {
		if err := read(value); err != nil {
			return err
		}
		if *to != nil && (*to).Kind == "" {
			return alloc.Errorf(alloc.CodeInvalidConfig, "generator.kind must be %s, %s, %s or %s; for no generator leave generator out, or send null",
				generator.Random, generator.Sequence, generator.UUIDv7, generator.ULID)
		}
		return nil
	}}
}

func newGeneratorBody(c generator.Config) *generatorBody {
	if c == (generator.Config{}) {
		return nil
	}
	return &generatorBody{
		Kind: c.Kind, Alphabet: c.Alphabet, Length: c.Length, Prefix: c.Prefix, Group: c.Group, Separator: c.Separator, Check: c.CheckChar,
		WithoutAmbiguous: c.WithoutAmbiguous, Block: strings.Fields(c.Block), Sequence: c.Sequence, Format: c.Format, Overflow: c.Overflow, TimeZone: c.TimeZone,
	}
}

func (b *generatorBody) config() generator.Config {
	if b == nil {
		return generator.Config{}
	}
	return generator.Config{
		Kind: b.Kind, Alphabet: b.Alphabet, Length: b.Length, Prefix: b.Prefix, Group: b.Group, Separator: b.Separator, CheckChar: b.Check,
		WithoutAmbiguous: b.WithoutAmbiguous, Block: strings.Join(b.Block, " "), Sequence: b.Sequence, Format: b.Format, Overflow: b.Overflow, TimeZone: b.TimeZone,
	}
}

// marksBody is between which levels a pool is kept.
type marksBody struct {
	Low         alloc.Count `json:"low,omitzero"`
	Target      alloc.Count `json:"target,omitzero"`
	LowHours    int         `json:"low_hours,omitzero"`
	TargetHours int         `json:"target_hours,omitzero"`
}

func (b *marksBody) fields() []field {
	return []field{
		whole("refill.low", &b.Low), whole("refill.target", &b.Target), whole("refill.low_hours", &b.LowHours), whole("refill.target_hours", &b.TargetHours),
	}
}

func newMarksBody(m alloc.Marks) *marksBody {
	if m == (alloc.Marks{}) {
		return nil
	}
	return &marksBody{m.Low, m.Target, m.LowHours, m.TargetHours}
}

func (b *marksBody) marks() alloc.Marks {
	if b == nil {
		return alloc.Marks{}
	}
	return alloc.Marks{Low: b.Low, Target: b.Target, LowHours: b.LowHours, TargetHours: b.TargetHours}
}

type previewAnswer struct {
	Examples  []string    `json:"examples"`
	Space     string      `json:"space,omitzero"` // digits; it may be far above 2^53
	Bits      float64     `json:"bits"`
	Target    alloc.Count `json:"target"`
	Collision *float64    `json:"collision,omitempty"` // of random, as guesses
	Guesses   *float64    `json:"guesses,omitempty"`
}

// preview shows what a configuration's generator would make. Nothing is taken or kept.
func (a api) preview(ctx context.Context, q request, c poolConfig) (answer, error) {
	p, err := a.svc.PreviewGenerator(ctx, alloc.PreviewRequest{Pool: q.pool(), Config: c.config()})
	if err != nil {
		return answer{}, err
	}
	body := previewAnswer{Examples: append([]string{}, p.Examples...), Space: p.Space, Bits: p.Bits, Target: p.Target}
	if c.Generator.config().Kind == generator.Random {
		body.Collision, body.Guesses = &p.Collision, &p.Guesses
	}
	return answer{status: http.StatusOK, body: body}, nil
}

// The columns of a list of pools that say how they are filled.
var fillColumns = []column[poolAnswer]{
	configColumn("generator", func(c poolConfig) string { return string(c.Generator.config().Kind) }),
	markColumn("low", func(m alloc.Marks) int64 { return int64(m.Low) }),
	markColumn("target", func(m alloc.Marks) int64 { return int64(m.Target) }),
	markColumn("low_hours", func(m alloc.Marks) int64 { return int64(m.LowHours) }),
	markColumn("target_hours", func(m alloc.Marks) int64 { return int64(m.TargetHours) }),
}

// markColumn is empty where the mark is none.
func markColumn(name string, value func(alloc.Marks) int64) column[poolAnswer] {
	return configColumn(name, func(c poolConfig) string {
		if n := value(c.Refill.marks()); n != 0 {
			return strconv.FormatInt(n, 10)
		}
		return ""
	})
}
