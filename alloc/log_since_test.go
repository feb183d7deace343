package alloc_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// A restore within a restore: what the first one has carried was taken long before, and came into this table after the point of the second.
func TestALogSinceATimeHasWhatWasCarriedAfterIt(t *testing.T) {
	d := &disaster{mill: newMill(t, alloc.PoolConfig{}, "A-0", "A-1", "A-2"), taken: map[alloc.ID]alloc.IDRecord{}}
	long := d.clock.Now()
	d.clock.Advance(10 * 24 * time.Hour) // a backup of ten days ago was restored, and is about to be carried forward
	d.point = d.clock.Now()
	restore := d.model.Snapshot()
	d.clock.Advance(time.Hour)
	d.setState(t, alloc.PoolPaused)
	x := alloc.IDRecord{Pool: pool, ID: "A-0", State: alloc.StateClaimed, Token: "owner-of-a-0", At: long.Add(time.Hour), By: "shop"}
	o, err := d.model.Carry(t.Context(), pool, long, []alloc.IDRecord{x})
	if err != nil || o[0] != alloc.CarryDone {
		t.Fatal(o, err)
	}
	d.taken["A-0"] = x
	d.restoredFromALog(t, restore)
	d.wantNoneTwice(t)
}

// A hold may be confirmed long after its end, where no sweep has come by: a backup of the time between has it as a hold.
func TestALogSinceATimeHasWhatWasConfirmedAfterIt(t *testing.T) {
	d := &disaster{mill: newMill(t, alloc.PoolConfig{}, "A-0", "A-1", "A-2"), taken: map[alloc.ID]alloc.IDRecord{}}
	c := d.claim(t, 1, time.Hour)
	d.clock.Advance(10 * 24 * time.Hour)
	d.point = d.clock.Now()
	restore := d.model.Snapshot()
	d.clock.Advance(time.Hour)
	d.settle(t, alloc.EventConfirm, c, 0)
	d.taken[c.IDs[0]] = alloc.IDRecord{ID: c.IDs[0], State: alloc.StateClaimed}
	d.restoredFromALog(t, restore)
	d.wantNoneTwice(t)
}

// restoredFromALog has a log since the point written, sets the table back to it, and restores it from the log.
func (d *disaster) restoredFromALog(t *testing.T, setBack func()) {
	t.Helper()
	d.old = d.model
	log := d.log(t, alloc.LogRequest{Pool: pool, Since: d.point})
	setBack()
	d.setState(t, alloc.PoolPaused)
	if j, lines := d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog}, log); len(lines) > 0 {
		t.Errorf("the job is %+v with %+v", j, lines)
	}
}

// A lease that a restore has entered into the ledger is in a log since a time before that, whenever it was leased.
func TestALogSinceATimeHasLeasesThatWereCarriedAfterIt(t *testing.T) {
	d := newDisaster(t)
	long := d.clock.Now()
	d.clock.Advance(10 * 24 * time.Hour)
	since := d.clock.Now()
	d.clock.Advance(time.Hour)
	l := alloc.LeaseRecord{Start: 500, End: 599, Token: "owner-of-500", By: "shop", At: long, Epoch: 1, Proven: true}
	if _, err := d.model.CarryLeases(t.Context(), sequence, []alloc.LeaseRecord{l}); err != nil {
		t.Fatal(err)
	}
	d.old = d.model
	log := d.log(t, alloc.LogRequest{Sequence: sequence, Since: since})
	if strings.Count(log, "\n") != 3 || !strings.Contains(log, "owner-of-500") {
		t.Errorf("the log is %s, want what was carried in it, and nothing else", log)
	}
	d.clock.Advance(10 * 24 * time.Hour)
	if log := d.log(t, alloc.LogRequest{Sequence: sequence, Since: d.clock.Now()}); strings.Count(log, "\n") != 2 {
		t.Errorf("a log since a later time is %s", log)
	}
}

