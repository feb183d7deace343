package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
	"idpool/web/admin/plan"
)

// action is a step that a person can take. Its page, by GET, asks for what is needed (with values in the query, so that it can be shared and
// nothing is lost on the way back), then says exactly what will happen, by a plan. POST carries out a plan, and nothing else.
type action struct {
	path string       // pattern of its page; POST goes to the same
	verb string       // "pool.pause": what a plan is bound to
	need alloc.Action // for a button to be shown; the service decides

	// ask returns what has to be filled in first, with the values of the query; nil where the step needs nothing, and a form without fields where
	// it needs nothing now. It is shown until the query has "review", and again with the reason beside it where propose returns an error that is the person's.
	ask func(*http.Request) (templates.Form, error)

	// page is shown in the place of a confirmation, by a step that takes a file: with a plan of its own, but for one that is to be sent again, and
	// with what was sent before and what is wrong with it. nil for none.
	page func(r *http.Request, before asked, problem string) (templ.Component, error)

	// read reads what such a page sends; nil for a form's fields.
	read func(*http.Request) (sent, error)

	// propose looks at the target and says what will happen.
	propose func(*http.Request) (proposal, error)

	// carry does what the plan says. It is repeatable by the intent of the attempt.
	carry func(context.Context, plan.Plan, asked, alloc.Attempt) (outcome, error)
}

// proposal is what a person confirms.
type proposal struct {
	need    alloc.Action // of the step, where it is not the action's
	name    string       // of the pool or sequence, or "*" for all
	target  string       // as the trail writes it
	version alloc.Version
	params  map[string]string

	title  string // "Pause the pool vouchers"
	button string // verb and object: "Pause pool"
	danger bool   // it destroys, or cannot be undone
	facts  []templates.Fact
	seen   *templates.EvidencePanel // what speaks for it, or against; nil for nothing
	effect []string                 // what will happen, in sentences
	typed  string                   // what has to be typed; "" for nothing
	reason bool                     // a reason has to be given; else it may be
	twin   templates.Call

	unrecorded bool // it leaves no record in the trail, so nobody is asked for a reason

	back string // address of the page to go back to
}

// asked is what was typed on the page of confirmation, or sent by a page of its own.
type asked struct {
	reason  string
	source  seedSource
	plan    string // as it was sealed, for the page that has to send it once more; "" for another
	blocked bool   // it was refused because of jobs that wait
}

// sent is a POST of an action's page as it was read.
type sent struct {
	asked
	plan  string // as it was sealed
	typed string
	print string // of all else that the step depends on
}

// outcome is where a step that was carried out leads: the answer to its POST, and to every repeat of that.
type outcome struct {
	Location string `json:"location"`
	Done     string `json:"done,omitempty"` // one of the words of the table said

	Step string     `json:"step,omitempty"` // what was done with each,
	Each []toldPool `json:"each,omitempty"` // and what became of it: a page of its own says so

	secret string // that is shown by who has made it, and kept nowhere; "" for none
}

const (
	fieldPlan   = "plan"
	fieldReason = "reason"
	fieldTyped  = "typed"
	queryReview = "review"
	queryDone   = "done"
)

// actPage answers GET of an action's page.
func (d *dashboard) actPage(a action) func(*http.Request) (templ.Component, error) {
	return func(r *http.Request) (templ.Component, error) {
		if err := web.RequireCaller(r); err != nil {
			return nil, err
		}
		var form templates.Form
		if a.ask != nil {
			var err error
			if form, err = a.ask(r); err != nil {
				return nil, err
			}
		}
		asks := len(form.Groups) > 0
		if asks && (!r.URL.Query().Has(queryReview) || form.Problem != "") {
			return d.form(r, form), nil
		}
		if a.page != nil {
			return a.page(r, asked{}, "")
		}
		p, err := a.propose(r)
		if asks && err != nil && isPersons(err) {
			_, detail := web.Explain(r.Context(), err)
			form.Problem = sentence(detail)
			return d.form(r, form), nil
		}
		if err != nil {
			return nil, err
		}
		sealed, err := plan.Seal(r.Context(), d.svc, planOf(a, p, "page-"+rand.Text()), d.session(r), d.now())
		if err != nil {
			return nil, err
		}
		return d.confirm(r, p, sealed, ""), nil
	}
}

// isPersons reports whether whoever has filled in the form can put it right.
func isPersons(err error) bool {
	switch alloc.CodeOf(err) {
	case alloc.CodeInvalidRequest, alloc.CodeInvalidName, alloc.CodeInvalidID, alloc.CodeInvalidCount, alloc.CodeInvalidConfig,
		alloc.CodePoolExists, alloc.CodeSequenceExists:
		return true
	}
	return false
}

