// Package signin lets people into the dashboard: by an OpenID Connect issuer (authorization code flow with PKCE), or, in the
// local program, by an address of one use that is printed in its terminal. Whoever is let in has an opaque session: a cookie
// with a secret, of which the store keeps a hash. Every request asks the store, so that a session that was ended works no
// longer anywhere.
//
// What a person may do is decided by the role of the session, which alloc.Service enforces.
package signin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
)

// Config is what a Gate is made of. Without an Issuer and without Once nobody is let in, and every page says so.
type Config struct {
	BaseURL string  // what a browser has in its address line: scheme and host; "" for plain HTTP under whatever name
	Issuer  *Issuer // nil for none
	Once    *Once   // nil for none

	Service *alloc.Service   // required
	Now     func() time.Time // required

	// Fail answers with a page of the error. Show answers with a page that is made of a frame; both are required.
	Fail func(w http.ResponseWriter, r *http.Request, err error)
	Show func(w http.ResponseWriter, r *http.Request, title string, page func(templates.Frame) templ.Component)
}

// Gate is the sign-in. It is safe for concurrent use; one per process.
type Gate struct {
	Config
	secure   bool // browsers reach it over HTTPS
	provider *provider
	limits   *limiter
}

// New returns a Gate, or all that is wrong with its configuration.
func New(c Config) (*Gate, error) {
	if c.Service == nil || c.Now == nil || c.Fail == nil || c.Show == nil {
		return nil, errors.New("signin: Config.Service, Now, Fail and Show are required")
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	g := &Gate{Config: c, secure: strings.HasPrefix(c.BaseURL, "https://"), limits: newLimiter(c.Now)}
	if c.Issuer != nil {
		g.provider = newProvider(*c.Issuer, c.BaseURL+callbackPath, c.Now)
	}
	return g, nil
}

// Check reports all that is wrong with what was configured.
func (c Config) Check() error {
	var faults []error
	if c.BaseURL != "" || c.Issuer != nil {
		faults = append(faults, checkBase(c.BaseURL))
	}
	if c.Issuer != nil {
		faults = append(faults, c.Issuer.check())
	}
	return errors.Join(faults...)
}

// checkBase refuses an address that sign-ins could not come back to.
func checkBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || !trustworthy(u) {
		return fmt.Errorf("the address of the dashboard must be https:// and a host, as in https://ids.example.com, not %q", base)
	}
	return nil
}

// trustworthy reports whether nobody on the way can read what goes there.
func trustworthy(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// The paths of the sign-in.
const (
	signinPath   = "/signin"
	goPath       = "/signin/go"
	callbackPath = "/signin/callback"
	oncePath     = "/signin/once"
	newPath      = "/signin/new"
	signoutPath  = "/signout"
)

// Routes is the table of all routes of the sign-in: their handlers by path and method. They need no session, and work in read-only
// mode too.
func (g *Gate) Routes() map[string]map[string]http.Handler {
	get := func(h http.Handler) map[string]http.Handler { return map[string]http.Handler{http.MethodGet: h} }
	both := func(h, post http.Handler) map[string]http.Handler {
		return map[string]http.Handler{http.MethodGet: h, http.MethodPost: post}
	}
	return map[string]map[string]http.Handler{
		signinPath:   get(http.HandlerFunc(g.page)),
		goPath:       get(g.limited(g.begin)),
		callbackPath: get(g.limited(g.callback)),
		oncePath:     both(http.HandlerFunc(g.oncePage), g.limited(g.useOnce)),
		newPath:      both(http.HandlerFunc(g.page), g.limited(g.printOnce)),
		signoutPath:  both(http.HandlerFunc(g.signedOut), http.HandlerFunc(g.signOut)),
	}
}

type sessionKey struct{}

// SessionOf returns the session that RequireSession has found.
func SessionOf(ctx context.Context) (alloc.Session, bool) {
	s, ok := ctx.Value(sessionKey{}).(alloc.Session)
	return s, ok
}

// origin is where a request came from.
func origin(r *http.Request) alloc.Origin {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return alloc.Origin{Address: host, Agent: r.UserAgent()}
}
