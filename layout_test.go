package idpool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "idpool"

// importRule is one row of the table in ARCHITECTURE.md, "Direction of imports".
type importRule struct {
	folder string   // below the module; a last element "*" is any one folder
	std    []string // what of the standard library it may not import directly; nil for nothing
	allow  []string // what it may import directly beside the standard library, as prefixes; "*" for everything
	never  []string // what it may not reach at all, on any chain of imports; it wins over allow
	tests  bool     // only tests may import it
}

const (
	awsModules = "github.com/aws" // the SDK, smithy, aws-lambda-go; and github.com/awslabs
	awsLambda  = "github.com/aws/aws-lambda-go"
	awsSDK     = "github.com/aws/aws-sdk-go-v2"
	awsSmithy  = "github.com/aws/smithy-go"
	awsProxy   = "github.com/awslabs/aws-lambda-go-api-proxy"
	templ      = "github.com/a-h/templ"
)

// importRules is the whole table. A folder without a row is a violation, so that a new one is placed on purpose. Of two
// rows that fit, the first counts.
func importRules() []importRule {
	return []importRule{
		{
			folder: "alloc",
			std:    []string{"net/http", "os", "log/slog", "encoding/json"},
			allow:  []string{own("alloc/generator"), "golang.org/x/text/unicode/norm"},
			never:  []string{awsModules, own("infra"), own("web"), own("templates")},
		},
		{
			folder: "alloc/generator",
			std:    []string{"net/http", "os", "log/slog", "encoding/json"},
			never:  []string{awsModules, own("infra"), own("web"), own("templates")},
		},
		{
			folder: "alloc/alloctest",
			allow:  []string{own("alloc"), "github.com/anishathalye/porcupine", "github.com/google/go-cmp", "pgregory.net/rapid"},
			never:  []string{awsModules, own("infra"), own("web"), own("templates")},
			tests:  true,
		},
		{
			folder: "infra/dynamo",
			allow:  []string{own("alloc"), awsSDK, awsSmithy, "golang.org/x/sync"},
			never:  infraNever("dynamo", awsLambda),
		},
		{
			folder: "infra/dynamo/dynamotest",
			allow:  []string{own("alloc"), own("infra/dynamo"), awsSDK, awsSmithy, "github.com/google/go-cmp", "pgregory.net/rapid"},
			never:  []string{awsLambda, own("web"), own("templates"), own("infra/sql"), own("infra/lambdahttp")},
			tests:  true,
		},
		{
			folder: "infra/sql",
			allow:  []string{own("alloc"), "modernc.org/sqlite"},
			never:  infraNever("sql", awsModules),
		},
		{
			folder: "infra/lambdahttp",
			allow:  []string{own("alloc"), awsLambda, awsProxy},
			never:  infraNever("lambdahttp", awsSDK),
		},
		{
			folder: "infra/sqs",
			allow:  []string{own("alloc"), awsSDK, awsSmithy},
			never:  infraNever("sqs", awsLambda),
		},
		{folder: "infra/sqs/sqstest", never: []string{awsModules, own("alloc"), own("web"), own("templates")}, tests: true},
		{
			folder: "infra/metrics",
			allow:  []string{own("alloc")},
			never:  infraNever("metrics", awsModules),
		},
		{
			folder: "web",
			allow:  []string{own("alloc"), own("web/static"), "github.com/klauspost/compress/gzhttp"},
			never:  []string{awsModules, own("infra"), own("templates"), own("web/api"), own("web/admin")},
		},
		{
			folder: "web/static",
			allow:  []string{own("alloc")},
			never:  []string{awsModules, own("infra"), own("templates"), own("web/api"), own("web/admin")},
		},
		{
			folder: "web/api",
			allow:  []string{own("alloc"), own("web")},
			never:  []string{awsModules, own("infra"), own("templates"), own("web/admin")},
		},
		{
			folder: "web/api/apitest",
			allow:  []string{"github.com/oapi-codegen/runtime"},
			never:  []string{awsModules, own("alloc"), own("infra"), own("templates"), own("web")},
			tests:  true,
		},
		{
			folder: "web/admin",
			allow:  []string{own("alloc"), own("web"), own("templates"), templ},
			never:  []string{awsModules, own("infra"), own("web/api")},
		},
		{
			folder: "web/admin/signin",
			allow:  []string{own("alloc"), own("web"), own("templates"), templ, "github.com/coreos/go-oidc", "golang.org/x/oauth2"},
			never:  []string{awsModules, own("infra"), own("web/api")},
		},
		{
			folder: "web/admin/plan",
			allow:  []string{own("alloc")},
			never:  []string{awsModules, own("infra"), own("templates"), own("web/api")},
		},
		{
			folder: "templates",
			std:    []string{"net/http", "html/template"},
			allow:  []string{templ},
			never:  []string{awsModules, own("alloc"), own("web"), own("infra")},
		},
		{
			folder: "functions/internal/*", // what all functions start with
			allow:  []string{"*"},
			never:  []string{own("infra/sql"), own("alloc/alloctest"), own("infra/dynamo/dynamotest"), own("local")},
		},
		{
			folder: "functions/*",
			allow:  []string{"*"},
			never: []string{
				own("infra/sql"), own("alloc/alloctest"), own("infra/dynamo/dynamotest"), own("local"), "another function",
			},
		},
		{folder: "local", allow: []string{"*"}, never: []string{own("functions")}},
		{
			folder: "local/gallery",
			allow:  []string{own("templates"), own("web/static"), templ},
			never:  []string{awsModules, own("infra"), own("alloc"), own("web/admin"), own("web/api"), own("functions")},
		},
		{
			folder: "local/demo",
			allow:  []string{own("alloc")},
			never:  []string{awsModules, own("infra"), own("web"), own("templates"), own("functions")},
		},
	}
}

