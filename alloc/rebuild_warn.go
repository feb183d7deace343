package alloc

import (
	"time"
)

// Left is how many numbers the plan leaves to callers, when its test has taken its own; 0 where there is no plan.
func (r Rebuild) Left() Count {
	if r.Plan.ID == "" {
		return 0
	}
	left := Sequence{Config: r.Config, Next: r.Plan.Next}.Remaining()
	return left - min(left, TestNumbers, r.Config.MaxLease)
}

// Exhausts reports whether the plan leaves nothing to anybody.
func (r Rebuild) Exhausts() bool { return r.Plan.ID != "" && r.Left() == 0 }

// notTested is what is said of a rebuild that was verified without a test.
const notTested = "without test numbers: the sequence has none left to lease"

// Warnings says what a person should know of the plan before it is applied, and of its verification.
func (r Rebuild) Warnings() (warnings []string) {
	p := r.Plan
	if p.ID == "" {
		return nil
	}
	warn := func(format string, args ...any) { warnings = append(warnings, inWords(format, args...)) }
	switch left := r.Left(); {
	case left == 0:
		warn("the plan leaves no number to anybody: it goes on at %d, the limit is %d, and the test takes up to %d numbers", p.Next, r.Config.Limit, TestNumbers)
	case p.Burned > left:
		warn("the plan burns %d numbers, and leaves %d", p.Burned, left)
	}
	if by := r.above(SourceReported); by > r.Margin {
		warn("what was reported is %d above all else that is known: see that it has no digit too many", by)
	}
	if by := r.above(SourceCounter); by > r.Margin {
		warn("the counter is %d above all else that is known; it cannot be lowered", by)
	}
	if by := r.above(SourceWindow); by > 0 {
		warn("%d numbers are left out because they may have been leased since %s; report the highest that is in use, and take since back, where that need not be guessed", by, r.Since.Format(time.RFC3339))
	}
	if !r.Since.IsZero() && !r.says(SourceSamples) {
		warn("no sample tells how fast numbers are leased, so what may have been leased since %s is not known; report the highest that is in use", r.Since.Format(time.RFC3339))
	}
	if r.isApplied() && r.Step != RebuildApplied && len(r.Tested) == 0 {
		warn("verified %s", notTested)
	}
	return warnings
}

// above is by how much the source is above the highest of all others; 0 where it is not, or none of them says anything.
func (r Rebuild) above(kind SourceKind) Count {
	var own *Source
	var others []Source
	for _, s := range r.Sources {
		switch {
		case s.Kind != kind:
			others = append(others, s)
		case s.Known:
			own = &s
		}
	}
	last, known := highest(others)
	if own == nil || !known {
		return 0
	}
	return burned(last, own.Last)
}

func (r Rebuild) says(kind SourceKind) bool {
	for _, s := range r.Sources {
		if s.Kind == kind {
			return s.Known
		}
	}
	return false
}
