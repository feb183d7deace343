package idpool_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"idpool/web/api"
)

// template is what of template.yaml is held against the code.
type template struct {
	Globals struct {
		Function struct {
			Environment environment `yaml:"Environment"`
		} `yaml:"Function"`
	}
	Resources map[string]resource
}

type resource struct {
	Metadata   map[string]string `yaml:"Metadata"`
	Properties struct {
		Environment environment `yaml:"Environment"`
		Events      map[string]struct {
			Properties map[string]yaml.Node `yaml:"Properties"`
		} `yaml:"Events"`
	} `yaml:"Properties"`
}

type environment struct {
	Variables map[string]yaml.Node `yaml:"Variables"`
}

func readTemplate(t *testing.T) template {
	t.Helper()
	text, err := os.ReadFile("template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// The properties of other resources have other shapes under the same names: only functions are read in full.
	var all struct {
		Globals   yaml.Node            `yaml:"Globals"`
		Resources map[string]yaml.Node `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	tmpl := template{Resources: map[string]resource{}}
	if err := all.Globals.Decode(&tmpl.Globals); err != nil {
		t.Fatal(err)
	}
	for id, node := range all.Resources {
		var kind struct {
			Type string `yaml:"Type"`
		}
		if err := node.Decode(&kind); err != nil {
			t.Fatal(err)
		}
		if kind.Type != "AWS::Serverless::Function" {
			continue
		}
		var r resource
		if err := node.Decode(&r); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		tmpl.Resources[id] = r
	}
	return tmpl
}

// functionFolders are the folders of functions/ that become a function.
func functionFolders(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("functions")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != "internal" {
			names = append(names, e.Name())
		}
	}
	return names
}

// resourceOf is the logical ID of a folder's function: AllocateFunction for allocate.
func resourceOf(folder string) string {
	return strings.ToUpper(folder[:1]) + folder[1:] + "Function"
}

func TestEveryFunctionHasItsResourceAndTheReverse(t *testing.T) {
	var want []string
	for _, folder := range functionFolders(t) {
		want = append(want, resourceOf(folder))
	}
	tmpl := readTemplate(t)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(maps.Keys(tmpl.Resources))); diff != "" {
		t.Errorf("functions/* and the functions of template.yaml (-folders +resources):\n%s", diff)
	}
	for id, r := range tmpl.Resources {
		if r.Metadata["BuildMethod"] != "makefile" {
			t.Errorf("%s is not built by the Makefile", id)
		}
	}
}

func TestEveryVariableThatAFunctionReadsIsDeclared(t *testing.T) {
	tmpl := readTemplate(t)
	shared := variables(t, filepath.Join("functions", "internal", "*", "*.go"))
	if len(shared) == 0 {
		t.Fatal("no variable was found in functions/internal: the search is broken")
	}
	everywhere := map[string]bool{}
	for _, folder := range functionFolders(t) {
		declared := slices.Sorted(maps.Keys(tmpl.Globals.Function.Environment.Variables))
		declared = slices.AppendSeq(declared, maps.Keys(tmpl.Resources[resourceOf(folder)].Properties.Environment.Variables))
		read := append(variables(t, filepath.Join("functions", folder, "*.go")), shared...)
		for _, name := range read {
			everywhere[name] = true
			if !slices.Contains(declared, name) {
				t.Errorf("functions/%s reads %s, which template.yaml does not declare for it", folder, name)
			}
		}
		for name := range tmpl.Resources[resourceOf(folder)].Properties.Environment.Variables {
			if !slices.Contains(read, name) {
				t.Errorf("template.yaml declares %s for functions/%s, which does not read it", name, folder)
			}
		}
	}
	for name := range tmpl.Globals.Function.Environment.Variables {
		if !everywhere[name] {
			t.Errorf("template.yaml declares %s for every function; none reads it", name)
		}
	}
}

// variables are the names of environment variables that the sources have as literals. Every setting is named by one.
func variables(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if s, err := strconv.Unquote(lit.Value); err == nil && strings.HasPrefix(s, "IDPOOL_") && !strings.ContainsAny(s, " :") {
				names = append(names, s)
			}
			return true
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestTheGatewaySendsEachRouteToItsFunction holds the events of template.yaml against the table of routes: allocate has
// a row for each of its routes, admin gets everything else.
func TestTheGatewaySendsEachRouteToItsFunction(t *testing.T) {
	var want []string
	for _, r := range api.Routes(nil) {
		if r.Function == api.FunctionAllocate {
			want = append(want, fmt.Sprintf("%s %s", r.Method, r.Path))
		}
	}
	tmpl := readTemplate(t)
	var got []string
	for name, e := range tmpl.Resources["AllocateFunction"].Properties.Events {
		got = append(got, fmt.Sprintf("%s %s", e.Properties["Method"].Value, e.Properties["Path"].Value))
		checkEvent(t, name, e.Properties)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes of allocate (-web/api +template.yaml):\n%s", diff)
	}
	var rest []string
	for name, e := range tmpl.Resources["AdminFunction"].Properties.Events {
		rest = append(rest, e.Properties["Method"].Value+" "+e.Properties["Path"].Value)
		checkEvent(t, name, e.Properties)
	}
	slices.Sort(rest)
	if want := []string{"ANY $default", "ANY /v1/{rest+}"}; !slices.Equal(rest, want) {
		t.Errorf("admin has the routes %q, want %q", rest, want)
	}
}

// checkEvent holds one route of the gateway against what holds for all: the payload format that lambdahttp takes, and
// the authorizer before everything under /v1 and nothing else.
func checkEvent(t *testing.T, name string, properties map[string]yaml.Node) {
	t.Helper()
	if v := properties["PayloadFormatVersion"].Value; v != "2.0" {
		t.Errorf("event %s has the payload format %q, want 2.0", name, v)
	}
	var auth struct {
		Authorizer string `yaml:"Authorizer"`
	}
	if node, ok := properties["Auth"]; ok {
		if err := node.Decode(&auth); err != nil {
			t.Fatal(err)
		}
	}
	want := ""
	if strings.HasPrefix(properties["Path"].Value, "/v1/") {
		want = "Credential"
	}
	if auth.Authorizer != want {
		t.Errorf("event %s for %s has the authorizer %q, want %q", name, properties["Path"].Value, auth.Authorizer, want)
	}
}
