package api

import (
	"net/http"
	"slices"
	"strings"

	"idpool/alloc"
	"idpool/web"
)

// handlerOf serves those routes of the table that are wanted. What http.ServeMux would answer by itself in plain text
// or by a redirect is a problem document here: each path is registered once, and its methods are told apart behind it.
func handlerOf(svc *alloc.Service, wanted func(Function) bool) http.Handler {
	paths := map[string]methods{}
	for _, rt := range Routes(svc) {
		if !wanted(rt.Function) {
			continue
		}
		if paths[rt.Path] == nil {
			paths[rt.Path] = methods{}
		}
		paths[rt.Path][rt.Method] = served{rt, svc}
	}
	mux := http.NewServeMux()
	for path, m := range paths {
		mux.Handle(path, m)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		web.WriteError(w, r, alloc.Errorf(web.CodeNotFound, "there is nothing at this path; check it: the API is under /v1, and there is no slash at the end"))
	})
	return web.CleanPath(mux)
}

// methods are the routes of one path.
type methods map[string]served

func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet // net/http and API Gateway leave the body out
	}
	if rt, ok := m[method]; ok {
		rt.ServeHTTP(w, r)
		return
	}
	allowed := make([]string, 0, len(m)+1)
	for method := range m {
		allowed = append(allowed, method)
	}
	if _, ok := m[http.MethodGet]; ok {
		allowed = append(allowed, http.MethodHead)
	}
	slices.Sort(allowed)
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	web.WriteError(w, r, alloc.Errorf(web.CodeMethodNotAllowed, "this path does not take the method of the request; it takes %s", list))
}
