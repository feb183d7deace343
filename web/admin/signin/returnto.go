package signin

import (
	"net/url"
	"path"
	"strings"
)

// queryTo is where to go after the sign-in.
const queryTo = "to"

// firstPage is where to go if nothing else was asked for.
const firstPage = "/"

// maxTo is the longest address that is gone back to.
const maxTo = 2000

// localPath is the address if it is one of a page of this server, written as browsers and proxies agree to read it, and else
// that of the first page. Nothing is mended: what is not plainly local is not followed.
func localPath(to string) string {
	if len(to) > maxTo || !strings.HasPrefix(to, "/") || strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r == '\\' || r > '~' }) {
		return firstPage
	}
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || !plainPath(u.Path) {
		return firstPage
	}
	if u.Path == signoutPath || u.Path == signinPath || strings.HasPrefix(u.Path, signinPath+"/") {
		return firstPage // it would lead in a circle
	}
	local := url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	return local.String()
}

// plainPath reports whether a path, with its escapes undone, has nothing that could be read as a host or as another path.
func plainPath(p string) bool {
	if strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }) {
		return false
	}
	cleaned := path.Clean(p)
	return strings.HasPrefix(p, "/") && (p == cleaned || cleaned != "/" && p == cleaned+"/")
}
