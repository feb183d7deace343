package sql

import (
	"testing"
	"time"

	"idpool/alloc"
)

// Counts that say that there is less than a step has found are damage of the pool, until it is rebuilt; nothing is taken meanwhile.
func TestCountsThatContradictThePoolAreItsDamage(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 10)
	held, err := s.Claim(t.Context(), alloc.ClaimOrder{Pool: "p", Count: 1, By: "test", Hold: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	past(t, path, "levels", `UPDATE levels SET n_free = 0, n_held = 0`)
	_, err = s.Claim(t.Context(), one("p"))
	wantCode(t, err, alloc.CodePoolDamaged)
	_, err = s.Settle(t.Context(), alloc.SettleOrder{Pool: "p", Event: alloc.EventConfirm, IDs: held.IDs, Token: held.Token})
	wantCode(t, err, alloc.CodePoolDamaged)
	if e, err := s.PoolEvidence(t.Context(), "p"); err != nil || len(e.Damage) == 0 {
		t.Errorf("evidence: got %+v and %v, want it to tell of the damage", e, err)
	}
	if _, err := s.RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "r"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(t.Context(), alloc.ClaimOrder{Pool: "p", Count: 9, By: "test"}); err != nil {
		t.Errorf("after the rebuild: %v, want the 9 that are free", err)
	}
	wantCounts(t, s, path, "p")
}
