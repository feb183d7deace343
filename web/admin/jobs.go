package admin

import (
	"cmp"
	"context"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
	"idpool/web/admin/plan"
)

// jobKinds are the kinds of jobs in words.
var jobKinds = map[alloc.JobKind]string{
	alloc.JobExport: "Export", alloc.JobSeed: "Seed", alloc.JobCheck: "Check file for", alloc.JobCount: "Count", alloc.JobRebuild: "Rebuild",
	alloc.JobAudit: "Verify", alloc.JobLog: "Log", alloc.JobRestore: "Restore",
}

func jobAddress(id alloc.JobID) string { return "/jobs/" + url.PathEscape(string(id)) }

// jobTitle is what a job does, to what.
func jobTitle(j alloc.Job) string {
	return cmp.Or(jobKinds[j.Kind], string(j.Kind), "Job") + " " + cmp.Or(string(j.Pool), string(j.Spec.Sequence), string(j.ID))
}

// jobsPage is the list of jobs.
func (d *dashboard) jobsPage(r *http.Request) (templ.Component, error) {
	if err := web.RequireCaller(r); err != nil {
		return nil, err
	}
	q := listQuery{values: r.URL.Query(), path: "/jobs"}
	return templates.Jobs(templates.JobsPage{Frame: d.liveFrame(r, "Jobs"), Panel: d.jobs(r, q)}), nil
}

// afterJob is where in the query the list of jobs goes on.
const afterJob = "jobs_after"

func (d *dashboard) jobs(r *http.Request, q listQuery) templates.JobsPanel {
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	jobs, next, err := d.svc.Jobs(ctx, q.cursor(afterJob), q.limit())
	if err != nil {
		return templates.JobsPanel{Failure: failure(r, err, q.again(afterJob, err))}
	}
	panel := templates.JobsPanel{Paging: q.paging(afterJob, next)}
	for _, j := range jobs {
		panel.Rows = append(panel.Rows, jobRow(j, d.now()))
	}
	return panel
}

// jobRow shows one job at the time now.
func jobRow(j alloc.Job, now time.Time) templates.JobRow {
	row := templates.JobRow{
		Title: jobTitle(j), Href: jobAddress(j.ID), Why: j.Why, State: jobState(j), Done: grouped(j.Done), By: string(j.By), Started: templates.Time{Text: "not yet, made " + away(j.Created.Sub(now))},
	}
	if !j.Started.IsZero() {
		row.Started = clock(j.Started, now)
	}
	if n := jobFailed(j); n > 0 {
		row.Failed = grouped(n)
	}
	if j.State == alloc.JobDamaged {
		row.Href, row.Why = "", "its record cannot be read"
	}
	if j.Total > 0 {
		row.Done += " of " + grouped(j.Total)
	}
	if p := j.Progress(); p.Total > 0 {
		row.Value, row.Max = strconv.FormatInt(int64(min(p.Done, p.Total)), 10), strconv.FormatInt(int64(p.Total), 10)
		row.Percent = percent(share(p.Done, p.Total))
	}
	if at, ok := web.ETA(j); ok {
		row.Left = duration(max(0, at.Sub(now))) + " left"
	}
	return row
}

// jobFailed is how many of what a job was given it could not do as it was to, or found to be wrong.
func jobFailed(j alloc.Job) alloc.Count {
	switch t := j.Tally; j.Kind {
	case alloc.JobSeed, alloc.JobCheck, alloc.JobRestore:
		return t.Conflict + t.Invalid
	case alloc.JobAudit:
		return t.Findings
	case alloc.JobRebuild:
		return t.Lost
	}
	return 0
}

func jobState(j alloc.Job) templates.State {
	switch j.State {
	case alloc.JobDone:
		if j.Verdict == alloc.VerdictFindings {
			return templates.State{Tone: templates.ToneBad, Text: "done, with findings"}
		}
		if j.Verdict != "" {
			return templates.State{Tone: templates.ToneGood, Text: "done, " + j.Verdict}
		}
		return templates.State{Tone: templates.ToneGood, Text: "done"}
	case alloc.JobFailed, alloc.JobDamaged:
		return templates.State{Tone: templates.ToneBad, Text: string(j.State)}
	case alloc.JobCancelled:
		return templates.State{Tone: templates.ToneOff, Text: string(j.State)}
	case alloc.JobReceiving:
		switch {
		case len(j.Inputs) == 0:
			return templates.State{Tone: templates.ToneWarn, Text: "waits for its file"}
		case j.Spec.Check != "":
			return templates.State{Tone: templates.ToneWarn, Text: "waits to be confirmed"}
		}
		return templates.State{Tone: templates.ToneWarn, Text: "waits to be started"}
	}
	if j.Tries > 0 {
		return templates.State{Tone: templates.ToneWarn, Text: string(j.State) + ", trying again"}
	}
	return templates.State{Tone: templates.ToneGood, Text: string(j.State)}
}

