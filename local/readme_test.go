package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// snippet is a fenced block of a Markdown file that stands below <!-- test --> (to be run) or <!-- output --> (what the
// block before it prints, with "…" for what differs from run to run).
type snippet struct {
	line         int
	text, output string
}

// snippets finds the marked blocks. A mark without a block is a fault, and so is an output without its block.
func snippets(markdown string) ([]snippet, error) {
	var found []snippet
	lines := strings.Split(markdown, "\n")
	for i := 0; i < len(lines); i++ {
		mark := strings.TrimSpace(lines[i])
		if mark != "<!-- test -->" && mark != "<!-- output -->" {
			continue
		}
		begin := i + 1
		if begin >= len(lines) || !strings.HasPrefix(lines[begin], "```") {
			return nil, fmt.Errorf("line %d: no block begins below %s", i+1, mark)
		}
		end := begin + 1
		for end < len(lines) && lines[end] != "```" {
			end++
		}
		if end == len(lines) {
			return nil, fmt.Errorf("line %d: the block has no end", begin+1)
		}
		text := strings.Join(lines[begin+1:end], "\n")
		switch {
		case mark == "<!-- test -->":
			found = append(found, snippet{line: begin + 1, text: text})
		case len(found) == 0 || found[len(found)-1].output != "":
			return nil, fmt.Errorf("line %d: an output without the block that prints it", i+1)
		default:
			found[len(found)-1].output = text
		}
		i = end
	}
	return found, nil
}

// usualAddress is how a README names the program's address.
const usualAddress = "http://127.0.0.1:8080"

// runSnippets runs the blocks in order in one shell, as somebody would who follows the text, beside a program with its
// data in .idpool. It returns what each printed.
func runSnippets(t *testing.T, blocks []snippet) []string {
	t.Helper()
	dir := t.TempDir()
	cmd := command(t)
	cmd.Args = append(cmd.Args[:1], "-addr", "127.0.0.1:0", "-data", filepath.Join(dir, ".idpool"))
	p := launchCommand(t, cmd)
	const between = "--- the next block ---"
	var script strings.Builder
	for _, b := range blocks {
		script.WriteString(b.text + "\necho; echo '" + between + "'\n")
	}
	shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(script.String(), usualAddress, p.url))
	shell.Dir = dir
	var errs strings.Builder
	shell.Stderr = &errs
	out, err := shell.Output()
	if err != nil {
		t.Fatalf("the blocks end with %v:\n%s%s", err, out, errs.String())
	}
	return strings.Split(strings.ReplaceAll(string(out), p.url, usualAddress), between)
}

// fits reports whether the output is the wanted one, where "…" stands for anything within a line.
func fits(output, want string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", ".*")
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(strings.TrimSpace(output))
}

// checkSnippets runs the marked blocks of a text, after those before it.
func checkSnippets(t *testing.T, markdown string, before ...snippet) {
	t.Helper()
	blocks, err := snippets(markdown)
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) == 0 {
		t.Fatal("no block is marked with <!-- test -->")
	}
	blocks = append(before, blocks...)
	for i, got := range runSnippets(t, blocks)[:len(blocks)] {
		if b := blocks[i]; b.output != "" && !fits(got, b.output) {
			t.Errorf("the block at line %d prints\n%s\nwant\n%s", b.line, strings.TrimSpace(got), b.output)
		}
	}
}

// TestTheREADMEIsTrue runs its blocks as somebody does who has tried what the program prints before.
func TestTheREADMEIsTrue(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	checkSnippets(t, string(text), snippet{text: hints(t)})
}

