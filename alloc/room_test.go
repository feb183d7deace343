package alloc_test

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
	"idpool/infra/metrics"
)

// use takes IDs of the pool each minute for three hours, between runs.
func (p *plant) use(aMinute alloc.Count) alloc.TendReport {
	for range 180 {
		p.run()
		p.claim(aMinute)
		p.clock.Advance(time.Minute)
	}
	return p.run()
}

// The end of what a generator can make is seen coming as that of a pool which nothing fills.
func TestTheEndOfWhatAGeneratorMakesIsSeenComing(t *testing.T) {
	format := func(f string) func(*generator.Config) {
		return func(g *generator.Config) { g.Format = f }
	}
	summer := time.Date(2037, time.June, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		what   string
		begins time.Time
		g      generator.Config
		change func(*generator.Config)
		limit  alloc.Number
		hours  float64 // of the 900 IDs that are used in three hours, and those that are left
	}{
		{"a format with room for a thousand numbers", summer, yearly, format("inv-{yyyy}-{n:3}"), 0, 99. / 300},
		{"one without a period", summer, plain, format("inv-{n:3}"), 0, 99. / 300},
		{"one that goes on with more digits", summer, plain, func(g *generator.Config) { g.Format, g.Overflow = "inv-{n:3}", generator.OverflowGrow }, 0, metrics.RunwayCap},
		{"a limit of a thousand", summer, yearly, format("inv-{yyyy}-{n}"), 1000, 80. / 300}, // that is the counter's: 20 of its last 100 numbers are in the pool
		{"a format whose period ends before", time.Date(2037, time.December, 31, 20, 50, 0, 0, time.UTC), yearly, format("inv-{yyyy}-{n:3}"), 0, metrics.RunwayCap},
		{"a space of a thousand", summer, digits(3), nil, 0, 100. / 300},
		{"a large space", summer, digits(12), nil, 0, metrics.RunwayCap},
		{"what has no end", summer, uuids, nil, 0, metrics.RunwayCap},
	} {
		g := c.g
		if c.change != nil {
			c.change(&g)
		}
		p := newPlant(t, filled(10, 20, uuids))
		p.clock.Advance(c.begins.Sub(p.clock.Now()))
		if g.Sequence != "" {
			p.createSequence("invoices", alloc.SequenceConfig{Limit: c.limit})
		}
		p.change(filled(10, 20, g))
		r := p.use(5)
		if hours := metrics.Runway(r); hours < c.hours*0.9 || hours > c.hours*1.1 {
			t.Errorf("%s: the runway is %.2f hours, want about %.2f; the pool stands at %+v", c.what, hours, c.hours, r.Pools[0])
		}
	}
}
