package alloc_test

import (
	"context"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// everything reads all that a Store has, as far as an administrative operation could change it.
func everything(t testing.TB, m *alloctest.Model) map[string]any {
	t.Helper()
	ctx := t.Context()
	ids, _, err1 := m.WalkIDs(ctx, pool, "", "", 1000)
	if alloc.Is(err1, alloc.CodePoolNotFound) {
		err1 = nil
	}
	pools, err2 := m.ListPools(ctx, "", 100)
	sequences, err3 := m.ListSequences(ctx, "", 100)
	ledger, _, err4 := m.WalkLedger(ctx, sequence, "", 1000)
	jobs, err5 := m.ListJobs(ctx, "", 100)
	credentials, err6 := m.ListCredentials(ctx, "", 100)
	rebuild, err7 := m.Rebuild(ctx, sequence)
	refill, err8 := m.Refill(ctx, pool)
	evidence, err9 := m.PoolEvidence(ctx, pool)
	records, err10 := m.Records(ctx, "", 100)
	for _, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8, err9, err10} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]any{
		"ids": ids, "pools": pools, "sequences": sequences, "ledger": ledger, "jobs": jobs, "credentials": credentials, "rebuild": rebuild, "refill": refill,
		"evidence": evidence, "records": records,
	}
}

// Where the trail takes nothing, no administrative operation changes anything, and each says so; one that is not allowed is refused for that.
func TestNothingIsChangedThatTheTrailCannotTakeDown(t *testing.T) {
	for name, op := range operations {
		if op.record == "" {
			continue
		}
		for how, fault := range faults {
			if fault == alloctest.AppliedButFailed {
				continue // the intent is there then: see below
			}
			t.Run(name+" "+how, func(t *testing.T) {
				s, _, m := newWorld(t, func(c alloctest.Call) alloctest.Fault {
					if c.Method == "Intend" || c.Method == "Record" {
						return fault
					}
					return alloctest.Pass
				})
				before := everything(t, m)
				e := wantCode(t, op.run(asAdmin(t.Context()), s), alloc.CodeUnavailable)
				if e.Unknown || e.RetryAfter == 0 {
					t.Errorf("got %+v, want it known that nothing was changed, and a hint", e)
				}
				if diff := gocmp.Diff(before, everything(t, m)); diff != "" {
					t.Errorf("it was changed without a record (-before +after):\n%s", diff)
				}
				wantErr(t, op.run(as(t.Context(), "c"), s), alloc.CodeForbidden)
				if diff := gocmp.Diff(before, everything(t, m)); diff != "" {
					t.Errorf("it was changed without permission (-before +after):\n%s", diff)
				}
			})
		}
	}
}

// An intent whose answer is lost is kept all the same: the operation goes on, and leaves its one record.
func TestAnIntentWhoseAnswerIsLostCounts(t *testing.T) {
	for name, op := range operations {
		if op.record == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, _, m := newWorld(t, alloctest.Script("Intend", alloctest.AppliedButFailed))
			if err := op.run(asAdmin(t.Context()), s); err != nil {
				t.Fatal(err)
			}
			if got := trail(t, m); len(got) != 1 || got[0].Action != op.record || got[0].Result != "ok" {
				t.Errorf("the trail is %+v, want one record of %s", got, op.record)
			}
			wantNoIntents(t, m)
		})
	}
}

func wantNoIntents(t testing.TB, m *alloctest.Model) {
	t.Helper()
	if open, err := m.Intended(t.Context(), time.Now().AddDate(100, 0, 0), 100); err != nil || len(open) > 0 {
		t.Errorf("there are intents left: %+v, %v", open, err)
	}
}

