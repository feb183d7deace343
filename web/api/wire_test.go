package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// exchange is one request with its answer, as the golden files have it.
type exchange struct {
	Request  sent `json:"request"`
	Response got  `json:"response"`
}

type sent struct {
	Line    string   `json:"line"`
	Headers []string `json:"headers,omitempty"`
	Body    string   `json:"body,omitempty"`
}

type got struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

// step is a request of a story.
type step struct {
	line    string // method and path
	body    string
	headers []string
}

// stories are conversations with an empty system each, which together show every answer there is.
var stories = map[string][]step{
	"pools": {
		{line: "GET /v1/pools"},
		{line: "PUT /v1/pools/vouchers", body: `{"description": "spring", "max_batch": 3}`},
		{line: "PUT /v1/pools/vouchers", body: `{"max_batch": 3, "description": "spring", "policy": "keep", "fold_case": false}`},
		{line: "PUT /v1/pools/vouchers", body: `{"description": "summer"}`},
		{line: "PUT /v1/pools/vouchers", body: `{"description": "summer", "max_batch": 3}`, headers: []string{`If-Match: "1"`}},
		{line: "PUT /v1/pools/vouchers", body: `{"description": "winter"}`, headers: []string{`If-Match: "1"`}},
		{line: "PUT /v1/pools/vouchers", body: `{"policy": "forget"}`, headers: []string{`If-Match: "2"`}},
		{line: "PUT /v1/pools/vouchers", headers: []string{"If-Match: *"}},
		{line: "PUT /v1/pools/nobody", headers: []string{`If-Match: "1"`}},
		{line: "GET /v1/pools/vouchers"},
		{line: "PUT /v1/pools/second"},
		{line: "GET /v1/pools?limit=1"},
		{line: "GET /v1/pools?limit=1&cursor={next_cursor}"},
		{line: "POST /v1/pools/vouchers/pause", headers: []string{`If-Match: "1"`}},
		{line: "POST /v1/pools/vouchers/pause", headers: []string{`If-Match: "2"`}},
		{line: "POST /v1/pools/vouchers/claims"},
		{line: "POST /v1/pools/vouchers/resume"},
		{line: "POST /v1/pools/vouchers/drain", body: "{}"},
		{line: "POST /v1/pools/vouchers/seed", body: `{"ids": ["A"]}`},
		{line: "DELETE /v1/pools/vouchers"},
		{line: "GET /v1/pools/vouchers"},
		{line: "PUT /v1/pools/vouchers"},
		{line: "GET /v1/pools/nobody"},
	},
	"claims": {
		{line: "PUT /v1/pools/p", body: `{"max_batch": 5}`},
		{line: "POST /v1/pools/p/claims"},
		{line: "POST /v1/pools/p/seed", body: `{"ids": ["A-1", "A-2", "A-3", "A-4", "<é&>"]}`},
		{line: "POST /v1/pools/p/claims"},
		{line: "POST /v1/pools/p/claims", body: `{"count": 2, "owner": "o-1", "metadata": {"b": "2", "a": "1"}}`, headers: []string{`Idempotency-Key: "k-1"`}},
		{line: "POST /v1/pools/p/claims", body: ` {"metadata":{"a":"1","b":"2"},"owner":"o-1","count":2}`, headers: []string{`Idempotency-Key: k-1`}},
		{line: "POST /v1/pools/p/claims", body: `{"count": 1}`, headers: []string{`Idempotency-Key: k-1`}},
		{line: "POST /v1/pools/p/claims", body: `{"count": 3}`},
		{line: "POST /v1/pools/p/claims", body: `{"count": 6}`},
		{line: "GET /v1/pools/p/ids?id=A-2"},
		{line: "GET /v1/pools/p/ids?id=A-4"},
		{line: "GET /v1/pools/p/ids?id=%3C%C3%A9%26%3E"},
		{line: "GET /v1/pools/p/ids?id=none"},
		{line: "GET /v1/pools/p/ids"},
		{line: "GET /v1/pools/nobody/ids?id=A-1"},
		{line: "POST /v1/pools/p/sweep"},
		{line: "POST /v1/tend"},
		{line: "GET /v1/pools/p"},
	},
	"seed": {
		{line: "PUT /v1/pools/p"},
		{line: "POST /v1/pools/p/seed", headers: []string{"Content-Type: text/csv"}, body: "\uFEFFcode,price\r\nA-1,5\r\n\"A-2\",6\r\n\r\n a-1 ,7\r\nA-1,8\r\n\"A\x01\",9\r\n"},
		{line: "POST /v1/pools/p/seed", headers: []string{"Content-Type: text/plain; charset=utf-8"}, body: "A-2\nA-3\n"},
		{line: "POST /v1/pools/p/claims", body: `{"count": 4}`},
		{line: "POST /v1/pools/p/seed", body: `{"ids": ["A-1", "B-1", "B-1", ""]}`},
		{line: "POST /v1/pools/p/seed?column=Code&header=true", headers: []string{"Content-Type: text/csv"}, body: "n;code\n1;C-1\n"},
		{line: "POST /v1/pools/p/seed?header=false", headers: []string{"Content-Type: text/csv"}, body: "code\n"},
		{line: "POST /v1/pools/p/seed?column=serial", headers: []string{"Content-Type: text/csv"}, body: "n;code\n1;C-1\n"},
		{line: "POST /v1/pools/p/seed?header=maybe", headers: []string{"Content-Type: text/csv"}, body: "code\n"},
		{line: "POST /v1/pools/p/seed?column=code", body: `{"ids": ["A-1"]}`},
		{line: "POST /v1/pools/p/seed", body: `{}`},
		{line: "POST /v1/pools/p/seed", body: `{"ids": []}`},
		{line: "POST /v1/pools/p/seed", body: "A-1", headers: []string{"Content-Type: application/pdf"}},
		{line: "POST /v1/pools/p/seed"},
	},
	"sequences": {
		{line: "GET /v1/sequences"},
		{line: "PUT /v1/sequences/s", body: `{"start": "10", "limit": "9223372036854775807", "max_lease": 1000, "segment": 5, "description": "invoices"}`},
		{line: "PUT /v1/sequences/s", body: `{"start": "10", "max_lease": 1000, "segment": 5, "description": "invoices"}`},
		{line: "PUT /v1/sequences/s", body: `{"start": "10", "limit": "1010"}`},
		{line: "PUT /v1/sequences/s", body: `{"start": "10", "limit": "1010"}`, headers: []string{`If-Match: "1"`}},
		{line: "PUT /v1/sequences/s", body: `{"start": "11", "limit": "1010"}`, headers: []string{`If-Match: "2"`}},
		{line: "POST /v1/sequences/s/leases"},
		{line: "POST /v1/sequences/s/leases", body: `{"count": 995}`, headers: []string{"Idempotency-Key: k"}},
		{line: "POST /v1/sequences/s/leases", body: `{"count": 995}`, headers: []string{`Idempotency-Key: "k"`}},
		{line: "POST /v1/sequences/s/leases", body: `{"count": 994}`, headers: []string{"Idempotency-Key: k"}},
		{line: "POST /v1/sequences/s/leases", body: `{"count": 6}`},
		{line: "POST /v1/sequences/s/next", body: `{"count": 2}`, headers: []string{"Idempotency-Key: n"}},
		{line: "POST /v1/sequences/s/next", body: `{"count": 2}`, headers: []string{"Idempotency-Key: n"}},
		{line: "GET /v1/sequences/s"},
		{line: "GET /v1/sequences/s/leases?limit=2"},
		{line: "GET /v1/sequences/s/leases?limit=2&cursor={next_cursor}"},
		{line: "POST /v1/sequences/s/next", body: `{"count": 3}`},
		{line: "GET /v1/sequences/s"},
		{line: "PUT /v1/sequences/zero", body: `{"start": "0", "limit": "1"}`},
		{line: "POST /v1/sequences/zero/next", body: `{"count": 2}`},
		{line: "PUT /v1/sequences/far", body: `{"start": "9007199254740993"}`},
		{line: "POST /v1/sequences/far/leases", body: `{"count": 1}`},
		{line: "GET /v1/sequences?limit=2"},
		{line: "POST /v1/sequences/far/pause"},
		{line: "POST /v1/sequences/far/leases"},
		{line: "POST /v1/sequences/far/resume"},
		{line: "DELETE /v1/sequences/far"},
		{line: "POST /v1/sequences/far/pause"},
		{line: "DELETE /v1/sequences/far", headers: []string{`If-Match: "5"`}},
		{line: "DELETE /v1/sequences/far"},
		{line: "GET /v1/sequences/far"},
		{line: "GET /v1/sequences/nobody"},
	},
	"upkeep": {
		{line: "GET /healthz", headers: []string{"Authorization:"}},
		{line: "GET /readyz", headers: []string{"Authorization:"}},
		{line: "PUT /v1/pools/p"},
		{line: "GET /v1/audit"},
		{line: "GET /v1/audit?limit=1"},
	},
	"trail of a refusal": {
		{line: "DELETE /v1/sequences/nobody"},
		{line: "GET /v1/audit"},
	},
	"refusals": {
		{line: "GET /v1/nothing"},
		{line: "GET /v1/pools/"},
		{line: "GET /v1//pools"},
		{line: "PATCH /v1/pools/p"},
		{line: "GET /v1/tend"},
		{line: "GET /v1/pools", headers: []string{"Authorization:"}},
		{line: "GET /v1/pools", headers: []string{"Authorization: Bearer wrong"}},
		{line: "GET /v1/pools/%2F"},
		{line: "GET /v1/pools/%C3%A9"},
		{line: "GET /v1/pools?limit=0"},
		{line: "GET /v1/pools?size=5"},
		{line: "GET /v1/pools?cursor=UPPER"},
		{line: "GET /v1/audit?before=x"},
		{line: "GET /v1/pools?format=xml"},
		{line: "POST /v1/pools/p/claims", headers: []string{`If-Match: "1"`}},
		{line: "POST /v1/pools/p/claims", body: "count=1", headers: []string{"Content-Type: application/x-www-form-urlencoded"}},
		{line: "POST /v1/pools/p/claims", headers: []string{`Idempotency-Key: "open`}},
	},
}

