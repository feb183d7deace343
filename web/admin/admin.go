// Package admin is the dashboard: server-rendered pages over alloc.Service. A page is rendered to a buffer, so an error
// is a clean error page; a part of a page that cannot be read fails alone.
//
// Who may see the pages is decided by the sign-in, or, without one, by whoever mounts the handler, which must put a caller into the
// context (web.As). The service decides what that caller may see.
package admin

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
	"idpool/web/admin/signin"
	"idpool/web/static"
)

// Config is what the dashboard is made of.
type Config struct {
	Service     *alloc.Service   // required
	Environment string           // shown on every page, such as "production · eu-central-1"; default "local"
	Now         func() time.Time // default time.Now
	ReadOnly    bool             // nothing can be changed by it
	File        PartFile         // results of jobs are files of this form; nil for none to be had here

	// Facts are what else the page about this system says: its version, its table.
	Facts []templates.Fact

	// SignIn lets people in, by the addresses and the issuer that it names; the rest of it is the dashboard's to fill in. Nil where whoever
	// mounts the handler puts a caller into the context.
	SignIn *signin.Config
}

// screen is one row of the table of pages that are looked at.
type screen struct {
	path string // a pattern of http.ServeMux, without method; it answers GET
	show func(*http.Request) (templ.Component, error)
}

// screens is the table of all pages that are looked at.
func (d *dashboard) screens() []screen {
	return []screen{
		{"/{$}", d.overview},
		{"/pools", d.poolsPage},
		{"/pools/{pool}", d.poolPage},
		{"/pools/{pool}/ids", d.inspect},
		{"/pools/{pool}/claimed", d.claimedPage},
		{"/sequences", d.sequencesPage},
		{"/sequences/{sequence}", d.sequencePage},
		{"/sequences/{sequence}/rebuild", d.rebuildPage},
		{"/jobs", d.jobsPage},
		{"/audit", d.trailPage},
		{"/credentials", d.credentialsPage},
		{"/credentials/{credential}", d.credentialPage},
		{"/about", d.about},
		{"/help", d.help},
		{"/find", d.find},
		{"/jobs/{job}", d.jobPage},
		{"/jobs/{job}/seed", d.checkPage},
	}
}

// actions is the table of all steps that can be taken: the only POSTs there are, beside those of the sign-in.
func (d *dashboard) actions() []action {
	return slices.Concat(d.poolActions(), d.poolFormActions(), d.claimActions(), d.bulkActions(), d.idActions(), d.sequenceActions(), d.sequenceFormActions(), d.rebuildActions(), d.jobStepActions(), d.jobActions(), d.seedActions(), d.credentialActions(), d.sessionActions())
}

type dashboard struct {
	svc         *alloc.Service
	environment string
	now         func() time.Time
	readOnly    bool
	file        PartFile
	facts       []templates.Fact
	gate        *signin.Gate // nil where others let people in
}

// New returns the dashboard with its static files.
func New(c Config) (http.Handler, error) {
	if c.Service == nil {
		return nil, errors.New("admin: Config.Service is required")
	}
	d := &dashboard{svc: c.Service, environment: c.Environment, now: c.Now, readOnly: c.ReadOnly, file: c.File, facts: c.Facts}
	if d.environment == "" {
		d.environment = "local"
	}
	if d.now == nil {
		d.now = time.Now //nolint:forbidigo // the default of Config.Now
	}
	if err := d.letIn(c.SignIn); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for _, p := range d.screens() {
		mux.Handle(p.path, d.only(p.path, d.signedIn(d.shown(p.show)), nil))
	}
	for _, a := range d.actions() {
		mux.Handle(a.path, d.only(a.path, d.signedIn(d.shown(d.actPage(a))), d.signedIn(d.act(a))))
	}
	for path, file := range map[string]http.HandlerFunc{"/jobs/{job}/parts/{part}": d.jobPart, "/jobs/{job}/files/{file}": d.jobFile, "/audit/export": d.exportTrail} {
		mux.Handle(path, d.only(path, d.signedIn(file), nil))
	}
	for path, methods := range d.gateRoutes() {
		mux.Handle(path, d.only(path, methods[http.MethodGet], methods[http.MethodPost]))
	}
	notFound := http.HandlerFunc(d.notFound)
	mux.Handle(static.Prefix, d.only(static.Prefix, static.Handler(notFound), nil))
	mux.Handle("/", notFound)
	return web.CleanPath(d.transport(d.sameOrigin(mux))), nil
}

