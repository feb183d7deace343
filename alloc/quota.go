package alloc

import (
	"context"
	"sync"
	"time"
)

// quotas hands out what credentials may use in an hour, from blocks that this process has taken of the Store: a hundredth
// of the quota, or what is asked for if that is more. So most requests cost no call, and all processes together never
// hand out more than the quota. A process's rest of a block is lost to the hour when it ends or is not asked again.
//
// At most one call of the Store per credential is in flight. As in segments, it runs in a goroutine of its own under a
// bound of its own, since others wait for it too. Clocks decide only which hour a unit counts for.
type quotas struct {
	store Credentials
	now   func() time.Time

	mu       sync.Mutex // never held across a call of the store
	accounts map[CredentialID]*account
}

// account is what this process has of one credential's quota for one hour.
type account struct {
	hour time.Time
	have Count      // units in stock
	out  Count      // units of requests under way, of which it is not known yet whether they are used
	dry  Count      // the limit under which the Store had nothing more; 0 if it was not found so
	call *quotaCall // in flight; nil for none
}

// quotaCall is a call of the Store that is on its way.
type quotaCall struct {
	done chan struct{} // closed when it is over
	err  error         // of it; to be read after done
}

// units are taken from an account for one request; the zero value for a caller without a quota.
type units struct {
	of *account
	n  Count
}

func newQuotas(store Credentials, now func() time.Time) *quotas {
	return &quotas{store: store, now: now, accounts: map[CredentialID]*account{}}
}

// charge lets do take n IDs or numbers for the caller, and hear first why they may not be taken: nil for a caller without
// a quota, or with as much left. do says whether they were taken, or may have been; what it does not use goes back.
func (q *quotas) charge(ctx context.Context, c Caller, n Count, do func(refusal *Error) (used bool)) {
	u, refusal := q.take(ctx, c, n)
	used := true // in a panic too
	defer func() { q.settle(u, used) }()
	used = do(refusal)
}

// take takes n units of the caller's quota, or says why the caller gets none: CodeQuotaExceeded, or that it could not be
// told.
func (q *quotas) take(ctx context.Context, c Caller, n Count) (units, *Error) {
	if c.Quota == 0 {
		return units{}, nil
	}
	if n > c.Quota {
		return units{}, Errorf(CodeQuotaExceeded, "%d at once are more than this credential may take in an hour (%d); nothing was taken; ask for fewer", n, c.Quota).
			After(q.untilNextHour())
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		a := q.account(c.Credential)
		switch {
		case n <= a.have:
			a.have -= n
			a.out += n
			return units{of: a, n: n}, nil
		case a.call != nil:
		case a.dry >= c.Quota:
			return units{}, q.exceeded(c, a, n)
		default:
			a.call = &quotaCall{done: make(chan struct{})}
			go q.fill(context.WithoutCancel(ctx), a, c, max(n-a.have, c.Quota/100))
		}
		if err := q.await(ctx, a.call); err != nil && n > a.have {
			return units{}, err
		}
	}
}

// account returns the credential's for the present hour. It is called with mu held.
func (q *quotas) account(id CredentialID) *account {
	hour := q.now().UTC().Truncate(time.Hour)
	a := q.accounts[id]
	if a != nil && a.hour.Equal(hour) {
		return a
	}
	for other, old := range q.accounts {
		if !old.hour.Equal(hour) {
			delete(q.accounts, other) // whoever still has a part in it has a pointer to it
		}
	}
	a = &account{hour: hour}
	q.accounts[id] = a
	return a
}

// await waits for the call without mu, with which it is called and returns.
func (q *quotas) await(ctx context.Context, c *quotaCall) *Error {
	q.mu.Unlock()
	defer q.mu.Lock()
	select {
	case <-c.done:
	case <-ctx.Done():
		return uncertain(Errorf(CodeUnavailable, "the time ran out").Because(context.Cause(ctx)))
	}
	if c.err != nil {
		return uncertain(c.err)
	}
	return nil
}

// uncertain is the refusal where a quota could not be asked for. Nothing was taken that the caller wants.
func uncertain(err error) *Error {
	e := asError(err)
	return Errorf(e.Code, "it could not be told whether the credential's quota is used up; nothing was taken; repeat the request").
		Because(err).After(max(e.RetryAfter, retrySoon))
}

// fill takes up to n units of the Store.
func (q *quotas) fill(ctx context.Context, a *account, c Caller, n Count) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	got, err := withoutPanic(func() (Count, error) { return q.store.TakeQuota(ctx, c.Credential, a.hour, n, c.Quota) })
	if err == nil && (got < 0 || got > n) {
		got, err = 0, Errorf(CodeInternal, "%d units of quota were taken instead of %d", got, n)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil {
		a.have += got
		if got == 0 {
			a.dry = c.Quota
		}
	}
	a.call.err = err
	close(a.call.done)
	a.call = nil
}

// exceeded is the refusal of n units. What requests under way may give back comes soon; else there is nothing before
// the next hour.
func (q *quotas) exceeded(c Caller, a *account, n Count) *Error {
	e := Errorf(CodeQuotaExceeded, "fewer than %d are left of the %d IDs and numbers that this credential may take in an hour; nothing was taken; "+
		"wait for the next hour, or ask an administrator for a higher quota", n, c.Quota)
	if n <= a.have+a.out {
		return e.After(retrySoon)
	}
	return e.After(q.untilNextHour())
}

func (q *quotas) untilNextHour() time.Duration {
	now := q.now().UTC()
	return now.Truncate(time.Hour).Add(time.Hour).Sub(now)
}

// settle ends a request's part in an account: what was not used goes back, and is good as long as its hour is.
func (q *quotas) settle(u units, used bool) {
	if u.of == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	u.of.out -= u.n
	if !used {
		u.of.have += u.n
	}
}

// isUsed reports whether a request used what it was charged with. A repeat was charged before, and a refusal took
// nothing; but what may have been taken counts.
func isUsed(err error, replayed bool) bool {
	if err != nil {
		return asError(err).Unknown
	}
	return !replayed
}
