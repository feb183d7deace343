package alloctest

import (
	"testing"
	"time"

	"idpool/alloc"
)

// A process may be kept from booking its answer until its hold is over and somebody else, who has the ID since, has booked
// his. So the clock is to be read under the lock.
func TestTheBookReadsTheClockUnderItsLock(t *testing.T) {
	clock := NewClock()
	var b book
	reads := 0
	b = newBook(func() time.Time {
		if reads++; b.mu.TryLock() {
			b.mu.Unlock()
			t.Error("the clock was read without the lock")
		}
		return clock.Now()
	})
	o := alloc.ClaimOrder{Pool: "p", Count: 1, Hold: time.Minute}
	b.offer("p", []alloc.ID{"x"})
	answer := func() alloc.Claim {
		at := clock.Now()
		return alloc.Claim{Pool: "p", IDs: []alloc.ID{"x"}, State: alloc.StateHeld, Token: alloc.NewToken(), At: at, HeldUntil: at.Add(o.Hold)}
	}
	early := answer()
	clock.Advance(2 * time.Minute)
	late := answer()
	for _, c := range []alloc.Claim{late, early} {
		if err := b.claimed(o, c); err != nil {
			t.Errorf("an answer of which the hold ends at %v: %v", c.HeldUntil, err)
		}
	}
	so := settleOrder(alloc.EventConfirm, early)
	done := b.settling(so)
	if err := done(alloc.Settled{}, alloc.Refused(so.Event, []alloc.IDFault{{ID: "x", Code: alloc.CodeNotOwner}})); err != nil {
		t.Errorf("the confirmation of a hold that is over is refused: %v", err)
	}
	if reads != 3 {
		t.Errorf("the clock was read %d times, want once for each outcome", reads)
	}
}
