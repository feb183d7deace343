package alloc_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// desk is a Store on the way to another. It counts the calls for kept numbers, and lets a test do something in between.
type desk struct {
	alloc.Store

	mu           sync.Mutex
	opens, finds int
	before       func(ctx context.Context) error // an OpenKey; once
	after        func() error                    // an OpenKey; once
}

func (d *desk) OpenKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	d.mu.Lock()
	d.opens++
	before, after := d.before, d.after
	d.before, d.after = nil, nil
	d.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return alloc.Kept{}, err
		}
	}
	k, err := d.Store.OpenKey(ctx, key, token, answer)
	if after != nil && err == nil {
		if err := after(); err != nil {
			return alloc.Kept{}, err
		}
	}
	return k, err
}

func (d *desk) FindKey(ctx context.Context, key alloc.Key) (alloc.Kept, bool, error) {
	d.mu.Lock()
	d.finds++
	d.mu.Unlock()
	return d.Store.FindKey(ctx, key)
}

// newDesk makes a Service whose sequence "orders" has the configuration.
func newDesk(t testing.TB, config alloc.SequenceConfig) (*alloc.Service, *desk, *lane) {
	t.Helper()
	l := &lane{Store: alloctest.NewModel(nil)}
	d := &desk{Store: l}
	s := newService(t, d)
	if _, _, err := s.CreateSequence(asAdmin(t.Context()), "orders", config); err != nil {
		t.Fatal(err)
	}
	return s, d, l
}

func nextKeyed(ctx context.Context, s *alloc.Service, n alloc.Count, key string) ([]alloc.Number, bool, error) {
	return s.Next(asAdmin(ctx), alloc.LeaseRequest{Sequence: "orders", Count: n, Key: key})
}

// wantKeyed asks with the key for as many numbers as are wanted.
func wantKeyed(t testing.TB, s *alloc.Service, key string, replay bool, want ...alloc.Number) {
	t.Helper()
	got, replayed, err := nextKeyed(t.Context(), s, alloc.Count(len(want)), key)
	if err != nil || !slices.Equal(got, want) || replayed != replay {
		t.Errorf("with the key %q: got %v, replayed %t, %v; want %v, replayed %t", key, got, replayed, err, want, replay)
	}
}

// From a warm segment a request with a key is one write.
func TestKeyedNextWhenWarm(t *testing.T) {
	s, d, l := newDesk(t, alloc.SequenceConfig{Segment: 10})
	wantKeyed(t, s, "a", false, 1, 2)
	if d.finds != 1 || d.opens != 1 || l.reads != 1 || len(l.leases) != 1 {
		t.Errorf("cold: %d finds, %d opens, %d reads, leases %v; want one of each", d.finds, d.opens, l.reads, l.leases)
	}
	wantKeyed(t, s, "b", false, 3)
	wantNext(t, s, 4)
	wantKeyed(t, s, "c", false, 5, 6)
	if d.finds != 1 || d.opens != 3 || l.reads != 1 || len(l.leases) != 1 {
		t.Errorf("warm: %d finds, %d opens, %d reads, leases %v; want two opens more", d.finds, d.opens, l.reads, l.leases)
	}
}

// K06, K22: the same numbers again, from here and from anywhere, and nothing is used up by it.
func TestKeyedNextAgain(t *testing.T) {
	s, d, l := newDesk(t, alloc.SequenceConfig{Segment: 10})
	wantKeyed(t, s, "a", false, 1, 2, 3)
	for range 3 {
		wantKeyed(t, s, "a", true, 1, 2, 3)
	}
	wantNext(t, s, 4)
	other := newService(t, d)
	reads, opens := l.reads, d.opens
	wantKeyed(t, other, "a", true, 1, 2, 3)
	if l.reads != reads || d.opens != opens {
		t.Error("a repeat in a cold process reads the sequence, or writes")
	}
	wantLeases(t, l, 10)
	wantKeyed(t, s, "b", false, 5)
}

// K24: a repeat is answered whatever has become of the sequence.
func TestKeyedNextAgainWhenNothingIsToBeHad(t *testing.T) {
	for what, change := range map[string]func(t *testing.T, s *alloc.Service){
		"paused": func(t *testing.T, s *alloc.Service) {
			must(t, func(ctx context.Context, n alloc.SequenceName, v alloc.Version, to alloc.SequenceState) (alloc.Sequence, error) {
				return s.SetSequenceState(asAdmin(ctx), n, v, to)
			}, "orders", alloc.SequencePaused)
		},
		"deleted": func(t *testing.T, s *alloc.Service) {
			must(t, func(ctx context.Context, n alloc.SequenceName, v alloc.Version, to alloc.SequenceState) (alloc.Sequence, error) {
				return s.SetSequenceState(asAdmin(ctx), n, v, to)
			}, "orders", alloc.SequenceDeleted)
		},
		"used up": func(t *testing.T, s *alloc.Service) { wantNext(t, s, 4, 5) },
		"allowed smaller counts only": func(t *testing.T, s *alloc.Service) {
			if _, err := s.ChangeSequence(asAdmin(t.Context()), "orders", 1, alloc.SequenceConfig{Limit: 5, MaxLease: 2}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			s, d, _ := newDesk(t, alloc.SequenceConfig{Limit: 5, MaxLease: 5})
			wantKeyed(t, s, "a", false, 1, 2, 3)
			change(t, s)
			for _, process := range []*alloc.Service{s, newService(t, d)} {
				for range 2 {
					wantKeyed(t, process, "a", true, 1, 2, 3)
				}
				if _, _, err := nextKeyed(t.Context(), process, 3, "b"); err == nil {
					t.Error("a new request is answered")
				}
			}
		})
	}
}

