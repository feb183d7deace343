// Package admin is the dashboard: server-rendered pages over alloc.Service. A page is rendered to a buffer, so an error
// is a clean error page; a part of a page that cannot be read fails alone.
//
// Who may see the pages is decided by whoever mounts the handler, which must put a caller into the context
// (web.BasicOrBearer, web.As). The service decides what that caller may see.
package admin

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
	"idpool/web/static"
)

// Config is what the dashboard is made of.
type Config struct {
	Service     *alloc.Service   // required
	Environment string           // shown on every page, such as "production · eu-central-1"; default "local"
	Now         func() time.Time // default time.Now
}

// page is one row of the table of pages.
type page struct {
	path string // a pattern of http.ServeMux, without method; pages answer GET
	show func(*http.Request) (templ.Component, error)
}

// pages is the table of all pages.
func (d *dashboard) pages() []page {
	return []page{
		{"/{$}", d.overview},
	}
}

type dashboard struct {
	svc         *alloc.Service
	environment string
	now         func() time.Time
}

// New returns the dashboard with its static files.
func New(c Config) (http.Handler, error) {
	if c.Service == nil {
		return nil, errors.New("admin: Config.Service is required")
	}
	d := &dashboard{svc: c.Service, environment: c.Environment, now: c.Now}
	if d.environment == "" {
		d.environment = "local"
	}
	if d.now == nil {
		d.now = time.Now //nolint:forbidigo // the default of Config.Now
	}
	mux := http.NewServeMux()
	for _, p := range d.pages() {
		mux.Handle(p.path, d.readOnly(p.path, d.shown(p.show)))
	}
	notFound := http.HandlerFunc(d.notFound)
	mux.Handle(static.Prefix, d.readOnly(static.Prefix, static.Handler(notFound)))
	mux.Handle("/", notFound)
	return web.CleanPath(mux), nil
}

// readOnly answers GET and HEAD.
func (d *dashboard) readOnly(route string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web.Note(r.Context(), slog.String(web.KeyRoute, "GET "+route))
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			d.failed(w, r, alloc.Errorf(web.CodeMethodNotAllowed, "this page can only be looked at"))
			return
		}
		next.ServeHTTP(w, r)
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

// failed shows an error as a page.
func (d *dashboard) failed(w http.ResponseWriter, r *http.Request, err error) {
	p := web.Describe(w, r, err)
	d.render(w, r, p.Status, templates.Error(templates.ErrorPage{
		Frame: d.frame(p.Title), Heading: p.Title, Message: sentence(p.Detail), RequestID: p.RequestID,
	}))
}

func (d *dashboard) frame(title string) templates.Frame {
	return templates.Frame{
		Title: title, Environment: d.environment, Kind: kindOf(d.environment),
		Stylesheet: static.Address(static.Stylesheet), Icon: static.Address(static.Icon),
		AsOf: clock(d.now(), d.now()),
	}
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
