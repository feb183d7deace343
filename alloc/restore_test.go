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
	return d
}

// copyModel makes to what from is, as far as a walk shows it.
func copyModel(t testing.TB, from, to *alloctest.Model) {
	t.Helper()
	if _, _, err := to.CreatePool(t.Context(), pool, alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := to.CreateSequence(t.Context(), sequence, alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	ids, _, err1 := from.WalkIDs(t.Context(), pool, "", "", 1000)
	leases, _, err2 := from.WalkLedger(t.Context(), sequence, "", 1000)
	var free []alloc.ID
	for _, r := range ids {
		if r.State == alloc.StateFree {
			free = append(free, r.ID)
		}
	}
	_, err3 := to.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "free", IDs: free})
	_, err4 := to.Carry(t.Context(), pool, ids)
	_, err5 := to.CarryLeases(t.Context(), sequence, leases)
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (d *disaster) claim(t testing.TB, n alloc.Count, hold time.Duration) alloc.Claim {
	t.Helper()
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
	s, err := alloc.NewService(alloc.Config{Store: d.old, Now: d.clock.Now, Log: logCodec, Queue: &queue})
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
	if got := strings.Count(lines, "\n"); got != int(j.Done) {
		t.Errorf("the job counts %d lines, there are %d", j.Done, got)
	}
	return lines
}

// service is a process that knows the old table.
func (d *disaster) service(t testing.TB) *alloc.Service {
	t.Helper()
	s, err := alloc.NewService(alloc.Config{Store: d.store, Now: d.clock.Now, Log: logCodec, Queue: &d.post, Old: d.old})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// restore carries out a restore, from the parts of a log where there are any, and returns the job and its lines.
func (d *disaster) restore(t testing.TB, r alloc.RestoreRequest, parts ...string) (alloc.Job, []alloc.CarryLine) {
	t.Helper()
	s := d.service(t)
	if r.Point.IsZero() {
		r.Point = d.point
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
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(alloc.IDRecord{}, "Job", "Metadata")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	d.wantNoneTwice(t)
}

// wantNoneTwice fails the test if an ID can be claimed that was taken.
func (d *disaster) wantNoneTwice(t testing.TB) {
	t.Helper()
	d.sweep(t)
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

func TestARestoreCarriesWhatWasTaken(t *testing.T) {
	for name, since := range map[string]bool{"whole log": false, "log since the point": true} {
		t.Run(name, func(t *testing.T) {
			d := newDisaster(t)
			r := alloc.LogRequest{Pool: pool}
			if since {
				r.Since = d.point
			}
			log := d.log(t, r)
			j, lines := d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, Why: "region lost"}, log)
			if len(lines) > 0 || j.Tally.Carried == 0 || int(j.Done) != len(d.taken) || j.Total != j.Done {
				t.Errorf("the job is %+v with %+v, want all of %d carried", j, lines, len(d.taken))
			}
			d.wantCarried(t)
			wantActions(t, d.model, map[string]int{"pool.restore ok": 1, "pool.start-restore ok": 1, "pool.done-restore ok": 1})
		})
	}
}

func TestARestoreFromTheOldTableCarriesWhatWasTaken(t *testing.T) {
	d := newDisaster(t)
	j, lines := d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreTable})
	if len(lines) > 0 || j.Tally.Carried == 0 {
		t.Errorf("the job is %+v with %+v", j, lines)
	}
	for _, id := range []alloc.ID{"B-0", "B-1"} { // free in the old table, and unknown here: they may have been taken since
		if r, err := d.model.Inspect(t.Context(), pool, id); err != nil || r.State == alloc.StateFree {
			t.Errorf("%s is %+v, %v, want it known and not free", id, r, err)
		}
	}
	d.wantCarried(t)
}

// A restore that is made again, from the same log and from the table too, changes nothing more.
func TestARestoreIsRepeated(t *testing.T) {
	d := newDisaster(t)
	log := d.log(t, alloc.LogRequest{Pool: pool})
	d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog}, log)
	before := d.ids(t)
	for _, parts := range [][]string{{log}, {log, log}} {
		j, lines := d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog}, parts...)
		if len(lines) > 0 || j.Tally.Carried != 0 || j.Tally.Duplicate != j.Done || int(j.Done) != len(parts)*len(d.taken) {
			t.Errorf("the repeat is %+v with %+v, want all so already", j, lines)
		}
		if diff := cmp.Diff(before, d.ids(t)); diff != "" {
			t.Errorf("the repeat has changed (-before +after):\n%s", diff)
		}
	}
	d.wantCarried(t)
}

// A log that stands twice in one file is carried as if it stood there once.
func TestALogReceivedTwiceIsCarriedOnce(t *testing.T) {
	d := newDisaster(t)
	log := d.log(t, alloc.LogRequest{Pool: pool})
	j, lines := d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog}, log+"\n"+log)
	if len(lines) > 0 || int(j.Done) != 2*len(d.taken) || j.Tally.Carried+j.Tally.Duplicate != j.Done {
		t.Errorf("the job is %+v with %+v", j, lines)
	}
	d.wantCarried(t)
}

