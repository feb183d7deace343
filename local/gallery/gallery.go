// Package gallery renders each screen of the dashboard from made-up data in each state that it can be in: nothing there yet, one row,
// many, an error, read-only, text that is very long, text from right to left. It is for eyes and for the tests of pages;
// nothing in it reads a store.
package gallery

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"idpool/templates"
	"idpool/web/static"
)

// Prefix is where Handler belongs.
const Prefix = "/gallery/"

// State is what a screen has to show.
type State string

// The states.
const (
	Empty       State = "empty"
	One         State = "one"
	Many        State = "many"
	Error       State = "error"
	ReadOnly    State = "read-only"
	Long        State = "long"
	RightToLeft State = "right-to-left"
)

// States are all of them. Each screen is shown in each: where it has nothing that could be so, it looks as usual.
func States() []State { return []State{Empty, One, Many, Error, ReadOnly, Long, RightToLeft} }

// Page is one screen in one state.
type Page struct {
	Screen  string
	Pattern string // of its address in the dashboard; "" for what is shown at several, or to nobody in particular
	State   State
	Show    func() templ.Component
}

// Path is where Handler serves the page.
func (p Page) Path() string { return Prefix + p.Screen + "/" + string(p.State) }

// screen is one row of the table of screens.
type screen struct {
	name, pattern string
	show          func(sample) templ.Component
}

func screens() []screen {
	return []screen{
		{"overview", "/{$}", overview},
		{"pools", "/pools", pools},
		{"pool", "/pools/{pool}", pool},
		{"id", "/pools/{pool}/ids", inspect},
		{"claimed", "/pools/{pool}/claimed", whole(claimed)},
		{"sequences", "/sequences", sequences},
		{"sequence", "/sequences/{sequence}", oneSequence},
		{"rebuild", "/sequences/{sequence}/rebuild", rebuild},
		{"seed", "/pools/{pool}/seed", seed},
		{"check", "/jobs/{job}/seed", check},
		{"jobs", "/jobs", jobs},
		{"job", "/jobs/{job}", job},
		{"audit", "/audit", trail},
		{"credentials", "/credentials", credentials},
		{"credential", "/credentials/{credential}", whole(credential)},
		{"about", "/about", about},
		{"help", "/help", help},
		{"find", "/find", find},
		{"form", "", form},
		{"confirmation", "", confirm},
		{"secret", "", secret},
		{"told", "", told},
		{"message", "", message},
		{"sign-in", "", signIn},
		{"sign-in-once", "", once},
		{"signed-out", "", signedOut},
	}
}

// Pages are all screens in all states.
func Pages() []Page {
	var all []Page
	for _, sc := range screens() {
		for _, state := range States() {
			all = append(all, Page{sc.name, sc.pattern, state, func() templ.Component { return sc.show(sample{state}) }})
		}
	}
	return all
}

// whole is a screen that cannot fail in part: what is shown where it cannot be read is the page that says so.
func whole(show func(sample) templ.Component) func(sample) templ.Component {
	return func(s sample) templ.Component {
		if s.state == Error {
			return message(s)
		}
		return show(s)
	}
}

// Handler serves the pages, and an index of them at Prefix.
func Handler() http.Handler {
	mux := http.NewServeMux()
	var index []templates.Fact
	for _, p := range Pages() {
		mux.Handle(p.Path(), shown(p.Show))
		index = append(index, templates.Fact{Term: p.Screen, Value: string(p.State), Href: p.Path()})
	}
	mux.Handle(Prefix+"{$}", shown(func() templ.Component {
		return templates.Find(templates.FindPage{Frame: sample{Many}.frame("Gallery"), Text: "all", Found: index})
	}))
	return mux
}

func shown(page func() templ.Component) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		if err := page().Render(r.Context(), &b); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(b.Bytes()) //nolint:errcheck // the client is gone; there is nobody to tell
	})
}

// sample makes the data of one state.
type sample struct{ state State }

// rows are as many as the state has, of what is made for each number.
func rows[T any](s sample, make func(n int) T) []T {
	count := 6
	switch s.state {
	case Empty, Error:
		count = 0
	case One:
		count = 1
	}
	var all []T
	for n := range count {
		all = append(all, make(n))
	}
	return all
}

