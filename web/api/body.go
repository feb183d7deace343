package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"idpool/alloc"
	"idpool/web"
)

// body is a type that a JSON body is read into. fields sets the defaults and says what members the body may have.
type body[T any] interface {
	*T
	fields() []field
}

// withBody makes a reader of an endpoint that takes a JSON body. An empty body is one without members.
func withBody[T any, P body[T]](run func(context.Context, request, T) (answer, error)) reader {
	return func(q request) (work, error) {
		var in T
		if err := readJSON(q, P(&in).fields(), "send less"); err != nil {
			return work{}, err
		}
		todo := work{print: canonical(in), do: func(ctx context.Context, q request) (answer, error) { return run(ctx, q, in) }}
		if r, ok := any(in).(reviver); ok {
			todo.revive = r.revive
		}
		return todo, nil
	}
}

// reviver is a body that completes kept answers: see work.
type reviver interface {
	revive(kept []byte) (any, error)
}

// withoutBody makes a reader of an endpoint that refuses a body with any member: it would be ignored otherwise.
func withoutBody(run endpoint) reader {
	return func(q request) (work, error) {
		return work{do: run}, readJSON(q, nil, "this request needs no body")
	}
}

// canonical is the canonical form of a body: what was meant, defaults filled in, whatever the order and spacing of what was
// sent. Every field of the body's type is exported, so that it is in it.
func canonical(b any) string {
	data, err := json.Marshal(b)
	if err != nil {
		panic(err) // bodies have nothing that JSON cannot say
	}
	return string(data)
}

// readJSON reads the request's body into the fields. advice says what to do about a body that is too large.
func readJSON(q request, fields []field, advice string) error {
	media, err := mediaType(q)
	if err != nil {
		return err
	}
	if media != "" && media != "application/json" {
		return notJSON()
	}
	data, err := web.ReadBody(q.http, advice)
	if err != nil {
		return err
	}
	if media == "" && len(data) > 0 {
		return notJSON()
	}
	return decode(data, fields)
}

func notJSON() error {
	return alloc.Errorf(web.CodeUnsupportedMediaType, "the body must be JSON; send it with Content-Type: application/json")
}

// mediaType returns the type of the body without its parameters, "" where none is announced. A body in another
// character set or compressed is refused: it would be read as what it is not.
func mediaType(q request) (string, error) {
	if encoding := q.http.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "", alloc.Errorf(web.CodeUnsupportedMediaType, "a compressed body is not read; send it without Content-Encoding")
	}
	values := q.http.Header.Values("Content-Type")
	switch len(values) {
	case 0:
		return "", nil
	case 1:
	default:
		return "", alloc.Errorf(web.CodeUnsupportedMediaType, "send one Content-Type")
	}
	media, params, err := mime.ParseMediaType(values[0])
	if err != nil {
		return "", alloc.Errorf(web.CodeUnsupportedMediaType, "the Content-Type is not valid; send one such as application/json").Because(err)
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return "", alloc.Errorf(web.CodeUnsupportedMediaType, "the body must be in UTF-8; convert it, and send charset=utf-8 or no charset")
	}
	return media, nil
}

// decode reads one JSON object with members that are all known, each at most once, and nothing after it.
func decode(data []byte, fields []field) error {
	if !utf8.Valid(data) {
		return alloc.Errorf(alloc.CodeInvalidRequest, "the body is not valid UTF-8")
	}
	if len(bytes.Trim(data, " \t\r\n")) == 0 {
		return nil
	}
	return readMembers("the body", "", data, fields)
}

// readMembers reads an object with members that are all known, each at most once. within is what the names of the fields
// have before those of the members.
func readMembers(what, within string, data []byte, fields []field) error {
	return readObject(what, data, func(name string, value []byte) error {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == within+name })
		if i < 0 {
			return unknownField(within, name, fields)
		}
		return fields[i].read(value)
	})
}

func unknownField(within, name string, fields []field) error {
	name = within + name
	if len(fields) == 0 {
		return alloc.Errorf(alloc.CodeInvalidRequest, "the field %s is not known; this request takes no fields", quote(name))
	}
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.name
	}
	return alloc.Errorf(alloc.CodeInvalidRequest, "the field %s is not known; known are: %s", quote(name), strings.Join(known, ", "))
}

// readObject gives each member of the JSON object in data to visit, in order. It refuses what is not exactly one object,
// and an object with a name twice: encoding/json takes the last, others the first.
func readObject(what string, data []byte, visit func(name string, value []byte) error) error {
	if got := kindOf(data); got != "an object" {
		if !json.Valid(data) {
			return badJSON(what, data)
		}
		return alloc.Errorf(alloc.CodeInvalidRequest, "%s must be a JSON object, not %s", what, got)
	}
	if !json.Valid(data) {
		return badJSON(what, data)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return notRead(what, err)
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return notRead(what, err)
		}
		name, _ := token.(string)
		if seen[name] {
			return alloc.Errorf(alloc.CodeInvalidRequest, "%s has the field %s twice; give it once", what, quote(name))
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return notRead(what, err)
		}
		if err := visit(name, value); err != nil {
			return err
		}
	}
	return nil
}

// badJSON says where the JSON is broken.
func badJSON(what string, data []byte) error {
	var v json.RawMessage
	d := json.NewDecoder(bytes.NewReader(data))
	err := d.Decode(&v)
	if err == nil {
		return alloc.Errorf(alloc.CodeInvalidRequest, "%s has something after its JSON value (byte %d); send one object", what, d.InputOffset())
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return alloc.Errorf(alloc.CodeInvalidRequest, "%s is not valid JSON: it ends too early", what).Because(err)
	}
	return notRead(what, err)
}

func notRead(what string, err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return alloc.Errorf(alloc.CodeInvalidRequest, "%s is not valid JSON: %s (byte %d)", what, e.Error(), e.Offset).Because(err)
	}
	return alloc.Errorf(alloc.CodeInvalidRequest, "%s is not valid JSON", what).Because(err)
}
