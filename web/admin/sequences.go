package admin

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
	"idpool/web/admin/plan"
)

var sequenceSteps = []stateStep[alloc.SequenceState]{
	{segment: "pause", need: alloc.ActionOperate, to: alloc.SequencePaused, button: "Pause sequence", title: "Pause the sequence %s", done: "sequence-paused", method: http.MethodPost, effect: []string{
		"Leases are refused with sequence_paused until somebody resumes it.",
		"Numbers that environments have leased already, to answer next from memory, may still be given for up to 30 seconds.",
	}},
	{segment: "resume", need: alloc.ActionOperate, to: alloc.SequenceActive, button: "Resume sequence", title: "Resume the sequence %s", done: "sequence-resumed", method: http.MethodPost, effect: []string{
		"Leases are served again, in every environment within 30 seconds.",
	}},
	{segment: "delete", need: alloc.ActionManage, to: alloc.SequenceDeleted, button: "Delete sequence", title: "Delete the sequence %s", done: "sequence-deleted", danger: true, method: http.MethodDelete, effect: []string{
		"Nobody can lease a number of it any more. This cannot be undone.",
		"Its name stays taken for ever, so that no number of it can ever be handed out a second time.",
	}},
}

// sequenceActions are the steps that can be taken with one sequence.
func (d *dashboard) sequenceActions() []action {
	var all []action
	for _, s := range sequenceSteps {
		all = append(all, action{
			path: "/sequences/{sequence}/" + s.segment, verb: "sequence." + s.segment, need: s.need,
			propose: func(r *http.Request) (proposal, error) { return d.proposeSequenceState(r, s) },
			carry: func(ctx context.Context, p plan.Plan, _ asked, _ alloc.Attempt) (outcome, error) {
				name := alloc.SequenceName(p.Name)
				if _, err := d.svc.SetSequenceState(ctx, name, p.Version, s.to); err != nil {
					return outcome{}, err
				}
				if s.to == alloc.SequenceDeleted {
					return outcome{Location: "/sequences", Done: s.done}, nil
				}
				return outcome{Location: sequenceAddress(name), Done: s.done}, nil
			},
		})
	}
	return all
}

func (d *dashboard) proposeSequenceState(r *http.Request, s stateStep[alloc.SequenceState]) (proposal, error) {
	q, err := d.svc.Sequence(r.Context(), alloc.SequenceName(r.PathValue("sequence")))
	if err != nil {
		return proposal{}, err
	}
	switch err := q.CheckTo(s.to); {
	case alloc.Is(err, alloc.CodeSequenceActive):
		return proposal{}, first(r, err, string(q.Name), sequenceAddress(q.Name), sequenceSteps, "pause")
	case err != nil:
		return proposal{}, err
	}
	return s.propose(string(q.Name), "/v1"+sequenceAddress(q.Name), q.Version, proposal{
		target: "sequence/" + string(q.Name), facts: sequenceFacts(q), back: sequenceAddress(q.Name),
	}), nil
}

// sequenceFacts are what a page of confirmation says of a sequence.
func sequenceFacts(q alloc.Sequence) []templates.Fact {
	next := grouped(q.Next)
	if !hasPosition(q) {
		next = notKnown
	}
	return []templates.Fact{
		{Term: "Sequence", Value: string(q.Name), Href: sequenceAddress(q.Name)},
		{Term: "State", Value: string(q.State)},
		{Term: "Next", Value: next, Mono: next != notKnown},
		{Term: "Limit", Value: grouped(q.Config.Limit), Mono: true},
		{Term: "Epoch", Value: grouped(q.Epoch)},
		{Term: "Version", Value: strconv.FormatInt(int64(q.Version), 10)},
	}
}

