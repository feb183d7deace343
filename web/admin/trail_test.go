package admin

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

func TestTheTrailIsFilteredPagedAndExported(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(30) // a creation and a seeding of each pool, and a creation of each sequence
	evil := alloc.WithCaller(t.Context(), alloc.Caller{Client: "=cmd()", Scopes: alloc.AllScopes()})
	if _, err := s.svc.SetPoolState(evil, "pool-000", 0, alloc.PoolPaused); err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`class="verb">([^<]+)<`)
	seen, pages, path := 0, 0, "/audit?action=pool.*&limit=50"
	for path != "" {
		page := s.page(path)
		for _, m := range row.FindAllStringSubmatch(page, -1) {
			seen++
			if !strings.HasPrefix(m[1], "pool.") {
				t.Errorf("the filter lets %s through", m[1])
			}
		}
		next := regexp.MustCompile(`<a href="([^"]+)" rel="next">More records</a>`).FindStringSubmatch(page)
		if path = ""; next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
		}
		if pages++; pages > 10 {
			t.Fatal("the pages do not end")
		}
	}
	if seen != 61 || pages != 2 {
		t.Errorf("%d records on %d pages, want 61 on 2", seen, pages)
	}
	w := s.do("GET", "/audit/export?format=csv&action=pool.*")
	rows, err := csv.NewReader(w.Body).ReadAll()
	if err != nil || len(rows) != 62 || rows[0][0] != "at" || rows[1][1] != "'=cmd()" {
		t.Errorf("the file has %d rows, %v", len(rows), err)
	}
	w = s.do("GET", "/audit/export?format=jsonl&result=ok&client=maker")
	if n := strings.Count(w.Body.String(), "\n"); n != 90 || !strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") {
		t.Errorf("the file has %d lines", n)
	}
	for query, want := range map[string]string{
		"client=nobody":    "No record is like that",
		"month=tomorrow":   "Month must be one like",
		"from=yesterday":   "This is a time in UTC",
		"trail_after=%00":  "begin it anew",
		"client=%3Cevil":   "No record is like that",
		"target=pool/none": "No record is like that",
	} {
		if page := s.page("/audit?" + query); !strings.Contains(page, want) {
			t.Errorf("?%s does not say %q:\n%s", query, want, page)
		}
	}
	if page := s.page("/audit?from=zz"); strings.Contains(page, "Nothing was administered") || !strings.Contains(page, "has to be corrected") {
		t.Errorf("a filter that cannot be read:\n%s", page)
	}
	if w := s.do("GET", "/audit/export?format=xx"); w.Code != http.StatusBadRequest {
		t.Errorf("an export as nobody knows: %d, want 400", w.Code)
	}
	for _, path := range []string{"/pools?state=zz", "/sequences?state=zz"} {
		if page := s.page(path); !strings.Contains(page, "There is no such state") {
			t.Errorf("%s does not say so:\n%s", path, page)
		}
	}
	if w := s.do("GET", "/audit/export?from=x"); w.Code != http.StatusBadRequest {
		t.Errorf("an export by what is no time: %d", w.Code)
	}
}

