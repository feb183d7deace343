package alloc_test

import (
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/generator"
)

func TestWhatAPoolMayBeFilledWith(t *testing.T) {
	marks := alloc.Marks{Low: 10, Target: 20}
	long := strings.Repeat("s", 124)
	for _, c := range []struct {
		what   string
		config alloc.PoolConfig
		says   string // "" where it is allowed
	}{
		{"a low mark alone", alloc.PoolConfig{Marks: alloc.Marks{Low: 10}}, ""},
		{"a low mark in hours alone", alloc.PoolConfig{Marks: alloc.Marks{LowHours: 24}}, ""},
		{"a generator with marks", alloc.PoolConfig{Generator: random, Marks: marks}, ""},
		{"a generator with marks in hours", alloc.PoolConfig{Generator: random, Marks: alloc.Marks{LowHours: 12, TargetHours: 48}}, ""},
		{"marks of two kinds", alloc.PoolConfig{Generator: random, Marks: alloc.Marks{Low: 12, TargetHours: 48}}, ""},
		{"a generator without a target", alloc.PoolConfig{Generator: random, Marks: alloc.Marks{Low: 10}}, "needs a target"},
		{"a generator without a low mark", alloc.PoolConfig{Generator: random, Marks: alloc.Marks{Target: 10}}, "needs a low mark"},
		{"a target at low", alloc.PoolConfig{Generator: random, Marks: alloc.Marks{Low: 10, Target: 10}}, "above low"},
		{"target hours at low hours", alloc.PoolConfig{Generator: random, Marks: alloc.Marks{LowHours: 5, TargetHours: 5}}, "above low_hours"},
		{"a low mark below 0", alloc.PoolConfig{Marks: alloc.Marks{Low: -1}}, "low must be"},
		{"a target above all", alloc.PoolConfig{Marks: alloc.Marks{Target: alloc.MaxTarget + 1}}, "target must be"},
		{"hours below 0", alloc.PoolConfig{Marks: alloc.Marks{LowHours: -1}}, "low_hours must be"},
		{"hours above a year", alloc.PoolConfig{Marks: alloc.Marks{TargetHours: alloc.MaxRunwayHours + 1}}, "target_hours must be"},
		{"C36 a target above the space", alloc.PoolConfig{Generator: digits(1), Marks: marks}, "there can be only 10"},
		{"C36 a target of more than a tenth of the space", alloc.PoolConfig{Generator: digits(2), Marks: marks}, "somebody who guesses"},
		{"a target of a tenth of the space", alloc.PoolConfig{Generator: digits(2), Marks: alloc.Marks{Low: 1, Target: 10}}, ""},
		{"a low mark above the space, and a target in hours", alloc.PoolConfig{Generator: digits(2), Marks: alloc.Marks{Low: 11, TargetHours: 1}}, "the target is"},
		{"marks in hours, and no room for the largest claim", alloc.PoolConfig{Generator: digits(2), Marks: alloc.Marks{LowHours: 1, TargetHours: 2}}, "the target is 100"},
		{"a target above the format's numbers", alloc.PoolConfig{Generator: generator.Config{Kind: generator.Sequence, Sequence: "s", Format: "{n:1}"}, Marks: marks}, "has room for 10 numbers"},
		{"a generator that cannot work", alloc.PoolConfig{Generator: generator.Config{Kind: "magic"}, Marks: marks}, "kind must be"},
		{"upper case in a pool that folds it", alloc.PoolConfig{FoldCase: true, Generator: random, Marks: marks}, "lower case"},
		{"lower case in a pool that folds it", alloc.PoolConfig{FoldCase: true, Generator: uuids, Marks: marks}, ""},
		{"random IDs in a pool that forgets", alloc.PoolConfig{Policy: alloc.PolicyForget, Generator: random, Marks: marks}, "cannot have a generator of kind random"},
		{"others in a pool that forgets", alloc.PoolConfig{Policy: alloc.PolicyForget, Generator: plain, Marks: marks}, ""},
		{"a sequence's name that is none", alloc.PoolConfig{Generator: generator.Config{Kind: generator.Sequence, Sequence: "No", Format: "{n}"}, Marks: marks}, "is not allowed"},
		{"a long name without a period", alloc.PoolConfig{Generator: generator.Config{Kind: generator.Sequence, Sequence: long, Format: "{n}"}, Marks: marks}, ""},
		{"a long name with a period", alloc.PoolConfig{Generator: generator.Config{Kind: generator.Sequence, Sequence: long, Format: "{yyyy}-{n}"}, Marks: marks}, "longer name"},
	} {
		err := c.config.WithDefaults().Check()
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: got %v, want it allowed", c.what, err)
			}
			continue
		}
		if !alloc.Is(err, alloc.CodeInvalidConfig) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want it refused with %q", c.what, err, c.says)
		}
	}
}

