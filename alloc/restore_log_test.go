package alloc_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// wantWhole fails the test unless the log says at its end, truly, what it has.
func wantWhole(t testing.TB, log string) {
	t.Helper()
	lines := readLines[testLine](t, []byte(log))
	last := strings.LastIndex(strings.TrimSuffix(log, "\n"), "\n") + 1
	sum := sha256.Sum256([]byte(log[:last]))
	want := alloc.LogTail{Lines: alloc.Count(len(lines) - 2), Digest: hex.EncodeToString(sum[:])}
	head, tail := lines[0].Head, lines[len(lines)-1].Tail
	if head == nil || head.Format != alloc.LogFormat || head.Job == "" || tail == nil || *tail != want {
		t.Errorf("the log begins with %+v and ends with %+v, want %+v", head, tail, want)
	}
}

// sealed is a log of the head and the lines, with a tail that says so.
func sealed(t testing.TB, head, lines string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(head + lines))
	tail, err := logCodec.EncodeTail(alloc.LogTail{Lines: alloc.Count(strings.Count(lines, "\n")), Digest: hex.EncodeToString(sum[:])})
	if err != nil {
		t.Fatal(err)
	}
	return head + lines + string(tail)
}

// refusals are logs and what they are refused for. A part that is refused is not taken.
type refusals []struct{ what, part, want string }

func (all refusals) check(t *testing.T, d *disaster, r alloc.RestoreRequest, good string) {
	t.Helper()
	s := d.service(t)
	for _, c := range all {
		j, err := s.Restore(d.ctx, r)
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
		if _, _, err := s.ReceivePart(d.ctx, j.ID, 0, []byte(good)); err != nil {
			t.Fatalf("%s: the log as it is: %v", c.what, err)
		}
		if _, err := s.CancelJob(d.ctx, j.ID); err != nil {
			t.Fatal(err)
		}
		d.clock.Advance(time.Second)
	}
}

func TestALogThatCannotBeReadIsRefused(t *testing.T) {
	d := newDisaster(t)
	log := d.log(t, alloc.LogRequest{Pool: pool})
	lines := strings.SplitAfter(log, "\n")
	head, one, two := lines[0], lines[1], lines[2]
	leases := d.log(t, alloc.LogRequest{Sequence: sequence})
	other := strings.ReplaceAll(one, string(pool), "team-a.other")
	refusals{
		{"no JSON", head + "\n" + "{\"ID\":\n", "line 3 of the log: it cannot be read"},
		{"cut off", head + one[:len(one)/2], "line 2 of the log: it cannot be read"},
		{"another pool", head + one + other, `line 3 of the log: it is about the pool "team-a.other", and this job restores the pool "team-a.vouchers"`},
		{"another pool's log", strings.ReplaceAll(log, string(pool), "team-a.other"), `line 1 of the log: the log is of the pool "team-a.other", and this job restores`},
		{"leases", leases, "line 1 of the log: the log is of the sequence"},
		{"a lease", head + strings.SplitAfter(leases, "\n")[1], "line 2 of the log: it is about the sequence"},
		{"neither", head + "{}\n", "line 2 of the log: it is neither about an ID nor about a lease"},
		{"no state", head + strings.Replace(one, `"State":"`, `"State":"x`, 1), "line 2 of the log: there is no state"},
		{"no ID", head + strings.Replace(one, `"ID":"A`, `"ID":" A`, 1), "line 2 of the log: "},
		{"a long line", strings.Repeat("x", 65<<10), "line 1 of the log: it has more than"},
		{"UTF-16", "\xff\xfe{", "UTF-16"},
		{"without its head, as old ones are", one + two, "line 1 of the log: a log begins with a line that says what it is of"},
		{"another format", strings.Replace(head, `"Format":1`, `"Format":2`, 1), "line 1 of the log: the log is of the format 2"},
		{"a line less", strings.Replace(log, two, "", 1), "the log says that it has 16 lines, and 15 have come"},
		{"a line twice", strings.Replace(log, two, two+two, 1), "the log says that it has 16 lines, and 17 have come"},
		{"a line changed", strings.Replace(log, "shop", "shup", 1), "are not those that were written, by its digest"},
		{"two lines in another order", strings.Replace(log, one+two, two+one, 1), "by its digest"},
		{"its tail alone", lines[len(lines)-2], "line 1 of the log: it is the last line of a log, and nothing has come before it"},
		{"twice", log + log, "line 19 of the log: another log begins here; a job takes one"},
		{"a log in a log", head + one + log, "line 3 of the log: another log begins here, before this one has come to its end"},
		{"something after its end", log + one, "line 19 of the log: the log has come to its end before it"},
		{"a line without end", head + strings.TrimSuffix(one, "\n"), "line 2 of the log: it has no end"},
	}.check(t, d, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, AtMost: none, Point: d.point}, head)
	d.claim(t, 1, 0) // the pool is as it was
}

