package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"idpool/web/api"
)

// described is what the contract and the table of routes both say of an operation.
type described struct {
	Operation   string
	Open        bool
	Query       []string
	Key         bool // it takes an Idempotency-Key
	Conditional bool // it takes If-Match
	CSV         bool // what can be had as CSV
	Scoped      bool // it needs a scope, not only a credential
}

func TestTheContractHasTheRoutesAndNoOthers(t *testing.T) {
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]described{}
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			got[method+" "+path] = describedIn(item, op)
		}
	}
	want := map[string]described{}
	for _, rt := range api.Routes(nil) {
		want[rt.Method+" "+rt.Path] = described{
			Operation: rt.Operation, Open: rt.Open, Query: slices.Sorted(slices.Values(rt.Query)), Key: rt.Keys != api.KeysIgnored,
			Conditional: rt.Conditional, CSV: rt.List || rt.CSV, Scoped: rt.Need != "" || rt.NeedOf != nil,
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("openapi.yaml (+) against the table of routes (-):\n%s", diff)
	}
}

func describedIn(item *openapi3.PathItem, op *openapi3.Operation) described {
	d := described{Operation: op.OperationID, Open: op.Security != nil && len(*op.Security) == 0}
	for _, ref := range slices.Concat(item.Parameters, op.Parameters) {
		switch p := ref.Value; {
		case p.In == openapi3.ParameterInQuery:
			d.Query = append(d.Query, p.Name)
		case p.Name == "Idempotency-Key":
			d.Key = true
		case p.Name == "If-Match":
			d.Conditional = true
		}
	}
	slices.Sort(d.Query)
	if ok := op.Responses.Status(200); ok != nil {
		d.CSV = ok.Value.Content["text/csv"] != nil && ok.Value.Content["application/json"] != nil
	}
	d.Scoped = op.Responses.Status(403) != nil
	return d
}

// A reader of the contract gets an example of everything that is sent and answered, and a sentence about each operation.
func TestTheContractShowsHow(t *testing.T) {
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.Summary == "" || len(op.Tags) != 1 {
				t.Errorf("%s %s: summary %q, tags %v", method, path, op.Summary, op.Tags)
			}
			if op.RequestBody != nil {
				for media, content := range op.RequestBody.Value.Content {
					if !exampled(content) {
						t.Errorf("%s %s: no example of the body as %s", method, path, media)
					}
				}
			}
			for status, response := range op.Responses.Map() {
				for media, content := range response.Value.Content {
					if strings.HasSuffix(media, "json") && path != "/openapi.json" && !exampled(content) {
						t.Errorf("%s %s: no example of the answer %s as %s", method, path, status, media)
					}
				}
			}
		}
	}
}

func exampled(m *openapi3.MediaType) bool {
	return m.Example != nil || len(m.Examples) > 0 || m.Schema.Value.Example != nil || len(m.Schema.Value.Examples) > 0
}

// Every change says all that may become of it, and every answer names its request.
func TestTheContractNamesTheHeaders(t *testing.T) {
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			keyed := describedIn(item, op).Key
			for status, response := range op.Responses.Map() {
				want := []string{"X-Request-Id"}
				if keyed && status != "401" {
					want = append(want, "Idempotency-Key-Retention")
				}
				if keyed && status < "300" {
					want = append(want, "Idempotent-Replayed")
				}
				if status == "429" || status == "503" {
					want = append(want, "Retry-After")
				}
				for _, name := range want {
					if response.Value.Headers[name] == nil {
						t.Errorf("%s %s %s: the header %s is not named, those are: %v", method, path, status, name, slices.Sorted(maps.Keys(response.Value.Headers)))
					}
				}
			}
		}
	}
}
