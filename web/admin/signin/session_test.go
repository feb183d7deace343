package signin_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/web"
	"idpool/web/admin"
	"idpool/web/admin/signin"
	"idpool/web/static"
)

func root(t *testing.T) alloc.Caller {
	t.Helper()
	return alloc.Caller{Client: "root", Scopes: alloc.AllScopes()}
}

// A secret that somebody else has put into the browser is not the one that is signed in, and works no longer.
func TestFixation(t *testing.T) {
	h := newHouse(t, nil)
	eve, ann := h.browser(), h.browser()
	eve.signIn(user("eve", alloc.RoleViewer), "/")
	planted := eve.cookie(sessionCookie)
	for _, value := range []string{planted, strings.Repeat("A", 43), "x"} {
		h.later(time.Minute)
		ann.setCookie(sessionCookie, value)
		ann.signIn(user("ann", alloc.RoleAdmin), "/")
		if got := ann.cookie(sessionCookie); got == value || got == "" {
			t.Errorf("after the sign-in the secret is %q, that of before", got)
		}
		probe := h.browser()
		probe.setCookie(sessionCookie, value)
		if probe.inside() {
			t.Errorf("%q, which was there before the sign-in, works", value)
		}
	}
	if eve.inside() || !ann.inside() {
		t.Error("the session that was there before works, or the new one does not")
	}
}

func TestASessionEndsByItself(t *testing.T) {
	h := newHouse(t, nil)
	idle, busy := h.browser(), h.browser()
	idle.signIn(user("ann", alloc.RoleViewer), "/")
	busy.signIn(user("bob", alloc.RoleViewer), "/")
	end := h.now().Add(12 * time.Hour)
	for range 2 {
		h.later(20 * time.Minute)
		if !busy.inside() {
			t.Fatal("a session in use has ended")
		}
	}
	if idle.inside() {
		t.Error("40 minutes without use it works")
	}
	for h.now().Add(20 * time.Minute).Before(end) {
		h.later(20 * time.Minute)
		if !busy.inside() {
			t.Fatalf("a session in use has ended %s before its end", end.Sub(h.now()))
		}
	}
	h.later(20 * time.Minute)
	if busy.inside() {
		t.Error("after twelve hours it works")
	}
}

func TestARevocationHoldsAtOnce(t *testing.T) {
	h := newHouse(t, nil)
	one, other := h.browser(), h.browser()
	one.signIn(user("ann", alloc.RoleViewer), "/")
	other.signIn(user("ann", alloc.RoleViewer), "/")
	if !one.inside() || !other.inside() {
		t.Fatal("they are not in")
	}
	ctx := alloc.WithCaller(t.Context(), root(t))
	sessions, _, err := h.svc.Sessions(ctx, "", 10)
	if err != nil || len(sessions) != 2 {
		t.Fatalf("%d sessions and %v", len(sessions), err)
	}
	if _, err := h.svc.EndSession(ctx, sessions[0].ID); err != nil {
		t.Fatal(err)
	}
	if one.inside() == other.inside() {
		t.Error("the one that was ended works, or the other does not")
	}
	if _, err := h.svc.EndSessions(ctx, sessions[0].Client); err != nil {
		t.Fatal(err)
	}
	if one.inside() || other.inside() {
		t.Error("one works after all were ended")
	}
}

// A role that changes at the issuer is another at the next sign-in; the service decides, whatever a page shows.
func TestTheRoleIsThatOfTheSignIn(t *testing.T) {
	h := newHouse(t, nil)
	b := h.browser()
	b.signIn(user("ann", alloc.RoleViewer), "/")
	b.says(b.get("/"), http.StatusOK, "· viewer")
	b.signIn(user("ann", alloc.RoleAdmin), "/")
	b.says(b.get("/"), http.StatusOK, "· admin")
}