func TestAnswersOnTheWire(t *testing.T) {
	all := maps.Clone(stories)
	maps.Copy(all, laterStories)
	maps.Copy(all, recoveryStories)
	for name, steps := range all {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, nil)
			exchanges := make([]exchange, len(steps))
			told := map[string]string{}
			for i, s := range steps {
				method, path, _ := strings.Cut(fill(s.line, told), " ")
				w := c.do(method, path, fill(s.body, told), s.headers...)
				remember(w.Body.Bytes(), told)
				exchanges[i] = exchange{sent{s.line, s.headers, s.body}, shown(t, w)}
			}
			compare(t, filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".json"), exchanges)
		})
	}
}

// remember keeps the strings of an answer under their names: a step may have {name} for the last one.
func remember(body []byte, told map[string]string) {
	var members map[string]any
	if json.Unmarshal(body, &members) != nil {
		return
	}
	for name, v := range members {
		if s, ok := v.(string); ok {
			told[name] = s
		}
	}
}

func fill(s string, told map[string]string) string {
	for name, value := range told {
		s = strings.ReplaceAll(s, "{"+name+"}", value)
	}
	return s
}

func compare(t *testing.T, file string, exchanges []exchange) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(exchanges); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got), write it anew with -update:\n%s", file, diff)
	}
}

