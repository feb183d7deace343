package main

import (
	"strings"
	"testing"

	"idpool/alloc"
)

func TestSettingsOfTheDashboard(t *testing.T) {
	whole := map[string]string{
		envURL: "https://ids.example.com", envIssuer: "https://login.example.com", envClient: "idpool", envSecret: "hush", envScopes: "profile  groups",
		envRoleClaim: "groups", envViewers: "staff, all", envAdmins: "root", envReadOnly: "true",
	}
	read := func(changed map[string]string) (pageSettings, error) {
		return readPages(func(name string) (string, bool) {
			if v, ok := changed[name]; ok {
				return v, true
			}
			v, ok := whole[name]
			return v, ok
		})
	}
	s, err := read(nil)
	if err != nil || !s.readOnly || s.signIn.BaseURL != whole[envURL] || s.signIn.Issuer.ClientSecret != "hush" ||
		strings.Join(s.signIn.Issuer.Scopes, " ") != "profile groups" || strings.Join(s.signIn.Issuer.Roles[alloc.RoleViewer], "|") != "staff|all" {
		t.Errorf("got %+v and %v", s, err)
	}
	none, err := readPages(func(string) (string, bool) { return "", false })
	if err != nil || none.signIn.Issuer != nil || none.readOnly {
		t.Errorf("without settings: %+v and %v", none, err)
	}
	_, err = read(map[string]string{envReadOnly: "yes", envIssuer: "http://login.example.com", envURL: "", envClient: "", envRoleClaim: "", envViewers: "a,,b", envAdmins: ""})
	for _, want := range []string{envReadOnly, envURL, envIssuer, "the issuer must be", "client ID", "claim", "is empty", "address of the dashboard"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q too", err, want)
		}
	}
	if strings.Contains(err.Error(), "hush") {
		t.Errorf("the secret is shown: %v", err)
	}
	if _, err := read(map[string]string{envIssuer: ""}); err == nil || !strings.Contains(err.Error(), envIssuer) {
		t.Errorf("an issuer that was forgotten: %v", err)
	}
}