// digits draws so many decimal digits.
func digits(n int) generator.Config {
	return generator.Config{Kind: generator.Random, Alphabet: "0123456789", Length: n}
}

func TestMarksAtTheRatesOfTheMoment(t *testing.T) {
	for _, c := range []struct {
		what        string
		g           generator.Config
		marks       alloc.Marks
		burns       []alloc.Burn
		low, target alloc.Count
	}{
		{"counts alone", random, alloc.Marks{Low: 10, Target: 20}, rates(1000, 5), 10, 20},
		{"the higher rate counts", random, alloc.Marks{LowHours: 2, TargetHours: 10}, rates(30, 50), 100, 500},
		{"the count where it is higher", random, alloc.Marks{Low: 200, LowHours: 2, Target: 300, TargetHours: 5}, rates(30, 50), 200, 300},
		{"the hours where they are higher", random, alloc.Marks{Low: 10, LowHours: 2, Target: 30, TargetHours: 5}, rates(30, 50), 100, 250},
		{"a new pool by hours", random, alloc.Marks{LowHours: 2, TargetHours: 5}, rates(-1, -1), 1, 100},
		{"a new pool by hours and a count", random, alloc.Marks{LowHours: 2, Target: 5}, rates(-1, -1), 1, 5},
		{"low in hours above the target", random, alloc.Marks{LowHours: 10, Target: 30}, rates(50, 0), 500, 500},
		{"part of an hour's use counts whole", random, alloc.Marks{LowHours: 1, TargetHours: 3}, rates(40.1, 0), 41, 121},
		{"no more than there may be", random, alloc.Marks{LowHours: 8000, TargetHours: 8760}, rates(1e9, 0), alloc.MaxTarget, alloc.MaxTarget},
		{"no more than the space allows", digits(4), alloc.Marks{LowHours: 1, TargetHours: 3}, rates(600, 0), 600, 1000},
		{"low above what the space allows", digits(4), alloc.Marks{LowHours: 2, TargetHours: 3}, rates(600, 0), 1200, 1000},
		{"without a generator", generator.Config{}, alloc.Marks{Low: 10, LowHours: 2}, rates(50, 0), 100, 0},
		{"without a generator and use", generator.Config{}, alloc.Marks{LowHours: 2}, rates(0, 0), 0, 0},
	} {
		config := alloc.PoolConfig{Generator: c.g, Marks: c.marks}.WithDefaults()
		if low, target := config.Levels(c.burns); low != c.low || target != c.target {
			t.Errorf("%s: got %d and %d, want %d and %d", c.what, low, target, c.low, c.target)
		}
	}
}

