package alloc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

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
	half := strings.Index(log[len(log)/2:], "\n") + len(log)/2 + 1
	for _, parts := range [][]string{{log}, {log[:half], log[half:]}} {
		j, lines := d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog}, parts...)
		if len(lines) > 0 || j.Tally.Carried != 0 || j.Tally.Duplicate != j.Done || int(j.Done) != len(d.taken) {
			t.Errorf("the repeat is %+v with %+v, want all so already", j, lines)
		}
		if diff := cmp.Diff(before, d.ids(t)); diff != "" {
			t.Errorf("the repeat has changed (-before +after):\n%s", diff)
		}
	}
	d.wantCarried(t)
}

// An ID that a log has twice, as it came back while the log was written, is carried as if it stood there once.
func TestAnIDTwiceInALogIsCarriedOnce(t *testing.T) {
	d := newDisaster(t)
	lines := strings.SplitAfter(d.log(t, alloc.LogRequest{Pool: pool}), "\n")
	body := strings.Join(lines[1:len(lines)-2], "")
	j, told := d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog}, sealed(t, lines[0], body+body))
	if len(told) > 0 || int(j.Done) != 2*len(d.taken) || j.Tally.Carried+j.Tally.Duplicate != j.Done {
		t.Errorf("the job is %+v with %+v", j, told)
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

// A hold of an ID that is in two hands does not end by itself: a third would get it.
func TestAHoldOfWhatIsInTwoHandsStays(t *testing.T) {
	d := newDisaster(t)
	given := d.claim(t, 3, time.Hour)
	d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreTable})
	d.clock.Advance(2 * time.Hour)
	d.wantNoneTwice(t)
	for _, id := range given.IDs {
		r, err := d.model.Inspect(t.Context(), pool, id)
		if _, was := d.taken[id]; err != nil || was && (r.State != alloc.StateClaimed || r.Token != given.Token) {
			t.Errorf("%s is %+v, %v, want it with whoever has taken it since the restore", id, r, err)
		}
	}
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
		"fewer than none":           func(r *alloc.RestoreRequest) { r.AtMost = new(alloc.Count(-1)) },
		"none of a burn":            func(r *alloc.RestoreRequest) { r.AtMost = new(alloc.Count(0)) },
		"a log without a bound":     func(r *alloc.RestoreRequest) { r.Source = alloc.RestoreLog },
		"a log below none":          func(r *alloc.RestoreRequest) { r.Source, r.AtMost = alloc.RestoreLog, new(alloc.Count(-1)) },
		"a bound of a table":        func(r *alloc.RestoreRequest) { r.AtMost, r.Source = new(alloc.Count(5)), alloc.RestoreTable },
		"a bound of a sequence":     func(r *alloc.RestoreRequest) { r.AtMost, r.Pool, r.Sequence = new(alloc.Count(5)), "", sequence },
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

// Numbers that were leased again between the restore and the job are told, each lease that has some of them, also by a repeat; and a rebuild stands above all.
func TestLeasesInTwoHandsAreTold(t *testing.T) {
	d := newDisaster(t)
	set := func(to alloc.SequenceState) {
		t.Helper()
		if _, err := d.model.SetSequenceState(t.Context(), sequence, 0, to); err != nil {
			t.Fatal(err)
		}
	}
	set(alloc.SequenceActive)
	d.lease(t, 3) // 11 to 13, that were leased as 11 to 35
	_, err := d.service(t).Restore(d.ctx, alloc.RestoreRequest{Sequence: sequence, Source: alloc.RestoreTable, Point: d.point})
	if e := wantCode(t, err, alloc.CodeRebuildStep); !strings.Contains(e.Message, "pause it") {
		t.Errorf("of an active sequence: %q", e.Message)
	}
	set(alloc.SequencePaused)
	log := d.log(t, alloc.LogRequest{Sequence: sequence})
	for _, source := range []alloc.RestoreSource{alloc.RestoreTable, alloc.RestoreTable, alloc.RestoreLog} {
		j, lines := d.restore(t, alloc.RestoreRequest{Sequence: sequence, Source: source}, log)
		if len(lines) != 1 || j.Tally.Conflict != 1 || lines[0].Outcome != alloc.CarryClash || lines[0].Sequence != sequence || lines[0].Start != 11 || lines[0].End != 35 {
			t.Errorf("it tells %+v; the job is %+v", lines, j)
		}
		d.clock.Advance(time.Second)
	}
	ledger, _, err := d.model.WalkLedger(t.Context(), sequence, "", 10)
	if err != nil || len(ledger) != 3 || ledger[1].End != 13 || ledger[2].Start != 14 || ledger[2].End != 35 {
		t.Errorf("the ledger is %+v, %v", ledger, err)
	}
}

// A sequence that somebody resumes ends the restore: what is carried may be leased in the same moment.
func TestARestoreOfASequenceThatIsResumedEnds(t *testing.T) {
	d := newDisaster(t)
	s := d.service(t)
	j, err := s.Restore(d.ctx, alloc.RestoreRequest{Sequence: sequence, Source: alloc.RestoreTable, Point: d.point})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.model.SetSequenceState(t.Context(), sequence, 0, alloc.SequenceActive); err != nil {
		t.Fatal(err)
	}
	for _, step := range d.post.take() {
		wantCode(t, s.Work(d.ctx, step), alloc.CodeRebuildStep)
	}
	if j, err = s.Job(d.ctx, j.ID); err != nil || j.State != alloc.JobFailed || !strings.Contains(j.Failure, "pause it") {
		t.Errorf("the job is %+v, %v", j, err)
	}
}

// A restore that is asked for again while it is under way is that one; one of another point, of another bound or of a log is its own.
func TestARestoreThatIsUnderWayIsNotMadeTwice(t *testing.T) {
	d := newDisaster(t)
	s := d.service(t)
	ask := func(r alloc.RestoreRequest) alloc.JobID {
		t.Helper()
		r.Pool = pool
		j, err := s.Restore(d.ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return j.ID
	}
	table := alloc.RestoreRequest{Source: alloc.RestoreTable, Point: d.point}
	burn := alloc.RestoreRequest{Source: alloc.RestoreBurn, Point: d.point, AtMost: new(alloc.Count(3))}
	log := alloc.RestoreRequest{Source: alloc.RestoreLog, Point: d.point, AtMost: new(alloc.Count(1))}
	first, second := ask(table), ask(burn)
	if again, also := ask(table), ask(burn); again != first || also != second || first == second {
		t.Errorf("asked again, the jobs are %s and %s, want %s and %s", again, also, first, second)
	}
	more, earlier := burn, table
	more.AtMost, earlier.Point = new(alloc.Count(4)), d.point.Add(-time.Minute)
	seen := map[alloc.JobID]bool{first: true, second: true}
	for _, r := range []alloc.RestoreRequest{more, earlier, log, log} {
		if id := ask(r); seen[id] {
			t.Errorf("%+v gets the job of another request", r)
		} else {
			seen[id] = true
		}
	}
}
