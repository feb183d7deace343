package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

func TestTokenHashIsWhatSha256sumSays(t *testing.T) {
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if got := TokenHash("abc"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHashesThatNoTokenHas(t *testing.T) {
	for name, hash := range map[string]string{
		"none": "", "a token instead": "a-secret-token", "too short": TokenHash("x")[1:], "too long": TokenHash("x") + "00",
		"not hexadecimal": strings.Repeat("g", 64), "of an empty token": TokenHash(""),
		"of an empty token, in capitals": strings.ToUpper(TokenHash("")), "with a line end": TokenHash("x") + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			verify, err := NewTokenVerifier(hash)
			if err == nil || verify != nil {
				t.Fatalf("accepted %q", hash)
			}
			if hash != "" && strings.Contains(err.Error(), hash) {
				t.Errorf("the error shows what was given: %v", err)
			}
		})
	}
}

// asked runs one request with the Authorization headers through the middleware.
func asked(t *testing.T, guard func(Verifier) func(http.Handler) http.Handler, authorization ...string) (w *httptest.ResponseRecorder, caller alloc.Caller, reached bool) {
	t.Helper()
	verify, err := NewTokenVerifier(strings.ToUpper(TokenHash("right")))
	if err != nil {
		t.Fatal(err)
	}
	h := guard(verify)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached = true
		caller, _ = alloc.CallerFrom(r.Context())
	}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header["Authorization"] = authorization
	if len(authorization) == 0 {
		r.Header.Del("Authorization")
	}
	r.RemoteAddr = "[2001:db8::1]:4711"
	w, _ = served(t, h, r)
	return w, caller, reached
}