func TestWhatIsNoPageIsNotRedirected(t *testing.T) {
	h := newHouse(t, nil)
	b := h.browser()
	b.says(b.get("/", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"), http.StatusUnauthorized, "You are not signed in")
	b.says(b.post("/pools/p/pause", url.Values{"plan": {"x"}}), http.StatusUnauthorized, "You are not signed in")
	b.must(b.post("/pools/p/pause", url.Values{"plan": {"x"}}, "Sec-Fetch-Mode", "cors"), http.StatusUnauthorized)
	b.must(b.get("/", "Sec-Fetch-Mode", "navigate"), http.StatusSeeOther)
	b.must(b.get(static.Address(static.Stylesheet)), http.StatusOK)
}

// Who comes back after the session has ended is told so at the sign-in, and comes back to where he was, also from a form that was sent: that is not done.
func TestWhoseSessionHasEndedComesBack(t *testing.T) {
	h := newHouse(t, nil)
	if _, _, err := h.svc.CreatePool(alloc.WithCaller(t.Context(), root(t)), "p", alloc.PoolConfig{}); err != nil {
		t.Fatal(err)
	}
	const words, page = "Your session has ended", "/pools?q=a%2Bb&sort=name"
	b := h.browser()
	at := b.must(b.get(page), http.StatusSeeOther)
	if a := b.get(at); strings.Contains(a.body, words) {
		t.Error("who was not signed in before is told of a session")
	}
	b.signIn(user("ann", alloc.RoleAdmin), "/")
	h.later(time.Hour)
	for _, came := range []struct {
		a  answer
		to string
	}{
		{b.get(page, "Sec-Fetch-Mode", "navigate"), page},
		{b.post("/pools/p/pause?review=1", url.Values{"plan": {"x"}}, "Sec-Fetch-Mode", "navigate"), "/pools/p/pause?review=1"},
	} {
		a := b.get(b.must(came.a, http.StatusSeeOther))
		b.says(a, http.StatusOK, words)
		m := regexp.MustCompile(`href="(/signin/go[^"]+)"`).FindStringSubmatch(a.body)
		if m == nil {
			t.Fatalf("it leads nowhere:\n%s", a.body)
		}
		back := b.must(b.get(b.authorized(b.must(b.get(html.UnescapeString(m[1])), http.StatusSeeOther), user("ann", alloc.RoleAdmin))), http.StatusSeeOther)
		if back != came.to {
			t.Errorf("it leads back to %s, want %s", back, came.to)
		}
		h.later(time.Hour)
	}
	if a := b.get("/signin?ended=1&to=//evil.example/"); strings.Contains(a.body, "evil") {
		t.Errorf("the sign-in leads away:\n%s", a.body)
	}
}

func TestOpenRedirects(t *testing.T) {
	h := newHouse(t, nil)
	for i, to := range []string{
		"//evil.example", "///evil.example", `/\evil.example`, `\\evil.example`, "https://evil.example", "http:evil.example", "https:/evil.example", "javascript:alert(1)",
		"/%2fevil.example", "/%2f%2fevil.example", "/%5cevil.example", "/%5C%5Cevil.example", "/\t/evil.example", "/\n/evil.example", "\t//evil.example", "/%09/evil.example",
		"/%0d%0aLocation:%20https://evil.example", "/\r\nLocation: https://evil.example", "/\x00", "/..//evil.example", "/pools/..//evil.example", "/./", "evil.example", "@evil.example",
		"/@evil.example/..//x", "/\u2215evil.example", "/%zz", "", " /", "/ ", "?to=x", "#x", "/" + strings.Repeat("a", 3000), "/signin", "/signin/go", "/signout", "//evil.example/%2f..",
	} {
		if i%5 == 0 {
			h.later(10 * time.Minute)
		}
		b := h.browser()
		if got := b.signIn(user("ann", alloc.RoleViewer), to); got != "/" {
			t.Errorf("%q leads to %q, want /", to, got)
		}
	}
	for _, to := range []string{"/", "/pools", "/pools/a-b.c_d?q=%2F%2Fevil.example&to=https://x", "/pools?done=paused", "/@evil.example"} {
		h.later(10 * time.Minute)
		if got := h.browser().signIn(user("ann", alloc.RoleViewer), to); got != to {
			t.Errorf("%q leads to %q, want it", to, got)
		}
	}
}

// FuzzLocalPath is in the package itself: see returnto_test.go.

func TestTooManySignIns(t *testing.T) {
	h := newHouse(t, nil)
	b := h.browser()
	var last answer
	for range 25 {
		last = b.get("/signin/callback?code=x&state=x")
	}
	b.says(last, http.StatusTooManyRequests, "too many sign-ins")
	if last.Header.Get("Retry-After") == "" {
		t.Error("it does not say when to try again")
	}
	b.must(b.get("/signin/go"), http.StatusTooManyRequests)
	b.must(b.get("/signin"), http.StatusOK)
	h.later(5 * time.Minute)
	b.signIn(user("ann", alloc.RoleViewer), "/")
	for range 30 {
		b.get("/signin/callback?code=x&state=x")
	}
	if !b.inside() {
		t.Error("whoever is signed in is kept out with the others")
	}
	b.must(b.post("/signout", nil), http.StatusSeeOther)
}

func TestHeaders(t *testing.T) {
	h := newHouse(t, nil)
	b := h.browser()
	b.signIn(user("ann", alloc.RoleViewer), "/")
	for _, path := range []string{"/", "/signin", "/signout", "/nothing", "/signin/callback"} {
		a := b.get(path)
		for name, want := range map[string]string{
			"Content-Security-Policy":   web.ContentSecurityPolicy,
			"Strict-Transport-Security": "max-age=31536000",
			"X-Content-Type-Options":    "nosniff",
			"X-Frame-Options":           "DENY",
			"Referrer-Policy":           "same-origin",
			"Cache-Control":             "no-store",
		} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(web.ContentSecurityPolicy, part) {
			t.Errorf("the policy lacks %s", part)
		}
	}
}

func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	h := newHouse(t, nil)
	b := h.browser()
	b.signIn(user("ann", alloc.RoleAdmin), "/")
	for _, path := range []string{"/signout", "/signin/once", "/signin/new", "/pools/p/pause"} {
		for _, headers := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "", "Origin", "https://evil.example"}, {"Sec-Fetch-Site", "", "Origin", "null"},
		} {
			b.says(b.post(path, nil, headers...), http.StatusForbidden, "a page of another site")
		}
	}
	if !b.inside() {
		t.Error("a form of another site has ended the session")
	}
}

