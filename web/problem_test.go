package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

func TestProblems(t *testing.T) {
	unknown := alloc.Errorf(alloc.CodeUnavailable, "no answer").Because(errors.New("secret cause"))
	unknown.Unknown = true
	mismatch := alloc.Errorf(alloc.CodeVersionMismatch, "changed")
	mismatch.Current = 7
	exhausted := alloc.Errorf(alloc.CodeSequenceExhausted, "none left")
	refused := alloc.Refused(alloc.EventConfirm, []alloc.IDFault{{ID: "A-1", Code: alloc.CodeNotOwner}, {ID: "A-2", Code: alloc.CodeIDRetired}})

	tests := map[string]struct {
		err        error
		status     int
		retryAfter string
		challenge  string
		etag       string
		want       Problem
	}{
		"a refusal says its sentence": {
			err: alloc.Errorf(alloc.CodePoolExhausted, "seed it"), status: 409,
			want: Problem{Title: "Pool exhausted", Detail: "seed it", Code: "pool_exhausted"},
		},
		"a wrapped refusal is found": {
			err: fmt.Errorf("claim: %w", alloc.Errorf(alloc.CodePoolPaused, "wait")), status: 409,
			want: Problem{Title: "Pool paused", Detail: "wait", Code: "pool_paused"},
		},
		"a retry hint is rounded up to seconds": {
			err: alloc.Errorf(alloc.CodeThrottled, "slower").After(1200 * time.Millisecond), status: 503, retryAfter: "2",
			want: Problem{Title: "Throttled", Detail: "slower", Code: "throttled"},
		},
		"without a hint the client waits a second": {
			err: alloc.Errorf(alloc.CodeKeyBusy, "wait"), status: 503, retryAfter: "1",
			want: Problem{Title: "Idempotency-Key busy", Detail: "wait", Code: "key_busy"},
		},
		"an unknown outcome is said, its cause is not": {
			err: unknown, status: 503, retryAfter: "1",
			want: Problem{Title: "Unavailable", Detail: "no answer", Code: "unavailable", OutcomeUnknown: true},
		},
		"the current version comes along": {
			err: mismatch, status: 412, etag: `"7"`,
			want: Problem{Title: "Changed since", Detail: "changed", Code: "version_mismatch", CurrentVersion: 7},
		},
		"what is left comes along, also when it is nothing": {
			err: exhausted, status: 409,
			want: Problem{Title: "Sequence exhausted", Detail: "none left", Code: "sequence_exhausted", Remaining: new(alloc.Count(0))},
		},
		"each ID that was refused is named with its reason": {
			err: refused, status: 409,
			want: Problem{
				Title: "Not the owner", Detail: refused.Message, Code: "not_owner",
				IDs: []ProblemID{{"A-1", "not_owner"}, {"A-2", "id_retired"}},
			},
		},
		"a key that is missing comes with where to read of keys": {
			err: alloc.Errorf(alloc.CodeKeyRequired, "send one"), status: 400,
			want: Problem{
				Title: "Idempotency-Key required", Detail: "send one", Code: "key_required",
				Documentation: "/openapi.json#/components/parameters/IdempotencyKey",
			},
		},
		"a quota that is used up says when it begins anew": {
			err: alloc.Errorf(alloc.CodeQuotaExceeded, "wait").After(25 * time.Minute), status: 429, retryAfter: "1500",
			want: Problem{Title: "Quota exceeded", Detail: "wait", Code: "quota_exceeded"},
		},
		"a fault of ours is opaque": {
			err: alloc.Errorf(alloc.CodeInternal, "table arn:aws:secret"), status: 500,
			want: Problem{Title: "Internal error", Detail: internalDetail, Code: "internal"},
		},
		"an error of no kind is a fault of ours": {
			err: errors.New("secret"), status: 500,
			want: Problem{Title: "Internal error", Detail: internalDetail, Code: "internal"},
		},
		"a code that is in no table is a fault of ours": {
			err: alloc.Errorf("strange", "secret"), status: 500,
			want: Problem{Title: "Internal error", Detail: internalDetail, Code: "internal"},
		},
		"a context that ended is an answer that did not come in time": {
			err: fmt.Errorf("read: %w", context.DeadlineExceeded), status: 503, retryAfter: "1",
			want: Problem{
				Title: "Unavailable", Code: "unavailable", OutcomeUnknown: true,
				Detail: "the request was not finished in time; repeat it with the same Idempotency-Key",
			},
		},
		"without a credential the client learns how to send one": {
			err: alloc.Errorf(alloc.CodeUnauthenticated, "sign in"), status: 401, challenge: "Bearer",
			want: Problem{Title: "Credential missing or not known", Detail: "sign in", Code: "unauthenticated"},
		},
		"a report of what was done before comes along": {
			err: WithReport(alloc.Errorf(alloc.CodeBusy, "half"), map[string]any{"added": 5.0}), status: 503, retryAfter: "1",
			want: Problem{Title: "Busy", Detail: "half", Code: "busy", Report: map[string]any{"added": 5.0}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			WriteError(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil), tt.err)

			tt.want.Type, tt.want.Status = "urn:idpool:problem:"+string(tt.want.Code), tt.status
			var got Problem
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatalf("body %q: %v", w.Body, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problem (-want +got):\n%s", diff)
			}
			if w.Code != tt.status {
				t.Errorf("status %d, want %d", w.Code, tt.status)
			}
			for header, want := range map[string]string{
				"Retry-After": tt.retryAfter, "WWW-Authenticate": tt.challenge, "ETag": tt.etag,
				"Content-Type": "application/problem+json", "Cache-Control": "no-store",
			} {
				if got := w.Header().Get(header); got != want {
					t.Errorf("%s: %q, want %q", header, got, want)
				}
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the body tells what is for the log: %s", w.Body)
			}
		})
	}
}
