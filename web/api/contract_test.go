package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"idpool/alloc"
	"idpool/web"
)

// contract is openapi.json as the tests hold the handlers against it.
type contract struct {
	doc   *openapi3.T
	paths *http.ServeMux // finds the path of a request just as the handlers do

	answers sync.Map // those that were found right, see sameAnswer
}

// theContract is read once, for all tests.
var theContract = sync.OnceValues(func() (*contract, error) {
	data, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	if data, err = closed(data); err != nil {
		return nil, err
	}
	defineFormats()
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		return nil, err
	}
	c := &contract{doc: doc, paths: http.NewServeMux()}
	for path := range doc.Paths.Map() {
		c.paths.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if f, ok := w.(*finding); ok {
				f.found(path, doc.Paths.Find(path), r)
			}
		})
	}
	return c, doc.Validate(context.Background(), openapi3.EnableExamplesValidation())
})

// closed forbids all members that the schemas do not name. The contract itself leaves answers open, as clients have to
// expect further members; the tests must not find one that nobody wrote down.
func closed(data []byte) ([]byte, error) {
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	components, _ := doc["components"].(map[string]any)
	closeAll(components["schemas"])
	return json.Marshal(doc)
}

func closeAll(v any) {
	switch v := v.(type) {
	case map[string]any:
		_, named := v["properties"].(map[string]any)
		if _, said := v["additionalProperties"]; named && !said {
			v["additionalProperties"] = false
		}
		for _, inner := range v {
			closeAll(inner)
		}
	case []any:
		for _, inner := range v {
			closeAll(inner)
		}
	}
}

// defineFormats gives the formats that JSON Schema does not know the meaning that they have in the domain.
func defineFormats() {
	text := func(name string, check func(string) error) {
		openapi3.DefineStringFormatValidator(name, openapi3.NewCallbackValidator(check))
	}
	text("idpool-id", alloc.CheckID)
	text("idpool-number", func(s string) error {
		var n int64
		if err := json.Unmarshal([]byte(s), &n); err != nil || n < 0 {
			return fmt.Errorf("%s is no number of a sequence", s)
		}
		return nil
	})
	text("idpool-text", func(s string) error {
		if s == "" {
			return nil
		}
		return alloc.CheckID(s)
	})
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/csv", openapi3filter.PlainBodyDecoder)
}

// finding is where the router of the contract leaves what it found.
type finding struct {
	http.ResponseWriter
	path   string
	item   *openapi3.PathItem
	params map[string]string
}

func (f *finding) found(path string, item *openapi3.PathItem, r *http.Request) {
	f.path, f.item, f.params = path, item, map[string]string{}
	for _, name := range []string{"pool", "sequence", "credential", "job", "part", "input", "session"} {
		if v := r.PathValue(name); v != "" {
			f.params[name] = v
		}
	}
}

// checked holds every request that h answers, and every answer, against the contract. Not under the race detector: that
// looks for something else in the same tests, and compiling schemas under it would take most of the time.
func checked(t testing.TB, h http.Handler) http.Handler {
	t.Helper()
	if raced {
		return h
	}
	c, err := theContract()
	if err != nil {
		t.Fatalf("openapi.json: %v", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent bytes.Buffer
		r.Body = readAlong{io.TeeReader(r.Body, &sent), r.Body}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		plain := unpacked(t, rec)
		if err := c.check(r, sent.Bytes(), plain); err != nil {
			t.Errorf("against openapi.yaml: %s %.200s %.300s\nanswered by %d %.500s\n%v", r.Method, r.URL, &sent, rec.Code, plain.Body, err)
		}
		maps.Copy(w.Header(), rec.Header())
		w.WriteHeader(rec.Code)
		if _, err := w.Write(rec.Body.Bytes()); err != nil {
			t.Error(err)
		}
	})
}