// random are the parts of an answer that are drawn at random, each in the form that it must have.
var random = []*regexp.Regexp{
	regexp.MustCompile(`"(token|job)":"[0-9A-V]{26}"`),
	regexp.MustCompile(`"(request_id)":"[A-Z2-7]{26}"`),
	regexp.MustCompile(`"(id)":"20261129T120000\.000000Z-[0-9A-V]{26}"`),
	regexp.MustCompile(`"(id)":"[0-9A-V]{26}"`),      // of a job
	regexp.MustCompile(`"(id)":"[a-z2-7]{12}"`),      // of a credential
	regexp.MustCompile(`"(plan|id)":"[0-9a-f]{32}"`), // of a rebuild
	regexp.MustCompile(`(the plan \\")[0-9a-f]{32}`),
	regexp.MustCompile(`"(previous|hash|digest)":"[0-9a-f]{64}"`),      // of the trail, and of a log
	regexp.MustCompile(`(,|the plan "")(?:[0-9a-f]{64}|[0-9a-f]{32})`), // in a file
	regexp.MustCompile(`"(target)":"credential/[a-z2-7]{12}"`),
	regexp.MustCompile(`"(secret)":"idpool_[a-z2-7]{12}_[a-z2-7]{39}"`),
	regexp.MustCompile(`"(next_cursor)":"[A-Za-z0-9_.-]{20,200}"`),
	regexp.MustCompile(`(job )[0-9A-V]{26}`), // in words
	regexp.MustCompile(`(the credential \\")[a-z2-7]{12}`),
	regexp.MustCompile(`(cursor=)[A-Za-z0-9_.-]{20,200}`),                         // in a link
	regexp.MustCompile(`(^|\r\n|\n|,)(?:20261129T120000\.000000Z-)?[0-9A-Z]{26}`), // in a file
	regexp.MustCompile(`(\r\n)[a-z2-7]{12}`),
}

func derandomised(b []byte) []byte {
	for _, r := range random {
		b = r.ReplaceAllFunc(b, func(found []byte) []byte {
			name := r.FindSubmatch(found)[1]
			if bytes.HasPrefix(found, []byte(`"`)) {
				return fmt.Appendf(nil, `"%s":"(random)"`, name)
			}
			return append(bytes.Clone(name), "(random)"...)
		})
	}
	return b
}

// shownHeaders are those that a golden file has of an answer.
var shownHeaders = []string{
	"Content-Type", "Cache-Control", "ETag", "Idempotent-Replayed", "Idempotency-Key-Retention", "Retry-After", "Allow", "WWW-Authenticate",
	"Link", "Content-Disposition", "Vary",
}

// shown is what a golden file has of an answer. What is no JSON is there as one string.
func shown(t *testing.T, w *httptest.ResponseRecorder) got {
	t.Helper()
	headers := map[string]string{}
	for _, name := range shownHeaders {
		v := strings.Join(w.Header().Values(name), ", ")
		if name == "Vary" {
			v = strings.TrimPrefix(strings.TrimPrefix(v, "Accept-Encoding"), ", ") // which every answer has
		}
		if v != "" {
			headers[name] = string(derandomised([]byte(v)))
		}
	}
	body := derandomised(w.Body.Bytes())
	if media := headers["Content-Type"]; media != "application/json" && media != "application/problem+json" {
		text, err := json.Marshal(string(body))
		if err != nil {
			t.Fatal(err)
		}
		body = text
	}
	if !json.Valid(body) {
		t.Fatalf("%d with a body that is not JSON: %s", w.Code, body)
	}
	return got{w.Code, headers, body}
}
