package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
	"idpool/web/admin/plan"
)

// A seeding on pages goes in four steps: a file or a text is sent, and a job is opened with it; a check says what would become of its IDs; the
// seeding is confirmed; its job goes on by itself. The job of the first step is in the address of all that follow, so that they can be handed on.

// seedPage takes the file or the text.
func (d *dashboard) seedPage(r *http.Request) (templ.Component, error) {
	st, err := d.svc.Pool(r.Context(), alloc.PoolName(r.PathValue("pool")))
	if err != nil {
		return nil, err
	}
	if err := st.Pool.CheckSeed(); err != nil {
		return nil, err
	}
	if !may(r, alloc.ActionSeed, string(st.Pool.Name)) {
		return nil, alloc.Errorf(alloc.CodeForbidden, "you may not add IDs to this pool; ask an administrator for the role admin")
	}
	return d.seedForm(r, st.Pool.Name, "")
}

func (d *dashboard) seedForm(r *http.Request, pool alloc.PoolName, problem string) (templ.Component, error) {
	p := proposal{name: string(pool), target: "pool/" + string(pool), need: alloc.ActionSeed}
	sealed, err := d.sealed(r, action{verb: "pool.seed", need: alloc.ActionSeed}, p)
	if err != nil {
		return nil, err
	}
	return templates.Seed(templates.SeedPage{
		Frame: d.frame(r, "Seed "+string(pool)), Pool: templates.Link{Text: string(pool), Href: poolAddress(pool)}, Path: poolAddress(pool) + "/seed", Plan: sealed,
		Problem: problem, ReadOnly: d.readOnly, Steps: seedMarks(0), Most: strconv.Itoa(web.MaxUpload >> 20),
		Twin: call{method: http.MethodPost, path: "/v1" + poolAddress(pool) + "/seedings", keyed: true, body: `{"format":"text","why":"…"}`}.twin(),
	}), nil
}

// seedMarks are the steps of a seeding, of which one is on.
func seedMarks(at int) (marks []templates.StepMark) {
	for i, text := range []string{"Source", "Check", "Confirm", "Job"} {
		m := templates.StepMark{Text: text}
		switch {
		case i < at:
			m.Is = "done"
		case i == at:
			m.Is = "now"
		}
		marks = append(marks, m)
	}
	return marks
}

// takeSeed answers POST of the page: it opens the job with the file, and a check of it.
func (d *dashboard) takeSeed(w http.ResponseWriter, r *http.Request) {
	to, err := d.seedOnce(r)
	switch {
	case err == nil:
		http.Redirect(w, r, to.address(), http.StatusSeeOther)
	case isPersons(err):
		_, detail := web.Explain(r.Context(), err)
		page, perr := d.seedForm(r, alloc.PoolName(r.PathValue("pool")), sentence(detail))
		if perr != nil {
			d.failed(w, r, perr)
			return
		}
		d.render(w, r, http.StatusUnprocessableEntity, page)
	default:
		d.failed(w, r, err)
	}
}

// seedSource is what was sent.
type seedSource struct {
	plan, why string
	format    alloc.SeedFormat
	data      []byte
}

func (d *dashboard) seedOnce(r *http.Request) (outcome, error) {
	if err := d.mayChange(r); err != nil {
		return outcome{}, err
	}
	src, err := readSource(r)
	if err != nil {
		return outcome{}, err
	}
	p, err := plan.Open(r.Context(), d.svc, src.plan, "pool.seed", d.session(r))
	if err != nil {
		return outcome{}, err
	}
	to, err := d.once(withReason(r.Context(), src.why, p.Operation), "pool.seed", p, src.print(), func(ctx context.Context, a alloc.Attempt) (outcome, error) {
		pool := alloc.PoolName(p.Name)
		j, err := d.svc.OpenSeeding(ctx, alloc.SeedJobRequest{Pool: pool, Format: src.format, Why: src.why, Intent: a.Intent})
		if err != nil {
			return outcome{}, err
		}
		if j, _, err = d.svc.ReceivePart(ctx, j.ID, 0, src.data); err != nil {
			return outcome{}, err
		}
		if j.Total == 0 {
			return outcome{}, alloc.Errorf(alloc.CodeInvalidRequest, "there are no IDs in what was sent; send at least one")
		}
		check, err := d.svc.CheckSeeding(ctx, j.ID, "")
		if err != nil {
			return outcome{}, err
		}
		return outcome{Location: jobAddress(j.ID) + "/seed?check=" + string(check.ID)}, nil
	})
	if alloc.Is(err, alloc.CodeKeyMismatch) {
		return outcome{}, alloc.Errorf(alloc.CodeKeyMismatch, "another file, or another form of it, was sent from this page before, and is being checked; open the page of seeding anew to send this one")
	}
	return to, err
}

