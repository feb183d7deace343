package admin

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
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
	"idpool/alloc/generator"
	"idpool/templates"
	"idpool/web"
	"idpool/web/admin/plan"
)

// A seeding on pages goes in four steps: a file or a text is sent, or IDs are made by the pool's generator, and a job is opened with them; a check
// says what would become of each; the seeding is confirmed; its job goes on by itself. The job of the first step is in the address of all that
// follow, so that they can be handed on.

// seedActions are the steps that can be taken with a seeding.
func (d *dashboard) seedActions() []action {
	return []action{
		{
			path: "/pools/{pool}/seed", verb: "pool.seed", need: alloc.ActionSeed, page: d.seedPage, read: readSource,
			carry: func(ctx context.Context, p plan.Plan, sent asked, a alloc.Attempt) (outcome, error) {
				return d.openSeed(ctx, alloc.PoolName(p.Name), sent, a.Intent)
			},
		},
		{
			path: "/jobs/{job}/check", verb: "job.check", need: alloc.ActionSeed, propose: d.proposeCheck,
			carry: func(ctx context.Context, p plan.Plan, _ asked, a alloc.Attempt) (outcome, error) {
				id := alloc.JobID(p.Params["job"])
				check, err := d.svc.CheckSeeding(ctx, id, a.Intent)
				return outcome{Location: checkAddress(id, check.ID)}, err
			},
		},
		{
			path: "/jobs/{job}/start", verb: "job.start", need: alloc.ActionSeed, propose: d.proposeStart,
			carry: func(ctx context.Context, p plan.Plan, _ asked, _ alloc.Attempt) (outcome, error) {
				id := alloc.JobID(p.Params["job"])
				_, err := d.svc.StartJob(ctx, id, int(numberOf(p.Params["parts"])))
				return outcome{Location: jobAddress(id), Done: "job-made"}, err
			},
		},
	}
}

