package web

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"idpool/alloc"
)

// Verifier says whose token it is, or false for a token that is not known. It takes the same time for every token.
type Verifier func(token string) (alloc.Caller, bool)

// SoleClient is the client of the one credential that NewTokenVerifier knows.
const SoleClient alloc.ClientID = "default"

// TokenHash is the form in which a token is configured and compared: its SHA-256 in hexadecimal.
func TokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// NewTokenVerifier returns a Verifier of the one token that has the hash; it has every scope. A hash that TokenHash
// cannot have made of a real token is refused. The error does not show it: it may be a token pasted by mistake.
func NewTokenVerifier(hash string) (Verifier, error) {
	want, err := hex.DecodeString(hash)
	if err != nil || len(want) != sha256.Size {
		return nil, errors.New(`a token hash must be 64 hexadecimal digits, the SHA-256 of the token: printf %s "$TOKEN" | sha256sum`)
	}
	if empty := sha256.Sum256(nil); bytes.Equal(want, empty[:]) {
		return nil, errors.New("the token hash is that of an empty token; make a token first")
	}
	return func(token string) (alloc.Caller, bool) {
		got := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(got[:], want) != 1 {
			return alloc.Caller{}, false
		}
		return alloc.Caller{Client: SoleClient, Scopes: alloc.AllScopes()}, true
	}, nil
}

// Bearer puts the caller of a bearer token into the context. A wrong or malformed credential is refused here. A request
// without one goes on without a caller: handlers refuse it, except for what is open to everybody.
func Bearer(verify Verifier) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(r.Header.Values("Authorization")) == 0 {
				next.ServeHTTP(w, r)
				return
			}
			token, ok := bearerToken(r)
			if caller, known := verify(token); ok && known {
				next.ServeHTTP(w, withCaller(r, caller))
				return
			}
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			WriteError(w, r, alloc.Errorf(alloc.CodeUnauthenticated, "the credential is not known; send one that is valid: Authorization: Bearer …"))
		})
	}
}

// BasicOrBearer lets nobody in without a valid token. A person's browser sends it as the password of basic
// authentication, under any name. It is for pages that only show: a browser sends such a credential along with requests
// that another site makes it send.
func BasicOrBearer(verify Verifier) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token, ok := bearerToken(r)
			if !ok && len(r.Header.Values("Authorization")) == 1 {
				_, token, ok = r.BasicAuth()
			}
			if caller, known := verify(token); ok && token != "" && known {
				next.ServeHTTP(w, withCaller(r, caller))
				return
			}
			w.Header().Add("WWW-Authenticate", `Basic realm="idpool", charset="UTF-8"`)
			w.Header().Add("WWW-Authenticate", "Bearer")
			WriteError(w, r, alloc.Errorf(alloc.CodeUnauthenticated, "sign in with a valid token as the password; any user name will do"))
		})
	}
}

// As lets every request in as the caller. It is for handlers whose access is decided elsewhere, such as by an address
// that only this machine can reach.
func As(caller alloc.Caller) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, withCaller(r, caller))
		})
	}
}

// RequireCaller returns CodeUnauthenticated where no middleware has found a caller.
func RequireCaller(r *http.Request) error {
	if _, ok := alloc.CallerFrom(r.Context()); !ok {
		return alloc.Errorf(alloc.CodeUnauthenticated, "send a credential: Authorization: Bearer …")
	}
	return nil
}

// withCaller completes the caller with what the trail wants to know of the request.
func withCaller(r *http.Request, caller alloc.Caller) *http.Request {
	caller.Request = RequestID(r.Context())
	caller.Address = RemoteAddress(r)
	Note(r.Context(), slog.String(KeyClient, string(caller.Client)))
	return r.WithContext(alloc.WithCaller(r.Context(), caller))
}

// bearerToken returns the token of exactly one Authorization header of the form "Bearer TOKEN".
func bearerToken(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}
