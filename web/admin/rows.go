package admin

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"idpool/alloc"
	"idpool/templates"
)

// lowShare is the part of a sequence, or of a pool without marks, below which what is left needs a person.
const lowShare = 0.1

// poolState is what is said of a pool, in what colour, wherever it is shown: how it stands, or where that is well what there is to find about it.
func poolState(ctx context.Context, p alloc.PoolSeen, now time.Time) templates.State {
	if !p.Board.At.IsZero() {
		p.Pool.Config.Marks = alloc.Marks{Low: p.Board.Low, Target: p.Board.Target} // those that a list has, too
	}
	return poolFinding(poolNow(ctx, p), p.Board.At, now).state(poolStands(p.PoolStatus))
}

func poolStands(s alloc.PoolStatus) templates.State {
	l, r := s.Level, s.Refill
	switch {
	case s.Pool.State == alloc.PoolDamaged, alloc.Is(s.LevelError, alloc.CodePoolDamaged):
		return templates.State{Tone: templates.ToneBad, Text: string(alloc.PoolDamaged)}
	case s.LevelError != nil:
		return templates.State{Tone: templates.ToneBad, Text: "level unknown"}
	case s.Pool.State != alloc.PoolActive:
		return templates.State{Tone: templates.ToneOff, Text: string(s.Pool.State)}
	case r != nil && r.Dry != "":
		return dryState(l, r.Low)
	case l.Available == 0 && l.Seeded == 0 && (r == nil || !r.Filling):
		return templates.State{Tone: templates.ToneWarn, Text: "nothing seeded"}
	case l.Available == 0 && l.Seeded > 0:
		return templates.State{Tone: templates.ToneBad, Text: "exhausted"}
	case r != nil && r.Low && r.Filling:
		return templates.State{Tone: templates.ToneWarn, Text: "low, filling"}
	case r != nil && r.Low:
		return templates.State{Tone: templates.ToneWarn, Text: "low"}
	case r != nil && r.Filling:
		return templates.State{Tone: templates.ToneGood, Text: "filling"}
	case s.Pool.Config.Marks == (alloc.Marks{}) && float64(l.Available) < lowShare*float64(l.Seeded):
		return templates.State{Tone: templates.ToneWarn, Text: "below 10 %"}
	default:
		return templates.State{Tone: templates.ToneGood, Text: string(s.Pool.State)}
	}
}

// dryState is that of a pool whose generator can make no more.
func dryState(l alloc.Level, low bool) templates.State {
	switch {
	case l.Available == 0:
		return templates.State{Tone: templates.ToneBad, Text: "exhausted, dry"}
	case low:
		return templates.State{Tone: templates.ToneBad, Text: "low, dry"}
	default:
		return templates.State{Tone: templates.ToneWarn, Text: "dry"}
	}
}

// marks says between which levels a pool is kept.
func marks(m alloc.Marks) string {
	var parts []string
	add := func(word string, n, hours int64) {
		switch {
		case n > 0 && hours > 0:
			parts = append(parts, fmt.Sprintf("%s %s or %s h", word, grouped(n), grouped(hours)))
		case n > 0:
			parts = append(parts, word+" "+grouped(n))
		case hours > 0:
			parts = append(parts, word+" "+grouped(hours)+" h")
		}
	}
	add("low", int64(m.Low), int64(m.LowHours))
	add("target", int64(m.Target), int64(m.TargetHours))
	return strings.Join(parts, ", ")
}

// others says what is neither free nor claimed.
func others(l alloc.Level) string {
	var parts []string
	for _, p := range []struct {
		n    alloc.Count
		word string
	}{{l.Held, "held"}, {l.Returning, "returning"}, {l.Retired, "retired"}, {l.Forgotten, "forgotten"}} {
		if p.n > 0 {
			parts = append(parts, grouped(p.n)+" "+p.word)
		}
	}
	return strings.Join(parts, ", ")
}