// unpacked is an answer as it was before it was compressed.
func unpacked(t testing.TB, rec *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	t.Helper()
	if rec.Header().Get("Content-Encoding") != "gzip" {
		return rec
	}
	z, err := gzip.NewReader(bytes.NewReader(rec.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewRecorder()
	maps.Copy(plain.Header(), rec.Header())
	plain.Header().Del("Content-Encoding")
	plain.Code, plain.Body = rec.Code, bytes.NewBuffer(body)
	return plain
}

type readAlong struct {
	io.Reader
	io.Closer
}

func (c *contract) check(r *http.Request, sent []byte, rec *httptest.ResponseRecorder) error {
	f := &finding{ResponseWriter: httptest.NewRecorder()}
	c.paths.ServeHTTP(f, r)
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if f.item == nil || f.item.GetOperation(method) == nil || saysNowhere(rec) {
		return c.checkNowhere(rec)
	}
	options := &openapi3filter.Options{
		IncludeResponseStatus: true, SkipSettingDefaults: true, AuthenticationFunc: bearer,
		SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.EnableFormatValidation()},
	}
	request := &openapi3filter.RequestValidationInput{
		Request: r.Clone(r.Context()), PathParams: f.params, Options: options,
		Route: &routers.Route{
			Spec: c.doc, Server: &openapi3.Server{}, Path: f.path, PathItem: f.item, Method: method, Operation: f.item.GetOperation(method),
		},
	}
	request.Request.Method = method
	request.Request.Body = io.NopCloser(bytes.NewReader(sent))
	response := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: request, Status: rec.Code, Header: rec.Header(), Options: options,
		Body: io.NopCloser(bytes.NewReader(rec.Body.Bytes())),
	}
	if seen := sameAnswer(method, f.path, rec); !c.right(seen) {
		if err := openapi3filter.ValidateResponse(r.Context(), response); err != nil {
			return err
		}
		c.answers.Store(seen, true)
	}
	if meantToBeBad(rec) {
		return nil
	}
	return openapi3filter.ValidateRequest(r.Context(), request)
}

// right reports whether an answer that is the same for the contract was found right before. Each look compiles its schema
// anew, and thousands of refusals differ in nothing but what they tell.
func (c *contract) right(answer string) bool {
	_, ok := c.answers.Load(answer)
	return ok
}

// The parts of an answer that are never the same, each in the whole form that the contract demands of it.
var (
	requestID     = regexp.MustCompile(`^[A-Z2-7]{26}$`)
	requestIDPart = regexp.MustCompile(`"request_id":"[A-Z2-7]{26}"`)
	detailPart    = regexp.MustCompile(`"detail":"(?:[^"\\]|\\.)*"`)
)

// sameAnswer is an answer without those parts.
func sameAnswer(method, path string, rec *httptest.ResponseRecorder) string {
	var b strings.Builder
	fmt.Fprintln(&b, method, path, rec.Code)
	for _, name := range slices.Sorted(maps.Keys(rec.Header())) {
		values := rec.Header()[name]
		if name == "X-Request-Id" && len(values) == 1 && requestID.MatchString(values[0]) {
			values = nil
		}
		fmt.Fprintf(&b, "%s: %q\n", name, values)
	}
	body := requestIDPart.ReplaceAll(rec.Body.Bytes(), []byte(`"request_id":""`))
	b.Write(detailPart.ReplaceAll(body, []byte(`"detail":""`)))
	return b.String()
}

// meantToBeBad reports whether an answer says that the request was not by the contract, or that nobody came to judge it.
func meantToBeBad(rec *httptest.ResponseRecorder) bool {
	switch rec.Code {
	case http.StatusConflict, http.StatusGone, http.StatusPreconditionFailed, http.StatusTooManyRequests:
		return false
	}
	return rec.Code >= http.StatusBadRequest
}

// bearer demands a credential where the contract does.
func bearer(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	if in.RequestValidationInput.Request.Header.Get("Authorization") == "" {
		return errors.New("the contract demands a credential here, and the request was carried out without")
	}
	return nil
}

// saysNowhere reports whether an answer says that there is no such operation, which is true of those of the other function.
func saysNowhere(rec *httptest.ResponseRecorder) bool {
	var problem struct{ Code alloc.Code }
	err := json.Unmarshal(rec.Body.Bytes(), &problem)
	return err == nil && rec.Code == web.StatusOf(problem.Code) && (problem.Code == web.CodeNotFound || problem.Code == web.CodeMethodNotAllowed)
}

// checkNowhere judges an answer to a request that is for no operation: it must be a problem that says so.
func (c *contract) checkNowhere(rec *httptest.ResponseRecorder) error {
	var problem any
	if err := json.Unmarshal(rec.Body.Bytes(), &problem); err != nil {
		return err
	}
	switch rec.Code {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed:
		return c.doc.Components.Schemas["Problem"].Value.VisitJSON(problem, openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation())
	}
	return errors.New("the contract has no such operation, and it was answered all the same")
}
