//go:build !goonly

package functions_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/oauth2-proxy/mockoidc"
)

// administrator is somebody who has signed in with the role admin.
func (s *system) administrator(t *testing.T) *person {
	t.Helper()
	issuer, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = issuer.Shutdown() })
	p := &person{t: t, cookies: map[string]string{}, admin: s.run("admin", s.toAdmin,
		"IDPOOL_DASHBOARD_URL=https://ids.example.com", "IDPOOL_OIDC_ISSUER="+issuer.Issuer(), "IDPOOL_OIDC_CLIENT_ID="+issuer.ClientID,
		"IDPOOL_OIDC_CLIENT_SECRET="+issuer.ClientSecret, "IDPOOL_OIDC_SCOPES=profile groups", "IDPOOL_OIDC_ROLE_CLAIM=groups", "IDPOOL_OIDC_ADMINS=design")}
	p.send(303, "GET", p.follow(p.send(303, "GET", "/signin/go", "").Headers["Location"]), "")
	return p
}

var planOnPage = regexp.MustCompile(`name="plan" value="([^"]+)"`)

// confirm carries out the step of a page, and returns where that leads.
func (p *person) confirm(path string) (to string) {
	p.t.Helper()
	page := p.send(200, "GET", path, "").Body
	m := planOnPage.FindStringSubmatch(page)
	if m == nil {
		p.t.Fatalf("%s has no plan:\n%s", path, page)
	}
	form := url.Values{"plan": {html.UnescapeString(m[1])}, "reason": {"a test"}}
	return p.send(303, "POST", path, form.Encode()).Headers["Location"]
}

// atTheDashboard looks at what the pages of an administrator read, and takes the steps that the API has under other routes.
func (s *system) atTheDashboard(t *testing.T) {
	call(t, s.admin, 201, httpEvent("PUT", path("pools/by-hand"), `{}`))
	call(t, s.admin, 200, httpEvent("POST", path("pools/by-hand/seed"), `{"ids": ["A", "B", "C", "D"]}`))
	for _, client := range []string{"by-hand-1", "by-hand-2"} { // a list of several is read in parts of many
		call(t, s.admin, 201, httpEvent("POST", path("credentials"), `{"client": "`+client+`", "scopes": ["read:*"]}`))
	}
	p := s.administrator(t)
	for _, page := range []string{"/", "/pools", "/pools/by-hand", "/sequences", "/jobs", "/audit", "/credentials"} {
		p.send(200, "GET", page, "")
	}
	if page := p.send(200, "GET", "/about", "").Body; !strings.Contains(page, "Last seen") || strings.Contains(page, "Try again") {
		t.Errorf("the page about the system does not list who is signed in:\n%s", page)
	}
	for range 2 {
		if page := p.send(200, "GET", p.confirm("/pools/by-hand/claim"), "").Body; !strings.Contains(page, "Copy ID") {
			t.Errorf("the page does not show what was claimed:\n%s", page)
		}
	}
	if page := p.send(200, "GET", "/pools/by-hand", "").Body; !strings.Contains(page, "Recent claims") || strings.Count(page, "/ids?id=") != 2 {
		t.Errorf("the page of the pool does not show two recent claims:\n%s", page)
	}
}

func TestAnAdministratorWorksAtTheDashboard(t *testing.T) { startSystem(t).atTheDashboard(t) }
