package api_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// sequence is what is answered of a sequence.
type sequenceShown struct {
	State, Next string
	Epoch       int
	Share       int
	Rebuild     *struct{ ID, Step string }
	Config      struct {
		AutoRebuild bool `json:"auto_rebuild"`
		ResumeShare int  `json:"resume_share"`
	}
}

func (w *world) sequence() sequenceShown {
	w.t.Helper()
	return read[sequenceShown](w.t, w.must(200, "GET", "/v1/sequences/s", "").Body)
}

// refusedBy checks that an answer is a problem of the code, and that one of 503 says when to come again.
func refusedBy(t *testing.T, got *httptest.ResponseRecorder, code alloc.Code) {
	t.Helper()
	if p := problemOf(t, got); p.Code != code || got.Code == 503 && got.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s, Retry-After %q; want %s", got.Code, got.Body, got.Header().Get("Retry-After"), code)
	}
}

// C12, C14: the whole way of a sequence whose counter is behind its leases, as an administrator goes it.
func TestASequenceIsRebuilt(t *testing.T) {
	w := newWorld(t)
	w.must(200, "PUT", "/v1/sequences/s", `{"limit": "9223372036854775807", "resume_share": 50}`, `If-Match: "1"`)
	w.must(201, "POST", "/v1/sequences/s/leases", `{"count": 500}`)
	refusedBy(t, w.do("GET", "/v1/sequences/s/rebuild", ""), alloc.CodeRebuildStep)
	w.store.SetCounter("s", 100)
	refusedBy(t, w.do("POST", "/v1/sequences/s/leases", ""), alloc.CodeSequenceStopped)

	planned := w.planRebuild(`{"why": "behind", "reported": "9007199254740993", "margin": 7}`)
	if planned.Step != "planned" || planned.Plan.Floor != "9007199254740994" || planned.Plan.Next != "9007199254741001" {
		t.Fatalf("planned: %+v", planned)
	}
	if s := w.sequence(); s.State != "frozen" || s.Rebuild == nil || s.Rebuild.ID != planned.ID || s.Rebuild.Step != "planned" {
		t.Errorf("frozen: %+v", s)
	}
	refusedBy(t, w.do("POST", "/v1/sequences/s/leases", ""), alloc.CodeSequenceRebuilding)
	refusedBy(t, w.do("POST", "/v1/sequences/s/pause", ""), alloc.CodeSequenceRebuilding)
	refusedBy(t, w.do("POST", "/v1/sequences/s/rebuild/resume", ""), alloc.CodeRebuildStep)
	if again := w.planRebuild(`{"margin": 7, "reported": "9007199254740993", "why": "behind"}`); again != planned {
		t.Errorf("the same request again: %+v, want %+v", again, planned)
	}
	other := w.planRebuild(`{"reported": "9007199254740993", "margin": 8}`)
	if other.Plan.ID == planned.Plan.ID {
		t.Errorf("another request has the same plan: %+v", other)
	}

	// Nothing is applied before somebody has written the name, and named the plan that he has seen.
	apply := "/v1/sequences/s/rebuild/apply"
	for _, body := range []string{"", `{"plan": "` + other.Plan.ID + `"}`, `{"plan": "` + other.Plan.ID + `", "confirm": "S"}`, `{"confirm": "s"}`, `{"plan": "", "confirm": "s"}`} {
		refusedBy(t, w.do("POST", apply, body), alloc.CodeInvalidRequest)
	}
	refusedBy(t, w.do("POST", apply, fmt.Sprintf(`{"plan": %q, "confirm": "s"}`, planned.Plan.ID)), alloc.CodePlanChanged)
	body := fmt.Sprintf(`{"plan": %q, "confirm": "s"}`, other.Plan.ID)
	applied := w.must(200, "POST", apply, body).Body.String()
	if !strings.Contains(applied, `"step":"verified"`) || !strings.Contains(applied, `"tested":{"start":"9007199254741002","end":"9007199254741011"}`) {
		t.Errorf("applied: %s", applied)
	}
	if again := w.must(200, "POST", apply, body).Body.String(); again != applied {
		t.Errorf("applied again: %s, want %s", again, applied)
	}
	refusedBy(t, w.do("POST", "/v1/sequences/s/rebuild/cancel", ""), alloc.CodeRebuildStep)
	refusedBy(t, w.do("POST", "/v1/sequences/s/leases", ""), alloc.CodeSequenceRebuilding)

	// A share of the callers first, always the same, and then all.
	clients := map[string]client{}
	for i := range 20 {
		name := fmt.Sprintf("client-%d", i)
		clients[name] = w.as(w.makeCredential(fmt.Sprintf(`{"client": %q, "scopes": ["lease:s"]}`, name)).Secret)
	}
	served := func() (names []string) {
		for i := range 20 {
			name := fmt.Sprintf("client-%d", i)
			got := clients[name].do("POST", "/v1/sequences/s/leases", "")
			if got.Code == 201 {
				names = append(names, name)
				continue
			}
			refusedBy(t, got, alloc.CodeSequenceResuming)
		}
		return names
	}
	w.must(200, "POST", "/v1/sequences/s/rebuild/resume", "")
	if s := w.sequence(); s.State != "resuming" || s.Share != 50 || s.Rebuild == nil || s.Rebuild.Step != "resuming" {
		t.Errorf("resuming: %+v", s)
	}
	some := served()
	if diff := cmp.Diff(some, served()); diff != "" || len(some) < 3 || len(some) > 17 {
		t.Errorf("%d of 20 are served of a share of 50, and then others:\n%s", len(some), diff)
	}
	done := w.must(200, "POST", "/v1/sequences/s/rebuild/resume", `{"share": 100}`).Body.String()
	if s := w.sequence(); !strings.Contains(done, `"step":"done"`) || s.State != "active" || s.Epoch != 2 || s.Rebuild != nil || s.Share != 0 || len(served()) != 20 {
		t.Errorf("done: %s, %+v", done, s)
	}
	if got := w.must(200, "GET", "/v1/sequences/s/rebuild", "").Body.String(); got != done {
		t.Errorf("the last rebuild: %s, want %s", got, done)
	}
}