// seedPage takes what is to be added. What was sent before stands in it again, but for a file, which browsers do not take from a page.
func (d *dashboard) seedPage(r *http.Request, before asked, problem string) (templ.Component, error) {
	st, err := d.svc.Pool(r.Context(), alloc.PoolName(r.PathValue("pool")))
	if err != nil {
		return nil, err
	}
	if err := st.Pool.CheckSeed(); err != nil {
		return nil, err
	}
	pool := st.Pool.Name
	if !may(r, alloc.ActionSeed, string(pool)) {
		return nil, alloc.Errorf(alloc.CodeForbidden, "you may not add IDs to this pool; ask an administrator for the role admin")
	}
	sealed := before.plan
	if sealed == "" {
		p := proposal{name: string(pool), target: "pool/" + string(pool)}
		sealed, err = plan.Seal(r.Context(), d.svc, planOf(action{verb: "pool.seed", need: alloc.ActionSeed}, p, "page-"+rand.Text()), d.session(r), d.now())
		if err != nil {
			return nil, err
		}
	}
	page := templates.SeedPage{
		Frame: d.frame(r, "Seed "+string(pool)), Pool: templates.Link{Text: string(pool), Href: poolAddress(pool)}, Path: poolAddress(pool) + "/seed", Plan: sealed,
		Problem: problem, Steps: seedMarks(0), Most: strconv.Itoa(web.MaxUpload >> 20), MostMade: grouped(alloc.Count(alloc.MaxRangeIDs)),
		Many: grouped(alloc.Count(manyIDs)),
		Twin: call{method: http.MethodPost, path: "/v1" + poolAddress(pool) + "/seedings", keyed: true, body: `{"format":"text","why":"…"}`}.twin(),
	}
	page.Before = before.source.again()
	if before.blocked {
		page.Waiting = append(d.waitingSeeds(r, pool), templates.Link{Text: "All jobs", Href: "/jobs"})
	}
	switch g := st.Pool.Config.Generator; {
	case g.IsZero():
		page.NoGenerator = "This pool has no generator. With one it can also fill itself by the schedule."
	case g.Kind == generator.Sequence:
		page.NoGenerator = "This pool's generator numbers by the sequence " + g.Sequence + ". Its numbers are leased by the schedule alone, so that each is used once: raise the marks, and it adds them."
	default:
		page.Generator = generatorWords(g)
	}
	return templates.Seed(page), nil
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

// seedSource is what is to be added.
type seedSource struct {
	why    string
	format alloc.SeedFormat
	data   []byte
	file   bool   // it came as a file
	made   string // how many IDs the pool's generator is to make instead, as it was typed; "" for none
}

// maxTextAgain is the most bytes of a text that a page shows once more.
const maxTextAgain = 1 << 20

// again is what of it stands in the page once more.
func (s seedSource) again() templates.SeedBefore {
	b := templates.SeedBefore{Why: s.why, Made: s.made, Column: s.format.Column, CSV: s.format.CSV, Ranges: s.format.Ranges}
	switch {
	case s.file:
		b.Note = "Choose the file again: browsers do not keep it."
	case len(s.data) > maxTextAgain:
		b.Note = "The text is too long to stand here once more; send it again."
	default:
		b.Text = string(s.data)
	}
	return b
}

// openSeed opens the job of a seeding with what was sent, and has it checked.
func (d *dashboard) openSeed(ctx context.Context, pool alloc.PoolName, sent asked, intent alloc.Token) (outcome, error) {
	src := sent.source
	if len(src.data) == 0 && src.made == "" {
		return outcome{}, alloc.Errorf(alloc.CodeInvalidRequest, "nothing was sent; choose a file, type IDs, or say how many are to be made")
	}
	j, err := d.svc.OpenSeeding(ctx, alloc.SeedJobRequest{Pool: pool, Format: src.format, Why: src.why, Intent: intent})
	if err != nil {
		return outcome{}, err
	}
	if j.Spec.Check == "" {
		if j, err = d.takeIn(ctx, j, src); err != nil {
			return outcome{}, err
		}
	}
	if j.Spec.Check != "" { // another attempt has done it all
		return outcome{Location: checkAddress(j.ID, j.Spec.Check)}, nil
	}
	check, err := d.svc.CheckSeeding(ctx, j.ID, "")
	if err != nil {
		return outcome{}, d.dropped(ctx, j.ID, err)
	}
	return outcome{Location: checkAddress(j.ID, check.ID)}, nil
}

// takeIn gives a seeding what was sent, or what its pool's generator makes.
func (d *dashboard) takeIn(ctx context.Context, j alloc.Job, src seedSource) (alloc.Job, error) {
	if src.made != "" && len(j.Inputs) > 0 {
		return j, nil // an attempt before has made them
	}
	data, err := src.data, error(nil)
	if src.made != "" {
		data, err = d.generated(ctx, j.Pool, src.made)
	}
	if err != nil {
		return j, d.dropped(ctx, j.ID, err)
	}
	received, _, err := d.svc.ReceivePart(ctx, j.ID, 0, data)
	if err != nil && src.made != "" {
		if now, jerr := d.svc.Job(ctx, j.ID); jerr == nil && len(now.Inputs) > 0 {
			return now, nil // another attempt was faster, and has made others
		}
	}
	if err == nil && received.Total == 0 {
		err = alloc.Errorf(alloc.CodeInvalidRequest, "there are no IDs in what was sent; send at least one")
	}
	if err != nil {
		return j, d.dropped(ctx, j.ID, err)
	}
	return received, nil
}

// generated are IDs of the pool's own generator, one a line. Which of them the pool has already, the check tells.
func (d *dashboard) generated(ctx context.Context, pool alloc.PoolName, typed string) ([]byte, error) {
	n, err := strconv.Atoi(typed)
	if err != nil || n < 1 || n > alloc.MaxRangeIDs {
		return nil, alloc.Errorf(alloc.CodeInvalidRequest, "how many IDs are to be made is a whole number from 1 to %s", grouped(alloc.Count(alloc.MaxRangeIDs)))
	}
	st, err := d.svc.Pool(ctx, pool)
	if err != nil {
		return nil, err
	}
	g := st.Pool.Config.Generator
	if g.IsZero() || g.Kind == generator.Sequence {
		return nil, alloc.Errorf(alloc.CodeInvalidRequest, "this pool has no generator that makes IDs here; send a file or a text")
	}
	ids, err := g.Generate(n, d.now())
	if err != nil {
		return nil, alloc.Errorf(alloc.CodeInternal, "the pool's generator makes no IDs").Because(err)
	}
	return []byte(strings.Join(ids, "\n") + "\n"), nil
}

// readSource reads what was sent: a file, a text of one ID a line, or how many are to be made.
func readSource(r *http.Request) (s sent, err error) {
	unreadable := alloc.Errorf(alloc.CodeInvalidRequest, "the form could not be read; go back and send it again")
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return s, unreadable
	}
	values, file := map[string]string{}, []byte(nil)
	switch {
	case media == "application/x-www-form-urlencoded": // without a file
		if err := r.ParseForm(); err != nil {
			return s, unreadable.Because(err)
		}
		for name := range r.PostForm {
			values[name] = r.PostForm.Get(name)
		}
	case media != "multipart/form-data" || params["boundary"] == "":
		return s, unreadable
	default:
		whole, err := web.ReadUpload(r, "send a larger file in parts, by the request that the page shows")
		if err != nil {
			return s, err
		}
		if file, err = readMultipart(whole, params["boundary"], values); err != nil {
			return s, unreadable.Because(err)
		}
	}
	src := seedSource{
		why: strings.TrimSpace(values["why"]), data: file, made: strings.TrimSpace(values["made"]),
		format: alloc.SeedFormat{CSV: values["format"] == "csv", Column: strings.TrimSpace(values["column"]), Ranges: values["ranges"] == "yes"},
	}
	text, sources := values["text"], 0
	for _, is := range []bool{len(file) > 0, strings.TrimSpace(text) != "", src.made != ""} {
		if is {
			sources++
		}
	}
	if src.file = len(file) > 0; !src.file {
		src.data = []byte(strings.TrimSpace(text))
	}
	s = sent{asked: asked{reason: src.why, source: src}, plan: values[fieldPlan]}
	if sources > 1 {
		return s, alloc.Errorf(alloc.CodeInvalidRequest, "more than one source was sent; send a file, or a text, or how many IDs are to be made")
	}
	if !src.file {
		src.format.CSV, src.format.Column, src.format.Header = false, "", alloc.HeaderNo
	}
	return sent{asked: asked{reason: src.why, source: src}, plan: values[fieldPlan], print: src.print()}, nil
}

