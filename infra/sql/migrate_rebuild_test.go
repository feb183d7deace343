package sql

import (
	dbsql "database/sql"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

func TestSchema3ComesThrough(t *testing.T) {
	path := schema(t, 3)
	now := time.Unix(1_800_000_100, 0)
	s := openAt(t, Config{Path: path, Now: func() time.Time { return now }})
	j, err := s.Job(t.Context(), "06O8S6VK00BEAIQ59QGKI6LI8M")
	want := alloc.Job{
		ID: "06O8S6VK00BEAIQ59QGKI6LI8M", Kind: alloc.JobSeed, Pool: "keeps", By: "old", State: alloc.JobRunning, Version: 5,
		Created: moment(1800000050000000000), Updated: moment(1800000052000000000), Started: moment(1800000051000000000), Done: 2, Parts: 1, Mark: "1",
		Change: "c", Why: "for the sale", Total: 3, Tally: alloc.Tally{Added: 2}, Log: []alloc.JobEvent{{At: moment(1800000051000000000), Text: "went on"}},
		Input: alloc.SeedFormat{CSV: true}, Inputs: []alloc.JobInput{{Digest: "d", Pieces: 1, Entries: 3, Lines: 3}},
	}
	if err != nil || !j.Equal(want) {
		t.Errorf("job: got %v, %s", err, cmp.Diff(want, j))
	}
	if r, err := s.Refill(t.Context(), "vouchers"); err != nil || r.Version != 3 || len(r.IDs) != 2 {
		t.Errorf("refill: got %+v and %v", r, err)
	}
	wantCounts(t, s, path, "vouchers")
	for _, step := range audited(t, s, "vouchers") {
		t.Errorf("audit of what was there: %+v", step)
	}
	// What was taken goes its ways, and can be carried.
	settle(t, s, alloc.EventConfirm, "vouchers", "77PGRC3JKIF4AK0NQ8NLMQJEG8", "v-2")
	outcomes, err := s.Carry(t.Context(), "vouchers", time.Time{}, []alloc.IDRecord{{ID: "v-0", State: alloc.StateClaimed, Generation: 1800000031, Token: "t", At: now}})
	if err != nil || outcomes[0] != alloc.CarryDone {
		t.Errorf("carry: got %v and %v", outcomes, err)
	}
	wantCounts(t, s, path, "vouchers")
}

func TestSequencesOfSchema3ComeThrough(t *testing.T) {
	path := schema(t, 3)
	s := openAt(t, Config{Path: path})
	states := map[alloc.SequenceName]alloc.SequenceState{}
	listed, err := s.ListSequences(t.Context(), "", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range listed {
		states[q.Name] = q.State
		if q.Config.ResumeShare != alloc.DefaultResumeShare || q.Config.AutoRebuild || q.Share != 0 || q.Rebuild != "" || q.Epoch != 1 {
			t.Errorf("got %+v, want no rebuild, and none by itself", q)
		}
		if err := q.Config.Check(); err != nil {
			t.Errorf("%s: got a configuration that cannot work: %v", q.Name, err)
		}
	}
	wantStates := map[alloc.SequenceName]alloc.SequenceState{
		"invoices": alloc.SequenceActive, "orders": alloc.SequencePaused, "orders.2027": alloc.SequenceActive,
		"stopped": alloc.SequenceStopped, "lost": alloc.SequenceStopped, "ended": alloc.SequenceDeleted,
	}
	if diff := cmp.Diff(wantStates, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if r, err := s.Lease(t.Context(), alloc.LeaseOrder{Sequence: "orders.2027", Count: 10}); err != nil || r.Start != 41 {
		t.Errorf("lease: got %+v and %v, want it to begin at 41", r, err)
	}
	if q, err := s.Watch(t.Context(), "orders.2027"); err != nil || q.State != alloc.SequenceActive {
		t.Errorf("watch: got %+v and %v", q, err)
	}
	if e, err := s.Evidence(t.Context(), "orders.2027"); err != nil || !e.Marked || e.Mark != 50 {
		t.Errorf("evidence: got %+v and %v, want a mark at 50", e, err)
	}
	page, next, err := s.WalkLedger(t.Context(), "lost", "", 10)
	if err != nil || next != "" || len(page) != 1 || page[0].End != 30 || !page[0].Proven {
		t.Errorf("ledger: got %+v, %q and %v, want one proven lease to 30", page, next, err)
	}
}

// The trail goes on behind what it had, which stays as it was, and stays guarded.
func TestTrailOfSchema3ComesThrough(t *testing.T) {
	path := schema(t, 3)
	now := time.Unix(1_800_000_100, 0).UTC()
	s := openAt(t, Config{Path: path, Now: func() time.Time { return now }})
	r := alloc.AuditRecord{ID: "r3", At: now, Client: "new", Action: "a", Target: "t", Result: "ok"}
	for _, again := range []string{"r1", "r2", "r3", "r3"} { // the first two were recorded before there was a chain
		r.ID = again
		if err := s.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	old := alloc.AuditRecord{ID: "r2", At: moment(1800000053000000000), Client: "old", Action: "pool.seed", Target: "pool/keeps", Detail: "more", Result: "ok", Request: "q", Address: "::1"}
	first := alloc.AuditRecord{ID: "r1", At: moment(1800000014000000000), Client: "old", Action: "pool.create", Target: "pool/keeps", Result: "ok"}
	want := []alloc.AuditRecord{r.Seal("2027-01", 1, ""), old, first}
	for _, limit := range []int{1, 2, 3, 10} {
		var got []alloc.AuditRecord
		for before := ""; ; {
			page, err := s.Records(t.Context(), before, limit)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page...)
			if len(page) < limit {
				break
			}
			before = page[len(page)-1].Place()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pages of %d (-want +got):\n%s", limit, diff)
		}
	}
	for _, query := range []string{`UPDATE trail SET detail = 'x' WHERE id = 'r1'`, `DELETE FROM trail WHERE id = 'r2'`} {
		byHand(t, path, func(db *dbsql.DB) error {
			if _, err := db.ExecContext(t.Context(), query); err == nil {
				t.Errorf("%s: was done, want it refused", query)
			}
			return nil
		})
	}
}
