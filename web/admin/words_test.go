package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What a person can put right is said where it is filled in, in words of the page.
func TestACredentialIsCheckedBeforeItIsConfirmed(t *testing.T) {
	s := newSystem(t, nil, root)
	for query, want := range map[string]string{
		"client=A&scopes=read:*":                                  "client",
		"client=default&scopes=read:*":                            "own",
		"client=a&scopes=read:*&quota=9000000000000000000":        "quota",
		"client=a&scopes=read:*&expires=2020-01-31":               "future",
		"client=a&scopes=steal:*":                                 "steal",
		"client=a&scopes=read:*&description=" + "%E2%80%AE" + "x": "description",
	} {
		page := s.page("/new/credential?review=1&" + query)
		if strings.Contains(page, `name="plan"`) || !strings.Contains(page, want) || !strings.Contains(page, "<textarea") || strings.Contains(page, "nvalid_request") {
			t.Errorf("?%s: there is a plan, or no word of %q, or no form, or a code:\n%s", query, want, page)
		}
	}
}

func TestAReasonIsText(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	const path = "/pools/pool-000/pause"
	for _, reason := range []string{"a\u202eb", "a\x00b", "\xff"} {
		w := s.post(path, url.Values{"plan": {s.planOf(path)}, "reason": {reason}})
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "The reason is not allowed") {
			t.Errorf("%q: %d\n%s", reason, w.Code, w.Body)
		}
	}
	if w := s.post(path, url.Values{"plan": {s.planOf(path)}, "reason": {strings.Repeat("ä", 300)}}); w.Code != http.StatusSeeOther {
		t.Errorf("a long one: %d\n%s", w.Code, w.Body)
	}
}

func TestAForgedPlaceInAListLeadsToItsBeginning(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	for path, begin := range map[string]string{
		"/pools?q=a&pools_after=x": "/pools?q=a", "/audit?client=a&trail_after=x": "/audit?client=a", "/jobs?jobs_after=x": "/jobs", "/credentials?credentials_after=x": "/credentials",
	} {
		page := s.page(path)
		if strings.Contains(page, "next_cursor") || !strings.Contains(page, "begin it anew") || !strings.Contains(page, `<a href="`+begin+`">Try again`) {
			t.Errorf("%s:\n%s", path, page)
		}
	}
}

func TestNumbersOutOfRangeAreToldAtTheirField(t *testing.T) {
	page := newSystem(t, nil, root).page("/new/pool?review=1&name=a&policy=keep&max_batch=999999")
	if strings.Contains(page, "Max_batch") || !strings.Contains(page, "whole number from 1 to") {
		t.Errorf("the page:\n%s", page)
	}
}

func TestOneEntryIsOne(t *testing.T) {
	if entries(1) != "1 entry" || entries(2000) != "2,000 entries" {
		t.Errorf("%q, %q", entries(1), entries(2000))
	}
}
