package sql

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
)

func keyed(n alloc.Count, key string) alloc.ClaimOrder {
	return alloc.ClaimOrder{Pool: "p", Count: n, By: "test", Key: alloc.NewKey("c", "claim", "pool/p", key)}
}

// A job of a pool that forgets knows its batches, so that its repeat does not put again what was claimed since.
func TestRepeatedJobOfAPoolThatForgets(t *testing.T) {
	s, path := storeOn(t)
	config := alloc.PoolConfig{Policy: alloc.PolicyForget}.WithDefaults()
	if _, _, err := s.CreatePool(t.Context(), "p", config); err != nil {
		t.Fatal(err)
	}
	first := alloc.SeedBatch{Pool: "p", Job: "first", IDs: []alloc.ID{"a", "b"}}
	rest := alloc.SeedBatch{Pool: "p", Job: "first", IDs: []alloc.ID{"b", "c"}}
	other := alloc.SeedBatch{Pool: "p", Job: "second", IDs: []alloc.ID{"a", "b", "c"}}
	added, duplicate := alloc.SeedAdded, alloc.SeedDuplicate
	seed := func(b alloc.SeedBatch, want ...alloc.SeedOutcome) {
		t.Helper()
		got, err := s.Seed(t.Context(), b)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s of %v: got %v and %v, want %v", b.Job, b.IDs, got, err, want)
		}
	}
	seed(first, added, added)
	if c, err := s.Claim(t.Context(), one("p")); err != nil || c.IDs[0] != "a" {
		t.Fatalf("got %+v and %v, want the ID seeded first", c, err)
	}
	seed(first, added, added)
	seed(rest, added, added)
	if got := census(t, path, "p"); got[alloc.StateFree] != 2 {
		t.Errorf("after the job's repeat: got %v, want b and c free", got)
	}
	seed(other, added, duplicate, duplicate)
	if l, err := s.Level(t.Context(), "p"); err != nil || l.Seeded != 4 || l.Available != 3 || l.Forgotten != 1 {
		t.Errorf("level: got %+v and %v, want 4 seeded, 3 free, 1 forgotten", l, err)
	}
}

func TestLostCountsAreTold(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 1)
	edit(t, path, `DELETE FROM levels`)
	wantCode(t, second(s.Level(t.Context(), "p")), alloc.CodePoolDamaged)
	wantCode(t, second(s.Claim(t.Context(), one("p"))), alloc.CodePoolDamaged)
	wantCode(t, second(s.Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "j", IDs: []alloc.ID{"new"}})), alloc.CodePoolDamaged)
	if listed, err := s.ListPools(t.Context(), "", 10); err != nil || len(listed) != 1 || listed[0].State != alloc.PoolDamaged {
		t.Errorf("list: got %+v and %v, want it damaged", listed, err)
	}
	if got := census(t, path, "p"); got[alloc.StateFree] != 1 || len(got) != 1 {
		t.Errorf("got %v, want 1 free: a refusal changes nothing", got)
	}
}

func TestSchemaDefendsItself(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 1)
	if _, _, err := s.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	edit(t, path, `INSERT INTO leases SELECT sequence, 10, 19, 'one', 'c', 0, 1, 1, 0, NULL FROM sequences`)
	edit(t, path, `INSERT INTO ids (pool, id, state, generation, job, token, forget_at)
		VALUES (1, 'kept', 'claimed', 0, 'j', 't', NULL), (1, 'retired', 'retired', 0, 'j', 't', NULL), (1, 'due', 'claimed', 0, 'j', 't', 1)`)
	if err := s.Record(t.Context(), alloc.AuditRecord{ID: "r", At: time.Unix(0, 0)}); err != nil {
		t.Fatal(err)
	}
	wantAllowed(t, path, map[string]bool{
		`INSERT INTO leases SELECT sequence, 20, 29, 'next', 'c', 0, 1, 1, 0, NULL FROM sequences`:   true,
		`INSERT INTO leases SELECT sequence, 1, 9, 'before', 'c', 0, 1, 1, 0, NULL FROM sequences`:   true,
		`INSERT INTO leases SELECT sequence, 10, 10, 'same', 'c', 0, 1, 1, 0, NULL FROM sequences`:   false,
		`INSERT INTO leases SELECT sequence, 5, 10, 'into', 'c', 0, 1, 1, 0, NULL FROM sequences`:    false,
		`INSERT INTO leases SELECT sequence, 15, 15, 'within', 'c', 0, 1, 1, 0, NULL FROM sequences`: false,
		`INSERT INTO leases SELECT sequence, 19, 40, 'across', 'c', 0, 1, 1, 0, NULL FROM sequences`: false,
		`INSERT INTO leases SELECT sequence, 5, 40, 'around', 'c', 0, 1, 1, 0, NULL FROM sequences`:  false,
		`UPDATE levels SET n_free = n_free - 1, n_claimed = n_claimed + 1`:                           true,
		`UPDATE levels SET n_free = n_free - 1`:                                                      false,
		`UPDATE levels SET n_free = n_free - 2, n_claimed = n_claimed + 2`:                           false,
		`UPDATE levels SET n_retired = n_retired + 1`:                                                false,
		`UPDATE trail SET result = 'ok'`:                                                             false,
		`DELETE FROM trail`:                                                                          false,
		`DELETE FROM ids WHERE state = 'free'`:                                                       false, // whoever seeded it again would hand it out again
		`DELETE FROM ids WHERE forget_at IS NOT NULL`:                                                true,
		`DELETE FROM ids WHERE id = 'kept'`:                                                          false,
		`DELETE FROM ids WHERE id = 'retired'`:                                                       false,
		`UPDATE ids SET forget_at = 1 WHERE id = 'kept'`:                                             true,
		`UPDATE ids SET forget_at = 1 WHERE id = 'retired'`:                                          false,
		`UPDATE ids SET forget_at = 1 WHERE state = 'free'`:                                          false,
	})
}

