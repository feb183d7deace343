package admin

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
)

// rebuildSteps are the steps of a sequence's rebuild in words.
var rebuildSteps = []string{"Evidence", "Freeze", "Sources", "Plan and confirm", "Apply", "Verify", "Resume"}

// rebuildAt is where among them a rebuild is, with what comes next.
var rebuildAt = map[alloc.RebuildStep]struct {
	at   int
	next string
}{
	alloc.RebuildGathering: {2, "The sequence is frozen, and its ledger is being read. The schedule goes on with it; so does whoever presses the button."},
	alloc.RebuildPlanned:   {3, "Look at what each source says and at the plan. Nothing is changed before it is applied; until then nobody gets a number."},
	alloc.RebuildApplied:   {5, "The counter stands where the plan says, and is being held against the whole ledger. The schedule goes on with it; so does whoever presses the button."},
	alloc.RebuildVerified:  {6, "The counter is verified. Nobody is served yet: let a share of the callers in first, then all."},
	alloc.RebuildResuming:  {6, "A share of the callers is served, by client: one client is served wholly or not at all. Watch for a while that the numbers they get are above all that were used before, and that none is refused as a duplicate where it is stored; then serve all."},
	alloc.RebuildDone:      {len(rebuildSteps), "It is over."},
}

func rebuildAddress(name alloc.SequenceName) string { return sequenceAddress(name) + "/rebuild" }

// rebuildPage is the rebuild of a sequence at whatever step it is: before one is begun what speaks for it, then the one that is stored.
func (d *dashboard) rebuildPage(r *http.Request) (templ.Component, error) {
	name := alloc.SequenceName(r.PathValue("sequence"))
	p := templates.RebuildPage{Frame: d.liveFrame(r, "Rebuild "+string(name)), Back: templates.Link{Text: string(name), Href: sequenceAddress(name)}}
	b, err := d.rebuildAtHand(r)
	if err != nil && isGone(err) {
		return nil, err
	}
	if err != nil {
		p.Failure = failure(r, err, r.URL.RequestURI())
	}
	p.Steps, p.Note = stepMarks(b)
	if b.Step.Ended() {
		d.beforeRebuild(r, name, b, &p)
	}
	if err == nil {
		p.Buttons = append(d.rebuildButtons(r, b, p.Wrong), p.Buttons...)
		d.storedRebuild(b, &p)
	}
	return templates.Rebuild(p), nil
}

// isGone reports whether there is nothing to be shown to whoever asks.
func isGone(err error) bool {
	switch alloc.CodeOf(err) {
	case alloc.CodeSequenceNotFound, alloc.CodeSequenceDeleted, alloc.CodeForbidden, alloc.CodeUnauthenticated, alloc.CodeInvalidName:
		return true
	}
	return false
}

// beforeRebuild is the first step: what speaks for a rebuild, before anything is frozen. It is read when the page is asked for, and not by itself again.
func (d *dashboard) beforeRebuild(r *http.Request, name alloc.SequenceName, b alloc.Rebuild, p *templates.RebuildPage) {
	p.Frame.Refresh = templates.Refresh{}
	evidence, note, wrong := d.sequenceEvidence(r, name)
	p.Evidence, p.Wrong = &evidence, wrong
	if b.Step != alloc.RebuildDone || wrong {
		p.Note += note
	}
	p.Buttons = append(p.Buttons, templates.Link{Text: "Read again", Href: rebuildAddress(name)})
	if !d.readOnly && may(r, alloc.ActionManage, string(name)) {
		p.Buttons = append(p.Buttons, templates.Link{Text: "Verify sequence", Href: sequenceAddress(name) + "/verify"})
	}
}

// storedRebuild is what is stored of a rebuild: whoever comes finds the same, and may go on with it.
func (d *dashboard) storedRebuild(b alloc.Rebuild, p *templates.RebuildPage) {
	now := d.now()
	if b.Version == 0 {
		return
	}
	if !b.Step.Ended() {
		p.Sub = "begun by " + string(b.By) + ", " + clock(b.Started, now).Text + "; anyone who may manage the sequence can go on with it"
	}
	if len(b.Sources) > 0 {
		p.Sources = &templates.EvidencePanel{Title: "What each source said", Sub: "read while the sequence was frozen", Value: "Highest number"}
	}
	for _, s := range b.Sources {
		row := sourceRow(s, now)
		row.State = plannedSays(s, b.Sources)
		p.Sources.Rows = append(p.Sources.Rows, row)
	}
	if b.Plan.ID != "" {
		p.Plan, p.Warnings = planFacts(b), b.Warnings()
	}
	p.Facts = rebuildFacts(b, now)
	for _, e := range slices.Backward(b.Log) {
		p.Log = append(p.Log, templates.Fact{Time: clock(e.At, now), Value: e.Text})
	}
}

func rebuildFacts(b alloc.Rebuild, now time.Time) []templates.Fact {
	facts := []templates.Fact{
		{Term: "By", Value: string(b.By)},
		{Term: "Why", Value: b.Why},
		{Term: "Begun", Time: clock(b.Started, now)},
		{Term: "Last went on", Time: clock(b.Updated, now)},
		{Term: "Was before", Value: string(b.Was)},
		{Term: "Leases read", Value: grouped(b.Ledger.Entries), Note: ledgerNote(b.Ledger)},
	}
	if len(b.Tested) > 0 {
		facts = append(facts, templates.Fact{
			Term: "Test numbers", Value: grouped(b.Tested[0]) + " to " + grouped(b.Tested[len(b.Tested)-1]), Mono: true, Note: "leased for the verification, and burned",
		})
	}
	if b.Step == alloc.RebuildResuming {
		facts = append(facts, templates.Fact{Term: "Served", Value: strconv.Itoa(b.Share) + " % of the callers"})
	}
	return facts
}

func stepMarks(b alloc.Rebuild) (marks []templates.StepMark, note string) {
	step := rebuildAt[b.Step]
	for i, text := range rebuildSteps {
		m := templates.StepMark{Text: text}
		switch {
		case i < step.at:
			m.Is = "done"
		case i == step.at:
			m.Is = "now"
		}
		if i == 1 && m.Is == "done" {
			m.Text = "Frozen " + b.Started.UTC().Format("15:04")
		}
		marks = append(marks, m)
	}
	if b.Step == alloc.RebuildCancelled {
		note = "The last rebuild was cancelled before it was applied: the sequence is as it was before. "
	}
	return marks, note + step.next
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
		{Term: "Epoch", Value: epochWords(b.Epoch) + " → " + strconv.FormatInt(int64(p.Epoch), 10), Note: "numbers leased before stay valid"},
		{Term: "Plan", Value: p.ID, Mono: true},
	}
}

func epochWords(e alloc.Epoch) string {
	if e == 0 {
		return "lost"
	}
	return grouped(e)
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

// rebuildButtons are the steps that come next, for who may take them. wrong says that something speaks for a rebuild.
func (d *dashboard) rebuildButtons(r *http.Request, b alloc.Rebuild, wrong bool) (buttons []templates.Link) {
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
		buttons[0].Main = wrong // else nothing speaks for it
	}
	return buttons
}
