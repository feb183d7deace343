package alloc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// disaster is a mill whose pool and sequence were used, copied, used on, and set back to the copy.
type disaster struct {
	*mill
	old   *alloctest.Model // the table as it was at last
	lost  alloc.ID         // what has become of it cannot be read there
	point time.Time        // of the copy
	taken map[alloc.ID]alloc.IDRecord
	top   alloc.Number // greatest that was leased
}

func newDisaster(t testing.TB) *disaster {
	t.Helper()
	var ids []alloc.ID
	for i := range 40 {
		ids = append(ids, alloc.ID(fmt.Sprintf("A-%02d", i)))
	}
	d := &disaster{mill: newMill(t, alloc.PoolConfig{}, ids...), taken: map[alloc.ID]alloc.IDRecord{}}
	if _, _, err := d.model.CreateSequence(t.Context(), sequence, alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	before := d.claim(t, 4, alloc.MaxHold)
	early := d.claim(t, 3, 0)
	d.lease(t, 10)
	d.clock.Advance(time.Hour)
	d.point = d.clock.Now()
	restore := d.model.Snapshot()
	d.clock.Advance(time.Hour)
	d.settle(t, alloc.EventConfirm, before, 0, 1)
	d.settle(t, alloc.EventRelease, before, 2)
	d.settle(t, alloc.EventRetire, early, 0)
	d.settle(t, alloc.EventRelease, early, 1)
	d.sweep(t)
	d.claim(t, 9, 0)
	d.claim(t, 2, alloc.MaxHold)
	if _, err := d.model.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "after", IDs: []alloc.ID{"B-0", "B-1"}}); err != nil {
		t.Fatal(err)
	}
	d.lease(t, 25)
	for _, r := range d.ids(t) {
		if r.State != alloc.StateFree {
			d.taken[r.ID] = r
		}
	}
	d.top = 35
	now := d.model.Snapshot()
	d.old = alloctest.NewModel(d.clock.Now)
	copyModel(t, d.model, d.old)
	now()
	restore()
	d.setState(t, alloc.PoolPaused)
	if _, err := d.model.SetSequenceState(t.Context(), sequence, 0, alloc.SequencePaused); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *disaster) setState(t testing.TB, state alloc.PoolState) {
	t.Helper()
	if _, err := d.model.SetPoolState(t.Context(), pool, 0, state); err != nil {
		t.Fatal(err)
	}
}