// sequenceRow shows one sequence at the time now.
func sequenceRow(seen alloc.SequenceSeen, now time.Time) templates.SequenceRow {
	s := seen.Sequence
	row := templates.SequenceRow{
		Name: string(s.Name), Description: s.Config.Description, State: sequenceState(seen, now), Limit: grouped(s.Config.Limit), Epoch: grouped(s.Epoch),
	}
	used := usedShare(s)
	row.Used = percent(used)
	row.Meter = templates.Meter{
		Value: strconv.FormatFloat(used, 'f', 6, 64), Max: "1", Label: row.Used + " used", Tone: row.State.Tone,
	}
	if isLost(s) {
		row.Limit, row.Epoch = notKnown, notKnown
	}
	if !hasPosition(s) {
		row.Next, row.Used, row.Meter.Value, row.Meter.Label = notKnown, "–", "0", "position not known"
		return row
	}
	if s.Next <= s.Config.Limit {
		row.Next = grouped(s.Next)
	}
	return row
}

// sequenceState is to sequences what poolState is to pools.
func sequenceState(q alloc.SequenceSeen, now time.Time) templates.State {
	if q.Err != nil {
		return templates.State{Tone: templates.ToneBad, Text: "position unknown"}
	}
	return sequenceFinding(q.Now(), now).state(sequenceStands(q.Sequence))
}

func sequenceStands(s alloc.Sequence) templates.State {
	switch {
	case s.State == alloc.SequenceStopped:
		return templates.State{Tone: templates.ToneBad, Text: "stopped, rebuild it"}
	case s.State == alloc.SequenceFrozen:
		return templates.State{Tone: templates.ToneBad, Text: "frozen by a rebuild"}
	case s.State == alloc.SequenceResuming:
		return templates.State{Tone: templates.ToneWarn, Text: fmt.Sprintf("resuming for %d in 100 callers", s.Share)}
	case s.State != alloc.SequenceActive:
		return templates.State{Tone: templates.ToneOff, Text: string(s.State)}
	case s.Next > s.Config.Limit:
		return templates.State{Tone: templates.ToneBad, Text: "exhausted"}
	case usedShare(s) > 1-lowShare:
		return templates.State{Tone: templates.ToneWarn, Text: "below 10 % left"}
	default:
		return templates.State{Tone: templates.ToneGood, Text: string(s.State)}
	}
}

// usedShare is how much of a sequence is leased, from 0 to 1.
func usedShare(s alloc.Sequence) float64 {
	if s.Next <= s.Config.Start {
		return 0
	}
	share := float64(s.Next-s.Config.Start) / (float64(s.Config.Limit-s.Config.Start) + 1)
	if s.Next <= s.Config.Limit {
		share = min(share, math.Nextafter(1, 0)) // what has a number left is not used up, whatever rounding says
	}
	return share
}

// percent never says 0 of what has begun, nor 100 of what is not used up.
func percent(share float64) string {
	switch p := share * 100; {
	case p <= 0:
		return "0 %"
	case p < 0.1:
		return "< 0.1 %"
	case p >= 100:
		return "100 %"
	case p > 99.9:
		return "> 99.9 %"
	default:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	}
}

// grouped writes a whole number with thousands separators.
func grouped[N ~int | ~int64 | ~uint64](n N) string { return alloc.Grouped(n) }

// clock shows a moment in UTC, and how far from now it is: the time alone if it is of the same day as now.
func clock(t, now time.Time) templates.Time {
	c := dated(t, now)
	if day := now.UTC().Format(time.DateOnly); t.UTC().Format(time.DateOnly) == day {
		c.Text = strings.TrimPrefix(c.Text, day+" ")
	}
	return c
}

// dated is clock with the day, whichever it is.
func dated(t, now time.Time) templates.Time {
	return templates.Time{Machine: t.UTC().Format(time.RFC3339), Text: t.UTC().Format("2006-01-02 15:04:05 UTC"), Away: away(t.Sub(now))}
}

// away says how far from now a moment is.
func away(d time.Duration) string {
	switch {
	case d <= -time.Second:
		return duration(-d) + " ago"
	case d >= time.Second:
		return "in " + duration(d)
	}
	return "now"
}

// sentence makes of a problem's detail a sentence of a page.
func sentence(detail string) string {
	r, size := utf8.DecodeRuneInString(detail)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + strings.TrimSuffix(detail[size:], ".") + "."
}
