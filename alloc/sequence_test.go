package alloc_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"idpool/alloc"
)

// C25, C28
func TestSequenceConfigCheck(t *testing.T) {
	for _, c := range []struct {
		what   string
		config alloc.SequenceConfig
		ok     bool
	}{
		{"nothing said", alloc.SequenceConfig{}, true},
		{"from zero", alloc.SequenceConfig{StartAtZero: true}, true},
		{"the last number alone", alloc.SequenceConfig{Start: alloc.MaxNumber}, true},
		{"from zero to the last", alloc.SequenceConfig{StartAtZero: true, Limit: alloc.MaxNumber}, true},
		{"one number", alloc.SequenceConfig{Start: 5, Limit: 5}, true},
		{"a limit of 2^63", alloc.SequenceConfig{Limit: alloc.MaxNumber + 1}, false},
		{"a limit of 2^64-1", alloc.SequenceConfig{Limit: math.MaxUint64}, false},
		{"a start of 2^63", alloc.SequenceConfig{Start: alloc.MaxNumber + 1}, false},
		{"a start above the limit", alloc.SequenceConfig{Start: 6, Limit: 5}, false},
		{"a default start above the limit is none", alloc.SequenceConfig{Limit: 1}, true},
		{"two starts", alloc.SequenceConfig{Start: 6, StartAtZero: true}, false},
		{"a negative segment", alloc.SequenceConfig{Segment: -1}, false},
		{"a segment too large", alloc.SequenceConfig{Segment: alloc.MaxSegment + 1}, false},
		{"a negative lease", alloc.SequenceConfig{MaxLease: -1}, false},
		{"a lease too large", alloc.SequenceConfig{MaxLease: alloc.MaxLeaseLimit + 1}, false},
		{"a lease larger than the sequence", alloc.SequenceConfig{Limit: 3, MaxLease: alloc.MaxLeaseLimit}, true},
		{"a description with a control character", alloc.SequenceConfig{Description: "a\x00"}, false},
	} {
		err := c.config.WithDefaults().Check()
		if (err == nil) != c.ok || err != nil && !alloc.Is(err, alloc.CodeInvalidConfig) {
			t.Errorf("%s: got %v", c.what, err)
		}
	}
}

func TestSequenceConfigCheckChange(t *testing.T) {
	from := alloc.SequenceConfig{Start: 10, Limit: 100}.WithDefaults()
	for _, c := range []struct {
		what string
		to   alloc.SequenceConfig
		next alloc.Number
		ok   bool
	}{
		{"nothing", from, 50, true},
		{"a higher limit", alloc.SequenceConfig{Start: 10, Limit: alloc.MaxNumber}, 101, true},
		{"a limit at the last number leased", alloc.SequenceConfig{Start: 10, Limit: 49}, 50, true},
		{"a limit below the last number leased", alloc.SequenceConfig{Start: 10, Limit: 48}, 50, false},
		{"a limit above all there is", alloc.SequenceConfig{Start: 10, Limit: alloc.MaxNumber + 1}, 50, false},
		{"another start", alloc.SequenceConfig{Start: 11, Limit: 100}, 10, false},
		{"a start at zero", alloc.SequenceConfig{StartAtZero: true, Limit: 100}, 10, false},
	} {
		err := from.CheckChange(c.to.WithDefaults(), c.next)
		if (err == nil) != c.ok || err != nil && !alloc.Is(err, alloc.CodeInvalidConfig) {
			t.Errorf("%s at %d: got %v", c.what, c.next, err)
		}
	}
	full := alloc.SequenceConfig{}.WithDefaults()
	if err := full.CheckChange(full, alloc.MaxNumber+1); err != nil {
		t.Errorf("a used-up sequence cannot be described anew: %v", err)
	}
}

// C28: near every end, a lease is allowed if and only if its last number is within the limit; nothing wraps.
func TestCheckLeaseNeverWraps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near := rapid.Custom(func(t *rapid.T) alloc.Number {
			base := rapid.SampledFrom([]alloc.Number{0, 1 << 31, 1 << 53, alloc.MaxNumber}).Draw(t, "base")
			d := alloc.Number(rapid.IntRange(0, 30).Draw(t, "distance"))
			return max(base, d) - d
		})
		limit := near.Draw(t, "limit")
		q := alloc.Sequence{
			Name: "orders", State: alloc.SequenceActive, Config: alloc.SequenceConfig{Limit: limit, MaxLease: alloc.MaxLeaseLimit},
			Next: min(near.Draw(t, "next"), limit+1),
		}
		left := q.Remaining()
		if left < 0 || q.Next <= limit && left < 1 || q.Next > limit && left != 0 {
			t.Fatalf("%d are left from %d to %d", left, q.Next, limit)
		}
		n := alloc.Count(rapid.Int64Range(1, 40).Draw(t, "n"))
		fits := q.Next <= limit && uint64(n)-1 <= uint64(limit-q.Next)
		err := q.CheckLease(alloc.LeaseOrder{Count: n})
		if (err == nil) != fits {
			t.Fatalf("%d numbers from %d to the limit %d: got %v", n, q.Next, limit, err)
		}
		if !fits && (!alloc.Is(err, alloc.CodeSequenceExhausted) || err.(*alloc.Error).Remaining != left) { //nolint:errorlint // as in wantCode
			t.Fatalf("got %v, want sequence_exhausted with %d left", err, left)
		}
	})
	whole := alloc.Sequence{Config: alloc.SequenceConfig{Limit: alloc.MaxNumber}}
	if got := whole.Remaining(); got != math.MaxInt64 {
		t.Errorf("of all 2^63 numbers %d are left, want the most that a Count says", got)
	}
}

