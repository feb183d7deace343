package alloc_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// auditor is a Store that audits in as many steps as there are lists of findings; what a step finds may change with the try.
type auditor struct {
	alloc.Store
	steps [][]alloc.Finding
	tries int
	more  bool // a later try finds one more
	vary  func(try int, a *alloc.AuditStep)
}

func (s *auditor) AuditPool(_ context.Context, _ alloc.PoolName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	s.tries++
	k := 0
	if o.Step != "" {
		if _, err := fmt.Sscanf(o.Step, "step %d", &k); err != nil {
			return alloc.AuditStep{}, alloc.Errorf(alloc.CodeInternal, "no step %q", o.Step).Because(err)
		}
	}
	a := alloc.AuditStep{Done: 10, Tally: alloc.Tally{Free: 9, Claimed: 1}, Findings: slices.Clone(s.steps[k])}
	if s.more && s.tries > 1 {
		a.Findings = append(a.Findings, finding(fmt.Sprintf("try-%d", s.tries)))
	}
	if s.vary != nil {
		s.vary(s.tries, &a)
	}
	if k+1 < len(s.steps) && a.Next == "" {
		a.Next = fmt.Sprintf("step %d", k+1)
	}
	return a, nil
}

func finding(on string) alloc.Finding {
	return alloc.Finding{Kind: alloc.FindUnlisted, On: on, Detail: "in no chunk", Remedy: alloc.RemedyRebuild}
}

func findings(n int, prefix string) []alloc.Finding {
	all := make([]alloc.Finding, n)
	for i := range all {
		all[i] = finding(fmt.Sprintf("%s-%03d", prefix, i))
	}
	return all
}

