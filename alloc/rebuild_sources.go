package alloc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"
)

// plus is the number so many further on, at most the position behind the last number that there is.
func (n Number) plus(c Count) Number {
	const end = MaxNumber + 1
	if n >= end || Number(max(0, c)) >= end-n {
		return end
	}
	return n + Number(max(0, c))
}

// memory is what the samples of a sequence say.
type memory struct {
	sampled bool
	highest Sample // the one with most used, of the day of the newest
	perHour float64
}

// weigh asks every source, and makes of what each said the plan.
func (b rebuilding) weigh(ctx context.Context, r Rebuild) (Rebuild, error) {
	e, err := b.store.Evidence(ctx, r.Sequence)
	if err != nil {
		return Rebuild{}, err
	}
	m, err := b.remember(ctx, r)
	if err != nil {
		return Rebuild{}, err
	}
	to := r
	to.Step, to.Epoch = RebuildPlanned, 0
	if e.Counter {
		to.Epoch = e.Sequence.Epoch
	}
	if e.Configured {
		to.Config = e.Sequence.Config
	}
	to.Sources = to.sources(e, m)
	if to.Plan, err = to.makePlan(e, m); err != nil {
		return Rebuild{}, err
	}
	return to.noting(b.second(), "planned: next %d in epoch %d, %d burned", to.Plan.Next, to.Plan.Epoch, to.Plan.Burned), nil
}

// sources is what each source says, in the order in which they are shown.
func (r Rebuild) sources(e Evidence, m memory) []Source {
	all := []Source{r.byCounter(e), r.byLedger(), {Kind: SourceReported, Known: r.HasReported, Last: r.Reported}, byMark(e), r.bySamples(m, e), r.byRebuild()}
	return append(all, r.byWindow(all, m))
}

func (r Rebuild) byCounter(e Evidence) Source {
	s := Source{Kind: SourceCounter}
	switch next := e.Sequence.Next; {
	case !e.Counter:
		s.Note = "it is lost, or cannot be read"
	case next == 0:
		s.Note = "it is at the very first number"
	default:
		s.Known, s.Last = true, next-1
	}
	return s
}

// byLedger is what the ledger says. Of an entry that cannot be read, and stands above all others, it is known only where it begins;
// it is taken to be as long as a lease may be, but it may be several that were merged.
func (r Rebuild) byLedger() Source {
	l := r.Ledger
	s := Source{Kind: SourceLedger, Known: l.Entries+l.Damaged > 0, Last: l.Highest}
	if s.Known {
		s.Note = inWords("%s, %d not proven, %d that cannot be read, %d that overlap", several(l.Entries+l.Damaged, "entry", "entries"), l.Unproven, l.Damaged, l.Overlaps)
	}
	if l.isBlind() {
		s.Last = min(l.Blind.plus(r.Config.MaxLease-1), MaxNumber)
		s.Note += "; the highest cannot be read, so how far it goes is not known"
	}
	return s
}

func byMark(e Evidence) Source {
	return Source{Kind: SourceMark, Known: e.Marked, Last: e.Mark, At: e.MarkedAt}
}

func (r Rebuild) bySamples(m memory, e Evidence) Source {
	s := Source{Kind: SourceSamples}
	if !m.sampled {
		return s
	}
	s.At, s.Note = m.highest.At, "the highest of the day of the newest"
	if !e.Configured {
		s.Note += ", counted from the start that the request says"
	}
	if next := r.Config.Start.plus(m.highest.Used); next > 0 {
		s.Known, s.Last = true, next-1
	}
	return s
}

// byRebuild is what an earlier rebuild has decided. What was said for that one is in it.
func (r Rebuild) byRebuild() Source {
	s := Source{Kind: SourceRebuild}
	if r.Base > 0 {
		s.Known, s.Last, s.Note = true, r.Base-1, "up to there a plan that was applied before has given up what it did not know to be used"
	}
	return s
}

// byWindow is what may have been leased since the time from which on the ledger may miss entries, up to when the sequence was
// frozen: twice what the highest known rate makes of it.
func (r Rebuild) byWindow(others []Source, m memory) Source {
	s := Source{Kind: SourceWindow}
	last, known := highest(others)
	if r.Since.IsZero() || !known {
		return s
	}
	c := r.Config
	hours := max(0, r.Started.Sub(r.Since).Hours())
	leased := Count(min(2*m.perHour*hours, float64(MaxNumber/2))) + 10*c.Segment
	s.Known, s.Note = true, inWords("%.1f hours at up to %d an hour, doubled, and ten segments of %d", hours, Count(m.perHour+0.5), c.Segment)
	if leased < c.MaxLease {
		leased = c.MaxLease
		s.Note += inWords("; that is less than one lease may take, so it is that: %d", leased)
	}
	s.Last = min(last.plus(leased), max(last, c.Limit), MaxNumber)
	return s
}

