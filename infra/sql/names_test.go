package sql

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
)

// A pool whose row is lost is no unused name, and a number is never taken again: not even where the highest is lost.
func TestALostPoolIsKnown(t *testing.T) {
	for name, lost := range map[string][]string{
		"row": {"pools"}, "row and counts": {"pools", "levels"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := storeOn(t)
			filled(t, s, "other", 3)
			filled(t, s, "p", 20)
			first := keyed(4, "k")
			c := claimed(t, s, first)
			sweepOut(t, s, "p")
			want, err := s.Pool(t.Context(), "p")
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range lost {
				past(t, path, table, `DELETE FROM `+table+` WHERE pool = 2`)
			}
			wantLost(t, s, "p", first)
			filled(t, s, "new", 3) // takes no number of a pool that is lost
			if e, err := s.PoolEvidence(t.Context(), "p"); err != nil || e.Head || !e.Configured || len(e.Damage) != 1 || e.Pool != want {
				t.Errorf("evidence: got %+v and %v, want a lost head and the copy %+v", e, err, want)
			}
			for range 2 {
				done, err := s.RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "rebuild"})
				if err != nil || done.Next != "" || done.Met != 20 || done.Tally != (alloc.Tally{Free: 16, Claimed: 4}) {
					t.Fatalf("rebuild: got %+v and %v", done, err)
				}
			}
			if got, err := s.Pool(t.Context(), "p"); err != nil || got != want {
				t.Errorf("after the rebuild: got %+v and %v, want %+v", got, err, want)
			}
			wantCounts(t, s, path, "p")
			if found := audited(t, s, "p"); found != nil {
				t.Errorf("audit: %+v", found)
			}
			rest := claimed(t, s, alloc.ClaimOrder{Pool: "p", Count: 16, By: "test"})
			for _, id := range rest.IDs {
				if slices.Contains(c.IDs, id) {
					t.Errorf("%s was handed out twice", id)
				}
			}
			wantCode(t, second(s.Claim(t.Context(), one("p"))), alloc.CodePoolExhausted)
		})
	}
}

// wantLost is what everybody sees of a pool whose row is lost. What its key was answered is answered again.
func wantLost(t *testing.T, s *Store, pool alloc.PoolName, first alloc.ClaimOrder) {
	t.Helper()
	config := alloc.PoolConfig{MaxBatch: alloc.MaxBatchLimit}.WithDefaults()
	_, created, err := s.CreatePool(t.Context(), pool, config)
	wantCode(t, err, alloc.CodePoolDamaged)
	if created {
		t.Error("it was created again")
	}
	for call, err := range map[string]error{
		"pool":   second(s.Pool(t.Context(), pool)),
		"change": second(s.ChangePool(t.Context(), pool, 1, config)),
		"pause":  second(s.SetPoolState(t.Context(), pool, 0, alloc.PoolPaused)),
		"level":  second(s.Level(t.Context(), pool)),
		"claim":  second(s.Claim(t.Context(), one(pool))),
		"settle": second(s.Settle(t.Context(), alloc.SettleOrder{Pool: pool, Event: alloc.EventRelease, IDs: []alloc.ID{"id-00000"}, Token: "t"})),
		"seed":   second(s.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "j", IDs: []alloc.ID{"new"}})),
		"sweep":  second(s.Sweep(t.Context(), pool)),
		"carry":  second(s.Carry(t.Context(), pool, time.Time{}, []alloc.IDRecord{{ID: "new", State: alloc.StateRetired}})),
		"walk":   walked(s.WalkIDs(t.Context(), pool, "", "", 10)),
		"look":   second(s.Inspect(t.Context(), pool, "id-00000")),
	} {
		if !alloc.Is(err, alloc.CodePoolDamaged) {
			t.Errorf("%s: got %v, want %s", call, err, alloc.CodePoolDamaged)
		}
	}
	if c, err := s.Claim(t.Context(), first); err != nil || !c.Replayed {
		t.Errorf("repeat with a key: got %+v and %v", c, err)
	}
	listed, err := s.ListPools(t.Context(), "other", 10)
	if err != nil || len(listed) != 1 || listed[0].Name != pool || listed[0].State != alloc.PoolDamaged {
		t.Errorf("list: got %+v and %v, want it damaged", listed, err)
	}
	found := audited(t, s, pool)
	if len(found) != 1 || found[0].Kind != alloc.FindHead || found[0].Remedy != alloc.RemedyRebuild {
		t.Errorf("audit: got %+v, want a lost head", found)
	}
}

