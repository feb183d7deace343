package web

import (
	"net/http"

	"idpool/alloc"
)

// The codes of what only an HTTP edge can refuse. They are as stable as those of the domain.
const (
	CodeNotFound             alloc.Code = "not_found"              // no such route
	CodeMethodNotAllowed     alloc.Code = "method_not_allowed"     // the route has other methods: see Allow
	CodeTooLarge             alloc.Code = "too_large"              // body above MaxBody, or file above MaxUpload
	CodeUnsupportedMediaType alloc.Code = "unsupported_media_type" // a body of a type that the route does not read
	CodeTooManyRequests      alloc.Code = "too_many_requests"      // of one address, or in all; repeat after Retry-After
	CodeVersionRequired      alloc.Code = "version_required"       // a change that does not say which version it changes
)

// kind is how an error code appears over HTTP.
type kind struct {
	status int
	title  string // the same for every problem of the code; the detail says what happened this time
}

// kinds is the one table from error code to status. A test holds it against the constants of alloc and of this package.
var kinds = map[alloc.Code]kind{
	alloc.CodeInvalidRequest: {http.StatusBadRequest, "Invalid request"},
	alloc.CodeInvalidName:    {http.StatusBadRequest, "Invalid name"},
	alloc.CodeInvalidID:      {http.StatusBadRequest, "Invalid ID"},
	alloc.CodeInvalidCount:   {http.StatusBadRequest, "Invalid count"},
	alloc.CodeInvalidConfig:  {http.StatusBadRequest, "Invalid configuration"},
	alloc.CodeInvalidKey:     {http.StatusBadRequest, "Invalid Idempotency-Key"},
	alloc.CodeInvalidCursor:  {http.StatusBadRequest, "Invalid cursor"},
	alloc.CodeKeyRequired:    {http.StatusBadRequest, "Idempotency-Key required"},

	alloc.CodeUnauthenticated: {http.StatusUnauthorized, "Credential missing or not known"},
	alloc.CodeForbidden:       {http.StatusForbidden, "Not permitted"},

	alloc.CodePoolNotFound:       {http.StatusNotFound, "Pool not found"},
	alloc.CodeSequenceNotFound:   {http.StatusNotFound, "Sequence not found"},
	alloc.CodeIDNotFound:         {http.StatusNotFound, "ID not found"},
	alloc.CodeCredentialNotFound: {http.StatusNotFound, "Credential not found"},
	alloc.CodeJobNotFound:        {http.StatusNotFound, "Job not found"},
	alloc.CodeBreakNotFound:      {http.StatusNotFound, "Break not found"},

	alloc.CodeNotOwner:          {http.StatusConflict, "Not the owner"},
	alloc.CodeIDRetired:         {http.StatusConflict, "ID retired"},
	alloc.CodeCredentialRevoked: {http.StatusConflict, "Credential revoked"},
	alloc.CodeJobEnded:          {http.StatusConflict, "Job ended"},
	alloc.CodeQuotaExceeded:     {http.StatusTooManyRequests, "Quota exceeded"},
	alloc.CodeTooManyJobs:       {http.StatusTooManyRequests, "Too many jobs"},

	alloc.CodePoolExists:      {http.StatusConflict, "Pool exists"},
	alloc.CodeSequenceExists:  {http.StatusConflict, "Sequence exists"},
	alloc.CodeVersionMismatch: {http.StatusPreconditionFailed, "Changed since"},
	alloc.CodePoolDeleted:     {http.StatusGone, "Pool deleted"},
	alloc.CodeSequenceDeleted: {http.StatusGone, "Sequence deleted"},

	alloc.CodePoolExhausted:     {http.StatusConflict, "Pool exhausted"},
	alloc.CodeSequenceExhausted: {http.StatusConflict, "Sequence exhausted"},
	alloc.CodePoolPaused:        {http.StatusConflict, "Pool paused"},
	alloc.CodePoolDraining:      {http.StatusConflict, "Pool draining"},
	alloc.CodePoolActive:        {http.StatusConflict, "Pool active"},
	alloc.CodeSequencePaused:    {http.StatusConflict, "Sequence paused"},
	alloc.CodeSequenceActive:    {http.StatusConflict, "Sequence active"},

	alloc.CodePoolRebuilding:  {http.StatusServiceUnavailable, "Pool is being rebuilt"},
	alloc.CodePoolDamaged:     {http.StatusServiceUnavailable, "Pool damaged"},
	alloc.CodeSequenceStopped: {http.StatusServiceUnavailable, "Sequence stopped"},

	alloc.CodeSequenceRebuilding: {http.StatusServiceUnavailable, "Sequence is being rebuilt"},
	alloc.CodeSequenceResuming:   {http.StatusServiceUnavailable, "Sequence is resuming"},
	alloc.CodeRebuildStep:        {http.StatusConflict, "Another step comes first"},
	alloc.CodePlanChanged:        {http.StatusConflict, "Plan changed"},
	alloc.CodeNoEvidence:         {http.StatusConflict, "No evidence"},

	alloc.CodeKeyMismatch: {http.StatusUnprocessableEntity, "Idempotency-Key used for another request"},
	alloc.CodeKeyEnded:    {http.StatusGone, "Idempotency-Key ended"},
	alloc.CodeKeyBusy:     {http.StatusServiceUnavailable, "Idempotency-Key busy"},

	alloc.CodeBusy:        {http.StatusServiceUnavailable, "Busy"},
	alloc.CodeThrottled:   {http.StatusServiceUnavailable, "Throttled"},
	alloc.CodeUnavailable: {http.StatusServiceUnavailable, "Unavailable"},
	alloc.CodeInternal:    {http.StatusInternalServerError, "Internal error"},

	CodeNotFound:             {http.StatusNotFound, "Not found"},
	CodeMethodNotAllowed:     {http.StatusMethodNotAllowed, "Method not allowed"},
	CodeTooLarge:             {http.StatusRequestEntityTooLarge, "Body too large"},
	CodeUnsupportedMediaType: {http.StatusUnsupportedMediaType, "Unsupported media type"},
	CodeTooManyRequests:      {http.StatusTooManyRequests, "Too many requests"},
	CodeVersionRequired:      {http.StatusPreconditionRequired, "Version required"},
}

// StatusOf returns the HTTP status of a code: 500 for one that is not in the table.
func StatusOf(code alloc.Code) int {
	if k, ok := kinds[code]; ok {
		return k.status
	}
	return http.StatusInternalServerError
}
