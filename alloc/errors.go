package alloc

import (
	"errors"
	"fmt"
	"time"
)

// Code is one of the closed set of reasons for which an operation refuses. It is stable: clients decide by it.
type Code string

// The codes. web/problems.go has the one table from code to HTTP status.
const (
	CodeInvalidRequest Code = "invalid_request" // malformed body, unknown field, wrong type
	CodeInvalidName    Code = "invalid_name"    // pool or sequence name against the rule of [CheckName]
	CodeInvalidID      Code = "invalid_id"      // an ID against the rule of [CheckID]
	CodeInvalidCount   Code = "invalid_count"   // a count outside the stated range
	CodeInvalidConfig  Code = "invalid_config"  // a configuration that cannot work, or a change that is not allowed
	CodeInvalidKey     Code = "invalid_key"     // an Idempotency-Key against the rule of [CheckKey]

	CodeInvalidCursor Code = "invalid_cursor" // a cursor that no list of this kind has given
	CodeKeyRequired   Code = "key_required"   // the configuration demands an Idempotency-Key

	CodeUnauthenticated Code = "unauthenticated" // no caller, or a credential that is not known
	CodeForbidden       Code = "forbidden"       // the caller's scopes do not cover action and name

	CodePoolNotFound       Code = "pool_not_found"
	CodeSequenceNotFound   Code = "sequence_not_found"
	CodeIDNotFound         Code = "id_not_found"
	CodeCredentialNotFound Code = "credential_not_found"
	CodeJobNotFound        Code = "job_not_found"
	CodeBreakNotFound      Code = "break_not_found" // of the trail

	CodeNotOwner          Code = "not_owner"          // the token does not own the ID, or not any more
	CodeIDRetired         Code = "id_retired"         // retired for good
	CodeCredentialRevoked Code = "credential_revoked" // it can no longer be changed or rotated
	CodeJobEnded          Code = "job_ended"          // it can no longer be cancelled
	CodeQuotaExceeded     Code = "quota_exceeded"     // the credential's hourly quota is used up; repeat after RetryAfter
	CodeTooManyJobs       Code = "too_many_jobs"      // of this client are under way, or were made in the last hour; repeat after RetryAfter

	CodePoolExists      Code = "pool_exists"      // created before with another configuration
	CodeSequenceExists  Code = "sequence_exists"  // created before with another configuration
	CodeVersionMismatch Code = "version_mismatch" // changed since the version the caller knows
	CodePoolDeleted     Code = "pool_deleted"     // tombstone: the name is never used again
	CodeSequenceDeleted Code = "sequence_deleted" // tombstone: the name is never used again

	CodePoolExhausted     Code = "pool_exhausted"     // fewer free IDs than asked for; nothing was taken
	CodeSequenceExhausted Code = "sequence_exhausted" // fewer numbers left than asked for; nothing was taken
	CodePoolPaused        Code = "pool_paused"        // claims are refused until somebody resumes the pool
	CodePoolDraining      Code = "pool_draining"      // seeding is refused; claims go on
	CodePoolActive        Code = "pool_active"        // it serves claims, and is paused or drained before it is deleted
	CodeSequencePaused    Code = "sequence_paused"
	CodeSequenceActive    Code = "sequence_active" // it serves leases, and is paused before it is deleted

	CodePoolRebuilding  Code = "pool_rebuilding"  // a rebuild is on; soon over
	CodePoolDamaged     Code = "pool_damaged"     // its head is lost; rebuild it
	CodeSequenceStopped Code = "sequence_stopped" // its counter is missing, behind its ledger or below its high-water mark; rebuild it

	CodeSequenceRebuilding Code = "sequence_rebuilding" // a rebuild has frozen it
	CodeSequenceResuming   Code = "sequence_resuming"   // rebuilt, and serves a share of the callers only, for now
	CodeRebuildStep        Code = "rebuild_step"        // the rebuild is not at the step that this needs, or a pool has to be paused first
	CodePlanChanged        Code = "plan_changed"        // it is not the present plan of the rebuild; look at that one
	CodeNoEvidence         Code = "no_evidence"         // nothing but the counter tells where the sequence stands

	CodeKeyMismatch Code = "key_mismatch" // the Idempotency-Key was used for a different request
	CodeKeyEnded    Code = "key_ended"    // every ID that this key claimed has been released or retired since
	CodeKeyBusy     Code = "key_busy"     // what an earlier attempt with this key took is being given back

	CodeBusy        Code = "busy"        // too much contention right now; nothing was taken; repeat
	CodeThrottled   Code = "throttled"   // the engine asked for less load; repeat after RetryAfter
	CodeUnavailable Code = "unavailable" // the engine did not answer; the outcome may be unknown
	CodeInternal    Code = "internal"    // a fault of ours
)

// Error is the one error type of the domain and of every Store. Message is safe to show to a client and says what to
// do; Cause is for the log only.
type Error struct {
	Code    Code
	Message string

	// RetryAfter is a hint for codes where a repeat makes sense; zero means none.
	RetryAfter time.Duration

	// Unknown says that the step may have been applied although it is reported as failed. A repeat with the same
	// Idempotency-Key (or the same job) finds out. False means that nothing was taken or changed.
	Unknown bool

	// Current is the present version of the thing, with CodeVersionMismatch.
	Current Version

	// Remaining is how much is left, with CodeSequenceExhausted.
	Remaining Count

	// IDs are those for which an order was refused, with the reason for each; with the codes of Refused.
	IDs []IDFault

	// Throttle is why the engine refused, in its own words, such as TableWriteKeyRangeThroughputExceeded; with CodeThrottled, for
	// logs and metrics. "" where it gave no reason.
	Throttle string

	Cause error
}

// Error returns the code, the message and the cause: for logs. Clients get Message alone.
func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Message
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the hidden cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error with a client-safe message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Because returns a copy of e with a hidden cause.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// After returns a copy of e with a retry hint.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// asError returns err as an *Error: one that is none is a fault of ours.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(CodeInternal, "something went wrong on our side").Because(err)
}

// CodeOf returns the code of err: "" for nil, CodeInternal for an error that carries none.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Is reports whether err carries the code.
func Is(err error, code Code) bool { return err != nil && CodeOf(err) == code }