func TestReadOnlyRefusesAllButTheSignIn(t *testing.T) {
	h := newHouse(t, func(c *admin.Config) { c.ReadOnly = true })
	if _, _, err := h.svc.CreatePool(alloc.WithCaller(t.Context(), root(t)), "p", alloc.PoolConfig{}); err != nil {
		t.Fatal(err)
	}
	b := h.browser()
	b.signIn(user("ann", alloc.RoleAdmin), "/")
	b.says(b.post("/pools/p/pause", url.Values{"plan": {"x"}}), http.StatusForbidden, "read-only")
	b.must(b.post("/signout", nil), http.StatusSeeOther)
	b.says(b.get("/signout"), http.StatusOK, "You are signed out")
}

// The address works once, for five minutes, until another is printed.
func TestAnAddressOfOneUse(t *testing.T) {
	var printed []string
	var once *signin.Once
	h := newHouse(t, func(c *admin.Config) {
		var err error
		if once, err = signin.NewOnce(c.Now, func(path string) { printed = append(printed, path) }); err != nil {
			t.Fatal(err)
		}
		c.SignIn = &signin.Config{BaseURL: c.SignIn.BaseURL, Once: once}
	})
	once.Print("")
	b := h.browser()
	b.says(b.get(b.must(b.get("/"), http.StatusSeeOther)), http.StatusOK, "Print a new address")
	use := func(b *browser, path string) answer {
		u, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		b.says(b.get(path), http.StatusOK, "Sign in as administrator")
		b.must(b.send(http.MethodHead, path, nil), http.StatusOK)
		return b.post(u.Path, u.Query())
	}
	b.must(b.post("/signin/once", url.Values{"code": {"wrong"}}), http.StatusForbidden)
	if to := b.must(use(b, printed[0]), http.StatusSeeOther); to != "/" {
		t.Errorf("it leads to %s", to)
	}
	b.says(b.get("/"), http.StatusOK, "Whoever has the terminal · admin")
	b.says(use(h.browser(), printed[0]), http.StatusForbidden, "was used before")

	if to := b.must(b.post("/signin/new", nil), http.StatusSeeOther); strings.Contains(to, "code") {
		t.Errorf("whoever asks is told the address: %s", to)
	}
	b.must(b.post("/signin/new", nil), http.StatusSeeOther)
	if len(printed) != 3 || printed[1] == printed[2] {
		t.Fatalf("printed are %v", printed)
	}
	b.must(use(h.browser(), printed[1]), http.StatusForbidden)
	h.later(5 * time.Minute)
	b.must(use(h.browser(), printed[2]), http.StatusForbidden)
	for to, want := range map[string]string{"/pools?q=a%2Bb": "/pools?q=a%2Bb", "//evil.example": "/", "/signout": "/"} { // whose session has ended comes back
		h.later(time.Minute)
		again := b.must(b.post("/signin/new", url.Values{"to": {to}}), http.StatusSeeOther)
		if strings.Contains(again, "evil") || strings.Contains(printed[len(printed)-1], "evil") {
			t.Errorf("%s goes on as %s, %s", to, again, printed[len(printed)-1])
		}
		if got := b.must(use(b, printed[len(printed)-1]), http.StatusSeeOther); got != want {
			t.Errorf("who was at %s comes back to %s, want %s", to, got, want)
		}
	}
	for _, path := range printed {
		if _, code, _ := strings.Cut(path, "code="); code == "" || strings.Contains(h.log.String(), code) {
			t.Errorf("the log has the code of %s, or there is none", path)
		}
	}
}