// A process that ends in the middle of an operation leaves an intent, of which the schedule makes the record: once, of who began it, and
// not before his process has surely ended.
func TestWhatNobodyHeardTheEndOfIsRecorded(t *testing.T) {
	for name, op := range operations {
		if op.record == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, _, m := newWorld(t, failing("Record", alloctest.Refused))
			e := wantCode(t, op.run(as(t.Context(), "c", alloc.AllScopes()...), s), alloc.CodeUnavailable)
			if !e.Unknown {
				t.Errorf("got %+v, want the outcome unknown", e)
			}
			later := func(d time.Duration) alloc.TendReport {
				t.Helper()
				at := time.Now().Add(d)
				s, err := alloc.NewService(alloc.Config{Store: m, Now: func() time.Time { return at }, Log: logCodec})
				if err != nil {
					t.Fatal(err)
				}
				r, err := s.Tend(alloc.AsSchedule(t.Context()))
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			if r := later(14 * time.Minute); r.Unheard != 0 {
				t.Errorf("after 14 minutes %d are recorded, want none", r.Unheard)
			}
			if r := later(16 * time.Minute); r.Unheard != 1 {
				t.Errorf("after 16 minutes %d are recorded, want one", r.Unheard)
			}
			if r := later(17 * time.Minute); r.Unheard != 0 {
				t.Errorf("after that %d are recorded, want none", r.Unheard)
			}
			found := 0
			for _, r := range trail(t, m) {
				if r.Action == op.record {
					found++
					if r.Result != alloc.ResultUnknown || r.Client != "c" || r.Request != "r-1" || r.Role != "*:*" {
						t.Errorf("the record is %+v, want it unknown, and of who began it", r)
					}
				}
			}
			if found != 1 {
				t.Errorf("there are %d records of %s, want one", found, op.record)
			}
		})
	}
}

// What the trail says of an operation beside who and what: by what right, why, what it was before and since.
func TestARecordSaysWhatItWasBefore(t *testing.T) {
	s, _, m := newWorld(t, nil)
	ctx := as(t.Context(), "c", alloc.Scope{Action: alloc.ActionManage, Pattern: "team-a.*"}, alloc.Scope{Action: alloc.ActionRead, Pattern: "*"})
	steps := []func() error{
		func() error {
			_, _, err := s.CreatePool(ctx, "team-a.new", alloc.PoolConfig{Description: "one"})
			return err
		},
		func() error {
			_, _, err := s.CreatePool(ctx, "team-a.new", alloc.PoolConfig{Description: "one"})
			return err
		},
		func() error {
			_, err := s.ChangePool(ctx, "team-a.new", 1, alloc.PoolConfig{Description: "two"})
			return err
		},
		func() error { _, err := s.SetPoolState(ctx, "team-a.new", 0, alloc.PoolDraining); return err },
		func() error { _, err := s.SetPoolState(ctx, "team-a.new", 0, alloc.PoolDeleted); return err },
		func() error { _, err := s.SetSequenceState(ctx, sequence, 0, alloc.SequencePaused); return err },
		func() error {
			_, err := s.Audit(ctx, alloc.AuditRequest{Pool: pool, Why: "quarterly"})
			return err
		},
	}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	type said struct{ Action, Reason, Before, After string }
	one := `: policy "keep", fold_case false, max_batch 100, on_release "return", require_key false, description "one"`
	two := `: policy "keep", fold_case false, max_batch 100, on_release "return", require_key false, description "two"`
	words := `, version 1, next 1, epoch 1: start 1, limit 9223372036854775807, max_lease 1000000, segment 100, require_key false, auto_rebuild false, resume_share 10, description ""`
	want := []said{
		{"pool.audit", "quarterly", "", ""},
		{"sequence.pause", "", "active" + words, "paused" + words},
		{"pool.delete", "", "draining, version 2" + two, "deleted, version 2" + two},
		{"pool.drain", "", "active, version 2" + two, "draining, version 2" + two},
		{"pool.change", "", "active, version 1" + one, "active, version 2" + two},
		{"pool.create", "", "active, version 1" + one, "active, version 1" + one},
		{"pool.create", "", "", "active, version 1" + one},
	}
	var got []said
	for _, r := range trail(t, m) {
		got = append(got, said{r.Action, r.Reason, r.Before, r.After})
		if r.Role != "manage:team-a.* read:*" {
			t.Errorf("%s: the role is %q", r.Action, r.Role)
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("the trail (-want +got):\n%s", diff)
	}
}

// A caller who leaves before the intent is there has changed nothing.
func TestWhoLeavesBeforeTheIntentChangesNothing(t *testing.T) {
	_, _, m := newWorld(t, nil)
	ctx, cancel := context.WithCancel(asAdmin(t.Context()))
	cancel()
	before := everything(t, m)
	_, err := newService(t, m).SetPoolState(ctx, pool, 0, alloc.PoolPaused)
	wantCode(t, err, alloc.CodeUnavailable)
	if diff := gocmp.Diff(before, everything(t, m)); diff != "" {
		t.Errorf("it was changed (-before +after):\n%s", diff)
	}
}