func (d *dashboard) form(r *http.Request, f templates.Form) templ.Component {
	f.Frame = d.frame(r, f.Title)
	if f.Path == "" {
		f.Path = r.URL.Path
	}
	return templates.FormPage(f)
}

// planOf is the plan of a proposal.
func planOf(a action, p proposal, operation string) plan.Plan {
	return plan.Plan{
		Action: a.verb, Target: p.target, Version: p.version, Params: p.params, Need: cmp.Or(p.need, a.need), Name: p.name, Typed: p.typed, Reason: p.reason,
		Operation: operation,
	}
}

// confirm shows a proposal with its plan as it was sealed.
func (d *dashboard) confirm(r *http.Request, p proposal, sealed, problem string) templ.Component {
	frame := d.frame(r, p.title)
	return templates.Confirm(templates.ConfirmPage{
		Frame: frame, Path: r.URL.RequestURI(), Plan: sealed, Danger: p.danger, Button: p.button, Facts: p.facts, Evidence: p.seen, Effects: p.effect,
		Typed: p.typed, Unrecorded: p.unrecorded, NeedReason: p.reason, Reason: r.PostFormValue(fieldReason), Problem: problem, Twin: p.twin, Back: p.back,
		ReadOnly: d.readOnly,
	})
}

// act answers POST of an action's page: it carries out the plan, once.
func (d *dashboard) act(a action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, again, err := d.actOnce(r, a)
		switch {
		case again != nil && err != nil:
			d.render(w, r, web.Describe(w, r, err).Status, again)
		case err != nil:
			d.failed(w, r, anew(r, err))
		case again != nil:
			d.render(w, r, http.StatusUnprocessableEntity, again)
		case len(to.Each) > 0:
			d.render(w, r, http.StatusOK, d.toldPage(r, to))
		case to.secret != "":
			d.render(w, r, http.StatusOK, templates.Secret(templates.SecretPage{
				Frame: d.frame(r, "A new secret"), Said: saidWithSecret[to.Done], Secret: to.secret, Next: templates.Link{Text: "Go on", Href: to.Location},
			}))
		default:
			http.Redirect(w, r, to.address(), http.StatusSeeOther)
		}
	})
}

// actOnce carries out the plan of a POST. again is the page once more, where what it asks for is missing, or, with err, where what was sent may be sent again later.
func (d *dashboard) actOnce(r *http.Request, a action) (to outcome, again templ.Component, err error) {
	if err := d.mayChange(r); err != nil {
		return outcome{}, nil, err
	}
	read := a.read
	if read == nil {
		read = readForm
	}
	s, err := read(r)
	if err != nil {
		return d.pageAgain(r, a, s.asked, err)
	}
	p, err := plan.Open(r.Context(), d.svc, s.plan, a.verb, d.session(r))
	if err != nil {
		return outcome{}, nil, err
	}
	if problem := missing(p, s.asked, s.typed); problem != "" {
		if a.page != nil {
			again, err = a.page(r, s.asked, problem)
			return outcome{}, again, err
		}
		again, err = d.confirmAgain(r, a, p, s.plan, problem)
		return outcome{}, again, err
	}
	to, err = d.once(withReason(r.Context(), s.reason, p.Operation), a.verb, p, s.plan+s.print, func(ctx context.Context, attempt alloc.Attempt) (outcome, error) {
		return a.carry(ctx, p, s.asked, attempt)
	})
	switch {
	case a.page != nil && alloc.Is(err, alloc.CodeKeyMismatch):
		return outcome{}, nil, alloc.Errorf(alloc.CodeKeyMismatch, "another file, or another form of it, was sent from this page before, and is being checked; make a new plan to send this one")
	case err != nil:
		if !isPersons(err) && !alloc.Is(err, alloc.CodeTooManyJobs) {
			s.asked.plan = s.plan // it may have been done all the same, and is once with the same plan alone
		}
		return d.pageAgain(r, a, s.asked, err)
	}
	return to, nil, nil
}

