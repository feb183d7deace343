package web

import (
	"errors"
	"io"
	"net/http"

	"idpool/alloc"
)

// MaxBody is the most bytes that a request's body may have, and MaxUpload the most where it is a file. A gateway that sends
// a file on in base64 to a function, which takes 6 MB, has room for as much and its headers.
const (
	MaxBody   = 1 << 20
	MaxUpload = 4 << 20
)

// limited lets a handler read at most MaxBody bytes, unless it reads a file by ReadUpload.
func limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil {
			r.Body = &limitedBody{http.MaxBytesReader(w, r.Body, MaxBody), w, r.Body}
		}
		next.ServeHTTP(w, r)
	})
}

// limitedBody is a body that can be read to MaxBody, and what it was before that.
type limitedBody struct {
	io.ReadCloser
	w     http.ResponseWriter
	whole io.ReadCloser
}

// ReadBody reads the whole body. One above MaxBody is CodeTooLarge, with advice as to what to do instead.
func ReadBody(r *http.Request, advice string) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	return readTo(r.Body, MaxBody, advice)
}

// ReadUpload reads the whole body, which is a file. One above MaxUpload is CodeTooLarge, with advice as to what to do
// instead. Nothing of the body may have been read before.
func ReadUpload(r *http.Request, advice string) ([]byte, error) {
	body := r.Body
	if body == nil {
		return nil, nil
	}
	if b, ok := body.(*limitedBody); ok {
		body = http.MaxBytesReader(b.w, b.whole, MaxUpload)
	}
	return readTo(body, MaxUpload, advice)
}

func readTo(body io.Reader, most int, advice string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, int64(most)+1))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || len(data) > most {
		return nil, alloc.Errorf(CodeTooLarge, "the body is larger than %d MB (%d bytes); %s", most>>20, most, advice)
	}
	if err != nil {
		return nil, alloc.Errorf(alloc.CodeInvalidRequest, "the body could not be read to its end; send it again").Because(err)
	}
	return data, nil
}