// jobPage is one job.
func (d *dashboard) jobPage(r *http.Request) (templ.Component, error) {
	j, err := d.svc.Job(r.Context(), alloc.JobID(r.PathValue("job")))
	if err != nil {
		return nil, err
	}
	now := d.now()
	p := templates.JobPage{
		Frame: d.liveFrame(r, jobTitle(j)), Row: jobRow(j, now), Failure: sentence(j.Failure), Tally: jobTally(j), Facts: jobFacts(j, now),
		Results: d.jobResults(r, j), ResultNote: resultNotes[j.Kind], Trail: d.trailPart(r, aboutJob(j)),
	}
	switch {
	case j.Kind == alloc.JobSeed && j.State == alloc.JobReceiving && j.Total > 0:
		p.Buttons = append(p.Buttons, templates.Link{Text: "Go to its check", Href: jobAddress(j.ID) + "/seed", Main: true})
	case j.Kind == alloc.JobCheck:
		p.Buttons = append(p.Buttons, templates.Link{Text: "Go to its seeding", Href: checkAddress(j.Spec.File, j.ID), Main: true})
	}
	p.HowFar = howFar(p.Row)
	if j.State.Ended() {
		p.Frame.Refresh = templates.Refresh{}
	} else if need, on, err := d.svc.NeedToChange(r.Context(), j.ID); err == nil && !d.readOnly && may(r, need, on) {
		p.Buttons = append(p.Buttons, templates.Link{Text: "Cancel job", Href: jobAddress(j.ID) + "/cancel"})
	}
	for _, e := range slices.Backward(j.Log) {
		p.Log = append(p.Log, templates.Fact{Time: clock(e.At, now), Value: e.Text})
	}
	return templates.Job(p), nil
}

// howFar is the share of a job that is done, and how long the rest takes.
func howFar(row templates.JobRow) string {
	if row.Percent == "" || row.Left == "" {
		return row.Percent + row.Left
	}
	return row.Percent + ", " + row.Left
}

// jobTally is what a job has met, by its kind.
func jobTally(j alloc.Job) (facts []templates.Fact) {
	t := j.Tally
	add := func(term string, n alloc.Count) { facts = append(facts, templates.Fact{Term: term, Value: grouped(n)}) }
	states := func() {
		add("Free", t.Free)
		add("Held", t.Held)
		add("Claimed", t.Claimed)
		add("Returning", t.Returning)
		add("Retired", t.Retired)
	}
	if p := j.Progress(); p.Estimated && !j.State.Ended() {
		facts = append(facts, templates.Fact{Term: "Looked at", Value: grouped(p.Done), Note: "of about " + grouped(p.Total) + " IDs, some of them twice"})
	}
	switch j.Kind {
	case alloc.JobSeed, alloc.JobCheck:
		if j.Kind == alloc.JobCheck {
			add("To be added", t.Added)
		} else {
			add("Added", t.Added)
		}
		add("Duplicate", t.Duplicate)
		add("Conflict", t.Conflict)
		add("Invalid", t.Invalid)
	case alloc.JobCount:
		states()
	case alloc.JobRebuild:
		states()
		add("Lost", t.Lost)
		if t.Missing > 0 {
			add("Missing", t.Missing)
		}
	case alloc.JobAudit:
		add("Findings", t.Findings)
		if j.Pool != "" {
			states()
		}
	case alloc.JobRestore:
		add("Carried", t.Carried)
		add("Retired", t.Burned)
		add("So already", t.Duplicate)
		add("In two hands", t.Conflict)
		add("Not carried", t.Invalid)
	}
	return facts
}

