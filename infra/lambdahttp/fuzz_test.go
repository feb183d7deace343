package lambdahttp_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"idpool/infra/lambdahttp"
)

// echo answers with what the request held, after checking that the request is one that net/http could have made.
func echo(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/") || r.RequestURI != r.URL.RequestURI() {
			t.Errorf("path %q, request URI %q", r.URL.Path, r.RequestURI)
		}
		if u, err := url.ParseRequestURI(r.RequestURI); err != nil {
			t.Errorf("the request URI %q does not parse: %v", r.RequestURI, err)
		} else if u.Path != r.URL.Path || u.EscapedPath() != r.URL.EscapedPath() || u.RawQuery != r.URL.RawQuery {
			t.Errorf("the request URI %q parses to %#v, the URL is %#v", r.RequestURI, u, r.URL)
		}
		if _, _, err := net.SplitHostPort(r.RemoteAddr); err != nil {
			t.Errorf("RemoteAddr: %v", err)
		}
		text, err := io.ReadAll(r.Body)
		if err != nil || int64(len(text)) != r.ContentLength {
			t.Errorf("body of %d bytes, length said to be %d, error %v", len(text), r.ContentLength, err)
		}
		for name, values := range r.Header {
			w.Header()["X-"+name] = values
		}
		w.Write(text) // it writes to memory
	}
}

// check holds for every event: an answer, no error, no panic.
func check(t *testing.T, e events.APIGatewayV2HTTPRequest) {
	h := newHandler(t, echo(t), lambdahttp.Options{BasePath: "/dev"})
	resp, err := h(t.Context(), e)
	if err != nil {
		t.Fatalf("the function fails: %v", err)
	}
	if resp.StatusCode != 200 && resp.StatusCode != 400 {
		t.Errorf("answer %d %s", resp.StatusCode, resp.Body)
	}
}

func FuzzRequests(f *testing.F) {
	f.Add("GET", "/v1/pools/p", "a=1", "idempotency-key", `"a,b"`, "", false, "203.0.113.7", "a=1", "api.example.com")
	f.Add("POST", "/a%2Fb?c#d", "%zz", "X-A", "\x00", "%%%", true, "::1%eth0", ";;", "::")
	f.Add("get", "//dev/%", " ", "Host", "x y", "\xff", false, "", "\r\n", "")
	f.Add("HEAD", "/dev", "a;b", "content-length", "-1", "aGk=", true, "1.2.3.4:5", "=", "[")
	f.Fuzz(func(t *testing.T, method, path, query, name, value, body string, coded bool, source, cookie, domain string) {
		e := event(method, path)
		e.RawQueryString, e.Headers = query, map[string]string{name: value}
		e.Body, e.IsBase64Encoded, e.Cookies = body, coded, []string{cookie}
		e.RequestContext.HTTP.SourceIP, e.RequestContext.DomainName = source, domain
		check(t, e)
	})
}

func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		`{"version":"2.0","rawPath":"/","requestContext":{"http":{"method":"GET"}}}`,
		`{"version":"2.0","queryStringParameters":{"a":"b,c"},"headers":null,"cookies":null,"requestContext":{"http":{"method":"DELETE","path":"/x"}}}`,
		`{"version":"1.0","httpMethod":"GET","path":"/"}`,
		`{}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e events.APIGatewayV2HTTPRequest
		if json.Unmarshal(data, &e) != nil {
			return // the runtime refuses it before the function sees it
		}
		check(t, e)
	})
}
