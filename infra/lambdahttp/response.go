package lambdahttp

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// response collects what a handler writes and hands it to the adapter's writer at the end, in one piece. The adapter's
// own writer lets a later WriteHeader and later headers win, fails when nothing was written (A02), guesses a type for
// compressed bodies and for empty first writes, and takes a body for 204 and HEAD; here all that is as under net/http.
//
// It is no http.Flusher: the answer leaves in one piece, and a handler that asks is told so (A12).
type response struct {
	header http.Header // the handler's, live
	sent   http.Header // as of WriteHeader
	status int         // 0 before WriteHeader
	body   bytes.Buffer
	head   bool
}

func (w *response) Header() http.Header { return w.header }

// WriteHeader counts once. Informational statuses have no way to the client and are passed over.
func (w *response) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %d", status)) // as net/http does
	}
	if w.status != 0 || status < 200 {
		return
	}
	w.status, w.sent = status, w.header.Clone()
}

func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.status == http.StatusNoContent || w.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	return w.body.Write(p)
}

// finish hands everything to the adapter's writer.
func (w *response) finish(to http.ResponseWriter) {
	w.WriteHeader(http.StatusOK)
	body := w.body.Bytes()
	_, typed := w.sent["Content-Type"]
	if !typed && len(body) > 0 && w.sent.Get("Content-Encoding") == "" {
		w.sent.Set("Content-Type", http.DetectContentType(body))
	}
	maps.DeleteFunc(w.sent, func(_ string, values []string) bool { return len(values) == 0 })
	for _, values := range w.sent {
		for i, v := range values {
			values[i] = newlines.Replace(v)
		}
	}
	maps.Copy(to.Header(), w.sent)
	to.WriteHeader(w.status)
	if w.head || len(body) == 0 {
		return
	}
	to.Write(body) //nolint:errcheck // it writes to memory
	if w.sent.Get("Content-Type") == "" {
		to.Header().Del("Content-Type") // the adapter's guess at what we left open on purpose
	}
}

var newlines = strings.NewReplacer("\r", " ", "\n", " ")
