package gallery

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// read gives each file of Go that is no test to each.
func read(t *testing.T, pattern string, each func(*ast.File)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		each(file)
	}
}

// TestEachViewIsInTheGallery compares the pages that the package templates has with those that are shown.
func TestEachViewIsInTheGallery(t *testing.T) {
	shown := map[string]bool{}
	read(t, "*.go", func(f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := s.X.(*ast.Ident); ok && of.Name == "templates" {
					shown[s.Sel.Name] = true
				}
			}
			return true
		})
	})
	views := 0
	read(t, "../../templates/*_templ.go", func(f *ast.File) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.IsExported() {
				views++
				if !shown[fn.Name.Name] {
					t.Errorf("no screen of the gallery shows templates.%s: add it to screens()", fn.Name.Name)
				}
			}
		}
	})
	if views < 20 {
		t.Errorf("%d views were found; there are more", views)
	}
}

// TestEachPageIsRendered renders them, and looks for what the state is about.
func TestEachPageIsRendered(t *testing.T) {
	for _, p := range Pages() {
		var b strings.Builder
		if err := p.Show().Render(t.Context(), &b); err != nil {
			t.Errorf("%s: %v", p.Path(), err)
		}
		if p.State == ReadOnly && !strings.Contains(b.String(), "Read-only:") {
			t.Errorf("%s does not say that it is read-only", p.Path())
		}
	}
}
