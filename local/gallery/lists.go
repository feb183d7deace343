package gallery

import (
	"strconv"

	"github.com/a-h/templ"

	"idpool/templates"
)

// tones are the states that a pool or a sequence can be in.
var tones = []templates.State{
	{Tone: templates.ToneGood, Text: "active"},
	{Tone: templates.ToneWarn, Text: "low"},
	{Tone: templates.ToneBad, Text: "exhausted"},
	{Tone: templates.ToneOff, Text: "paused"},
}

func overview(s sample) templ.Component {
	o := templates.Overview{
		Frame: s.live("Overview"), Sub: "6 pools, 6 sequences", Pools: poolLines(s), Sequences: sequenceLines(s),
		Jobs: templates.JobsPanel{Rows: rows(s, s.jobRow), Failure: s.failure()}, Trail: templates.TrailPanel{Rows: rows(s, s.trailRow), Failure: s.failure()},
	}
	switch s.state {
	case Empty:
		o.Sub = ""
	case One:
		o.Verdicts = []templates.Verdict{{Tone: templates.ToneGood, Word: "Healthy", Text: "Nothing needs a person: 1 pool, 1 sequence. The schedule ran 40 s ago."}}
	case Error:
		o.Verdicts = []templates.Verdict{{Tone: templates.ToneWarn, Word: "Schedule", Problem: s.failure()}}
	default:
		o.Verdicts = s.verdicts()
	}
	if s.state == ReadOnly {
		o.Trail = templates.TrailPanel{Hidden: true}
	}
	return templates.Home(o)
}

// verdicts are one of each look.
func (s sample) verdicts() []templates.Verdict {
	of := func(names ...int) (links []templates.Link) {
		for _, n := range names {
			links = append(links, templates.Link{Text: s.name("voucher-spring", n), Href: Prefix})
		}
		return links
	}
	return []templates.Verdict{
		{Tone: templates.ToneBad, Word: "Exhausted", Of: of(0), Text: "has nothing left to claim. " + s.text("Its generator can make no more."), Help: templates.Link{Text: "Seed pool", Href: Prefix}},
		{Tone: templates.ToneWarn, Word: "Schedule", Text: "The schedule last ran 40 min ago, at 13:27:31 UTC: forecasts and counts are as of then."},
		{Tone: templates.ToneWarn, Word: "Low", Of: of(1, 2, 3), Text: "and 12 more are below their low mark.", Help: templates.Link{Text: "Low pools", Href: Prefix}},
	}
}

func pools(s sample) templ.Component {
	return templates.Pools(templates.PoolsPage{
		Frame: s.live("Pools"), Buttons: s.buttons("Create pool"), Fields: s.filters(), Note: s.note(), Panel: poolLines(s), Clear: Prefix,
	})
}

func poolLines(s sample) templates.LinesPanel {
	p := templates.LinesPanel{Rows: rows(s, s.poolLine), Paging: s.paging(), Failure: s.failure()}
	if s.state == Many {
		p.Rows = append(p.Rows, templates.PoolLine{
			Name: "strange", State: templates.State{Tone: templates.ToneBad, Text: "level unknown"}, Unknown: "The engine did not answer.",
		})
	}
	return p
}

func (s sample) poolLine(n int) templates.PoolLine {
	row := s.poolRow(n)
	line := templates.PoolLine{
		Name: row.Name, Description: row.Description, State: row.State, Why: row.Why, Available: row.Available, Claimed: row.Claimed,
		Level: templates.Level{Free: of(n, "115.5", "1.9", "0", "5"), Held: of(n, "120", "", "", "9"), Marks: of(n, []string{"30"}, nil), Tone: row.State.Tone, Label: row.Meter.Label},
		Spark: templates.Spark{Points: "0,2 40,8 80,15 112,20", X: "112", Y: "20", Label: "last 24 hours: from 12,000 to 9,120, at least 9,120, at most 12,000"},
		Burn:  s.count("120"), Day: s.count("95"), Lasts: of(n, "3 d 4 h", "40 min", "–", "never"), Held: of(n, s.count("12"), ""),
	}
	if n == 2 {
		line.Spark, line.Burn, line.Day = templates.Spark{Label: "no samples yet"}, "–", ""
	}
	return line
}

