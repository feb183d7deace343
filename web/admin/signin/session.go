package signin

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"

	"idpool/alloc"
	"idpool/web"
)

// RequireSession lets nobody on without a session: it puts the session and the caller that it makes into the context. A browser
// that was going to a page goes to the sign-in, is told there if its session has ended, and comes back; what it has sent from a page is
// not done, and it comes back to that page. Anything else gets a page with the status 401.
func (g *Gate) RequireSession(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.Issuer == nil && g.Once == nil {
			g.Fail(w, r, notConfigured())
			return
		}
		secret := g.sessionCookie(r)
		s, caller, err := g.Service.Authenticate(r.Context(), secret)
		switch {
		case err == nil:
			ctx := context.WithValue(r.Context(), sessionKey{}, s)
			web.As(caller)(next).ServeHTTP(w, r.WithContext(ctx))
		case !alloc.Is(err, alloc.CodeUnauthenticated):
			g.Fail(w, r, err)
		case navigates(r):
			q := url.Values{queryTo: {r.URL.RequestURI()}}
			if secret != "" {
				q.Set(queryEnded, "1")
			}
			http.Redirect(w, r, signinPath+"?"+q.Encode(), http.StatusSeeOther)
		default:
			g.Fail(w, r, err)
		}
	})
}

// notConfigured is not an error of ours to be alarmed about: anybody can ask.
func notConfigured() error {
	return alloc.Errorf(web.CodeNotFound, "the dashboard is not configured: it has no issuer that people could sign in at; the README says how to name one")
}

// navigates reports whether a browser is on its way to a page, as far as it says. A script that fetches a part of a page is not
// to be given the page of the sign-in for it.
func navigates(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return mode == "navigate" || mode == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// enter begins the session of whoever was made sure of, in the place of the one that the browser had, and leads on.
func (g *Gate) enter(w http.ResponseWriter, r *http.Request, who alloc.Person, role alloc.Role, to string) {
	from := origin(r)
	from.Request = web.RequestID(r.Context())
	s, secret, err := g.Service.SignIn(r.Context(), alloc.SignInRequest{Person: who, Origin: from, Role: role}, g.sessionCookie(r))
	if err != nil {
		g.Fail(w, r, err)
		return
	}
	web.Note(r.Context(), slog.String(web.KeyClient, string(s.Client)))
	g.setSessionCookie(w, r, secret)
	http.Redirect(w, r, localPath(to), http.StatusSeeOther)
}

// signOut ends the session. The answer leads to a page of ours: from a form a browser follows no redirect to another site.
func (g *Gate) signOut(w http.ResponseWriter, r *http.Request) {
	from := origin(r)
	from.Request = web.RequestID(r.Context())
	if err := g.Service.SignOut(r.Context(), g.sessionCookie(r), from); err != nil {
		g.Fail(w, r, err)
		return
	}
	g.dropCookie(w, r, sessionName)
	http.Redirect(w, r, signoutPath, http.StatusSeeOther)
}

// Transport tells browsers that reach the dashboard over HTTPS never to come any other way.
func (g *Gate) Transport(next http.Handler) http.Handler {
	if !g.secure {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		next.ServeHTTP(w, r)
	})
}
