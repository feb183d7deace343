package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
)

// How soon an end needs a person.
const (
	endsNow  = 6 * time.Hour
	endsSoon = 7 * 24 * time.Hour
)

// severalOf is from how many on findings of one kind stand in one line.
const severalOf = 4

// findingKinds are the kinds of findings, the worst first.
var findingKinds = []struct {
	kind    string
	tone    templates.Tone
	word    string
	several string // what is said of many at once
	all     templates.Link
}{
	{"damaged", templates.ToneBad, "Damaged", "are damaged: rebuild them.", templates.Link{Text: "Damaged pools", Href: "/pools?state=damaged"}},
	{"stopped", templates.ToneBad, "Stopped", "are stopped: rebuild them.", templates.Link{Text: "Stopped sequences", Href: "/sequences?state=stopped"}},
	{"frozen", templates.ToneBad, "Frozen", "are frozen by a rebuild: go on with it.", templates.Link{Text: "Frozen sequences", Href: "/sequences?state=frozen"}},
	{"unread", templates.ToneBad, "Not read", "could not be read.", templates.Link{Text: "All pools", Href: "/pools"}},
	{"unknown", templates.ToneBad, "Not read", "could not be read.", templates.Link{Text: "All sequences", Href: "/sequences"}},
	{"empty", templates.ToneBad, "Exhausted", "have nothing left to claim.", templates.Link{Text: "Exhausted pools", Href: "/pools?state=empty"}},
	{"ended", templates.ToneBad, "Ended", "have no number left.", templates.Link{Text: "Ended sequences", Href: "/sequences?state=ended"}},
	{"out", templates.ToneBad, "Runs out", "run out within hours.", templates.Link{Text: "All pools", Href: "/pools"}},
	{"failed", templates.ToneBad, "Failed", "have failed.", templates.Link{Text: "All jobs", Href: "/jobs"}},
	{"unfinished", templates.ToneWarn, "Unfinished", "go no further.", templates.Link{Text: "All jobs", Href: "/jobs"}},
	{"schedule", templates.ToneWarn, "Schedule", "", templates.Link{}},
	{"low", templates.ToneWarn, "Low", "are below their low mark.", templates.Link{Text: "Low pools", Href: "/pools?state=low"}},
	{"dry", templates.ToneWarn, "Dry", "can make no more IDs.", templates.Link{Text: "Dry pools", Href: "/pools?state=dry"}},
	{"refill", templates.ToneWarn, "Refill", "could not be filled in the last run.", templates.Link{Text: "All pools", Href: "/pools"}},
	{"norefill", templates.ToneWarn, "No refill", "have no generator and run out within a week.", templates.Link{Text: "All pools", Href: "/pools"}},
	{"stranded", templates.ToneWarn, "Stranded", "have IDs that nobody gets.", templates.Link{Text: "All pools", Href: "/pools"}},
	{"throttled", templates.ToneWarn, "Throttled", "", templates.Link{}},
	{"ends", templates.ToneWarn, "Ends soon", "are near their end.", templates.Link{Text: "Ending sequences", Href: "/sequences?state=ending"}},
	{"resuming", templates.ToneWarn, "Rebuild", "are being rebuilt.", templates.Link{Text: "Resuming sequences", Href: "/sequences?state=resuming"}},
	{"stale", templates.ToneWarn, "Stale", "were not counted for some time.", templates.Link{Text: "All pools", Href: "/pools"}},
}

// findings are what needs a person.
type findings struct {
	list map[string][]templates.Verdict // by their kinds
	bad  []templates.Verdict            // what could not be looked at
}

func (f *findings) add(kind, name, href, text string, help templates.Link) {
	if f.list == nil {
		f.list = map[string][]templates.Verdict{}
	}
	f.list[kind] = append(f.list[kind], templates.Verdict{Of: []templates.Link{{Text: name, Href: href}}, Text: text, Help: help})
}

func (f *findings) failed(word string, why *templates.Failure) {
	f.bad = append(f.bad, templates.Verdict{Tone: templates.ToneWarn, Word: word, Problem: why})
}

// verdicts are the findings in lines, or healthy where there is none.
func (f *findings) verdicts(healthy templates.Verdict) (lines []templates.Verdict) {
	for _, k := range findingKinds {
		found := f.list[k.kind]
		if len(found) >= severalOf {
			rest := len(found) - severalOf + 1
			found[0].Text, found[0].Help = fmt.Sprintf("and %s more %s", grouped(int64(rest)), k.several), k.all
			for _, v := range found[1 : severalOf-1] {
				found[0].Of = append(found[0].Of, v.Of...)
			}
			found = found[:1]
		}
		for _, v := range found {
			v.Tone, v.Word = k.tone, k.word
			if v.Of[0].Href == "" {
				v.Of = nil
			}
			lines = append(lines, v)
		}
	}
	if lines = append(lines, f.bad...); len(lines) == 0 {
		lines = []templates.Verdict{healthy}
	}
	return lines
}