func (s sample) poolRow(n int) templates.PoolRow {
	state := of(n, tones...)
	free := of(n, "9120", "150", "0", "400")
	row := templates.PoolRow{
		Name: s.name("voucher-spring", n), Description: s.text("text codes, imported"), State: state,
		Meter:     templates.Meter{Value: free, Max: "12000", Label: free + " of 12,000 available", Tone: state.Tone},
		Available: of(n, "9,120", "150", "0", "400"), Claimed: s.count("2,868"), Seeded: s.count("12,000"), Counted: at("14:07:00"),
	}
	switch n {
	case 1:
		row.Why, row.Marks, row.Others = s.text("all codes that there can be are in the pool"), "low 200, target 1,000", "12 held, 3 returning"
	case 2:
		row.Counted = templates.Time{}
	case 3:
		row.Counted.Stale = true
	}
	return row
}

func sequences(s sample) templ.Component {
	return templates.Sequences(templates.SequencesPage{
		Frame: s.live("Sequences"), Buttons: s.buttons("Create sequence"), Fields: s.filters(), Note: s.note(), Panel: sequenceLines(s),
	})
}

// filters are the fields of a list by the board.
func (s sample) filters() []templates.Field {
	return []templates.Field{
		{Kind: templates.FieldText, Name: "q", Label: "Part of the name", Value: s.text("spring")},
		{Kind: templates.FieldChoice, Name: "state", Label: "State", Options: []templates.Option{{Text: "any", Selected: true}, {Value: "low", Text: "low"}}},
	}
}

func (s sample) note() string {
	if s.state != Many {
		return ""
	}
	return "The schedule last ran 40 min ago: order and forecasts are as of then."
}

func sequenceLines(s sample) templates.SequenceLinesPanel {
	p := templates.SequenceLinesPanel{Paging: s.paging(), Failure: s.failure(), Rows: rows(s, func(n int) templates.SequenceLine {
		return templates.SequenceLine{Row: s.sequenceRow(n), Rate: s.count("120"), Day: of(n, s.count("95"), ""), Ends: of(n, "40 d", "–", "never")}
	})}
	if s.state == Many {
		p.Rows = append(p.Rows, templates.SequenceLine{
			Row: templates.SequenceRow{Name: "strange", State: templates.State{Tone: templates.ToneBad, Text: "position unknown"}}, Unknown: "The engine did not answer.",
		})
	}
	return p
}

func (s sample) sequenceRow(n int) templates.SequenceRow {
	state := of(n, tones...)
	row := templates.SequenceRow{
		Name: s.name("invoice-de", n), Description: s.text("invoices, Germany"), State: state,
		Meter: templates.Meter{Value: "0.91", Max: "1", Label: "91.0 % used", Tone: state.Tone}, Used: "91.0 %",
		Next: s.number("910,001"), Limit: s.number("9,999,999"), Epoch: strconv.Itoa(n + 1),
	}
	if n == 2 {
		row.Next = ""
	}
	return row
}

func jobs(s sample) templ.Component {
	return templates.Jobs(templates.JobsPage{Frame: s.live("Jobs"), Panel: templates.JobsPanel{
		Rows: rows(s, s.jobRow), Paging: s.paging(), Failure: s.failure(),
	}})
}

func (s sample) jobRow(n int) templates.JobRow {
	row := templates.JobRow{
		Title: "Seed " + s.name("voucher-spring", n), Href: Prefix, Why: s.text("codes of the spring campaign"),
		State: of(n,
			templates.State{Tone: templates.ToneGood, Text: "running"}, templates.State{Tone: templates.ToneBad, Text: "failed"},
			templates.State{Tone: templates.ToneOff, Text: "cancelled"}),
		Value: "30500", Max: "50000", Percent: "61 %", Done: "30,500 of 50,000", Left: "40 s left", By: s.name("admin", n), Failed: of(n, s.count("12"), ""), Started: at("14:01:20"),
	}
	if n == 1 {
		row.Max, row.Left, row.Href = "", "", ""
	}
	return row
}

