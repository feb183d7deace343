package admin

import (
	"regexp"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// says is what the page says of the source.
func says(page, source string) string {
	row := regexp.MustCompile(`(?s)class="name">\s*(?:<a [^>]*>)?` + source + `.*?class="state \w+">([^<]*)<`).FindStringSubmatch(page)
	if row == nil {
		return ""
	}
	return row[1]
}

// Before anything is frozen the page says what speaks for a rebuild.
func TestTheEvidenceIsShownBeforeTheFreeze(t *testing.T) {
	model := alloctest.NewModel(nil)
	s := newSystem(t, model, root)
	s.fill(1)
	const at = "/sequences/sequence-000/rebuild"
	page := s.page(at)
	if !strings.Contains(page, "Nothing speaks for a rebuild") || says(page, "Counter") != "ok" || !strings.Contains(page, "1,500") || says(page, "Last verification") != "none" {
		t.Errorf("of a sequence that is well:\n%s", page)
	}
	model.DropCounter("sequence-000")
	for _, path := range []string{at, at + "/plan?review=1"} {
		page = s.page(path)
		for source, want := range map[string]string{"Counter": "missing", "Lease ledger": "ok", "High-water mark": "ok", "Samples": "ok", "Reported": "none"} {
			if got := says(page, source); got != want {
				t.Errorf("%s: %s says %q, want %q:\n%s", path, source, got, want, page)
			}
		}
	}
	if page = s.page(at); !strings.Contains(page, "Its counter is lost or damaged.") || !strings.Contains(page, `class="btn primary" href="`+at+`/plan"`) || !strings.Contains(page, `data-refresh="0"`) {
		t.Errorf("of a sequence without a counter:\n%s", page)
	}
	if r, err := model.Rebuild(t.Context(), "sequence-000"); err != nil || r.Version != 0 {
		t.Errorf("the look has begun a rebuild: %+v, %v", r, err)
	}
	page = s.step(at + "/plan?review=1")
	if !strings.Contains(page, "What each source said") || says(page, "Counter") != "missing" || says(page, "Lease ledger") != "highest" || !strings.Contains(page, "Frozen 12:00") {
		t.Errorf("after the freeze:\n%s", page)
	}
	colleague := newSystem(t, model, alloc.Caller{Client: "colleague", Scopes: alloc.AllScopes()})
	if page := colleague.page(at); !strings.Contains(page, "Apply plan") || !strings.Contains(page, "begun by admin-1") {
		t.Errorf("to a colleague:\n%s", page)
	}
	reader := newSystem(t, model, viewer)
	if page := reader.page(at); strings.Contains(page, "Apply plan") || !strings.Contains(page, "What each source said") {
		t.Errorf("to who may only look:\n%s", page)
	}
}

// What cannot be read says so, and the rest of the page stands.
func TestEachSourceOfThePageFailsAlone(t *testing.T) {
	for method, unread := range map[string][]string{
		"Evidence": {"Counter", "High-water mark", "Samples"}, "Leases": {"Lease ledger"}, "SequenceSamples": {"Samples"}, "Rebuild": {"Reported", "The rebuild before"}, "ListJobs": {"Last verification"},
	} {
		t.Run(method, func(t *testing.T) {
			store := alloctest.NewFaulty(alloctest.NewModel(nil), nil)
			s := newSystem(t, store, root)
			s.fill(1)
			store.SetPlan(func(c alloctest.Call) alloctest.Fault {
				if c.Method == method {
					return alloctest.Refused
				}
				return alloctest.Pass
			})
			page := s.page("/sequences/sequence-000/rebuild")
			if strings.Count(page, ">unreadable<") != len(unread) || strings.Contains(page, "injected") {
				t.Errorf("%d are unreadable, want %v:\n%s", strings.Count(page, ">unreadable<"), unread, page)
			}
			for _, source := range unread {
				if got := says(page, source); got != "unreadable" {
					t.Errorf("%s says %q", source, got)
				}
			}
		})
	}
}

func TestTheEvidenceOfAPoolIsShownBeforeItIsRebuilt(t *testing.T) {
	model := alloctest.NewModel(nil)
	s := newSystem(t, model, root)
	s.fill(1)
	const at = "/pools/pool-000/rebuild"
	page := s.page(at)
	for source, want := range map[string]string{"Head of the queue": "ok", "Configuration": "ok", "Chunks of the queue": "ok", "Claims": "served", "Last verification": "none"} {
		if got := says(page, source); got != want {
			t.Errorf("%s says %q, want %q:\n%s", source, got, want, page)
		}
	}
	s.step("/pools/pool-000/verify?review=1")
	if _, err := s.svc.Tend(alloc.WithCaller(t.Context(), root)); err != nil {
		t.Fatal(err)
	}
	model.Damage(t, alloctest.Damage{Kind: alloctest.LoseHead, Pool: "pool-000"})
	page = s.page(at)
	for source, want := range map[string]string{"Head of the queue": "missing", "Chunks of the queue": "damaged", "Claims": "refused", "Last verification": "done, healthy"} {
		if got := says(page, source); got != want {
			t.Errorf("of a pool without a head, %s says %q, want %q:\n%s", source, got, want, page)
		}
	}
}