// schedule says that the board is none, or old.
func (f *findings) schedule(b alloc.Board, now time.Time) {
	switch {
	case b.At.IsZero():
		f.add("schedule", "", "", "The schedule has not run for a day: nothing is filled, and nothing that was released comes back. Look at its log, and whether it is switched on.", templates.Link{})
	case now.Sub(b.At) > staleAfter:
		f.add("schedule", "", "", fmt.Sprintf("The schedule last ran %s ago, at %s: forecasts and counts are as of then. Look at its log.", duration(now.Sub(b.At)), clock(b.At, now).Text), templates.Link{})
	}
}

// throttledFor is for how long it is told that a run of the schedule was throttled.
const throttledFor = 15 * time.Minute

// throttled says that the engine refused what the schedule asked of it; what others have met of that only the metrics know.
func (f *findings) throttled(b alloc.Board, now time.Time) {
	if b.ThrottledAt.IsZero() || now.Sub(b.ThrottledAt) >= throttledFor {
		return
	}
	f.add("throttled", "", "", fmt.Sprintf("The engine refused the schedule's run of %s for %s: it is asked for more than it takes, and claims may be refused too. What requests met is in the metrics (throttled). Raise the limits of the table, or ask for less.",
		clock(b.ThrottledAt, now).Text, counted(int(b.Throttled), "pool or sequence", "pools and sequences")), templates.Link{Text: "Look at table", Href: "/about"})
}

// pools looks at the pools of the board, and at those that were read anew as they are now.
func (f *findings) pools(r *http.Request, b alloc.Board, seen []alloc.PoolSeen, now time.Time) {
	fresh := map[alloc.PoolName]bool{}
	for _, p := range seen {
		row := poolNow(r.Context(), p)
		fresh[row.Pool] = true
		f.pool(row, b, now)
	}
	for _, row := range b.Pools {
		if !fresh[row.Pool] {
			f.pool(row, b, now)
		}
	}
}

// poolNow is the row of a board as the pool stands now.
func poolNow(ctx context.Context, p alloc.PoolSeen) alloc.PoolOnBoard {
	row := p.Board
	row.Pool, row.State, row.Level = p.Pool.Name, p.Pool.State, p.Level
	if row.Unknown = ""; p.LevelError != nil {
		_, row.Unknown = web.Explain(ctx, p.LevelError)
	}
	if row.At.IsZero() {
		row.Low, row.Filled = p.Pool.Config.Marks.Low, !p.Pool.Config.Generator.IsZero()
	}
	if p.Refill != nil {
		row.Dry, row.Filling = p.Refill.Dry, p.Refill.Filling
	}
	return row
}

func (f *findings) pool(p alloc.PoolOnBoard, b alloc.Board, now time.Time) {
	if found := poolFinding(p, b.At, now); found.kind != "" {
		f.add(found.kind, string(p.Pool), poolAddress(p.Pool), found.text, found.help)
	}
}

// finding is the worst that there is to say of one thing; the zero value is nothing.
type finding struct {
	kind, text string
	help       templates.Link // the screen that mends it
}

// state is the state of a row of which nothing worse is said: rows and verdicts say the same.
func (f finding) state(is templates.State) templates.State {
	for _, k := range findingKinds {
		if k.kind == f.kind && is.Tone == templates.ToneGood {
			return templates.State{Tone: k.tone, Text: strings.ToLower(k.word)}
		}
	}
	return is
}