// newAudit is an office whose pool an auditor audits.
func newAudit(t testing.TB, steps ...[]alloc.Finding) (*office, *auditor) {
	t.Helper()
	o := newOffice(t)
	a := &auditor{Store: o.model, steps: steps}
	o.store = alloctest.NewFaulty(a, nil)
	s, err := alloc.NewService(alloc.Config{Store: o.store, Now: o.clock.Now, Log: logCodec})
	if err != nil {
		t.Fatal(err)
	}
	o.Service = s
	if _, _, err := o.model.CreatePool(t.Context(), pool, alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	return o, a
}

func (o *office) audit(t testing.TB, r alloc.AuditRequest) (alloc.Job, []alloc.Finding) {
	t.Helper()
	j, err := o.Audit(o.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return o.finished(t, j.ID)
}

func TestAnAuditShowsTheFirstFindingsAndCountsAll(t *testing.T) {
	o, _ := newAudit(t, nil, findings(60, "a"), nil, findings(70, "b"), findings(20, "c"), nil)
	j, found := o.audit(t, alloc.AuditRequest{Pool: pool, Why: "quarterly"})
	if want := append(findings(60, "a"), findings(40, "b")...); !slices.Equal(found, want) {
		t.Errorf("it shows %d findings, want the first %d", len(found), alloc.MaxFindings)
	}
	if j.Verdict != alloc.VerdictFindings || j.Tally.Findings != 150 || j.Tally.Free != 54 || j.Tally.Claimed != 6 || j.Done < 60 || j.Spec.Sample != 100 {
		t.Errorf("the job is %+v", j)
	}
	wantActions(t, o.model, map[string]int{"pool.audit ok": 1, "pool.done-audit ok": 1})
}

func TestAnAuditOfWhatIsHealthySaysSo(t *testing.T) {
	o, _ := newAudit(t, nil, nil)
	j, found := o.audit(t, alloc.AuditRequest{Pool: pool})
	if len(found) > 0 || j.Verdict != alloc.VerdictHealthy || j.Parts != 1 || !strings.Contains(j.Log[len(j.Log)-1].Text, "healthy") {
		t.Errorf("the job is %+v with %+v", j, found)
	}
}

// What is for information alone is told and counted, and does not make what is healthy ill.
func TestWhatIsForInformationIsNoVerdict(t *testing.T) {
	o, _ := newAudit(t, []alloc.Finding{{Kind: alloc.FindNothingHeard, On: "A-1", Detail: "nobody may know of it"}})
	j, found := o.audit(t, alloc.AuditRequest{Pool: pool})
	if len(found) != 1 || j.Tally.Findings != 1 || j.Verdict != alloc.VerdictHealthy {
		t.Errorf("the job is %+v with %+v", j, found)
	}
}

// Findings of extraordinary length are cut, or fewer are shown, rather than that the audit fails.
func TestFindingsOfAnyLengthAreShown(t *testing.T) {
	long := findings(100, "a")
	for i := range long {
		long[i].Detail, long[i].On = strings.Repeat("\"", 5000), strings.Repeat("<", 5000)
	}
	o, _ := newAudit(t, long)
	j, found := o.audit(t, alloc.AuditRequest{Pool: pool})
	if len(found) == 0 || len(found) > 100 || j.Tally.Findings != 100 || len(found[0].Detail) > alloc.MaxDetailBytes {
		t.Errorf("%d are shown; the job is %+v", len(found), j)
	}
}

func TestASequenceIsAudited(t *testing.T) {
	o, _ := newAudit(t)
	if _, _, err := o.model.CreateSequence(t.Context(), sequence, alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if _, err := o.model.Lease(t.Context(), alloc.LeaseOrder{Sequence: sequence, Count: 10}); err != nil {
		t.Fatal(err)
	}
	if j, found := o.audit(t, alloc.AuditRequest{Sequence: sequence}); len(found) > 0 || j.Verdict != alloc.VerdictHealthy || j.Pool != "" {
		t.Errorf("the job is %+v with %+v", j, found)
	}
	o.model.DropCounter(sequence)
	j, found := o.audit(t, alloc.AuditRequest{Sequence: sequence, Sample: 50})
	if len(found) == 0 || found[0].Kind != alloc.FindCounter || j.Verdict != alloc.VerdictFindings || j.Spec.Sample != 50 {
		t.Errorf("the job is %+v with %+v, want the counter lost", j, found)
	}
	wantActions(t, o.model, map[string]int{"sequence.audit ok": 2, "sequence.done-audit ok": 2})
}

// An audit of a pool finds what is wrong with the trail, too.
func TestAnAuditVerifiesTheTrailWithAPool(t *testing.T) {
	o, _ := newAudit(t, findings(1, "a"))
	for range 3 {
		if _, err := o.SetPoolState(o.ctx, pool, 0, alloc.PoolPaused); err != nil {
			t.Fatal(err)
		}
	}
	o.model.Damage(t, alloctest.Damage{Kind: alloctest.ChangeRecord, Month: alloc.MonthOf(o.clock.Now()), Position: 2})
	j, found := o.audit(t, alloc.AuditRequest{Pool: pool})
	if len(found) != 2 || found[0].Kind != alloc.FindUnlisted || found[1].Kind != alloc.FindTrail || j.Tally.Findings != 2 || j.Tally.Trail != 1 {
		t.Errorf("the job is %+v with %+v", j, found)
	}
	if j.Verdict != alloc.VerdictFindings || j.TrailVerdict() != alloc.VerdictFindings {
		t.Errorf("the verdicts are %s, and %s of the trail", j.Verdict, j.TrailVerdict())
	}
}

// What is wrong with the trail is said of the trail, and a pool or a sequence that is healthy is healthy.
func TestTheVerdictOfTheTrailStandsApart(t *testing.T) {
	o, _ := newAudit(t, nil, nil)
	if _, _, err := o.model.CreateSequence(t.Context(), sequence, alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := o.SetPoolState(o.ctx, pool, 0, alloc.PoolPaused); err != nil {
			t.Fatal(err)
		}
	}
	o.model.Damage(t, alloctest.Damage{Kind: alloctest.ChangeRecord, Month: alloc.MonthOf(o.clock.Now()), Position: 2})
	for _, c := range []struct {
		of      alloc.AuditRequest
		verdict string
	}{
		{alloc.AuditRequest{Pool: pool}, alloc.VerdictHealthy},
		{alloc.AuditRequest{Sequence: sequence}, alloc.VerdictHealthy},
		{alloc.AuditRequest{}, alloc.VerdictFindings},
	} {
		j, found := o.audit(t, c.of)
		if len(found) != 1 || j.Verdict != c.verdict || j.TrailVerdict() != alloc.VerdictFindings || j.Tally.Trail != 1 {
			t.Errorf("%+v: verdict %q, of the trail %q, found %+v, tally %+v", c.of, j.Verdict, j.TrailVerdict(), found, j.Tally)
		}
	}
}

func TestAnAuditThatCannotBeIsRefused(t *testing.T) {
	o, _ := newAudit(t)
	for _, c := range []struct {
		r    alloc.AuditRequest
		want alloc.Code
	}{
		{alloc.AuditRequest{Pool: "nothing"}, alloc.CodePoolNotFound},
		{alloc.AuditRequest{Sequence: "nothing"}, alloc.CodeSequenceNotFound},
		{alloc.AuditRequest{Pool: pool, Sequence: sequence}, alloc.CodeInvalidRequest},
		{alloc.AuditRequest{Pool: pool, Sample: 101}, alloc.CodeInvalidRequest},
		{alloc.AuditRequest{Pool: pool, Sample: -1}, alloc.CodeInvalidRequest},
		{alloc.AuditRequest{Why: "\x00"}, alloc.CodeInvalidRequest},
		{alloc.AuditRequest{Known: alloc.TrailMonth{Month: "2026-11"}}, alloc.CodeInvalidRequest},
		{alloc.AuditRequest{Known: alloc.TrailMonth{Month: "2026-13", Last: 1, Hash: "h"}}, alloc.CodeInvalidRequest},
	} {
		_, err := o.Audit(o.ctx, c.r)
		wantCode(t, err, c.want)
	}
}

// However it is cut off, an audit counts each finding once and shows each once, also where a later try finds something else.
func TestAnAuditEndsWhateverFails(t *testing.T) {
	for _, more := range []bool{false, true} {
		t.Run(fmt.Sprintf("more %t", more), func(t *testing.T) {
			everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
				o, a := newAudit(t, findings(2, "a"), nil, findings(1, "b"))
				j, err := o.Audit(o.ctx, alloc.AuditRequest{Pool: pool})
				if err != nil {
					t.Fatal(err)
				}
				a.more = more
				plan(o.store)
				for range 10 {
					o.clock.Advance(time.Minute)
					if _, err := o.Tend(o.ctx); err != nil && !alloctest.Injected(err) {
						t.Fatal(err)
					}
				}
				o.store.SetPlan(nil)
				got, found := o.finished(t, j.ID)
				if int(got.Tally.Findings) != len(found) || got.Verdict != alloc.VerdictFindings || got.Tally.Free != 27 {
					t.Errorf("the job is %+v with %+v", got, found)
				}
				if !more && got.Tally.Findings != 3 {
					t.Errorf("the tally is %+v, want 3 findings", got.Tally)
				}
				met := map[string]int{}
				for _, f := range found {
					met[f.On]++
				}
				for on, n := range met {
					if n > 1 {
						t.Errorf("%s is shown %d times", on, n)
					}
				}
				wantActions(t, o.model, map[string]int{"pool.done-audit ok": 1})
			})
		})
	}
}

// Of two tries of a step the first part stands, with where it led to; the part of a try that counts for nothing hides no later one.
func TestOfTwoTriesTheFirstPartStands(t *testing.T) {
	for _, c := range []struct {
		what  string
		again func(a *alloc.AuditStep) // what the second try of the first step finds
		want  []string
		count alloc.Count
		tries int
	}{
		{
			"the second leads elsewhere", func(a *alloc.AuditStep) { a.Findings, a.Next = findings(1, "other"), "step 2" },
			[]string{"a-000", "b-000"},
			2, 4,
		},
		{
			"the second finds nothing", func(a *alloc.AuditStep) { a.Findings = nil },
			[]string{"a-000", "b-000"},
			1, 4,
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			o, a := newAudit(t, findings(1, "a"), findings(1, "b"), nil)
			a.vary = func(try int, step *alloc.AuditStep) {
				if try == 2 {
					c.again(step)
				}
			}
			j, err := o.Audit(o.ctx, alloc.AuditRequest{Pool: pool})
			if err != nil {
				t.Fatal(err)
			}
			o.store.SetPlan(alloctest.Script("ChangeJob", alloctest.Refused, alloctest.Refused)) // the done-mark, and the count of the try
			if _, err := o.Tend(o.ctx); err != nil && !alloctest.Injected(err) {
				t.Fatal(err)
			}
			o.store.SetPlan(nil)
			got, found := o.finished(t, j.ID)
			var on []string
			for _, f := range found {
				on = append(on, f.On)
			}
			if !slices.Equal(on, c.want) || got.Tally.Findings != c.count || a.tries != c.tries || got.Verdict != alloc.VerdictFindings {
				t.Errorf("it shows %v after %d tries, want %v after %d; the job is %+v", on, a.tries, c.want, c.tries, got)
			}
		})
	}
}