// A counter below the sequence's start was set by hand: the numbers there are not the sequence's.
func TestCounterBelowTheStartStops(t *testing.T) {
	s, path := storeOn(t)
	config := alloc.SequenceConfig{Start: 100}.WithDefaults()
	if _, _, err := s.CreateSequence(t.Context(), "q", config); err != nil {
		t.Fatal(err)
	}
	edit(t, path, `UPDATE counters SET position = 49`)
	order := alloc.LeaseOrder{Sequence: "q", Count: 1}
	wantCode(t, second(s.Lease(t.Context(), order)), alloc.CodeSequenceStopped)
	edit(t, path, `UPDATE counters SET position = 99`)
	wantCode(t, second(s.Lease(t.Context(), order)), alloc.CodeSequenceStopped) // stays stopped
	if q, err := s.Sequence(t.Context(), "q"); err != nil || q.State != alloc.SequenceStopped {
		t.Errorf("got %+v and %v, want it stopped", q, err)
	}
}

// A counter set by hand may leave gaps and go back into them; the first range that would touch a leased number is refused,
// and every one after it.
func TestCounterSetByHand(t *testing.T) {
	s, path := storeOn(t)
	if _, _, err := s.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	order := alloc.LeaseOrder{Sequence: "q", Count: 10}
	for _, c := range []struct{ next, want alloc.Number }{ // 0: stopped
		{1, 1}, {101, 101}, {11, 11}, {91, 91}, {111, 111}, {82, 0}, {200, 0},
	} {
		edit(t, path, `UPDATE counters SET position = $1`, int64(c.next)-1)
		r, err := s.Lease(t.Context(), order)
		if c.want == 0 {
			wantCode(t, err, alloc.CodeSequenceStopped)
			continue
		}
		if err != nil || r.Start != c.want || r.Len() != 10 {
			t.Fatalf("with the counter at %d: got %+v and %v, want 10 from %d", c.next, r, err, c.want)
		}
	}
	if got := ask[int](t, path, `SELECT count(*) FROM leases`); got != 5 {
		t.Errorf("got %d ranges in the ledger, want 5", got)
	}
}

// A lost counter stops the sequence for good once a lease has met it, even if somebody puts one there by hand.
func TestLostCounterStaysStopped(t *testing.T) {
	s, path := storeOn(t)
	if _, _, err := s.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	order := alloc.LeaseOrder{Sequence: "q", Count: 10}
	if _, err := s.Lease(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	edit(t, path, `DELETE FROM counters`)
	listed, err := s.ListSequences(t.Context(), "", 10)
	if err != nil || len(listed) != 1 || listed[0].State != alloc.SequenceStopped || listed[0].Next != 11 {
		t.Errorf("list: got %+v and %v, want it stopped, with the ledger's position", listed, err)
	}
	wantCode(t, second(s.Lease(t.Context(), order)), alloc.CodeSequenceStopped)
	edit(t, path, `INSERT INTO counters SELECT sequence, 10, 1 FROM sequences`)
	wantCode(t, second(s.Lease(t.Context(), order)), alloc.CodeSequenceStopped)
}

// One sweep has a bound, in IDs forgotten as well as in keys, and says when it has met it.
func TestSweepIsBounded(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	path := newFile(t)
	s := openAt(t, Config{Path: path, Now: func() time.Time { return now }})
	config := alloc.PoolConfig{Policy: alloc.PolicyForget, MaxBatch: 1000}.WithDefaults()
	if _, _, err := s.CreatePool(t.Context(), "p", config); err != nil {
		t.Fatal(err)
	}
	b := alloc.SeedBatch{Pool: "p", Job: "j"}
	for i := range 3000 {
		b.IDs = append(b.IDs, alloc.ID(fmt.Sprint(i)))
	}
	if _, err := s.Seed(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if _, err := s.Claim(t.Context(), keyed(500, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	sweeps(t, s, 1, 3000)
	now = now.Add(alloc.KeyRetention)
	sweeps(t, s, 4, 0) // two keys each, and one run that finds no more
	if l, err := s.Level(t.Context(), "p"); err != nil || l.Forgotten != 3000 || l.Claimed != 0 {
		t.Errorf("got %+v and %v, want all forgotten", l, err)
	}
	now = now.Add(seedRetention)
	sweeps(t, s, 1, 0)
	if got := ask[int](t, path, `SELECT (SELECT count(*) FROM claim_keys) + (SELECT count(*) FROM seed_batches)`); got != 0 {
		t.Errorf("got %d records left, want none", got)
	}
}

// sweeps sweeps until there is no more, which takes so many runs and leaves so many claimed.
func sweeps(t *testing.T, s *Store, runs int, claimed alloc.Count) {
	t.Helper()
	for n := 1; ; n++ {
		report, err := s.Sweep(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		if !report.More {
			if n != runs {
				t.Errorf("got %d runs, want %d", n, runs)
			}
			break
		}
	}
	if l, err := s.Level(t.Context(), "p"); err != nil || l.Claimed != claimed {
		t.Errorf("got %+v and %v, want %d claimed", l, err, claimed)
	}
}