// What somebody has taken between the restore and the job is told, each.
func TestWhatIsInTwoHandsIsTold(t *testing.T) {
	d := newDisaster(t)
	given := d.claim(t, 3, 0)
	twice := map[alloc.ID]bool{}
	for _, id := range given.IDs {
		if _, was := d.taken[id]; was {
			twice[id] = true
		}
	}
	if len(twice) == 0 {
		t.Fatal("nothing was given twice: the test shows nothing")
	}
	j, lines := d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog}, d.log(t, alloc.LogRequest{Pool: pool}))
	for _, l := range lines {
		if l.Outcome != alloc.CarryClash || !twice[l.ID] || l.Pool != pool || l.Detail == "" {
			t.Errorf("it tells %+v", l)
		}
		delete(twice, l.ID)
	}
	if len(twice) > 0 || j.Tally.Conflict != alloc.Count(len(lines)) {
		t.Errorf("it does not tell of %v; %+v", twice, j.Tally)
	}
}

func TestALogThatCannotBeReadIsRefused(t *testing.T) {
	d := newDisaster(t)
	log := d.log(t, alloc.LogRequest{Pool: pool})
	lines := strings.SplitAfter(log, "\n")
	leases := d.log(t, alloc.LogRequest{Sequence: sequence})
	other := strings.ReplaceAll(lines[0], string(pool), "team-a.other")
	for _, c := range []struct {
		what, part, want string
	}{
		{"no JSON", lines[0] + "\n" + "{\"ID\":\n", "line 3 of the log: it cannot be read"},
		{"cut off", lines[0] + lines[1][:len(lines[1])/2], "line 2 of the log: it cannot be read"},
		{"another pool", lines[0] + other, `line 2 of the log: it is about the pool "team-a.other", and this job restores the pool "team-a.vouchers"`},
		{"a lease", leases, "line 1 of the log: it is about the sequence"},
		{"neither", "{}\n", "line 1 of the log: it is neither about an ID nor about a lease"},
		{"no state", strings.Replace(lines[0], `"State":"`, `"State":"x`, 1), "line 1 of the log: there is no state"},
		{"no ID", strings.Replace(lines[0], `"ID":"A`, `"ID":" A`, 1), "line 1 of the log: "},
		{"a long line", strings.Repeat("x", 65<<10), "line 1 of the log: it has more than"},
		{"UTF-16", "\xff\xfe{", "UTF-16"},
	} {
		s := d.service(t)
		j, err := s.Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, Point: d.point})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = s.ReceivePart(d.ctx, j.ID, 0, []byte(c.part))
		if e := wantCode(t, err, alloc.CodeInvalidRequest); !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: %q, want %q", c.what, e.Message, c.want)
		}
		if got, err := s.Job(d.ctx, j.ID); err != nil || len(got.Inputs) > 0 || got.Total > 0 {
			t.Errorf("%s: the job is %+v, %v, want nothing taken", c.what, got, err)
		}
		if _, _, err := s.ReceivePart(d.ctx, j.ID, 0, []byte(lines[0])); err != nil {
			t.Fatal(err)
		}
		_, _, err = s.ReceivePart(d.ctx, j.ID, 1, []byte(lines[1]+"?\n"))
		if e := wantCode(t, err, alloc.CodeInvalidRequest); !strings.Contains(e.Message, "line 3 of the log") {
			t.Errorf("the second part: %q, want the line of the whole log", e.Message)
		}
		if _, err := s.CancelJob(d.ctx, j.ID); err != nil {
			t.Fatal(err)
		}
		d.clock.Advance(time.Second)
	}
	d.claim(t, 1, 0) // the pool is as it was
}

// A part whose last line has no end is the last.
func TestALogGoesOnAtAnEndOfALine(t *testing.T) {
	d := newDisaster(t)
	log := d.log(t, alloc.LogRequest{Pool: pool})
	s := d.service(t)
	j, err := s.Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, Point: d.point})
	if err != nil {
		t.Fatal(err)
	}
	cut := strings.TrimSuffix(log, "\n")
	for range 2 { // a part that comes again is a success
		if _, _, err := s.ReceivePart(d.ctx, j.ID, 0, []byte(cut)); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err = s.ReceivePart(d.ctx, j.ID, 1, []byte(log))
	wantCode(t, err, alloc.CodeInvalidRequest)
	if _, err := s.StartJob(d.ctx, j.ID, 1); err != nil {
		t.Fatal(err)
	}
	d.deliver(t)
	d.wantCarried(t)
}

