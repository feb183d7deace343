package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"idpool/alloc"
)

// Verifier says whose token it is: CodeUnauthenticated for one that is not known, has expired or was revoked, another
// error where that could not be found out. alloc.Service.Verify is one.
type Verifier func(ctx context.Context, token string) (alloc.Caller, error)

// SoleClient is the client of the one credential that NewTokenVerifier knows.
const SoleClient = alloc.ReservedClient

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
	return func(_ context.Context, token string) (alloc.Caller, error) {
		got := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(got[:], want) != 1 {
			return alloc.Caller{}, unknownCredential()
		}
		return alloc.Caller{Client: SoleClient, Scopes: alloc.AllScopes()}, nil
	}, nil
}

// FirstOf returns a Verifier that asks each in turn until one knows the token. One that cannot tell ends it: a token that
// it may have revoked is not to be found elsewhere. Where none accepts it the last one's reason is told: the last is that
// of the stored credentials, which tells whoever has a right secret why it works no longer.
func FirstOf(verifiers ...Verifier) Verifier {
	return func(ctx context.Context, token string) (alloc.Caller, error) {
		refusal := unknownCredential()
		for _, verify := range verifiers {
			caller, err := verify(ctx, token)
			if !alloc.Is(err, alloc.CodeUnauthenticated) {
				return caller, err
			}
			refusal = err
		}
		return alloc.Caller{}, refusal
	}
}

func unknownCredential() error {
	return alloc.Errorf(alloc.CodeUnauthenticated, "the credential is not known; send one that is valid: Authorization: Bearer …")
}

// Bearer puts the caller of a bearer token into the context. A wrong or malformed credential is refused here. A request
// without one goes on without a caller: handlers refuse it. So does one for what is open to everybody.
func Bearer(verify Verifier) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isOpen(r.URL.Path) || len(r.Header.Values("Authorization")) == 0 {
				next.ServeHTTP(w, r)
				return
			}
			err := unknownCredential()
			if token, ok := BearerToken(r.Header); ok {
				var caller alloc.Caller
				if caller, err = verified(r, verify, token); err == nil {
					next.ServeHTTP(w, withCaller(r, caller))
					return
				}
			}
			refuse(w, r, err, invalidToken)
		})
	}
}

// BasicOrBearer lets nobody in without a valid token. A person's browser sends it as the password of basic
// authentication, under any name. It is for pages that only show: a browser sends such a credential along with requests
// that another site makes it send.
func BasicOrBearer(verify Verifier) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token, ok := BearerToken(r.Header)
			if !ok && len(r.Header.Values("Authorization")) == 1 {
				_, token, ok = r.BasicAuth()
			}
			err := unknownCredential()
			if ok && token != "" {
				var caller alloc.Caller
				if caller, err = verified(r, verify, token); err == nil {
					next.ServeHTTP(w, withCaller(r, caller))
					return
				}
			}
			if alloc.Is(err, alloc.CodeUnauthenticated) {
				err = alloc.Errorf(alloc.CodeUnauthenticated, "sign in with a valid token as the password; any user name will do").Because(err)
			}
			refuse(w, r, err, `Basic realm="idpool", charset="UTF-8"`, "Bearer")
		})
	}
}

// Authorized completes the caller that an authorizer in front of the handler found and the adapter put into the context.
// A request without one goes on, as with [Bearer].
func Authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, ok := alloc.CallerFrom(r.Context())
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		if err := checkExpiry(r, caller); err != nil {
			refuse(w, r, err, invalidToken)
			return
		}
		next.ServeHTTP(w, withCaller(r, caller))
	})
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

func verified(r *http.Request, verify Verifier, token string) (alloc.Caller, error) {
	caller, err := verify(r.Context(), token)
	if err != nil {
		return alloc.Caller{}, err
	}
	return caller, checkExpiry(r, caller)
}

// checkExpiry refuses a caller whose credential has ended: whoever verified it may have done so a while ago.
func checkExpiry(r *http.Request, caller alloc.Caller) error {
	if !caller.Expires.IsZero() && !Received(r.Context()).Before(caller.Expires) {
		return alloc.Errorf(alloc.CodeUnauthenticated, "the credential has expired; ask an administrator for another")
	}
	return nil
}

// invalidToken tells a client that it was its credential, not its absence (RFC 6750).
const invalidToken = `Bearer error="invalid_token"`

// refuse answers a request that got no caller, with the challenges if that is for its credential.
func refuse(w http.ResponseWriter, r *http.Request, err error, challenges ...string) {
	if alloc.Is(err, alloc.CodeUnauthenticated) {
		w.Header()["Www-Authenticate"] = challenges
	}
	WriteError(w, r, err)
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
	if caller.Credential != "" {
		Note(r.Context(), slog.String(KeyCredential, string(caller.Credential)))
	}
	return r.WithContext(alloc.WithCaller(r.Context(), caller))
}

// BearerToken returns the token of exactly one Authorization header of the form "Bearer TOKEN".
func BearerToken(h http.Header) (string, bool) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}
