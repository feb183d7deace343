package api

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"idpool/alloc"
	"idpool/web"
)

// endpoint answers one kind of request. An error becomes a problem document.
type endpoint func(ctx context.Context, q request) (answer, error)

// answer is what a client gets.
type answer struct {
	status   int
	body     any           // encoded as JSON
	version  alloc.Version // sent as ETag; 0 for none
	replayed bool          // it is the answer of an earlier request with the same key
}

// request is what an endpoint may ask of an HTTP request.
type request struct {
	http  *http.Request
	query url.Values
}

// ServeHTTP is the one adapter between HTTP and endpoints.
func (rt Route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	web.Note(ctx, slog.String(web.KeyRoute, rt.Method+" "+rt.Path))
	a, err := rt.answer(ctx, r)
	if err != nil {
		web.WriteError(w, r, err)
		return
	}
	body, err := encode(a.body)
	if err != nil {
		web.WriteError(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if a.version != 0 {
		h.Set("ETag", etag(a.version))
	}
	if a.replayed {
		h.Set("Idempotent-Replayed", "true")
		web.Note(ctx, slog.Bool(web.KeyReplayed, true))
	}
	w.WriteHeader(a.status)
	w.Write(body) //nolint:errcheck // the client is gone; there is nobody to tell
}

func (rt Route) answer(ctx context.Context, r *http.Request) (answer, error) {
	if !rt.open {
		// Nobody without a credential makes us read a body.
		if err := web.RequireCaller(r); err != nil {
			return answer{}, err
		}
	}
	query, err := readQuery(r.URL.RawQuery, rt.query)
	if err != nil {
		return answer{}, err
	}
	return rt.run(ctx, request{http: r, query: query})
}

// encode writes JSON as people read it: '<' stays '<'.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// readQuery takes each of the known parameters at most once and no other.
func readQuery(raw string, known []string) (url.Values, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, alloc.Errorf(alloc.CodeInvalidRequest, "the query is not valid; percent-encode its values").Because(err)
	}
	for name, values := range query {
		if !slices.Contains(known, name) {
			if len(known) == 0 {
				return nil, alloc.Errorf(alloc.CodeInvalidRequest, "this path takes no query parameters; leave them out")
			}
			return nil, alloc.Errorf(alloc.CodeInvalidRequest, "the query parameter %s is not known; known are: %s", quote(name), strings.Join(known, ", "))
		}
		if len(values) > 1 {
			return nil, alloc.Errorf(alloc.CodeInvalidRequest, "the query parameter %s is given %d times; give it once", name, len(values))
		}
	}
	return query, nil
}

// pool is the pool that the path names. The service checks the name.
func (q request) pool() alloc.PoolName {
	name := q.http.PathValue("pool")
	q.note(web.KeyPool, name)
	return alloc.PoolName(name)
}

// sequence is the sequence that the path names. The service checks the name.
func (q request) sequence() alloc.SequenceName {
	name := q.http.PathValue("sequence")
	q.note(web.KeySequence, name)
	return alloc.SequenceName(name)
}

func (q request) note(key, name string) {
	if alloc.CheckName(name) == nil {
		web.Note(q.http.Context(), slog.String(key, name))
	}
}

// idempotencyKey reads the Idempotency-Key, "" without one.
func (q request) idempotencyKey() (string, error) {
	key, err := web.IdempotencyKey(q.http)
	if key != "" && err == nil {
		web.Note(q.http.Context(), slog.Bool(web.KeyKeyed, true))
	}
	return key, err
}

// defaultPage is how many entries a list has when the query does not say.
const defaultPage = 50

// limit is how many entries the client wants. The service checks its range.
func (q request) limit() (int, error) {
	if !q.query.Has("limit") {
		return defaultPage, nil
	}
	n, err := strconv.ParseUint(q.query.Get("limit"), 10, 16)
	if err != nil {
		return 0, alloc.Errorf(alloc.CodeInvalidCount, "limit must be 1 to 100")
	}
	return int(n), nil
}

// page says which part of a list the client wants: from which cursor on ("": from the beginning), and how much.
func (q request) page() (cursor alloc.Cursor, limit int, err error) {
	limit, err = q.limit()
	return alloc.Cursor(q.query.Get("cursor")), limit, err
}
