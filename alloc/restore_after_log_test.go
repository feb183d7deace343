package alloc_test

import (
	"testing"
	"time"

	"idpool/alloc"
)

// A log is written, the old table is used on, and it is lost: nothing tells what was taken since the log was begun. So much is burned behind it.
func TestWhatWasTakenAfterALogIsBurned(t *testing.T) {
	d := newDisaster(t)
	log := d.log(t, alloc.LogRequest{Pool: pool})
	held := map[alloc.ID]alloc.IDRecord{}
	for id, r := range d.taken {
		if r.State == alloc.StateHeld {
			held[id] = r
		}
	}
	after, err := d.old.Claim(t.Context(), alloc.ClaimOrder{Pool: pool, Count: 6, By: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	released := *d.anyOf(t, held)
	if _, err := d.old.Settle(t.Context(), alloc.SettleOrder{Pool: pool, Event: alloc.EventRelease, IDs: []alloc.ID{released.ID}, Token: released.Token}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.old.Sweep(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	for _, id := range after.IDs {
		d.taken[id] = alloc.IDRecord{ID: id, State: alloc.StateClaimed}
	}

	j, lines := d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, AtMost: new(alloc.Count(6))}, log)
	if j.Tally.Burned != 6 || len(lines) > 0 {
		t.Errorf("the job is %+v with %+v, want 6 burned", j, lines)
	}
	for id, r := range held { // whose holds have not ended: each is its owner's for good
		now, err := d.model.Inspect(t.Context(), pool, id)
		if err != nil || now.State != alloc.StateClaimed || now.Token != r.Token {
			t.Errorf("%s was held, and is %+v, %v", id, now, err)
		}
		confirm := alloc.SettleOrder{Pool: pool, Event: alloc.EventConfirm, IDs: []alloc.ID{id}, Token: r.Token}
		if _, err := d.model.Settle(t.Context(), confirm); err != nil {
			t.Errorf("%s cannot be confirmed: %v", id, err)
		}
	}
	d.clock.Advance(2 * alloc.MaxHold)
	d.wantNoneTwice(t)
}

// A hold that has ended may have come back and been taken by somebody else since the log.
func TestAHoldThatHasEndedIsBurnedBehindALog(t *testing.T) {
	d := newDisaster(t)
	log := d.log(t, alloc.LogRequest{Pool: pool})
	d.clock.Advance(2 * alloc.MaxHold)
	d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, AtMost: new(alloc.Count(1))}, log)
	if n := d.states(t)[alloc.StateHeld]; n > 0 {
		t.Errorf("%d IDs are held still", n)
	}
	for id, r := range d.taken {
		now, err := d.model.Inspect(t.Context(), pool, id)
		if r.State == alloc.StateHeld && (err != nil || now.State != alloc.StateRetired) {
			t.Errorf("the hold of %s has ended, and it is %+v, %v", id, now, err)
		}
	}
	d.clock.Advance(time.Hour)
	d.wantNoneTwice(t)
}

func (d *disaster) anyOf(t testing.TB, ids map[alloc.ID]alloc.IDRecord) *alloc.IDRecord {
	t.Helper()
	for _, r := range ids {
		return &r
	}
	t.Fatal("there is none")
	return nil
}
