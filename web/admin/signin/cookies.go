package signin

import (
	"net"
	"net/http"

	"idpool/alloc"
)

// The cookies: of a session, and of a sign-in that is under way. Over HTTPS their names begin with __Host-, by which a browser
// takes them from this very host alone. Cookies know no ports, so over plain HTTP the name has the port: several programs on one
// machine do not take each other's.
const (
	sessionName = "idpool"
	stateName   = "idpool-signin"
	hostPrefix  = "__Host-"
)

func (g *Gate) cookieName(r *http.Request, name string) string {
	if g.secure {
		return hostPrefix + name
	}
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return name + "-" + port
	}
	return name
}

func (g *Gate) cookie(r *http.Request, name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure wherever the cookie goes over HTTPS; a browser would not send it back otherwise
		Name: g.cookieName(r, name), Value: value, Path: "/", MaxAge: maxAge,
		Secure: g.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

func (g *Gate) read(r *http.Request, name string) string {
	c, err := r.Cookie(g.cookieName(r, name))
	if err != nil {
		return ""
	}
	return c.Value
}

func (g *Gate) dropCookie(w http.ResponseWriter, r *http.Request, name string) {
	http.SetCookie(w, g.cookie(r, name, "", -1))
}

// sessionCookie is the secret that the browser sends; "" for none.
func (g *Gate) sessionCookie(r *http.Request) alloc.SessionSecret {
	return alloc.SessionSecret(g.read(r, sessionName))
}

// setSessionCookie gives the browser a secret. It keeps it until it is closed; when the session ends is the store's to say.
func (g *Gate) setSessionCookie(w http.ResponseWriter, r *http.Request, secret alloc.SessionSecret) {
	http.SetCookie(w, g.cookie(r, sessionName, string(secret), 0))
}
