package admin

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"idpool/alloc"
)

// upload sends the form of a seeding as a browser does.
func (s *system) upload(path string, fields map[string]string, file string) *httptest.ResponseRecorder {
	s.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := w.WriteField(name, value); err != nil {
			s.t.Fatal(err)
		}
	}
	f, err := w.CreateFormFile("file", "codes.csv")
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := f.Write([]byte(file)); err != nil {
		s.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		s.t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, path, &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	rec := httptest.NewRecorder()
	s.h.ServeHTTP(rec, r)
	return rec
}

func (s *system) tend() {
	s.t.Helper()
	if _, err := s.svc.Tend(alloc.WithCaller(s.t.Context(), root)); err != nil {
		s.t.Fatal(err)
	}
}

func TestAFileIsCheckedConfirmedAndSeeded(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1) // ID-0 to ID-4
	const path = "/pools/pool-000/seed"
	fields := map[string]string{"plan": s.planOf(path), "format": "csv", "column": "code", "why": "the <spring> sale"}
	file := "\uFEFFname;code\r\na;NEW-1\r\nb;NEW-2\r\nc;ID-4\r\nd;NEW-1\r\ne;<script>\r\n"
	first := s.upload(path, fields, file)
	at := first.Header().Get("Location")
	if first.Code != http.StatusSeeOther || !strings.Contains(at, "/seed?check=") {
		t.Fatalf("%d to %s:\n%s", first.Code, at, first.Body)
	}
	if again := s.upload(path, fields, file); again.Header().Get("Location") != at {
		t.Errorf("a second press leads to %s, the first to %s", again.Header().Get("Location"), at)
	}
	if page := s.page(at); !strings.Contains(page, "It is being checked") || !strings.Contains(page, "Confirm seeding") {
		t.Errorf("before the check:\n%s", page)
	}
	s.tend()
	page := s.page(at)
	for _, want := range []string{"Nothing was added yet", "NEW-1", "it is on line 2 already", "ID-4", "it is in the pool"} {
		if !strings.Contains(page, want) {
			t.Errorf("the check does not have %q:\n%s", want, page)
		}
	}
	start := regexp.MustCompile(`href="([^"]+/start\?[^"]+)"`).FindStringSubmatch(page)
	if start == nil {
		t.Fatal("there is no way on")
	}
	confirm := strings.ReplaceAll(start[1], "&amp;", "&")
	if w := s.post(confirm, url.Values{"plan": {s.planOf(confirm)}, "reason": {"they are the right ones"}}); w.Code != http.StatusSeeOther {
		t.Fatalf("%d:\n%s", w.Code, w.Body)
	}
	if trail := s.page("/audit?action=pool.start-seed"); !strings.Contains(trail, "they are the right ones") {
		t.Errorf("the reason is not in the trail:\n%s", trail)
	}
	s.tend()
	st, err := s.svc.Pool(alloc.WithCaller(t.Context(), root), "pool-000")
	if err != nil || st.Level.Available != 6 { // 3 that were there, 3 of the file
		t.Errorf("the pool has %+v, %v", st.Level, err)
	}
	if page := s.page(at); !strings.Contains(page, "This seeding was started.") {
		t.Errorf("after it:\n%s", page)
	}
}

func TestATextHasRanges(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	const path = "/pools/pool-000/seed"
	w := s.upload(path, map[string]string{"plan": s.planOf(path), "text": "0008-0011\nA-B\n12-9\n"}, "")
	if w.Code != http.StatusSeeOther {
		t.Fatalf("%d:\n%s", w.Code, w.Body)
	}
	if page := s.page(w.Header().Get("Location")); !strings.Contains(page, "6 entries") {
		t.Errorf("of a range, a word and what is no range:\n%s", page)
	}
	for text, want := range map[string]string{"": "Nothing was sent", "1000000-9999999": "more than 100,000", " \n ": "Nothing was sent"} {
		w := s.upload(path, map[string]string{"plan": s.planOf(path), "text": text}, "")
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q: %d, and not %q:\n%s", text, w.Code, want, w.Body)
		}
	}
	if w := s.upload(path, map[string]string{"plan": "AAAA", "text": "A"}, ""); w.Code != http.StatusConflict {
		t.Errorf("without a plan of this page: %d, want 409", w.Code)
	}
	if w := s.post(path, url.Values{"plan": {"AAAA"}}); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a form of another kind: %d, want 422", w.Code)
	}
	if w := s.upload(path, map[string]string{"plan": s.planOf(path)}, strings.Repeat("A\n", 3<<20)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a file that is too large: %d, want 413", w.Code)
	}
	looker := newSystem(t, nil, viewer)
	looker.fill(1)
	if w := looker.do("GET", path); w.Code != http.StatusForbidden {
		t.Errorf("for who may only look: %d, want 403", w.Code)
	}
}
