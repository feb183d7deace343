package admin

import (
	"context"
	"net/http"
	"time"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
)

// What a source says in words, with its tone: of the counter, by which a sequence stands or stops, and of what is kept beside it.
var sayings = map[alloc.Saying]struct {
	counter, beside templates.Tone
	text            string
}{
	alloc.SaysOK:         {templates.ToneGood, templates.ToneGood, "ok"},
	alloc.SaysBehind:     {templates.ToneBad, templates.ToneWarn, "behind"},
	alloc.SaysMissing:    {templates.ToneBad, templates.ToneWarn, "missing"},
	alloc.SaysUnreadable: {templates.ToneWarn, templates.ToneWarn, "unreadable"},
	alloc.SaysNothing:    {templates.ToneOff, templates.ToneOff, "none"},
}

// sequenceEvidence is what each source says of a sequence that no rebuild has frozen, and what there is to say of all of them.
func (d *dashboard) sequenceEvidence(r *http.Request, name alloc.SequenceName) (panel templates.EvidencePanel, note string, wrong bool) {
	panel = templates.EvidencePanel{Title: "What each source says", Sub: "read now, and nothing is frozen", Value: "Highest number", Read: true}
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	e, err := d.svc.SequenceEvidence(ctx, name)
	if err != nil {
		panel.Failure = failure(r, err, r.URL.RequestURI())
		return panel, "What the sources say could not be read. A rebuild can be begun all the same: it freezes the sequence, and reads them again.", true
	}
	if e.Known {
		panel.Sub = "the sequence is " + string(e.State) + "; nothing is frozen for this look"
	}
	unread := false
	for _, s := range e.Sources {
		row := sourceRow(s.Source, d.now())
		row.Read = clock(s.Read, d.now())
		say := sayings[s.Says]
		if row.State = (templates.State{Tone: say.beside, Text: say.text}); s.Kind == alloc.SourceCounter {
			row.State.Tone = say.counter
		}
		if s.Err != nil {
			_, detail := web.Explain(r.Context(), s.Err)
			row.Note, unread = sentence(detail), true
		}
		wrong = wrong || row.State.Tone == templates.ToneBad || row.State.Tone == templates.ToneWarn
		panel.Rows = append(panel.Rows, row)
	}
	audit, bad := d.lastAudit(r, func(j alloc.Job) bool { return j.Spec.Sequence == name })
	panel.Rows = append(panel.Rows, audit)
	return panel, evidenceNote(e, wrong, unread), wrong || bad
}

func evidenceNote(e alloc.SequenceEvidence, wrong, unread bool) string {
	switch {
	case e.Fault != "":
		return sentence(e.Fault) + " A rebuild freezes the sequence, reads all of its ledger, and puts the counter above every number that any source says is used."
	case unread:
		return "Not every source could be read. Look again before a rebuild is begun, unless the sequence has to be frozen now."
	case wrong:
		return "The counter stands where it must, and something that is kept beside it does not. Verify the sequence first: a rebuild may not be needed."
	}
	return "Nothing speaks for a rebuild: the counter stands above all that is known. It is for a sequence that has stopped, or after a restore from a backup."
}

// sourceRow is what a source says of numbers.
func sourceRow(s alloc.Source, now time.Time) templates.SourceRow {
	row := templates.SourceRow{Name: sourceNames[s.Kind], Note: s.Note, Unknown: !s.Known}
	if s.Known {
		row.Last = grouped(s.Last)
	}
	if !s.At.IsZero() {
		row.AsOf = clock(s.At, now)
	}
	return row
}

// plannedSays is what a source of a plan says beside the others: the highest decides where the floor is.
func plannedSays(s alloc.Source, all []alloc.Source) templates.State {
	var top alloc.Number
	for _, other := range all {
		if other.Known {
			top = max(top, other.Last)
		}
	}
	switch {
	case !s.Known && s.Kind == alloc.SourceCounter && s.Note != "":
		return templates.State{Tone: templates.ToneBad, Text: "missing"}
	case !s.Known:
		return templates.State{Tone: templates.ToneOff, Text: "none"}
	case s.Last == top:
		return templates.State{Tone: templates.ToneGood, Text: "highest"}
	case s.Kind == alloc.SourceCounter:
		return templates.State{Tone: templates.ToneBad, Text: "behind"}
	}
	return templates.State{Tone: templates.ToneGood, Text: "lower"}
}

