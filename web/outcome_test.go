package web

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"idpool/alloc"
)

func TestOutcomesOfCodes(t *testing.T) {
	want := map[alloc.Code]Outcome{
		alloc.CodeKeyMismatch: OutcomeMismatch, alloc.CodeKeyEnded: OutcomeEnded, alloc.CodeKeyBusy: OutcomeVoided,
		alloc.CodePoolExhausted: OutcomeExhausted, alloc.CodeSequenceExhausted: OutcomeExhausted, alloc.CodeThrottled: OutcomeThrottled,
		alloc.CodeQuotaExceeded: OutcomeQuota,
	}
	for code, k := range kinds {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			SetOutcome(r.Context(), OutcomeReplay) // what is no success is none
			WriteError(w, r, alloc.Errorf(code, "sentence"))
		})
		_, events := served(t, h, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
		expected, special := want[code]
		switch {
		case special:
		case k.status >= http.StatusInternalServerError:
			expected = OutcomeFailed
		default:
			expected = OutcomeRefused
		}
		if got := events[0][KeyOutcome]; got != string(expected) || events[0][KeyCode] != string(code) {
			t.Errorf("%s: %v, %v; want %s", code, got, events[0][KeyCode], expected)
		}
	}
}

func TestOutcomesOfSuccesses(t *testing.T) {
	for name, tt := range map[string]struct {
		say  func(r *http.Request)
		want Outcome
	}{
		"by itself it is the first":     {func(*http.Request) {}, OutcomeFirst},
		"a replay says so":              {func(r *http.Request) { SetOutcome(r.Context(), OutcomeReplay) }, OutcomeReplay},
		"so does work for another":      {func(r *http.Request) { SetOutcome(r.Context(), OutcomeCarriedOut) }, OutcomeCarriedOut},
		"a page that failed has failed": {func(r *http.Request) { SetOutcome(r.Context(), OutcomeFirst) }, OutcomeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				tt.say(r)
				if tt.want == OutcomeFailed {
					w.WriteHeader(http.StatusInternalServerError)
				}
			})
			_, events := served(t, h, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			if events[0][KeyOutcome] != string(tt.want) || events[0][KeyOperation] != otherOperation {
				t.Errorf("outcome %v of %v, want %s of %s", events[0][KeyOutcome], events[0][KeyOperation], tt.want, otherOperation)
			}
		})
	}
}

// Outside a Stack there is no event to note anything in.
func TestOutsideAStackNothingIsNoted(t *testing.T) {
	SetOperation(t.Context(), "claim")
	SetOutcome(t.Context(), OutcomeReplay)
	if RequestID(t.Context()) != "" {
		t.Error("there is a request ID")
	}
}