// A deleted pool stays so without its row, and its name is never used again.
func TestALostTombstoneIsOneStill(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 3)
	for _, to := range []alloc.PoolState{alloc.PoolPaused, alloc.PoolDeleted} {
		if _, err := s.SetPoolState(t.Context(), "p", 0, to); err != nil {
			t.Fatal(err)
		}
	}
	past(t, path, "pools", `DELETE FROM pools`)
	_, _, err := s.CreatePool(t.Context(), "p", alloc.PoolConfig{}.WithDefaults())
	wantCode(t, err, alloc.CodePoolDeleted)
	wantCode(t, second(s.Claim(t.Context(), one("p"))), alloc.CodePoolDeleted)
	wantCode(t, second(s.RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "r"})), alloc.CodePoolDeleted)
	sweepOut(t, s, "p")
	if listed, err := s.ListPools(t.Context(), "", 10); err != nil || len(listed) != 1 || listed[0].State != alloc.PoolDeleted {
		t.Errorf("list: got %+v and %v, want it deleted", listed, err)
	}
}

// A sequence whose row is lost, with its counter or without, is stopped, and after its rebuild gives no number again.
func TestALostSequenceIsStopped(t *testing.T) {
	for name, lost := range map[string][]string{
		"row": {"sequences"}, "row and counter": {"sequences", "counters"}, "row and ledger": {"sequences", "leases"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := storeOn(t)
			config := alloc.SequenceConfig{Description: "of the shop", Start: 10, Segment: 7, AutoRebuild: true}.WithDefaults()
			for _, q := range []alloc.SequenceName{"other", "q"} {
				if _, _, err := s.CreateSequence(t.Context(), q, config); err != nil {
					t.Fatal(err)
				}
			}
			order := alloc.LeaseOrder{Sequence: "q", Count: 10, By: "c", Key: alloc.NewKey("c", "lease", "sequence/q", "k", "print")}
			first, err := s.Lease(t.Context(), order)
			if err != nil {
				t.Fatal(err)
			}
			want, err := s.Sequence(t.Context(), "q")
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range lost {
				past(t, path, table, `DELETE FROM `+table+` WHERE sequence = 2`)
			}
			wantSequenceLost(t, s, order, first, config)
			if _, _, err := s.CreateSequence(t.Context(), "zz", config); err != nil {
				t.Fatal(err)
			}
			e, err := s.Evidence(t.Context(), "q")
			if err != nil || e.Counter || !e.Configured || e.Sequence.Config != config || e.Sequence.State != alloc.SequenceActive || e.Epoch != 1 {
				t.Errorf("evidence: got %+v and %v, want the copy without a counter", e, err)
			}
			if left := name != "row and counter"; e.Marked != left || left && e.Mark != 19 {
				t.Errorf("evidence: got %+v, want the counter that is left to be a mark", e)
			}
			rebuildLost(t, s, path, want)
			if r, err := s.Lease(t.Context(), alloc.LeaseOrder{Sequence: "q", Count: 10}); err != nil || r.Start != 100 || r.Epoch != 2 {
				t.Errorf("lease: got %+v and %v, want it to begin at 100 in epoch 2", r, err)
			}
			if found := auditSequence(t, s, "q", 100).Findings; found != nil {
				t.Errorf("audit: %+v", found)
			}
		})
	}
}

