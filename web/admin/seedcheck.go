package admin

import (
	"encoding/csv"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
)

// manyIDs is above how many entries a seeding is confirmed by typing the pool's name and giving a reason: what it adds cannot be taken out again.
const manyIDs = 10_000

// queryCheck names the job that checks a seeding's file, where it is not the one that was made last.
const queryCheck = "check"

// checkAddress is the page where a seeding is checked and confirmed.
func checkAddress(seeding, check alloc.JobID) string {
	return jobAddress(seeding) + "/seed?" + queryCheck + "=" + string(check)
}

// seeding is the seeding at the address of a page, with the check of its file that the query names, or that was made last. checked is false
// where there is none, or it was made before the file was whole.
func (d *dashboard) seeding(r *http.Request) (j, check alloc.Job, checked bool, err error) {
	if j, err = d.svc.Job(r.Context(), alloc.JobID(r.PathValue("job"))); err != nil {
		return j, check, false, err
	}
	if j.Kind != alloc.JobSeed {
		return j, check, false, alloc.Errorf(alloc.CodeJobNotFound, "this job is no seeding; look for it among the jobs")
	}
	id := alloc.JobID(r.URL.Query().Get(queryCheck))
	if id == "" {
		id = j.Spec.Check
	}
	check, err = d.svc.Job(r.Context(), id)
	switch {
	case alloc.Is(err, alloc.CodeJobNotFound):
		return j, alloc.Job{}, false, nil
	case err != nil:
		return j, check, false, err
	}
	checked = check.Kind == alloc.JobCheck && check.Spec.File == j.ID && slices.Equal(check.Inputs, j.Inputs)
	return j, check, checked, nil
}

// checkPage shows what would become of the IDs of a seeding's file.
func (d *dashboard) checkPage(r *http.Request) (templ.Component, error) {
	j, check, checked, err := d.seeding(r)
	if err != nil {
		return nil, err
	}
	p := templates.CheckPage{
		Frame: d.liveFrame(r, jobTitle(j)), Pool: templates.Link{Text: string(j.Pool), Href: poolAddress(j.Pool)}, Steps: seedMarks(1), Total: entries(j.Total), Job: jobAddress(j.ID),
	}
	switch {
	case j.State.Ended() && j.Started.IsZero():
		p.Frame.Refresh, p.Dropped = templates.Refresh{}, "This file was dropped, or nobody confirmed it in time: nothing of it was added."
		return templates.Check(p), nil
	case j.State != alloc.JobReceiving:
		p.Frame.Refresh, p.Steps, p.Started = templates.Refresh{}, seedMarks(3), true
		return templates.Check(p), nil
	}
	p.Said = fileNotes(j)
	p.Self = r.URL.RequestURI()
	if checked {
		p.Checked, p.Row, p.Tally, p.Done = true, jobRow(check, d.now()), jobTally(check), check.State == alloc.JobDone
		p.Ended, p.Results = check.State.Ended(), d.jobResults(r, check)
		p.New, p.Last = firstNew(check)
	}
	if !checked || check.State.Ended() {
		p.Frame.Refresh = templates.Refresh{}
	}
	if p.Done {
		p.Steps = seedMarks(2)
		if p.First, p.Looked, err = d.firstRejects(r, check); err != nil {
			p.Failure = failure(r, err, r.URL.RequestURI())
		}
	}
	p.Buttons = d.checkButtons(r, j, check, checked)
	return templates.Check(p), nil
}

// checkButtons are the ways on from a check, for who may take them.
func (d *dashboard) checkButtons(r *http.Request, j, check alloc.Job, checked bool) (buttons []templates.Link) {
	need, on, err := d.svc.NeedToChange(r.Context(), j.ID)
	if err != nil || d.readOnly || !may(r, need, on) {
		return nil
	}
	switch {
	case checked && check.State == alloc.JobDone && check.Tally.Added > 0:
		buttons = append(buttons, templates.Link{Text: "Confirm seeding", Href: jobAddress(j.ID) + "/start?" + queryCheck + "=" + string(check.ID), Main: true})
	case !checked && j.Total > 0, checked && check.State.Ended() && check.State != alloc.JobDone:
		buttons = append(buttons, templates.Link{Text: "Check file", Href: jobAddress(j.ID) + "/check", Main: true})
	}
	return append(buttons, templates.Link{Text: "Drop file", Href: jobAddress(j.ID) + "/cancel"})
}

// entries is how many a file has.
func entries(n alloc.Count) string {
	if n == 1 {
		return "1 entry"
	}
	return grouped(n) + " entries"
}

// fileNotes are what is worth a look of a seeding's file: the events of its job but for the making of it.
func fileNotes(j alloc.Job) (notes []string) {
	for _, e := range j.Log[min(1, len(j.Log)):] {
		notes = append(notes, sentence(e.Text))
	}
	return notes
}

// firstNew are the first IDs that would be added, and the last.
func firstNew(check alloc.Job) (first []string, last string) {
	if check.Spec.FirstNew == "" {
		return nil, ""
	}
	return strings.Split(check.Spec.FirstNew, "\n"), string(check.Spec.LastNew)
}

// What of the rejects a page looks through for the first of each outcome.
const (
	firstOfEach = 20
	firstParts  = 20
)