// A log that leaves out something that was taken after the point of the backup is refused.
func TestALogOfAnotherTimeIsRefused(t *testing.T) {
	d := newDisaster(t)
	begun := d.clock.Now()
	late := d.log(t, alloc.LogRequest{Pool: pool, Since: d.point.Add(time.Second)})
	good := d.log(t, alloc.LogRequest{Pool: pool, Since: d.point})
	refusals{{"since a later time", late, "the log leaves out what was taken before " + d.point.Add(time.Second).UTC().Format(time.RFC3339)}}.
		check(t, d, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, AtMost: none, Point: d.point}, good)
	d.clock.Advance(time.Minute)
	later := d.log(t, alloc.LogRequest{Pool: pool})
	refusals{{"begun before the point", good, "it knows nothing of what was taken after"}}.
		check(t, d, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, AtMost: none, Point: begun.Add(time.Second)}, later)
}

// A log that was cut off, at the end of a line too, is not carried, and nothing of it is.
func TestALogWithoutItsEndIsNotCarried(t *testing.T) {
	d := newDisaster(t)
	log := d.log(t, alloc.LogRequest{Pool: pool})
	lines := strings.SplitAfter(log, "\n")
	s := d.service(t)
	j, err := s.Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, AtMost: none, Point: d.point})
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range lines[:len(lines)-2] {
		if _, _, err := s.ReceivePart(d.ctx, j.ID, n, []byte(line)); err != nil {
			t.Fatal(err)
		}
		_, err = s.StartJob(d.ctx, j.ID, n+1)
		if e := wantCode(t, err, alloc.CodeInvalidRequest); !strings.Contains(e.Message, "the log is not whole") {
			t.Errorf("after %d lines: %q", n+1, e.Message)
		}
	}
	if _, _, err := s.ReceivePart(d.ctx, j.ID, len(lines)-2, []byte(lines[len(lines)-2])); err != nil {
		t.Fatal(err)
	}
	if _, err := s.StartJob(d.ctx, j.ID, len(lines)-1); err != nil {
		t.Fatal(err)
	}
	d.toTheEnd(t)
	d.wantCarried(t)
}

// A log of a pool of which nothing was taken is whole, and carries nothing.
func TestALogOfNothing(t *testing.T) {
	d := newDisaster(t)
	if _, _, err := d.old.CreatePool(t.Context(), "empty", alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.model.CreatePool(t.Context(), "empty", alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.model.SetPoolState(t.Context(), "empty", 0, alloc.PoolPaused); err != nil {
		t.Fatal(err)
	}
	log := d.log(t, alloc.LogRequest{Pool: "empty"})
	wantWhole(t, log)
	if j, lines := d.restore(t, alloc.RestoreRequest{Pool: "empty", Source: alloc.RestoreLog}, log); j.Done != 0 || len(lines) > 0 {
		t.Errorf("the job is %+v with %+v", j, lines)
	}
}

// The last line of a log may have lost its end, and lines may end as in other systems. A part that comes again is a success.
func TestALogAsOthersSendIt(t *testing.T) {
	d := newDisaster(t)
	log := d.log(t, alloc.LogRequest{Pool: pool})
	wantWhole(t, log)
	d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog}, strings.TrimSpace(strings.ReplaceAll(log, "\n", "\r\n\r\n")))
	d.wantCarried(t)
	d.setState(t, alloc.PoolPaused)
	s := d.service(t)
	j, err := s.Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, AtMost: none, Point: d.point})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := s.ReceivePart(d.ctx, j.ID, 0, []byte(log)); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err = s.ReceivePart(d.ctx, j.ID, 1, []byte(log))
	wantCode(t, err, alloc.CodeInvalidRequest)
}

