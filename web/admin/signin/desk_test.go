package signin_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/web"
	"idpool/web/admin"
	"idpool/web/admin/signin"
)

// house is a dashboard behind HTTPS, with an issuer to sign in at.
type house struct {
	t      *testing.T
	url    string
	svc    *alloc.Service
	model  *alloctest.Model
	issuer *mockoidc.MockOIDC
	roots  http.RoundTripper
	log    *lockedBuffer
	served *httptest.Server

	mu    sync.Mutex
	ahead time.Duration            // of the dashboard's clock
	spoil func(body string) string // of the issuer's answers with a token; nil for not at all
	tells func(body string) string // of what the issuer says of itself, likewise
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (h *house) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Add(h.ahead)
}

// later moves the dashboard's clock.
func (h *house) later(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ahead += d
}

// newHouse opens a house. change may change its configuration first.
func newHouse(t *testing.T, change func(*admin.Config)) *house {
	t.Helper()
	h := &house{t: t, log: &lockedBuffer{}}
	issuer, err := mockoidc.NewServer(nil)
	if err != nil {
		t.Fatal(err)
	}
	h.issuer, issuer.AccessTTL = issuer, 1000*time.Hour
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err := errors.Join(err, issuer.AddMiddleware(h.spoiled), issuer.Start(l, nil)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = issuer.Shutdown() })
	h.model = alloctest.NewModel(h.now)
	if h.svc, err = alloc.NewService(alloc.Config{Store: h.model, Now: h.now}); err != nil {
		t.Fatal(err)
	}
	h.served = httptest.NewUnstartedServer(nil)
	h.url = "https://" + h.served.Listener.Addr().String()
	c := admin.Config{Service: h.svc, Now: h.now, SignIn: &signin.Config{BaseURL: h.url, Issuer: &signin.Issuer{
		URL: issuer.Issuer(), ClientID: issuer.ClientID, ClientSecret: issuer.ClientSecret, Scopes: []string{"profile", "email", "groups"},
		RoleClaim: "groups",
		Roles:     map[alloc.Role][]string{alloc.RoleViewer: {"staff"}, alloc.RoleOperator: {"oncall"}, alloc.RoleAdmin: {"idpool-admins", "root"}},
	}}}
	if change != nil {
		change(&c)
	}
	pages, err := admin.New(c)
	if err != nil {
		t.Fatal(err)
	}
	h.served.Config.Handler = web.Stack(pages, web.Options{Logger: slog.New(slog.NewTextHandler(h.log, nil))})
	h.served.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	h.served.StartTLS()
	t.Cleanup(h.served.Close)
	h.roots = h.served.Client().Transport
	return h
}

// spoiled spoils the answers with a token, and what the issuer says of itself.
func (h *house) spoiled(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		spoil := map[string]func(string) string{mockoidc.TokenEndpoint: h.spoil, mockoidc.DiscoveryEndpoint: h.tells}[r.URL.Path]
		if spoil == nil {
			next.ServeHTTP(w, r)
			return
		}
		kept := httptest.NewRecorder()
		next.ServeHTTP(kept, r)
		maps.Copy(w.Header(), kept.Header())
		w.WriteHeader(kept.Code)
		io.WriteString(w, spoil(kept.Body.String()))
	})
}

// browser is a browser that follows no redirect by itself.
type browser struct {
	t    *testing.T
	h    *house
	jar  *cookiejar.Jar
	http *http.Client
}

func (h *house) browser() *browser {
	h.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	b := &browser{t: h.t, h: h, jar: jar}
	b.http = &http.Client{Transport: h.roots, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return b
}

// answer is what a browser was answered.
type answer struct {
	*http.Response
	body string
}

func (b *browser) send(method, address string, form url.Values, headers ...string) answer {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.h.url + address
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{resp, string(text)}
}

func (b *browser) get(address string, headers ...string) answer {
	b.t.Helper()
	return b.send(http.MethodGet, address, nil, headers...)
}

func (b *browser) post(address string, form url.Values, headers ...string) answer {
	b.t.Helper()
	return b.send(http.MethodPost, address, form, headers...)
}

// must holds the status, and returns where the answer leads.
func (b *browser) must(a answer, status int) string {
	b.t.Helper()
	if a.StatusCode != status {
		b.t.Fatalf("%s %s: %d, want %d: %.600s", a.Request.Method, a.Request.URL, a.StatusCode, status, a.body)
	}
	return a.Header.Get("Location")
}

// says holds that the answer is a page of that status which says so.
func (b *browser) says(a answer, status int, words string) {
	b.t.Helper()
	b.must(a, status)
	if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") || !strings.Contains(a.body, words) {
		b.t.Errorf("%s: the page does not say %q: %s %.1500s", a.Request.URL, words, a.Header.Get("Content-Type"), a.body)
	}
}

var groupsOf = map[alloc.Role][]string{alloc.RoleViewer: {"staff"}, alloc.RoleOperator: {"staff", "oncall"}, alloc.RoleAdmin: {"root", "staff"}}

// user is somebody with the groups of the role.
func user(name string, role alloc.Role) *mockoidc.MockUser {
	return &mockoidc.MockUser{Subject: "sub-" + name, Email: name + "@example.org", EmailVerified: true, Groups: groupsOf[role]}
}

// begin goes to the issuer, and returns where that is.
func (b *browser) begin(to string) string {
	b.t.Helper()
	return b.must(b.get("/signin/go?"+url.Values{"to": {to}}.Encode()), http.StatusSeeOther)
}

// authorized is where the issuer sends the browser back to, for somebody who signs in there.
func (b *browser) authorized(at string, who mockoidc.User) string {
	b.t.Helper()
	b.h.issuer.QueueUser(who)
	return b.must(b.get(at), http.StatusFound)
}

// signIn goes the whole way, and returns where it leads to.
func (b *browser) signIn(who mockoidc.User, to string) string {
	b.t.Helper()
	return b.must(b.get(b.authorized(b.begin(to), who)), http.StatusSeeOther)
}

const (
	sessionCookie = "__Host-idpool"
	stateCookie   = "__Host-idpool-signin"
)

func (b *browser) cookie(name string) string {
	u, _ := url.Parse(b.h.url)
	for _, c := range b.jar.Cookies(u) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

func (b *browser) setCookie(name, value string) {
	u, _ := url.Parse(b.h.url)
	b.jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/", Secure: true, MaxAge: cmp.Or(len(value), -1)}})
}

// inside reports whether the browser sees the first page.
func (b *browser) inside() bool {
	b.t.Helper()
	a := b.get("/")
	if a.StatusCode == http.StatusSeeOther {
		return false
	}
	b.says(a, http.StatusOK, "Overview")
	return true
}

// liar is a user of whom the issuer says what edit makes of it.
type liar struct {
	*mockoidc.MockUser
	edit func(*mockoidc.IDTokenClaims)
}

func (l liar) Claims(scopes []string, base *mockoidc.IDTokenClaims) (jwt.Claims, error) {
	l.edit(base)
	return l.MockUser.Claims(scopes, base)
}

var setCookieName = regexp.MustCompile(`^([^=]+)=`)

// cookiesSet are the cookies that an answer sets, whole, by their names.
func cookiesSet(a answer) map[string]string {
	set := map[string]string{}
	for _, line := range a.Header.Values("Set-Cookie") {
		set[setCookieName.FindStringSubmatch(line)[1]] = line
	}
	return set
}