// copyModel makes to what from is, as far as a walk shows it.
func copyModel(t testing.TB, from, to *alloctest.Model) {
	t.Helper()
	copyPool(t, from, to, alloc.PoolConfig{})
	if _, _, err := to.CreateSequence(t.Context(), sequence, alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	leases, _, err1 := from.WalkLedger(t.Context(), sequence, "", 1000)
	_, err2 := to.SetSequenceState(t.Context(), sequence, 0, alloc.SequencePaused)
	_, err3 := to.CarryLeases(t.Context(), sequence, leases)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func copyPool(t testing.TB, from, to *alloctest.Model, config alloc.PoolConfig) {
	t.Helper()
	_, _, err1 := to.CreatePool(t.Context(), pool, config.WithDefaults())
	ids, _, err2 := from.WalkIDs(t.Context(), pool, "", "", 1000)
	var free []alloc.ID
	for _, r := range ids {
		if r.State == alloc.StateFree {
			free = append(free, r.ID)
		}
	}
	_, err3 := to.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "free", IDs: free})
	_, err4 := to.Carry(t.Context(), pool, time.Time{}, ids)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// claim claims IDs, also of a pool that is paused: by a process that has not heard of that.
func (d *disaster) claim(t testing.TB, n alloc.Count, hold time.Duration) alloc.Claim {
	t.Helper()
	d.setState(t, alloc.PoolActive)
	defer d.setState(t, alloc.PoolPaused)
	c, err := d.model.Claim(t.Context(), alloc.ClaimOrder{Pool: pool, Count: n, Hold: hold, By: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (d *disaster) lease(t testing.TB, n alloc.Count) {
	t.Helper()
	if _, err := d.model.Lease(t.Context(), alloc.LeaseOrder{Sequence: sequence, Count: n, By: "shop"}); err != nil {
		t.Fatal(err)
	}
}

func (d *disaster) settle(t testing.TB, e alloc.Event, c alloc.Claim, which ...int) {
	t.Helper()
	for _, i := range which {
		if _, err := d.model.Settle(t.Context(), alloc.SettleOrder{Pool: pool, Event: e, IDs: []alloc.ID{c.IDs[i]}, Token: c.Token}); err != nil {
			t.Fatal(err)
		}
	}
}

func (d *disaster) sweep(t testing.TB) {
	t.Helper()
	if _, err := d.model.Sweep(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
}

func (d *disaster) ids(t testing.TB) []alloc.IDRecord {
	t.Helper()
	ids, _, err := d.model.WalkIDs(t.Context(), pool, "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// log is what a process over the old table writes.
func (d *disaster) log(t testing.TB, r alloc.LogRequest) (lines string) {
	t.Helper()
	var queue post
	s, err := alloc.NewService(alloc.Config{Store: smeared{d.old, d.lost}, Now: d.clock.Now, Log: logCodec, Queue: &queue})
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.LogTaken(d.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range queue.take() {
		if err := s.Work(d.ctx, step); err != nil {
			t.Fatal(err)
		}
	}
	if j, err = s.Job(d.ctx, j.ID); err != nil || j.State != alloc.JobDone {
		t.Fatalf("the log is %+v, %v", j, err)
	}
	for n := range j.Parts {
		part, err := s.JobPart(d.ctx, j.ID, n)
		if err != nil {
			t.Fatal(err)
		}
		lines += string(part)
	}
	if got := strings.Count(lines, "\n"); got != int(j.Done)+2 {
		t.Errorf("the job counts %d lines between the first and the last, there are %d in all", j.Done, got)
	}
	return lines
}

// service is a process that knows the old table.
func (d *disaster) service(t testing.TB) *alloc.Service {
	t.Helper()
	s, err := alloc.NewService(alloc.Config{Store: d.store, Now: d.clock.Now, Log: logCodec, Queue: &d.post, Old: smeared{d.old, d.lost}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// none is the bound of a log after which nobody was served.
var none = new(alloc.Count(0))

// restore carries out a restore, from the parts of a log where there are any, and returns the job and its lines.
func (d *disaster) restore(t testing.TB, r alloc.RestoreRequest, parts ...string) (alloc.Job, []alloc.CarryLine) {
	t.Helper()
	s := d.service(t)
	if r.Point.IsZero() {
		r.Point = d.point
	}
	if r.Source == alloc.RestoreLog && r.Pool != "" && r.AtMost == nil {
		r.AtMost = none
	}
	j, err := s.Restore(d.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if r.Source == alloc.RestoreLog {
		if j.State != alloc.JobReceiving {
			t.Fatalf("the job is %+v, want it receiving", j)
		}
		for n, part := range parts {
			if _, _, err := s.ReceivePart(d.ctx, j.ID, n, []byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.StartJob(d.ctx, j.ID, len(parts)); err != nil {
			t.Fatal(err)
		}
	}
	for steps := d.post.take(); len(steps) > 0; steps = d.post.take() {
		for _, step := range steps {
			if err := s.Work(d.ctx, step); err != nil {
				t.Fatal(err)
			}
		}
	}
	if j, err = s.Job(d.ctx, j.ID); err != nil || j.State != alloc.JobDone {
		t.Fatalf("the job is %+v, %v, want it done", j, err)
	}
	var lines []alloc.CarryLine
	for n := range j.Parts {
		part, err := s.JobPart(d.ctx, j.ID, n)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, readLines[alloc.CarryLine](t, part)...)
	}
	if len(lines) != int(j.Tally.Conflict+j.Tally.Invalid) {
		t.Errorf("%d lines tell of %+v", len(lines), j.Tally)
	}
	return j, lines
}

// wantCarried fails the test unless whatever was taken is so again, and nothing of it can be had.
func (d *disaster) wantCarried(t testing.TB) {
	t.Helper()
	now := map[alloc.ID]alloc.IDRecord{}
	for _, r := range d.ids(t) {
		now[r.ID] = r
	}
	for id, want := range d.taken {
		got := now[id]
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(alloc.IDRecord{}, "Job", "Metadata", "Changed")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	d.wantNoneTwice(t)
}

// wantNoneTwice fails the test if an ID can be claimed that was taken.
func (d *disaster) wantNoneTwice(t testing.TB) {
	t.Helper()
	d.sweep(t)
	d.setState(t, alloc.PoolActive)
	for {
		c, err := d.model.Claim(t.Context(), alloc.ClaimOrder{Pool: pool, Count: 1})
		if alloc.Is(err, alloc.CodePoolExhausted) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if r, was := d.taken[c.IDs[0]]; was {
			t.Fatalf("%s was %s, and is given again", r.ID, r.State)
		}
	}
}
