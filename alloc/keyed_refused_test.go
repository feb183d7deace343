package alloc_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// refusal is one with all that an error tells a client.
func refusal() *alloc.Error {
	e := alloc.Errorf(alloc.CodeVersionMismatch, "nothing was changed")
	e.Current = 7
	return e
}

// wantRefusal wants a refusal that says whether the work may have been done by another attempt.
func wantRefusal(t testing.TB, err error, unknown bool) {
	t.Helper()
	e := wantCode(t, err, alloc.CodeVersionMismatch)
	if e.Unknown != unknown || strings.Contains(e.Message, "another attempt") != unknown || e.Current != 7 || !strings.Contains(e.Message, "nothing was changed") {
		t.Errorf("got %+v, want the refusal, unknown outcome %t", e, unknown)
	}
}

// The work was done and its answer lost. The repeat is refused: the key stays with the request and its intent, so that the
// work is not done once more as another request's.
func TestKeyedRefusedAfterItWasDone(t *testing.T) {
	for _, fault := range []alloctest.Fault{alloctest.Refused, alloctest.RefusedUnknown, alloctest.Throttled} {
		s, _, m := newWorld(t, alloctest.Script("CloseKey", fault))
		j := &task{}
		_, _, err := s.Keyed(asAdmin(t.Context()), keyedRequest, j.work)
		if e, ok := err.(*alloc.Error); !ok || !e.Unknown { //nolint:errorlint // as in wantCode
			t.Fatalf("got %v, want the outcome unknown", err)
		}
		for _, process := range []*alloc.Service{s, newService(t, m.Open(nil))} {
			j.err = refusal()
			_, _, err = process.Keyed(asAdmin(t.Context()), keyedRequest, j.work)
			wantRefusal(t, err, true)
			_, _, err = process.Keyed(asAdmin(t.Context()), keyedBy(func(r *alloc.KeyedRequest) { r.Print = "repaired" }), j.work)
			wantCode(t, err, alloc.CodeKeyMismatch)
		}
		if _, replayed := ask(t, s, keyedRequest, j); !replayed {
			t.Error("the repeat is answered as if it were the first")
		}
		wantAttempts(t, j, 4)
	}
}

// A failure that passes by itself leaves open what the attempt before it did.
func TestKeyedFailsAfterItWasDone(t *testing.T) {
	s, _, _ := newWorld(t, alloctest.Script("CloseKey", alloctest.Refused))
	j := &task{}
	s.Keyed(asAdmin(t.Context()), keyedRequest, j.work)
	j.err = alloc.Errorf(alloc.CodeThrottled, "slow down").After(3)
	_, _, err := s.Keyed(asAdmin(t.Context()), keyedRequest, j.work)
	if e := wantCode(t, err, alloc.CodeThrottled); !e.Unknown || e.RetryAfter != 3 {
		t.Errorf("got %+v, want the outcome unknown, and the hint", e)
	}
}

// The first attempt is refused while a twin, who found its intent, has done the work and not kept the answer yet.
func TestKeyedRefusedBesideATwinAtWork(t *testing.T) {
	s, _, m := newWorld(t, nil)
	first, twin := &task{err: refusal()}, &task{}
	first.during = func(context.Context) {
		store := alloctest.NewFaulty(m.Open(nil), alloctest.Script("CloseKey", alloctest.Refused))
		newService(t, store).Keyed(asAdmin(t.Context()), keyedRequest, twin.work)
		first.err = refusal() // of the second look
	}
	_, _, err := s.Keyed(asAdmin(t.Context()), keyedRequest, first.work)
	wantRefusal(t, err, true)
	if len(first.others) != 2 || first.others[0] || !first.others[1] || len(twin.others) != 1 || !twin.others[0] {
		t.Errorf("the first was told of others %v, the twin %v; want that the first looks again, as one of several", first.others, twin.others)
	}
	ask(t, s, keyedRequest, twin)
	if wantAttempts(t, twin, 2); first.intents[0] != twin.intents[0] {
		t.Errorf("the intents are %v and %v, want one", first.intents, twin.intents)
	}
}