// readMultipart puts the fields of a form into values and returns its file.
func readMultipart(whole []byte, boundary string, values map[string]string) (file []byte, err error) {
	parts := multipart.NewReader(bytes.NewReader(whole), boundary)
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return file, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		if part.FormName() == "file" {
			file = data
		} else {
			values[part.FormName()] = string(data)
		}
	}
}

// print is all that was sent beside the plan.
func (s seedSource) print() string {
	return fmt.Sprintf(" %t %t %q %q %q %q %x", s.format.CSV, s.format.Ranges, s.format.Header, s.format.Column, s.why, s.made, sha256.Sum256(s.data))
}

// dropped cancels a job that was opened for what cannot be taken in, so that nobody finds it waiting, and returns why that is: but not one that
// another attempt has brought further. Where it cannot be cancelled now, the schedule does it in a day.
func (d *dashboard) dropped(ctx context.Context, id alloc.JobID, why error) error {
	if !isPersons(why) && !alloc.Is(why, alloc.CodeTooManyJobs) { // the same may be sent again
		return why
	}
	j, err := d.svc.Job(ctx, id)
	if err == nil && j.State == alloc.JobReceiving && j.Spec.Check == "" {
		_, err = d.svc.CancelJob(ctx, id)
	}
	if err != nil {
		web.Explain(ctx, err)
	}
	return why
}
