package web

import (
	"errors"
	"io"
	"net/http"

	"idpool/alloc"
)

// MaxBody is the most bytes that a request's body may have.
const MaxBody = 1 << 20

// limited lets a handler read at most MaxBody bytes.
func limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		}
		next.ServeHTTP(w, r)
	})
}

// ReadBody reads the whole body. One above MaxBody is CodeTooLarge, with advice as to what to do instead.
func ReadBody(r *http.Request, advice string) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || len(body) > MaxBody {
		return nil, alloc.Errorf(CodeTooLarge, "the body is larger than 1 MB (%d bytes); %s", MaxBody, advice)
	}
	if err != nil {
		return nil, alloc.Errorf(alloc.CodeInvalidRequest, "the body could not be read to its end; send it again").Because(err)
	}
	return body, nil
}
