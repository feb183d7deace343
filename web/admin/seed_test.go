package admin

import (
	"bytes"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
	"idpool/web/admin/plan"
)

// upload sends the form of a seeding as a browser does.
func (s *system) upload(path string, fields map[string]string, file string, headers ...string) *httptest.ResponseRecorder {
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
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
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
	if page := s.page(at); !strings.Contains(page, "It is being checked") || strings.Contains(page, "/start") {
		t.Errorf("before the check has ended:\n%s", page)
	}
	job, _, _ := strings.Cut(at, "/seed?")
	if w := s.do("GET", job+"/start"); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), `href="`+job+`/seed"`) {
		t.Errorf("a confirmation before the check has ended: %d, want 409 that leads to the check:\n%s", w.Code, w.Body)
	}
	s.tend()
	page := s.page(at)
	for _, want := range []string{"Nothing was added yet", "NEW-1", "it is on line 2 already", "ID-4", "it is in the pool", "The last one", ">NEW-2<", "/files/1\""} {
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

func TestATextOrAFileHasRanges(t *testing.T) {
	const path, lines = "/pools/pool-000/seed", "0008-0011\nA-B\n1234-5678-9\n"
	for name, tt := range map[string]struct {
		fields map[string]string
		file   string
		want   []string
	}{
		"a text with ranges":    {map[string]string{"text": lines, "ranges": "yes"}, "", []string{"6 entries", "taken as a range"}},
		"a text without":        {map[string]string{"text": lines}, "", []string{"3 entries", "looks like a range"}},
		"a file with ranges":    {map[string]string{"format": "text", "ranges": "yes"}, lines, []string{"6 entries", "taken as a range"}},
		"a file without":        {map[string]string{"format": "text"}, lines, []string{"3 entries", "looks like a range"}},
		"a table with ranges":   {map[string]string{"format": "csv", "column": "code", "ranges": "yes"}, "x;code\ny;0008-0011\n", []string{"4 entries"}},
		"a file of a thousand":  {map[string]string{"format": "text", "ranges": "yes"}, "1000-1999\n", []string{"1,000 entries"}},
		"made by the generator": {map[string]string{"made": "7"}, "", []string{"7 entries"}},
	} {
		s := newSystem(t, nil, root)
		s.fill(1)
		if name == "made by the generator" {
			s.changePool("pool-000", alloc.PoolConfig{Generator: generator.Config{Kind: generator.ULID}, Marks: alloc.Marks{Low: 1, Target: 2}})
		}
		tt.fields["plan"] = s.planOf(path)
		w := s.upload(path, tt.fields, tt.file)
		if w.Code != http.StatusSeeOther {
			t.Fatalf("%s: %d:\n%s", name, w.Code, w.Body)
		}
		page := s.page(w.Header().Get("Location"))
		for _, want := range tt.want {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page does not say %q:\n%s", name, want, page)
			}
		}
	}
}

