package dynamo

import (
	"context"
	"errors"
	"time"

	"idpool/alloc"
)

func poolDamaged(name alloc.PoolName) *alloc.Error {
	return alloc.Errorf(alloc.CodePoolDamaged, "the pool %q has lost a part of its data and must be rebuilt by an administrator; nothing was taken", name)
}

func poolRebuilding(name alloc.PoolName) *alloc.Error {
	return alloc.Errorf(alloc.CodePoolRebuilding, "the pool %q is being rebuilt; try again in a moment", name).After(5 * time.Second)
}

func poolExhausted(name alloc.PoolName, n int) *alloc.Error {
	return alloc.Exhausted(name, alloc.Count(n))
}

func poolBusy(name alloc.PoolName) *alloc.Error {
	return alloc.Errorf(alloc.CodeBusy, "too many requests want the last IDs of the pool %q at this moment; nothing was taken; try again", name).After(time.Second)
}

func poolUnclear(name alloc.PoolName) *alloc.Error {
	e := alloc.Errorf(alloc.CodeUnavailable, "the batch could not be had from the pool %q, nor all of it be given back; some IDs may stay claimed; try again, with an Idempotency-Key to rule this out", name)
	e.Unknown = true
	return e.After(time.Second)
}

func poolUnswept(name alloc.PoolName) *alloc.Error {
	return alloc.Errorf(alloc.CodeBusy, "the pool %q waits to be swept before it can tell what is left; nothing was taken; try again", name).After(30 * time.Second)
}

func poolContended(name alloc.PoolName) *alloc.Error {
	return alloc.Errorf(alloc.CodeBusy, "the pool %q is being changed by others at this moment; try again", name).After(time.Second)
}

func keyBusy() *alloc.Error {
	return alloc.Errorf(alloc.CodeKeyBusy, "an earlier attempt with this Idempotency-Key is being given back; repeat it in a minute").After(30 * time.Second)
}

// outOfTime is the error of a call whose context ended while it waited.
func outOfTime(ctx context.Context) *alloc.Error {
	return alloc.Errorf(alloc.CodeUnavailable, "the request ended before it was done; try again").
		After(time.Second).Because(context.Cause(ctx))
}

// unsettled returns err with Unknown set: a part of the step was done.
func unsettled(err error) error {
	e, ok := errors.AsType[*alloc.Error](err)
	if !ok {
		return err
	}
	c := *e
	c.Unknown = true
	return &c
}

// isUnknown reports whether the write that failed with err may have been applied.
func isUnknown(err error) bool {
	e, ok := errors.AsType[*alloc.Error](err)
	return ok && e.Unknown
}

// refusedBy returns the item that made a condition fail; ok is false for every other error.
func refusedBy(err error) (old Item, ok bool) {
	failed, ok := errors.AsType[*ConditionFailed](err)
	if !ok {
		return nil, false
	}
	return failed.Old, true
}
