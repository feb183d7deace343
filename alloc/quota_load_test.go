package alloc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
)

// Where it cannot be told what is left, nothing is taken, but repeats are answered. One answer is for all who wait.
func TestQuotaThatCannotBeAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newTill(t, 20)
		ctx := withQuota(t.Context(), 2)
		if _, err := claimOf(ctx, s, 1, "k"); err != nil {
			t.Fatal(err)
		}
		for _, failure := range []*alloc.Error{
			alloc.Errorf(alloc.CodeThrottled, "slow down").After(3 * time.Second),
			{Code: alloc.CodeUnavailable, Unknown: true},
		} {
			l.asked = nil
			l.answer = func(context.Context) (alloc.Count, error) { return 0, failure }
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					_, err := claimOf(ctx, s, 1, "")
					e, ok := err.(*alloc.Error) //nolint:errorlint // as in wantCode
					if !ok || e.Code != failure.Code || e.Unknown || e.RetryAfter < max(failure.RetryAfter, time.Second) {
						t.Errorf("got %+v, want %s with a hint, and nothing taken", err, failure.Code)
					}
				})
			}
			wg.Wait()
			if again, err := claimOf(ctx, s, 1, "k"); err != nil || !again.Replayed {
				t.Errorf("the repeat: got %+v, %v", again, err)
			}
			wantAsked(t, l, 1, 1)
		}
		l.answer = func(context.Context) (alloc.Count, error) { return 2, nil } // of one that was asked for
		_, err := claimOf(ctx, s, 1, "")
		wantCode(t, err, alloc.CodeInternal)
		l.answer = func(context.Context) (alloc.Count, error) { panic("a fault") }
		_, err = claimOf(ctx, s, 1, "")
		wantCode(t, err, alloc.CodeInternal)
		l.answer = nil
		if _, err := claimOf(ctx, s, 1, ""); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// A caller that leaves takes nobody else's units along, and one that waits for a Store that hangs waits a bounded time.
func TestQuotaWhenACallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newTill(t, 20)
		l.takes = time.Second
		ctx := withQuota(t.Context(), 1)
		var wg sync.WaitGroup
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			defer cancel()
			_, err := claimOf(ctx, s, 1, "")
			wantErr(t, err, alloc.CodeUnavailable)
		})
		synctest.Wait()
		wg.Go(func() {
			if _, err := claimOf(ctx, s, 1, ""); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		wantAsked(t, l, 1)

		l.answer = func(ctx context.Context) (alloc.Count, error) {
			<-ctx.Done()
			return 0, alloc.Errorf(alloc.CodeUnavailable, "no answer").Because(ctx.Err())
		}
		time.Sleep(time.Hour)
		begin := time.Now()
		_, err := claimOf(ctx, s, 1, "")
		if wantErr(t, err, alloc.CodeUnavailable); time.Since(begin) > 6*time.Second {
			t.Errorf("it took %v, want at most 6 s", time.Since(begin))
		}
	})
}

// While requests are under way that may not use what they are charged, nobody is sent away for an hour.
func TestQuotaThatMayComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := newTill(t, 0)
		slow := newService(t, slowClaims{l})
		ctx := withQuota(t.Context(), 3)
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := claimOf(ctx, slow, 3, "")
			wantErr(t, err, alloc.CodePoolExhausted)
		})
		time.Sleep(500 * time.Millisecond)
		_, err := claimOf(ctx, slow, 2, "")
		wantExceeded(t, err, time.Second)
		wg.Wait()
		_, err = claimOf(ctx, slow, 2, "")
		wantCode(t, err, alloc.CodePoolExhausted)
	})
}

// slowClaims takes a second for a claim.
type slowClaims struct{ alloc.Store }

func (s slowClaims) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	time.Sleep(time.Second)
	return s.Store.Claim(ctx, o)
}

// Several processes and many callers, over the change of an hour: of no hour is more taken than the quota, and one
// process alone gets it whole.
func TestQuotaIsNeverExceeded(t *testing.T) {
	for _, processes := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			const quota, callers = 500, 40
			_, l := newTill(t, 4*quota)
			services := make([]*alloc.Service, processes)
			for i := range services {
				services[i] = newService(t, slowClaims{l})
			}
			ctx := withQuota(t.Context(), quota)
			time.Sleep(59*time.Minute + 30*time.Second)
			var mu sync.Mutex
			served := map[int]alloc.Count{} // by the hour in which the request began; it may count for a later one
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() {
					for j := range 90 { // a second each: some before the hour is over, some after
						n := alloc.Count(1 + (i+j/3)%3)
						hour := time.Now().Hour()
						c, err := claimOf(ctx, services[i%processes], n, fmt.Sprint(i, " ", j-j%3)) // two of three are repeats
						switch {
						case err == nil && !c.Replayed:
							mu.Lock()
							served[hour] += n
							mu.Unlock()
						case err != nil:
							wantErr(t, err, alloc.CodeQuotaExceeded)
							time.Sleep(time.Second)
						}
					}
				})
			}
			wg.Wait()
			total := alloc.Count(0)
			for hour, n := range served {
				total += n
				if n > quota {
					t.Errorf("%d processes: of hour %d were taken %d, the quota is %d", processes, hour, n, quota)
				}
				if processes == 1 && n < quota-3 {
					t.Errorf("one process was given %d of %d in hour %d", n, quota, hour)
				}
			}
			for hour, n := range l.got {
				if n > quota {
					t.Errorf("the Store gave %d for %v", n, hour)
				}
			}
			if total == 0 || l.both && processes == 1 {
				t.Errorf("%d were served, two calls at once: %t", total, l.both)
			}
		})
	}
}
