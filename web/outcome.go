package web

import (
	"context"
	"net/http"

	"idpool/alloc"
)

// Outcome is what became of a request, in a word for the log and the metrics.
type Outcome string

// The outcomes.
const (
	OutcomeFirst      Outcome = "first"       // it was done
	OutcomeReplay     Outcome = "replay"      // its key had an answer, which was given again
	OutcomeCarriedOut Outcome = "carried_out" // what an earlier request with its key had begun was done for it
	OutcomeMismatch   Outcome = "mismatch"    // its key had been used for another request
	OutcomeEnded      Outcome = "ended"       // all that its key had taken has come back since
	OutcomeVoided     Outcome = "voided"      // what its key had taken is being given back
	OutcomeExhausted  Outcome = "exhausted"   // not enough was left
	OutcomeThrottled  Outcome = "throttled"   // the engine asked for less load
	OutcomeQuota      Outcome = "quota"       // the credential's quota was used up
	OutcomeRefused    Outcome = "refused"     // it was refused for another reason that is the client's
	OutcomeFailed     Outcome = "failed"      // it failed for a reason that is not
)

// outcomes are those that a code tells; of other codes the status does.
var outcomes = map[alloc.Code]Outcome{
	alloc.CodeKeyMismatch:       OutcomeMismatch,
	alloc.CodeKeyEnded:          OutcomeEnded,
	alloc.CodeKeyBusy:           OutcomeVoided,
	alloc.CodePoolExhausted:     OutcomeExhausted,
	alloc.CodeSequenceExhausted: OutcomeExhausted,
	alloc.CodeThrottled:         OutcomeThrottled,
	alloc.CodeQuotaExceeded:     OutcomeQuota,
}

// otherOperation is the operation of a request that none of the API's was asked for by: a page, or nothing that is there.
const otherOperation = "other"

// SetOperation names the operation that the request asks for, one of a few.
func SetOperation(ctx context.Context, name string) {
	note(ctx, func(e *event) { e.operation = name })
}

// SetOutcome says what became of a request that was answered with success. Without it such a request is OutcomeFirst.
func SetOutcome(ctx context.Context, o Outcome) {
	note(ctx, func(e *event) { e.outcome = o })
}

// setCode says with which problem the request was answered.
func setCode(ctx context.Context, code alloc.Code) {
	note(ctx, func(e *event) { e.code = code })
}

// note changes the event of the request that ctx belongs to, if there is one.
func note(ctx context.Context, change func(*event)) {
	if e, ok := ctx.Value(eventKey{}).(*event); ok {
		e.mu.Lock()
		defer e.mu.Unlock()
		change(e)
	}
}

// outcomeOf is the outcome of a request that was answered with the status.
func (e *event) outcomeOf(status int) Outcome {
	if o, ok := outcomes[e.code]; ok {
		return o
	}
	switch {
	case status >= http.StatusInternalServerError:
		return OutcomeFailed
	case status >= http.StatusBadRequest:
		return OutcomeRefused
	case e.outcome != "":
		return e.outcome
	}
	return OutcomeFirst
}
