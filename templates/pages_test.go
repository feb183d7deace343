package templates

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden pages anew")

func frame(title, environment, kind string) Frame {
	return Frame{
		Title: title, Environment: environment, Kind: kind, Stylesheet: "/static/app.css", Icon: "/static/icon.svg",
		AsOf: Time{Machine: "2026-11-29T14:07:31Z", Text: "14:07:31 UTC"},
	}
}

// pages are the states that pages can be in; each has a golden file.
func pages() map[string]templ.Component {
	counted := Time{Machine: "2026-11-29T14:07:00Z", Text: "14:07:00 UTC"}
	return map[string]templ.Component{
		"overview": Home(Overview{
			Frame: frame("Overview", "production · eu-central-1", "production"), Sub: "3 pools, 2 sequences",
			Verdicts: []Verdict{
				{Tone: ToneBad, Word: "Exhausted", Of: []Link{{Text: "old", Href: "/pools/old"}}, Text: "has nothing left to claim.", Help: Link{Text: "Seed pool", Href: "/pools/old/seed"}},
				{Tone: ToneWarn, Word: "Low", Of: []Link{{Text: "a", Href: "/pools/a"}, {Text: "b", Href: "/pools/b"}}, Text: "and 9 more are below their low mark.", Help: Link{Text: "Low pools", Href: "/pools?state=low"}},
				{Tone: ToneWarn, Word: "Jobs", Problem: &Failure{Message: "Try later.", RequestID: "R-1", Retry: "/"}},
			},
			Pools: LinesPanel{Rows: []PoolLine{
				{
					Name: "case-2026", Description: `<b>"cases" & more</b>`, State: State{ToneGood, "active"}, Why: "refilled 14:02",
					Level:     Level{Free: "115.5", Held: "115.7", Marks: []string{"38"}, Tone: ToneGood, Label: "9,120 of 12,000 available"},
					Available: "9,120", Held: "12", Spark: Spark{Points: "0,2 112,20", X: "112", Y: "20", Label: "last 24 hours"}, Burn: "310", Day: "290", Lasts: "29 h – 31 h",
				},
				{Name: "strange", State: State{ToneBad, "level unknown"}, Unknown: "The engine did not answer."},
			}},
			Sequences: SequenceLinesPanel{Rows: []SequenceLine{
				{Row: SequenceRow{Name: "invoice-de", State: State{ToneGood, "active"}, Meter: Meter{"0.100000", "1", "10.0 % used", ToneGood}, Next: "1,000,001", Limit: "9,999,999"}, Rate: "1,902", Ends: "never"},
				{Row: SequenceRow{Name: "lost", State: State{ToneBad, "stopped, rebuild it"}, Meter: Meter{"0", "1", "position not known", ToneBad}, Limit: "9,223,372,036,854,775,807"}, Rate: "–", Ends: "–"},
			}},
			Jobs:  JobsPanel{Rows: []JobRow{{Title: "Seed case-2026", Href: "/jobs/J", State: State{ToneGood, "running"}, Value: "61", Max: "100", Percent: "61.0 %", Done: "61 of 100", Left: "40 s left"}}},
			Trail: TrailPanel{Rows: []TrailRow{{At: counted, Client: "admin-1", Action: "pool.pause", Target: "pool/old", Href: "/pools/old", State: State{ToneGood, "ok"}}}},
		}),
		"empty": Home(Overview{Frame: frame("Overview", "local", "local"), Trail: TrailPanel{Hidden: true}}),
		"failed": Home(Overview{
			Frame:     frame("Overview", "staging", "other"),
			Pools:     LinesPanel{Failure: &Failure{Message: "The engine did not answer.", RequestID: "R-1", Retry: "/?limit=50"}},
			Sequences: SequenceLinesPanel{Failure: &Failure{Message: "Try later.", Retry: "/"}},
			Jobs:      JobsPanel{Failure: &Failure{Message: "Try later.", Retry: "/"}},
			Trail:     TrailPanel{Failure: &Failure{Message: "Try later.", Retry: "/"}},
		}),
		"end":   Pools(PoolsPage{Frame: frame("Pools", "local", "local"), Panel: LinesPanel{Paging: Paging{First: "/pools"}}}),
		"error": Error(ErrorPage{Frame: frame("Not found", "local", "local"), Heading: "Not found", Message: "There is no page at this address.", RequestID: "R-2"}),
	}
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	// A line for each element, so that a difference can be read.
	return strings.ReplaceAll(b.String(), "><", ">\n<") + "\n"
}

