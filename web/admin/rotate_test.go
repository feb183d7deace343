package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// At most two secrets work: to rotate while the one before does cuts off who uses it, which nobody may do unaware.
func TestToRotateWhileTheSecretBeforeWorksIsADanger(t *testing.T) {
	s := newSystem(t, nil, root)
	path := "/new/credential?review=1&client=shop-eu&scopes=read:*"
	w := s.post(path, url.Values{"plan": {s.planOf(path)}})
	first := secretShown.FindStringSubmatch(w.Body.String())
	if first == nil || strings.Contains(w.Body.String(), "missed") {
		t.Fatalf("%d: no secret, or beside it that it was missed:\n%s", w.Code, w.Body)
	}
	s.post(path, url.Values{"plan": {s.planOf(path)}})
	list := s.page("/credentials")
	_, at, _ := strings.Cut(list, `href="/credentials/`)
	at, _, _ = strings.Cut(at, `"`)
	path = "/credentials/" + at + "/rotate?review=1&overlap=24"
	if page := s.page(path); strings.Contains(page, `name="typed"`) || !strings.Contains(page, "works for 24 hours more") {
		t.Errorf("a rotation where no secret before works:\n%s", page)
	}
	form := url.Values{"plan": {s.planOf(path)}}
	w = s.post(path, form)
	if !secretShown.MatchString(w.Body.String()) || strings.Contains(w.Body.String(), "missed") {
		t.Fatalf("to rotate it: %d: no secret, or beside it that it was missed:\n%s", w.Code, w.Body)
	}
	again := s.post(path, form).Header().Get("Location")
	page := s.page(again)
	if strings.Contains(page, "rotate again") || !strings.Contains(page, "cuts off") {
		t.Errorf("after a second press:\n%s", page)
	}

	page = s.page(path)
	for _, want := range []string{`class="confirm danger"`, `name="typed"`, "The secret before, which was replaced", "and would work until", "ends at once"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of a rotation while an overlap runs lacks %q:\n%s", want, page)
		}
	}
	if w := s.post(path, url.Values{"plan": {s.planOf(path)}}); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("without the typed name: %d", w.Code)
	}
	if _, err := s.svc.Verify(t.Context(), first[1]); err != nil {
		t.Errorf("the secret before works no longer: %v", err)
	}
	if w := s.post(path, url.Values{"plan": {s.planOf(path)}, "typed": {"shop-eu"}}); w.Code != http.StatusOK {
		t.Errorf("with it: %d\n%s", w.Code, w.Body)
	}
}
