package alloc_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// of is the acknowledgement of a finding.
func of(t testing.TB, f alloc.Finding) alloc.Acknowledgement {
	t.Helper()
	month, text, _ := strings.Cut(f.On, "/")
	position, err := strconv.ParseInt(text, 10, 64)
	if err != nil || f.Seen == "" {
		t.Fatalf("the finding %+v cannot be acknowledged: %v", f, err)
	}
	return alloc.Acknowledgement{Month: month, Position: position, Seen: f.Seen, Why: "restored by hand"}
}

// kinds counts findings by their kinds.
func kinds(found []alloc.Finding) map[alloc.FindingKind]int {
	n := map[alloc.FindingKind]int{}
	for _, f := range found {
		n[f.Kind]++
	}
	return n
}

// breaks are harms to the trail of an archive, each of which an audit finds.
var breaks = map[string]func(t *testing.T, a *archive){
	"one is lost":                  func(t *testing.T, a *archive) { a.lose(t, 0, 120) },
	"the first is lost":            func(t *testing.T, a *archive) { a.lose(t, 0, 1) },
	"the first of a month is lost": func(t *testing.T, a *archive) { a.lose(t, 1, 1) },
	"the end of a month is lost":   func(t *testing.T, a *archive) { a.lose(t, 1, 2, 3) },
	"a whole month is lost":        func(t *testing.T, a *archive) { a.lose(t, 1, 1, 2, 3) },
	"one is changed": func(t *testing.T, a *archive) {
		a.model.Damage(t, alloctest.Damage{Kind: alloctest.ChangeRecord, Month: a.months[0], Position: 77})
	},
	"one is lost and the next is changed": func(t *testing.T, a *archive) {
		a.lose(t, 0, 76)
		a.model.Damage(t, alloctest.Damage{Kind: alloctest.ChangeRecord, Month: a.months[0], Position: 77})
	},
	"one is sealed anew":                 func(_ *testing.T, a *archive) { a.reseal(0, 77) },
	"the last of a month is sealed anew": func(_ *testing.T, a *archive) { a.reseal(1, 3) },
	"the last of all is sealed anew":     func(_ *testing.T, a *archive) { a.reseal(3, 1) },
	"a month is gone with its end": func(_ *testing.T, a *archive) {
		a.tampered.ends = func(ends []alloc.TrailMonth) []alloc.TrailMonth { return slices.Delete(ends, 1, 2) }
	},
	"the first month is gone with its end": func(_ *testing.T, a *archive) {
		a.tampered.ends = func(ends []alloc.TrailMonth) []alloc.TrailMonth { return ends[1:] }
	},
}

func (a *archive) lose(t *testing.T, month int, positions ...int64) {
	for _, p := range positions {
		a.model.Damage(t, alloctest.Damage{Kind: alloctest.LoseRecord, Month: a.months[month], Position: p})
	}
}

// reseal puts a record that somebody has changed in the place of one, with a hash that fits it.
func (a *archive) reseal(month int, position int64) {
	a.tampered.chain = func(m string, all []alloc.AuditRecord) []alloc.AuditRecord {
		if m == a.months[month] {
			r := all[position-1]
			r.Client = "somebody else"
			all[position-1] = r.Seal(r.Month, r.Position, r.Previous)
		}
		return all
	}
}

// Every break that an audit finds can be acknowledged, and is information then; another one is a finding.
func TestABreakOfTheTrailIsAcknowledged(t *testing.T) {
	for what, harm := range breaks {
		t.Run(what, func(t *testing.T) {
			a := newArchive(t)
			if what == "the last of all is sealed anew" { // there has to be one
				a.audit(t)
			}
			harm(t, a)
			j, found := a.audit(t)
			if len(found) == 0 || kinds(found)[alloc.FindTrail] != len(found) || j.TrailVerdict() != alloc.VerdictFindings {
				t.Fatalf("found %+v; the job is %+v", found, j)
			}
			for _, f := range found {
				if err := a.Acknowledge(a.ctx, of(t, f)); err != nil {
					t.Fatalf("%+v: %v", f, err)
				}
			}
			n := len(found)
			j, found = a.audit(t)
			if len(found) != n || kinds(found)[alloc.FindAcknowledged] != n || j.Verdict != alloc.VerdictHealthy || j.TrailVerdict() != alloc.VerdictHealthy ||
				int(j.Tally.Informing) != n || j.Tally.Trail != 0 {
				t.Fatalf("acknowledged: found %+v; the job is %+v", found, j)
			}
			chain := a.tampered.chain
			a.tampered.chain = func(m string, all []alloc.AuditRecord) []alloc.AuditRecord { // something else at the same time
				if chain != nil {
					all = chain(m, all)
				}
				if m == a.months[2] {
					all[99].Reason = "another"
				}
				return all
			}
			j, found = a.audit(t)
			if kinds(found)[alloc.FindAcknowledged] != n || kinds(found)[alloc.FindTrail] != 1 || j.TrailVerdict() != alloc.VerdictFindings {
				t.Errorf("with a new break: found %+v; the job is %+v", found, j)
			}
		})
	}
}

// What is acknowledged is what was seen: where more is missing later, or the record is changed once more, that is a finding.
func TestAnAcknowledgementIsOfWhatWasSeen(t *testing.T) {
	a := newArchive(t)
	a.lose(t, 0, 120)
	_, found := a.audit(t)
	if err := a.Acknowledge(a.ctx, of(t, found[0])); err != nil {
		t.Fatal(err)
	}
	a.lose(t, 0, 121)
	if j, found := a.audit(t); len(found) != 1 || found[0].Kind != alloc.FindTrail || j.TrailVerdict() != alloc.VerdictFindings {
		t.Errorf("found %+v, want that more is missing", found)
	}
}

