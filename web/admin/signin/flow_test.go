package signin_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"

	"idpool/alloc"
	"idpool/web/admin"
	"idpool/web/admin/signin"
)

func TestSomebodySignsInAtTheIssuer(t *testing.T) {
	h := newHouse(t, nil)
	b := h.browser()
	const page = "/pools?sort=name&q=a%2Fb"
	to, err := url.Parse(b.must(b.get(page), http.StatusSeeOther))
	if err != nil || to.Path != "/signin" || to.Query().Get("to") != page {
		t.Fatalf("without a session the page leads to %s", to)
	}
	b.says(b.get(to.String()), http.StatusOK, "Sign in with 127.0.0.1")
	at, err := url.Parse(b.begin(page))
	if err != nil {
		t.Fatal(err)
	}
	asked := at.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": h.issuer.ClientID, "redirect_uri": h.url + "/signin/callback", "scope": "openid profile email groups", "code_challenge_method": "S256",
	} {
		if asked.Get(name) != want {
			t.Errorf("the issuer is asked for %s=%q, want %q", name, asked.Get(name), want)
		}
	}
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		if len(asked.Get(name)) < 20 {
			t.Errorf("%s is %q", name, asked.Get(name))
		}
	}
	done := b.get(b.authorized(at.String(), user("ann", alloc.RoleOperator)))
	if led := b.must(done, http.StatusSeeOther); led != page {
		t.Errorf("the sign-in leads to %s, want %s", led, page)
	}
	cookies := cookiesSet(done)
	set := cookies[sessionCookie]
	for _, attribute := range []string{"; Path=/", "; HttpOnly", "; Secure", "; SameSite=Lax"} {
		if !strings.Contains(set, attribute) {
			t.Errorf("the cookie %s lacks %s", set, attribute)
		}
	}
	if strings.Contains(set, "Domain") || strings.Contains(set, "Max-Age") || !strings.Contains(cookies[stateCookie], "Max-Age=0") {
		t.Errorf("cookies are set so: %v", cookies)
	}
	a := b.get("/")
	b.says(a, http.StatusOK, "ann@example.org · operator")
	records, _, err := h.svc.Trail(alloc.WithCaller(t.Context(), alloc.Caller{Client: "t", Scopes: alloc.AllScopes()}), alloc.TrailFilter{}, "", 10)
	if err != nil || len(records) != 1 || records[0].Action != "session.sign-in" || records[0].Role != "operator" || records[0].Address != "127.0.0.1" ||
		!strings.HasPrefix(string(records[0].Client), "user:ann@example.org-") || records[0].Request == "" {
		t.Errorf("the trail has %+v and %v", records, err)
	}
	if text := h.log.String() + a.body; strings.Contains(text, b.cookie(sessionCookie)) || strings.Contains(text, asked.Get("state")) {
		t.Error("a secret is in the log or on a page")
	}
}

func TestTheGreatestRoleCountsAndNoneIsRefused(t *testing.T) {
	h := newHouse(t, nil)
	for _, c := range []struct {
		groups []string
		want   alloc.Role
	}{
		{[]string{"staff", "other"}, alloc.RoleViewer},
		{[]string{"oncall", "staff"}, alloc.RoleOperator},
		{[]string{"idpool-admins", "oncall", "staff"}, alloc.RoleAdmin},
		{[]string{"Root", "staff "}, ""},
		{nil, ""},
	} {
		b := h.browser()
		a := b.get(b.authorized(b.begin("/"), &mockoidc.MockUser{Subject: "s", Groups: c.groups}))
		if c.want == "" {
			b.says(a, http.StatusForbidden, "None of your groups has a role here")
			if b.inside() || b.cookie(sessionCookie) != "" {
				t.Errorf("%v is let in", c.groups)
			}
			continue
		}
		b.must(a, http.StatusSeeOther)
		b.says(b.get("/"), http.StatusOK, "s · "+string(c.want))
	}
}

// What the issuer says at its userinfo endpoint alone counts too.
func TestRolesFromUserinfo(t *testing.T) {
	h := newHouse(t, func(c *admin.Config) {
		c.SignIn.Issuer.RoleClaim = "phone_number"
		c.SignIn.Issuer.Roles = map[alloc.Role][]string{alloc.RoleAdmin: {"1"}}
	})
	b := h.browser()
	b.signIn(hidden{&mockoidc.MockUser{Subject: "s", Phone: "1"}}, "/")
	b.says(b.get("/"), http.StatusOK, "s · admin")
}

