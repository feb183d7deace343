package admin

import (
	"cmp"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/templates"
)

// linesOf writes findings in lines, as "tone word: subjects text [help]".
func linesOf(f *findings) (lines []string) {
	for _, v := range f.verdicts(templates.Verdict{Tone: templates.ToneGood, Word: "Healthy"}) {
		var names []string
		for _, l := range v.Of {
			names = append(names, l.Text)
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s %s [%s]", v.Tone, v.Word, strings.Join(names, ", "), v.Text, v.Help.Href))
	}
	return lines
}

func TestVerdictsOfPools(t *testing.T) {
	pool := func(change func(*alloc.PoolOnBoard)) alloc.PoolOnBoard {
		p := alloc.PoolOnBoard{Pool: "p", At: noon, State: alloc.PoolActive, Level: alloc.Level{Available: 500, Seeded: 1000, CountedAt: noon}}
		change(&p)
		return p
	}
	burning := []alloc.Burn{{Window: time.Hour, Span: time.Hour, Used: 100, PerHour: 100}}
	for name, tt := range map[string]struct {
		pool alloc.PoolOnBoard
		want string
	}{
		"well":              {pool(func(*alloc.PoolOnBoard) {}), "good Healthy:   []"},
		"damaged":           {pool(func(p *alloc.PoolOnBoard) { p.State = alloc.PoolDamaged }), "bad Damaged: p is damaged: nobody can claim from it until it is rebuilt. [/pools/p/rebuild]"},
		"exhausted":         {pool(func(p *alloc.PoolOnBoard) { p.Level.Available = 0 }), "bad Exhausted: p has nothing left to claim. [/pools/p/seed]"},
		"drained":           {pool(func(p *alloc.PoolOnBoard) { p.Level.Available, p.State = 0, alloc.PoolDraining }), "good Healthy:   []"},
		"paused and empty":  {pool(func(p *alloc.PoolOnBoard) { p.Level.Available, p.State = 0, alloc.PoolPaused }), "good Healthy:   []"},
		"runs out":          {pool(func(p *alloc.PoolOnBoard) { p.Burns = burning }), "bad Runs out: p is empty in 5 h. [/pools/p/seed]"},
		"is filled in time": {pool(func(p *alloc.PoolOnBoard) { p.Burns, p.Filled = burning, true }), "good Healthy:   []"},
		"runs out, dry":     {pool(func(p *alloc.PoolOnBoard) { p.Burns, p.Filled, p.Dry = burning, true, "all are made" }), "bad Runs out: p is empty in 5 h. Its generator can make no more: all are made. [/pools/p/seed]"},
		"low":               {pool(func(p *alloc.PoolOnBoard) { p.Low = 600 }), "warn Low: p has 500 left, below its low mark of 600. [/pools/p/seed]"},
		"refill failed":     {pool(func(p *alloc.PoolOnBoard) { p.Filled, p.Failed = true, "try again" }), "warn Refill: p lasts not known yet. Its refill failed: Try again. [/pools/p]"},
		"stranded":          {pool(func(p *alloc.PoolOnBoard) { p.Stock, p.StockSince = 40, noon.Add(-25*time.Minute) }), "warn Stranded: p has 40 IDs that nobody has and nobody can claim, and has not changed since 11:35:00 UTC: they were taken into memory and not given back, or nothing lists them. [/pools/p/verify]"},
		"in memory":         {pool(func(p *alloc.PoolOnBoard) { p.Stock, p.StockSince = 40, noon.Add(-15*time.Minute) }), "good Healthy:   []"},
		"swept for long":    {pool(func(p *alloc.PoolOnBoard) { p.Behind = noon.Add(-6 * time.Minute) }), "warn Stranded: p is swept without coming to an end since 11:54:00 UTC: what was given back, or whose hold is over, comes back late. [/pools/p]"},
		"not counted":       {pool(func(p *alloc.PoolOnBoard) { p.Level.CountedAt = noon.Add(-time.Hour) }), "warn Stale: p was last counted at 11:00:00 UTC. [/pools/p]"},
	} {
		var f findings
		f.pools(httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), alloc.Board{At: noon, Pools: []alloc.PoolOnBoard{tt.pool}}, nil, noon)
		if got := strings.Join(linesOf(&f), "\n"); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestVerdictsOfSequences(t *testing.T) {
	for name, tt := range map[string]struct {
		q    alloc.SequenceOnBoard
		want string
	}{
		"well":           {alloc.SequenceOnBoard{State: alloc.SequenceActive, Next: 2, Left: 999}, "good Healthy:   []"},
		"stopped":        {alloc.SequenceOnBoard{State: alloc.SequenceStopped}, "bad Stopped: s is stopped: its counter is missing or wrong, and nobody gets a number until it is rebuilt. [/sequences/s/rebuild]"},
		"ended":          {alloc.SequenceOnBoard{State: alloc.SequenceActive, Next: 1001}, "bad Ended: s has no number left; it ended at 1,000. [/sequences/s/edit]"},
		"ends soon":      {alloc.SequenceOnBoard{State: alloc.SequenceActive, Next: 901, Left: 100, Burns: []alloc.Burn{{Window: time.Hour, Span: time.Hour, Used: 1, PerHour: 1}}}, "warn Ends soon: s reaches 1,000 on 3 December, in 4 d. [/sequences/s/edit]"},
		"frozen":         {alloc.SequenceOnBoard{State: alloc.SequenceFrozen}, "bad Frozen: s is frozen by a rebuild: nobody gets a number until that is resumed, or cancelled. [/sequences/s/rebuild]"},
		"resuming":       {alloc.SequenceOnBoard{State: alloc.SequenceResuming, Next: 2, Left: 999}, "warn Rebuild: s is in a rebuild: resuming. [/sequences/s/rebuild]"},
		"ended for ever": {alloc.SequenceOnBoard{State: alloc.SequenceActive, Limit: alloc.MaxNumber, Next: alloc.MaxNumber + 1}, "bad Ended: s has no number left; it ended at 9,223,372,036,854,775,807. That is the highest number there is: begin another sequence, and have clients ask that one. [/new/sequence]"},
		"nearly":         {alloc.SequenceOnBoard{State: alloc.SequenceActive, Next: 951, Left: 50}, "warn Ends soon: s has 50 numbers left of those up to 1,000. [/sequences/s/edit]"},
	} {
		var f findings
		tt.q.Sequence, tt.q.At, tt.q.Start, tt.q.Limit = "s", noon, 1, cmp.Or(tt.q.Limit, 1000)
		f.sequences(httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), alloc.Board{At: noon, Sequences: []alloc.SequenceOnBoard{tt.q}}, nil, noon)
		if got := strings.Join(linesOf(&f), "\n"); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// Whoever serves nobody comes before a pool that was never seeded.
func TestWhatServesNobodyComesFirst(t *testing.T) {
	b := alloc.Board{
		At:        noon,
		Pools:     []alloc.PoolOnBoard{{Pool: "new", At: noon, State: alloc.PoolActive, Low: 10}},
		Sequences: []alloc.SequenceOnBoard{{Sequence: "s", At: noon, State: alloc.SequenceFrozen, Limit: 1000}},
	}
	var f findings
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	f.pools(r, b, nil, noon)
	f.sequences(r, b, nil, noon)
	if got := linesOf(&f); len(got) != 2 || !strings.HasPrefix(got[0], "bad Frozen: s") || !strings.HasPrefix(got[1], "warn Low: new") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// What a thousand pools have in common is said in one line, the worst first.
func TestVerdictsAreFew(t *testing.T) {
	b := alloc.Board{At: noon}
	for i := range 1000 {
		p := alloc.PoolOnBoard{Pool: alloc.PoolName(fmt.Sprintf("p-%04d", i)), At: noon, State: alloc.PoolActive, Level: alloc.Level{Available: 5, Seeded: 10}, Low: 7}
		if i >= 500 {
			p.Level.Available = 0
		}
		b.Pools = append(b.Pools, p)
	}
	var f findings
	f.schedule(alloc.Board{At: noon.Add(-time.Hour)}, noon)
	f.pools(httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), b, nil, noon)
	want := []string{
		"bad Exhausted: p-0500, p-0501, p-0502 and 497 more have nothing left to claim. [/pools?state=empty]",
		"warn Schedule:  The schedule last ran 60 min ago, at 11:00:00 UTC: forecasts and counts are as of then. Look at its log. []",
		"warn Low: p-0000, p-0001, p-0002 and 497 more are below their low mark. [/pools?state=low]",
	}
	if got := linesOf(&f); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestARowSaysWhatItsVerdictSays(t *testing.T) {
	day := []alloc.Burn{{Window: time.Hour, Span: time.Hour, Used: 10, PerHour: 10}, {Window: 24 * time.Hour, Span: 24 * time.Hour, Used: 240, PerHour: 10}}
	for _, tt := range []struct {
		available alloc.Count
		filled    bool
		want      templates.State
	}{
		{50, false, templates.State{Tone: templates.ToneBad, Text: "runs out"}},
		{500, false, templates.State{Tone: templates.ToneWarn, Text: "no refill"}},
		{500, true, templates.State{Tone: templates.ToneGood, Text: "active"}},
		{500_000, false, templates.State{Tone: templates.ToneGood, Text: "active"}},
	} {
		level := alloc.Level{Available: tt.available, Seeded: tt.available, CountedAt: noon}
		p := alloc.PoolSeen{
			PoolStatus: alloc.PoolStatus{Pool: alloc.Pool{Name: "p", State: alloc.PoolActive}, Level: level},
			Board:      alloc.PoolOnBoard{Pool: "p", At: noon, State: alloc.PoolActive, Level: level, Filled: tt.filled, Burns: day},
		}
		line := poolLine(t.Context(), p, noon)
		if line.State != tt.want || line.Level.Tone != tt.want.Tone {
			t.Errorf("%d left, filled %t: got %+v and a bar that is %s, want %+v", tt.available, tt.filled, line.State, line.Level.Tone, tt.want)
		}
	}
}

// What is said of a pool or a sequence is the same on the overview, in the list and on its own page.
func TestAPageSaysOfAThingWhatTheListsSay(t *testing.T) {
	s := newSystem(t, nil, root)
	ctx := alloc.WithCaller(t.Context(), root)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var entries []alloc.SeedEntry
	for j := range 200 {
		entries = append(entries, alloc.SeedEntry{Line: j + 1, Raw: fmt.Sprintf("ID-%d", j)})
	}
	for name, marks := range map[alloc.PoolName]alloc.Marks{"used": {}, "idle": {}, "low": {Low: 300}, "hours": {LowHours: 1}} {
		_, _, err := s.svc.CreatePool(ctx, name, alloc.PoolConfig{Marks: marks})
		check(err)
		_, err = s.svc.Seed(ctx, alloc.SeedRequest{Pool: name, Entries: entries})
		check(err)
	}
	for _, name := range []alloc.SequenceName{"ends", "rests"} {
		_, _, err := s.svc.CreateSequence(ctx, name, alloc.SequenceConfig{Limit: 1_000_000})
		check(err)
	}
	for range 2 {
		_, err := s.svc.Claim(ctx, alloc.ClaimRequest{Pool: "hours", Count: 95})
		check(err)
	}
	for range 100 {
		_, err := s.svc.Tend(ctx) // the rates of what was used once are those of nothing by now
		check(err)
		s.clock = s.clock.Add(20 * time.Minute)
	}
	for range 4 {
		_, err := s.svc.Claim(ctx, alloc.ClaimRequest{Pool: "used", Count: 10})
		check(err)
		_, err = s.svc.Lease(ctx, alloc.LeaseRequest{Sequence: "ends", Count: 1000})
		check(err)
		_, err = s.svc.Tend(ctx)
		check(err)
		s.clock = s.clock.Add(20 * time.Minute)
	}
	s.tend()
	first := s.page("/")
	for path, want := range map[string]string{
		"/pools/used": `class="state warn">no refill<`, "/pools/idle": `class="state good">active<`, "/pools/low": `class="state warn">low<`, "/pools/hours": "",
		"/sequences/ends": `class="state warn">ends soon<`, "/sequences/rests": `class="state good">active<`,
	} {
		list, _, _ := strings.Cut(path[1:], "/")
		said := map[string]string{path: stateOf(s.page(path), "<h1")}
		for where, page := range map[string]string{"/" + list: s.page("/" + list), "/": first} {
			said[where] = stateOf(page, `class="name"><a href="`+path+`"`)
		}
		for where, got := range said {
			if got != said[path] || got == "" || want != "" && got != want {
				t.Errorf("%s says of %s %q, its page %q, want %q", where, path, got, said[path], want)
			}
		}
	}
}

// stateOf is the first state that a page shows behind a text.
func stateOf(page, after string) string {
	_, rest, _ := strings.Cut(page, after)
	i := strings.Index(rest, `class="state `)
	if i < 0 {
		return ""
	}
	state, _, _ := strings.Cut(rest[i:], "/")
	return state
}

// A run that was throttled is told for a while, with what it does not know.
func TestTheVerdictOfAThrottledRun(t *testing.T) {
	for ago, want := range map[time.Duration]string{time.Minute: "for 1,200 pools and sequences", 20 * time.Minute: ""} {
		var f findings
		f.throttled(alloc.Board{At: noon, Throttled: 1200, ThrottledAt: noon.Add(-ago)}, noon)
		if got := strings.Join(linesOf(&f), "\n"); !strings.Contains(got, want) || (want == "") != strings.Contains(got, "Healthy") {
			t.Errorf("%s ago: %s, want %q", ago, got, want)
		}
	}
}
