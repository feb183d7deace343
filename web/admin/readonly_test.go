package admin

import (
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web/admin/signin"
)

// Where nothing can be changed, every page says so, and none has a form for a change.
func TestAReadOnlyDashboardOffersNoForms(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	s.serve(Config{ReadOnly: true, Facts: []templates.Fact{{Term: "Store", Value: "SQLite"}}}, root)
	for _, path := range []string{"/", "/new/pool", "/new/sequence", "/new/credential", "/pools/pool-000", "/pools/pool-000/edit", "/pools/pool-000/seed", "/pools/pool-000/claim", "/sequences/sequence-000/edit"} {
		page := s.page(path)
		if !strings.Contains(page, "Read-only:") {
			t.Errorf("%s has no banner:\n%s", path, page)
		}
		for _, no := range []string{"<textarea", `type="file"`, `name="review"`, "btn primary"} {
			if strings.Contains(page, no) {
				t.Errorf("%s offers %s", path, no)
			}
		}
	}
	page := s.page("/about")
	for _, want := range []string{"Environment", "Store", "SQLite", "Version", "go1.", "read-only"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page about this system lacks %q:\n%s", want, page)
		}
	}
}

func TestAboutSaysWhoHasARole(t *testing.T) {
	d := &dashboard{gate: &signin.Gate{Config: signin.Config{Issuer: &signin.Issuer{
		URL: "https://login.example.com", RoleClaim: "groups", Roles: map[alloc.Role][]string{alloc.RoleAdmin: {"ops", "sre"}},
	}}}}
	if got, want := d.roleGiven(alloc.RoleAdmin), "whose groups at https://login.example.com is ops or sre"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := d.roleGiven(alloc.RoleViewer); got != "nobody" {
		t.Errorf("%q, want nobody", got)
	}
}
