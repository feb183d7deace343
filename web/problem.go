package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"idpool/alloc"
)

// Problem is the body of every error: application/problem+json of RFC 9457.
type Problem struct {
	Type      string     `json:"type"`
	Title     string     `json:"title"`
	Status    int        `json:"status"`
	Detail    string     `json:"detail"`
	Code      alloc.Code `json:"code"`
	RequestID string     `json:"request_id,omitzero"`

	// Documentation is where to read on: a path on this server.
	Documentation string `json:"documentation,omitzero"`

	// CurrentVersion is the present version of the thing, with version_mismatch. It comes as ETag too.
	CurrentVersion alloc.Version `json:"current_version,omitzero"`

	// IDs are those for which the request was refused, with the reason for each. Where there are any, nothing was done for
	// the others either.
	IDs []ProblemID `json:"ids,omitempty"`

	// Remaining is how many numbers are left, with sequence_exhausted.
	Remaining *alloc.Count `json:"remaining,omitempty"`

	// OutcomeUnknown says that the request may have been carried out although it is reported as failed. A repeat with
	// the same Idempotency-Key finds out.
	OutcomeUnknown bool `json:"outcome_unknown,omitzero"`

	// Report is what was done before it failed, in the form of the answer of a success.
	Report any `json:"report,omitempty"`
}

// ProblemID is one ID that a request could not be carried out for.
type ProblemID struct {
	ID   alloc.ID   `json:"id"`
	Code alloc.Code `json:"code"`
}

// documentation is where the contract of the API says more of a code.
var documentation = map[alloc.Code]string{
	alloc.CodeKeyRequired: "/openapi.json#/components/parameters/IdempotencyKey",
	alloc.CodeInvalidKey:  "/openapi.json#/components/parameters/IdempotencyKey",
}

// internalDetail is all that a client learns of a fault of ours.
const internalDetail = "something went wrong on our side; repeat the request with the same Idempotency-Key, and if it fails again report the request_id"

// WriteError answers with the problem document of err.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	p := Describe(w, r, err)
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // a Problem has nothing that JSON cannot say, and a report is an answer of ours
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	w.Write(append(body, '\n')) //nolint:errcheck // the client is gone; there is nobody to tell
}

// Describe returns the problem document of err for an answer in any form, sets the headers that belong to it, and leaves
// its code in the log event of the request. The cause of an error reaches the log alone, and only where the fault is not
// the client's: messages of the others may quote IDs.
func Describe(w http.ResponseWriter, r *http.Request, err error) Problem {
	e := asError(err)
	p := problemOf(e)
	p.RequestID = RequestID(r.Context())
	if reported, ok := errors.AsType[*reportedError](err); ok {
		p.Report = reported.report
	}
	setCode(r.Context(), p.Code)
	if p.Status >= http.StatusInternalServerError {
		Note(r.Context(), slog.String(KeyError, e.Error()))
	}
	if e.Throttle != "" {
		Note(r.Context(), slog.String(KeyThrottle, e.Throttle))
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if p.CurrentVersion != 0 {
		h.Set("ETag", ETag(p.CurrentVersion))
	}
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", RetryAfter(e.RetryAfter))
	case http.StatusUnauthorized:
		if h.Get("WWW-Authenticate") == "" {
			h.Set("WWW-Authenticate", "Bearer")
		}
	}
	return p
}

// Explain returns the code and the client-safe sentence of an error that spoils only a part of an answer, and leaves the
// whole of it in the log event of the request.
func Explain(ctx context.Context, err error) (code alloc.Code, detail string) {
	e := asError(err)
	p := problemOf(e)
	if p.Status >= http.StatusInternalServerError {
		Note(ctx, slog.String(KeyPartialError, e.Error()))
	}
	return p.Code, p.Detail
}

// WithReport adds to an error what was done before it; the client finds it in the problem document.
func WithReport(err error, report any) error { return &reportedError{err, report} }

type reportedError struct {
	error
	report any
}

func (e *reportedError) Unwrap() error { return e.error }

func problemOf(e *alloc.Error) Problem {
	code := e.Code
	k, ok := kinds[code]
	if !ok {
		code, k = alloc.CodeInternal, kinds[alloc.CodeInternal]
	}
	p := Problem{
		Type: "urn:idpool:problem:" + string(code), Title: k.title, Status: k.status, Detail: e.Message, Code: code,
		Documentation: documentation[code], CurrentVersion: e.Current, OutcomeUnknown: e.Unknown,
	}
	for _, fault := range e.IDs {
		p.IDs = append(p.IDs, ProblemID(fault))
	}
	switch code {
	case alloc.CodeInternal:
		p.Detail = internalDetail
	case alloc.CodeSequenceExhausted:
		p.Remaining = &e.Remaining
	}
	return p
}

// asError finds the domain's error in err. An error without one is a fault of ours, except that a context that ended is
// an answer that did not come in time.
func asError(err error) *alloc.Error {
	if e, ok := errors.AsType[*alloc.Error](err); ok {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		e := alloc.Errorf(alloc.CodeUnavailable, "the request was not finished in time; repeat it with the same Idempotency-Key").Because(err)
		e.Unknown = true
		return e
	}
	return alloc.Errorf(alloc.CodeInternal, "unexpected error").Because(err)
}

// RetryAfter is a hint as the header of that name has it: whole seconds, rounded up, at least 1.
func RetryAfter(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}
