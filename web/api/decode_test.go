package api

import (
	"net/http"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/web"
)

// FuzzClaimBody holds that whatever a client sends is refused by a code for bad input or understood in full: what was
// understood, written down in its canonical form, is understood as the same.
func FuzzClaimBody(f *testing.F) {
	for _, s := range []string{
		``, `{}`, ` {"count": 2, "owner": "o", "metadata": {"a": "1"}} `, `{"count":1,"count":1}`, `[]`, `{"metadata":{"a":{}}}`,
		`{"count":1e3}`, `{"owner":"\ud800"}`, `{"owner":"\ud83d\ude00"}`, "{\"owner\":\"\xff\"}", `{} {}`, strings.Repeat("[", 50),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b claimBody
		if err := decode(data, b.fields()); err != nil {
			if code := alloc.CodeOf(err); code != alloc.CodeInvalidRequest {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		var again claimBody
		form := canonical(b)
		if err := decode([]byte(strings.ReplaceAll(form, `"metadata":null`, `"metadata":{}`)), again.fields()); err != nil {
			t.Fatalf("%q was understood as %s, which is refused: %v", data, form, err)
		}
		if got := canonical(again); got != form {
			t.Fatalf("%q was understood as %s, that as %s", data, form, got)
		}
	})
}

func FuzzSequenceBody(f *testing.F) {
	for _, s := range []string{`{"start":"0"}`, `{"start":"10","limit":"9223372036854775807"}`, `{"limit":"0"}`, `{"max_lease":0}`, `{"start":"01"}`, `{"segment":1.0}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b sequenceBody
		if err := decode(data, b.fields()); err != nil {
			switch alloc.CodeOf(err) {
			case alloc.CodeInvalidRequest, alloc.CodeInvalidConfig:
				return
			}
			t.Fatalf("%q: %v", data, err)
		}
		c := b.Config
		if c.Limit > alloc.MaxNumber || c.Start > alloc.MaxNumber || c.MaxLease < 0 || c.Segment < 0 {
			t.Fatalf("%q was understood as %+v", data, c)
		}
	})
}

func FuzzIfMatch(f *testing.F) {
	for _, s := range []string{`"3"`, `*`, `W/"3"`, `3`, `"3", "4"`, ` "7" `, `"-1"`, `"+1"`, `"9223372036854775808"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ifMatch(http.Header{"If-Match": {s}})
		if err != nil {
			if !alloc.Is(err, alloc.CodeInvalidRequest) || v != 0 {
				t.Fatalf("%q: %d, %v", s, v, err)
			}
			return
		}
		if v < 1 || web.ETag(v) != strings.Trim(s, " \t") {
			t.Fatalf("%q was understood as %d", s, v)
		}
	})
}

func TestIfMatchIsGivenOnceOrNot(t *testing.T) {
	if v, err := ifMatch(http.Header{}); v != 0 || err != nil {
		t.Errorf("none: %d, %v; want 0", v, err)
	}
	if v, err := ifMatch(http.Header{"If-Match": {`"1"`, `"1"`}}); !alloc.Is(err, alloc.CodeInvalidRequest) {
		t.Errorf("two lines: %d, %v; want invalid_request", v, err)
	}
}

// K07: field order and white space do not matter, every value does.
func TestTheCanonicalFormIsOfWhatWasMeant(t *testing.T) {
	form := func(body string) string {
		t.Helper()
		var b claimBody
		if err := decode([]byte(body), b.fields()); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		return canonical(b)
	}
	same := [][]string{
		{``, ` `, `{}`, `{"count":1}`, "{\n\t\"count\": 1 }", `{"owner":""}`, `{"metadata":{}}`},
		{`{"count":2,"owner":"é"}`, `{"owner":"\u00e9","count":2}`},
		{`{"metadata":{"a":"1","b":"2"}}`, `{"metadata":{"b":"2","a":"1"}}`},
	}
	seen := map[string]string{}
	for _, bodies := range same {
		want := form(bodies[0])
		for _, body := range bodies {
			if got := form(body); got != want {
				t.Errorf("%s gives %s, %s gives %s", body, got, bodies[0], want)
			}
		}
		if other, ok := seen[want]; ok {
			t.Errorf("%s and %s give the same: %s", bodies[0], other, want)
		}
		seen[want] = bodies[0]
	}
}

func BenchmarkDecodeClaim(b *testing.B) {
	body := []byte(`{"count": 2, "owner": "order-4711", "metadata": {"shop": "de", "channel": "web"}}`)
	b.ReportAllocs()
	for b.Loop() {
		var c claimBody
		if err := decode(body, c.fields()); err != nil {
			b.Fatal(err)
		}
	}
}