// What cannot be taken in is told on the page of the form, and leaves nothing that waits.
func TestWhatIsNoSeeding(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	const path = "/pools/pool-000/seed"
	for name, tt := range map[string]struct {
		fields map[string]string
		file   string
		want   string
	}{
		"nothing":             {map[string]string{"text": ""}, "", "Nothing was sent"},
		"spaces":              {map[string]string{"text": " \n "}, "", "Nothing was sent"},
		"a range too long":    {map[string]string{"text": "1000000-9999999", "ranges": "yes"}, "", "more than 100000 IDs"},
		"a range backwards":   {map[string]string{"ranges": "yes"}, "20-10\n", "runs backwards"},
		"two sources":         {map[string]string{"text": "A"}, "B\n", "More than one source"},
		"no generator":        {map[string]string{"made": "5"}, "", "no generator"},
		"no number of IDs":    {map[string]string{"made": "many"}, "", "whole number from 1 to 100,000"},
		"a column not there":  {map[string]string{"format": "csv", "column": "code"}, "a,b\n1,2\n", "no column"},
		"a reason very long":  {map[string]string{"text": "A", "why": strings.Repeat("x", 501)}, "", "too long"},
		"nothing but headers": {map[string]string{"format": "csv"}, "code\n", "no IDs in what was sent"},
	} {
		tt.fields["plan"] = s.planOf(path)
		w := s.upload(path, tt.fields, tt.file)
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), tt.want) || !strings.Contains(w.Body.String(), `name="plan"`) {
			t.Errorf("%s: %d, and not %q:\n%s", name, w.Code, tt.want, w.Body)
		}
	}
	if open, err := s.svc.OpenJobs(alloc.WithCaller(t.Context(), root), 100); err != nil || len(open) != 0 {
		t.Errorf("jobs that wait: %+v, %v", open, err)
	}
	if w := s.upload(path, map[string]string{"plan": "AAAA", "text": "A"}, ""); w.Code != http.StatusConflict {
		t.Errorf("without a plan of this page: %d, want 409", w.Code)
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

func (s *system) changePool(pool alloc.PoolName, c alloc.PoolConfig) {
	s.t.Helper()
	if _, err := s.svc.ChangePool(alloc.WithCaller(s.t.Context(), root), pool, 1, c); err != nil {
		s.t.Fatal(err)
	}
}

// What adds many IDs for good has a check that has ended, is typed, and has a reason.
func TestSeedingManyIsTyped(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	const path = "/pools/pool-000/seed"
	for text, typed := range map[string]bool{"100000-189999": true, "00001-10001": true, "20001-30000": false, "A\nB": false} {
		w := s.upload(path, map[string]string{"plan": s.planOf(path), "text": text, "ranges": "yes"}, "")
		job, _, _ := strings.Cut(w.Header().Get("Location"), "/seed?")
		if w := s.do("GET", job+"/start"); w.Code != http.StatusConflict {
			t.Errorf("%s: it can be confirmed before it is checked: %d", text, w.Code)
		}
		for range 10 {
			s.tend()
		}
		page := s.page(job + "/start")
		if strings.Contains(page, `name="typed"`) != typed || !strings.Contains(page, "First ID to be added") || !strings.Contains(page, "Last ID to be added") {
			t.Errorf("%s: typed %t expected:\n%s", text, typed, page)
		}
		if !typed {
			continue
		}
		if w := s.post(job+"/start", url.Values{"plan": {planIn(t, page)}, "reason": {"the sale"}}); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: with nothing typed: %d, want 422", text, w.Code)
		}
		if w := s.post(job+"/start", url.Values{"plan": {planIn(t, page)}, "typed": {"pool-000"}}); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: without a reason: %d, want 422", text, w.Code)
		}
		if w := s.post(job+"/start", url.Values{"plan": {planIn(t, page)}, "typed": {"pool-000"}, "reason": {"the sale"}}); w.Code != http.StatusSeeOther {
			t.Errorf("%s: %d, want 303:\n%s", text, w.Code, w.Body)
		}
	}
}

// Whoever looks at the pool, at a seeding by its job, or at the check of its file, finds the way on; who may only look is not asked to confirm.
func TestASeedingThatIsCheckedLeadsOn(t *testing.T) {
	model := alloctest.NewModel(nil)
	s := newSystem(t, model, root)
	s.fill(1)
	const path = "/pools/pool-000/seed"
	at := s.upload(path, map[string]string{"plan": s.planOf(path), "format": "text"}, "NEW-1\n").Header().Get("Location")
	s.tend()
	job, check, _ := strings.Cut(at, "/seed?check=")
	for _, address := range []string{job, "/jobs/" + check, "/pools/pool-000"} {
		if page := s.page(address); !strings.Contains(page, job+"/seed") {
			t.Errorf("%s does not lead to the page where the seeding is confirmed", address)
		}
	}
	if page := s.page(job); strings.Contains(page, "waits for its file") || !strings.Contains(page, "waits to be confirmed") {
		t.Error("a job whose file was sent and checked says that it waits for its file")
	}
	if page := s.page(job + "/seed"); !strings.Contains(page, job+"/start?check="+check) {
		t.Errorf("without the check in its address the page does not lead on:\n%s", page)
	}
	for _, caller := range []alloc.Caller{viewer, {Client: "operator", Scopes: alloc.RoleOperator.Scopes()}} {
		if page := newSystem(t, model, caller).do("GET", job+"/seed").Body.String(); strings.Contains(page, "Confirm seeding") || strings.Contains(page, "Drop file") {
			t.Errorf("%s is asked to confirm", caller.Client)
		}
	}
	if w := s.do("GET", job+"/check"); w.Code != http.StatusOK {
		t.Errorf("it cannot be checked once more: %d", w.Code)
	}
	again := s.post(job+"/check", url.Values{"plan": {s.planOf(job + "/check")}}).Header().Get("Location")
	if !strings.HasPrefix(again, job+"/seed?check=") || again == at {
		t.Errorf("a second check leads to %s", again)
	}
	if w := s.post(job+"/cancel", url.Values{"plan": {s.planOf(job + "/cancel")}}); w.Code != http.StatusSeeOther {
		t.Fatalf("it cannot be dropped: %d", w.Code)
	}
	if page := s.page(at); !strings.Contains(page, "nothing of it was added") {
		t.Errorf("a seeding that was dropped:\n%s", page)
	}
	if page := s.page("/pools/pool-000"); strings.Contains(page, job+"/seed") {
		t.Error("the pool leads to a seeding that was dropped")
	}
}

