package api

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"idpool/alloc"
	"idpool/web"
)

// endpoint answers one kind of request. An error becomes a problem document.
type endpoint func(ctx context.Context, q request) (answer, error)

// reader reads what a request brings beside its address, whole, before anything is done for it.
type reader func(q request) (work, error)

// work is what is to be done for a request that was read.
type work struct {
	do    endpoint
	print string // canonical form of what was read: two requests that mean the same have the same

	// revive completes the body of a kept answer by what the request has anyway; nil where nothing is missing.
	revive func(kept []byte) (any, error)
}

// plain makes a reader of an endpoint that reads nothing.
func plain(do endpoint) reader {
	return func(request) (work, error) { return work{do: do}, nil }
}

// answer is what a client gets: a body, encoded as JSON, or a file.
type answer struct {
	status   int
	body     any
	version  alloc.Version // sent as ETag; 0 for none
	replayed bool          // it is the answer of an earlier request with the same key
	finished bool          // with replayed: that one had not been carried out to its end, and this one did it

	kept any // what is kept for repeats in place of the body; nil for the body

	// again says that it is not the last word: after so long a repeat of the request goes on with it. So it is not kept. 0 for the
	// last one.
	again time.Duration

	list *list // of a list: the same as a table, and how it goes on
	file *file // in place of body
}

// request is what an endpoint may ask of an HTTP request.
type request struct {
	http    *http.Request
	query   url.Values
	key     string        // Idempotency-Key; "" for none
	ifMatch alloc.Version // the version that the client says it changes; 0 if it does not say
	attempt alloc.Attempt // with KeysAnswered and a key
}

// served is a route with what it needs.
type served struct {
	Route
	svc *alloc.Service
}

// ServeHTTP is the one adapter between HTTP and endpoints.
func (rt served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	web.Note(ctx, slog.String(web.KeyRoute, rt.Method+" "+rt.Path))
	web.SetOperation(ctx, rt.Operation)
	a, err := rt.answer(w, r)
	if err != nil {
		web.WriteError(w, r, err)
		return
	}
	if err := a.write(w, r); err != nil {
		web.WriteError(w, r, err)
	}
}

func (rt served) answer(w http.ResponseWriter, r *http.Request) (answer, error) {
	if !rt.Open {
		// Nobody without a credential makes us read a body.
		if err := web.RequireCaller(r); err != nil {
			return answer{}, err
		}
	}
	q := request{http: r}
	var err error
	if q.query, err = readQuery(r.URL.RawQuery, rt.Query); err != nil {
		return answer{}, err
	}
	if rt.changes() {
		if q.ifMatch, err = rt.precondition(r.Header); err != nil {
			return answer{}, err
		}
		if q.key, err = readKey(w, r); err != nil {
			return answer{}, err
		}
	}
	todo, err := rt.read(q)
	if err != nil {
		return answer{}, err
	}
	if rt.Keys == KeysAnswered && q.key != "" {
		return rt.once(r.Context(), q, todo)
	}
	return todo.do(r.Context(), q)
}

// precondition reads If-Match. Where it has no meaning it is refused: a client that sends it relies on it.
func (rt served) precondition(h http.Header) (alloc.Version, error) {
	if !rt.Conditional && len(h.Values("If-Match")) > 0 {
		return 0, alloc.Errorf(alloc.CodeInvalidRequest, "this request changes nothing that has a version; leave out If-Match")
	}
	return ifMatch(h)
}

// write sends the answer. With an error nothing was sent.
func (a answer) write(w http.ResponseWriter, r *http.Request) error {
	f := a.file
	if f == nil {
		body, err := encode(a.body)
		if err != nil {
			return err
		}
		f = &file{media: "application/json", data: body}
	}
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("Cache-Control", "no-store")
	if f.name != "" {
		h.Set("Content-Disposition", `attachment; filename="`+f.name+`"`)
	}
	if a.list != nil {
		h.Add("Vary", "Accept")
		if a.list.next != "" {
			h.Set("Link", nextPage(r, a.list.next))
		}
	}
	if a.version != 0 {
		h.Set("ETag", web.ETag(a.version))
	}
	if a.again != 0 {
		h.Set("Retry-After", web.RetryAfter(a.again))
	}
	if a.replayed {
		h.Set("Idempotent-Replayed", "true")
		web.Note(r.Context(), slog.Bool(web.KeyReplayed, true))
	}
	web.SetOutcome(r.Context(), a.outcome())
	w.WriteHeader(a.status)
	w.Write(f.data) //nolint:errcheck // the client is gone; there is nobody to tell
	return nil
}

func (a answer) outcome() web.Outcome {
	switch {
	case a.finished:
		return web.OutcomeCarriedOut
	case a.replayed:
		return web.OutcomeReplay
	}
	return web.OutcomeFirst
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
	name := q.http.PathValue(onPool)
	q.note(web.KeyPool, name)
	return alloc.PoolName(name)
}

// sequence is the sequence that the path names. The service checks the name.
func (q request) sequence() alloc.SequenceName {
	name := q.http.PathValue(onSequence)
	q.note(web.KeySequence, name)
	return alloc.SequenceName(name)
}

func (q request) note(key, name string) {
	if alloc.CheckName(name) == nil {
		web.Note(q.http.Context(), slog.String(key, name))
	}
}