// A log of many parts is one, and whole.
func TestALogOfManyParts(t *testing.T) {
	d := newDisaster(t)
	var ids []alloc.IDRecord
	for n := range 3500 {
		ids = append(ids, alloc.IDRecord{ID: alloc.ID(fmt.Sprintf("%04d-%s", n, strings.Repeat("x", 200))), State: alloc.StateRetired})
	}
	for some := range slices.Chunk(ids, 1000) {
		if _, err := d.old.Carry(t.Context(), pool, d.point, some); err != nil {
			t.Fatal(err)
		}
	}
	log := d.log(t, alloc.LogRequest{Pool: pool})
	wantWhole(t, log)
	if len(log) < 3*alloc.MaxPartBytes {
		t.Fatal("the log is too short to show anything")
	}
	if j, _ := d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog}, log); j.Tally.Carried < 3500 {
		t.Errorf("the job is %+v", j)
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
	if whole != 9 || late != 6 { // three were claimed long before; what is held is always there
		t.Errorf("the whole log has %d lines and the late one %d, want 9 and 6", whole, late)
	}
	if n := strings.Count(d.log(t, alloc.LogRequest{Sequence: sequence, Since: since}), "\n"); n != 2 {
		t.Errorf("%d lines, want none about a lease", n)
	}
}

// A pool that is damaged ends the jobs that read it, with what to do; they are not tried for ever.
func TestAJobOverADamagedPoolEnds(t *testing.T) {
	for what, c := range map[string]struct {
		make func(d *disaster, s *alloc.Service) (alloc.Job, error)
		old  bool
		want string
	}{
		"a log": {func(d *disaster, s *alloc.Service) (alloc.Job, error) {
			return s.LogTaken(d.ctx, alloc.LogRequest{Pool: pool})
		}, false, "rebuild the pool \"team-a.vouchers\" first, then have another log written"},
		"the old table": {func(d *disaster, s *alloc.Service) (alloc.Job, error) {
			return s.Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreTable, Point: d.point})
		}, true, "rebuild the pool \"team-a.vouchers\" in the old table first"},
		"a burn": {func(d *disaster, s *alloc.Service) (alloc.Job, error) {
			return s.Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn, Point: d.point})
		}, false, "rebuild the pool \"team-a.vouchers\" first"},
	} {
		d := newDisaster(t)
		s := d.service(t)
		j, err := c.make(d, s)
		if err != nil {
			t.Fatal(err)
		}
		harmed := d.model
		if c.old {
			harmed = d.old
		}
		harmed.Damage(t, alloctest.Damage{Kind: alloctest.LoseHead, Pool: pool})
		for _, step := range d.post.take() {
			wantCode(t, s.Work(d.ctx, step), alloc.CodePoolDamaged)
		}
		if j, err = s.Job(d.ctx, j.ID); err != nil || j.State != alloc.JobFailed || !strings.Contains(j.Failure, c.want) {
			t.Errorf("%s: the job is %s, %q, %v; want it failed with %q", what, j.State, j.Failure, err, c.want)
		}
	}
}

// A restore whose log does not come ends by itself, and can be cancelled before.
func TestALogThatDoesNotCome(t *testing.T) {
	d := newDisaster(t)
	var jobs []alloc.JobID
	for range 2 {
		j, err := d.Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, AtMost: none, Point: d.point})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = d.ReceivePart(d.ctx, j.ID, 0, []byte("this is no log\n"))
		wantCode(t, err, alloc.CodeInvalidRequest)
		jobs = append(jobs, j.ID)
		d.clock.Advance(time.Second)
	}
	if j, err := d.CancelJob(d.ctx, jobs[0]); err != nil || j.State != alloc.JobCancelled {
		t.Errorf("cancelled: %+v, %v", j, err)
	}
	d.clock.Advance(24 * time.Hour)
	if r, err := d.Tend(d.ctx); err != nil || r.Open != 0 {
		t.Errorf("the schedule says %+v, %v", r, err)
	}
	if j := d.now(t, jobs[1]); j.State != alloc.JobCancelled || !strings.Contains(told(j), "given up") {
		t.Errorf("a day later: %+v", j)
	}
}