// TestTheRunbookIsTrue runs its blocks, the writing of a log before the restore from it.
func TestTheRunbookIsTrue(t *testing.T) {
	text, err := os.ReadFile("../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := snippets(string(text))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(blocks, func(b snippet) bool { return strings.Contains(b.text, "result \"$JOB\" >p.log") })
	from := slices.IndexFunc(blocks, func(b snippet) bool { return strings.Contains(b.text, "send \"$JOB\" p.log") })
	if at < from || from < 0 {
		t.Fatalf("the block that writes a log is number %d, the one that restores from it %d", at, from)
	}
	log := blocks[at]
	blocks = slices.Insert(slices.Delete(blocks, at, at+1), from, log)
	world := snippet{text: "URL=" + usualAddress + `
TOKEN=$(cat .idpool/token)
POINT=$(date -u +%Y-%m-%dT%H:%M:%SZ)
curl -sS -X PUT "$URL/v1/pools/p" -H "Authorization: Bearer $TOKEN"
curl -sS -X POST "$URL/v1/pools/p/seed" -H "Authorization: Bearer $TOKEN" -H 'Content-Type: text/plain' --data-binary $'A\nB\nC\nD\nE\n'
curl -sS -X POST "$URL/v1/pools/p/claims" -H "Authorization: Bearer $TOKEN"`}
	got := runSnippets(t, append([]snippet{world}, blocks...))
	all := strings.Join(got, "\n")
	for _, want := range []string{`"kind":"log"`, `{"whole":true,"lines":1,`, `"kind":"restore"`, `"carried":0`, `"known":1`} {
		if !strings.Contains(all, want) {
			t.Errorf("no block prints %s:\n%s", want, all)
		}
	}
}

// hints are the commands that the program prints when it is ready.
func hints(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	greet(&out, greeting{settings: settings{data: ".idpool"}, addr: address("127.0.0.1:8080"), token: "x", tokenFile: ".idpool/token"})
	_, commands, ok := strings.Cut(out.String(), "Try next")
	_, commands, ok2 := strings.Cut(commands, "\n")
	if !ok || !ok2 {
		t.Fatalf("the greeting has no commands: %s", out.String())
	}
	return strings.ReplaceAll(commands, "curl ", "curl --silent --show-error --fail ")
}

// TestTheGreetingIsTrue runs what the program prints twice: each may be repeated.
func TestTheGreetingIsTrue(t *testing.T) {
	commands := hints(t)
	got := runSnippets(t, []snippet{{text: commands}, {text: commands}})
	for i, printed := range got[:2] {
		if !strings.Contains(printed, `"ids":["DEMO-`) || !strings.Contains(printed, `"start":`) {
			t.Errorf("run %d of the commands gives no ID and no range:\n%s", i+1, printed)
		}
	}
}

// address is a net.Addr.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

func TestSnippetsAreFoundAndJudged(t *testing.T) {
	const good = "text\n<!-- test -->\n```sh\nA=1; echo one\n```\n<!-- output -->\n```\no…e\n```\n```sh\nfalse\n```\n<!-- test -->\n```sh\necho $A\n```\n"
	checkSnippets(t, good)
	for name, bad := range map[string]string{
		"a mark without a block":     "<!-- test -->\ntext\n",
		"a block without an end":     "<!-- test -->\n```sh\n",
		"an output without a block":  "<!-- output -->\n```\nx\n```\n",
		"two outputs for one block":  good + "<!-- output -->\n```\n1\n```\n<!-- output -->\n```\n1\n```\n",
		"a mark at the file's end":   "<!-- test -->",
		"an output that comes first": "<!-- output -->\n```\nx\n```\n" + good,
	} {
		if _, err := snippets(bad); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	for _, tt := range []struct {
		output, want string
		fits         bool
	}{
		{`{"a":"x1"}` + "\n", `{"a":"…"}`, true},
		{"a.b", "a.b", true},
		{"axb", "a.b", false},
		{"one\ntwo", "one", false},
		{"one\ntwo", "…", false},
	} {
		if got := fits(tt.output, tt.want); got != tt.fits {
			t.Errorf("fits(%q, %q) = %t, want %t", tt.output, tt.want, got, tt.fits)
		}
	}
}
