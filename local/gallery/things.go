package gallery

import (
	"strconv"

	"github.com/a-h/templ"

	"idpool/templates"
)

func pool(s sample) templ.Component {
	p := templates.PoolPage{
		Frame: s.live(s.name("voucher-spring", 1)), Description: s.text("text codes, imported"), Row: s.poolRow(1),
		Buttons: s.buttons("Pause pool", "Seed pool", "Edit pool", "Delete pool"), Facts: s.facts(), Forecast: s.forecast(),
		Ranges: []templates.Link{{Text: "24 hours", Href: Prefix, Current: true}, {Text: "7 days", Href: Prefix}},
		Chart:  s.chart(), ChartFailure: s.failure(), Recent: s.recent(), Trail: s.trailPart(),
	}
	return templates.Pool(p)
}

func (s sample) forecast() templates.ForecastPanel {
	return templates.ForecastPanel{
		Lasts: s.text("2 days"), Failure: s.failure(),
		Burns: []templates.Fact{{Term: "Last hour", Value: "61 an hour"}, {Term: "Last day", Value: s.number("1,204"), Note: "more than it gets"}},
	}
}

func (s sample) chart() templates.Chart {
	c := templates.Chart{Title: "Available IDs over time", Label: "From 1,400 to 640 in 24 hours, at least 120", Head: []string{"Time (UTC)", "Available"}}
	if s.state == Empty {
		c.Empty = "There are no samples yet: the schedule takes one a minute."
		return c
	}
	c.Line = "0,20 120,60 200,110 300,150 310,40 400,80 540,120"
	c.Area = c.Line + " 540,200 0,200"
	if s.state != One {
		c.Ahead, c.Now = "540,120 660,200 720,200 720,190", "540"
	}
	c.Rules = []templates.Rule{{Y: "170", Text: "low 250", Tone: templates.ToneBad}, {Y: "60", Text: "target 1,000", Tone: templates.ToneGood}}
	c.Ticks = []templates.Tick{{At: "0", Text: "14:00"}, {At: "360", Text: "02:00"}, {At: "720", Text: "14:00"}}
	c.Steps = []templates.Tick{{At: "200", Text: "0"}, {At: "100", Text: s.number("750")}, {At: "0", Text: s.number("1,500")}}
	c.Events = []templates.Event{{X: "310", Y: "40", Text: s.text("refilled with 800")}}
	for n := range 24 {
		c.Rows = append(c.Rows, []string{strconv.Itoa(n) + ":00", s.number("1,400")})
	}
	return c
}

func inspect(s sample) templ.Component {
	p := templates.IDPage{Frame: s.frame("ID of " + s.name("voucher-spring", 1)), Pool: s.name("voucher-spring", 1), Back: Prefix, Path: Prefix}
	switch s.state {
	case Empty:
	case Error:
		p.Text, p.Missing = "SPRING-9", "There is no such ID in this pool. Upper and lower case count."
	default:
		p.Text, p.State, p.Facts = s.id(1), of(0, tones...), s.facts()
		p.Buttons, p.Trail = s.buttons("Release ID", "Retire ID"), s.trailPart()
	}
	return templates.Inspect(p)
}

func oneSequence(s sample) templ.Component {
	return templates.Sequence(templates.SequencePage{
		Frame: s.live(s.name("invoice-de", 1)), Description: s.text("invoices, Germany"), Row: s.sequenceRow(1),
		Buttons: s.buttons("Pause sequence", "Rebuild sequence", "Edit sequence"), Facts: s.facts(), Forecast: s.forecast(), Trail: s.trailPart(),
		Leases: templates.LeasesPanel{Paging: s.paging(), Failure: s.failure(), Rows: rows(s, func(n int) templates.LeaseRow {
			return templates.LeaseRow{
				Start: s.number("909,001"), End: s.number("910,000"), Count: s.number("1,000"), Gap: of(n, "", "17"), By: s.name("shop-eu", n),
				At: at("13:40:00"), Epoch: "3",
			}
		})},
	})
}

var rebuildSteps = []string{"Evidence", "Freeze", "Sources", "Plan and confirm", "Apply", "Verify", "Resume"}

