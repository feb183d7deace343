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
	"idpool/web"
	"idpool/web/admin"
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

// handler serves what the functions serve, on one address, and /metrics. Both it and the pages need no credential where only this machine can ask
// for them: loopback says that the address listened on is of that kind, and a request that names another host, or came
// by way of a proxy, is somebody else's all the same.
func handler(svc *alloc.Service, verify web.Verifier, loopback bool, seen *monitor, logger *slog.Logger) (http.Handler, error) {
	dashboard, err := admin.New(admin.Config{Service: svc, File: api.PartFile})
	if err != nil {
		return nil, err
	}
	pages := withMetrics(seen, dashboard)
	open, closed := web.As(viewer())(pages), web.BasicOrBearer(verify)(pages)
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if loopback && isLoopback(r.Host) && !isProxied(r.Header) {
			open.ServeHTTP(w, r)
		} else {
			closed.ServeHTTP(w, r)
		}
	})
	whole := web.Split(web.Bearer(verify)(api.All(svc)), guarded)
	return web.Stack(bounded(whole), web.Options{Logger: logger, Metrics: seen.request}), nil
}

// viewer is who looks at the pages without a credential.
func viewer() alloc.Caller {
	return alloc.Caller{Client: alloc.LocalClient, Scopes: []alloc.Scope{{Action: alloc.ActionRead, Pattern: "*"}}}
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
