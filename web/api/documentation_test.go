package api_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// K04: a route that requires a key says so with a link to what the contract says of keys, and nothing is taken.
func TestAKeyThatIsRequired(t *testing.T) {
	w := newWorld(t)
	w.must(200, "PUT", "/v1/pools/p", `{"require_key": true}`, `If-Match: "1"`)
	before := w.must(200, "GET", "/v1/pools/p", "").Body.String()
	p := problemOf(t, w.must(400, "POST", "/v1/pools/p/claims", ""))
	if p.Code != "key_required" || w.must(200, "GET", "/v1/pools/p", "").Body.String() != before {
		t.Errorf("%+v", p)
	}
	path, pointer, _ := strings.Cut(p.Documentation, "#/")
	var at any
	if err := json.Unmarshal(w.must(200, "GET", path, "").Body.Bytes(), &at); err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(pointer, "/") {
		members, _ := at.(map[string]any)
		at = members[name]
	}
	parameter, _ := at.(map[string]any)
	if parameter["name"] != "Idempotency-Key" {
		t.Errorf("%s is %v", p.Documentation, at)
	}
}