func TestARestoreThatCannotBeIsRefused(t *testing.T) {
	d := newDisaster(t)
	ok := alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn, Point: d.point}
	for what, change := range map[string]func(r *alloc.RestoreRequest){
		"neither pool nor sequence": func(r *alloc.RestoreRequest) { r.Pool = "" },
		"both":                      func(r *alloc.RestoreRequest) { r.Sequence = sequence },
		"no source":                 func(r *alloc.RestoreRequest) { r.Source = "" },
		"no point":                  func(r *alloc.RestoreRequest) { r.Point = time.Time{} },
		"a point to come":           func(r *alloc.RestoreRequest) { r.Point = d.clock.Now().Add(time.Minute) },
		"fewer than none":           func(r *alloc.RestoreRequest) { r.AtMost = -1 },
		"a bound of a log":          func(r *alloc.RestoreRequest) { r.AtMost, r.Source = 5, alloc.RestoreLog },
		"a bound of a sequence":     func(r *alloc.RestoreRequest) { r.AtMost, r.Pool, r.Sequence = 5, "", sequence },
		"no old table":              func(r *alloc.RestoreRequest) { r.Source = alloc.RestoreTable },
	} {
		r := ok
		change(&r)
		if _, err := d.Restore(d.ctx, r); !alloc.Is(err, alloc.CodeInvalidRequest) { // d knows no old table
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := d.Restore(d.ctx, alloc.RestoreRequest{Pool: "nothing", Source: alloc.RestoreBurn, Point: d.point})
	wantCode(t, err, alloc.CodePoolNotFound)
	_, err = d.Restore(d.ctx, alloc.RestoreRequest{Sequence: "nothing", Source: alloc.RestoreBurn, Point: d.point})
	wantCode(t, err, alloc.CodeSequenceNotFound)
}

// Leases of a log and of the old table are in the ledger after it, also where the counter is lost, and the job says that a rebuild is due.
func TestLeasesAreCarried(t *testing.T) {
	for _, source := range []alloc.RestoreSource{alloc.RestoreLog, alloc.RestoreTable, alloc.RestoreBurn} {
		t.Run(string(source), func(t *testing.T) {
			d := newDisaster(t)
			d.model.Damage(t, alloctest.Damage{Kind: alloctest.DamageLease, Sequence: sequence, Number: 1})
			d.model.DropCounter(sequence)
			j, lines := d.restore(t, alloc.RestoreRequest{Sequence: sequence, Source: source}, d.log(t, alloc.LogRequest{Sequence: sequence, Since: d.point}))
			ledger, _, err := d.model.WalkLedger(t.Context(), sequence, "", 100)
			if err != nil {
				t.Fatal(err)
			}
			var top alloc.Number
			for _, l := range ledger {
				top = max(top, l.End)
			}
			if want := d.top; source != alloc.RestoreBurn && (top != want || j.Tally.Carried != 2) {
				t.Errorf("the ledger goes to %d, want %d; the job is %+v", top, want, j)
			}
			if source == alloc.RestoreBurn && (top == d.top || j.Done != 0) {
				t.Errorf("a burn has carried leases: %+v", j)
			}
			if len(lines) > 0 || !strings.Contains(j.Log[len(j.Log)-1].Text, "now rebuild the sequence") {
				t.Errorf("the log says %+v, the lines %+v", j.Log, lines)
			}
		})
	}
}

// An entry of the old ledger that cannot be read is told.
func TestAnUnreadableLeaseIsTold(t *testing.T) {
	d := newDisaster(t)
	d.old.Damage(t, alloctest.Damage{Kind: alloctest.DamageLease, Sequence: sequence, Number: 11})
	j, lines := d.restore(t, alloc.RestoreRequest{Sequence: sequence, Source: alloc.RestoreTable})
	if len(lines) != 1 || lines[0].Outcome != alloc.CarryUnreadable || lines[0].Start != 11 || lines[0].Sequence != sequence || j.Tally.Invalid != 1 {
		t.Errorf("it tells %+v; the job is %+v", lines, j)
	}
}

// A log since a time has every ID of which a backup of that time may say something else.
func TestALogLeavesOutWhatABackupHas(t *testing.T) {
	d := newDisaster(t)
	d.old = d.model // set back: nothing has happened since
	d.clock.Advance(9 * 24 * time.Hour)
	since := d.clock.Now()
	whole := strings.Count(d.log(t, alloc.LogRequest{Pool: pool}), "\n")
	d.clock.Advance(time.Second)
	late := strings.Count(d.log(t, alloc.LogRequest{Pool: pool, Since: since}), "\n")
	if whole != 7 || late != 4 { // three were claimed long before; what is held is always there
		t.Errorf("the whole log has %d lines and the late one %d, want 7 and 4", whole, late)
	}
	if n := strings.Count(d.log(t, alloc.LogRequest{Sequence: sequence, Since: since}), "\n"); n != 0 {
		t.Errorf("%d leases, want none", n)
	}
}
