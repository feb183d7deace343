package alloc_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// archive is an office with a trail of three months before the present one: 250, 3 and 120 records.
type archive struct {
	*office
	tampered *tampered
	months   []string
}

// tampered is a Store whose trail shows what somebody has made of it.
type tampered struct {
	alloc.Store
	chain func(month string, records []alloc.AuditRecord) []alloc.AuditRecord // of a whole month; nil for as it is
	ends  func([]alloc.TrailMonth) []alloc.TrailMonth
}

func (s *tampered) Chain(ctx context.Context, month string, after int64, limit int) ([]alloc.AuditRecord, error) {
	if s.chain == nil {
		return s.Store.Chain(ctx, month, after, limit)
	}
	all, err := s.Store.Chain(ctx, month, 0, 100_000)
	if err != nil {
		return nil, err
	}
	all = s.chain(month, slices.Clone(all))
	all = slices.DeleteFunc(all, func(r alloc.AuditRecord) bool { return r.Position <= after })
	return all[:min(limit, len(all))], nil
}

func (s *tampered) Months(ctx context.Context) ([]alloc.TrailMonth, error) {
	ends, err := s.Store.Months(ctx)
	if s.ends != nil {
		ends = s.ends(slices.Clone(ends))
	}
	return ends, err
}

func newArchive(t testing.TB) *archive {
	t.Helper()
	a := &archive{office: newOffice(t)}
	a.tampered = &tampered{Store: a.model}
	a.store = alloctest.NewFaulty(a.tampered, nil)
	s, err := alloc.NewService(alloc.Config{Store: a.store, Now: a.clock.Now, Encoders: encoders, Log: logCodec})
	if err != nil {
		t.Fatal(err)
	}
	a.Service = s
	for _, n := range []int{250, 3, 120} {
		a.months = append(a.months, alloc.MonthOf(a.clock.Now()))
		for i := range n {
			r := alloc.AuditRecord{ID: fmt.Sprintf("%s-%03d", a.clock.Now().Format(time.RFC3339), i), At: a.clock.Now(), Client: "c", Action: "pool.pause", Target: "pool/x", Result: "ok"}
			if err := a.model.Record(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		a.clock.Advance(31 * 24 * time.Hour)
	}
	a.months = append(a.months, alloc.MonthOf(a.clock.Now())) // in which the audit is made
	return a
}

// audit verifies the trail alone, to the end.
func (a *archive) audit(t testing.TB) (j alloc.Job, found []alloc.Finding) {
	t.Helper()
	j, err := a.Audit(a.ctx, alloc.AuditRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return a.finished(t, j.ID)
}

func (o *office) finished(t testing.TB, id alloc.JobID) (j alloc.Job, found []alloc.Finding) {
	t.Helper()
	var err error
	for range 20 {
		if j, err = o.Job(o.ctx, id); err != nil {
			t.Fatal(err)
		}
		if j.State.Ended() {
			break
		}
		if _, err := o.Tend(o.ctx); err != nil {
			t.Fatal(err)
		}
		o.clock.Advance(time.Minute)
	}
	if j.State != alloc.JobDone {
		t.Fatalf("the job is %+v, want it done", j)
	}
	for n := range j.Parts {
		part, err := o.JobPart(o.ctx, id, n)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, readLines[alloc.Finding](t, part)...)
	}
	return j, found
}

func TestTheTrailIsVerified(t *testing.T) {
	first, second, third, present := 0, 1, 2, 3
	lose := func(month int, positions ...int64) func(t *testing.T, a *archive) {
		return func(t *testing.T, a *archive) {
			for _, p := range positions {
				a.model.Damage(t, alloctest.Damage{Kind: alloctest.LoseRecord, Month: a.months[month], Position: p})
			}
		}
	}
	// resealed puts what change makes of a record in its place, with a hash that fits it.
	resealed := func(month int, position int64) func(t *testing.T, a *archive) {
		return func(_ *testing.T, a *archive) {
			a.tampered.chain = func(m string, all []alloc.AuditRecord) []alloc.AuditRecord {
				if m == a.months[month] {
					r := all[position-1]
					r.Client = "somebody else"
					all[position-1] = r.Seal(r.Month, r.Position, r.Previous)
				}
				return all
			}
		}
	}
	for _, c := range []struct {
		what string
		do   func(t *testing.T, a *archive)
		want []string // month number, position and a word of each finding
	}{
		{"nothing", func(*testing.T, *archive) {}, nil},
		{"the first record of all is lost", lose(first, 1), []string{"0/1 missing"}},
		{"one in the middle is lost", lose(first, 120), []string{"0/120 missing"}},
		{"some in a row are lost", lose(first, 99, 100, 101, 102), []string{"0/99 missing"}},
		{"the end of a month is removed", lose(second, 2, 3), []string{"1/2 missing"}},
		{"the end of the trail is removed", lose(third, 120), []string{"2/120 missing"}},
		{"a whole month is removed, but for its end", lose(second, 1, 2, 3), []string{"1/1 missing"}},
		{"a record was changed by hand", func(t *testing.T, a *archive) {
			a.model.Damage(t, alloctest.Damage{Kind: alloctest.ChangeRecord, Month: a.months[first], Position: 77})
		}, []string{"0/77 changed"}},
		{"a record was changed and sealed anew", resealed(first, 77), []string{"0/78 follow"}},
		{"the last of a month was changed and sealed anew", resealed(second, 3), []string{"1/3 known", "2/1 follow"}},
		{"the last of all was changed and sealed anew", resealed(present, 1), []string{"3/1 known"}},
		{"a month is gone with its end", func(_ *testing.T, a *archive) {
			a.tampered.ends = func(ends []alloc.TrailMonth) []alloc.TrailMonth { return slices.Delete(ends, 1, 2) }
		}, []string{"2/1 follow"}},
		{"the first month is gone with its end", func(_ *testing.T, a *archive) {
			a.tampered.ends = func(ends []alloc.TrailMonth) []alloc.TrailMonth { return ends[1:] }
		}, []string{"1/1 removed"}},
		{"a record stands twice in a row", func(_ *testing.T, a *archive) {
			a.tampered.chain = func(m string, all []alloc.AuditRecord) []alloc.AuditRecord {
				if m == a.months[second] {
					all[2] = all[1].Seal(m, 3, all[1].Hash)
				}
				return all
			}
		}, []string{"1/3 known", "2/1 follow"}},
		{"a record of another month stands in its place", func(_ *testing.T, a *archive) {
			a.tampered.chain = func(m string, all []alloc.AuditRecord) []alloc.AuditRecord {
				if m == a.months[second] {
					all[1].Month = a.months[first]
				}
				return all
			}
		}, []string{"1/2 changed"}},
		{"the end of the present month is one behind, as it was cut off in the writing", func(_ *testing.T, a *archive) {
			a.tampered.ends = func(ends []alloc.TrailMonth) []alloc.TrailMonth {
				last := &ends[len(ends)-1]
				all, err := a.model.Chain(context.Background(), last.Month, 0, 1000)
				if err == nil && len(all) > 1 {
					last.Last, last.Hash = all[len(all)-2].Position, all[len(all)-2].Hash
				}
				return ends
			}
		}, nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			a := newArchive(t)
			c.do(t, a)
			j, found := a.audit(t)
			var got []string
			for _, f := range found {
				if f.Kind != alloc.FindTrail || f.Detail == "" || f.Remedy != alloc.RemedyNone {
					t.Errorf("found %+v, want it about the trail", f)
				}
				month, position, _ := strings.Cut(f.On, "/")
				word := ""
				for _, w := range []string{"missing", "changed after", "known by", "before it was removed", "does not follow"} {
					if strings.Contains(f.Detail, w) {
						word = w
					}
				}
				word = map[string]string{"missing": "missing", "changed after": "changed", "known by": "known", "before it was removed": "removed", "does not follow": "follow"}[word]
				got = append(got, fmt.Sprintf("%d/%s %s", slices.Index(a.months, month), strings.TrimLeft(position, "0"), word))
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			verdict := alloc.VerdictHealthy
			if len(c.want) > 0 {
				verdict = alloc.VerdictFindings
			}
			if j.Verdict != verdict || int(j.Tally.Findings) != len(c.want) || j.Done < 100 {
				t.Errorf("the job is %+v, want %s with %d findings", j, verdict, len(c.want))
			}
		})
	}
}

// What is appended while the trail is verified is no finding.
func TestTheTrailIsVerifiedWhileItGrows(t *testing.T) {
	a := newArchive(t)
	n := 0
	a.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		if c.Method == "Chain" || c.Method == "Months" {
			for range 40 {
				n++
				r := alloc.AuditRecord{ID: fmt.Sprintf("meanwhile-%d", n), At: a.clock.Now(), Client: "c", Action: "pool.pause", Target: "pool/x", Result: "ok"}
				if err := a.model.Record(context.Background(), r); err != nil {
					t.Error(err)
				}
			}
		}
		return alloctest.Pass
	})
	if j, found := a.audit(t); len(found) > 0 || j.Verdict != alloc.VerdictHealthy || n < 40 {
		t.Errorf("found %+v with %d records meanwhile; the job is %+v", found, n, j)
	}
}