// text is what people write freely.
func (s sample) text(usual string) string {
	switch s.state {
	case Long:
		return strings.Repeat(strings.ReplaceAll(usual, " ", "_"), 200/len(usual)+1) // nowhere to break a line
	case RightToLeft:
		return "قسائم الربيع \u200f" + usual + " עברית (2026)"
	}
	return usual
}

// name is what a pool, a sequence or a client is called: of few kinds of characters, up to 128.
func (s sample) name(usual string, n int) string {
	name := usual + "-" + strconv.Itoa(n+1)
	if s.state == Long {
		name = strings.Repeat(usual, 128/len(usual)+1)[:126] + "-" + strconv.Itoa(n+1)
	}
	return name
}

// id is an ID: free text of up to 256 characters.
func (s sample) id(n int) string {
	if s.state == Long {
		return strings.Repeat("894310000000", 21) + strconv.Itoa(n)
	}
	return s.text("SPRING-0000" + strconv.Itoa(n))
}

// number is a position of 64 bits.
func (s sample) number(usual string) string {
	if s.state == Long {
		return "9,223,372,036,854,775,807"
	}
	return usual
}

// count is how many IDs there are.
func (s sample) count(usual string) string {
	if s.state == Long {
		return "12,345,678,901"
	}
	return usual
}

func (s sample) frame(title string) templates.Frame {
	f := templates.Frame{
		Title: title, Environment: "local", Kind: "local", AsOf: at("14:07:31"), Who: "Ada Lovelace · admin", SignOut: true,
		Stylesheet: static.Address(static.Stylesheet), Script: static.Address(static.Script), Icon: static.Address(static.Icon),
		ReadOnly: s.state == ReadOnly,
	}
	switch s.state {
	case One:
		f.Environment, f.Kind = "staging", "other"
		f.Done = "The pool is paused: nobody gets an ID of it until it is resumed."
	case Many:
		f.Environment, f.Kind = "production · eu-central-1", "production"
	case Long, RightToLeft:
		f.Who = s.text("Ada Lovelace") + " · operator"
		f.Environment, f.Kind = s.text("production · eu-central-1"), "production"
	}
	for _, l := range []string{"Overview", "Pools", "Sequences", "Jobs", "Audit", "Credentials", "About"} {
		f.Nav = append(f.Nav, templates.Link{Text: l, Href: Prefix, Current: l == title})
	}
	return f
}

// live is the frame of a page that is brought up to date; here it is only when asked.
func (s sample) live(title string) templates.Frame {
	f := s.frame(title)
	f.Refresh = templates.Refresh{Words: "not kept up to date", Switch: templates.Link{Text: "Keep up to date", Href: Prefix}}
	return f
}

// failure stands in where the state is an error.
func (s sample) failure() *templates.Failure {
	if s.state != Error {
		return nil
	}
	return &templates.Failure{Message: "The engine did not answer within 2 seconds.", RequestID: "01JDR4T2M0H6W8", Retry: Prefix}
}

func (s sample) paging() templates.Paging {
	if s.state == Many || s.state == Long {
		return templates.Paging{First: Prefix, Next: Prefix}
	}
	return templates.Paging{}
}

// buttons are links to steps, where there may be any.
func (s sample) buttons(all ...string) []templates.Link {
	if s.state == ReadOnly {
		return nil
	}
	var links []templates.Link
	for n, text := range all {
		verb, _, _ := strings.Cut(text, " ")
		links = append(links, templates.Link{Text: text, Href: Prefix, Main: n == 0, Danger: verb == "Delete" || verb == "Retire" || verb == "Revoke"})
	}
	return links
}

// at is a moment of one day.
func at(clock string) templates.Time {
	return templates.Time{Machine: "2026-11-29T" + clock + "Z", Text: "2026-11-29 " + clock + " UTC", Away: "12 min ago"}
}

// of is one of some, by turns.
func of[T any](n int, some ...T) T { return some[n%len(some)] }
