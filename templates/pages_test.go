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
			Frame: frame("Overview", "production · eu-central-1", "production"),
			Pools: PoolsPanel{
				Rows: []PoolRow{
					{
						Name: "case-2026", Description: `<b>"cases" & more</b>`, State: State{ToneGood, "active"},
						Meter:     Meter{"9120", "12000", "9,120 of 12,000 available", ToneGood},
						Available: "9,120", Claimed: "2,868", Others: "12 held", Seeded: "12,000", Counted: counted,
					},
					{
						Name: "spring", State: State{ToneBad, "low, dry"}, Why: "All codes that there can be are in the pool.",
						Meter:     Meter{"150", "1000", "150 available, the target is 1,000", ToneBad},
						Available: "150", Marks: "low 200, target 1,000", Claimed: "4,850", Seeded: "5,000", Counted: counted,
					},
					{
						Name: "fresh", State: State{ToneWarn, "nothing seeded"}, Meter: Meter{"0", "1", "0 of 0 available", ToneWarn},
						Available: "0", Claimed: "0", Seeded: "0",
					},
					{
						Name: "old", State: State{ToneBad, "exhausted"}, Meter: Meter{"0", "10", "0 of 10 available", ToneBad},
						Available: "0", Claimed: "10", Seeded: "10", Counted: Time{Machine: "2026-11-28T10:00:00Z", Text: "2026-11-28 10:00:00 UTC", Stale: true},
					},
					{Name: "strange", State: State{ToneBad, "level unknown"}, Unknown: "The engine did not answer."},
				},
				Paging: Paging{First: "/", Next: "/?pools_after=strange"},
			},
			Sequences: SequencesPanel{
				Rows: []SequenceRow{
					{
						Name: "invoice-de", Description: "invoices, Germany", State: State{ToneGood, "active"}, Meter: Meter{"0.100000", "1", "10.0 % used", ToneGood},
						Used: "10.0 %", Next: "1,000,001", Limit: "9,999,999", Epoch: "3",
					},
					{Name: "lost", State: State{ToneBad, "stopped, rebuild it"}, Meter: Meter{"0", "1", "position not known", ToneBad}, Used: "–", Limit: "9,223,372,036,854,775,807", Epoch: "1"},
				},
			},
		}),
		"empty": Home(Overview{Frame: frame("Overview", "local", "local")}),
		"failed": Home(Overview{
			Frame:     frame("Overview", "staging", "other"),
			Pools:     PoolsPanel{Failure: &Failure{Message: "The engine did not answer.", RequestID: "R-1", Retry: "/?limit=50"}},
			Sequences: SequencesPanel{Failure: &Failure{Message: "Try later.", Retry: "/"}},
		}),
		"end": Home(Overview{
			Frame:     frame("Overview", "local", "local"),
			Pools:     PoolsPanel{Paging: Paging{First: "/"}},
			Sequences: SequencesPanel{Paging: Paging{First: "/"}},
		}),
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
			Pools:     PoolsPanel{Rows: []PoolRow{{Name: evil, Description: evil, Unknown: evil, State: State{"good", evil}}}},
			Sequences: SequencesPanel{Failure: &Failure{Message: evil, RequestID: evil, Retry: "javascript:alert(1)"}},
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
