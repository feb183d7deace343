package alloc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// till is a Store that notes what was taken of quotas, takes time for it, and lets a test answer instead.
type till struct {
	alloc.Store
	takes time.Duration

	mu     sync.Mutex
	busy   int
	both   bool // two calls were in flight at once
	asked  []alloc.Count
	got    map[time.Time]alloc.Count                      // by hour
	answer func(ctx context.Context) (alloc.Count, error) // nil asks the Store
}

func (l *till) TakeQuota(ctx context.Context, id alloc.CredentialID, hour time.Time, n, limit alloc.Count) (alloc.Count, error) {
	l.mu.Lock()
	l.busy++
	l.both = l.both || l.busy > 1
	l.asked = append(l.asked, n)
	answer := l.answer
	l.mu.Unlock()
	time.Sleep(l.takes)
	defer func() { l.mu.Lock(); l.busy--; l.mu.Unlock() }()
	if answer != nil {
		return answer(ctx)
	}
	got, err := l.Store.TakeQuota(ctx, id, hour, n, limit)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.got == nil {
		l.got = map[time.Time]alloc.Count{}
	}
	l.got[hour] += got
	return got, err
}

// newTill makes a Service over a Model with a full pool and a sequence; each call for a quota takes 10 ms. In a bubble it
// is midnight.
func newTill(t testing.TB, ids int) (*alloc.Service, *till) {
	t.Helper()
	m := alloctest.NewModel(nil)
	ctx := asAdmin(t.Context())
	l := &till{Store: m, takes: 10 * time.Millisecond}
	s := newService(t, l)
	if _, _, err := s.CreatePool(ctx, pool, alloc.PoolConfig{MaxBatch: alloc.MaxBatchLimit}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.CreateSequence(ctx, sequence, alloc.SequenceConfig{}); err != nil {
		t.Fatal(err)
	}
	entries := make([]alloc.SeedEntry, ids)
	for i := range entries {
		entries[i] = alloc.SeedEntry{Line: i + 1, Raw: fmt.Sprint("ID-", i)}
	}
	if ids > 0 {
		if _, err := s.Seed(ctx, alloc.SeedRequest{Pool: pool, Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	return s, l
}

// withQuota is a context of a caller of a stored credential.
func withQuota(ctx context.Context, quota alloc.Count) context.Context {
	return alloc.WithCaller(ctx, alloc.Caller{Client: "shop", Scopes: alloc.AllScopes(), Credential: "abcdefghijkl", Quota: quota})
}

func claimOf(ctx context.Context, s *alloc.Service, n alloc.Count, key string) (alloc.Claim, error) {
	return s.Claim(ctx, alloc.ClaimRequest{Pool: pool, Count: n, Key: key})
}

func wantAsked(t testing.TB, l *till, want ...alloc.Count) {
	t.Helper()
	if fmt.Sprint(l.asked) != fmt.Sprint(want) {
		t.Errorf("of the Store's quota were asked %v, want %v", l.asked, want)
	}
}

// untilNextHour is what a client is told to wait when there is nothing more.
func untilNextHour() time.Duration { return time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)) }

// wantExceeded wants the refusal, with a hint.
func wantExceeded(t testing.TB, err error, after time.Duration) {
	t.Helper()
	if e := wantCode(t, err, alloc.CodeQuotaExceeded); e.RetryAfter != after || e.Unknown {
		t.Errorf("got %+v, want it refused for %v", e, after)
	}
}

func TestQuotaIsTakenInBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newTill(t, 500)
		ctx := withQuota(t.Context(), 400)
		for range 4 {
			if _, err := claimOf(ctx, s, 1, ""); err != nil {
				t.Fatal(err)
			}
		}
		wantAsked(t, l, 4) // a hundredth
		if _, err := claimOf(ctx, s, 6, ""); err != nil {
			t.Fatal(err)
		}
		wantAsked(t, l, 4, 6) // what is asked for, where that is more
		for _, n := range []alloc.Count{1, 6} {
			if _, err := claimOf(ctx, s, n, ""); err != nil {
				t.Fatal(err)
			}
		}
		wantAsked(t, l, 4, 6, 4, 4) // three were left: what lacks, but a block at least
	})
}

func TestWhoHasNoQuotaIsNotCharged(t *testing.T) {
	s, l := newTill(t, 5)
	if _, err := claimOf(withQuota(t.Context(), 0), s, 5, ""); err != nil {
		t.Fatal(err)
	}
	wantAsked(t, l)
}

// IDs, ranges and numbers count alike. At the end it is said when there will be more.
func TestQuotaIsForEverythingThatIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTill(t, 500)
		ctx := withQuota(t.Context(), 30)
		time.Sleep(20 * time.Minute)
		lease := func(n alloc.Count) error {
			_, err := s.Lease(ctx, alloc.LeaseRequest{Sequence: sequence, Count: n})
			return err
		}
		next := func(n alloc.Count, key string) error {
			_, _, err := s.Next(ctx, alloc.LeaseRequest{Sequence: sequence, Count: n, Key: key})
			return err
		}
		claim := func(n alloc.Count) error {
			_, err := claimOf(ctx, s, n, "")
			return err
		}
		for _, err := range []error{claim(7), lease(8), next(6, ""), next(5, "k")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		wantExceeded(t, claim(5), untilNextHour())
		wantExceeded(t, lease(5), untilNextHour())
		wantExceeded(t, next(5, ""), untilNextHour())
		wantExceeded(t, next(5, "l"), untilNextHour())
		if err := claim(4); err != nil {
			t.Errorf("the last four: %v", err)
		}
		wantExceeded(t, claim(1), untilNextHour())
		wantExceeded(t, claim(31), untilNextHour())
	})
}

