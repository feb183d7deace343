package idpool_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// findingKinds are the kinds that an audit may find, by the names of their constants.
func findingKinds(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "alloc/auditing.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "FindingKind" {
			value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			kinds[v.Names[0].Name] = value
		}
		return true
	})
	if len(kinds) < 10 {
		t.Fatalf("alloc/auditing.go declares the kinds %v; want more than that", kinds)
	}
	return kinds
}

// named are the kinds that files name, which are tests or are not.
func named(t *testing.T, tests bool, folders ...string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	word := regexp.MustCompile(`\bFind[A-Z]\w*`)
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		for _, name := range files {
			helps := strings.HasSuffix(name, "_test.go") || strings.HasSuffix(folder, "test")
			if helps != tests || name == "alloc/auditing.go" || name == "alloc/auditing_step.go" { // these declare and sort them
				continue
			}
			text, err := os.ReadFile(name) //nolint:gosec // a file of this repository
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range word.FindAllString(string(text), -1) {
				names[w] = true
			}
		}
	}
	return names
}

// TestEachKindOfFindingIsPlanted asks that what an engine, or the domain, may find is named by its tests, which plant it.
func TestEachKindOfFindingIsPlanted(t *testing.T) {
	kinds := findingKinds(t)
	somewhere := map[string]bool{}
	for _, of := range []struct {
		finds string
		tests []string
	}{
		{"infra/dynamo", []string{"infra/dynamo", "infra/dynamo/dynamotest", "alloc/alloctest"}},
		{"infra/sql", []string{"infra/sql", "alloc/alloctest"}},
		{"alloc", []string{"alloc"}},
	} {
		finds, tested := named(t, false, of.finds), named(t, true, of.tests...)
		for name := range kinds {
			somewhere[name] = somewhere[name] || finds[name]
			if finds[name] && !tested[name] {
				t.Errorf("%s may find alloc.%s, and no test of it does", of.finds, name)
			}
		}
	}
	for name, found := range somewhere {
		if !found {
			t.Errorf("nothing finds alloc.%s", name)
		}
	}
}

// TestTheRunbookSaysWhatEachFindingMeans wants a row for each kind, in the runbook's table, and no other rows.
func TestTheRunbookSaysWhatEachFindingMeans(t *testing.T) {
	text, err := os.ReadFile("docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| Kind |")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		rows = append(rows, row[1])
	}
	slices.Sort(rows)
	if want := slices.Sorted(maps.Values(findingKinds(t))); !slices.Equal(rows, want) {
		t.Errorf("the table of docs/runbook.md has rows for\n%v\nand an audit finds\n%v", rows, want)
	}
}
