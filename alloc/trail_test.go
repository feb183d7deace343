package alloc_test

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

func trail(t testing.TB, m *alloctest.Model) []alloc.AuditRecord {
	t.Helper()
	records, err := m.Records(t.Context(), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// Each administrative operation, successful or refused, leaves exactly one record; every other leaves none.
func TestEveryAdministrativeOperationIsRecorded(t *testing.T) {
	for name, op := range operations {
		for _, c := range []struct {
			when   string
			scopes []alloc.Scope
			before func(m *alloctest.Model)
			result alloc.Code
		}{
			{"allowed", alloc.AllScopes(), func(*alloctest.Model) {}, "ok"},
			{"forbidden", nil, func(*alloctest.Model) {}, alloc.CodeForbidden},
			{"refused", alloc.AllScopes(), func(m *alloctest.Model) {
				must(t, m.SetPoolState, pool, alloc.PoolDeleted)
				for _, name := range []alloc.SequenceName{sequence, planned, verified} {
					must(t, m.SetSequenceState, name, alloc.SequenceDeleted)
				}
				if _, err := m.ChangeCredential(t.Context(), 1, alloc.Credential{ID: credential, Revoked: time.Now()}); err != nil {
					t.Fatal(err)
				}
			}, "refused"},
		} {
			t.Run(name+" "+c.when, func(t *testing.T) {
				s, _, m := newWorld(t, nil)
				c.before(m)
				err := op.run(as(t.Context(), "c", c.scopes...), s)
				got := trail(t, m)
				if op.ends != "" && err == nil {
					if len(got) != 1 || got[0].Action != op.ends {
						t.Errorf("it left %+v, want the end of the job", got)
					}
					return
				}
				if op.record == "" {
					if len(got) > 0 {
						t.Errorf("it left %+v, want no record", got)
					}
					return
				}
				kind, _, _ := strings.Cut(op.record, ".")
				target := cmp.Or(op.target, kind+"/"+op.on)
				switch {
				case c.result != "refused":
				case op.spared:
					c.result = "ok"
				case kind == "credential":
					c.result = alloc.CodeCredentialRevoked
				default:
					c.result = alloc.Code(kind + "_deleted")
				}
				if (err == nil) != (c.result == "ok") {
					t.Fatalf("got %v, want %s", err, c.result)
				}
				want := []alloc.AuditRecord{{Client: "c", Action: op.record, Target: target, Result: string(c.result), Request: "r-1", Address: "192.0.2.1"}}
				left := cmpopts.IgnoreFields(alloc.AuditRecord{}, "ID", "At", "Detail", "Role", "Plan", "Reason", "Before", "After", "Link")
				if diff := gocmp.Diff(want, got, left); diff != "" {
					t.Fatalf("records (-want +got):\n%s", diff)
				}
				if got[0].ID == "" || got[0].At.IsZero() || got[0].Detail == "" {
					t.Errorf("the record %+v lacks its ID, time or detail", got[0])
				}
			})
		}
	}
}

func must[N any, S ~string, A any](t testing.TB, set func(context.Context, N, alloc.Version, S) (A, error), name N, to S) {
	t.Helper()
	if string(to) == string(alloc.PoolDeleted) { // what serves is paused first; the states of sequences have the same names
		_, _ = set(t.Context(), name, 0, S(alloc.PoolPaused)) // one that is frozen or stopped cannot be, and need not
	}
	if _, err := set(t.Context(), name, 0, to); err != nil {
		t.Fatal(err)
	}
}

// An operation whose record cannot be written is reported as failed with an unknown outcome, and its repeat succeeds.
func TestAnOperationWithoutRecordIsUnknown(t *testing.T) {
	for name, op := range operations {
		if op.record == "" {
			continue
		}
		for _, fault := range []alloctest.Fault{alloctest.Refused, alloctest.AppliedButFailed, alloctest.Throttled} {
			t.Run(name, func(t *testing.T) {
				s, _, m := newWorld(t, alloctest.Script("Record", fault))
				err := op.run(asAdmin(t.Context()), s)
				if e := wantCode(t, err, alloc.CodeUnavailable); !e.Unknown || e.RetryAfter == 0 {
					t.Errorf("got %+v, want Unknown and a hint", e)
				}
				if err := op.run(asAdmin(t.Context()), s); err != nil {
					t.Errorf("the repeat fails: %v", err)
				}
				if got := trail(t, m); len(got) == 0 || got[0].Result != "ok" {
					t.Errorf("after the repeat the trail is %+v", got)
				}
			})
		}
	}
}

// What is refused stays refused for its own reason, also when the trail cannot be written.
func TestARefusalWithoutRecordKeepsItsReason(t *testing.T) {
	s, _, _ := newWorld(t, alloctest.Script("Record", alloctest.Refused))
	_, _, err := s.CreatePool(as(t.Context(), "c"), pool, alloc.PoolConfig{})
	wantCode(t, err, alloc.CodeForbidden)
}

// leaving ends the caller's context in the middle of the change.
type leaving struct {
	alloc.Store
	leave context.CancelFunc
}

func (l leaving) SetPoolState(ctx context.Context, name alloc.PoolName, from alloc.Version, to alloc.PoolState) (alloc.Pool, error) {
	defer l.leave()
	return l.Store.SetPoolState(ctx, name, 0, to)
}

func TestAChangeIsRecordedThoughItsCallerLeft(t *testing.T) {
	_, _, m := newWorld(t, nil)
	ctx, cancel := context.WithCancel(asAdmin(t.Context()))
	if _, err := newService(t, leaving{m, cancel}).SetPoolState(ctx, pool, 0, alloc.PoolPaused); err != nil {
		t.Fatal(err)
	}
	if got := trail(t, m); len(got) != 1 || got[0].Action != "pool.pause" || got[0].Detail != `to "paused"` {
		t.Errorf("the trail is %+v, want the pause", got)
	}
}

func TestRefusedInputIsRecordedWithinBounds(t *testing.T) {
	s, _, m := newWorld(t, nil)
	ctx := asAdmin(t.Context())
	_, _, err := s.CreatePool(ctx, pool, alloc.PoolConfig{Description: strings.Repeat("é", 100_000)})
	wantCode(t, err, alloc.CodeInvalidConfig)
	_, err = s.SetPoolState(ctx, pool, 0, "purple\x00")
	wantCode(t, err, alloc.CodeInvalidRequest)
	_, err = s.SetSequenceState(ctx, sequence, 0, alloc.SequenceStopped)
	wantCode(t, err, alloc.CodeInvalidRequest)
	got := trail(t, m)
	if len(got) != 3 {
		t.Fatalf("got %d records, want 3", len(got))
	}
	for _, r := range got {
		if len(r.Detail) > alloc.MaxDetailBytes || !utf8.ValidString(r.Detail) || strings.Contains(r.Detail, "\x00") || r.Result == "ok" {
			t.Errorf("%s: result %q, %d bytes: %.40q", r.Action, r.Result, len(r.Detail), r.Detail)
		}
	}
}

func TestTrailChecksItsPage(t *testing.T) {
	s, _, _ := newWorld(t, nil)
	ctx := asAdmin(t.Context())
	for _, limit := range []int{0, -1, 101} {
		_, _, err := s.Trail(ctx, alloc.TrailFilter{}, "", limit)
		wantCode(t, err, alloc.CodeInvalidCount)
		_, _, err = s.Pools(ctx, "", limit)
		wantCode(t, err, alloc.CodeInvalidCount)
		_, _, err = s.Sequences(ctx, "", limit)
		wantCode(t, err, alloc.CodeInvalidCount)
		_, _, err = s.Leases(ctx, sequence, "", limit)
		wantCode(t, err, alloc.CodeInvalidCount)
	}
}