// print is all that was sent, and the plan that it was sent with.
func (s seedSource) print() string {
	sum := sha256.Sum256(s.data)
	return fmt.Sprintf("%s %t %q %q %q %x", s.plan, s.format.CSV, s.format.Header, s.format.Column, s.why, sum)
}

// readSource reads what was sent: a file, or a text of IDs and ranges of numbers, one a line.
func readSource(r *http.Request) (src seedSource, err error) {
	unreadable := alloc.Errorf(alloc.CodeInvalidRequest, "the form could not be read; go back and send it again")
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || params["boundary"] == "" {
		return src, unreadable
	}
	whole, err := web.ReadUpload(r, "send a larger file in parts, by the request that the page shows")
	if err != nil {
		return src, err
	}
	parts, values := multipart.NewReader(bytes.NewReader(whole), params["boundary"]), map[string]string{}
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return src, unreadable.Because(err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return src, unreadable.Because(err)
		}
		if part.FormName() == "file" {
			src.data = data
		} else {
			values[part.FormName()] = string(data)
		}
	}
	src.plan, src.why = values["plan"], strings.TrimSpace(values["why"])
	src.format = alloc.SeedFormat{CSV: values["format"] == "csv", Column: strings.TrimSpace(values["column"])}
	if text := values["text"]; len(src.data) == 0 && strings.TrimSpace(text) != "" {
		src.format = alloc.SeedFormat{Header: alloc.HeaderNo}
		if src.data, err = writtenOut(text); err != nil {
			return src, err
		}
	}
	if len(src.data) == 0 {
		return src, alloc.Errorf(alloc.CodeInvalidRequest, "nothing was sent; choose a file, or type IDs")
	}
	return src, nil
}

// maxRange is how many numbers the ranges of a text make at most.
const maxRange = 100_000

// writtenOut writes out ranges of numbers: a line "1000-1999" is each of them, with as many digits.
func writtenOut(text string) ([]byte, error) {
	var out strings.Builder
	made := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		from, to, ok := strings.Cut(line, "-")
		first, err1 := strconv.ParseUint(from, 10, 63)
		last, err2 := strconv.ParseUint(to, 10, 63)
		if !ok || err1 != nil || err2 != nil || len(from) != len(to) || first > last {
			out.WriteString(line + "\n")
			continue
		}
		if made += int(min(last-first, maxRange)) + 1; made > maxRange {
			return nil, alloc.Errorf(alloc.CodeInvalidRequest, "the ranges make more than %s IDs; send them in parts, or as a file", grouped(int64(maxRange)))
		}
		for n := first; n <= last; n++ {
			fmt.Fprintf(&out, "%0*d\n", len(from), n)
		}
	}
	return []byte(out.String()), nil
}

// queryCheck names the job that checks a seeding's file.
const queryCheck = "check"