// In the next hour there is the whole quota again, and what was left of the hour before does not count.
func TestQuotaOfTheNextHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newTill(t, 900)
		ctx := withQuota(t.Context(), 200)
		take := func(n int) {
			for range n {
				if _, err := claimOf(ctx, s, 1, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		take(199) // of a block of two, one is left
		time.Sleep(untilNextHour())
		take(200)
		_, err := claimOf(ctx, s, 1, "")
		wantExceeded(t, err, untilNextHour())
		for hour, got := range l.got {
			if got != 200 {
				t.Errorf("of the hour %v were taken %d, want 200", hour, got)
			}
		}
		asked := len(l.asked)
		for range 10 {
			_, err := claimOf(ctx, s, 1, "")
			wantCode(t, err, alloc.CodeQuotaExceeded)
		}
		if len(l.asked) != asked {
			t.Errorf("who has used up the quota costs %d calls in 10 requests, want none", len(l.asked)-asked)
		}
		if _, err := claimOf(withQuota(t.Context(), 201), s, 1, ""); err != nil {
			t.Errorf("a raised quota: %v", err)
		}
	})
}

// A repeat is answered when the quota is used up, and never charged; nor is what was refused.
func TestQuotaIsNotChargedForWhatIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTill(t, 6)
		ctx := withQuota(t.Context(), 10)
		first, err := claimOf(ctx, s, 4, "k")
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if again, err := claimOf(ctx, s, 4, "k"); err != nil || !again.Replayed || again.Token != first.Token {
				t.Fatalf("the repeat: got %+v, %v", again, err)
			}
			_, err := claimOf(ctx, s, 3, "")
			wantCode(t, err, alloc.CodePoolExhausted)
			_, err = s.Claim(ctx, alloc.ClaimRequest{Pool: "nobody", Count: 3})
			wantCode(t, err, alloc.CodePoolNotFound)
			_, _, err = s.Next(ctx, alloc.LeaseRequest{Sequence: "nobody", Count: 3})
			wantCode(t, err, alloc.CodeSequenceNotFound)
		}
		numbers, _, err := s.Next(ctx, alloc.LeaseRequest{Sequence: sequence, Count: 5, Key: "n"})
		if err != nil {
			t.Fatal(err)
		}
		leased, err := s.Lease(ctx, alloc.LeaseRequest{Sequence: sequence, Count: 1, Key: "l"})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // the quota is used up
			if again, err := claimOf(ctx, s, 4, "k"); err != nil || !again.Replayed {
				t.Errorf("the claim again: got %+v, %v", again, err)
			}
			again, replayed, err := s.Next(ctx, alloc.LeaseRequest{Sequence: sequence, Count: 5, Key: "n"})
			if err != nil || !replayed || fmt.Sprint(again) != fmt.Sprint(numbers) {
				t.Errorf("the numbers again: got %v, replayed %t, %v; want %v", again, replayed, err, numbers)
			}
			if again, err := s.Lease(ctx, alloc.LeaseRequest{Sequence: sequence, Count: 1, Key: "l"}); err != nil || again.Start != leased.Start {
				t.Errorf("the lease again: got %+v, %v; want %+v", again, err, leased)
			}
			_, _, err = s.Next(ctx, alloc.LeaseRequest{Sequence: sequence, Count: 5, Key: "n", Print: "other"})
			wantCode(t, err, alloc.CodeKeyMismatch)
			_, err = claimOf(ctx, s, 1, "new")
			wantCode(t, err, alloc.CodeQuotaExceeded)
		}
	})
}

// What may have been taken is charged; what surely was not is not.
func TestQuotaIsChargedForAnUnknownOutcome(t *testing.T) {
	for fault, left := range map[alloctest.Fault]alloc.Count{alloctest.Refused: 10, alloctest.AppliedButFailed: 6, alloctest.RefusedUnknown: 6} {
		_, l := newTill(t, 20)
		s := newService(t, alloctest.NewFaulty(l, alloctest.Script("Claim", fault)))
		ctx := withQuota(t.Context(), 10)
		if _, err := claimOf(ctx, s, 4, ""); err == nil {
			t.Fatal("the plan was not carried out")
		}
		_, err := claimOf(ctx, s, left+1, "")
		if wantErr(t, err, alloc.CodeQuotaExceeded); err == nil {
			t.Errorf("after fault %d more than %d are left", fault, left)
		}
		if _, err := claimOf(ctx, s, left, ""); err != nil {
			t.Errorf("after fault %d: %v, want %d left", fault, err, left)
		}
	}
}
