package alloc

import (
	"math/big"
	"sync"
	"time"

	"idpool/alloc/generator"
)

// spaces keeps the spaces of the generators of kind random that pools have: to count one with blocked words takes a while.
var spaces sync.Map

// spaceOf is the generator's Space.
func spaceOf(g generator.Config) *big.Int {
	if space, ok := spaces.Load(g); ok {
		return space.(*big.Int)
	}
	space := g.Space()
	if g.Kind == generator.Random {
		spaces.Store(g, space)
	}
	return space
}

// room is how many more IDs a pool's generator can make, of numbers in the period of the time. ok is false where there is no
// end, or none can be told: of one of kind random where more IDs are in the pool than it can make.
func (t *tending) room(g generator.Config, at time.Time, level Level) (room Count, ok bool) {
	switch g.Kind {
	case generator.Random:
		l := level // what was added since the last sweep may be missing in Seeded, but is there
		made := max(l.Seeded, l.Available+l.Held+l.Claimed+l.Returning+l.Retired)
		left := new(big.Int).Sub(spaceOf(g), big.NewInt(int64(made)))
		return Count(left.Int64()), left.Sign() >= 0 && left.IsInt64()
	case generator.Sequence:
		q, ok := t.counterOf(g, at)
		if !ok {
			return 0, false
		}
		return q.roomIn(g), true
	}
	return 0, false
}

// roomIn is how many of the numbers that are left fit the generator's format.
func (s Sequence) roomIn(g generator.Config) Count {
	room := s.Remaining()
	if fits := new(big.Int).Sub(g.Space(), new(big.Int).SetUint64(uint64(s.Next))); fits.IsInt64() {
		room = max(0, min(room, Count(fits.Int64())))
	}
	return room
}

// counterOf is the counter of the period of the time, as of when the run listed the sequences; ok is false where that gives no numbers.
func (t *tending) counterOf(g generator.Config, at time.Time) (q Sequence, ok bool) {
	base, ok := t.sequences[SequenceName(g.Sequence)]
	name := periodOf(g, at)
	if !ok || name == base.Name {
		return base, ok
	}
	period, made := t.sequences[name]
	return base.inPeriod(period, made), !made || period.Config.PeriodOf == base.Name
}

// supply is the forecast of what is free in the pool together with what its generator can still make. Nothing is known
// where that has no end: also where it comes after the period, as numbers begin anew then.
func (t *tending) supply(p *tended) (room Count, f Forecast) {
	g := p.pool.Config.Generator
	room, ok := t.room(g, p.seen.at, p.seen.level)
	if !ok {
		return 0, Forecast{}
	}
	if g.Kind == generator.Sequence && p.fill != nil {
		room = max(0, room-p.fill.report.Added) // since the sequences were listed
	}
	f = forecastOf(p.seen.at, p.seen.level.Available+room, p.seen.burns)
	if periodOf(g, f.Earliest) != periodOf(g, f.At) && !f.Earliest.IsZero() {
		return room, Forecast{}
	}
	return room, f
}
