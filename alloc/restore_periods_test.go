package alloc_test

import (
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
)

// The counter of a period that began after the point is not in the restored table, nor in any list there. The refill makes it anew, from the
// start, and with it IDs that were handed out.
func TestTheCounterOfAPeriodThatBeganAfterThePoint(t *testing.T) {
	for _, c := range []struct {
		policy alloc.Policy
		source alloc.RestoreSource
	}{{alloc.PolicyForget, alloc.RestoreTable}, {alloc.PolicyKeep, alloc.RestoreBurn}, {alloc.PolicyKeep, alloc.RestoreTable}} {
		t.Run(string(c.policy)+" "+string(c.source), func(t *testing.T) {
			const serials alloc.SequenceName = "serials"
			d := &disaster{mill: newMill(t, alloc.PoolConfig{
				Policy: c.policy, MaxBatch: 50, Marks: alloc.Marks{Low: 5, Target: 10},
				Generator: generator.Config{Kind: generator.Sequence, Sequence: string(serials), Format: "S-{yyyy}{mm}{dd}-{n}"},
			}), taken: map[alloc.ID]alloc.IDRecord{}}
			if _, _, err := d.model.CreateSequence(t.Context(), serials, alloc.SequenceConfig{}.WithDefaults()); err != nil {
				t.Fatal(err)
			}
			d.tend(t)
			d.takeFree(t, 10)
			d.point = d.clock.Now()
			restore := d.model.Snapshot()
			d.clock.Advance(24 * time.Hour)
			d.tend(t)
			d.takeFree(t, 10)
			d.old = alloctest.NewModel(d.clock.Now)
			copyPool(t, d.model, d.old, alloc.PoolConfig{Policy: c.policy})
			seqs, err := d.model.ListSequences(t.Context(), "", 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range seqs {
				if _, _, err := d.old.CreateSequence(t.Context(), q.Name, q.Config); err != nil {
					t.Fatal(err)
				}
				leases, _, err1 := d.model.WalkLedger(t.Context(), q.Name, "", 1000)
				_, err2 := d.old.SetSequenceState(t.Context(), q.Name, 0, alloc.SequencePaused)
				_, err3 := d.old.CarryLeases(t.Context(), q.Name, leases)
				if err1 != nil || err2 != nil || err3 != nil {
					t.Fatal(err1, err2, err3)
				}
			}
			restore()

			// docs/runbook.md, After a restore from a backup.
			d.setState(t, alloc.PoolPaused)
			if seqs, err = d.model.ListSequences(t.Context(), "", 10); err != nil {
				t.Fatal(err)
			}
			for _, q := range seqs {
				if _, err := d.model.SetSequenceState(t.Context(), q.Name, 0, alloc.SequencePaused); err != nil {
					t.Fatal(err)
				}
			}
			d.restore(t, alloc.RestoreRequest{Pool: pool, Source: c.source})
			for _, q := range seqs {
				d.restore(t, alloc.RestoreRequest{Sequence: q.Name, Source: c.source})
				s := d.service(t)
				r, err := s.PlanRebuild(d.ctx, alloc.RebuildRequest{Sequence: q.Name, Why: "restore", Since: d.point, Reported: 1000, HasReported: true})
				if err == nil {
					_, err = s.ApplyRebuild(d.ctx, alloc.RebuildApproval{Sequence: q.Name, Plan: r.Plan.ID})
				}
				if err == nil {
					_, err = s.ResumeRebuild(d.ctx, q.Name, 100)
				}
				if err == nil {
					_, err = s.SetSequenceState(d.ctx, q.Name, 0, alloc.SequenceActive)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			d.setState(t, alloc.PoolActive)
			d.clock.Advance(time.Minute)
			d.tend(t)
			d.wantNoneTwice(t)
			if c.policy == alloc.PolicyKeep && c.source == alloc.RestoreTable {
				return
			}
			if r, err := d.model.Refill(t.Context(), pool); err != nil || !strings.Contains(r.Dry, "after the point") {
				t.Errorf("the refill is %+v, %v, want it dry for that reason", r, err)
			}
		})
	}
}

// The restore wants the sequence paused, and does not make more counters than it may.
func TestARestoreOfAPoolThatCountsByPeriods(t *testing.T) {
	g := generator.Config{Kind: generator.Sequence, Sequence: string(sequence), Format: "S-{yyyy}{mm}{dd}-{n}"}
	d := &disaster{mill: newMill(t, alloc.PoolConfig{MaxBatch: 50, Generator: g, Marks: alloc.Marks{Low: 5, Target: 10}}, "A-0"), taken: map[alloc.ID]alloc.IDRecord{}}
	if _, _, err := d.model.CreateSequence(t.Context(), sequence, alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	d.old = alloctest.NewModel(d.clock.Now)
	d.point = d.clock.Now().Add(-48 * time.Hour)
	d.setState(t, alloc.PoolPaused)
	r := alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn, Point: d.point}
	_, err := d.service(t).Restore(d.ctx, r)
	wantCode(t, err, alloc.CodeRebuildStep)
	if _, err := d.model.SetSequenceState(t.Context(), sequence, 0, alloc.SequencePaused); err != nil {
		t.Fatal(err)
	}
	long := r
	long.Point = d.clock.Now().Add(-200 * 24 * time.Hour)
	_, err = d.service(t).Restore(d.ctx, long)
	wantCode(t, err, alloc.CodeInvalidRequest)
	for range 2 {
		d.restore(t, r)
		all, err := d.model.ListSequences(t.Context(), "", 10)
		if err != nil || len(all) != 4 {
			t.Fatalf("there are %+v, %v, want the sequence and 3 counters", all, err)
		}
		for _, q := range all {
			if q.State != alloc.SequencePaused {
				t.Errorf("%s is %s", q.Name, q.State)
			}
		}
	}
}
