package admin

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var secretShown = regexp.MustCompile(`<pre[^>]*>([^<]{20,})</pre>`)

func TestACredentialFromMadeToRevoked(t *testing.T) {
	s := newSystem(t, nil, root)
	if page := s.page("/credentials"); !strings.Contains(page, "There is no credential") || !strings.Contains(page, "Create credential") {
		t.Errorf("an empty list:\n%s", page)
	}
	path := "/new/credential?review=1&client=shop-eu&description=the+shop&scopes=claim:vouchers-*%0Aread:*&quota=1,000&expires=2027-01-31"
	form := url.Values{"plan": {s.planOf(path)}}
	w := s.post(path, form)
	shown := secretShown.FindStringSubmatch(w.Body.String())
	if w.Code != http.StatusOK || shown == nil {
		t.Fatalf("%d, and no secret:\n%s", w.Code, w.Body)
	}
	caller, err := s.svc.Verify(t.Context(), shown[1])
	if err != nil || caller.Client != "shop-eu" || len(caller.Scopes) != 2 || caller.Quota != 1000 {
		t.Errorf("the secret is good for %+v, %v", caller, err)
	}
	again := s.post(path, form)
	at := again.Header().Get("Location")
	if again.Code != http.StatusSeeOther || strings.Contains(again.Body.String(), shown[1]) {
		t.Fatalf("a second press: %d\n%s", again.Code, again.Body)
	}
	at, _, _ = strings.Cut(at, "?")
	if page := s.page(at); strings.Contains(page, shown[1]) || !strings.Contains(page, "claim:vouchers-*") || !strings.Contains(page, "2027-01-31") {
		t.Errorf("its page:\n%s", page)
	}

	path = at + "/edit?review=1&description=the+shop&scopes=claim:vouchers-*%0Aread:*&quota=1,000&expires=2027-01-31"
	if page := s.page(path); !strings.Contains(page, "Nothing is changed by this") {
		t.Errorf("a change of nothing:\n%s", page)
	}
	path = at + "/edit?review=1&description=&scopes=read:*"
	page := s.page(path)
	for _, want := range []string{"shop-eu", "was the shop", "was claim:vouchers-*  read:*", "was 1,000", "was 2027-01-31 00:00:00 UTC", "no bound", "never", "nothing"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of the change lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "Secret made") || strings.Contains(page, "<dt><bdi>Created") {
		t.Errorf("what is not changed stands on the page of the change:\n%s", page)
	}
	if w := s.post(path, url.Values{"plan": {s.planOf(path)}}); w.Code != http.StatusSeeOther {
		t.Fatalf("to change it: %d\n%s", w.Code, w.Body)
	}
	path = at + "/rotate?review=1&overlap=0"
	w = s.post(path, url.Values{"plan": {s.planOf(path)}})
	second := secretShown.FindStringSubmatch(w.Body.String())
	if second == nil || second[1] == shown[1] {
		t.Fatalf("to rotate it: %d\n%s", w.Code, w.Body)
	}
	if _, err := s.svc.Verify(t.Context(), shown[1]); err == nil {
		t.Error("the secret before works still")
	}
	path = at + "/revoke"
	if w := s.post(path, url.Values{"plan": {s.planOf(path)}, "typed": {"shop-eu"}, "reason": {"it has leaked"}}); w.Code != http.StatusSeeOther {
		t.Fatalf("to revoke it: %d\n%s", w.Code, w.Body)
	}
	if _, err := s.svc.Verify(t.Context(), second[1]); err == nil {
		t.Error("a revoked credential works still")
	}
	if page := s.page("/credentials"); !strings.Contains(page, "revoked") || !strings.Contains(page, `href="`+at+`"`) {
		t.Errorf("the list after it:\n%s", page)
	}
}

func TestCredentialsAreForAdministrators(t *testing.T) {
	s := newSystem(t, nil, viewer)
	if page := s.page("/credentials"); !strings.Contains(page, "Try again") || strings.Contains(page, "Create credential") {
		t.Errorf("for who may only look:\n%s", page)
	}
	admin := newSystem(t, nil, root)
	for query, want := range map[string]string{
		"client=A":                          "client",
		"client=a&scopes=steal:*":           "steal",
		"client=a":                          "scope",
		"client=a&scopes=read:*&quota=x":    "whole number",
		"client=a&scopes=read:*&expires=no": "time in UTC",
	} {
		page := admin.page("/new/credential?review=1&" + query)
		if strings.Contains(page, `name="plan"`) { // what only the service knows it says when it is asked
			w := admin.post("/new/credential?review=1&"+query, url.Values{"plan": {admin.planOf("/new/credential?review=1&" + query)}})
			page = w.Body.String()
			if w.Code != http.StatusBadRequest {
				t.Errorf("?%s: %d", query, w.Code)
			}
		}
		if !strings.Contains(page, want) {
			t.Errorf("?%s does not say %q:\n%s", query, want, page)
		}
	}
}

func TestAboutAndHelp(t *testing.T) {
	s := newSystem(t, nil, viewer)
	for path, want := range map[string]string{"/about": "Nobody signs in here", "/help": "<kbd>g p</kbd>"} {
		if page := s.page(path); !strings.Contains(page, want) {
			t.Errorf("%s does not say %q:\n%s", path, want, page)
		}
	}
	if w := s.do("GET", "/sessions/x/end"); w.Code != http.StatusForbidden {
		t.Errorf("to end a session: %d, want 403", w.Code)
	}
}