func TestNothingButAnAnswerToThisVerySignInIsTaken(t *testing.T) {
	h := newHouse(t, nil)
	ann := user("ann", alloc.RoleAdmin)
	change := func(address, name, value string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set(name, value)
		if value == "" {
			q.Del(name)
		}
		u.RawQuery = q.Encode()
		return u.String()
	}
	const notBegun, notTaken, notTrusted = "This sign-in was not begun in this browser", "The issuer does not take this sign-in any more", "cannot be trusted"
	for name, c := range map[string]struct {
		answer func(b *browser) answer
		status int
		says   string
	}{
		"another state": {func(b *browser) answer { return b.get(change(b.authorized(b.begin("/"), ann), "state", "x")) }, 400, notBegun},
		"no state":      {func(b *browser) answer { return b.get(change(b.authorized(b.begin("/"), ann), "state", "")) }, 400, notBegun},
		"no cookie": {func(b *browser) answer {
			back := b.authorized(b.begin("/"), ann)
			b.setCookie(stateCookie, "")
			return b.get(back)
		}, 400, notBegun},
		"another browser's answer": {func(b *browser) answer {
			eve := h.browser()
			back := eve.authorized(eve.begin("/"), ann)
			b.begin("/")
			return b.get(back)
		}, 400, notBegun},
		"a changed cookie": {func(b *browser) answer {
			back := b.authorized(b.begin("/"), ann)
			c := b.cookie(stateCookie)
			b.setCookie(stateCookie, c[:len(c)-3]+"AAA")
			return b.get(back)
		}, 400, notBegun},
		"a cookie that was cut": {func(b *browser) answer {
			back := b.authorized(b.begin("/"), ann)
			b.setCookie(stateCookie, b.cookie(stateCookie)[:20])
			return b.get(back)
		}, 400, notBegun},
		"a cookie of eleven minutes ago": {func(b *browser) answer {
			back := b.authorized(b.begin("/"), ann)
			h.later(11 * time.Minute)
			return b.get(back)
		}, 400, notBegun},
		"a code that was used": {func(b *browser) answer {
			eve := h.browser()
			back := b.authorized(b.begin("/"), ann)
			eve.setCookie(stateCookie, b.cookie(stateCookie))
			b.must(b.get(back), http.StatusSeeOther)
			b.must(b.post("/signout", nil), http.StatusSeeOther)
			a := eve.get(back)
			if eve.inside() {
				t.Error("a code that was used lets in")
			}
			return a
		}, 400, notTaken},
		"an answer that comes twice": {func(b *browser) answer {
			back := b.authorized(b.begin("/"), ann)
			b.must(b.get(back), http.StatusSeeOther)
			b.must(b.post("/signout", nil), http.StatusSeeOther)
			return b.get(back)
		}, 400, notBegun},
		"another code": {func(b *browser) answer { return b.get(change(b.authorized(b.begin("/"), ann), "code", "x")) }, 400, notTaken},
		"the code of another sign-in": {func(b *browser) answer {
			eve := h.browser()
			stolen, err := url.Parse(eve.authorized(eve.begin("/"), ann))
			if err != nil {
				t.Fatal(err)
			}
			return b.get(change(b.authorized(b.begin("/"), ann), "code", stolen.Query().Get("code")))
		}, 400, notTaken},
		"no code": {func(b *browser) answer { return b.get(change(b.authorized(b.begin("/"), ann), "code", "")) }, 400, "sign in again"},
		"another issuer": {func(b *browser) answer {
			return b.get(change(b.authorized(b.begin("/"), ann), "iss", "https://evil.example"))
		}, 403, "Another issuer"},
		"a refusal": {func(b *browser) answer {
			return b.get(change(b.authorized(b.begin("/"), ann), "error", "access_denied"))
		}, 403, "did not let you in"},
		"an error": {func(b *browser) answer {
			return b.get(change(b.authorized(b.begin("/"), ann), "error", "server_error"))
		}, 503, "could not sign you in"},
		"another nonce":     {func(b *browser) answer { return b.get(b.authorized(change(b.begin("/"), "nonce", "x"), ann)) }, 403, notTrusted},
		"no nonce":          {func(b *browser) answer { return b.get(b.authorized(change(b.begin("/"), "nonce", ""), ann)) }, 403, notTrusted},
		"another challenge": {func(b *browser) answer { return b.get(b.authorized(change(b.begin("/"), "code_challenge", "x"), ann)) }, 400, notTaken},
		"a token for another client": {func(b *browser) answer {
			return b.get(b.authorized(b.begin("/"), liar{ann, func(c *mockoidc.IDTokenClaims) { c.Audience = []string{"other"} }}))
		}, 403, notTrusted},
		"a token for others too": {func(b *browser) answer {
			return b.get(b.authorized(b.begin("/"), liar{ann, func(c *mockoidc.IDTokenClaims) { c.Audience = append(c.Audience, "other") }}))
		}, 403, notTrusted},
		"a token of another issuer": {func(b *browser) answer {
			return b.get(b.authorized(b.begin("/"), liar{ann, func(c *mockoidc.IDTokenClaims) { c.Issuer = "https://evil.example" }}))
		}, 403, notTrusted},
		"a token that has expired": {func(b *browser) answer {
			return b.get(b.authorized(b.begin("/"), liar{ann, func(c *mockoidc.IDTokenClaims) { c.ExpiresAt.Time = h.now().Add(-time.Minute) }}))
		}, 403, notTrusted},
		"a token signed by another": {func(b *browser) answer {
			back := b.authorized(b.begin("/"), ann)
			h.spoil = func(body string) string {
				id := regexp.MustCompile(`"id_token":"[^"]+\.`).FindString(body)
				if id == "" { // it has refused
					return body
				}
				return strings.Replace(body, id, id+"AAAA", 1)
			}
			defer func() { h.spoil = nil }()
			return b.get(back)
		}, 403, notTrusted},
		"no token of who it is": {func(b *browser) answer {
			h.spoil = func(body string) string { return strings.Replace(body, "id_token", "other", 1) }
			defer func() { h.spoil = nil }()
			return b.get(b.authorized(b.begin("/"), ann))
		}, 403, notTrusted},
		"a token without a subject": {func(b *browser) answer {
			return b.get(b.authorized(b.begin("/"), liar{ann, func(c *mockoidc.IDTokenClaims) { c.Subject = "" }}))
		}, 400, "must name the person"},
	} {
		t.Run(name, func(t *testing.T) {
			h.later(time.Hour) // the limit of sign-ins is another test's
			b := h.browser()
			b.t = t
			b.says(c.answer(b), c.status, c.says)
			if b.inside() {
				t.Error("somebody is let in")
			}
		})
	}
}