// poolFinding looks at a pool as it stands; the board is as of a moment.
func poolFinding(p alloc.PoolOnBoard, board, now time.Time) (f finding) {
	href := poolAddress(p.Pool)
	say := func(kind, text string, help templates.Link) { f = finding{kind, text, help} }
	seed := templates.Link{Text: "Seed pool", Href: href + "/seed"}
	look := templates.Link{Text: "Look at pool", Href: href}
	forecast := p.Forecast()
	left, ends := forecast.Runway()
	alone := !p.Filled || p.Dry != "" || p.Failed != "" // nobody fills it
	why := ""
	switch {
	case p.Dry != "":
		why = " Its generator can make no more: " + p.Dry + "."
	case p.Failed != "":
		why = " Its refill failed: " + sentence(p.Failed)
	}
	switch {
	case p.State == alloc.PoolDamaged:
		say("damaged", "is damaged: nobody can claim from it until it is rebuilt.", templates.Link{Text: "Rebuild pool", Href: href + "/rebuild"})
	case p.Unknown != "":
		say("unread", "could not be read. "+sentence(p.Unknown), look)
	case p.State != alloc.PoolActive:
	case p.Empty():
		say("empty", "has nothing left to claim."+why, seed)
	case ends && left < endsNow && alone:
		say("out", "is empty in "+lasts(forecast)+"."+why, seed)
	case p.IsLow():
		say("low", fmt.Sprintf("has %s left, below its low mark of %s.%s", grouped(p.Level.Available), grouped(p.Low), why), seed)
	case p.Dry != "":
		say("dry", "lasts "+lasts(forecast)+"."+why, seed)
	case p.Failed != "":
		say("refill", "lasts "+lasts(forecast)+"."+why, look)
	case ends && left < endsSoon && alone:
		say("norefill", "has no generator and lasts "+lasts(forecast)+".", seed)
	case p.IsBehind():
		say("stranded", "is swept without coming to an end since "+clock(p.Behind, now).Text+": what was given back, or whose hold is over, comes back late.", look)
	case p.IsStranded():
		say("stranded", fmt.Sprintf("has %s that nobody has and nobody can claim, and has not changed since %s: they were taken into memory and not given back, or nothing lists them.", counted(int(p.Stock), "ID"), clock(p.StockSince, now).Text),
			templates.Link{Text: "Verify pool", Href: href + "/verify"})
	case !p.Level.CountedAt.IsZero() && board.Sub(p.Level.CountedAt) > staleAfter && now.Sub(p.Level.CountedAt) > staleAfter:
		say("stale", "was last counted at "+clock(p.Level.CountedAt, now).Text+".", look)
	}
	return f
}

func (f *findings) sequences(r *http.Request, b alloc.Board, seen []alloc.SequenceSeen, now time.Time) {
	fresh := map[alloc.SequenceName]bool{}
	for _, q := range seen {
		row := q.Now()
		fresh[row.Sequence] = true
		if q.Err != nil {
			_, detail := web.Explain(r.Context(), q.Err)
			f.add("unknown", string(row.Sequence), sequenceAddress(row.Sequence), "could not be read. "+sentence(detail), templates.Link{Text: "Look at sequence", Href: sequenceAddress(row.Sequence)})
			continue
		}
		f.sequence(row, now)
	}
	for _, row := range b.Sequences {
		if !fresh[row.Sequence] {
			f.sequence(row, now)
		}
	}
}

func (f *findings) sequence(q alloc.SequenceOnBoard, now time.Time) {
	if found := sequenceFinding(q, now); found.kind != "" {
		f.add(found.kind, string(q.Sequence), sequenceAddress(q.Sequence), found.text, found.help)
	}
}

func sequenceFinding(q alloc.SequenceOnBoard, now time.Time) (f finding) {
	href := sequenceAddress(q.Sequence)
	say := func(kind, text string, help templates.Link) { f = finding{kind, text, help} }
	edit, highest := templates.Link{Text: "Edit sequence", Href: href + "/edit"}, ""
	if q.Limit == alloc.MaxNumber { // it cannot be raised
		edit, highest = templates.Link{Text: "Create sequence", Href: "/new/sequence"}, " That is the highest number there is: begin another sequence, and have clients ask that one."
	}
	forecast := q.Forecast()
	left, ends := forecast.Runway()
	switch {
	case q.State == alloc.SequenceStopped:
		say("stopped", "is stopped: its counter is missing or wrong, and nobody gets a number until it is rebuilt.", templates.Link{Text: "Rebuild", Href: rebuildAddress(q.Sequence)})
	case q.State == alloc.SequenceFrozen:
		say("frozen", "is frozen by a rebuild: nobody gets a number until that is resumed, or cancelled.", templates.Link{Text: "Go on", Href: rebuildAddress(q.Sequence)})
	case q.State == alloc.SequenceResuming:
		say("resuming", "is in a rebuild: resuming.", templates.Link{Text: "Go on", Href: rebuildAddress(q.Sequence)})
	case q.State != alloc.SequenceActive:
	case q.HasEnded():
		say("ended", "has no number left; it ended at "+grouped(q.Limit)+"."+highest, edit)
	case q.IsEnding() && ends:
		say("ends", fmt.Sprintf("reaches %s on %s, in %s.", grouped(q.Limit), now.Add(left).UTC().Format("2 January"), lasts(forecast))+highest, edit)
	case q.IsEnding():
		say("ends", fmt.Sprintf("has %s numbers left of those up to %s.", grouped(q.Left), grouped(q.Limit))+highest, edit)
	}
	return f
}
