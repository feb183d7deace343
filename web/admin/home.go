package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
)

// How much of each list stands on the first page.
const (
	homeRows  = 8
	homeJobs  = 5
	homeSteps = 5
)

// overview is the first page. All of it is ordered by the board of the schedule's last run, and what is shown is read anew.
func (d *dashboard) overview(r *http.Request) (templ.Component, error) {
	if err := web.RequireCaller(r); err != nil {
		return nil, err
	}
	var f findings
	now := d.now()
	b, err := d.board(r)
	if err != nil {
		f.failed("Schedule", failure(r, err, r.URL.RequestURI()))
	}
	p := templates.Overview{Frame: d.liveFrame(r, "Overview")}
	var pools []alloc.PoolSeen
	var sequences []alloc.SequenceSeen
	pools, p.Pools = d.urgentPools(r, b)
	sequences, p.Sequences = d.urgentSequences(r, b)
	p.Jobs = d.openJobs(r)
	p.Trail = d.lastSteps(r)
	known := len(b.Pools) + len(b.Sequences) + len(pools) + len(sequences)
	if err == nil && known > 0 {
		f.schedule(b, now)
		f.throttled(b, now)
	}
	f.pools(r, b, pools, now)
	f.sequences(r, b, sequences, now)
	d.jobFindings(r, &f)
	p.Sub = counted(max(len(b.Pools), len(pools)), "pool") + ", " + counted(max(len(b.Sequences), len(sequences)), "sequence")
	what := p.Sub
	if !b.At.IsZero() {
		p.Sub += " · looked at " + duration(now.Sub(b.At)) + " ago"
	}
	if known > 0 || len(f.list) > 0 {
		p.Verdicts = f.verdicts(d.healthy(b, what, now))
	}
	return templates.Home(p), nil
}

// counted is a number with what it counts; many is its plural where that is not with an s.
func counted(n int, what string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + what
	case len(many) > 0:
		return grouped(int64(n)) + " " + many[0]
	}
	return grouped(int64(n)) + " " + what + "s"
}

func (d *dashboard) board(r *http.Request) (alloc.Board, error) {
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	return d.svc.Board(ctx)
}

// boardOrNone is the board for the page of one thing, which stands without: then nothing is found that takes a rate. Why there is none is in the log.
func (d *dashboard) boardOrNone(r *http.Request) alloc.Board {
	b, err := d.board(r)
	if err != nil {
		web.Explain(r.Context(), err)
	}
	return b
}

func (d *dashboard) urgentPools(r *http.Request, b alloc.Board) ([]alloc.PoolSeen, templates.LinesPanel) {
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	pools, _, err := d.svc.PoolsBy(ctx, b, alloc.BoardQuery{}, "", homeRows)
	if err != nil {
		return nil, templates.LinesPanel{Failure: failure(r, err, r.URL.RequestURI())}
	}
	var panel templates.LinesPanel
	for _, p := range pools {
		panel.Rows = append(panel.Rows, poolLine(ctx, p, d.now()))
	}
	return pools, panel
}

// poolLine shows one pool at the time now.
func poolLine(ctx context.Context, p alloc.PoolSeen, now time.Time) templates.PoolLine {
	line := templates.PoolLine{Name: string(p.Pool.Name), Description: p.Pool.Config.Description, State: poolState(ctx, p, now)}
	if p.LevelError != nil {
		_, detail := web.Explain(ctx, p.LevelError)
		line.Unknown = sentence(detail)
		return line
	}
	free, whole, label := poolGauge(p.PoolStatus)
	line.Level = bar(free, p.Level.Held, whole, []alloc.Count{p.Board.Low}, line.State.Tone, label)
	line.Available, line.Claimed = grouped(free), grouped(p.Level.Claimed)
	if p.Level.Held > 0 {
		line.Held = grouped(p.Level.Held)
	}
	line.Spark = spark(p.Board.Trend.Samples(), span{now.Add(-24 * time.Hour), now}, "last 24 hours")
	line.Burn, line.Day = burnWords(p.Board.Burns)
	line.Lasts = briefly(p.Board.Forecast())
	line.Why = refillNote(ctx, p.PoolStatus)
	if line.Why == "" && !p.Board.Refilled.IsZero() && line.State.Tone != templates.ToneOff {
		line.Why = "refilled " + shortly(p.Board.Refilled, now)
	}
	return line
}

// shortly is the time of a moment, in UTC, or the day where it is another.
func shortly(t, now time.Time) string {
	if t.UTC().Format(time.DateOnly) == now.UTC().Format(time.DateOnly) {
		return t.UTC().Format("15:04")
	}
	return t.UTC().Format("2 Jan")
}

// briefly is lasts for a column.
func briefly(f alloc.Forecast) string {
	switch {
	case !f.Known:
		return "–"
	case f.Never:
		return "never"
	}
	return lasts(f)
}

// burnWords are the rates of the last hour and the last day.
func burnWords(burns []alloc.Burn) (hour, day string) {
	hour = "–"
	for i, b := range burns {
		switch {
		case b.Span == 0:
		case i == 0:
			hour = rate(b.PerHour)
		default:
			day = rate(b.PerHour)
		}
	}
	return hour, day
}