// wantSequenceLost is what everybody sees of a sequence whose row is lost.
func wantSequenceLost(t *testing.T, s *Store, order alloc.LeaseOrder, first alloc.Range, config alloc.SequenceConfig) {
	t.Helper()
	fresh := order
	fresh.Key = nil
	_, created, err := s.CreateSequence(t.Context(), "q", config)
	wantCode(t, err, alloc.CodeSequenceStopped)
	if created {
		t.Error("it was created again")
	}
	for call, err := range map[string]error{
		"sequence": second(s.Sequence(t.Context(), "q")),
		"change":   second(s.ChangeSequence(t.Context(), "q", 1, config)),
		"pause":    second(s.SetSequenceState(t.Context(), "q", 0, alloc.SequencePaused)),
		"delete":   second(s.SetSequenceState(t.Context(), "q", 0, alloc.SequenceDeleted)),
		"lease":    second(s.Lease(t.Context(), fresh)),
	} {
		if !alloc.Is(err, alloc.CodeSequenceStopped) {
			t.Errorf("%s: got %v, want %s", call, err, alloc.CodeSequenceStopped)
		}
	}
	if r, err := s.Lease(t.Context(), order); err != nil || !r.Replayed || r.Start != first.Start || r.Token != first.Token {
		t.Errorf("repeat with a key: got %+v and %v, want %+v", r, err, first)
	}
	if q, err := s.Watch(t.Context(), "q"); err != nil || q.State != alloc.SequenceStopped {
		t.Errorf("watch: got %+v and %v, want it stopped", q, err)
	}
	listed, err := s.ListSequences(t.Context(), "other", 10)
	if err != nil || len(listed) != 1 || listed[0].Name != "q" || listed[0].State != alloc.SequenceStopped {
		t.Errorf("list: got %+v and %v, want it stopped", listed, err)
	}
	found := auditSequence(t, s, "q", 100).Findings
	if len(found) != 1 || found[0].Kind != alloc.FindCounter || found[0].Remedy != alloc.RemedyRebuild {
		t.Errorf("audit: got %+v, want a lost counter", found)
	}
}

// rebuildLost makes the sequence q anew, at 100 in epoch 2, each step twice.
func rebuildLost(t *testing.T, s *Store, path string, want alloc.Sequence) {
	t.Helper()
	low := alloc.RestartOrder{Sequence: "q", Rebuild: "low", To: 2, Next: 15}
	if ask[int](t, path, `SELECT count(*) FROM counters WHERE sequence = 2`) == 1 {
		wantCode(t, second(s.Restart(t.Context(), low)), alloc.CodeRebuildStep) // below what is left of the counter
	}
	for range 2 {
		if was, err := s.Freeze(t.Context(), "q", "rebuild"); err != nil || was.State != alloc.SequenceStopped {
			t.Fatalf("freeze: got %+v and %v", was, err)
		}
	}
	for range 2 {
		q, err := s.Restart(t.Context(), alloc.RestartOrder{Sequence: "q", Rebuild: "rebuild", To: 2, Next: 100})
		if err != nil || q.State != alloc.SequenceFrozen || q.Next != 100 || q.Epoch != 2 || q.Config != want.Config || q.Version != want.Version {
			t.Fatalf("restart: got %+v and %v", q, err)
		}
	}
	for range 2 {
		if q, err := s.Thaw(t.Context(), "q", "rebuild", alloc.SequenceActive, 0); err != nil || q.State != alloc.SequenceActive {
			t.Fatalf("thaw: got %+v and %v", q, err)
		}
	}
	want.Next, want.Epoch = 100, 2
	if got, err := s.Sequence(t.Context(), "q"); err != nil || got != want {
		t.Errorf("after the rebuild: got %+v and %v, want %+v", got, err, want)
	}
}

// A name that is lost while what it names is there comes back by itself.
func TestALostNameComesBack(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 1)
	if _, _, err := s.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	past(t, path, "pool_names", `DELETE FROM pool_names`)
	past(t, path, "sequence_names", `DELETE FROM sequence_names`)
	filled(t, s, "new", 1)
	if _, err := s.Lease(t.Context(), alloc.LeaseOrder{Sequence: "q", Count: 1}); err != nil {
		t.Fatal(err)
	}
	sweepOut(t, s, "p")
	if _, err := s.Watch(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	wantCopies(t, path)
}

// wantCopies holds what stands with the names against the rows.
func wantCopies(t *testing.T, path string) {
	t.Helper()
	for table, columns := range map[string]string{"pool": poolColumns, "sequence": sequenceColumns} {
		const query = `SELECT count(*) FROM (SELECT * FROM (SELECT %[2]s FROM %[1]ss EXCEPT SELECT %[2]s FROM %[1]s_names)
			UNION ALL SELECT * FROM (SELECT %[2]s FROM %[1]s_names EXCEPT SELECT %[2]s FROM %[1]ss))`
		if n := ask[int](t, path, fmt.Sprintf(query, table, columns)); n != 0 {
			t.Errorf("%d of the rows and copies of %ss are not alike", n, table)
		}
		const all = `SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info($1) ORDER BY name)`
		if row, copied := ask[string](t, path, all, table+"s"), ask[string](t, path, all, table+"_names"); row != copied {
			t.Errorf("a copy of a %s has the columns\n%s\nwant those of the row\n%s", table, copied, row)
		}
	}
}