func jobFacts(j alloc.Job, now time.Time) []templates.Fact {
	facts := []templates.Fact{{Term: "Job", Value: string(j.ID), Mono: true}}
	add := func(term, value, href string) {
		if value != "" {
			facts = append(facts, templates.Fact{Term: term, Value: value, Href: href})
		}
	}
	moment := func(term string, t time.Time) {
		if !t.IsZero() {
			facts = append(facts, templates.Fact{Term: term, Time: clock(t, now)})
		}
	}
	add("Pool", string(j.Pool), poolAddress(j.Pool))
	add("Sequence", string(j.Spec.Sequence), sequenceAddress(j.Spec.Sequence))
	add("By", string(j.By), "")
	add("Why", j.Why, "")
	add("Of the state", string(j.Of), "")
	add("Format", j.Format, "")
	add("Source", string(j.Spec.Source), "")
	if j.Spec.Sample > 0 && j.Spec.Sample < 100 {
		add("Looks at", strconv.Itoa(j.Spec.Sample)+" %", "")
	}
	moment("Made", j.Created)
	moment("Started", j.Started)
	if !j.State.Ended() {
		moment("Last moved on", j.Updated)
		if at, ok := web.ETA(j); ok {
			moment("Ends about", at)
		}
		return facts
	}
	moment("Ended", j.Updated)
	if took := j.Updated.Sub(j.Started); !j.Started.IsZero() && took > 0 {
		add("Took", duration(took), "")
	}
	return facts
}

func sequenceAddress(name alloc.SequenceName) string {
	return "/sequences/" + url.PathEscape(string(name))
}

// resultNotes say what the result of a job is.
var resultNotes = map[alloc.JobKind]string{
	alloc.JobSeed: "what was not added, and why", alloc.JobCheck: "what would not be added, and why", alloc.JobExport: "the IDs; all parts, one after the other, are one file",
	alloc.JobAudit: "the findings, in lines of JSON", alloc.JobRebuild: "the IDs that were listed and are gone, in lines of JSON", alloc.JobLog: "the log; all parts, one after the other, are one file", alloc.JobRestore: "what was not carried, in lines of JSON",
}

// jobActions are the steps that can be taken with a job.
func (d *dashboard) jobActions() []action {
	return []action{{
		path: "/jobs/{job}/cancel", verb: "job.cancel", need: alloc.ActionManage, propose: d.proposeCancel,
		carry: func(ctx context.Context, p plan.Plan, _ asked, _ alloc.Attempt) (outcome, error) {
			id := alloc.JobID(p.Params["job"])
			if _, err := d.svc.CancelJob(ctx, id); err != nil {
				return outcome{}, err
			}
			return outcome{Location: jobAddress(id), Done: "cancelled"}, nil
		},
	}}
}

func (d *dashboard) proposeCancel(r *http.Request) (proposal, error) {
	j, err := d.svc.Job(r.Context(), alloc.JobID(r.PathValue("job")))
	if err != nil {
		return proposal{}, err
	}
	if j.State.Ended() {
		return proposal{}, alloc.Errorf(alloc.CodeJobEnded, "this job has ended; there is nothing to cancel")
	}
	need, on, err := d.svc.NeedToChange(r.Context(), j.ID)
	if err != nil {
		return proposal{}, err
	}
	return proposal{
		need: need, name: on, target: "job/" + string(j.ID), params: map[string]string{"job": string(j.ID)},
		title: "Cancel: " + jobTitle(j), button: "Cancel job", back: jobAddress(j.ID), facts: jobFacts(j, d.now()),
		effect: []string{"What it has done so far stays done: " + grouped(j.Done) + " so far.", "It goes no further, and cannot be taken up again; make another job for the rest."},
		twin:   call{method: http.MethodPost, path: "/v1/jobs/" + url.PathEscape(string(j.ID)) + "/cancel", keyed: true}.twin(),
	}, nil
}

// PartFile makes a file of part n of a job's result: its media type, its name and what is in it.
type PartFile func(j alloc.Job, n int, data []byte) (media, name string, content []byte, err error)

// jobPart sends one part of a job's result.
func (d *dashboard) jobPart(w http.ResponseWriter, r *http.Request) {
	media, name, content, err := d.partFile(r)
	if err != nil {
		d.failed(w, r, err)
		return
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	w.Write(content) //nolint:errcheck // the client is gone; there is nobody to tell
}

func (d *dashboard) partFile(r *http.Request) (media, name string, content []byte, err error) {
	n, err := strconv.ParseUint(r.PathValue("part"), 10, 31)
	if err != nil || d.file == nil {
		return "", "", nil, alloc.Errorf(web.CodeNotFound, "there is no such part of a result")
	}
	j, err := d.svc.Job(r.Context(), alloc.JobID(r.PathValue("job")))
	if err != nil {
		return "", "", nil, err
	}
	data, err := d.svc.JobPart(r.Context(), j.ID, int(n))
	if err != nil {
		return "", "", nil, err
	}
	return d.file(j, int(n), data)
}
