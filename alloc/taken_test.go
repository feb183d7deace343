package alloc_test

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"idpool/alloc"
)

// While the last numbers are out with a request that may not need them, nobody is told that there are none. If they come
// back, whoever asks then gets them.
func TestTheLastNumberIsOnItsWay(t *testing.T) {
	s, d, _ := newDesk(t, alloc.SequenceConfig{Limit: 3, Segment: 3})
	wantKeyed(t, s, "a", false, 1)
	d.before = func(ctx context.Context) error {
		for _, key := range []string{"", "b"} {
			_, _, err := nextKeyed(ctx, s, 1, key)
			if e := wantCode(t, err, alloc.CodeBusy); e.RetryAfter == 0 {
				t.Error("it is not said when to repeat")
			}
			_, _, err = nextKeyed(ctx, s, 3, key) // more than could come back
			wantCode(t, err, alloc.CodeSequenceExhausted)
		}
		return alloc.Errorf(alloc.CodeThrottled, "slow down")
	}
	_, _, err := nextKeyed(t.Context(), s, 2, "c")
	wantCode(t, err, alloc.CodeThrottled)
	wantKeyed(t, s, "c", false, 2, 3)
	_, err = next(t.Context(), s, 1)
	wantCode(t, err, alloc.CodeSequenceExhausted)
}

// A twin is served between a look for the key and the refusal: the refusal is not given.
func TestARefusedRequestWhoseTwinWasServed(t *testing.T) {
	s, d, l := newDesk(t, alloc.SequenceConfig{Limit: 1})
	twin := newService(t, d)
	l.shown = func(q alloc.Sequence) (alloc.Sequence, error) {
		l.shown = nil
		wantKeyed(t, twin, "a", false, 1)
		return q, nil
	}
	wantKeyed(t, s, "a", true, 1)
}

// What comes back after a pause or a rebuild is dropped as the rest was.
func TestNumbersThatComeBackTooLate(t *testing.T) {
	for what, between := range map[string]func(t *testing.T, s *alloc.Service, l *lane){
		"a pause": func(t *testing.T, s *alloc.Service, _ *lane) {
			for _, to := range []alloc.SequenceState{alloc.SequencePaused, alloc.SequenceActive} {
				if _, err := s.SetSequenceState(asAdmin(t.Context()), "orders", 0, to); err != nil {
					t.Fatal(err)
				}
			}
		},
		"a rebuild": func(t *testing.T, s *alloc.Service, l *lane) {
			l.shown = func(q alloc.Sequence) (alloc.Sequence, error) { q.Epoch = 2; return q, nil }
			l.answer = func(ctx context.Context, _ int, o alloc.LeaseOrder) (alloc.Range, error) {
				r, err := l.Store.Lease(ctx, o)
				r.Epoch = 2
				return r, err
			}
			if _, err := s.ChangeSequence(asAdmin(t.Context()), "orders", 1, alloc.SequenceConfig{Segment: 10}); err != nil {
				t.Fatal(err)
			}
			wantNext(t, s, 11)
		},
	} {
		t.Run(what, func(t *testing.T) {
			s, d, l := newDesk(t, alloc.SequenceConfig{Segment: 10})
			wantKeyed(t, s, "a", false, 1)
			d.before = func(context.Context) error {
				between(t, s, l)
				return nil
			}
			wantKeyed(t, s, "a", true, 1)
			if got, err := next(t.Context(), s, 1); err != nil || got[0] < 11 {
				t.Errorf("got %v, %v; want nothing of before", got, err)
			}
		})
	}
}

// What is kept is answered although a rebuild came in between: it is in the ledger, and nobody else can have it.
func TestNumbersKeptAcrossARebuildAreNobodyElses(t *testing.T) {
	s, d, l := newDesk(t, alloc.SequenceConfig{Segment: 10})
	wantNext(t, s, 1)
	d.before = func(context.Context) error {
		l.shown = func(q alloc.Sequence) (alloc.Sequence, error) { q.Epoch = 2; return q, nil }
		_, err := s.ChangeSequence(asAdmin(t.Context()), "orders", 1, alloc.SequenceConfig{Segment: 10})
		return err
	}
	wantKeyed(t, s, "a", false, 2)
	wantNext(t, s, 11)
	wantKeyed(t, s, "a", true, 2)
}

// A line that has numbers out is remembered until they are settled, and then it is not.
func TestALineIsNotForgottenWhileNumbersAreOut(t *testing.T) {
	s, d, _ := newDesk(t, alloc.SequenceConfig{Segment: 1})
	d.before = func(context.Context) error {
		if _, err := s.SetSequenceState(asAdmin(t.Context()), "orders", 0, alloc.SequencePaused); err != nil {
			t.Error(err)
		}
		if s.Lines() != 1 {
			t.Error("the line was forgotten while a number of it is out")
		}
		return nil
	}
	wantKeyed(t, s, "a", false, 1)
	if s.Lines() != 0 {
		t.Error("the line of a paused sequence is remembered for nothing")
	}
}

