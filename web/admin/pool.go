package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/alloc/generator"
	"idpool/templates"
)

// The query of a pool's page: the time that its chart shows.
const queryRange = "range"

// chartRanges are the times that a chart can show, the first by default.
var chartRanges = []struct {
	word string
	span time.Duration
	text string
}{
	{"", 24 * time.Hour, "24 hours"},
	{"7d", 7 * 24 * time.Hour, "7 days"},
	{"35d", 35 * 24 * time.Hour, "35 days"},
}

// maxSamples is how many samples a chart is made of at most.
const maxSamples = 1500

// poolPage is one pool.
func (d *dashboard) poolPage(r *http.Request) (templ.Component, error) {
	name := alloc.PoolName(r.PathValue("pool"))
	st, err := d.svc.Pool(r.Context(), name)
	if alloc.Is(err, alloc.CodePoolDamaged) {
		return nil, refusal{error: err, next: d.poolMend(r, name)}
	}
	if err != nil {
		return nil, err
	}
	now := d.now()
	f, forecast := d.forecast(r, name)
	p := templates.PoolPage{
		Frame: d.liveFrame(r, string(name)), Description: st.Pool.Config.Description,
		Row: poolRow(r.Context(), d.poolSeen(r, st), now), Buttons: graveLast(append(d.poolButtons(r, st.Pool), d.jobButtons(r, "pool", string(name), poolAddress(name))...)), Facts: poolConfig(st.Pool, now),
		Waiting: d.waitingSeeds(r, name), Forecast: forecast, Ranges: ranges(r), Recent: d.recentClaims(r, name), Trail: d.trailPart(r, topic{target: "pool/" + string(name)}),
	}
	if alloc.Is(st.LevelError, alloc.CodePoolDamaged) {
		p.Buttons = mendFirst(p.Buttons, poolAddress(name)+"/rebuild")
	}
	p.Chart, p.ChartFailure = d.poolChart(r, st, f)
	return templates.Pool(p), nil
}

// poolMend is the way to the rebuild of a damaged pool, for whom may go it.
func (d *dashboard) poolMend(r *http.Request, name alloc.PoolName) (next []templates.Link) {
	for _, b := range mendFirst(d.jobButtons(r, "pool", string(name), poolAddress(name)), poolAddress(name)+"/rebuild") {
		if b.Main {
			next = append(next, b)
		}
	}
	return next
}

// poolSeen is the pool as the lists see it: with its row of the board, if one can be had.
func (d *dashboard) poolSeen(r *http.Request, st alloc.PoolStatus) alloc.PoolSeen {
	seen := alloc.PoolSeen{PoolStatus: st}
	b := d.boardOrNone(r)
	if i := slices.IndexFunc(b.Pools, func(row alloc.PoolOnBoard) bool { return row.Pool == st.Pool.Name }); i >= 0 {
		seen.Board = b.Pools[i]
	}
	return seen
}

// poolButtons are the steps that whoever asks may take.
func (d *dashboard) poolButtons(r *http.Request, p alloc.Pool) (buttons []templates.Link) {
	buttons = append(buttons, templates.Link{Text: "Look up ID", Href: poolAddress(p.Name) + "/ids"})
	if !d.readOnly && may(r, alloc.ActionClaim, string(p.Name)) && (p.State == alloc.PoolActive || p.State == alloc.PoolDraining) {
		buttons = append(buttons, templates.Link{Text: "Claim ID", Href: poolAddress(p.Name) + "/claim"})
	}
	if !d.readOnly && may(r, alloc.ActionManage, string(p.Name)) {
		buttons = append(buttons, templates.Link{Text: "Seed pool", Href: poolAddress(p.Name) + "/seed"})
		buttons = append(buttons, templates.Link{Text: "Edit pool", Href: poolAddress(p.Name) + "/edit"})
	}
	for _, s := range poolSteps {
		if p.State != s.to && !d.readOnly && may(r, s.need, string(p.Name)) {
			buttons = append(buttons, templates.Link{Text: s.button, Href: poolAddress(p.Name) + "/" + s.segment, Danger: s.danger})
		}
	}
	return buttons
}

// poolConfig is how a pool is configured.
func poolConfig(p alloc.Pool, now time.Time) []templates.Fact {
	c := p.Config
	return []templates.Fact{
		{Term: "Description", Value: c.Description},
		{Term: "Policy", Value: string(c.Policy), Note: map[alloc.Policy]string{alloc.PolicyForget: "a claimed ID is removed"}[c.Policy]},
		{Term: "On release", Value: string(c.OnRelease)},
		{Term: "Most IDs a claim", Value: grouped(c.MaxBatch)},
		{Term: "Idempotency-Key", Value: map[bool]string{true: "required", false: "optional"}[c.RequireKey]},
		{Term: "Case", Value: caseWords(c.FoldCase)},
		{Term: "Kept between", Value: cmp.Or(marks(c.Marks), "no marks")},
		{Term: "Generator", Value: generatorWords(c.Generator)},
		{Term: "Created", Time: dated(p.Created, now)},
		{Term: "Version", Value: strconv.FormatInt(int64(p.Version), 10)},
	}
}