// A session has no name: whose it is stands in place of it.
func TestTheTrailShowsWhoseASessionIs(t *testing.T) {
	s := newSystem(t, nil, root)
	made, _, err := s.svc.SignIn(t.Context(), alloc.SignInRequest{
		Person: alloc.Person{Issuer: "https://login.example", Subject: "7", Login: "ada", Name: "Ada <L>"}, Role: alloc.RoleViewer,
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.svc.EndSession(alloc.WithCaller(t.Context(), root), made.ID); err != nil {
		t.Fatal(err)
	}
	home, all := s.page("/"), s.page("/audit")
	if strings.Contains(home, string(made.ID)) || strings.Count(home, "Ada &lt;L&gt;") != 2 || strings.Count(home, "session ") != 2 {
		t.Errorf("the first page has the ID of a session, or does not say whose it is:\n%s", home)
	}
	if strings.Contains(all, "session/"+string(made.ID)+"</bdi></a>") || strings.Count(all, "Ada &lt;L&gt;") != 2 || !strings.Contains(all, string(made.ID)) {
		t.Errorf("the trail does not say whose the sessions are:\n%s", all)
	}
}

func TestJobsAreMadeOnPages(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	for path, want := range map[string]string{
		"/pools/pool-000/verify?review=1&sample=10":        "Verify pool-000",
		"/pools/pool-000/count":                            "Count pool-000",
		"/pools/pool-000/export?review=1&state=free":       "",
		"/pools/pool-000/export?review=1&format=csv":       "Export pool-000",
		"/pools/pool-000/rebuild":                          "Rebuild pool-000",
		"/sequences/sequence-000/verify?review=1&sample=1": "Verify sequence-000",
	} {
		form := url.Values{"plan": {s.planOf(path)}, "reason": {"a test"}, "typed": {"pool-000"}}
		w := s.post(path, form)
		if want == "" {
			if w.Code != http.StatusBadRequest {
				t.Errorf("%s: %d, want 400", path, w.Code)
			}
			continue
		}
		if w.Code != http.StatusSeeOther {
			t.Errorf("%s: %d\n%s", path, w.Code, w.Body)
			continue
		}
		if again := s.post(path, form); again.Header().Get("Location") != w.Header().Get("Location") {
			t.Errorf("%s: a second press leads to %s, the first to %s", path, again.Header().Get("Location"), w.Header().Get("Location"))
		}
		if page := s.page(w.Header().Get("Location")); !strings.Contains(page, want) || !strings.Contains(page, "goes on by itself") {
			t.Errorf("%s leads to:\n%s", path, page)
		}
	}
	for _, sample := range []string{"0", "101", "x"} {
		if page := s.page("/pools/pool-000/verify?review=1&sample=" + sample); !strings.Contains(page, "whole number") {
			t.Errorf("a sample of %s:\n%s", sample, page)
		}
	}
}

// endless is a Store with a trail of any length.
type endless struct {
	alloc.Store
	reads int
}

func (e *endless) Records(_ context.Context, _ string, limit int) (all []alloc.AuditRecord, err error) {
	e.reads++
	for n := range limit {
		at := int64(1_000_000_000 - e.reads*limit - n)
		all = append(all, alloc.AuditRecord{
			ID: fmt.Sprint(at), At: noon, Client: "somebody", Action: "pool.pause", Target: "pool/p", Result: "ok", Link: alloc.Link{Month: "2026-11", Position: at},
		})
	}
	return all, nil
}

// What one request reads of the trail is bounded, be there much that the filter wants or nothing; and a file that would not have all is none.
func TestAnExportOfTheTrailReadsToABound(t *testing.T) {
	for query, code := range map[string]int{
		"format=csv":                               http.StatusRequestEntityTooLarge,
		"format=jsonl&client=somebody":             http.StatusRequestEntityTooLarge,
		"format=csv&client=nobody":                 http.StatusRequestEntityTooLarge,
		"format=jsonl&month=2026-11&client=nobody": http.StatusRequestEntityTooLarge,
		"format=csv&month=2026-12":                 http.StatusOK,
	} {
		store := &endless{Store: alloctest.NewModel(nil)}
		w := newSystem(t, store, viewer).do("GET", "/audit/export?"+query)
		if w.Code != code || store.reads > 100 {
			t.Errorf("?%s: %d after %d reads", query, w.Code, store.reads)
		}
		if code == http.StatusOK {
			continue
		}
		if w.Header().Get("Content-Disposition") != "" || !strings.Contains(w.Body.String(), "narrow the filter to a Month") || strings.Contains(w.Body.String(), "pool.pause") {
			t.Errorf("?%s does not say what to do:\n%s", query, w.Body)
		}
	}
}