// sameOrigin refuses what a page of another origin has a browser send.
func (d *dashboard) sameOrigin(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.failed(w, r, alloc.Errorf(alloc.CodeForbidden, "this was sent by a page of another site, and was not done; open this dashboard and do it here"))
	}))
	return guard.Handler(next)
}

// only answers GET and HEAD by get, and POST by post where there is one.
func (d *dashboard) only(path string, get, post http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web.Note(r.Context(), slog.String(web.KeyRoute, r.Method+" "+path))
		switch {
		case r.Method == http.MethodGet, r.Method == http.MethodHead:
			get.ServeHTTP(w, r)
		case r.Method == http.MethodPost && post != nil:
			post.ServeHTTP(w, r)
		case post != nil:
			w.Header().Set("Allow", "GET, HEAD, POST")
			d.failed(w, r, alloc.Errorf(web.CodeMethodNotAllowed, "this page can be looked at, and its form be sent"))
		default:
			w.Header().Set("Allow", "GET, HEAD")
			d.failed(w, r, alloc.Errorf(web.CodeMethodNotAllowed, "this page can only be looked at"))
		}
	})
}

func (d *dashboard) notFound(w http.ResponseWriter, r *http.Request) {
	d.failed(w, r, alloc.Errorf(web.CodeNotFound, "there is no page at this address"))
}

// shown renders what show returns.
func (d *dashboard) shown(show func(*http.Request) (templ.Component, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := show(r)
		if err != nil {
			d.failed(w, r, err)
			return
		}
		d.render(w, r, http.StatusOK, c)
	})
}

func (d *dashboard) render(w http.ResponseWriter, r *http.Request, status int, c templ.Component) {
	var b bytes.Buffer
	if err := c.Render(r.Context(), &b); err != nil {
		web.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(b.Bytes()) //nolint:errcheck // the client is gone; there is nobody to tell
}

// refusal is an error with the pages that help.
type refusal struct {
	error
	next []templates.Link
}

func (e refusal) Unwrap() error { return e.error }

// failed shows an error as a page.
func (d *dashboard) failed(w http.ResponseWriter, r *http.Request, err error) {
	p := web.Describe(w, r, err)
	page := templates.ErrorPage{Frame: d.frame(r, p.Title), Heading: p.Title, Message: sentence(p.Detail), RequestID: p.RequestID}
	if e, ok := errors.AsType[refusal](err); ok {
		page.Next = e.next
	}
	d.render(w, r, p.Status, templates.Error(page))
}

// anew is the refusal of a plan as things are by now, with the way to a new one.
func anew(r *http.Request, err error) error {
	if _, known := errors.AsType[refusal](err); known {
		return err
	}
	var next []templates.Link
	switch status := web.StatusOf(alloc.CodeOf(err)); {
	case alloc.Is(err, alloc.CodeTooManyJobs):
		next = append(next, templates.Link{Text: "Look at the jobs that wait", Href: "/jobs"})
	case status == http.StatusConflict, status == http.StatusPreconditionFailed:
		next = append(next, templates.Link{Text: "Make a new plan", Href: r.URL.RequestURI()})
	}
	if r.URL.Query().Has(queryReview) { // the form keeps what was filled in
		next = append(next, templates.Link{Text: "Go back to the form", Href: withoutReview(r)})
	}
	if next == nil {
		return err
	}
	return refusal{err, next}
}

// kindOf is the colour of an environment: production must not be taken for another.
func kindOf(environment string) string {
	switch name := strings.ToLower(environment); {
	case strings.Contains(name, "prod"):
		return "production"
	case strings.HasPrefix(name, "local"):
		return "local"
	default:
		return "other"
	}
}