// sequencesPage is the list of sequences.
func (d *dashboard) sequencesPage(r *http.Request) (templ.Component, error) {
	if err := web.RequireCaller(r); err != nil {
		return nil, err
	}
	q := listQuery{values: r.URL.Query(), path: "/sequences"}
	query, fields := boardQuery(r, q, alloc.BoardSequenceStates())
	p := templates.SequencesPage{
		Frame: d.liveFrame(r, "Sequences"), Buttons: d.createButton(r, "sequence"), Fields: fields, Clear: "/sequences", Filtered: query.Text != "" || query.State != "",
	}
	p.Note, p.Panel = d.sequencesBy(r, query, q)
	return templates.Sequences(p), nil
}

// sequencesBy is a page of the list, with what there is to say of all of it.
func (d *dashboard) sequencesBy(r *http.Request, query alloc.BoardQuery, q listQuery) (note string, panel templates.SequenceLinesPanel) {
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	b, err := d.svc.Board(ctx)
	if err != nil {
		return "", templates.SequenceLinesPanel{Failure: failure(r, err, r.URL.RequestURI())}
	}
	sequences, next, err := d.svc.SequencesBy(ctx, b, query, q.cursor(afterSequence), q.limit())
	if err != nil {
		return "", templates.SequenceLinesPanel{Failure: failure(r, err, again(r, afterSequence, err))}
	}
	for _, one := range sequences {
		panel.Rows = append(panel.Rows, sequenceLine(ctx, one, d.now()))
	}
	panel.Paging = boardPaging(r, afterSequence, next)
	return boardNote(b, d.now()), panel
}

// sequenceLine shows one sequence at the time now.
func sequenceLine(ctx context.Context, q alloc.SequenceSeen, now time.Time) templates.SequenceLine {
	line := templates.SequenceLine{Row: sequenceRow(q, now), Ends: briefly(q.Now().Forecast())}
	if line.Row.Limit == notKnown {
		line.Row.Limit = ""
	}
	if q.Err != nil {
		_, detail := web.Explain(ctx, q.Err)
		line.Unknown = sentence(detail)
		return line
	}
	line.Rate, line.Day = burnWords(q.Board.Burns)
	return line
}

// afterLease is where in the query the ledger goes on.
const afterLease = "leases_after"

// sequencePage is one sequence.
func (d *dashboard) sequencePage(r *http.Request) (templ.Component, error) {
	name := alloc.SequenceName(r.PathValue("sequence"))
	q, err := d.svc.Sequence(r.Context(), name)
	if alloc.Is(err, alloc.CodeSequenceStopped) { // its counter is lost: what else there is of it is shown all the same
		q, err = alloc.Sequence{Name: name, State: alloc.SequenceStopped}, nil
	}
	if err != nil {
		return nil, err
	}
	p := templates.SequencePage{
		Frame: d.liveFrame(r, string(q.Name)), Description: q.Config.Description, Row: sequenceRow(d.sequenceSeen(r, q), d.now()), Buttons: graveLast(append(d.sequenceButtons(r, q), d.jobButtons(r, "sequence", string(q.Name), sequenceAddress(q.Name))...)),
		Facts: sequenceConfig(q, d.now()), Forecast: d.sequenceForecast(r, q.Name), Leases: d.leases(r, q.Name),
		Trail: d.trailPart(r, topic{target: "sequence/" + string(q.Name)}),
	}
	return templates.Sequence(p), nil
}

// sequenceSeen is the sequence as the lists see it: with its row of the board, if one can be had.
func (d *dashboard) sequenceSeen(r *http.Request, q alloc.Sequence) alloc.SequenceSeen {
	seen := alloc.SequenceSeen{Sequence: q}
	b := d.boardOrNone(r)
	if i := slices.IndexFunc(b.Sequences, func(row alloc.SequenceOnBoard) bool { return row.Sequence == q.Name }); i >= 0 {
		seen.Board = b.Sequences[i]
	}
	return seen
}

