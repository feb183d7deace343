package web

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
)

// compressed sends answers of more than a kilobyte in gzip to whoever takes that, and says in Vary that it looks.
//
// From the length of an answer that another site makes a browser ask for, with guesses in its address, what else is in it can be found
// (BREACH). A browser says of such a request that it comes from another site: its answer is as long as it is. Where it says nothing, the
// answer is in plain text for whoever could measure it.
func compressed(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false))
	if err != nil {
		panic(err) // its options are ours
	}
	packed := wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Sec-Fetch-Site") {
		case "", "none", "same-origin":
			packed.ServeHTTP(w, r)
		default:
			w.Header().Add("Vary", "Accept-Encoding")
			next.ServeHTTP(w, r)
		}
	})
}