func own(folder string) string { return module + "/" + folder }

// infraNever keeps the technologies apart: infra/name reaches no other one.
func infraNever(name string, more ...string) []string {
	never := []string{own("web"), own("templates"), own("functions"), own("local"), own("alloc/alloctest")}
	for _, other := range []string{"dynamo", "sql", "sqs", "lambdahttp", "metrics"} {
		if other != name {
			never = append(never, own("infra/"+other))
		}
	}
	return append(never, more...)
}

// listed is what `go list` says of a package. Imports are those of its non-test files.
type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func TestImportsFollowTheTable(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports,Standard", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("decode go list: %v", err)
		}
		packages = append(packages, p)
	}
	for _, v := range violations(importRules(), packages) {
		t.Error(v)
	}
}

// violations judges each package of the module: its direct imports by its row, and every chain of imports by what its row
// never reaches.
func violations(rules []importRule, packages []listed) []string {
	byPath := map[string]listed{}
	for _, p := range packages {
		byPath[p.ImportPath] = p
	}
	var found []string
	for _, p := range packages {
		folder, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if !ours || len(p.Imports) == 0 {
			continue
		}
		rule, ok := ruleFor(rules, folder)
		if !ok {
			found = append(found, fmt.Sprintf("%s: no row of the import table is for this folder", p.ImportPath))
			continue
		}
		for _, imported := range p.Imports {
			if why := rule.refuses(imported, byPath[imported].Standard, rules); why != "" {
				found = append(found, fmt.Sprintf("%s → %s: %s", p.ImportPath, imported, why))
			}
		}
		found = append(found, forbiddenChains(p, rule, byPath)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func ruleFor(rules []importRule, folder string) (importRule, bool) {
	for _, r := range rules {
		if ok, _ := path.Match(r.folder, folder); ok {
			return r, true
		}
	}
	return importRule{}, false
}

// refuses says why a package of this row may not import the other one directly, "" if it may.
func (r importRule) refuses(imported string, standard bool, rules []importRule) string {
	if standard {
		if slices.Contains(r.std, imported) {
			return r.folder + " may not import this part of the standard library"
		}
		return ""
	}
	if folder, ours := strings.CutPrefix(imported, module+"/"); ours {
		if other, _ := ruleFor(rules, folder); other.tests && !r.tests {
			return "only tests may import it"
		}
	}
	if slices.ContainsFunc(r.allow, func(a string) bool { return a == "*" || within(imported, a) }) {
		return ""
	}
	return "not among what " + r.folder + " may import"
}

// forbiddenChains walks the imports below p, breadth first, and gives for each forbidden package the shortest chain.
func forbiddenChains(p listed, r importRule, byPath map[string]listed) []string {
	from := map[string]string{p.ImportPath: ""}
	var found []string
	for queue := []string{p.ImportPath}; len(queue) > 0; queue = queue[1:] {
		for _, next := range byPath[queue[0]].Imports {
			if _, seen := from[next]; seen {
				continue
			}
			from[next] = queue[0]
			if !r.neverReaches(p.ImportPath, next) {
				queue = append(queue, next)
				continue
			}
			chain := []string{next}
			for at := queue[0]; at != ""; at = from[at] {
				chain = append(chain, at)
			}
			slices.Reverse(chain)
			found = append(found, strings.Join(chain, " → ")+": never below "+r.folder)
		}
	}
	return found
}

func (r importRule) neverReaches(importer, imported string) bool {
	return slices.ContainsFunc(r.never, func(n string) bool {
		switch n {
		case "another function":
			return within(imported, own("functions")) && !within(imported, own("functions/internal")) && imported != importer
		case awsModules:
			return within(imported, awsModules) || within(imported, "github.com/awslabs")
		}
		return within(imported, n)
	})
}

// within reports whether a package is the folder or module, or below it.
func within(imported, prefix string) bool {
	return imported == prefix || strings.HasPrefix(imported, prefix+"/")
}

func TestTheTableCatchesViolations(t *testing.T) {
	const std = "net/http"
	tests := map[string]struct {
		packages []listed
		want     string
	}{
		"the domain talks HTTP": {
			[]listed{{ImportPath: own("alloc"), Imports: []string{std}}, {ImportPath: std, Standard: true}},
			"idpool/alloc → net/http: alloc may not import this part of the standard library",
		},
		"the domain takes a module": {
			[]listed{{ImportPath: own("alloc"), Imports: []string{"github.com/google/uuid"}}},
			"idpool/alloc → github.com/google/uuid: not among what alloc may import",
		},
		"the web reaches AWS through somebody else": {
			[]listed{
				{ImportPath: own("web"), Imports: []string{own("alloc")}},
				{ImportPath: own("alloc"), Imports: []string{"golang.org/x/text/unicode/norm"}},
				{ImportPath: "golang.org/x/text/unicode/norm", Imports: []string{awsSDK + "/aws"}},
			},
			"idpool/web → idpool/alloc → golang.org/x/text/unicode/norm → github.com/aws/aws-sdk-go-v2/aws: never below web",
		},
		"one technology uses another": {
			[]listed{{ImportPath: own("infra/sql"), Imports: []string{own("infra/dynamo")}}},
			"idpool/infra/sql → idpool/infra/dynamo: never below infra/sql",
		},
		"a store knows Lambda": {
			[]listed{{ImportPath: own("infra/dynamo"), Imports: []string{awsLambda + "/events"}}},
			"idpool/infra/dynamo → github.com/aws/aws-lambda-go/events: never below infra/dynamo",
		},
		"the API shows pages": {
			[]listed{{ImportPath: own("web/api"), Imports: []string{own("templates")}}},
			"idpool/web/api → idpool/templates: never below web/api",
		},
		"a function brings SQLite": {
			[]listed{{ImportPath: own("functions/refill"), Imports: []string{own("infra/sql")}}},
			"idpool/functions/refill → idpool/infra/sql: never below functions/*",
		},
		"a function imports another": {
			[]listed{{ImportPath: own("functions/refill"), Imports: []string{own("functions/admin")}}},
			"idpool/functions/refill → idpool/functions/admin: never below functions/*",
		},
		"a program ships the test suite": {
			[]listed{{ImportPath: own("local"), Imports: []string{own("alloc/alloctest")}}},
			"idpool/local → idpool/alloc/alloctest: only tests may import it",
		},
		"a new folder has no row": {
			[]listed{{ImportPath: own("util"), Imports: []string{std}}, {ImportPath: std, Standard: true}},
			"idpool/util: no row of the import table is for this folder",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := violations(importRules(), tt.packages)
			if !slices.Contains(got, tt.want) {
				t.Errorf("violations:\n%s\nwant among them:\n%s", strings.Join(got, "\n"), tt.want)
			}
		})
	}
}

func TestFilesAreShort(t *testing.T) {
	const most = 400
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || name == "build") {
			return fs.SkipDir
		}
		source := strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".templ")
		if d.IsDir() || !source || strings.HasSuffix(name, "_templ.go") || strings.HasSuffix(name, ".gen.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if lines := strings.Count(string(text), "\n"); lines > most {
			t.Errorf("%s has %d lines, more than %d: one idea a file", name, lines, most)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
