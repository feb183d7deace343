package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"idpool/alloc"
	"idpool/web"
)

// readKey reads the Idempotency-Key, "" without one. Whatever becomes of a request with one, the answer says for how long
// the key is good.
func readKey(w http.ResponseWriter, r *http.Request) (string, error) {
	key, err := web.IdempotencyKey(r)
	if key == "" || err != nil {
		return "", err
	}
	web.Note(r.Context(), slog.Bool(web.KeyKeyed, true))
	w.Header().Set("Idempotency-Key-Retention", strconv.Itoa(int(alloc.KeyRetention/time.Second)))
	return key, nil
}

// once does the work of a request with a key once, and gives its answer to every repeat: the mechanism of all routes
// with KeysAnswered. The service keeps the intent first, so that work that was cut off is carried out by whoever comes.
func (rt served) once(ctx context.Context, q request, todo work) (answer, error) {
	need, name, err := rt.needed(ctx, q)
	if err != nil {
		return answer{}, err
	}
	var ours answer
	ran := false
	record, replayed, err := rt.svc.Keyed(ctx, alloc.KeyedRequest{
		Need: need, Name: name, Operation: rt.Operation, Resource: rt.resource(q), Key: q.key, Print: rt.print(q, todo.print),
	}, func(ctx context.Context, a alloc.Attempt) (record []byte, err error) {
		q.attempt, ran = a, true
		if ours, err = todo.do(ctx, q); err != nil {
			return nil, err
		}
		if ours.again != 0 {
			return nil, unfinished()
		}
		return ours.record()
	})
	if err != nil {
		if ran && ours.again != 0 {
			return ours, nil
		}
		return answer{}, err
	}
	if ran && (!replayed || ours.kept != nil) { // what is not kept is told by whoever has it
		ours.replayed, ours.finished = replayed, replayed
		return ours, nil
	}
	a, err := answerOf(record, todo.revive)
	a.finished = ran
	return a, err
}

// unfinished keeps a key with its request, and no answer: the next repeat goes on with the work.
func unfinished() error {
	return alloc.Errorf(alloc.CodeBusy, "the work is not finished; repeat the request with the same Idempotency-Key").After(readingPause)
}

// needed is what the caller must be permitted, and on which name. Whether it is, the service says. Of a job that is its pool, and
// what it takes to change it depends on whose it is.
func (rt served) needed(ctx context.Context, q request) (alloc.Action, string, error) {
	switch rt.On {
	case Everything:
		return rt.Need, Everything, nil
	case onJob:
		need, on, err := rt.svc.NeedToChange(ctx, q.job())
		return need, string(on), err
	}
	return rt.Need, q.http.PathValue(rt.On), nil
}

// resource is what the path names: with client and operation it is the scope of a key.
func (rt served) resource(q request) string {
	for _, on := range []string{onPool, onSequence, onJob, "credential", "session"} {
		name := q.http.PathValue(on)
		if name == "" {
			continue
		}
		if n := q.http.PathValue(onInput); n != "" {
			name += "/" + onInput + "/" + n
		}
		return on + "/" + name
	}
	return ""
}

// print is the canonical form of a whole request: two requests with one key are the same if it is.
func (rt served) print(q request, body string) string {
	return strings.Join([]string{rt.Method, rt.Path, rt.resource(q), q.query.Encode(), strconv.FormatInt(int64(q.ifMatch), 10), body}, "\n")
}

// record is an answer as it is kept.
type record struct {
	Status  int             `json:"status"`
	Version alloc.Version   `json:"version,omitzero"`
	Body    json.RawMessage `json:"body"`
}

func (a answer) record() ([]byte, error) {
	body := a.kept
	if body == nil {
		body = a.body
	}
	data, err := encode(body)
	if err != nil {
		return nil, err
	}
	return encode(record{Status: a.status, Version: a.version, Body: data})
}

// answerOf is the answer that a record keeps.
func answerOf(data []byte, revive func([]byte) (any, error)) (answer, error) {
	var kept record
	if err := json.Unmarshal(data, &kept); err != nil {
		return answer{}, alloc.Errorf(alloc.CodeInternal, "a kept answer cannot be read").Because(err)
	}
	a := answer{status: kept.Status, version: kept.Version, body: kept.Body, replayed: true}
	if revive == nil {
		return a, nil
	}
	body, err := revive(kept.Body)
	if err != nil {
		return answer{}, alloc.Errorf(alloc.CodeInternal, "the body of a kept answer cannot be read").Because(err)
	}
	a.body = body
	return a, nil
}
