package dynamotest

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// cutOff claims with the key in a process that dies before it has written an ID.
func (s *auditStage) cutOff(key string) alloc.ClaimOrder {
	s.Helper()
	cut := NewFaults(s.mem, func(c Call) Fault {
		if c.Op == OpUpdate && kindOf(c.Key()) == kindID {
			return Refused
		}
		return None
	})
	dying, err := dynamo.New(dynamo.Config{Table: cut, Now: s.clock.Now})
	if err != nil {
		s.Fatal(err)
	}
	o := order(1, key)
	if _, err := dying.Claim(s.Context(), o); err == nil {
		s.Fatal("it was not cut off")
	}
	return o
}

// A claim with a key that was cut off before the backup is carried out after the restore, as it is in a pool that is paused too. Somebody else has
// what it names in the old table: it is in two hands, which is told, and the one who was answered here keeps it.
func TestWhatARepeatCarriesOutAfterARestoreIsTakenAfterThePoint(t *testing.T) {
	s := newAuditStage(t, 3, alloc.PoolConfig{})
	keyed := s.cutOff("k")
	s.clock.Advance(time.Minute)
	backup := copied(s.mem)
	s.point = s.clock.Now()

	// The old world: all is claimed, given back, and claimed again.
	s.clock.Advance(10 * time.Minute)
	s.sweep()
	s.clock.Advance(10 * time.Minute)
	s.sweep()
	c := s.claim(order(3, ""))
	if _, err := s.open().Settle(t.Context(), alloc.SettleOrder{Pool: pool, Event: alloc.EventRelease, IDs: c.IDs, Token: c.Token}); err != nil {
		t.Fatal(err)
	}
	s.sweep()
	others := s.claim(order(3, ""))
	old := &auditStage{TB: t, mem: s.mem, clock: s.clock}

	s.mem = backup
	if _, err := s.open().SetPoolState(t.Context(), pool, 0, alloc.PoolPaused); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Minute)
	got := s.claim(keyed)
	told := false
	for _, r := range old.walked() {
		for _, o := range s.carry(r) {
			told = told || r.ID == got.IDs[0] && o == alloc.CarryClash
		}
	}
	if now := s.inspect(got.IDs[0]); !told || now.Token != got.Token || now.State != alloc.StateClaimed {
		t.Errorf("%s was answered to the client of the key after the restore, is %+v now, and that %s has it too was told: %t", now.ID, now, others.Token, told)
	}
}

// A claim with a key had nothing at the point, and was carried out and answered with another ID after that. Its repeat takes nothing in the place of what
// is somebody else's by now.
func TestARepeatOfAClaimFromBeforeThePointTakesNothingMore(t *testing.T) {
	s := newAuditStage(t, 6, alloc.PoolConfig{})
	keyed := s.cutOff("k")
	s.clock.Advance(time.Minute)
	backup := copied(s.mem)
	s.point = s.clock.Now()

	s.clock.Advance(10 * time.Minute)
	s.sweep()
	s.clock.Advance(10 * time.Minute)
	s.sweep()
	others := map[alloc.ID]alloc.Claim{}
	for range 6 {
		c := s.claim(order(1, ""))
		others[c.IDs[0]] = c
	}
	release := func(id alloc.ID) {
		if _, err := s.open().Settle(t.Context(), alloc.SettleOrder{Pool: pool, Event: alloc.EventRelease, IDs: []alloc.ID{id}, Token: others[id].Token}); err != nil {
			t.Fatal(err)
		}
		s.sweep()
	}
	release("id-3")
	then, err := s.open().Claim(t.Context(), keyed)
	if err != nil {
		t.Fatal(err)
	}
	release("id-4")
	old := &auditStage{TB: t, mem: s.mem, clock: s.clock}

	s.mem = backup
	for _, r := range old.walked() {
		s.carry(r)
	}
	s.clock.Advance(time.Minute)
	s.rebuild()
	s.sweep()
	if again, err := s.open().Claim(t.Context(), keyed); !alloc.Is(err, alloc.CodeKeyEnded) {
		t.Errorf("the client of the key was answered %v, and its repeat after the restore %v, %v", then.IDs, again.IDs, err)
	}
	if now := s.inspect(then.IDs[0]); now.Token != then.Token || now.State != alloc.StateClaimed {
		t.Errorf("%s is %+v, want it with who was answered it", now.ID, now)
	}
	s.sweep()
	if found, _ := s.findings(100); len(found) > 0 {
		t.Errorf("the audit finds %s", words(found))
	}
}
