package alloc

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"idpool/alloc/generator"
)

// Bounds of what a pool is kept filled to.
const (
	MaxTarget      Count = 10_000_000
	MaxRunwayHours       = 24 * 365
)

// Marks says between which levels a pool is kept. Below low it is filled up to target, by its generator if it has one; where
// it has none, low is the level of which somebody is to be told. Hours count as so many IDs as are used in that time at the
// rate of the last hour or of the last day, whichever is higher. Where both are given, the higher one counts. The zero
// value of a field means none.
//
// With a generator a low mark and a target are both needed, each in IDs, in hours or in both. Low then counts as 1 at least, and a target in
// hours alone as the pool's MaxBatch at least: a pool of which nothing is known yet would never be filled else.
type Marks struct {
	Low         Count // 0 to MaxTarget
	Target      Count // above Low where there is a generator, to MaxTarget
	LowHours    int   // 0 to MaxRunwayHours
	TargetHours int   // above LowHours where that is given, to MaxRunwayHours
}

// check refuses marks out of their bounds.
func (m Marks) check() error {
	for name, n := range map[string]Count{"low": m.Low, "target": m.Target} {
		if n < 0 || n > MaxTarget {
			return Errorf(CodeInvalidConfig, "%s must be 0 to %d", name, MaxTarget)
		}
	}
	for name, h := range map[string]int{"low_hours": m.LowHours, "target_hours": m.TargetHours} {
		if h < 0 || h > MaxRunwayHours {
			return Errorf(CodeInvalidConfig, "%s must be 0 to %d", name, MaxRunwayHours)
		}
	}
	return nil
}

// checkMarks refuses marks by which the generator could not fill the pool, or would be unwise.
func (c PoolConfig) checkMarks() error {
	m := c.Marks
	switch {
	case m.Target == 0 && m.TargetHours == 0:
		return Errorf(CodeInvalidConfig, "a generator needs a target up to which it fills the pool: give target, target_hours or both")
	case m.Low == 0 && m.LowHours == 0:
		return Errorf(CodeInvalidConfig, "a generator needs a low mark below which it fills the pool: give low, low_hours or both")
	case m.Target > 0 && m.Target <= m.Low:
		return Errorf(CodeInvalidConfig, "target must be above low; they are %d and %d", m.Target, m.Low)
	case m.TargetHours > 0 && m.TargetHours <= m.LowHours:
		return Errorf(CodeInvalidConfig, "target_hours must be above low_hours; they are %d and %d", m.TargetHours, m.LowHours)
	}
	if _, target := c.atRest(); target > 0 {
		if err := c.Generator.CheckTarget(int64(target)); err != nil {
			return Errorf(CodeInvalidConfig, "generator: %s", err)
		}
	}
	return nil
}

// words says in words what the marks are; "" for none.
func (m Marks) words() string {
	var set []string
	add := func(name string, n int64) {
		if n != 0 {
			set = append(set, fmt.Sprintf("%s %d", name, n))
		}
	}
	add("low", int64(m.Low))
	add("target", int64(m.Target))
	add("low_hours", int64(m.LowHours))
	add("target_hours", int64(m.TargetHours))
	return strings.Join(set, ", ")
}

// atRest are the marks of a pool with a generator while nothing is used of it: the least that they are.
func (c PoolConfig) atRest() (low, target Count) {
	low, target = max(c.Marks.Low, 1), c.Marks.Target
	if target == 0 {
		target = c.MaxBatch
	}
	return low, max(target, low)
}

// levels are the pool's marks in IDs, at the rates of the moment. A low mark in hours may come out above the target, where
// use is faster than the generator's space or MaxTarget allow for: then it is told of, and filled up to the target.
func (c PoolConfig) levels(burns []Burn) (low, target Count) {
	rate := fastest(burns)
	low = max(c.Marks.Low, inHours(c.Marks.LowHours, rate))
	target = max(c.Marks.Target, inHours(c.Marks.TargetHours, rate))
	if c.Generator.IsZero() {
		return low, target
	}
	leastLow, leastTarget := c.atRest()
	low = max(low, leastLow)
	if target = max(target, low); target > leastTarget {
		return low, max(leastTarget, min(target, mostOf(c.Generator)))
	}
	return low, leastTarget
}

// inHours is how many IDs are used in so many hours, MaxTarget at most.
func inHours(hours int, rate float64) Count {
	return Count(math.Ceil(min(float64(hours)*rate, float64(MaxTarget))))
}

// shareOfSpace is how many times as many IDs as the target there are to be where they are drawn at random; see
// generator.Config.CheckTarget.
const shareOfSpace = 10

// mostOf is the highest target that generator.Config.CheckTarget allows.
func mostOf(g generator.Config) Count {
	space := spaceOf(g)
	if space == nil {
		return MaxTarget
	}
	if g.Kind == generator.Random {
		space = new(big.Int).Div(space, big.NewInt(shareOfSpace))
	}
	if !space.IsInt64() {
		return MaxTarget
	}
	return Count(space.Int64())
}