// K20
func TestKeyedNextAfterTheRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := newDesk(t, alloc.SequenceConfig{Segment: 1})
		wantKeyed(t, s, "a", false, 1)
		time.Sleep(alloc.KeyRetention - time.Second)
		wantKeyed(t, s, "a", true, 1)
		time.Sleep(time.Second)
		wantKeyed(t, s, "a", false, 2)
	})
}

// K08, by the warm and by the cold way.
func TestKeyedNextOfAnotherRequest(t *testing.T) {
	s, d, _ := newDesk(t, alloc.SequenceConfig{Segment: 10})
	wantKeyed(t, s, "a", false, 1)
	for _, process := range []*alloc.Service{s, newService(t, d)} {
		_, _, err := process.Next(asAdmin(t.Context()), alloc.LeaseRequest{Sequence: "orders", Count: 2, Key: "a", Print: "two"})
		wantCode(t, err, alloc.CodeKeyMismatch)
	}
	wantKeyed(t, s, "a", true, 1)
	wantNext(t, s, 2)
	for _, r := range []alloc.LeaseRequest{{Sequence: "orders", Count: 1, Key: "\n"}, {Sequence: "orders", Count: 1001, Key: "b"}, {Sequence: "orders", Key: "b"}} {
		if _, _, err := s.Next(asAdmin(t.Context()), r); !alloc.Is(err, alloc.CodeInvalidKey) && !alloc.Is(err, alloc.CodeInvalidCount) {
			t.Errorf("%+v: got %v", r, err)
		}
	}
}

// K05
func TestKeyedNextOfAnotherClient(t *testing.T) {
	s, _, _ := newDesk(t, alloc.SequenceConfig{Segment: 10})
	wantKeyed(t, s, "a", false, 1)
	got, replayed, err := s.Next(as(t.Context(), "other", alloc.AllScopes()...), alloc.LeaseRequest{Sequence: "orders", Count: 1, Key: "a"})
	if err != nil || replayed || !slices.Equal(got, []alloc.Number{2}) {
		t.Errorf("got %v, replayed %t, %v; want another client's 2", got, replayed, err)
	}
	_, _, err = s.Next(as(t.Context(), "admin", alloc.Scope{Action: alloc.ActionRead, Pattern: "*"}), alloc.LeaseRequest{Sequence: "orders", Count: 1, Key: "a"})
	wantCode(t, err, alloc.CodeForbidden)
	r, err := s.Lease(asAdmin(t.Context()), alloc.LeaseRequest{Sequence: "orders", Count: 1, Key: "a"})
	if err != nil || r.Replayed {
		t.Errorf("got %+v, %v; want a lease of its own under the same key", r, err)
	}
}

// K13: the keeping fails in each form. What surely was not kept is handed out to somebody else, and only that.
func TestKeyedNextThroughFaults(t *testing.T) {
	for fault, then := range map[alloctest.Fault]struct {
		again, other alloc.Number
		replayed     bool
	}{
		alloctest.Refused:          {again: 1, other: 2},
		alloctest.Throttled:        {again: 1, other: 2},
		alloctest.RefusedUnknown:   {again: 2, other: 3},
		alloctest.AppliedButFailed: {again: 1, other: 2, replayed: true},
	} {
		_, d, _ := newDesk(t, alloc.SequenceConfig{Segment: 10})
		s := newService(t, alloctest.NewFaulty(d, alloctest.Script("OpenKey", fault)))
		_, _, err := nextKeyed(t.Context(), s, 1, "a")
		if e, ok := err.(*alloc.Error); !ok || e.Unknown != (fault == alloctest.RefusedUnknown || fault == alloctest.AppliedButFailed) { //nolint:errorlint // as in wantCode
			t.Fatalf("fault %d: got %v", fault, err)
		}
		wantKeyed(t, s, "a", then.replayed, then.again)
		wantNext(t, s, then.other)
	}
}

// What the Store kept and cannot be read is nobody's number.
func TestKeyedNextOfARecordThatCannotBeRead(t *testing.T) {
	s, d, _ := newDesk(t, alloc.SequenceConfig{Segment: 10})
	key := alloc.NewKey("admin", "next", "sequence/orders", "a", "next", "sequence/orders", "")
	if _, err := d.Store.OpenKey(t.Context(), *key, alloc.NewToken(), []byte("3 and 4")); err != nil {
		t.Fatal(err)
	}
	_, _, err := nextKeyed(t.Context(), s, 1, "a") // cold
	wantCode(t, err, alloc.CodeInternal)
	wantNext(t, s, 1)
	_, _, err = nextKeyed(t.Context(), s, 1, "a") // warm
	wantCode(t, err, alloc.CodeInternal)
	wantNext(t, s, 2)
}

// K10: at once, in two processes: one answer, and nobody else ever gets it.
func TestKeyedNextTogether(t *testing.T) {
	s, d, _ := newDesk(t, alloc.SequenceConfig{Segment: 10})
	processes := []*alloc.Service{s, newService(t, d)}
	var mu sync.Mutex
	var answers [][]alloc.Number
	firsts := 0
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			got, replayed, err := nextKeyed(t.Context(), processes[i%2], 3, "a")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if !replayed {
				firsts++
			}
			answers = append(answers, got)
		})
	}
	wg.Wait()
	seen := map[alloc.Number]bool{}
	for _, n := range answers[0] {
		seen[n] = true
	}
	if len(slices.CompactFunc(answers, slices.Equal)) != 1 || firsts != 1 {
		t.Errorf("the answers are %v, %d of them first; want one", answers, firsts)
	}
	for i := range 200 {
		got, err := next(t.Context(), processes[i%2], 1)
		if err != nil || seen[got[0]] {
			t.Fatalf("got %v, %v, which was handed out before", got, err)
		}
		seen[got[0]] = true
	}
}