func TestOnlyABreakThatIsThereIsAcknowledged(t *testing.T) {
	a := newArchive(t)
	a.lose(t, 0, 120)
	_, found := a.audit(t)
	good := of(t, found[0])
	for what, bad := range map[string]struct {
		spoil func(*alloc.Acknowledgement)
		code  alloc.Code
	}{
		"another position": {func(k *alloc.Acknowledgement) { k.Position++ }, alloc.CodeBreakNotFound},
		"no position":      {func(k *alloc.Acknowledgement) { k.Position = 0 }, alloc.CodeBreakNotFound},
		"another month":    {func(k *alloc.Acknowledgement) { k.Month = a.months[1] }, alloc.CodeBreakNotFound},
		"no such month":    {func(k *alloc.Acknowledgement) { k.Month = "x" }, alloc.CodeBreakNotFound},
		"something else":   {func(k *alloc.Acknowledgement) { k.Seen = "0123456789abcdef" }, alloc.CodeBreakNotFound},
		"no reason":        {func(k *alloc.Acknowledgement) { k.Why = "" }, alloc.CodeInvalidRequest},
		"a bad reason":     {func(k *alloc.Acknowledgement) { k.Why = "\x00" }, alloc.CodeInvalidRequest},
	} {
		k := good
		bad.spoil(&k)
		if err := a.Acknowledge(a.ctx, k); !alloc.Is(err, bad.code) {
			t.Errorf("%s: got %v, want %s", what, err, bad.code)
		}
	}
	if _, found := a.audit(t); len(found) != 1 || found[0].Kind != alloc.FindTrail {
		t.Errorf("a refused acknowledgement counts: %+v", found)
	}
}

// A record that was changed acknowledges nothing, and of many breaks those that no step can keep are told all the same.
func TestWhatAcknowledges(t *testing.T) {
	a := newArchive(t)
	a.lose(t, 0, 120)
	_, found := a.audit(t)
	if err := a.Acknowledge(a.ctx, of(t, found[0])); err != nil {
		t.Fatal(err)
	}
	a.tampered.chain = func(_ string, all []alloc.AuditRecord) []alloc.AuditRecord {
		for i := range all {
			if all[i].Action == "trail.acknowledge" {
				all[i].Reason = "another"
			}
		}
		return all
	}
	if _, found := a.audit(t); kinds(found)[alloc.FindTrail] != 2 {
		t.Errorf("found %+v, want the break, and the change of its acknowledgement", found)
	}
	many := newArchive(t)
	for p := int64(1); p <= 249; p += 2 {
		many.lose(t, 0, p)
	}
	if j, found := many.audit(t); len(found) != alloc.MaxFindings || j.Tally.Findings != 125 || j.Tally.Trail != 125 {
		t.Errorf("%d are shown; the job is %+v", len(found), j)
	}
}

// Where the last records are removed together with the end of their month, an end that was noted before shows it.
func TestAnEndThatWasNotedElsewhereAnchorsTheTrail(t *testing.T) {
	a := newArchive(t)
	j, found := a.audit(t)
	noted := j.Spec.Verified
	if len(found) > 0 || noted.Month != a.months[3] || noted.Last < 1 || noted.Hash == "" {
		t.Fatalf("found %+v; the trail ends at %+v", found, noted)
	}
	for what, harm := range map[string]func(){
		"the present month is gone": func() {
			a.tampered.ends = func(ends []alloc.TrailMonth) []alloc.TrailMonth { return ends[:3] }
			a.tampered.chain = func(m string, all []alloc.AuditRecord) []alloc.AuditRecord {
				if m == a.months[3] {
					return nil
				}
				return all
			}
		},
		"all is sealed anew": func() {
			a.tampered.chain = func(m string, _ []alloc.AuditRecord) []alloc.AuditRecord { return a.forged(t, m) }
			a.tampered.ends = func(ends []alloc.TrailMonth) []alloc.TrailMonth {
				for i, end := range ends {
					all, err := a.tampered.Chain(a.ctx, end.Month, 0, 1000)
					if err != nil {
						t.Fatal(err)
					}
					ends[i].Hash = all[len(all)-1].Hash
				}
				return ends
			}
		},
	} {
		a.tampered.ends, a.tampered.chain = nil, nil
		harm()
		if _, found := a.audit(t); len(found) > 0 {
			t.Errorf("%s: without the noted end it shows: %+v", what, found)
		}
		j, err := a.Audit(a.ctx, alloc.AuditRequest{Known: noted})
		if err != nil {
			t.Fatal(err)
		}
		if j, found = a.finished(t, j.ID); len(found) == 0 || j.TrailVerdict() != alloc.VerdictFindings {
			t.Errorf("%s: with the noted end %+v it does not show: %+v", what, noted, j)
		}
	}
}

// forged is a month of the trail, all of which somebody has changed and sealed anew.
func (a *archive) forged(t *testing.T, month string) (all []alloc.AuditRecord) {
	previous := ""
	for _, m := range a.months[:1+slices.Index(a.months, month)] {
		var err error
		if all, err = a.model.Chain(a.ctx, m, 0, 1000); err != nil {
			t.Fatal(err)
		}
		for i, r := range all {
			r.Role = "nobody"
			all[i] = r.Seal(m, r.Position, previous)
			previous = all[i].Hash
		}
	}
	return all
}
