package main

import (
	"errors"
	"fmt"
	"strings"

	"idpool/alloc"
	"idpool/web/admin/signin"
)

// The settings of the dashboard. Without an issuer nobody can sign in, and every page says so.
const (
	envURL      = "IDPOOL_DASHBOARD_URL"       // what browsers have in their address line, as in https://ids.example.com
	envReadOnly = "IDPOOL_DASHBOARD_READ_ONLY" // true for a dashboard that changes nothing

	envIssuer    = "IDPOOL_OIDC_ISSUER"
	envClient    = "IDPOOL_OIDC_CLIENT_ID"
	envSecret    = "IDPOOL_OIDC_CLIENT_SECRET" //nolint:gosec // the name of one
	envScopes    = "IDPOOL_OIDC_SCOPES"        // beside openid, separated by spaces; empty for profile and email
	envRoleClaim = "IDPOOL_OIDC_ROLE_CLAIM"
	envViewers   = "IDPOOL_OIDC_VIEWERS" // values of the claim, separated by commas
	envOperators = "IDPOOL_OIDC_OPERATORS"
	envAdmins    = "IDPOOL_OIDC_ADMINS"
)

// pageSettings is what the environment says of the dashboard.
type pageSettings struct {
	signIn   signin.Config
	readOnly bool
}

// readPages reads them, and reports all that is wrong together.
func readPages(lookup func(string) (string, bool)) (pageSettings, error) {
	get := func(name string) string {
		v, _ := lookup(name)
		return strings.TrimSpace(v)
	}
	s := pageSettings{readOnly: get(envReadOnly) == "true"}
	var faults []error
	if v := get(envReadOnly); v != "" && v != "true" && v != "false" {
		faults = append(faults, fmt.Errorf("%s must be true or false, not %q", envReadOnly, v))
	}
	if get(envIssuer) == "" {
		for _, name := range []string{envClient, envSecret, envViewers, envOperators, envAdmins} {
			if get(name) != "" {
				faults = append(faults, fmt.Errorf("%s is set, but %s, the issuer that people sign in at, is not", name, envIssuer))
			}
		}
		return s, errors.Join(faults...)
	}
	s.signIn = signin.Config{BaseURL: get(envURL), Issuer: &signin.Issuer{
		URL: get(envIssuer), ClientID: get(envClient), ClientSecret: get(envSecret), RoleClaim: get(envRoleClaim),
		Roles: map[alloc.Role][]string{
			alloc.RoleViewer: listed(get(envViewers)), alloc.RoleOperator: listed(get(envOperators)), alloc.RoleAdmin: listed(get(envAdmins)),
		},
	}}
	if scopes := strings.Fields(get(envScopes)); len(scopes) > 0 {
		s.signIn.Issuer.Scopes = scopes
	}
	if err := s.signIn.Check(); err != nil {
		faults = append(faults, fmt.Errorf("the sign-in of the dashboard, by %s, %s, %s, %s and %s, %s, %s: %w",
			envURL, envIssuer, envClient, envRoleClaim, envViewers, envOperators, envAdmins, err))
	}
	return s, errors.Join(faults...)
}

// listed are the values of a list with commas.
func listed(text string) (values []string) {
	if text == "" {
		return nil
	}
	for v := range strings.SplitSeq(text, ",") {
		values = append(values, strings.TrimSpace(v))
	}
	return values
}
