package web

import (
	"net"
	"net/http"
)

// RemoteAddress is the address that the request came from, without a port. net/http gives host and port, API Gateway a
// bare address: both are fine. Forwarding headers are not believed: any client can send them.
func RemoteAddress(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}