// highest is the highest number that is used by what the sources say; known is false where none says anything.
func highest(sources []Source) (last Number, known bool) {
	for _, s := range sources {
		if s.Known {
			last, known = max(last, s.Last), true
		}
	}
	return last, known
}

// makePlan makes the plan of the sources. CodeNoEvidence where nothing but the counter tells where the sequence stands; a sequence that surely
// never leased anything needs nothing else.
func (r Rebuild) makePlan(e Evidence, m memory) (RebuildPlan, error) {
	l := r.Ledger
	known := l.Entries > 0 && !l.isBlind() || e.Marked || m.sampled || r.HasReported
	fresh := e.Counter && e.Sequence.Next == r.Config.Start && l.Entries+l.Damaged == 0 && !e.Marked && r.Base == 0
	if !known && !fresh {
		return RebuildPlan{}, Errorf(CodeNoEvidence,
			"nothing but its counter tells which numbers of the sequence %q are used; report the highest that is known to you or to the system that uses them, and plan again", r.Sequence)
	}
	p := RebuildPlan{Floor: r.Config.Start, Epoch: max(r.Epoch, l.Epoch, e.Epoch) + 1}
	if last, ok := highest(r.Sources); ok {
		p.Floor = max(p.Floor, last.plus(1))
	}
	limit := r.Config.Limit
	if !e.Configured && p.Floor > limit+1 {
		return RebuildPlan{}, Errorf(CodeInvalidConfig, "the limit must not be below %d, the highest number that is used as far as is known", p.Floor-1)
	}
	// A floor above the limit stays: the limit may be raised later, and what is used then stays used.
	p.Next = max(p.Floor, min(p.Floor.plus(r.Margin), limit+1))
	p.Burned = burned(r.burnedFrom(e, p), p.Next)
	p.ID = r.digest(p)
	return p, nil
}

// burnedFrom is the lowest number that nobody has and nobody gets.
func (r Rebuild) burnedFrom(e Evidence, p RebuildPlan) Number {
	l := r.Ledger
	from, known := Number(0), false
	if e.Counter {
		from, known = e.Sequence.Next, true
	}
	if l.Entries > 0 { // of a counter that was set back, the numbers up to there are somebody's
		from, known = max(from, l.Highest.plus(1)), true
	}
	if !known {
		return p.Floor
	}
	return from
}

func burned(from, next Number) Count {
	if next <= from {
		return 0
	}
	return Count(min(uint64(next-from), math.MaxInt64))
}

// digest names the plan after all that it was made of.
func (r Rebuild) digest(p RebuildPlan) string {
	var text strings.Builder
	l := r.Ledger
	fmt.Fprintf(&text, "1 %q %q %d %t %d %d %d %q|", r.Sequence, r.ID, r.Epoch, r.HasReported, r.Reported, r.Margin, r.Since.Unix(), r.Config.words())
	fmt.Fprintf(&text, "%d %d %d %d %d %d %d %d|", l.Entries, l.Unproven, l.Damaged, l.Blind, l.Overlaps, l.Highest, l.Epoch, l.Reach)
	for _, s := range r.Sources {
		fmt.Fprintf(&text, "%s %t %d|", s.Kind, s.Known, s.Last)
	}
	fmt.Fprintf(&text, "%d %d %d %d", p.Floor, p.Next, p.Burned, p.Epoch)
	h := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(h[:16])
}

// remember looks at the samples of the sequence: of the day of the newest for where it stood, and with Since of the week before that for the rate.
func (b rebuilding) remember(ctx context.Context, r Rebuild) (m memory, err error) {
	const day = 24 * time.Hour
	read := func(from time.Time) ([]Sample, error) {
		return b.store.SequenceSamples(ctx, r.Sequence, from, from.Add(day), maxSamples)
	}
	until := b.now().Add(time.Minute) // one of this very minute too
	for back := day; back <= SampleRetention+day && !m.sampled; back += day {
		samples, err := read(until.Add(-back))
		if err != nil {
			return m, err
		}
		for _, s := range samples {
			if !m.sampled || s.Used >= m.highest.Used {
				m.sampled, m.highest = true, s
			}
		}
	}
	if r.Since.IsZero() || !m.sampled {
		return m, nil
	}
	var week []Sample
	for back := 7 * day; back > 0; back -= day {
		samples, err := read(m.highest.At.Add(time.Minute - back))
		if err != nil {
			return m, err
		}
		week = append(week, samples...)
	}
	m.perHour = busiest(week)
	return m, nil
}

// busiest is the highest rate over an hour, or over all there is where that is less.
func busiest(samples []Sample) (perHour float64) {
	for i, j := 0, 0; i < len(samples); i++ {
		for j+1 < len(samples) && samples[j].At.Sub(samples[i].At) < time.Hour {
			j++
		}
		if i > 0 && samples[j].At.Sub(samples[i].At) < time.Hour {
			break // what is left is less than an hour, and was in one before
		}
		perHour = max(perHour, burnOf(time.Hour, samples[i], samples[j]).PerHour)
	}
	return perHour
}
