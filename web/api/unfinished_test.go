package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// What is not finished is answered, with when to come again, and not kept: a repeat with the key goes on with it, by the intent of the
// first attempt, and the last word is kept.
func TestWhatIsNotFinishedGoesOnUnderItsKey(t *testing.T) {
	svc, err := alloc.NewService(alloc.Config{Store: alloctest.NewModel(nil)})
	if err != nil {
		t.Fatal(err)
	}
	var intents []alloc.Token
	work := func(_ context.Context, q request) (answer, error) {
		intents = append(intents, q.attempt.Intent)
		if len(intents) < 3 {
			return answer{status: http.StatusAccepted, body: len(intents), again: 1500 * time.Millisecond}, nil
		}
		return answer{status: http.StatusOK, body: len(intents)}, nil
	}
	h := served{Route{Method: post, Path: "/work", Operation: "work", Need: alloc.ActionManage, On: Everything, Keys: KeysAnswered, read: plain(work)}, svc}
	all := alloc.WithCaller(t.Context(), alloc.Caller{Client: "admin", Scopes: []alloc.Scope{{Action: "*", Pattern: "*"}}})
	for attempt, want := range []struct {
		status                int
		body, after, replayed string
	}{
		{http.StatusAccepted, "1\n", "2", ""}, {http.StatusAccepted, "2\n", "2", ""}, {http.StatusOK, "3\n", "", "true"}, {http.StatusOK, "3\n", "", "true"},
	} {
		r := httptest.NewRequestWithContext(all, post, "/work", nil)
		r.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		after, replayed := w.Header().Get("Retry-After"), w.Header().Get("Idempotent-Replayed")
		if w.Code != want.status || w.Body.String() != want.body || after != want.after || replayed != want.replayed {
			t.Errorf("attempt %d: %d %q, Retry-After %q, replayed %q; want %+v", attempt, w.Code, w.Body, after, replayed, want)
		}
	}
	if len(intents) != 3 || intents[0] == "" || intents[1] != intents[0] || intents[2] != intents[0] {
		t.Errorf("the intents are %q, want the same three times", intents)
	}
}
