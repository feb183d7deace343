package dynamo

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"idpool/alloc"
)

// throttleCodes are the errors by which DynamoDB refuses because of load or a conflict of the moment: nothing was done,
// and a little later it will be. The SDK does not count the conflicts among them.
var throttleCodes = map[string]struct{}{
	(*types.ProvisionedThroughputExceededException)(nil).ErrorCode(): {},
	(*types.RequestLimitExceeded)(nil).ErrorCode():                   {},
	(*types.ThrottlingException)(nil).ErrorCode():                    {},
	(*types.TransactionConflictException)(nil).ErrorCode():           {},
	(*types.ReplicatedWriteConflictException)(nil).ErrorCode():       {},
}

// isThrottle also takes the 429 of a proxy before the service.
func isThrottle(err error) bool {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		if _, ok := throttleCodes[e.ErrorCode()]; ok {
			return true
		}
	}
	return statusOf(err) == http.StatusTooManyRequests
}

// throttleReasons returns the server's reasons, such as TableWriteKeyRangeThroughputExceeded; nil where it gave none.
func throttleReasons(err error) []string {
	var list []types.ThrottlingReason
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		list = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.RequestLimitExceeded](err); ok {
		list = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
		list = e.ThrottlingReasons
	}
	var reasons []string
	for _, r := range list {
		reasons = append(reasons, aws.ToString(r.Reason))
	}
	return reasons
}

// throttled is the refusal with a hint. One hot key is soon spread by the service; a limit of the table or the account
// lasts until the load falls.
func throttled(err error) *alloc.Error {
	after := time.Second
	reasons := throttleReasons(err)
	for _, r := range reasons {
		if strings.HasSuffix(r, "AccountLimitExceeded") || strings.HasSuffix(r, "MaxOnDemandThroughputExceeded") {
			after = 5 * time.Second
		}
	}
	e := alloc.Errorf(alloc.CodeThrottled, "the store is asked for more than it takes at present; try again in a moment").
		After(after).Because(&throttleError{reasons: reasons, err: err})
	e.Throttle = strings.Join(slices.Compact(slices.Sorted(slices.Values(reasons))), " ")
	return e
}

// throttleError shows the reasons in the log.
type throttleError struct {
	reasons []string
	err     error
}

func (e *throttleError) Error() string {
	if len(e.reasons) == 0 {
		return e.err.Error()
	}
	return strings.Join(e.reasons, ", ") + ": " + e.err.Error()
}

func (e *throttleError) Unwrap() error { return e.err }

// failure turns an error of the SDK, other than a failed condition, into one of ours. ctx is the caller's; seen is what
// its attempts met; write says that the operation changes something.
func failure(ctx context.Context, err error, seen *attempts, write bool) *alloc.Error {
	e := classify(ctx, err, seen)
	// A client that is not one of NewClient's tells nothing of its attempts: any of them may have been applied.
	e.Unknown = write && (seen.open || !seen.watched)
	return e
}

func classify(ctx context.Context, err error, seen *attempts) *alloc.Error {
	// When time runs out during the wait after a throttle, the last attempt tells more than the error.
	for _, err := range []error{err, seen.last} {
		if isThrottle(err) {
			return throttled(err)
		}
	}
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
		return alloc.Errorf(alloc.CodeUnavailable, "the store's table does not exist; an administrator must create it").
			After(30 * time.Second).Because(err)
	}
	if ctx.Err() != nil {
		return alloc.Errorf(alloc.CodeUnavailable, "the request ended before the store had answered; try again").
			After(time.Second).Because(errors.Join(context.Cause(ctx), err))
	}
	if isRefusal(err) {
		return internal(err)
	}
	if isUnreachable(err) {
		return alloc.Errorf(alloc.CodeUnavailable, "the store cannot be reached; try again in a moment").
			After(time.Second).Because(err)
	}
	return alloc.Errorf(alloc.CodeUnavailable, "the store did not answer in time; try again").
		After(time.Second).Because(err)
}

// isUnreachable reports whether there is no server to ask: nothing listens at its address, or its name has none. A
// connection that was not made in its time is no such case.
func isUnreachable(err error) bool {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// internal is a fault of ours: a request that the server does not accept, an item that was never written so.
func internal(err error) *alloc.Error {
	return alloc.Errorf(alloc.CodeInternal, "the request failed inside the service; report it with the request ID").Because(err)
}
