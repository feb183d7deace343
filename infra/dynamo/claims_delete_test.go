package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo/dynamotest"
)

// C53: a pool is deleted at any call of a claim that is under way: the claim is answered, and then it has what it was
// answered for good, or it is refused and has taken nothing; so does the last ID of a pool. A key gives what it gave.
func TestC53APoolIsDeletedWhileAClaimIsInFlight(t *testing.T) {
	for name, o := range map[string]alloc.ClaimOrder{"one": want(1), "a batch": want(7), "with a key": wantKeyed(1, "k"), "a batch with a key": wantKeyed(7, "k"), "held": wantHold(1, time.Minute)} {
		for _, size := range []int{int(o.Count), 200} {
			t.Run(fmt.Sprintf("%s of %d", name, size), func(t *testing.T) {
				answered, refusals := 0, 0
				for n, hit := 0, true; hit; n++ {
					b := filled(t, size, alloc.PoolConfig{})
					hit = b.deletedAt(n, o, &answered, &refusals)
				}
				if answered == 0 || refusals == 0 {
					t.Errorf("answered %d and refused %d times, want both: a deletion before it begins, and one behind it", answered, refusals)
				}
			})
		}
	}
}

// deletedAt deletes the pool just before the n-th call of a claim in a cold process, and reports whether there was one.
func (b *bench) deletedAt(n int, o alloc.ClaimOrder, answered, refusals *int) (hit bool) {
	b.Helper()
	plan := dynamotest.Nth(n, anyCall, dynamotest.Delayed)
	admin := processAt(b.TB, b.mem, b.clock.Now)
	if _, err := admin.SetPoolState(b.Context(), "p", 0, alloc.PoolDraining); err != nil {
		b.Errorf("the drain before the deletion: %v", err)
	}
	s := b.open()
	b.table.Plan(func(c dynamotest.Call) dynamotest.Fault {
		if plan(c) != dynamotest.None {
			hit = true
			if _, err := admin.SetPoolState(b.Context(), "p", 0, alloc.PoolDeleted); err != nil {
				b.Errorf("the deletion: %v", err)
			}
		}
		return dynamotest.None
	})
	c, err := s.Claim(b.Context(), o)
	b.table.Plan(nil)
	taken := b.census()[alloc.StateClaimed] + b.census()[alloc.StateHeld]
	switch {
	case err == nil:
		*answered++
		if taken != o.Count {
			b.Errorf("deleted at call %d: answered %v, and %d IDs are taken", n, c.IDs, taken)
		}
	default:
		*refusals++
		refused(b.TB, err, alloc.CodePoolDeleted)
		if taken != 0 {
			b.Errorf("deleted at call %d: refused, and %d IDs are taken", n, taken)
		}
	}
	if !hit {
		return false
	}
	b.clock.Advance(31 * time.Second) // by then every environment knows
	if o.Key == nil || err != nil {
		b.refuse(s, o, alloc.CodePoolDeleted)
	} else if again := b.claim(s, o); again.Token != c.Token || !again.Replayed {
		b.Errorf("the key was answered %v, and then %v", c, again)
	}
	_, _, err = admin.CreatePool(b.Context(), "p", alloc.PoolConfig{}.WithDefaults())
	refused(b.TB, err, alloc.CodePoolDeleted)
	return true
}
