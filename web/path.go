package web

import (
	"net/http"
	"path"
	"strings"

	"idpool/alloc"
)

// CleanPath answers 404 to a path that http.ServeMux would redirect to a cleaned form: a client that follows such a
// redirect sends GET where it meant POST. It belongs around every ServeMux.
func CleanPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isClean(r.URL.EscapedPath()) {
			WriteError(w, r, alloc.Errorf(CodeNotFound, "there is nothing at this path; it must begin with / and have no empty, . or .. part"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isClean(p string) bool {
	if !strings.HasPrefix(p, "/") {
		return false
	}
	cleaned := path.Clean(p)
	return p == cleaned || cleaned != "/" && p == cleaned+"/"
}

// isOpen reports whether a path is one of the API's that are for everybody. No credential is looked at there: whoever asks
// whether the process lives asks no engine, and gets no other answer for a credential that has ended.
func isOpen(path string) bool {
	return path == "/healthz" || path == "/readyz" || path == "/openapi.json"
}

// Split sends what belongs to the JSON API to api and the rest to pages.
func Split(api, pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Path; {
		case p == "/v1", strings.HasPrefix(p, "/v1/"), isOpen(p):
			api.ServeHTTP(w, r)
		default:
			pages.ServeHTTP(w, r)
		}
	})
}