func (d *dashboard) sequenceButtons(r *http.Request, q alloc.Sequence) (buttons []templates.Link) {
	if d.readOnly {
		return nil
	}
	if may(r, alloc.ActionManage, string(q.Name)) && q.Version > 0 {
		buttons = append(buttons, templates.Link{Text: "Edit sequence", Href: sequenceAddress(q.Name) + "/edit"})
	}
	for _, s := range sequenceSteps {
		err := q.CheckTo(s.to) // what comes first is said on the step's own page
		if may(r, s.need, string(q.Name)) && q.State != s.to && (err == nil || alloc.Is(err, alloc.CodeSequenceActive)) {
			buttons = append(buttons, templates.Link{Text: s.button, Href: sequenceAddress(q.Name) + "/" + s.segment, Danger: s.danger})
		}
	}
	if buttons = append(buttons, templates.Link{Text: "Rebuild", Href: rebuildAddress(q.Name)}); !hasPosition(q) {
		return mendFirst(buttons, rebuildAddress(q.Name))
	}
	return buttons
}

// notKnown stands for what a counter would say that is lost.
const notKnown = "not known"

// isLost reports whether nothing is known of the sequence but its name, as its counter is lost.
func isLost(q alloc.Sequence) bool { return q.Version == 0 && q.State == alloc.SequenceStopped }

// hasPosition reports whether what the counter says is a position: that of a stopped sequence is missing or wrong, and that of a frozen one may be so still.
func hasPosition(q alloc.Sequence) bool {
	return q.State != alloc.SequenceStopped && q.State != alloc.SequenceFrozen
}

// sequenceConfig is how a sequence is configured.
func sequenceConfig(q alloc.Sequence, now time.Time) []templates.Fact {
	if isLost(q) {
		return []templates.Fact{{Term: "All of it", Value: notKnown, Note: "Its counter is lost, and with it how it was configured. The rebuild looks for a copy."}}
	}
	c := q.Config
	facts := []templates.Fact{
		{Term: "Description", Value: c.Description},
		{Term: "Begins at", Value: grouped(c.Start), Mono: true},
		{Term: "Ends at", Value: grouped(c.Limit), Mono: true},
		{Term: "Most numbers a lease", Value: grouped(c.MaxLease)},
		{Term: "Leased at once for next", Value: grouped(c.Segment)},
		{Term: "Idempotency-Key", Value: map[bool]string{true: "required", false: "optional"}[c.RequireKey]},
		{Term: "Rebuilt by the schedule", Value: map[bool]string{true: "yes, where the evidence allows", false: "no, by a person"}[c.AutoRebuild]},
		{Term: "Served first after a rebuild", Value: strconv.Itoa(c.ResumeShare) + " % of the callers"},
		{Term: "Created", Time: dated(q.Created, now)},
		{Term: "Version", Value: strconv.FormatInt(int64(q.Version), 10)},
	}
	if c.PeriodOf != "" {
		facts = append(facts, templates.Fact{Term: "Counts in a period of", Value: string(c.PeriodOf), Href: sequenceAddress(c.PeriodOf)})
	}
	return facts
}

func (d *dashboard) sequenceForecast(r *http.Request, name alloc.SequenceName) templates.ForecastPanel {
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	f, err := d.svc.SequenceForecast(ctx, name)
	if err != nil {
		return templates.ForecastPanel{Failure: failure(r, err, r.URL.RequestURI())}
	}
	return forecastPanel(f)
}

// leases are the newest entries of the ledger.
func (d *dashboard) leases(r *http.Request, name alloc.SequenceName) templates.LeasesPanel {
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	q := listQuery{values: r.URL.Query(), path: sequenceAddress(name)}
	found, next, err := d.svc.Leases(ctx, name, q.cursor(afterLease), q.limit())
	if err != nil {
		return templates.LeasesPanel{Failure: failure(r, err, q.again(afterLease, err))}
	}
	panel := templates.LeasesPanel{Paging: q.paging(afterLease, next)}
	for i, l := range found {
		row := templates.LeaseRow{
			Start: grouped(l.Start), End: grouped(l.End), Count: grouped(l.End - l.Start + 1), By: string(l.By), At: clock(l.At, d.now()), Epoch: grouped(l.Epoch),
		}
		if i+1 < len(found) && found[i+1].End+1 < l.Start {
			row.Gap = grouped(l.Start - found[i+1].End - 1)
		}
		panel.Rows = append(panel.Rows, row)
	}
	return panel
}
