package alloc_test

import (
	"strings"
	"testing"
	"time"

	"idpool/alloc"
)

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