// checkPage shows what would become of the IDs of a seeding's file.
func (d *dashboard) checkPage(r *http.Request) (templ.Component, error) {
	j, err := d.svc.Job(r.Context(), alloc.JobID(r.PathValue("job")))
	if err != nil {
		return nil, err
	}
	p := templates.CheckPage{
		Frame: d.liveFrame(r, jobTitle(j)), Pool: templates.Link{Text: string(j.Pool), Href: poolAddress(j.Pool)}, Steps: seedMarks(1), Total: grouped(j.Total), Job: jobAddress(j.ID),
	}
	if j.State != alloc.JobReceiving {
		p.Steps, p.Started = seedMarks(3), true
		return templates.Check(p), nil
	}
	check, err := d.svc.Job(r.Context(), alloc.JobID(r.URL.Query().Get(queryCheck)))
	if err != nil || check.Kind != alloc.JobCheck || check.Spec.File != j.ID {
		return nil, alloc.Errorf(alloc.CodeJobNotFound, "there is no such check of this file; send the file again")
	}
	p.Row, p.Tally, p.Done = jobRow(check, d.now()), jobTally(check), check.State == alloc.JobDone
	p.Rejects = jobResults(check)
	if check.State == alloc.JobDone {
		p.Frame.Refresh = templates.Refresh{}
		if p.First, err = d.firstRejects(r, check); err != nil {
			p.Failure = failure(r, err, r.URL.RequestURI())
		}
	}
	if !d.readOnly {
		p.Buttons = []templates.Link{{Text: "Confirm seeding", Href: jobAddress(j.ID) + "/start?" + queryCheck + "=" + string(check.ID), Main: true}, {Text: "Drop file", Href: jobAddress(j.ID) + "/cancel"}}
	}
	return templates.Check(p), nil
}

// firstOfEach is how many of each outcome a page shows.
const firstOfEach = 20

// firstRejects are the first of each outcome that would not be added.
func (d *dashboard) firstRejects(r *http.Request, check alloc.Job) (rows [][]string, err error) {
	shown := map[string]int{}
	for n := range min(check.Parts, 3) {
		data, err := d.svc.JobPart(r.Context(), check.ID, n)
		if err != nil {
			return nil, err
		}
		lines, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
		if err != nil {
			return nil, alloc.Errorf(alloc.CodeInternal, "what would not be added cannot be read").Because(err)
		}
		for _, line := range lines {
			if len(line) == 4 && shown[line[2]] < firstOfEach {
				shown[line[2]]++
				rows = append(rows, line)
			}
		}
	}
	return rows, nil
}

// seedActions are the steps that can be taken with a seeding.
func (d *dashboard) seedActions() []action {
	return []action{{
		path: "/jobs/{job}/start", verb: "job.start", need: alloc.ActionSeed, propose: d.proposeStart,
		carry: func(ctx context.Context, p plan.Plan, _ asked, _ alloc.Attempt) (outcome, error) {
			id := alloc.JobID(p.Params["job"])
			_, err := d.svc.StartJob(ctx, id, int(numberOf(p.Params["parts"])))
			return outcome{Location: jobAddress(id), Done: "job-made"}, err
		},
	}}
}

func (d *dashboard) proposeStart(r *http.Request) (proposal, error) {
	j, err := d.svc.Job(r.Context(), alloc.JobID(r.PathValue("job")))
	if err != nil {
		return proposal{}, err
	}
	if j.Kind != alloc.JobSeed || j.State != alloc.JobReceiving {
		return proposal{}, alloc.Errorf(alloc.CodeJobEnded, "this job does not wait to be started; look at it")
	}
	need, on, err := d.svc.NeedToChange(r.Context(), j.ID)
	if err != nil {
		return proposal{}, err
	}
	p := proposal{
		need: need, name: on, target: "pool/" + string(j.Pool), params: map[string]string{"job": string(j.ID), "parts": strconv.Itoa(len(j.Inputs))},
		title: "Seed " + string(j.Pool), button: "Seed pool", back: jobAddress(j.ID) + "/seed?" + r.URL.RawQuery, facts: []templates.Fact{
			{Term: "Pool", Value: string(j.Pool), Href: poolAddress(j.Pool)}, {Term: "Entries", Value: grouped(j.Total)}, {Term: "Why", Value: j.Why},
		},
		effect: []string{"What can be added is added, and can be claimed at once. It cannot be taken out again.", "What is in the pool already stays as it is."},
	}
	if check, err := d.svc.Job(r.Context(), alloc.JobID(r.URL.Query().Get(queryCheck))); err == nil && check.Spec.File == j.ID && check.State == alloc.JobDone {
		p.facts = append(p.facts, jobTally(check)...)
	} else {
		p.effect = append([]string{"Its file was not checked to the end: what would become of it is not known yet."}, p.effect...)
	}
	text, err := body(members{{"parts", int64(len(j.Inputs))}})
	p.twin = call{method: http.MethodPost, path: "/v1" + jobAddress(j.ID) + "/start", keyed: true, body: text}.twin()
	return p, err
}