// All of what would not be added can be fetched, in files that are bounded, and the first of each outcome are shown wherever they stand.
func TestAllRejectsCanBeFetched(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	const path = "/pools/pool-000/seed"
	w := s.upload(path, map[string]string{"plan": s.planOf(path), "format": "text"}, strings.Repeat("ID-0\n", 12_345)+strings.Repeat("x", 300)+"\n")
	at := w.Header().Get("Location")
	for range 5 {
		s.tend()
	}
	page := s.page(at)
	if !strings.Contains(page, ">invalid<") || strings.Contains(page, "Part 0") {
		t.Errorf("the page:\n%.2000s", page)
	}
	_, check, _ := strings.Cut(at, "?check=")
	lines, names := 0, map[string]bool{}
	for _, m := range regexp.MustCompile(`href="(/jobs/`+check+`/files/\d+)" download>([^<]+)<`).FindAllStringSubmatch(page, -1) {
		f := s.do("GET", m[1])
		lines += strings.Count(f.Body.String(), "\n")
		names[m[2]+" "+f.Header().Get("Content-Disposition")] = true
	}
	want := map[string]bool{"File 1 of 2 attachment; filename=pool-000-rejects-1.csv": true, "File 2 of 2 attachment; filename=pool-000-rejects-2.csv": true}
	if lines != 1+12_346 || !maps.Equal(names, want) {
		t.Errorf("the files have %d lines, and are %v", lines, names)
	}
	if w := s.do("GET", "/jobs/"+check+"/files/3"); w.Code != http.StatusNotFound {
		t.Errorf("a file that there is not: %d, want 404", w.Code)
	}
	for _, n := range []string{"0", "-1", "x", "9999999999999999999"} {
		if w := s.do("GET", "/jobs/"+check+"/files/"+n); w.Code != http.StatusNotFound {
			t.Errorf("file %s: %d, want 404", n, w.Code)
		}
	}
}

// The POST of a file is judged as every other: by the right, by the switch, by where it comes from, and by its plan.
func TestAFileIsSentByWhoMay(t *testing.T) {
	model := alloctest.NewModel(nil)
	admin := newSystem(t, model, root)
	admin.fill(1)
	const path = "/pools/pool-000/seed"
	fields := func() map[string]string { return map[string]string{"plan": admin.planOf(path), "format": "text"} }
	for _, role := range alloc.Roles() {
		s := newSystem(t, model, alloc.Caller{Client: "some", Scopes: role.Scopes()})
		sealed, err := plan.Seal(alloc.WithCaller(t.Context(), root), s.svc, plan.Plan{
			Action: "pool.seed", Target: "pool/pool-000", Name: "pool-000", Need: alloc.ActionSeed, Operation: "page-" + string(role),
		}, "some", s.clock)
		if err != nil {
			t.Fatal(err)
		}
		want := http.StatusForbidden
		if role == alloc.RoleAdmin {
			want = http.StatusSeeOther
		}
		if w := s.upload(path, map[string]string{"plan": sealed, "format": "text"}, "BY-"+string(role)+"\n"); w.Code != want {
			t.Errorf("by %s: %d, want %d", role, w.Code, want)
		}
	}
	if w := admin.upload(path, fields(), "A\n", "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusForbidden {
		t.Errorf("from another site: %d, want 403", w.Code)
	}
	if w := newSystem(t, model, viewer).upload(path, fields(), "A\n"); w.Code != http.StatusConflict {
		t.Errorf("with the plan of another: %d, want 409", w.Code)
	}
	sealed := fields()
	closed := newSystem(t, model, root)
	closed.serve(Config{ReadOnly: true}, root)
	if w := closed.upload(path, sealed, "A\n"); w.Code != http.StatusForbidden {
		t.Errorf("while it is read-only: %d, want 403", w.Code)
	}
}