func TestSchema4ComesThrough(t *testing.T) {
	path := schema(t, 4)
	now := time.Unix(1_800_000_100, 0)
	s := openAt(t, Config{Path: path, Now: func() time.Time { return now }})
	wantCopies(t, path)
	if got, want := ask[int](t, path, `SELECT count(*) FROM pool_names`), 6; got != want {
		t.Errorf("got %d names of pools, want %d", got, want)
	}
	if _, _, err := s.CreatePool(t.Context(), "seventh", alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if got := ask[int](t, path, `SELECT pool FROM pools WHERE name = 'seventh'`); got != 7 {
		t.Errorf("got the number %d, want 7", got)
	}
	wantCopies(t, path)
	// One of three IDs was gone before.
	done, err := s.RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "short", Job: "r"})
	if err != nil || done.Tally != (alloc.Tally{Free: 1, Claimed: 1, Missing: 1}) {
		t.Errorf("rebuild: got %+v and %v, want one that is missing", done, err)
	}
	for name, state := range map[alloc.SequenceName]alloc.SequenceState{"resuming": alloc.SequenceResuming, "frozen": alloc.SequenceFrozen} {
		if q, err := s.Sequence(t.Context(), name); err != nil || q.State != state {
			t.Errorf("%s: got %+v and %v", name, q, err)
		}
	}
	past(t, path, "sequences", `DELETE FROM sequences WHERE name = 'frozen'`)
	if e, err := s.Evidence(t.Context(), "frozen"); err != nil || e.Counter || e.Epoch != 3 || e.Mark != 70 {
		t.Errorf("evidence: got %+v and %v", e, err)
	}
	wantCode(t, second(s.Lease(t.Context(), alloc.LeaseOrder{Sequence: "frozen", Count: 1})), alloc.CodeSequenceStopped)
}

// An ID that was made free by hand, with its owner's token on it still, is given to nobody else.
func TestAFreeIDWithAnOwnerIsNobodys(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 2)
	c := claimed(t, s, one("p"))
	past(t, path, "ids", `UPDATE ids SET state = 'free' WHERE id = $1`, c.IDs[0])
	if next := claimed(t, s, one("p")); next.IDs[0] == c.IDs[0] {
		t.Errorf("%s was handed out twice", c.IDs[0])
	}
	wantCode(t, second(s.Claim(t.Context(), one("p"))), alloc.CodePoolExhausted)
}

// By hand nothing that was made is removed, and no name or number goes to another.
func TestSchemaKeepsNames(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 1)
	forgets := alloc.PoolConfig{Policy: alloc.PolicyForget}.WithDefaults()
	if _, _, err := s.CreatePool(t.Context(), "f", forgets); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Seed(t.Context(), alloc.SeedBatch{Pool: "f", Job: "j", IDs: []alloc.ID{"f-0"}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	wantAllowed(t, path, map[string]bool{
		`DELETE FROM pools`:                                    false,
		`DELETE FROM sequences`:                                false,
		`DELETE FROM pool_names`:                               false,
		`DELETE FROM sequence_names`:                           false,
		`UPDATE pools SET name = 'other' WHERE name = 'p'`:     false,
		`UPDATE pools SET pool = 9 WHERE name = 'p'`:           false,
		`UPDATE sequences SET name = 'other'`:                  false,
		`UPDATE pool_names SET pool = 9 WHERE name = 'p'`:      false,
		`UPDATE pool_names SET name = 'x' WHERE name = 'p'`:    false,
		`UPDATE sequence_names SET name = 'x'`:                 false,
		`UPDATE pools SET description = 'x' WHERE name = 'p'`:  true,
		`UPDATE sequences SET description = 'x'`:               true,
		`DELETE FROM ids WHERE id = 'id-00000'`:                false,
		`DELETE FROM ids WHERE id = 'f-0'`:                     true,
		`UPDATE levels SET missing = missing + 1, rebuilt = 1`: true,
	})
	past(t, path, "pools", `DELETE FROM pools WHERE name = 'p'`)
	const row = `INSERT INTO pools (pool, name, description, policy, fold_case, max_batch, state, version, created) VALUES (%d, '%s', '', 'keep', 0, 1, 'active', 1, 0)`
	wantAllowed(t, path, map[string]bool{
		fmt.Sprintf(row, 1, "p"): true, // as it was
		fmt.Sprintf(row, 3, "p"): false,
		fmt.Sprintf(row, 1, "x"): false,
		fmt.Sprintf(row, 3, "x"): true,
	})
}