// auditsBack is how many of the newest jobs are looked at for a verification.
const auditsBack = 100

// lastAudit is what the last verification has found, among the newest jobs. bad says that it has found something.
func (d *dashboard) lastAudit(r *http.Request, of func(alloc.Job) bool) (row templates.SourceRow, bad bool) {
	now := d.now()
	row = templates.SourceRow{Name: "Last verification", Unknown: true, Read: clock(now, now)}
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	jobs, _, err := d.svc.Jobs(ctx, "", auditsBack)
	if err != nil {
		_, detail := web.Explain(r.Context(), err)
		row.State, row.Note = templates.State{Tone: templates.ToneWarn, Text: "unreadable"}, sentence(detail)
		return row, false
	}
	for _, j := range jobs {
		if j.Kind != alloc.JobAudit || !of(j) {
			continue
		}
		row.State, row.Href, row.AsOf = jobState(j), jobAddress(j.ID), clock(j.Updated, now)
		row.Note = counted(int(j.Tally.Findings), "finding") + ", " + row.AsOf.Text
		return row, j.Verdict == alloc.VerdictFindings
	}
	row.State, row.Note = templates.State{Tone: templates.ToneOff, Text: "none"}, "none that you may see among the newest "+grouped(int64(auditsBack))+" jobs"
	return row, false
}

// poolEvidence is how a pool stands at a glance.
func (d *dashboard) poolEvidence(r *http.Request, name alloc.PoolName) *templates.EvidencePanel {
	now := d.now()
	panel := &templates.EvidencePanel{Title: "What is seen at a glance", Sub: "read now; a verification looks at each ID", Read: true}
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	e, err := d.svc.PoolEvidence(ctx, name)
	audit, _ := d.lastAudit(r, func(j alloc.Job) bool { return j.Pool == name })
	if err != nil {
		panel.Failure, panel.Rows = failure(r, err, r.URL.RequestURI()), []templates.SourceRow{audit}
		return panel
	}
	there := func(what string, is bool) {
		row := templates.SourceRow{Name: what, Read: clock(now, now), State: templates.State{Tone: templates.ToneGood, Text: "ok"}}
		if !is {
			row.State = templates.State{Tone: templates.ToneBad, Text: "missing"}
		}
		panel.Rows = append(panel.Rows, row)
	}
	there("Head of the queue", e.Head)
	there("Configuration", e.Configured)
	panel.Rows = append(panel.Rows, chunksRow(e, now), claimsRow(e, now), audit)
	return panel
}

// chunksRow is what there is of the queue, with what is seen to be lost of it.
func chunksRow(e alloc.PoolEvidence, now time.Time) templates.SourceRow {
	row := templates.SourceRow{Name: "Chunks of the queue", Read: clock(now, now), State: templates.State{Tone: templates.ToneGood, Text: "ok"}}
	if e.Published > 0 {
		row.Note = grouped(e.Published) + " were published. "
	}
	for _, damage := range e.Damage {
		row.Note += sentence(damage) + " "
	}
	if len(e.Damage) > 0 {
		row.State = templates.State{Tone: templates.ToneBad, Text: "damaged"}
	}
	return row
}

// claimsRow says who is served now, and what a rebuild that is on has paused.
func claimsRow(e alloc.PoolEvidence, now time.Time) templates.SourceRow {
	row := templates.SourceRow{Name: "Claims", Read: clock(now, now)}
	switch {
	case e.Rebuilding != "":
		row.State, row.Href = templates.State{Tone: templates.ToneWarn, Text: "rebuilding"}, jobAddress(e.Rebuilding)
		row.Note = "A rebuild is on: claims are served out of memory alone; seeding, refill and sweeps wait for its end."
	case !e.Head:
		row.State, row.Note = templates.State{Tone: templates.ToneBad, Text: "refused"}, "Nothing is leased any more; claims are served out of memory alone, until the pool is rebuilt."
	case e.Pool.State == alloc.PoolActive:
		row.State, row.Note = templates.State{Tone: templates.ToneGood, Text: "served"}, "Nothing is paused."
	default:
		row.State, row.Note = templates.State{Tone: templates.ToneOff, Text: string(e.Pool.State)}, "The pool stays so after a rebuild."
	}
	return row
}
