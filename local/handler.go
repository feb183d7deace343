package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"idpool/alloc"
	"idpool/local/gallery"
	"idpool/templates"
	"idpool/web"
	"idpool/web/admin"
	"idpool/web/admin/signin"
	"idpool/web/api"
)

// requestTime bounds the work on one request. It is that of a seed of 1 MB on a slow engine; each step of a claim has
// a far shorter bound of its own.
const requestTime = 2 * time.Minute

// verifyFor is how long a credential is trusted without a read of the store. A revocation by this very process holds at
// once, one by another within that time: well below the minute for which a gateway trusts it.
const verifyFor = 30 * time.Second

// verifier knows the stored credentials and the token of this program, which may do everything.
func verifier(svc *alloc.Service, token string) (web.Verifier, error) {
	bootstrap, err := web.NewTokenVerifier(web.TokenHash(token))
	if err != nil {
		return nil, err
	}
	return web.FirstOf(bootstrap, svc.Verify), nil
}

// pages is how the dashboard is reached.
type pages struct {
	now      func() time.Time // nil for the machine's clock
	once     *signin.Once     // prints addresses by which whoever has the terminal signs in; nil where nobody has to
	readOnly bool
	facts    []templates.Fact // of the page about this system
	gallery  bool             // of all pages in all states, for anybody
	loopback bool             // the address listened on is one that only this machine can ask
}

// handler serves what the functions serve, on one address, and /metrics. The dashboard asks people to sign in. Without once it does not, and /metrics
// needs no credential, where only this machine can ask: a request that names another host, or came by way of a proxy, is somebody else's all the same.
func handler(svc *alloc.Service, verify web.Verifier, p pages, seen *monitor, logger *slog.Logger) (http.Handler, error) {
	c := admin.Config{Service: svc, Now: p.now, ReadOnly: p.readOnly, File: api.PartFile, Facts: p.facts}
	if p.once != nil {
		c.SignIn = &signin.Config{Once: p.once}
	}
	dashboard, err := admin.New(c)
	if err != nil {
		return nil, err
	}
	shown := seen.handler()
	metrics := p.onThisMachine(web.As(viewer())(shown), web.BasicOrBearer(verify)(shown))
	if p.once == nil {
		refused := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			web.WriteError(w, r, alloc.Errorf(alloc.CodeForbidden, "this dashboard is for this machine alone; start it without -insecure-dashboard for others"))
		})
		dashboard = p.onThisMachine(web.As(everybody())(dashboard), refused)
	}
	samples := gallery.Handler()
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/metrics":
			metrics.ServeHTTP(w, r)
		case p.gallery && strings.HasPrefix(r.URL.Path, gallery.Prefix):
			samples.ServeHTTP(w, r)
		default:
			dashboard.ServeHTTP(w, r)
		}
	})
	whole := web.Split(web.Bearer(verify)(api.All(svc)), site)
	return web.Stack(bounded(whole), web.Options{Logger: logger, Metrics: seen.request}), nil
}

// onThisMachine sends what this very machine asks to open, and the rest to closed.
func (p pages) onThisMachine(open, closed http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.loopback && isLoopback(r.Host) && !isProxied(r.Header) {
			open.ServeHTTP(w, r)
		} else {
			closed.ServeHTTP(w, r)
		}
	})
}

// viewer is who looks at the metrics without a credential.
func viewer() alloc.Caller {
	return alloc.Caller{Client: alloc.LocalClient, Role: alloc.RoleViewer, Scopes: alloc.RoleViewer.Scopes()}
}

// everybody is who uses the pages where nobody has to sign in.
func everybody() alloc.Caller {
	return alloc.Caller{Client: alloc.LocalClient, Role: alloc.RoleAdmin, Scopes: alloc.RoleAdmin.Scopes()}
}

// bounded ends the work on a request after requestTime.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTime)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// isLoopback reports whether a host, with or without a port, names this machine for itself. A Host header that does not
// comes from a page whose own name was made to point here (DNS rebinding), or by way of a proxy.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// isProxied reports whether a proxy says that it has handed on the request: then whoever asked may be anywhere, also
// where the proxy names this machine as Host. One that says nothing of itself cannot be told from this machine.
func isProxied(h http.Header) bool {
	for name := range h { // in canonical form
		if name == "Forwarded" || name == "Via" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded-") {
			return true
		}
	}
	return false
}
