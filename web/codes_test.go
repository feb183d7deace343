package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// codesIn lists the constants of type Code (or alloc.Code) that a file declares.
func codesIn(t *testing.T, file string) []alloc.Code {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []alloc.Code
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !isCode(spec.Type) {
			return true
		}
		for _, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				codes = append(codes, alloc.Code(s))
			}
		}
		return true
	})
	return codes
}

func isCode(typ ast.Expr) bool {
	switch typ := typ.(type) {
	case *ast.Ident:
		return typ.Name == "Code"
	case *ast.SelectorExpr:
		return typ.Sel.Name == "Code"
	}
	return false
}

func TestTheTableHasEveryCodeAndNoOther(t *testing.T) {
	domain, edge := codesIn(t, "../alloc/errors.go"), codesIn(t, "codes.go")
	if len(domain) < 30 || len(edge) != 6 {
		t.Fatalf("found %d codes of the domain and %d of the edge; the test does not read the files any more", len(domain), len(edge))
	}
	declared := append(domain, edge...)
	slices.Sort(declared)
	if diff := cmp.Diff(slices.Compact(slices.Clone(declared)), declared); diff != "" {
		t.Errorf("a code is declared twice:\n%s", diff)
	}
	if diff := cmp.Diff(declared, slices.Sorted(maps.Keys(kinds))); diff != "" {
		t.Errorf("codes declared (-) and in the table (+):\n%s", diff)
	}
	titles := map[string]alloc.Code{}
	for code, k := range kinds {
		if http.StatusText(k.status) == "" || k.status < 400 {
			t.Errorf("%s: status %d is not one of an error", code, k.status)
		}
		if other, ok := titles[k.title]; ok || k.title == "" {
			t.Errorf("%s has the title %q, like %q", code, k.title, other)
		}
		titles[k.title] = code
	}
}

func TestStatusOfAnUnknownCodeIsInternal(t *testing.T) {
	if got := StatusOf("no_such_code"); got != http.StatusInternalServerError {
		t.Errorf("got %d, want 500", got)
	}
	if got := StatusOf(alloc.CodePoolExhausted); got != http.StatusConflict {
		t.Errorf("pool_exhausted: got %d, want 409", got)
	}
}