// firstRejects are the first of each outcome that would not be added; looked says in which parts of very many they were looked for.
func (d *dashboard) firstRejects(r *http.Request, check alloc.Job) (rows [][]string, looked string, err error) {
	shown := map[string]int{}
	want := map[alloc.SeedOutcome]alloc.Count{alloc.SeedDuplicate: check.Tally.Duplicate, alloc.SeedConflict: check.Tally.Conflict, alloc.SeedInvalid: check.Tally.Invalid}
	enough := func() bool {
		for outcome, n := range want {
			if shown[string(outcome)] < int(min(n, firstOfEach)) {
				return false
			}
		}
		return true
	}
	for n := range check.Parts {
		if enough() {
			return rows, "", nil
		}
		if n == firstParts {
			return rows, "among the first " + grouped(alloc.Count(firstParts)) + " parts of the file", nil
		}
		data, err := d.svc.JobPart(r.Context(), check.ID, n)
		if err != nil {
			return nil, "", err
		}
		lines, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
		if err != nil {
			return nil, "", alloc.Errorf(alloc.CodeInternal, "what would not be added cannot be read").Because(err)
		}
		for _, line := range lines {
			if len(line) == 4 && shown[line[2]] < firstOfEach {
				shown[line[2]]++
				rows = append(rows, line)
			}
		}
	}
	return rows, "", nil
}

// waiting is the seeding of the request, as seeding says, where it still waits to be checked or started; else it is refused.
func (d *dashboard) waiting(r *http.Request) (j, check alloc.Job, checked bool, err error) {
	if j, check, checked, err = d.seeding(r); err == nil && j.State != alloc.JobReceiving {
		err = refusal{
			alloc.Errorf(alloc.CodeJobEnded, "this seeding does not wait any more; it is %s", j.State),
			[]templates.Link{{Text: "Go to its job", Href: jobAddress(j.ID)}},
		}
	}
	return j, check, checked, err
}

// proposeCheck has a file checked that was not, or whose check came to no end.
func (d *dashboard) proposeCheck(r *http.Request) (proposal, error) {
	j, _, _, err := d.waiting(r)
	if err != nil {
		return proposal{}, err
	}
	need, on, err := d.svc.NeedToChange(r.Context(), j.ID)
	return proposal{
		need: need, name: on, target: "pool/" + string(j.Pool), params: map[string]string{"job": string(j.ID)},
		title: "Check the file for " + string(j.Pool), button: "Check file", back: jobAddress(j.ID),
		facts: []templates.Fact{
			{Term: "Pool", Value: string(j.Pool), Href: poolAddress(j.Pool)}, {Term: "Entries", Value: grouped(j.Total)}, {Term: "Why", Value: j.Why},
		},
		effect: []string{"A job looks what would become of each ID. Nothing is added by that."},
		twin:   call{method: http.MethodPost, path: "/v1" + jobAddress(j.ID) + "/check", keyed: true}.twin(),
	}, err
}

// proposeStart has a seeding confirmed whose check has ended.
func (d *dashboard) proposeStart(r *http.Request) (proposal, error) {
	j, check, checked, err := d.waiting(r)
	if err != nil {
		return proposal{}, err
	}
	if !checked || check.State != alloc.JobDone {
		return proposal{}, refusal{
			alloc.Errorf(alloc.CodeRebuildStep, "the file of this seeding is not checked to the end; it can be confirmed then"),
			[]templates.Link{{Text: "Go to the check", Href: jobAddress(j.ID) + "/seed"}},
		}
	}
	need, on, err := d.svc.NeedToChange(r.Context(), j.ID)
	if err != nil {
		return proposal{}, err
	}
	p := proposal{
		need: need, name: on, target: "pool/" + string(j.Pool), params: map[string]string{"job": string(j.ID), "parts": strconv.Itoa(len(j.Inputs)), queryCheck: string(check.ID)},
		title: "Seed " + string(j.Pool), button: "Seed pool", back: checkAddress(j.ID, check.ID), facts: []templates.Fact{
			{Term: "Pool", Value: string(j.Pool), Href: poolAddress(j.Pool)}, {Term: "Entries", Value: grouped(j.Total)}, {Term: "Why", Value: j.Why},
		},
		effect: append([]string{"What can be added is added, and can be claimed at once. It cannot be taken out again.", "What is in the pool already stays as it is."}, fileNotes(j)...),
	}
	p.facts = append(p.facts, jobTally(check)...)
	if first, last := firstNew(check); len(first) > 0 {
		p.facts = append(p.facts, templates.Fact{Term: "First ID to be added", Value: first[0], Mono: true}, templates.Fact{Term: "Last ID to be added", Value: last, Mono: true})
	}
	if j.Total > manyIDs {
		p.danger, p.reason, p.typed = true, true, string(j.Pool)
		p.effect = append(p.effect, "These are more than "+grouped(alloc.Count(manyIDs))+" entries: so many are confirmed by the name of the pool and a reason.")
	}
	text, err := body(members{{"parts", int64(len(j.Inputs))}})
	p.twin = call{method: http.MethodPost, path: "/v1" + jobAddress(j.ID) + "/start", keyed: true, body: text}.twin()
	return p, err
}

// waitingSeeds are the seedings of a pool whose files wait to be confirmed, for who may see jobs.
func (d *dashboard) waitingSeeds(r *http.Request, pool alloc.PoolName) (waiting []templates.Link) {
	jobs, err := d.svc.OpenJobs(r.Context(), maxWaitingShown)
	if err != nil {
		web.Explain(r.Context(), err)
		return nil
	}
	for _, j := range jobs {
		if j.Kind == alloc.JobSeed && j.Pool == pool && j.State == alloc.JobReceiving {
			waiting = append(waiting, templates.Link{Text: "Seeding of " + entries(j.Total) + ", by " + string(j.By) + ", waits to be confirmed", Href: jobAddress(j.ID) + "/seed"})
		}
	}
	return waiting
}

// maxWaitingShown is among how many open jobs those of a pool are looked for.
const maxWaitingShown = 100