// Whoever held an ID before the point, and has confirmed or retired it in the restored table, has it in his hand: the record that gives it to another is told.
func TestWhatWasKeptSinceTheRestoreAndIsSomebodyElsesIsTold(t *testing.T) {
	for _, e := range []alloc.Event{alloc.EventConfirm, alloc.EventRetire} {
		d := &disaster{mill: newMill(t, alloc.PoolConfig{}, "A-0"), taken: map[alloc.ID]alloc.IDRecord{}}
		c := d.claim(t, 1, time.Hour)
		d.point = d.clock.Now()
		restore := d.model.Snapshot()
		d.clock.Advance(2 * time.Hour)
		d.sweep(t)
		other := d.claim(t, 1, 0)
		d.old = alloctest.NewModel(d.clock.Now)
		copyPool(t, d.model, d.old, alloc.PoolConfig{})
		log := d.log(t, alloc.LogRequest{Pool: pool})
		restore()
		d.setState(t, alloc.PoolPaused)
		d.settle(t, e, c, 0) // he was answered that it is his
		j, lines := d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog}, log)
		r, err := d.model.Inspect(t.Context(), pool, c.IDs[0])
		if len(lines) != 1 || lines[0].Outcome != alloc.CarryClash || err != nil || r.Token != c.Token || r.Token == other.Token {
			t.Errorf("%s: the job is %+v with %+v, and the ID %+v, %v", e, j, lines, r, err)
		}
	}
}

// An entry of the ledger that cannot be read is told by the log, counted by its last line, and told by the restore: something begins there.
func TestALogTellsOfLeasesThatCannotBeRead(t *testing.T) {
	d := newDisaster(t)
	d.old.Damage(t, alloctest.Damage{Kind: alloctest.DamageLease, Sequence: sequence, Number: 11})
	for _, since := range []time.Time{{}, d.point} {
		log := d.log(t, alloc.LogRequest{Sequence: sequence, Since: since})
		lines := readLines[testLine](t, []byte(log))
		if tail := lines[len(lines)-1].Tail; tail == nil || tail.Unreadable != 1 || tail.Lines != 2 {
			t.Fatalf("the log is %s", log)
		}
		j, told := d.restore(t, alloc.RestoreRequest{Sequence: sequence, Source: alloc.RestoreLog}, log)
		if len(told) != 1 || told[0].Outcome != alloc.CarryUnreadable || told[0].Start != 11 {
			t.Errorf("the job is %+v with %+v, want it to tell of the entry at 11", j, told)
		}
		ledger, _, err := d.model.WalkLedger(t.Context(), sequence, "", 10)
		if err != nil || len(ledger) != 2 || !ledger[1].Unreadable() || ledger[1].Start != 11 {
			t.Errorf("the ledger is %+v, %v", ledger, err)
		}
	}
}

// What rises by one in what follows a restore is not taken from a log up to where it would turn over.
func TestALogOfWhatCannotHaveRisenSoFarIsRefused(t *testing.T) {
	d := newDisaster(t)
	log := d.log(t, alloc.LogRequest{Pool: pool})
	head, lines, _ := strings.Cut(log, "\n")
	one, _, _ := strings.Cut(lines, "\n")
	at := strings.Index(one, `"Generation":`) + len(`"Generation":`)
	end := at + strings.Index(one[at:], ",")
	most := fmt.Sprint(int64(math.MaxInt64))
	refusals{{"a generation", head + "\n" + one[:at] + most + one[end:] + "\n", "its generation is " + most + ", and no ID has come back so often"}}.
		check(t, d, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, AtMost: none, Point: d.point}, log)
	leases := d.log(t, alloc.LogRequest{Sequence: sequence})
	refusals{{"an epoch", strings.Replace(leases, `"Epoch":1`, `"Epoch":`+most, 1), "its epoch is " + most + ", and no sequence was rebuilt so often"}}.
		check(t, d, alloc.RestoreRequest{Sequence: sequence, Source: alloc.RestoreLog, Point: d.point}, leases)
}