// A log that is cut off anywhere has each line once.
func TestALogEndsWhateverFails(t *testing.T) {
	everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
		d := newDisaster(t)
		s := d.service(t)
		j, err := s.LogTaken(d.ctx, alloc.LogRequest{Pool: pool})
		if err != nil {
			t.Fatal(err)
		}
		plan(d.store)
		d.toTheEnd(t)
		d.store.SetPlan(nil)
		if j, err = s.Job(d.ctx, j.ID); err != nil || j.State != alloc.JobDone || j.Done != 7 || j.Parts != 1 {
			t.Fatalf("the job is %+v, %v, want it done with seven lines", j, err)
		}
		part, err := s.JobPart(d.ctx, j.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		wantWhole(t, string(part))
		met := map[alloc.ID]bool{}
		lines := readLines[testLine](t, part)
		for _, l := range lines[1 : len(lines)-1] {
			if met[l.ID.ID] || l.ID.Token == "" {
				t.Errorf("a line of the log is %+v", l.ID)
			}
			met[l.ID.ID] = true
		}
		wantActions(t, d.model, map[string]int{"pool.log ok": 1, "pool.done-log ok": 1})
	})
}

// A log has tokens: whoever may export what is free may not have it.
func TestALogIsForManagersOnly(t *testing.T) {
	d := newDisaster(t)
	s := d.service(t)
	j, err := s.LogTaken(d.ctx, alloc.LogRequest{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	d.toTheEnd(t)
	for _, action := range []alloc.Action{alloc.ActionExport, alloc.ActionRead, alloc.ActionSeed, alloc.ActionTend} {
		ctx := as(t.Context(), "admin", alloc.Scope{Action: action, Pattern: "*"})
		_, err := s.JobPart(ctx, j.ID, 0)
		wantErr(t, err, alloc.CodeForbidden)
		_, err = s.Job(ctx, j.ID)
		wantErr(t, err, alloc.CodeForbidden)
	}
	if _, err := s.JobPart(as(t.Context(), "other", alloc.Scope{Action: alloc.ActionManage, Pattern: string(pool)}), j.ID, 0); err != nil {
		t.Error(err)
	}
}

// Whoever wants to know is told of the end of a job, once, whoever brings it about.
func TestTheEndOfAJobIsTold(t *testing.T) {
	o := newOffice(t)
	var told []alloc.Job
	s, err := alloc.NewService(alloc.Config{
		Store: o.model, Now: o.clock.Now, Log: logCodec, Encoders: encoders, Ended: func(_ context.Context, j alloc.Job) { told = append(told, j) },
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Service = s
	j, err := s.Audit(o.ctx, alloc.AuditRequest{})
	if err != nil || len(told) > 0 {
		t.Fatalf("%v: told of %+v", err, told)
	}
	done, _ := o.finished(t, j.ID)
	if _, err := s.Tend(o.ctx); err != nil || len(told) != 1 || !told[0].Equal(done) {
		t.Errorf("%v: told of %+v, want %+v", err, told, done)
	}
}