// A rebuild that is cancelled leaves the sequence as it was.
func TestARebuildIsCancelled(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/v1/sequences/s/leases", `{"count": 5}`)
	refusedBy(t, w.do("POST", "/v1/sequences/s/rebuild/cancel", ""), alloc.CodeRebuildStep)
	w.must(200, "POST", "/v1/sequences/s/pause", "")
	before := w.sequence()
	if r := w.planRebuild(""); r.Was != "paused" || r.Plan.Floor != "6" {
		t.Errorf("planned: %+v", r)
	}
	for range 2 {
		if got := w.must(200, "POST", "/v1/sequences/s/rebuild/cancel", "").Body.String(); !strings.Contains(got, `"step":"cancelled"`) {
			t.Errorf("cancelled: %s", got)
		}
	}
	if diff := cmp.Diff(before, w.sequence()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// A sequence of which the ledger is all that is left needs its configuration from the request. What is left out of that has its default.
func TestARebuildWithAConfiguration(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/v1/sequences/s/leases", `{"count": 5}`)
	w.loseSequence()
	refusedBy(t, w.do("POST", "/v1/sequences/s/rebuild", ""), alloc.CodeInvalidConfig)
	for config, code := range map[string]alloc.Code{
		`{"limit": "0"}`: alloc.CodeInvalidConfig, `{"segment": 0}`: alloc.CodeInvalidConfig, `{"resume_share": 101}`: alloc.CodeInvalidConfig,
		`{"start": "9", "limit": "5"}`: alloc.CodeInvalidConfig, `{"start": 9}`: alloc.CodeInvalidRequest, `{"nope": 1}`: alloc.CodeInvalidRequest, `[]`: alloc.CodeInvalidRequest,
	} {
		refusedBy(t, w.do("POST", "/v1/sequences/s/rebuild", `{"config": `+config+`}`), code)
	}
	p := problemOf(t, w.do("POST", "/v1/sequences/s/rebuild", `{"config": {"segment": 0}}`))
	if p.Detail != "config.segment must be at least 1; leave it out for its default" {
		t.Errorf("the refusal does not say where: %s", p.Detail)
	}
	refusedBy(t, w.do("POST", "/v1/sequences/s/rebuild", `{"config": null}`), alloc.CodeInvalidConfig)
	r := read[struct {
		Plan   struct{ ID, Next string }
		Config map[string]any
	}](t, w.must(200, "POST", "/v1/sequences/s/rebuild", `{"config": {}, "margin": 1}`).Body)
	if r.Plan.Next != "7" || r.Config["limit"] != "9223372036854775807" || r.Config["resume_share"] != 10.0 {
		t.Errorf("planned: %+v", r)
	}
}

// Nothing but the counter tells where the sequence stands: that is not enough, unless somebody says what he knows.
func TestARebuildNeedsEvidence(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/v1/sequences/s/leases", `{"count": 5}`)
	w.loseLeases()
	refusedBy(t, w.do("POST", "/v1/sequences/s/rebuild", ""), alloc.CodeNoEvidence)
	if r := w.planRebuild(`{"reported": "5"}`); r.Plan.Floor != "6" {
		t.Errorf("planned: %+v", r)
	}
}

// A request for a rebuild that cannot be one is refused, and freezes nothing.
func TestBadRebuilds(t *testing.T) {
	w := newWorld(t)
	for _, body := range []string{
		`{"reported": 5}`, `{"reported": "05"}`, `{"reported": "9223372036854775808"}`, `{"margin": 0}`, `{"margin": "5"}`, `{"margin": -1}`,
		`{"margin": 1000000000001}`, `{"since": "yesterday"}`, `{"since": 5}`, `{"since": "2126-11-29T12:00:00Z"}`, `{"why": " x"}`, `{"config": "x"}`, `{"plan": "x"}`, `{"replaces": null}`,
	} {
		refusedBy(t, w.do("POST", "/v1/sequences/s/rebuild", body), alloc.CodeInvalidRequest)
	}
	for _, body := range []string{`{"share": 0}`, `{"share": 101}`, `{"share": "10"}`, `{"share": 1.5}`} {
		refusedBy(t, w.do("POST", "/v1/sequences/s/rebuild/resume", body), alloc.CodeInvalidRequest)
	}
	if s := w.sequence(); s.State != "active" {
		t.Errorf("the sequence is %+v", s)
	}
	for _, path := range []string{"rebuild", "rebuild/resume", "rebuild/cancel"} {
		refusedBy(t, w.do("POST", "/v1/sequences/nobody/"+path, ""), alloc.CodeSequenceNotFound)
	}
	refusedBy(t, w.do("POST", "/v1/sequences/nobody/rebuild/apply", `{"plan": "x", "confirm": "nobody"}`), alloc.CodeSequenceNotFound)
	refusedBy(t, w.do("GET", "/v1/sequences/nobody/rebuild", ""), alloc.CodeSequenceNotFound)
}

// A plan says what it leaves, rests on all that was said until somebody takes it back, and uses a sequence up only if that is said too.
func TestAPlanSaysWhatItLeaves(t *testing.T) {
	type shown struct {
		Step, Reported, Since, Replaces string
		NextStep                        string `json:"next_step"`
		Margin                          int
		Plan                            struct {
			ID, Left string
			Exhausts bool
			Warnings []string
		}
	}
	w := newWorld(t)
	w.must(200, "PUT", "/v1/sequences/s", `{"limit": "9000"}`, `If-Match: "1"`)
	w.must(201, "POST", "/v1/sequences/s/leases", `{"count": 5}`)
	plan := func(body string) shown {
		t.Helper()
		return read[shown](t, w.must(200, "POST", "/v1/sequences/s/rebuild", body).Body)
	}
	if p := plan(`{"since": "2026-01-01T00:00:00Z", "reported": "6", "margin": 7}`); p.Plan.Left != "0" || !p.Plan.Exhausts || len(p.Plan.Warnings) < 2 {
		t.Errorf("planned: %+v", p)
	}
	all := plan(`{}`)
	if all.Margin != 7 || all.Reported != "6" || all.Since == "" {
		t.Errorf("the bare request plans %+v, want all that was said", all)
	}
	body := fmt.Sprintf(`{"plan": %q, "confirm": "s"`, all.Plan.ID)
	if p := problemOf(t, w.do("POST", "/v1/sequences/s/rebuild/apply", body+`}`)); p.Code != alloc.CodeInvalidRequest || !strings.Contains(p.Detail, "exhausts") || !strings.Contains(all.NextStep, "exhausts: true") {
		t.Errorf("the refusal is %+v, the next step %q; want them to name the field", p, all.NextStep)
	}
	none := plan(`{"since": null, "reported": null, "margin": null}`)
	if none.Since != "" || none.Reported != "" || none.Margin != 1000 || none.Plan.Left != "7985" || none.Plan.Exhausts {
		t.Errorf("without all that was said it plans %+v", none)
	}
	refusedBy(t, w.do("POST", "/v1/sequences/s/rebuild/apply", body+`, "exhausts": true}`), alloc.CodePlanChanged)
	all = plan(`{"margin": 9000}`)
	body = fmt.Sprintf(`{"plan": %q, "confirm": "s"`, all.Plan.ID)
	if r := read[shown](t, w.must(200, "POST", "/v1/sequences/s/rebuild/apply", body+`, "exhausts": true}`).Body); r.Step != "verified" || !strings.Contains(strings.Join(r.Plan.Warnings, ";"), "without test numbers") {
		t.Errorf("applied: %+v", r)
	}

	// And from there, with the limit raised, to another plan.
	w.must(200, "PUT", "/v1/sequences/s", `{"limit": "90000"}`, `If-Match: "2"`)
	p := problemOf(t, w.do("POST", "/v1/sequences/s/rebuild", ""))
	if p.Code != alloc.CodeRebuildStep || !strings.Contains(p.Detail, all.Plan.ID) {
		t.Errorf("a bare request after it: %+v", p)
	}
	again := plan(fmt.Sprintf(`{"replaces": %q, "margin": 1}`, all.Plan.ID))
	if again.Step != "planned" || again.Replaces != all.Plan.ID || again.Plan.Left != "80989" {
		t.Errorf("planned anew: %+v", again)
	}
	w.must(200, "POST", "/v1/sequences/s/rebuild/apply", fmt.Sprintf(`{"plan": %q, "confirm": "s"}`, again.Plan.ID))
	w.must(200, "POST", "/v1/sequences/s/rebuild/resume", `{"share": 50}`)
	refusedBy(t, w.do("POST", "/v1/sequences/s/rebuild/resume", `{"share": 49}`), alloc.CodeRebuildStep)
	w.must(200, "POST", "/v1/sequences/s/pause", "")
	refusedBy(t, w.do("POST", "/v1/sequences/s/leases", ""), alloc.CodeSequencePaused)
	w.must(200, "POST", "/v1/sequences/s/resume", "")
	w.must(201, "POST", "/v1/sequences/s/leases", "")
}
