package api_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// example is one that the contract gives, with the schema that it has to fit.
type example struct {
	where  string
	schema *openapi3.Schema
	value  any
}

// examplesOf are all examples: of schemas, bodies, answers, headers and parameters.
func examplesOf(doc *openapi3.T) (all []example) {
	add := func(where string, schema *openapi3.SchemaRef, values ...any) {
		for _, v := range values {
			if v != nil {
				all = append(all, example{where, schema.Value, v})
			}
		}
	}
	for where, s := range schemasOf(doc) {
		add(where, s, append([]any{s.Value.Example}, s.Value.Examples...)...)
	}
	media := func(where string, content openapi3.Content) {
		for kind, m := range content {
			add(where+" "+kind, m.Schema, m.Example)
			for name, e := range m.Examples {
				add(where+" "+kind+" "+name, m.Schema, e.Value.Value)
			}
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			where := method + " " + path
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				add(where+" "+p.Value.Name, p.Value.Schema, p.Value.Example)
			}
			if op.RequestBody != nil {
				media(where, op.RequestBody.Value.Content)
			}
			for status, r := range op.Responses.Map() {
				media(where+" "+status, r.Value.Content)
				for name, h := range r.Value.Headers {
					add(where+" "+status+" "+name, h.Value.Schema, h.Value.Example)
				}
			}
		}
	}
	return all
}

// schemasOf are the named schemas, and those within them that have no name.
func schemasOf(doc *openapi3.T) iter.Seq2[string, *openapi3.SchemaRef] {
	return func(yield func(string, *openapi3.SchemaRef) bool) {
		for name, s := range doc.Components.Schemas {
			if !schemasIn(name, s, yield) {
				return
			}
		}
	}
}

func schemasIn(where string, s *openapi3.SchemaRef, yield func(string, *openapi3.SchemaRef) bool) bool {
	if s == nil || s.Ref != "" {
		return true
	}
	if !yield(where, s) {
		return false
	}
	for name, p := range s.Value.Properties {
		if !schemasIn(where+"."+name, p, yield) {
			return false
		}
	}
	return schemasIn(where+"[]", s.Value.Items, yield) && schemasIn(where+".*", s.Value.AdditionalProperties.Schema, yield)
}

// What the contract shows is by its own schemas, formats included: whoever copies an example sends what is read.
func TestTheExamplesAreByTheContract(t *testing.T) {
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	all := examplesOf(c.doc)
	for _, e := range all {
		if err := c.doc.ValidateSchemaJSON(e.schema, e.value, openapi3.EnableFormatValidation()); err != nil {
			t.Errorf("%s: the example %v: %v", e.where, e.value, err)
		}
	}
	if len(all) < 150 {
		t.Errorf("only %d examples were found", len(all))
	}
}

// Every operation, parameter, header and member has a sentence that says what it is.
func TestTheContractExplainsEverything(t *testing.T) {
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	said := func(where, description string) {
		if description == "" {
			t.Errorf("%s is not explained", where)
		}
	}
	for where, s := range schemasOf(c.doc) {
		for name, p := range s.Value.Properties {
			said(where+"."+name, p.Value.Description)
		}
	}
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			where := method + " " + path
			said(where, op.Description)
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				said(where+" "+p.Value.Name, p.Value.Description)
			}
			for status, r := range op.Responses.Map() {
				said(where+" "+status, *r.Value.Description)
				for _, name := range slices.Sorted(maps.Keys(r.Value.Headers)) {
					said(where+" "+status+" "+name, r.Value.Headers[name].Value.Description)
				}
			}
		}
	}
}

// A link leads to an operation by its parameters. They are texts, as the schema of OpenAPI has it.
func TestTheLinksLeadSomewhere(t *testing.T) {
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	takes := map[string][]string{}
	for _, item := range c.doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				takes[op.OperationID] = append(takes[op.OperationID], p.Value.Name)
			}
		}
	}
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status, r := range op.Responses.Map() {
				for name, link := range r.Value.Links {
					for parameter, value := range link.Value.Parameters {
						where := fmt.Sprintf("%s %s %s: the link %s", method, path, status, name)
						if _, text := value.(string); !text {
							t.Errorf("%s gives %s as %T", where, parameter, value)
						}
						if !slices.Contains(takes[link.Value.OperationID], parameter) {
							t.Errorf("%s gives %s, which %s does not take", where, parameter, link.Value.OperationID)
						}
					}
				}
			}
		}
	}
}