// confirmAgain is the page of confirmation once more, with the plan that was sent: another one is never put in its place, as whoever has looked at the
// first would confirm the second unread. Where what the page shows is not of that plan any more, there has to be a new one.
func (d *dashboard) confirmAgain(r *http.Request, a action, p plan.Plan, sealed, problem string) (templ.Component, error) {
	shown, err := a.propose(r)
	if err != nil && !isPersons(err) {
		return nil, err
	}
	if err != nil || !p.Same(planOf(a, shown, p.Operation)) {
		return nil, alloc.Errorf(alloc.CodePlanChanged, "what this plan was made for has changed since; make a new plan, and look at it; nothing was changed").Because(err)
	}
	return d.confirm(r, shown, sealed, problem), nil
}

// pageAgain is the page of a step once more, with what it sent, of which a person can put something right or send it later; else the error.
func (d *dashboard) pageAgain(r *http.Request, a action, before asked, err error) (to outcome, again templ.Component, _ error) {
	if a.page == nil || !isPersons(err) && !passes(err) {
		return outcome{}, nil, err
	}
	_, detail := web.Explain(r.Context(), err)
	before.blocked = alloc.Is(err, alloc.CodeTooManyJobs)
	again, perr := a.page(r, before, sentence(detail))
	switch {
	case perr != nil:
		return outcome{}, nil, perr
	case isPersons(err):
		err = nil
	}
	return outcome{}, again, err
}

// passes reports whether what was refused can be sent again as it is, or in part.
func passes(err error) bool {
	switch alloc.CodeOf(err) {
	case alloc.CodeTooManyJobs, alloc.CodeQuotaExceeded, alloc.CodeBusy, alloc.CodeThrottled, web.CodeTooLarge:
		return true
	}
	return false
}

// readForm reads a page of confirmation.
func readForm(r *http.Request) (s sent, err error) {
	if err := r.ParseForm(); err != nil {
		return s, alloc.Errorf(alloc.CodeInvalidRequest, "the form could not be read; go back and send it again").Because(err)
	}
	s.plan, s.typed = r.PostForm.Get(fieldPlan), r.PostForm.Get(fieldTyped)
	s.reason = strings.TrimSpace(r.PostForm.Get(fieldReason))
	return s, nil
}

// mayChange refuses what changes something where there is no caller, or nothing may be changed.
func (d *dashboard) mayChange(r *http.Request) error {
	if err := web.RequireCaller(r); err != nil {
		return err
	}
	if d.readOnly {
		return alloc.Errorf(alloc.CodeForbidden, "the dashboard is read-only; nothing can be changed here")
	}
	return nil
}

// once does the work of a plan, or answers as it was answered before. print is all that the work depends on: the plan as it was sealed, and what was sent with it.
func (d *dashboard) once(ctx context.Context, verb string, p plan.Plan, print string, work func(context.Context, alloc.Attempt) (outcome, error)) (to outcome, err error) {
	var ours outcome
	answer, replayed, err := d.svc.Keyed(ctx, alloc.KeyedRequest{
		Need: p.Need, Name: p.Name, Operation: "page " + verb, Resource: p.Target, Key: p.Operation, Print: print,
	}, func(ctx context.Context, attempt alloc.Attempt) ([]byte, error) {
		if ours, err = work(ctx, attempt); err != nil {
			return nil, err
		}
		return json.Marshal(ours)
	})
	if err != nil || !replayed {
		return ours, err
	}
	if err := json.Unmarshal(answer, &to); err != nil {
		return outcome{}, alloc.Errorf(alloc.CodeInternal, "what was answered to this step cannot be read").Because(err)
	}
	return to, nil
}

// missing says what a person has left out of a confirmation; "" for nothing.
func missing(p plan.Plan, a asked, typed string) string {
	switch {
	case p.Typed != "" && strings.TrimSpace(typed) != p.Typed:
		return "Type " + p.Typed + " exactly, to confirm that this is what you mean."
	case p.Reason && a.reason == "":
		return "Give a reason; it is kept in the trail."
	}
	if err := alloc.CheckReason(a.reason); err != nil {
		_, detail := web.Explain(context.Background(), err)
		return sentence(detail)
	}
	return ""
}

// withReason returns a context whose caller has given a reason, and has confirmed a plan.
func withReason(ctx context.Context, reason, operation string) context.Context {
	caller, _ := alloc.CallerFrom(ctx)
	caller.Reason, caller.Plan = reason, operation
	return alloc.WithCaller(ctx, caller)
}

// address is the page that the browser goes to, with what is to be said there.
func (o outcome) address() string {
	if o.Done == "" {
		return o.Location
	}
	u, err := url.Parse(o.Location)
	if err != nil {
		return "/"
	}
	q := u.Query()
	q.Set(queryDone, o.Done)
	u.RawQuery = q.Encode()
	return u.String()
}
