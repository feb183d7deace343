package admin

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
)

// sealedIn is the plan that a page carries.
func sealedIn(t *testing.T, page string) string {
	t.Helper()
	m := regexp.MustCompile(`name="plan" value="([^"]+)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no plan in:\n%s", page)
	}
	return m[1]
}

// lossy is a system whose next answer to a step is lost, after the work was done.
func lossy(t *testing.T, fault alloctest.Fault) *system {
	store := alloctest.NewFaulty(alloctest.NewModel(nil), nil)
	s := newSystem(t, store, root)
	s.fill(1)
	store.SetPlan(alloctest.Script("CloseKey", fault))
	return s
}

func (s *system) jobsOf(kind alloc.JobKind) (of []alloc.Job) {
	s.t.Helper()
	jobs, _, err := s.svc.Jobs(alloc.WithCaller(s.t.Context(), root), "", 100)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, j := range jobs {
		if j.Kind == kind {
			of = append(of, j)
		}
	}
	return of
}

// A seeding whose answer was lost is there once after a repeat, with one check, and goes on as it was: also where it was started meanwhile, or
// where no other job may be made.
func TestARepeatedSeedingIsOne(t *testing.T) {
	const path = "/pools/pool-000/seed"
	for name, between := range map[string]func(s *system, j alloc.Job){
		"nothing between": func(*system, alloc.Job) {},
		"started between": func(s *system, j alloc.Job) {
			if _, err := s.svc.StartJob(alloc.WithCaller(s.t.Context(), root), j.ID, 1); err != nil {
				s.t.Fatal(err)
			}
		},
		"no room between": func(s *system, _ alloc.Job) {
			for range 8 {
				if _, err := s.svc.OpenSeeding(alloc.WithCaller(s.t.Context(), root), alloc.SeedJobRequest{Pool: "pool-000"}); err != nil {
					s.t.Fatal(err)
				}
			}
		},
	} {
		for source, value := range map[string]string{"text": "R-1\nR-2", "made": "7"} {
			s := lossy(t, alloctest.Refused)
			s.changePool("pool-000", alloc.PoolConfig{Generator: generator.Config{Kind: generator.ULID}, Marks: alloc.Marks{Low: 1, Target: 2}})
			fields := map[string]string{"plan": s.planOf(path), source: value}
			if w := s.upload(path, fields, ""); w.Code != http.StatusServiceUnavailable {
				t.Fatalf("%s: %d, want 503 as the answer is lost", name, w.Code)
			}
			seedings := s.jobsOf(alloc.JobSeed)
			if len(seedings) != 1 {
				t.Fatalf("%s: %d seedings", name, len(seedings))
			}
			between(s, seedings[0])
			w := s.upload(path, fields, "")
			if at := w.Header().Get("Location"); w.Code != http.StatusSeeOther || !strings.Contains(at, string(seedings[0].ID)) {
				t.Errorf("%s: the repeat is %d to %q, want 303 to the seeding", name, w.Code, at)
			}
			j, err := s.svc.Job(alloc.WithCaller(t.Context(), root), seedings[0].ID)
			if err != nil || j.State == alloc.JobCancelled {
				t.Errorf("%s: the seeding is %s, %v", name, j.State, err)
			}
			if n := len(s.jobsOf(alloc.JobCheck)); n != 1 {
				t.Errorf("%s: %d checks, want 1", name, n)
			}
		}
	}
}

// Where a seeding may have been made all the same, the page that asks to send it again makes no other one.
func TestASeedingThatIsSentAgainIsOne(t *testing.T) {
	const path = "/pools/pool-000/seed"
	s := lossy(t, alloctest.Throttled)
	fields := map[string]string{"plan": s.planOf(path), "text": "R-1\nR-2"}
	w := s.upload(path, fields, "")
	if w.Code == http.StatusSeeOther {
		t.Fatal("nothing was lost")
	}
	fields["plan"] = sealedIn(t, w.Body.String())
	if w := s.upload(path, fields, ""); w.Code != http.StatusSeeOther {
		t.Errorf("%d, want 303", w.Code)
	}
	if n := len(s.jobsOf(alloc.JobSeed)); n != 1 {
		t.Errorf("%d seedings, want 1", n)
	}
}

// The rebuild that a plan has begun is no other one.
func TestARepeatedRebuildOfAPoolIsTheOneThatItBegan(t *testing.T) {
	const path = "/pools/pool-000/rebuild"
	s := lossy(t, alloctest.Refused)
	form := url.Values{"plan": {s.planOf(path)}, "typed": {"pool-000"}, "reason": {"it is damaged"}}
	if w := s.post(path, form); w.Code != http.StatusServiceUnavailable {
		t.Fatalf("%d, want 503 as the answer is lost", w.Code)
	}
	for range 3 {
		if w := s.post(path, form); w.Code != http.StatusSeeOther {
			t.Errorf("%d, want 303 to the job", w.Code)
		}
		s.tend()
	}
	if n := len(s.jobsOf(alloc.JobRebuild)); n != 1 {
		t.Errorf("%d rebuilds, want 1", n)
	}
}

// The page that confirms a seeding shows a check; where that is another by then, what is shown was not looked at.
func TestASeedingIsConfirmedByTheCheckThatWasSeen(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	const path = "/pools/pool-000/seed"
	at := s.upload(path, map[string]string{"plan": s.planOf(path), "text": "R-1\nR-2"}, "").Header().Get("Location")
	job, _, _ := strings.Cut(at, "/seed?")
	s.tend()
	mistyped := url.Values{"plan": {s.planOf(job + "/start")}, "reason": {strings.Repeat("x", alloc.MaxReason+1)}}
	if w := s.post(job+"/start", mistyped); w.Code != http.StatusUnprocessableEntity {
		t.Fatalf("of the same check: %d, want 422", w.Code)
	}
	ctx := alloc.WithCaller(t.Context(), root)
	if _, err := s.svc.Seed(ctx, alloc.SeedRequest{Pool: "pool-000", Entries: []alloc.SeedEntry{{Line: 1, Raw: "R-1"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.svc.CheckSeeding(ctx, alloc.JobID(strings.TrimPrefix(job, "/jobs/")), ""); err != nil {
		t.Fatal(err)
	}
	s.tend()
	if w := s.post(job+"/start", mistyped); w.Code != http.StatusConflict || strings.Contains(w.Body.String(), `name="plan"`) {
		t.Errorf("of another check: %d, want 409 without another plan", w.Code)
	}
}

// Of two presses at once, of which the first is slow, both lead to one seeding with one check; what the generator made for the other is nowhere.
func TestTwoPressesOfASeedingAreOne(t *testing.T) {
	const path = "/pools/pool-000/seed"
	for source, value := range map[string]string{"text": "R-1\nR-2", "made": "7"} {
		store := alloctest.NewFaulty(alloctest.NewModel(nil), nil)
		s := newSystem(t, store, root)
		s.fill(1)
		s.changePool("pool-000", alloc.PoolConfig{Generator: generator.Config{Kind: generator.ULID}, Marks: alloc.Marks{Low: 1, Target: 2}})
		fields := map[string]string{"plan": s.planOf(path), source: value}
		store.SetPlan(alloctest.Script("PutInput", alloctest.Delayed))
		first := make(chan string)
		go func() { first <- s.upload(path, fields, "").Header().Get("Location") }()
		<-store.Held()
		second := s.upload(path, fields, "").Header().Get("Location")
		store.Release()
		if at := <-first; at == "" || at != second {
			t.Errorf("%s: they lead to %q and %q", source, at, second)
		}
		if seedings, checks := s.jobsOf(alloc.JobSeed), s.jobsOf(alloc.JobCheck); len(seedings) != 1 || len(checks) != 1 || seedings[0].State != alloc.JobReceiving {
			t.Errorf("%s: %d seedings, %d checks", source, len(seedings), len(checks))
		}
	}
}