// The advice of a sequence that is used up can be followed.
func TestExhaustedAdvises(t *testing.T) {
	for _, c := range []struct {
		next, limit alloc.Number
		want        string
	}{
		{100, 100, `numbers left in the sequence "orders": 1, asked for: 2; ask for fewer or raise its limit`},
		{101, 100, `numbers left in the sequence "orders": 0, asked for: 2; raise its limit`},
		{alloc.MaxNumber, alloc.MaxNumber, `numbers left in the sequence "orders": 1, asked for: 2; ask for fewer`},
		{alloc.MaxNumber + 1, alloc.MaxNumber, `numbers left in the sequence "orders": 0, asked for: 2; begin another sequence`},
	} {
		q := alloc.Sequence{Name: "orders", State: alloc.SequenceActive, Config: alloc.SequenceConfig{Limit: c.limit, MaxLease: 10}, Next: c.next}
		if e := wantCode(t, q.CheckLease(alloc.LeaseOrder{Count: 2}), alloc.CodeSequenceExhausted); e.Message != c.want {
			t.Errorf("got %q, want %q", e.Message, c.want)
		}
	}
}

// C22
func TestCheckLeaseCounts(t *testing.T) {
	q := alloc.Sequence{Name: "orders", State: alloc.SequenceActive, Config: alloc.SequenceConfig{Limit: 100, MaxLease: 10}, Next: 1}
	for _, n := range []alloc.Count{0, -1, math.MinInt64, 11, math.MaxInt64} {
		wantCode(t, q.CheckLease(alloc.LeaseOrder{Count: n}), alloc.CodeInvalidCount)
	}
	for state, code := range map[alloc.SequenceState]alloc.Code{
		alloc.SequencePaused: alloc.CodeSequencePaused, alloc.SequenceStopped: alloc.CodeSequenceStopped, alloc.SequenceDeleted: alloc.CodeSequenceDeleted,
	} {
		q.State = state
		wantCode(t, q.CheckLease(alloc.LeaseOrder{Count: 1}), code)
	}
}

// K04, and the order of refusals.
func TestCheckLeaseOfKeysAndRefusals(t *testing.T) {
	quota := alloc.Errorf(alloc.CodeQuotaExceeded, "used up")
	for _, c := range []struct {
		what    string
		require bool
		next    alloc.Number
		order   alloc.LeaseOrder
		want    alloc.Code
	}{
		{"no key where one is required", true, 1, alloc.LeaseOrder{Count: 1}, alloc.CodeKeyRequired},
		{"a key where one is required", true, 1, alloc.LeaseOrder{Count: 1, Key: &alloc.Key{}}, ""},
		{"a segment, from which many with keys are answered", true, 1, alloc.LeaseOrder{Count: 1, Segment: true}, ""},
		{"no key where none is required", false, 1, alloc.LeaseOrder{Count: 1}, ""},
		{"a refusal", false, 1, alloc.LeaseOrder{Count: 1, Refusal: quota}, alloc.CodeQuotaExceeded},
		{"a refusal, and no key", true, 1, alloc.LeaseOrder{Count: 1, Refusal: quota}, alloc.CodeKeyRequired},
		{"a refusal where nothing is left", false, 101, alloc.LeaseOrder{Count: 1, Refusal: quota}, alloc.CodeQuotaExceeded},
		{"no key where nothing is left", true, 101, alloc.LeaseOrder{Count: 1}, alloc.CodeKeyRequired},
	} {
		q := alloc.Sequence{
			Name: "orders", State: alloc.SequenceActive, Next: c.next,
			Config: alloc.SequenceConfig{Limit: 100, MaxLease: 10, RequireKey: c.require},
		}
		if got := alloc.CodeOf(q.CheckLease(c.order)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
		q.State = alloc.SequencePaused
		wantCode(t, q.CheckLease(c.order), alloc.CodeSequencePaused)
	}
	if config := (alloc.SequenceConfig{}).WithDefaults(); config.RequireKey {
		t.Error("a key is required by default")
	}
	from := alloc.SequenceConfig{}.WithDefaults()
	if err := from.CheckChange(alloc.SequenceConfig{RequireKey: true}.WithDefaults(), 5); err != nil {
		t.Errorf("a change to requiring a key: %v", err)
	}
}

func TestSequenceCheckTo(t *testing.T) {
	all := []alloc.SequenceState{alloc.SequenceActive, alloc.SequencePaused, alloc.SequenceDeleted}
	for _, to := range all {
		if err := (alloc.Sequence{State: alloc.SequencePaused}).CheckTo(to); err != nil {
			t.Errorf("from paused to %s: %v", to, err)
		}
		if err := (alloc.Sequence{State: alloc.SequenceActive}).CheckTo(to); (to == alloc.SequenceDeleted) != alloc.Is(err, alloc.CodeSequenceActive) {
			t.Errorf("from active to %s: %v", to, err)
		}
		wantCode(t, alloc.Sequence{State: alloc.SequenceDeleted}.CheckTo(to), alloc.CodeSequenceDeleted)
		err := alloc.Sequence{State: alloc.SequenceStopped}.CheckTo(to)
		if to == alloc.SequenceDeleted {
			if err != nil {
				t.Errorf("a stopped sequence cannot be deleted: %v", err)
			}
			continue
		}
		wantCode(t, err, alloc.CodeSequenceStopped)
	}
	wantCode(t, alloc.Sequence{State: alloc.SequenceResuming}.CheckTo(alloc.SequenceDeleted), alloc.CodeSequenceActive)
	if err := (alloc.Sequence{State: alloc.SequenceFrozen}).CheckTo(alloc.SequenceDeleted); err != nil {
		t.Errorf("a frozen sequence cannot be deleted: %v", err)
	}
}
