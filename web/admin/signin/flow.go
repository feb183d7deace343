package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"idpool/alloc"
	"idpool/web"
)

// beganFor is how long a sign-in may be under way.
const beganFor = 10 * time.Minute

// begun is a sign-in that is under way. The browser carries it, sealed, so that it ends where it was begun.
type begun struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE
	To       string `json:"t"`
}

const sealPurpose = "sign-in"

func (g *Gate) seal(ctx context.Context, b begun) (string, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return "", err
	}
	return g.Service.Seal(ctx, sealPurpose, text, g.Now().Add(beganFor))
}

// unseal returns what was begun in this browser, and not too long ago. CodeInvalidRequest.
func (g *Gate) unseal(r *http.Request) (b begun, err error) {
	foreign := alloc.Errorf(alloc.CodeInvalidRequest, "this sign-in was not begun in this browser, or more than ten minutes ago, or another was begun after it; sign in again")
	text, err := g.Service.Unseal(r.Context(), sealPurpose, g.read(r, stateName))
	if alloc.Is(err, alloc.CodeInvalidRequest) || err == nil && json.Unmarshal(text, &b) != nil {
		return begun{}, foreign
	}
	if err != nil {
		return begun{}, err
	}
	state := r.URL.Query().Get("state")
	if b.State == "" || subtle.ConstantTimeCompare([]byte(state), []byte(b.State)) != 1 {
		return begun{}, foreign
	}
	return b, nil
}

// begin sends the browser to the issuer.
func (g *Gate) begin(w http.ResponseWriter, r *http.Request) {
	if g.provider == nil {
		g.Fail(w, r, notConfigured())
		return
	}
	b := begun{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: localPath(r.URL.Query().Get(queryTo))}
	to, err := g.provider.authorize(r.Context(), b)
	if err != nil {
		g.Fail(w, r, err)
		return
	}
	sealed, err := g.seal(r.Context(), b)
	if err != nil {
		g.Fail(w, r, err)
		return
	}
	http.SetCookie(w, g.cookie(r, stateName, sealed, int(beganFor/time.Second)))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// callback is where the issuer sends the browser back to.
func (g *Gate) callback(w http.ResponseWriter, r *http.Request) {
	if g.provider == nil {
		g.Fail(w, r, notConfigured())
		return
	}
	b, err := g.unseal(r)
	g.dropCookie(w, r, stateName)
	if err != nil {
		g.Fail(w, r, err)
		return
	}
	if err := g.answered(r); err != nil {
		g.Fail(w, r, err)
		return
	}
	who, role, err := g.provider.identity(r.Context(), r.URL.Query().Get("code"), b)
	if err != nil {
		web.Note(r.Context(), slog.String(web.KeyPartialError, err.Error())) // also where it is not ours: somebody has to find out
		g.Fail(w, r, err)
		return
	}
	g.enter(w, r, who, role, b.To)
}

// answered refuses what the issuer has sent back without letting the person in, or another issuer has.
func (g *Gate) answered(r *http.Request) error {
	q := r.URL.Query()
	if iss := q.Get("iss"); iss != "" && iss != g.Issuer.URL {
		return alloc.Errorf(alloc.CodeForbidden, "another issuer has answered than was asked; sign in again")
	}
	switch code := q.Get("error"); {
	case code == "access_denied":
		return alloc.Errorf(alloc.CodeForbidden, "the issuer %s did not let you in", g.Issuer.name())
	case code != "":
		web.Note(r.Context(), slog.String(web.KeyPartialError, "the issuer answered "+code[:min(len(code), 100)]))
		return alloc.Errorf(alloc.CodeUnavailable, "the issuer %s could not sign you in; try again, and if it stays so tell whoever runs it", g.Issuer.name())
	case q.Get("code") == "":
		return alloc.Errorf(alloc.CodeInvalidRequest, "the issuer has sent no answer; sign in again")
	}
	return nil
}