// A long trail takes several steps, and what was verified in one is not lost for the next.
func TestALongTrailIsVerifiedInSteps(t *testing.T) {
	a := newArchive(t)
	for i := range 4500 {
		r := alloc.AuditRecord{ID: fmt.Sprintf("long-%04d", i), At: a.clock.Now(), Client: "c", Action: "pool.pause", Target: "pool/x", Result: "ok"}
		if err := a.model.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	month := alloc.MonthOf(a.clock.Now())
	for _, p := range []int64{1500, 1501, 3800} {
		a.model.Damage(t, alloctest.Damage{Kind: alloctest.LoseRecord, Month: month, Position: p})
	}
	j, found := a.audit(t)
	if len(found) != 2 || j.Tally.Findings != 2 || j.Version < 4 {
		t.Errorf("found %+v; the job is %+v, want two findings in several steps", found, j)
	}
}

// An intent that the schedule should have recorded long ago is told.
func TestAnOldIntentIsFound(t *testing.T) {
	a := newArchive(t)
	r := alloc.AuditRecord{ID: "intended", At: a.clock.Now(), Client: "c", Action: "pool.delete", Target: "pool/x"}
	if err := a.model.Intend(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	j, err := a.Audit(a.ctx, alloc.AuditRequest{})
	if err != nil {
		t.Fatal(err)
	}
	a.clock.Advance(31 * time.Minute)
	a.store.SetPlan(failing("Record", alloctest.Refused)) // so that the schedule cannot
	if _, err := a.Tend(a.ctx); !alloctest.Injected(err) {
		t.Fatalf("the schedule ended with %v", err)
	}
	got, err := a.Job(a.ctx, j.ID)
	if err != nil || got.Parts != 0 && got.State.Ended() {
		t.Fatalf("the job is %+v, %v", got, err)
	}
	part, err := a.model.Part(t.Context(), j.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if found := readLines[alloc.Finding](t, part.Data); len(found) != 1 || found[0].Kind != alloc.FindIntent || found[0].On != "intended" {
		t.Errorf("found %+v, want the intent", found)
	}
}