// A panic in the Store settles what was out as lost.
func TestNumbersOfAPanicAreLost(t *testing.T) {
	s, d, _ := newDesk(t, alloc.SequenceConfig{Limit: 2, Segment: 2})
	d.after = func() error { panic("a fault") }
	func() {
		defer func() { _ = recover() }()
		_, _, _ = nextKeyed(t.Context(), s, 1, "a")
	}()
	wantNext(t, s, 2)
	_, err := next(t.Context(), s, 1)
	wantCode(t, err, alloc.CodeSequenceExhausted)
	wantKeyed(t, s, "a", true, 1)
}

// K04, for numbers and ranges; what this process leases for itself needs no key.
func TestSequenceThatRequiresAKey(t *testing.T) {
	s, _, l := newDesk(t, alloc.SequenceConfig{Segment: 10, RequireKey: true})
	refused := func() {
		t.Helper()
		_, err := next(t.Context(), s, 1)
		wantCode(t, err, alloc.CodeKeyRequired)
		_, err = s.Lease(asAdmin(t.Context()), alloc.LeaseRequest{Sequence: "orders", Count: 1})
		wantCode(t, err, alloc.CodeKeyRequired)
	}
	refused() // cold
	wantLeases(t, l, 1)
	wantKeyed(t, s, "a", false, 1)
	refused() // warm
	wantKeyed(t, s, "b", false, 2)
	if r, err := s.Lease(asAdmin(t.Context()), alloc.LeaseRequest{Sequence: "orders", Count: 1, Key: "a"}); err != nil || r.Start != 11 {
		t.Errorf("got %+v, %v; want a lease", r, err)
	}
	for version, require := range []bool{false, true} {
		config := alloc.SequenceConfig{Segment: 10, RequireKey: require}
		if _, err := s.ChangeSequence(asAdmin(t.Context()), "orders", alloc.Version(version+1), config); err != nil {
			t.Fatal(err)
		}
		if !require {
			wantNext(t, s, 3)
		}
	}
	refused()
}

func TestKeptNumbersAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := alloc.Number(rapid.Uint64Range(0, 5).Draw(t, "first"))
		if rapid.Bool().Draw(t, "high") {
			n = alloc.MaxNumber - 3000
		}
		var want []alloc.Number
		for range rapid.IntRange(1, int(alloc.MaxNext)).Draw(t, "numbers") {
			want = append(want, n)
			n += alloc.Number(rapid.SampledFrom([]int{1, 1, 1, 1, 1, 2, 3}).Draw(t, "step"))
			if n > alloc.MaxNumber {
				break
			}
		}
		got, err := alloc.DecodeNumbers(alloc.EncodeNumbers(want))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v; want %v", got, err, want)
		}
	})
	row := make([]alloc.Number, alloc.MaxNext)
	for i := range row {
		row[i] = alloc.MaxNumber - alloc.Number(len(row)) + 1 + alloc.Number(i)
	}
	if b := alloc.EncodeNumbers(row); len(b) > 12 {
		t.Errorf("%d numbers in a row take %d bytes, want at most 12", len(row), len(b))
	}
}

// Whatever is read, it is numbers in rising order, as many as a request can have had, or it is refused; and what is read
// was written so.
func FuzzDecodeNumbers(f *testing.F) {
	for _, b := range [][]byte{
		nil,
		{1},
		{2, 1, 0},
		{1, 1},
		{1, 1, 0},
		{1, 0, 0, 0, 3},
		alloc.EncodeNumbers([]alloc.Number{1, 2, 3, 9, alloc.MaxNumber}),
		{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0},
		{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1},
		{1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0},
		{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0},
		{1, 0, 0xe7, 7},
		{1, 0, 0xe8, 7},
		{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0},
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		numbers, err := alloc.DecodeNumbers(b)
		if err != nil {
			if !alloc.Is(err, alloc.CodeInternal) || numbers != nil {
				t.Fatalf("got %v, %v", numbers, err)
			}
			return
		}
		if len(numbers) < 1 || len(numbers) > int(alloc.MaxNext) || !slices.IsSorted(numbers) || numbers[len(numbers)-1] > alloc.MaxNumber ||
			len(slices.Compact(slices.Clone(numbers))) != len(numbers) {
			t.Fatalf("read %v", numbers)
		}
		if again, err := alloc.DecodeNumbers(alloc.EncodeNumbers(numbers)); err != nil || !slices.Equal(again, numbers) {
			t.Fatalf("got %v, %v; want %v", again, err, numbers)
		}
	})
}
