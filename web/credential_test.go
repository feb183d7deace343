package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
