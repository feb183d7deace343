package signin

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"idpool/alloc"
)

// Issuer says at which OpenID Connect issuer people sign in, and which of them have which role.
type Issuer struct {
	URL          string   // as it names itself, such as https://login.example.com/realms/staff
	ClientID     string   // of this dashboard at the issuer
	ClientSecret string   // "" for a public client, which PKCE alone protects
	Scopes       []string // beside openid; nil for profile and email

	// RoleClaim is the claim, of the ID token or else of the userinfo endpoint, whose values decide on the role: its name, or a path
	// of names with dots, as in realm_access.roles. Roles has the values of each; of several the greatest role counts.
	RoleClaim string
	Roles     map[alloc.Role][]string
}

// check reports all that is wrong.
func (i Issuer) check() error {
	var faults []error
	u, err := url.Parse(i.URL)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || !trustworthy(u) {
		faults = append(faults, fmt.Errorf("the issuer must be an https:// address as it names itself, as in https://login.example.com, not %q", i.URL))
	}
	if i.ClientID == "" {
		faults = append(faults, errors.New("the client ID of this dashboard at the issuer is missing"))
	}
	if i.RoleClaim == "" {
		faults = append(faults, errors.New("the name of the claim that says who has which role is missing"))
	}
	some := false
	for role, values := range i.Roles {
		if role.Check() != nil {
			faults = append(faults, fmt.Errorf("%q is no role", role))
		}
		some = some || len(values) > 0
		if slices.Contains(values, "") {
			faults = append(faults, fmt.Errorf("a value of the claim that makes somebody %s is empty", role))
		}
	}
	if !some {
		faults = append(faults, errors.New("no value of the role claim gives anybody a role: name one for viewer, operator or admin"))
	}
	return errors.Join(faults...)
}

// name is how people know the issuer.
func (i Issuer) name() string {
	u, err := url.Parse(i.URL)
	if err != nil {
		return i.URL
	}
	return u.Hostname()
}

func (i Issuer) scopes() []string {
	if i.Scopes == nil {
		return []string{"openid", "profile", "email"}
	}
	return append([]string{"openid"}, i.Scopes...)
}

// claims is what an issuer says of a person.
type claims map[string]any

// roles is the values of the role claim; ok is false where it is not there.
func (i Issuer) roles(c claims) (values []string, ok bool) {
	found, ok := c[i.RoleClaim] // a name may have dots itself, as those that are addresses have
	if !ok {
		found, ok = c.at(strings.Split(i.RoleClaim, "."))
	}
	if !ok {
		return nil, false
	}
	switch v := found.(type) {
	case string:
		return []string{v}, true
	case []any:
		for _, one := range v {
			if text, ok := one.(string); ok {
				values = append(values, text)
			}
		}
	}
	return values, true
}

// at is the claim at a path of names.
func (c claims) at(path []string) (any, bool) {
	var at any = map[string]any(c)
	for _, name := range path {
		object, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = object[name]; !ok {
			return nil, false
		}
	}
	return at, true
}

// role is the greatest that one of the values gives; "" for none.
func (i Issuer) role(values []string) (role alloc.Role) {
	for _, r := range alloc.Roles() { // the least first
		if slices.ContainsFunc(i.Roles[r], func(v string) bool { return slices.Contains(values, v) }) {
			role = r
		}
	}
	return role
}

// person is who the claims are of. A mail address counts only where the issuer has made sure of it: others anybody can call his own.
func (c claims) person(issuer, subject string) alloc.Person {
	p := alloc.Person{Issuer: issuer, Subject: subject, Login: subject, Name: c.text("name")}
	if user := c.text("preferred_username"); user != "" {
		p.Login = user
	}
	if verified, _ := c["email_verified"].(bool); verified && c.text("email") != "" {
		p.Login = c.text("email")
	}
	if p.Name == "" {
		p.Name = p.Login
	}
	return p
}

func (c claims) text(name string) string {
	text, _ := c[name].(string)
	return text
}
