package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// openapi is what of the contract of the API has to do with codes.
type openapi struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Responses map[string]response
		Schemas   struct {
			ProblemCode struct {
				Description string
				Enum        []alloc.Code
			}
		}
	}
}

type operation struct {
	Responses map[string]response
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]struct {
		Schema struct {
			Properties struct {
				Code struct{ Enum []alloc.Code }
			}
		}
	}
}

// unlisted are codes that no operation names: of requests that are for none, of the pages' sign-in, and two that the API turns into another.
var unlisted = []alloc.Code{CodeNotFound, CodeMethodNotAllowed, CodeTooManyRequests, alloc.CodePoolExists, alloc.CodeSequenceExists}

func TestTheContractOfTheAPIHasTheTableOfCodes(t *testing.T) {
	data, err := os.ReadFile("api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc openapi
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	all := doc.Components.Schemas.ProblemCode
	if diff := cmp.Diff(slices.Sorted(maps.Keys(kinds)), slices.Sorted(slices.Values(all.Enum))); diff != "" {
		t.Errorf("codes of the table (-) and of ProblemCode (+):\n%s", diff)
	}
	for code, k := range kinds {
		if row := fmt.Sprintf("| `%s` | %d | %s |\n", code, k.status, k.title); !strings.Contains(all.Description, row) {
			t.Errorf("the description of ProblemCode has not the row %s", row)
		}
	}

	listed := map[alloc.Code]bool{}
	for path, item := range doc.Paths {
		for method, raw := range item {
			var op operation
			if method == "parameters" {
				continue
			}
			if err := json.Unmarshal(raw, &op); err != nil {
				t.Fatal(err)
			}
			for status, r := range op.Responses {
				if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
					r = doc.Components.Responses[name]
				}
				codes := r.Content["application/problem+json"].Schema.Properties.Code.Enum
				if status >= "400" && len(codes) == 0 {
					t.Errorf("%s %s: %s has no codes", method, path, status)
				}
				for _, code := range codes {
					listed[code] = true
					if want := strconv.Itoa(StatusOf(code)); status != want {
						t.Errorf("%s %s: %s is listed under %s, its status is %s", method, path, code, status, want)
					}
				}
			}
		}
	}
	for code := range kinds {
		if listed[code] == slices.Contains(unlisted, code) {
			t.Errorf("%s is listed by an operation: %t", code, listed[code])
		}
	}
}
