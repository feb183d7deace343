package admin

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
)

// rebuildSteps are the steps of a sequence's rebuild in words, with what comes next.
var rebuildSteps = []struct {
	step alloc.RebuildStep
	text string
	next string
}{
	{alloc.RebuildGathering, "Freeze and gather", "The sequence is frozen, and its ledger is being read. The schedule goes on with it; so does whoever presses the button."},
	{alloc.RebuildPlanned, "Plan", "Look at what each source says and at the plan. Nothing is changed before it is applied; until then nobody gets a number."},
	{alloc.RebuildApplied, "Apply and verify", "The counter stands where the plan says, and is being held against the whole ledger. The schedule goes on with it; so does whoever presses the button."},
	{alloc.RebuildVerified, "Resume", "The counter is verified. Nobody is served yet: let a share of the callers in first, then all."},
	{alloc.RebuildResuming, "Serve all", "A share of the callers is served. Watch for a while, then serve all."},
	{alloc.RebuildDone, "Done", "It is over."},
}

func rebuildAddress(name alloc.SequenceName) string { return sequenceAddress(name) + "/rebuild" }

// rebuildPage is the last rebuild of a sequence, or the place to begin one.
func (d *dashboard) rebuildPage(r *http.Request) (templ.Component, error) {
	name := alloc.SequenceName(r.PathValue("sequence"))
	p := templates.RebuildPage{Frame: d.liveFrame(r, "Rebuild "+string(name)), Back: templates.Link{Text: string(name), Href: sequenceAddress(name)}}
	b, err := d.svc.Rebuild(r.Context(), name)
	if alloc.Is(err, alloc.CodeRebuildStep) { // there never was one
		b, err = alloc.Rebuild{Sequence: name}, nil
	}
	if err != nil {
		return nil, err
	}
	now := d.now()
	p.Steps, p.Note = stepMarks(b)
	p.Buttons = d.rebuildButtons(r, b)
	for _, s := range b.Sources {
		row := templates.SourceRow{Name: sourceNames[s.Kind], Note: s.Note, Unknown: !s.Known}
		if s.Known {
			row.Last = grouped(s.Last)
		}
		if !s.At.IsZero() {
			row.Read = clock(s.At, now)
		}
		p.Sources = append(p.Sources, row)
	}
	if b.Plan.ID != "" {
		p.Plan, p.Warnings = planFacts(b), b.Warnings()
	}
	if b.Version > 0 {
		p.Facts = []templates.Fact{
			{Term: "By", Value: string(b.By)},
			{Term: "Why", Value: b.Why},
			{Term: "Begun", Time: clock(b.Started, now)},
			{Term: "Was before", Value: string(b.Was)},
			{Term: "Leases read", Value: grouped(b.Ledger.Entries), Note: ledgerNote(b.Ledger)},
		}
		if len(b.Tested) > 0 {
			p.Facts = append(p.Facts, templates.Fact{
				Term: "Test numbers", Value: grouped(b.Tested[0]) + " to " + grouped(b.Tested[len(b.Tested)-1]), Mono: true, Note: "leased for the verification, and burned",
			})
		}
		if b.Step == alloc.RebuildResuming {
			p.Facts = append(p.Facts, templates.Fact{Term: "Served", Value: strconv.Itoa(b.Share) + " % of the callers"})
		}
	}
	for _, e := range slices.Backward(b.Log) {
		p.Log = append(p.Log, templates.Fact{Time: clock(e.At, now), Value: e.Text})
	}
	return templates.Rebuild(p), nil
}

func stepMarks(b alloc.Rebuild) (marks []templates.StepMark, note string) {
	at := slices.IndexFunc(rebuildSteps, func(s struct {
		step alloc.RebuildStep
		text string
		next string
	},
	) bool {
		return s.step == b.Step
	})
	for i, s := range rebuildSteps {
		m := templates.StepMark{Text: s.text}
		switch {
		case i < at, b.Step == alloc.RebuildDone:
			m.Is = "done"
		case i == at:
			m.Is = "now"
		}
		marks = append(marks, m)
	}
	switch {
	case b.Step == alloc.RebuildCancelled:
		return marks, "The last rebuild was cancelled before it was applied: the sequence is as it was before."
	case at < 0:
		return marks, "A rebuild puts the counter above every number that any source says is used. It is for a sequence that has stopped, or after a restore from a backup. Each step is stored, and can be carried on by anybody."
	}
	return marks, rebuildSteps[at].next
}

var sourceNames = map[alloc.SourceKind]string{
	alloc.SourceCounter: "Counter", alloc.SourceLedger: "Lease ledger, highest end", alloc.SourceReported: "Reported", alloc.SourceMark: "High-water mark",
	alloc.SourceSamples: "Samples", alloc.SourceRebuild: "The rebuild before", alloc.SourceWindow: "Window since the backup",
}

func planFacts(b alloc.Rebuild) []templates.Fact {
	p := b.Plan
	return []templates.Fact{
		{Term: "Floor", Value: grouped(p.Floor), Mono: true, Note: "lowest number that no source says is used"},
		{Term: "Margin", Value: grouped(b.Margin)},
		{Term: "Next number", Value: grouped(p.Next), Mono: true},
		{Term: "Burned", Value: grouped(p.Burned), Note: "numbers that nobody gets"},
		{Term: "Left after it", Value: grouped(b.Left())},
		{Term: "Epoch", Value: strconv.FormatInt(int64(b.Epoch), 10) + " → " + strconv.FormatInt(int64(p.Epoch), 10), Note: "numbers leased before stay valid"},
		{Term: "Plan", Value: p.ID, Mono: true},
	}
}

func ledgerNote(l alloc.LedgerSum) (note string) {
	if l.Unproven > 0 {
		note = grouped(l.Unproven) + " of them never proven"
	}
	if l.Damaged > 0 {
		note += ", and " + grouped(l.Damaged) + " that cannot be read"
	}
	return note
}

// rebuildButtons are the steps that come next, for who may take them.
func (d *dashboard) rebuildButtons(r *http.Request, b alloc.Rebuild) (buttons []templates.Link) {
	if d.readOnly || !may(r, alloc.ActionManage, string(b.Sequence)) {
		return nil
	}
	add := func(text, segment string) {
		buttons = append(buttons, templates.Link{Text: text, Href: rebuildAddress(b.Sequence) + "/" + segment, Main: len(buttons) == 0})
	}
	switch b.Step {
	case alloc.RebuildGathering:
		add("Read on", "plan?review=1")
		add("Cancel rebuild", "cancel")
	case alloc.RebuildPlanned:
		add("Apply plan", "apply")
		add("Make another plan", "plan")
		add("Cancel rebuild", "cancel")
	case alloc.RebuildApplied:
		add("Verify on", "apply")
		add("Make another plan", "plan")
	case alloc.RebuildVerified, alloc.RebuildResuming:
		add("Serve callers", "resume")
		add("Make another plan", "plan")
	default:
		add("Begin rebuild", "plan")
	}
	return buttons
}