// The highest target is the one that the generator's own check still allows.
func TestTheHighestTarget(t *testing.T) {
	for _, g := range []generator.Config{
		digits(2), digits(5),
		{Kind: generator.Random, Alphabet: "abc", Length: 9, Block: "ab"},
		{Kind: generator.Sequence, Sequence: "s", Format: "{n:3}"},
	} {
		g = g.WithDefaults()
		most := alloc.MostOf(g)
		if err := g.CheckTarget(int64(most)); err != nil {
			t.Errorf("%+v: %d is refused: %v", g, most, err)
		}
		if g.CheckTarget(int64(most)+1) == nil {
			t.Errorf("%+v: %d is allowed", g, most+1)
		}
	}
	for _, g := range []generator.Config{uuids, {Kind: generator.ULID}, random, plain} {
		if most := alloc.MostOf(g.WithDefaults()); most < 100_000 {
			t.Errorf("%+v: at most %d", g, most)
		}
	}
}

func TestTheTrailTellsOfGeneratorAndMarks(t *testing.T) {
	g := generator.Config{Kind: generator.Random, Prefix: "V-", Length: 8, Group: 4, CheckChar: generator.CheckMod3736, Block: strings.Repeat("ab ", 150), WithoutAmbiguous: true}
	c := alloc.PoolConfig{Generator: g, Marks: alloc.Marks{Low: 1, Target: 2, LowHours: 3, TargetHours: 4}}.WithDefaults()
	words := c.Words()
	for _, want := range []string{
		`generator random prefix "V-"`, "length 8", "group 4", `separator "-"`, `check "mod37_36"`, "without_ambiguous", "words blocked 150",
		"low 1, target 2, low_hours 3, target_hours 4",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("%s\nis without %s", words, want)
		}
	}
	c.Generator = yearly.WithDefaults()
	if words := c.Words(); !strings.Contains(words, `generator sequence sequence "invoices" format "inv-{yyyy}-{n:6}" overflow "refuse" time_zone "UTC"`) {
		t.Errorf("got %s", words)
	}
	if words := (alloc.PoolConfig{}).WithDefaults().Words(); strings.Contains(words, "generator") || strings.Contains(words, "low") {
		t.Errorf("of a pool that nothing fills: %s", words)
	}
}

// Whoever may manage a pool but not lease of its generator's sequence lowers its marks, and does not raise them.
func TestMarksAreRaisedByWhoMayLease(t *testing.T) {
	config := filled(10, 20, plain)
	config.Marks.LowHours, config.Marks.TargetHours = 1, 2
	manager := alloc.Scope{Action: alloc.ActionManage, Pattern: string(pool)}
	for what, c := range map[string]struct {
		change func(*alloc.PoolConfig)
		more   bool
	}{
		"nothing":              {func(*alloc.PoolConfig) {}, false},
		"a description":        {func(c *alloc.PoolConfig) { c.Description = "bills" }, false},
		"lower marks":          {func(c *alloc.PoolConfig) { c.Marks = alloc.Marks{Low: 1, Target: 2} }, false},
		"a higher low mark":    {func(c *alloc.PoolConfig) { c.Marks.Low = 11 }, true},
		"a higher target":      {func(c *alloc.PoolConfig) { c.Marks.Target = 21 }, true},
		"more hours of low":    {func(c *alloc.PoolConfig) { c.Marks.Low, c.Marks.LowHours, c.Marks.TargetHours = 5, 2, 3 }, true},
		"more hours":           {func(c *alloc.PoolConfig) { c.Marks.TargetHours = 3 }, true},
		"a target by MaxBatch": {func(c *alloc.PoolConfig) { c.Marks.Target = 0 }, true},
	} {
		p := newPlant(t, config)
		must(t, p.model.SetSequenceState, alloc.SequenceName("invoices"), alloc.SequencePaused)
		to := config
		c.change(&to)
		_, err := p.ChangePool(as(t.Context(), "bob", manager), pool, 1, to)
		if (err != nil) != c.more || err != nil && !alloc.Is(err, alloc.CodeForbidden) {
			t.Errorf("%s: %v", what, err)
		}
		lease := alloc.Scope{Action: alloc.ActionLease, Pattern: "invoices"}
		if _, err := p.ChangePool(as(t.Context(), "eve", manager, lease), pool, 1, to); err != nil {
			t.Errorf("%s, by who may lease: %v", what, err)
		}
	}
}