func TestAnIssuerThatIsSilentIsSaidSo(t *testing.T) {
	h := newHouse(t, func(c *admin.Config) { c.SignIn.Issuer.URL = "http://127.0.0.1:1/nobody" })
	b := h.browser()
	b.says(b.get("/signin"), http.StatusOK, "Sign in with")
	for range 2 {
		a := b.get("/signin/go")
		b.says(a, http.StatusServiceUnavailable, "does not answer as it should")
		if a.Header.Get("Retry-After") == "" {
			t.Error("it does not say when to try again")
		}
	}
	if !strings.Contains(h.log.String(), "connection refused") {
		t.Errorf("the log does not say why: %s", h.log)
	}
}

func TestAWrongSecretIsForWhoeverRunsIt(t *testing.T) {
	h := newHouse(t, func(c *admin.Config) { c.SignIn.Issuer.ClientSecret = "wrong" })
	b := h.browser()
	b.says(b.get(b.authorized(b.begin("/"), user("ann", alloc.RoleAdmin))), http.StatusServiceUnavailable, "does not take the client ID and secret")
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	good := func() *signin.Config {
		return &signin.Config{BaseURL: "https://ids.example.com", Issuer: &signin.Issuer{
			URL: "https://login.example.com/x", ClientID: "c", RoleClaim: "groups", Roles: map[alloc.Role][]string{alloc.RoleAdmin: {"a"}},
		}}
	}
	svc := newHouse(t, nil).svc
	if _, err := admin.New(admin.Config{Service: svc, SignIn: good()}); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*signin.Config){
		"address of the dashboard": func(c *signin.Config) { c.BaseURL = "http://ids.example.com" },
		"not \"\"":                 func(c *signin.Config) { c.BaseURL = "" },
		"and a host":               func(c *signin.Config) { c.BaseURL = "https://ids.example.com/path" },
		"the issuer must be":       func(c *signin.Config) { c.Issuer.URL = "http://login.example.com" },
		"as it names itself":       func(c *signin.Config) { c.Issuer.URL = "login.example.com" },
		"client ID":                func(c *signin.Config) { c.Issuer.ClientID = "" },
		"name of the claim":        func(c *signin.Config) { c.Issuer.RoleClaim = "" },
		"no value":                 func(c *signin.Config) { c.Issuer.Roles = nil },
		"is empty":                 func(c *signin.Config) { c.Issuer.Roles[alloc.RoleViewer] = []string{""} },
		"no role":                  func(c *signin.Config) { c.Issuer.Roles["boss"] = []string{"b"} },
	} {
		c := good()
		change(c)
		if _, err := admin.New(admin.Config{Service: svc, SignIn: c}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
	c := good()
	c.BaseURL, c.Issuer.URL, c.Issuer.ClientID = "x", "x", ""
	if _, err := admin.New(admin.Config{Service: svc, SignIn: c}); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v, want all three faults", err)
	}
}

// Without an issuer nobody is let in, and every page says why.
func TestADashboardWithoutAnIssuerSaysSo(t *testing.T) {
	h := newHouse(t, func(c *admin.Config) { c.SignIn = &signin.Config{} })
	b := h.browser()
	for _, path := range []string{"/", "/pools", "/signin", "/signin/go", "/signin/callback?code=x&state=x"} {
		b.says(b.get(path), http.StatusNotFound, "The dashboard is not configured")
	}
	b.must(b.get("/signin/once?code=x"), http.StatusNotFound)
	b.must(b.post("/signin/new", nil), http.StatusNotFound)
	b.must(b.post("/signin/once", url.Values{"code": {"x"}}), http.StatusForbidden)
}

// hidden is a user of whose groups and numbers the ID token says nothing.
type hidden struct{ *mockoidc.MockUser }

func (h hidden) Claims(_ []string, base *mockoidc.IDTokenClaims) (jwt.Claims, error) {
	return base, nil
}
