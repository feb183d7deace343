package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web/admin/signin"
	"idpool/web/static"
)

// queryEvery is how often a page brings its live parts up to date, in seconds.
const queryEvery = "every"

// refreshEvery is how often a page does so if nobody has said anything else.
const refreshEvery = 10

// refreshSteps are what may be said, 0 for never. The stylesheet knows them: it shows that a page is older than three of them.
var refreshSteps = []int{0, 5, 10, 30, 60, 300}

// sections are the screens that every page leads to.
var sections = []templates.Link{
	{Text: "Overview", Href: "/"},
	{Text: "Pools", Href: "/pools"},
	{Text: "Sequences", Href: "/sequences"},
	{Text: "Jobs", Href: "/jobs"},
	{Text: "Audit", Href: "/audit"},
	{Text: "Credentials", Href: "/credentials"},
	{Text: "About", Href: "/about"},
}

// frame is what stands around the page of a request.
func (d *dashboard) frame(r *http.Request, title string) templates.Frame {
	f := templates.Frame{
		Title: title, Environment: d.environment, Kind: kindOf(d.environment), ReadOnly: d.readOnly,
		Stylesheet: static.Address(static.Stylesheet), Script: static.Address(static.Script), Icon: static.Address(static.Icon),
		AsOf: clock(d.now(), d.now()),
	}
	caller, ok := alloc.CallerFrom(r.Context())
	if !ok {
		return f
	}
	f.Who = string(caller.Client)
	if r.URL.Path == "/find" { // elsewhere q is a filter
		f.Find = r.URL.Query().Get("q")
	}
	if s, ok := signin.SessionOf(r.Context()); ok {
		f.Who, f.SignOut = s.Name+" · "+string(s.Role), true
	}
	for _, s := range sections {
		s.Current = r.URL.Path == s.Href || s.Href != "/" && strings.HasPrefix(r.URL.Path, s.Href+"/")
		f.Nav = append(f.Nav, s)
	}
	f.Done = said[r.URL.Query().Get(queryDone)]
	return f
}

// liveFrame is the frame of a page with live parts.
func (d *dashboard) liveFrame(r *http.Request, title string) templates.Frame {
	f := d.frame(r, title)
	every := refreshEvery
	if n, err := strconv.Atoi(r.URL.Query().Get(queryEvery)); err == nil && slices.Contains(refreshSteps, n) {
		every = n
	}
	f.Refresh.Seconds = every
	if every == 0 {
		f.Refresh.Words = "not kept up to date"
		f.Refresh.Switch = templates.Link{Text: "Keep up to date", Href: with(r, queryEvery, "")}
	} else {
		f.Refresh.Words = fmt.Sprintf("every %d s", every)
		f.Refresh.Switch = templates.Link{Text: "Pause", Href: with(r, queryEvery, "0")}
	}
	return f
}

// with is the address of the request's page with one value of its query another, or left out where it is "".
func with(r *http.Request, key, value string) string {
	q := r.URL.Query()
	q.Del(queryDone)
	q.Set(key, value)
	if value == "" {
		q.Del(key)
	}
	u := url.URL{Path: r.URL.Path, RawQuery: q.Encode()}
	return u.String()
}

// session is whose plans a request may carry out.
func (d *dashboard) session(r *http.Request) string {
	if s, ok := signin.SessionOf(r.Context()); ok {
		return string(s.ID)
	}
	caller, _ := alloc.CallerFrom(r.Context())
	return string(caller.Client)
}

// may reports whether whoever asks may take a step: what a button is shown by. The service decides.
func may(r *http.Request, need alloc.Action, name string) bool {
	caller, _ := alloc.CallerFrom(r.Context())
	for _, s := range caller.Scopes {
		if s.Permits(need, name) {
			return true
		}
	}
	return false
}

// saidWithSecret are the sentences on the page that shows the secret itself, which nobody has missed yet.
var saidWithSecret = map[string]string{
	"credential-created": "The credential was created.",
	"credential-rotated": "The secret was rotated.",
}

// said are the sentences that tell of what was done. An address names one by its word, so it can say nothing else.
var said = map[string]string{
	"paused":             "The pool is paused: nobody gets an ID of it until it is resumed. It takes effect everywhere within 30 seconds.",
	"resumed":            "The pool is active again. It takes effect everywhere within 30 seconds.",
	"draining":           "The pool is draining: claims go on, and nothing is added.",
	"id-released":        "The ID is released. It is on its way back, and can be claimed again after the schedule's next run.",
	"id-retired":         "The ID is retired. Nobody ever gets it again.",
	"job-made":           "The job goes on by itself; this page shows how far it is.",
	"rebuild-plan":       "The sequence is frozen. Look at the plan below; while the ledger is still being read, this page shows it when it is there.",
	"rebuild-apply":      "The plan is applied. Look at the step that it has come to.",
	"rebuild-resume":     "Callers are let in.",
	"rebuild-cancel":     "The rebuild is cancelled; the sequence is as it was before.",
	"credential-created": "The credential was created. Its secret was shown once, on the page before; where it was missed, rotate it.",
	"credential-changed": "The credential was changed. It takes effect everywhere within a minute.",
	"credential-rotated": "The secret was rotated. The new one was shown once, on the page before. Where it was missed: to rotate while the secret before still works ends that at once, " +
		"and cuts off the clients that use it.",
	"credential-revoked": "The credential was revoked. Nobody gets in with it within a minute.",
	"session-ended":      "The session was ended.",
	"pool-created":       "The pool was created. It is empty: seed it, or let its generator fill it.",
	"pool-changed":       "The pool was changed. It takes effect everywhere within 30 seconds.",
	"sequence-created":   "The sequence was created.",
	"sequence-changed":   "The sequence was changed. It takes effect everywhere within 30 seconds.",
	"sequence-paused":    "The sequence is paused: nobody gets a number of it until it is resumed.",
	"sequence-resumed":   "The sequence is active again. It takes effect everywhere within 30 seconds.",
	"sequence-deleted":   "The sequence was deleted. Its name is never used again.",

	"cancelled": "The job is cancelled. What it had done by then stays done.",
	"deleted":   "The pool was deleted. Its name is never used again.",
}