func TestPages(t *testing.T) {
	for name, c := range pages() {
		t.Run(name, func(t *testing.T) {
			page := render(t, c)
			file := filepath.Join("testdata", name+".html")
			if *update {
				if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), page); diff != "" {
				t.Errorf("%s (-want +got), write it anew with -update:\n%s", file, diff)
			}
		})
	}
}

// The content security policy allows nothing inline, so a page that has it would be shown broken.
func TestNothingIsInline(t *testing.T) {
	inline := regexp.MustCompile(`(?i)<(script|style|iframe|object|embed|base)\b|\sstyle=|\son[a-z]+=|javascript:`)
	for name, c := range pages() {
		if found := inline.FindString(render(t, c)); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
}

// What people write is shown as they wrote it, never taken for markup.
func TestTextIsEscaped(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	f := frame(evil, evil, "local")
	for name, c := range map[string]templ.Component{
		"overview": Home(Overview{
			Frame:     f,
			Verdicts:  []Verdict{{Tone: ToneBad, Word: evil, Of: []Link{{Text: evil, Href: "javascript:alert(1)"}}, Text: evil, Help: Link{Text: evil, Href: "javascript:alert(1)"}}},
			Pools:     LinesPanel{Rows: []PoolLine{{Name: evil, Description: evil, Unknown: evil, State: State{"good", evil}}}},
			Sequences: SequenceLinesPanel{Failure: &Failure{Message: evil, RequestID: evil, Retry: "javascript:alert(1)"}},
		}),
		"error": Error(ErrorPage{Frame: f, Heading: evil, Message: evil, RequestID: evil}),
	} {
		if page := render(t, c); strings.Contains(page, "<script") || strings.Contains(page, "javascript:") {
			t.Errorf("%s:\n%s", name, page)
		}
	}
}

// Every gauge, table and panel says in words what it shows.
func TestPagesSpeak(t *testing.T) {
	for name, c := range pages() {
		page := render(t, c)
		for _, m := range regexp.MustCompile(`<meter[^>]*>`).FindAllString(page, -1) {
			if !regexp.MustCompile(`aria-label="[^"]+"`).MatchString(m) {
				t.Errorf("%s: a gauge without words: %s", name, m)
			}
		}
		for _, want := range []string{`<html lang="en">`, `<main id="main" tabindex="-1">`, `href="#main"`, "<h1>"} {
			if strings.Count(page, want) != 1 {
				t.Errorf("%s has %q %d times, want once", name, want, strings.Count(page, want))
			}
		}
	}
}

// A41: generated code belongs to the runtime of its version.
func TestTheToolHasTheVersionOfTheRuntime(t *testing.T) {
	version := func(file string) string {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`github\.com/a-h/templ (v\S+)`).FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s does not name templ", file)
		}
		return string(m[1])
	}
	runtime, tool := version("../go.mod"), version("../tools.mod")
	if runtime != tool {
		t.Errorf("go.mod has templ %s, tools.mod %s", runtime, tool)
	}
	generated, err := filepath.Glob("*_templ.go")
	if err != nil || len(generated) == 0 {
		t.Fatalf("no generated files: %v", err)
	}
	for _, file := range generated {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("// templ: version: "+runtime)) {
			t.Errorf("%s was generated by another version than %s", file, runtime)
		}
	}
}