// Work that finds done what it cannot do twice, takes it for its own where there are others, and only there.
func TestKeyedFindsItsWorkDone(t *testing.T) {
	var mu sync.Mutex
	done := false
	work := func(_ context.Context, a alloc.Attempt) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if done && !a.Others {
			return nil, refusal()
		}
		done = true
		return []byte("done"), nil
	}
	_, _, m := newWorld(t, nil)
	var wg sync.WaitGroup
	for range 32 {
		s := newService(t, m.Open(nil))
		wg.Go(func() {
			if answer, _, err := s.Keyed(asAdmin(t.Context()), keyedRequest, work); err != nil || string(answer) != "done" {
				t.Errorf("got %q, %v; want that it is done", answer, err)
			}
		})
	}
	wg.Wait()
	s := newService(t, m.Open(nil))
	_, _, err := s.Keyed(asAdmin(t.Context()), keyedBy(func(r *alloc.KeyedRequest) { r.Key = "later" }), work)
	wantRefusal(t, err, false)
}

// K18: refused again and again, the one attempt that there is each time leaves the key free: for the same request, which is
// a first one then, and for a repaired one.
func TestKeyedRefusedAgainAndAgain(t *testing.T) {
	s, _, _ := newWorld(t, nil)
	j := &task{}
	for range 3 {
		j.err = refusal()
		_, _, err := s.Keyed(asAdmin(t.Context()), keyedRequest, j.work)
		wantRefusal(t, err, false)
		j.err = refusal()
		_, _, err = s.Keyed(asAdmin(t.Context()), keyedBy(func(r *alloc.KeyedRequest) { r.Print = "repaired" }), j.work)
		wantRefusal(t, err, false)
	}
	if _, replayed := ask(t, s, keyedRequest, j); replayed {
		t.Error("the first that is not refused is answered as a repeat")
	}
}

// A keyed seeding of a pool that forgets was done, and its answer lost. However often it is repeated, refused on the way
// because the pool is drained, it adds its IDs once.
func TestKeyedSeedingRefusedOnTheWay(t *testing.T) {
	s, m := newPool(t, alloc.PoolConfig{Policy: alloc.PolicyForget})
	ctx := asAdmin(t.Context())
	lose := true
	seed := func() error {
		r := alloc.KeyedRequest{Need: alloc.ActionSeed, Name: "vouchers", Operation: "seed", Resource: "pool/vouchers", Key: "k"}
		_, _, err := s.Keyed(ctx, r, func(ctx context.Context, a alloc.Attempt) ([]byte, error) {
			_, err := s.Seed(ctx, alloc.SeedRequest{Pool: "vouchers", Entries: entriesOf("X"), Intent: a.Intent})
			if err == nil && lose {
				err = alloc.Errorf(alloc.CodeUnavailable, "the answer was lost")
			}
			return nil, err
		})
		return err
	}
	set := func(to alloc.PoolState) {
		if _, err := s.SetPoolState(ctx, "vouchers", 0, to); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, seed(), alloc.CodeUnavailable)
	lose = false
	set(alloc.PoolDraining)
	if e := wantCode(t, seed(), alloc.CodePoolDraining); !e.Unknown {
		t.Errorf("got %+v, want that it may have been done", e)
	}
	if _, err := s.Claim(ctx, alloc.ClaimRequest{Pool: "vouchers", Count: 1}); err != nil {
		t.Fatal(err)
	}
	set(alloc.PoolActive)
	for range 2 {
		if err := seed(); err != nil {
			t.Fatal(err)
		}
		if free := m.Census("vouchers")[alloc.StateFree]; free != 0 {
			t.Fatalf("the repeat has added again what was claimed since: %d free", free)
		}
	}
}
