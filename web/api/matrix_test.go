package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/web"
	"idpool/web/api"
)

// badBodies are bodies that no route takes, whatever its fields, with the statuses that say so.
var badBodies = map[string]struct {
	body    string
	headers []string
	want    int
}{
	"unknown field":             {body: `{"nope": 1}`, want: 400},
	"known field in other case": {body: `{"COUNT": 1}`, want: 400},
	"list":                      {body: `[]`, want: 400},
	"string":                    {body: `"count"`, want: 400},
	"number":                    {body: `5`, want: 400},
	"null":                      {body: `null`, want: 400},
	"cut short":                 {body: `{"count": 1`, want: 400},
	"text":                      {body: `count=1`, want: 400},
	"two values":                {body: `{} {}`, want: 400},
	"text after it":             {body: `{}x`, want: 400},
	"a field twice":             {body: `{"nope": 1, "nope": 1}`, want: 400},
	"deep list":                 {body: strings.Repeat("[", 50_000), want: 400},
	"deep object":               {body: strings.Repeat(`{"a":`, 20_000), want: 400},
	"deep value":                {body: `{"metadata":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + `}`, want: 400},
	"not UTF-8":                 {body: "{\"owner\": \"\xff\xfe\"}", want: 400},
	"a byte order mark":         {body: "\uFEFF{}", want: 400},
	"NUL":                       {body: "\x00", want: 400},
	"huge":                      {body: `{"owner": "` + strings.Repeat("x", web.MaxBody) + `"}`, want: 413},
	"a form":                    {body: `count=1`, headers: []string{"Content-Type: application/x-www-form-urlencoded"}, want: 415},
	"no type":                   {body: `{}`, headers: []string{"Content-Type:"}, want: 415},
	"not a type":                {body: `{}`, headers: []string{"Content-Type: ;;;"}, want: 415},
	"another character set":     {body: `{}`, headers: []string{"Content-Type: application/json; charset=utf-16"}, want: 415},
	"compressed":                {body: "\x1f\x8b", headers: []string{"Content-Encoding: gzip"}, want: 415},
}

// badFields are members of the wrong type, which only routes that know the field come to.
var badFields = []string{
	`{"count": "1"}`, `{"count": null}`, `{"count": [1]}`, `{"count": 1.5}`, `{"count": 1e2}`, `{"count": true}`, `{"count": ""}`,
	`{"owner": 5}`, `{"owner": {}}`, `{"owner": null}`, `{"owner": "\ud800"}`, `{"owner": "\u0000"}`, `{"owner": "` + strings.Repeat("o", 97) + `"}`,
	`{"metadata": []}`, `{"metadata": "a"}`, `{"metadata": {"a": 1}}`, `{"metadata": {"a": {"b": "c"}}}`, `{"metadata": {"a": "1", "a": "2"}}`,
	`{"metadata": {"": "x"}}`, `{"metadata": {"\udfff": "x"}}`, `{"metadata": {"a": null}}`,
	`{"ids": "A-1"}`, `{"ids": [1]}`, `{"ids": [null]}`, `{"ids": {"A": 1}}`, `{"ids": null}`, `{"ids": ["\ud800"]}`,
	`{"description": 1}`, `{"description": " x"}`, `{"policy": "throw away"}`, `{"policy": false}`, `{"fold_case": "true"}`, `{"fold_case": 1}`,
	`{"max_batch": 0}`, `{"max_batch": -1}`, `{"max_batch": 1001}`, `{"max_batch": "5"}`, `{"max_batch": 99999999999999999999}`,
	`{"start": 1}`, `{"start": "-1"}`, `{"start": "+1"}`, `{"start": "01"}`, `{"start": ""}`, `{"start": "9223372036854775808"}`, `{"start": "1.0"}`,
	`{"limit": "0"}`, `{"limit": 5}`, `{"limit": "abc"}`, `{"start": "5", "limit": "4"}`,
	`{"hold": 0}`, `{"hold": -1}`, `{"hold": 604801}`, `{"hold": "60"}`, `{"hold": 1.5}`, `{"hold": 99999999999999999999}`, `{"token": 5}`, `{"token": null}`,
	`{"on_release": "burn"}`, `{"on_release": 1}`, `{"require_key": "yes"}`, `{"scopes": "claim:p"}`, `{"scopes": ["claim"]}`, `{"scopes": ["fly:p"]}`,
	`{"scopes": ["claim:P"]}`, `{"scopes": [1]}`, `{"client": 5}`, `{"client": "A B"}`, `{"quota": -1}`, `{"quota": "5"}`, `{"quota": 1000000001}`,
	`{"expires_at": 5}`, `{"expires_at": "tomorrow"}`, `{"expires_at": "2030-01-31"}`, `{"expires_at": "2001-01-31T00:00:00Z"}`, `{"expires_at": "0001-01-01T00:00:00Z"}`, `{"expires_at": "0001-01-01T01:00:00.5+01:00"}`, `{"overlap": -1}`,
	`{"overlap": 604801}`, `{"overlap": "60"}`, `{"state": "lost"}`, `{"state": 1}`, `{"format": "xml"}`, `{"format": null}`,
	`{"generator": []}`, `{"generator": "random"}`, `{"generator": {}}`, `{"generator": {"kind": null}}`, `{"generator": {"kind": "dice"}}`, `{"generator": {"kind": "random", "nope": 1}}`,
	`{"generator": {"kind": "random", "length": "5"}}`, `{"generator": {"kind": "random", "length": 65}}`, `{"generator": {"kind": "random", "length": -1}}`,
	`{"generator": {"kind": "random", "alphabet": "A"}}`, `{"generator": {"kind": "random", "alphabet": "é0123456789"}}`, `{"generator": {"kind": "random", "check": "crc"}}`,
	`{"generator": {"kind": "random", "block": "BAD"}}`, `{"generator": {"kind": "random", "block": ["BAD WORD"]}}`, `{"generator": {"kind": "random", "block": [""]}}`, `{"generator": {"kind": "random", "block": [1]}}`,
	`{"generator": {"kind": "random", "sequence": "s"}}`, `{"generator": {"kind": "sequence"}}`, `{"generator": {"kind": "sequence", "sequence": "S"}}`,
	`{"generator": {"kind": "sequence", "sequence": "s", "format": "X"}}`, `{"generator": {"kind": "sequence", "sequence": "s", "format": "{n:99}"}}`,
	`{"generator": {"kind": "sequence", "sequence": "s", "format": "{n}", "time_zone": "Europe/Atlantis"}}`, `{"generator": {"kind": "ulid", "kind": "ulid"}}`, `{"generator": {"kind": "ulid", "length": 5}}`,
	`{"generator": {"kind": "random", "length": 3}, "refill": {"low": 1000, "target": 9000000}}`,
	`{"refill": []}`, `{"refill": {"low": "5"}}`, `{"refill": {"low": -1}}`, `{"refill": {"low": 10000001}}`, `{"refill": {"low": 1.5}}`, `{"refill": {"low_hours": -1}}`, `{"refill": {"high": 5}}`, `{"refill": {"low": 99999999999999999999}}`,
	`{"generator": {"kind": "ulid"}, "refill": {"low": 10, "target": 5}}`,
	`{"why": 5}`, `{"why": " x"}`, `{"why": "` + strings.Repeat("w", 201) + `"}`, `{"format": "text", "column": "code"}`, `{"format": "csv", "header": "true"}`, `{"format": "csv", "column": "c", "header": false}`,
	`{"parts": 0}`, `{"parts": -1}`, `{"parts": "1"}`, `{"parts": 2}`, `{"parts": 99999999999999999999}`,
	`{"max_lease": 0}`, `{"max_lease": -5}`, `{"max_lease": 1000000001}`, `{"segment": 0}`, `{"segment": -1}`, `{"segment": 1000001}`,
}

// badNames are names that no pool, sequence, credential, job or part has (C51), as they stand in a path.
var badNames = []string{
	"%C3%A9", "e%CC%81", "%E8%AE%A2%E5%8D%95", "%F0%9F%8E%AB", "%2F", "a%2Fb", "..", "%2e%2e", ".", "%2E", "a%23b", "a%20b", "%20", "%00",
	"%FF", "UPPER", "-a", "_a", strings.Repeat("n", 129), "a%0Ab", "a||b", "a%25b", "-1", "99999999999999999999",
}

var badQueries = []string{
	"nope=1", "limit=0", "limit=101", "limit=-1", "limit=x", "limit=", "limit=1&limit=1", "cursor=%00", "cursor=UPPER", "cursor=" + strings.Repeat("c", 5000),
	"from=yesterday", "until=2026-11-29", "from=2026-11-29T12:00:00Z&until=2026-11-29T12:00:00Z", "until=0001-01-01T00:00:00Z", "limit=1501",
	"after=a", "below=1", "before=x", "%zz", "a;b", "column=a&column=b", "header=yes", "format=xml", "format=CSV", "format=",
}

var badIfMatch = []string{"*", "3", `W/"3"`, `"0"`, `"-1"`, `"3", "4"`, `"x"`, `""`, `"03"`, `"99999999999999999999"`, "\x7f"}

var badKeys = []string{"", `""`, `"open`, `a, b`, "é", strings.Repeat("k", 256), "\x01"}

// TestBadInputIsNeverA500 sends to every route what it cannot take. Every refusal is a problem document that helps, and
// nothing is taken or changed.
func TestBadInputIsNeverA500(t *testing.T) {
	for _, rt := range api.Routes(nil) {
		t.Run(rt.Operation, func(t *testing.T) {
			w := newWorldFor(t, rt)
			before := w.snapshot()
			path := w.path(rt) + query(rt)
			body, headers := w.good(rt)
			changes := rt.Keys != api.KeysIgnored

			if rt.Method != http.MethodGet {
				w.refusesBodies(rt, path, headers)
			}
			for _, part := range []string{"{pool}", "{sequence}", "{credential}", "{job}", "{part}", "{input}"} {
				if !strings.Contains(rt.Path, part) {
					continue
				}
				for _, name := range badNames {
					if rt.Operation == "previewPool" && alloc.CheckName(name) == nil { // nothing need be there
						continue
					}
					bad := w.path(api.Route{Path: strings.Replace(rt.Path, part, name, 1)}) + query(rt)
					w.refuses(bad, w.do(rt.Method, bad, body, headers...), 400, 404)
				}
			}
			for _, query := range badQueries {
				if query == "limit=101" && !rt.List && len(rt.Query) > 0 {
					continue
				}
				w.refuses(query, w.do(rt.Method, w.path(rt)+"?"+query, body, headers...), 400)
			}
			if changes {
				for _, value := range badIfMatch {
					w.refuses("If-Match "+value, w.do(rt.Method, path, body, append(headers, "If-Match: "+value)...), 400)
				}
				for _, key := range badKeys {
					got := w.do(rt.Method, path, body, append(headers, "Idempotency-Key: "+key+" ")...)
					if code := codeOf(t, got.Body.Bytes()); code != alloc.CodeInvalidKey {
						t.Errorf("the key %q: %d %s, want invalid_key", key, got.Code, code)
					}
				}
			}
			if after := w.snapshot(); after != before {
				t.Errorf("something was taken or changed: %s, before %s", after, before)
			}
		})
	}
}

// refusesBodies sends bodies that no route takes, and members of the wrong type.
func (w *world) refusesBodies(rt api.Route, path string, good []string) {
	w.t.Helper()
	if rt.Operation == "putJobInput" { // every text is one; see TestBadFiles
		good = nil
	}
	for name, bad := range badBodies {
		want := bad.want
		if rt.Operation == "putJobInput" {
			want = 415
		}
		w.refuses(name, w.do(rt.Method, path, bad.body, append(good, bad.headers...)...), want)
	}
	if rt.Operation == "putJobInput" {
		return
	}
	for _, body := range badFields {
		w.refuses(body, w.do(rt.Method, path, body, good...), 400)
	}
}

// refuses checks that the answer is a problem with one of the statuses.
func (w *world) refuses(what string, got *httptest.ResponseRecorder, want ...int) {
	w.t.Helper()
	if !slices.Contains(want, got.Code) {
		w.t.Errorf("%.100q: %d, want %d: %.300s", what, got.Code, want, got.Body)
		return
	}
	problemOf(w.t, got)
}

// snapshot is what would show that something was taken or changed.
func (c client) snapshot() string {
	c.t.Helper()
	all := ""
	for _, path := range []string{"/v1/pools", "/v1/sequences", "/v1/credentials", "/v1/jobs"} {
		all += c.must(200, "GET", path+"?limit=100", "").Body.String() // on one page: no cursor is given twice
	}
	return lastUse.ReplaceAllString(all, "")
}

// lastUse is what a refused request changes too: a credential was used for it.
var lastUse = regexp.MustCompile(`,"last_used_at":"[^"]*"`)

// C22: a count that cannot be is refused with its reason, never cut and never an empty success.
func TestCountsThatCannotBe(t *testing.T) {
	for _, path := range []string{"/v1/pools/p/claims", "/v1/sequences/s/leases", "/v1/sequences/s/next"} {
		c := newClient(t, nil)
		c.must(201, "PUT", "/v1/pools/p", "")
		c.must(201, "PUT", "/v1/sequences/s", "")
		for count, code := range map[string]alloc.Code{
			"0": alloc.CodeInvalidCount, "-1": alloc.CodeInvalidCount, "-0": alloc.CodeInvalidCount, "1000000001": alloc.CodeInvalidCount,
			"99999999999999999999999": alloc.CodeInvalidCount, "-99999999999999999999999": alloc.CodeInvalidCount,
			"1.5": alloc.CodeInvalidRequest, "1.0": alloc.CodeInvalidRequest, "1e9": alloc.CodeInvalidRequest, `""`: alloc.CodeInvalidRequest,
		} {
			w := c.do("POST", path, fmt.Sprintf(`{"count": %s}`, count))
			p := problemOf(t, w)
			if w.Code != http.StatusBadRequest || p.Code != code || !strings.HasPrefix(p.Detail, "count must be ") {
				t.Errorf("%s count %s: %d %s %q, want 400 %s", path, count, w.Code, p.Code, p.Detail, code)
			}
		}
	}
}

func TestRefusalsOfBodiesNameTheFieldAndTheType(t *testing.T) {
	tests := map[string]string{
		`{"count": "5"}`:                        "count must be a whole number such as 5, not a string",
		`{"count": 1.5}`:                        "count must be a whole number such as 5, without fraction or exponent",
		`{"owner": null}`:                       "owner must be a string, not null",
		`{"metadata": {"a b": 1}}`:              "metadata.a b must be a string, not a number",
		`{"metadata": []}`:                      "metadata must be an object of strings, not a list",
		`{"metadata": {"a":"1","a":"1"}}`:       `metadata has the field "a" twice; give it once`,
		`{"count": 1, "count": 2}`:              `the body has the field "count" twice; give it once`,
		`{"cuont": 1}`:                          `the field "cuont" is not known; known are: count, owner, metadata, hold`,
		`{"` + strings.Repeat("x", 99) + `":1}`: `the field "` + strings.Repeat("x", 40) + `…" is not known; known are: count, owner, metadata, hold`,
		`[1]`:                                   "the body must be a JSON object, not a list",
		`{"count": 1} 2`:                        "the body has something after its JSON value (byte 12); send one object",
		`{"count": 1`:                           "the body is not valid JSON: it ends too early",
		`{"count": }`:                           "the body is not valid JSON: invalid character '}' looking for beginning of value (byte 11)",
	}
	c := newClient(t, nil)
	c.must(201, "PUT", "/v1/pools/p", "")
	for body, want := range tests {
		if p := problemOf(t, c.do("POST", "/v1/pools/p/claims", body)); p.Detail != want {
			t.Errorf("%s:\n got %s\nwant %s", body, p.Detail, want)
		}
	}
}

// The endpoints of one function are not there in the other.
func TestEachFunctionServesItsRoutes(t *testing.T) {
	w := newWorld(t)
	svc, err := alloc.NewService(alloc.Config{Store: w.store, Now: w.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	handlers := map[api.Function]http.Handler{api.FunctionAllocate: api.Allocate(svc), api.FunctionAdmin: api.Admin(svc)}
	for _, rt := range api.Routes(svc) {
		for function, h := range handlers {
			w.h = checked(t, stacked(t, h, svc, w.clock.Now, w.log))
			body, headers := w.good(rt)
			got := w.do(rt.Method, w.path(rt)+query(rt), body, headers...)
			absent := got.Code == http.StatusMethodNotAllowed || got.Code == http.StatusNotFound && codeOf(t, got.Body.Bytes()) == web.CodeNotFound
			if absent == (function == rt.Function) {
				t.Errorf("%s in %s: %d", rt.Operation, function, got.Code)
			}
		}
	}
}

func TestNobodyGetsIn(t *testing.T) {
	w := newWorld(t)
	for _, rt := range api.Routes(nil) {
		got := w.as("").do(rt.Method, w.path(rt), `{"broken`)
		if rt.Open != (got.Code == http.StatusOK) || !rt.Open && got.Code != http.StatusUnauthorized {
			t.Errorf("%s without a credential: %d", rt.Operation, got.Code)
		}
	}
}