func caseWords(fold bool) string {
	return map[bool]string{true: "folded to lower case", false: "as it is"}[fold]
}

// generatorWords says in a line what a generator makes.
func generatorWords(g generator.Config) string {
	switch g.Kind {
	case "":
		return "none"
	case generator.Sequence:
		return g.Format + " of the sequence " + g.Sequence
	case generator.Random:
		words := fmt.Sprintf("%s%d random characters", g.Prefix, g.Length)
		if g.Group > 0 {
			words += fmt.Sprintf(", in groups of %d", g.Group)
		}
		if g.CheckChar != generator.CheckNone {
			words += ", check character " + string(g.CheckChar)
		}
		if g.WithoutAmbiguous {
			words += ", none that look alike"
		}
		return words
	}
	return string(g.Kind)
}

// forecast says how long the pool lasts.
func (d *dashboard) forecast(r *http.Request, name alloc.PoolName) (alloc.Forecast, templates.ForecastPanel) {
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	f, err := d.svc.PoolForecast(ctx, name)
	if err != nil {
		return alloc.Forecast{}, templates.ForecastPanel{Failure: failure(r, err, r.URL.RequestURI())}
	}
	return f, forecastPanel(f)
}

func forecastPanel(f alloc.Forecast) templates.ForecastPanel {
	p := templates.ForecastPanel{Lasts: lasts(f)}
	for _, b := range f.Burns {
		text := "not known yet"
		if b.Span > 0 {
			text = rate(b.PerHour) + " an hour"
		}
		p.Burns = append(p.Burns, templates.Fact{Term: "Used in the last " + windowWords(b.Window), Value: text, Note: grouped(b.Used) + " in all"})
	}
	return p
}

// lasts says in words when it ends.
func lasts(f alloc.Forecast) string {
	switch {
	case !f.Known:
		return "not known yet"
	case f.Never:
		return "never at this rate"
	case !f.Earliest.After(f.At):
		return "now"
	case f.Latest.IsZero():
		return duration(f.Earliest.Sub(f.At)) + " or more"
	}
	first, last := duration(f.Earliest.Sub(f.At)), duration(f.Latest.Sub(f.At))
	if first == last {
		return first
	}
	return first + " – " + last
}

// duration is a length of time in the unit that fits it.
func duration(t time.Duration) string {
	switch {
	case t < time.Minute:
		return fmt.Sprintf("%d s", int(t.Seconds()))
	case t < 2*time.Hour:
		return fmt.Sprintf("%d min", int(t.Minutes()))
	case t < 48*time.Hour:
		return fmt.Sprintf("%d h", int(t.Hours()))
	case t < 2*365*24*time.Hour:
		return fmt.Sprintf("%s d", grouped(int64(t.Hours()/24)))
	}
	return fmt.Sprintf("%s years", grouped(int64(t.Hours()/24/365)))
}

func rate(perHour float64) string {
	if perHour > 0 && perHour < 10 {
		return strconv.FormatFloat(perHour, 'f', 1, 64)
	}
	return grouped(int64(perHour + 0.5))
}

func windowWords(w time.Duration) string {
	if w == time.Hour {
		return "hour"
	}
	return fmt.Sprintf("%d hours", int(w.Hours()))
}

func ranges(r *http.Request) (links []templates.Link) {
	for _, c := range chartRanges {
		links = append(links, templates.Link{Text: c.text, Href: with(r, queryRange, c.word), Current: r.URL.Query().Get(queryRange) == c.word})
	}
	return links
}

// poolChart is the level over the time that the query asks for, and as it is forecast.
func (d *dashboard) poolChart(r *http.Request, st alloc.PoolStatus, f alloc.Forecast) (templates.Chart, *templates.Failure) {
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	whole := chartRanges[0]
	for _, c := range chartRanges {
		if r.URL.Query().Get(queryRange) == c.word {
			whole = c
		}
	}
	now := d.now()
	s := span{now.Add(-whole.span), now}
	samples, err := d.svc.PoolSamples(ctx, st.Pool.Name, s.from, s.until, maxSamples)
	if err != nil {
		return templates.Chart{}, failure(r, err, r.URL.RequestURI())
	}
	m := st.Pool.Config.Marks
	return levelChart("Available over "+whole.text, samples, s, []rule{
		{m.Low, "low mark", templates.ToneBad}, {m.Target, "target", templates.ToneGood},
	}, f), nil
}