func rebuild(s sample) templ.Component {
	name := s.name("invoice-de", 1)
	p := templates.RebuildPage{
		Frame: s.live("Rebuild " + name), Back: templates.Link{Text: name, Href: Prefix}, Failure: s.failure(),
		Steps: marks(0, rebuildSteps...), Note: s.text("Its counter is lost or damaged."), Buttons: s.buttons("Begin rebuild", "Read again"),
	}
	switch s.state {
	case Empty, Error, ReadOnly:
		p.Evidence = &templates.EvidencePanel{Title: "What each source says", Sub: "the sequence is stopped", Value: "Highest number", Read: true, Failure: s.failure(), Rows: []templates.SourceRow{
			{Name: "Counter", Unknown: true, Note: s.text("it is lost, or cannot be read"), Read: at("14:06:00"), State: templates.State{Tone: templates.ToneBad, Text: "missing"}},
			{Name: "Highest lease", Last: s.number("910,000"), AsOf: at("14:05:12"), Read: at("14:06:00"), State: templates.State{Tone: templates.ToneGood, Text: "ok"}},
			{Name: "High-water mark", Unknown: true, Note: "The engine did not answer.", Read: at("14:06:00"), State: templates.State{Tone: templates.ToneWarn, Text: "unreadable"}},
			{Name: "Samples", Unknown: true, Read: at("14:06:00"), State: templates.State{Tone: templates.ToneOff, Text: "none"}},
			{Name: "Last verification", Href: Prefix, Unknown: true, Note: "3 findings", AsOf: at("13:00:00"), State: templates.State{Tone: templates.ToneBad, Text: "done, with findings"}},
		}}
		return templates.Rebuild(p)
	}
	p.Steps, p.Sub = marks(3, rebuildSteps...), "begun by "+s.name("admin", 0)+", 14:06:00 UTC"
	p.Note, p.Buttons, p.Facts, p.Plan = s.text("Look at what each source says and at the plan."), s.buttons("Apply plan", "Cancel rebuild"), s.facts(), s.facts()
	p.Warnings = []string{s.text("The log could not be read to its end."), "101 numbers are burned."}
	p.Sources = &templates.EvidencePanel{Title: "What each source said", Sub: "read while the sequence was frozen", Value: "Highest number", Rows: rows(s, func(n int) templates.SourceRow {
		return templates.SourceRow{
			Name: of(n, "Counter", "Lease ledger, highest end", "High-water mark"), Last: s.number("910,000"), Note: s.text("read to its end"), AsOf: at("14:06:00"), Unknown: n == 0,
			State: templates.State{Tone: of(n, templates.ToneBad, templates.ToneGood), Text: of(n, "missing", "highest", "lower")},
		}
	})}
	p.Log = s.log()
	return templates.Rebuild(p)
}

func (s sample) log() []templates.Fact {
	return rows(s, func(n int) templates.Fact {
		return templates.Fact{Time: at("14:0" + strconv.Itoa(n) + ":00"), Value: s.text("read 10,000 leases")}
	})
}

func job(s sample) templ.Component {
	p := templates.JobPage{
		Frame: s.live("Seed " + s.name("voucher-spring", 1)), Row: s.jobRow(0), Buttons: s.buttons("Cancel job"), Facts: s.facts(), Log: s.log(), Trail: s.trailPart(),
		HowFar: "61.0 %, 40 s left",
		Tally:  []templates.Fact{{Term: "Added", Value: s.number("30,480")}, {Term: "Invalid", Value: "20", Note: s.text("lines 12 and 14")}},
	}
	switch s.state {
	case Empty:
		p.Tally, p.Row.Max, p.Row.Why = nil, "", ""
	case Error:
		p.Row, p.Failure = s.jobRow(1), "The file has no column named id; name it by column=code."
	default:
		p.Results.Files, p.ResultNote = []templates.Link{{Text: "File 1 of 2", Href: Prefix}, {Text: "File 2 of 2", Href: Prefix}}, "what was not added, and why"
	}
	return templates.Job(p)
}