func trail(s sample) templ.Component {
	p := templates.TrailPage{
		Frame: s.frame("Audit"), Clear: Prefix, Filtered: s.state == Error || s.state == Long,
		Fields: []templates.Field{
			{Kind: templates.FieldText, Name: "client", Label: "Who", Value: s.text("admin-1")},
			{Kind: templates.FieldChoice, Name: "result", Label: "Result", Options: []templates.Option{{Text: "any", Selected: true}, {Value: "refused", Text: "refused"}}},
			{Kind: templates.FieldText, Name: "from", Label: "From", Hint: "UTC, as 2026-11-29 14:00"},
		},
		Exports: []templates.Link{{Text: "CSV", Href: Prefix}, {Text: "JSON", Href: Prefix}},
		Rows:    rows(s, s.trailRow), Paging: s.paging(), Failure: s.failure(),
	}
	if s.state == Error {
		p.Problem = "From is no time: write it as 2026-11-29 14:00."
	}
	return templates.Trail(p)
}

func (s sample) trailRow(n int) templates.TrailRow {
	row := templates.TrailRow{
		At: at("13:55:0" + strconv.Itoa(n)), Client: s.name("admin", n), Action: of(n, "pool.pause", "sequence.rebuild", "credential.create"),
		Target: "pool/" + s.name("voucher-spring", n), Href: Prefix, Detail: s.text("version 3 to 4"), Reason: s.text("the campaign is over"),
		State: of(n, templates.State{Tone: templates.ToneGood, Text: "done"}, templates.State{Tone: templates.ToneBad, Text: "refused"}),
		Facts: s.facts(),
	}
	if n == 1 {
		row.Href, row.Reason = "", ""
	}
	return row
}

func credentials(s sample) templ.Component {
	return templates.Credentials(templates.CredentialsPage{
		Frame: s.frame("Credentials"), Buttons: s.buttons("Create credential"), Paging: s.paging(), Failure: s.failure(),
		Rows: rows(s, func(n int) templates.CredentialRow {
			row := templates.CredentialRow{
				Client: s.name("shop-eu", n), Href: Prefix, Description: s.text("the shops of Europe"),
				Scopes:  []string{"claim:" + s.name("voucher-spring", n), "lease:*", "read:*"},
				Created: at("09:00:00"), Used: at("13:55:00"), Expires: at("23:59:59"), State: of(n, tones...),
			}
			if n == 1 {
				row.Expires = templates.Time{Text: "never"}
			}
			return row
		}),
	})
}

func about(s sample) templ.Component {
	p := templates.AboutPage{
		Frame: s.frame("About"), Facts: s.facts(), Paging: s.paging(), Failure: s.failure(),
		Roles: []templates.RoleRow{{Name: "viewer", May: "look at everything"}, {Name: "admin", May: "change everything", Yours: true}},
		Sessions: rows(s, func(n int) templates.SessionRow {
			return templates.SessionRow{
				Name: s.text("Ada Lovelace"), Client: s.name("oidc", n), Role: "admin", Address: "2001:db8:85a3::8a2e:370:7334", Agent: s.text("Firefox on Linux"),
				Begun: at("08:00:00"), Seen: at("14:07:00"), Yours: n == 0, End: of(n, "", Prefix),
			}
		}),
	}
	if s.state == ReadOnly {
		p.Sessions, p.Hidden = nil, "Only an administrator sees the sessions of others."
	}
	return templates.About(p)
}

// facts are some of every kind.
func (s sample) facts() []templates.Fact {
	if s.state == Empty {
		return []templates.Fact{{Term: "State", Value: "active"}}
	}
	return []templates.Fact{
		{Term: "Description", Value: s.text("text codes, imported")},
		{Term: "ID", Value: s.id(1), Mono: true},
		{Term: "Pool", Value: s.name("voucher-spring", 1), Href: Prefix},
		{Term: "Created", Time: at("09:00:00")},
		{Term: "Next", Value: s.number("910,001"), Mono: true, Note: s.text("a note that says more")},
	}
}