func TestBearer(t *testing.T) {
	tests := map[string]struct {
		authorization []string
		reached       bool
		client        alloc.ClientID
	}{
		"the right token lets in":                    {[]string{"Bearer right"}, true, SoleClient},
		"the scheme has no case":                     {[]string{"bEARER right"}, true, SoleClient},
		"nobody goes on as nobody":                   {nil, true, ""},
		"a wrong token does not":                     {[]string{"Bearer wrong"}, false, ""},
		"an empty token does not":                    {[]string{"Bearer "}, false, ""},
		"a scheme alone does not":                    {[]string{"Bearer"}, false, ""},
		"a token alone does not":                     {[]string{"right"}, false, ""},
		"an empty header does not":                   {[]string{""}, false, ""},
		"another scheme does not":                    {[]string{"Basic OnJpZ2h0"}, false, ""},
		"the hash in place of the token does not":    {[]string{"Bearer " + TokenHash("right")}, false, ""},
		"two headers do not, even if one were right": {[]string{"Bearer right", "Bearer wrong"}, false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, caller, reached := asked(t, Bearer, tt.authorization...)
			if reached != tt.reached || caller.Client != tt.client {
				t.Fatalf("reached %t as %q, want %t as %q", reached, caller.Client, tt.reached, tt.client)
			}
			if !tt.reached && (w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != `Bearer error="invalid_token"`) {
				t.Errorf("got %d, WWW-Authenticate %q", w.Code, w.Header().Get("WWW-Authenticate"))
			}
			if tt.client == "" {
				return
			}
			want := alloc.Caller{Client: SoleClient, Scopes: alloc.AllScopes(), Request: w.Header().Get("X-Request-Id"), Address: "2001:db8::1"}
			if diff := cmp.Diff(want, caller); diff != "" {
				t.Errorf("caller (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBasicOrBearer(t *testing.T) {
	tests := map[string]struct {
		authorization []string
		reached       bool
	}{
		"a bearer token lets in":          {[]string{"Bearer right"}, true},
		"the token as password lets in":   {[]string{"Basic YW55Ym9keTpyaWdodA=="}, true}, // anybody:right
		"with no user name too":           {[]string{"Basic OnJpZ2h0"}, true},             // :right
		"the token as user name does not": {[]string{"Basic cmlnaHQ6"}, false},            // right:
		"a wrong password does not":       {[]string{"Basic YTpi"}, false},
		"what is no base64 does not":      {[]string{"Basic %%%"}, false},
		"nobody does not":                 {nil, false},
		"two headers do not":              {[]string{"Basic OnJpZ2h0", "Basic OnJpZ2h0"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, caller, reached := asked(t, BasicOrBearer, tt.authorization...)
			if reached != tt.reached || reached != (caller.Client == SoleClient) {
				t.Fatalf("reached %t as %q, want %t", reached, caller.Client, tt.reached)
			}
			if tt.reached {
				return
			}
			want := []string{`Basic realm="idpool", charset="UTF-8"`, "Bearer"}
			if diff := cmp.Diff(want, w.Header().Values("WWW-Authenticate")); w.Code != http.StatusUnauthorized || diff != "" {
				t.Errorf("got %d, challenges (-want +got):\n%s", w.Code, diff)
			}
		})
	}
}

func TestAsLetsInAsTheCaller(t *testing.T) {
	guard := func(Verifier) func(http.Handler) http.Handler { return As(alloc.Caller{Client: "page"}) }
	if _, caller, reached := asked(t, guard); !reached || caller.Client != "page" || caller.Address != "2001:db8::1" {
		t.Errorf("reached %t as %+v", reached, caller)
	}
}

// A10: API Gateway gives a bare address.
func TestRemoteAddress(t *testing.T) {
	for given, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "192.0.2.1": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::1", "2001:db8::1": "2001:db8::1", "": "", "@": "@",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = given
		r.Header.Set("X-Forwarded-For", "198.51.100.7")
		if got := RemoteAddress(r); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

// A verifier that cannot tell is no refusal, and nobody is let in past it.
func TestAVerifierThatCannotTell(t *testing.T) {
	down := alloc.Errorf(alloc.CodeUnavailable, "the store did not answer; repeat the request")
	verify := func(context.Context, string) (alloc.Caller, error) { return alloc.Caller{}, down }
	for name, guard := range map[string]func(Verifier) func(http.Handler) http.Handler{"bearer": Bearer, "basic": BasicOrBearer} {
		w, _, reached := asked(t, func(Verifier) func(http.Handler) http.Handler { return guard(verify) }, "Bearer right")
		if reached || w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || w.Header().Get("WWW-Authenticate") != "" {
			t.Errorf("%s: reached %t, %d %v", name, reached, w.Code, w.Header())
		}
	}
}

func TestFirstOf(t *testing.T) {
	knows := func(token string, client alloc.ClientID) Verifier {
		return func(_ context.Context, got string) (alloc.Caller, error) {
			if got == token {
				return alloc.Caller{Client: client}, nil
			}
			return alloc.Caller{}, unknownCredential()
		}
	}
	fails := func(context.Context, string) (alloc.Caller, error) {
		return alloc.Caller{}, alloc.Errorf(alloc.CodeThrottled, "slower")
	}
	tests := map[string]struct {
		verifiers []Verifier
		client    alloc.ClientID
		code      alloc.Code
	}{
		"the first that knows it":              {[]Verifier{knows("a", "first"), knows("a", "second")}, "first", ""},
		"a later one":                          {[]Verifier{knows("b", "first"), knows("a", "second")}, "second", ""},
		"what comes after is not asked":        {[]Verifier{knows("a", "first"), fails}, "first", ""},
		"one that cannot tell ends it":         {[]Verifier{fails, knows("a", "second")}, "", alloc.CodeThrottled},
		"nobody knows it":                      {[]Verifier{knows("b", "first"), knows("c", "second")}, "", alloc.CodeUnauthenticated},
		"there is nobody to ask, so nobody is": {nil, "", alloc.CodeUnauthenticated},
	}
	revoked := alloc.Errorf(alloc.CodeUnauthenticated, "this credential was revoked")
	says := func(context.Context, string) (alloc.Caller, error) { return alloc.Caller{}, revoked }
	if _, err := FirstOf(knows("b", "first"), says)(t.Context(), "a"); !errors.Is(err, revoked) {
		t.Errorf("what the last one says is %v", err)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			caller, err := FirstOf(tt.verifiers...)(t.Context(), "a")
			if caller.Client != tt.client || alloc.CodeOf(err) != tt.code {
				t.Errorf("got %q, %v; want %q, %q", caller.Client, err, tt.client, tt.code)
			}
		})
	}
}

// What was verified a while ago, by an authorizer or a process that remembers it, may have ended since.
func TestACredentialThatHasEndedSinceItWasVerified(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		expires time.Time
		reached bool
	}{
		"never":       {time.Time{}, true},
		"in a second": {now.Add(time.Second), true},
		"just now":    {now, false},
		"long ago":    {now.Add(-time.Hour), false},
	} {
		caller := alloc.Caller{Client: "shop", Credential: "aaaabbbbcccc", Expires: tt.expires}
		verify := func(context.Context, string) (alloc.Caller, error) { return caller, nil }
		authorized := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				Authorized(next).ServeHTTP(w, r.WithContext(alloc.WithCaller(r.Context(), caller)))
			})
		}
		for kind, guard := range map[string]func(http.Handler) http.Handler{
			"bearer": Bearer(verify), "basic": BasicOrBearer(verify), "authorizer": authorized,
		} {
			reached := false
			h := guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				c, ok := alloc.CallerFrom(r.Context())
				reached = ok && c.Client == "shop" && c.Request != "" && c.Address == "192.0.2.1"
			}))
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/pools", nil)
			r.Header.Set("Authorization", "Bearer x")
			r.RemoteAddr = "192.0.2.1"
			w := httptest.NewRecorder()
			Stack(h, Options{Now: func() time.Time { return now }}).ServeHTTP(w, r)
			if reached != tt.reached || !reached && (w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") == "") {
				t.Errorf("expires %s, %s: reached %t, want %t: %d %v", name, kind, reached, tt.reached, w.Code, w.Header())
			}
		}
	}
}

// Without an authorizer's caller a request goes on as nobody, whatever its header says: it was not verified here.
func TestAuthorizedBelievesNoHeader(t *testing.T) {
	guard := func(Verifier) func(http.Handler) http.Handler { return Authorized }
	if _, caller, reached := asked(t, guard, "Bearer right"); !reached || caller.Client != "" {
		t.Errorf("reached %t as %q", reached, caller.Client)
	}
}

// What is open to everybody asks no verifier.
func TestNoCredentialIsLookedAtForWhatIsOpen(t *testing.T) {
	verify := func(context.Context, string) (alloc.Caller, error) {
		t.Error("the verifier was asked")
		return alloc.Caller{}, unknownCredential()
	}
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json"} {
		reached := false
		h := Bearer(verify)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer wrong")
		h.ServeHTTP(httptest.NewRecorder(), r)
		if !reached {
			t.Errorf("%s was not reached", path)
		}
	}
}