func (d *dashboard) urgentSequences(r *http.Request, b alloc.Board) ([]alloc.SequenceSeen, templates.SequenceLinesPanel) {
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	sequences, _, err := d.svc.SequencesBy(ctx, b, alloc.BoardQuery{}, "", homeRows)
	if err != nil {
		return nil, templates.SequenceLinesPanel{Failure: failure(r, err, r.URL.RequestURI())}
	}
	var panel templates.SequenceLinesPanel
	for _, q := range sequences {
		line := sequenceLine(ctx, q, d.now())
		line.Row.Description, line.Day = "", "" // there is little room
		panel.Rows = append(panel.Rows, line)
	}
	return sequences, panel
}

func (d *dashboard) openJobs(r *http.Request) templates.JobsPanel {
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	jobs, err := d.svc.OpenJobs(ctx, homeJobs)
	if err != nil {
		return templates.JobsPanel{Failure: failure(r, err, r.URL.RequestURI())}
	}
	var panel templates.JobsPanel
	for _, j := range jobs {
		panel.Rows = append(panel.Rows, jobRow(j, d.now()))
	}
	return panel
}

func (d *dashboard) lastSteps(r *http.Request) templates.TrailPanel {
	if !may(r, alloc.ActionRead, "*") {
		return templates.TrailPanel{Hidden: true}
	}
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	records, _, err := d.svc.Trail(ctx, alloc.TrailFilter{}, "", homeSteps)
	if err != nil {
		return templates.TrailPanel{Failure: failure(r, err, r.URL.RequestURI())}
	}
	var panel templates.TrailPanel
	for _, rec := range records {
		row := trailRow(rec, d.now())
		row.At.Text = shortly(rec.At, d.now())
		panel.Rows = append(panel.Rows, row)
	}
	return panel
}

// How many jobs that have failed, or stand still, the page looks at, and after how long one stands still: the alarm JobStands says the same.
const (
	findJobs    = 100
	failedSince = 24 * time.Hour
	standsAfter = 30 * time.Minute
	waitsAfter  = time.Hour // for its file; after a day it is given up
)

// jobFindings looks for the jobs that have ended badly within a day, however many others were made since, and for those that go no further.
func (d *dashboard) jobFindings(r *http.Request, f *findings) {
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	now := d.now()
	failed, more, err := d.svc.FailedJobs(ctx, now.Add(-failedSince), findJobs)
	if err != nil {
		f.failed("Jobs", failure(r, err, r.URL.RequestURI()))
		return
	}
	for _, j := range failed {
		text := "has failed. " + sentence(j.Failure)
		if j.State == alloc.JobDone {
			text = "has " + counted(int(j.Tally.Findings), "finding") + "."
		}
		f.add("failed", jobTitle(j), jobAddress(j.ID), text, templates.Link{Text: "Look at job", Href: jobAddress(j.ID)})
	}
	if more {
		f.add("failed", "More jobs", "/jobs", "have failed within the last day than are told here.", templates.Link{Text: "All jobs", Href: "/jobs"})
	}
	open, err := d.svc.OpenJobs(ctx, findJobs)
	if err != nil {
		f.failed("Jobs", failure(r, err, r.URL.RequestURI()))
		return
	}
	for _, j := range open {
		f.openJob(j, now)
	}
	if len(open) == findJobs {
		f.add("unfinished", "More jobs", "/jobs", "are open than were looked at: the "+grouped(int64(findJobs))+" oldest.", templates.Link{Text: "All jobs", Href: "/jobs"})
	}
}

// openJob says of a job that has not ended that it goes no further.
func (f *findings) openJob(j alloc.Job, now time.Time) {
	still := now.Sub(j.Updated)
	say := func(kind, text string) {
		f.add(kind, jobTitle(j), jobAddress(j.ID), text, templates.Link{Text: "Look at job", Href: jobAddress(j.ID)})
	}
	switch {
	case j.State == alloc.JobDamaged:
		f.add("failed", jobTitle(j), "/jobs", "has a record that cannot be read; it expires by itself a week after it was made.", templates.Link{Text: "All jobs", Href: "/jobs"})
	case j.State == alloc.JobReceiving && still >= waitsAfter:
		say("unfinished", "has waited for its file for "+duration(still)+": send the rest and start it, or cancel it.")
	case j.State != alloc.JobReceiving && still >= standsAfter:
		text := "has gone no further for " + duration(still) + ", at " + jobRow(j, now).Done + "."
		if n := len(j.Log); j.Tries > 0 && n > 0 {
			text += " " + sentence(j.Log[n-1].Text)
		}
		say("unfinished", text)
	}
}

// healthy is the line that stands where nothing needs a person.
func (d *dashboard) healthy(b alloc.Board, what string, now time.Time) templates.Verdict {
	return templates.Verdict{Tone: templates.ToneGood, Word: "Healthy", Text: fmt.Sprintf("Nothing needs a person: %s. The schedule ran %s ago.", what, duration(now.Sub(b.At)))}
}
