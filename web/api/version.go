package api

import (
	"net/http"
	"strconv"
	"strings"

	"idpool/alloc"
	"idpool/web"
)

// ifMatch returns the version that the client says it changes, 0 if it does not say. The header must be exactly one
// entity tag as a GET has sent it: "*" would change what the client has not seen.
func ifMatch(h http.Header) (alloc.Version, error) {
	values := h.Values("If-Match")
	if len(values) == 0 {
		return 0, nil
	}
	bad := alloc.Errorf(alloc.CodeInvalidRequest, `If-Match must be the ETag of the version that you change, such as "3" with its quotes: one, not weak, not *`)
	if len(values) > 1 {
		return 0, bad
	}
	s := strings.Trim(values[0], " \t")
	n, err := strconv.ParseInt(strings.Trim(s, `"`), 10, 64)
	if err != nil || n < 1 || web.ETag(alloc.Version(n)) != s {
		return 0, bad
	}
	return alloc.Version(n), nil
}
