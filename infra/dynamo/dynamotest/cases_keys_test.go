package dynamotest

import (
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// exchanges is the update that puts fresh listings into a key record.
func exchanges(c Call) bool {
	_, ok := c.Update.Set[dynamo.AttrListings]
	return c.Op == OpUpdate && kindOf(c.Key()) == kindRecord && ok
}

// Two processes carry out one record, both find an ID lost, and both put another in its place.
func caseTwoExchanges(s *script) {
	s.newPool("x", "y", "z", "w")
	o := order(2, "key")
	first := s.claim(s.on("first", 0), o)
	first.until(idTo(dynamo.StateClaimed))
	twin := s.claim(s.on("twin", 0), o)
	twin.until(idTo(dynamo.StateClaimed))
	lost := listingsOf(s.mem.Item(recordKey(o)))[0]
	s.steal(lost.id)
	mine := first.until(exchanges)
	theirs := twin.until(exchanges)
	s.decide(mine, None)
	a := s.answered(first, "key", 2)
	s.decide(theirs, None)
	b := s.answered(twin, "key", 2)
	c := s.answered(s.claim(s.on("again", 0), o), "key", 2)
	if joinIDs(a.IDs) != joinIDs(b.IDs) || joinIDs(a.IDs) != joinIDs(c.IDs) {
		s.fatalf("one key was answered %v, %v and %v", a.IDs, b.IDs, c.IDs)
	}
	s.whole()
}

func TestTwoProcessesExchangeTheSameLostID(t *testing.T) { replay(t, caseTwoExchanges) }

// A record fails twice: the second write arrives when the key has claimed with a new record.
func caseLateFailure(s *script) {
	s.newPool("x")
	o := order(1, "key")
	first := s.claim(s.on("first", 0), o)
	first.until(idTo(dynamo.StateClaimed))
	s.steal("x")
	failure := first.until(recordTo(dynamo.RecordFailed))
	s.later(failure)
	first.end() // its outcome is unknown, and its client repeats
	refused(s.claim(s.on("twin", 0), o), alloc.CodePoolExhausted)
	s.seed(s.on("admin again", 0), "more", "y", "z").must()
	s.answered(s.claim(s.on("again", 0), o), "key", 1)
	s.arrive(failure)
	if c := s.answered(s.claim(s.on("and again", 0), o), "key", 1); !c.Replayed {
		s.fatalf("the repeat was answered as a new claim: %v", c)
	}
	s.whole()
}

func TestAFailureThatArrivesAtTheNextRecord(t *testing.T) { replay(t, caseLateFailure) }

// The write that made a record void arrives again when the void has been settled.
func caseRepeatedVoid(s *script) {
	s.newPool("x", "y")
	o := order(2, "key")
	st, void := s.beaten(s.on("frozen", 0), o, recordTo(dynamo.RecordVoid))
	s.decide(void, None)
	s.kill(st.proc)
	s.sweeps()
	s.arrive(void)
	s.seed(s.on("admin again", 0), "more", "z").must()
	s.answered(s.claim(s.on("again", 0), o), "key", 2)
	s.whole()
}

func TestAVoidThatArrivesAgainAfterItIsSettled(t *testing.T) { replay(t, caseRepeatedVoid) }

// onlyRaises is the update that does nothing but raise a key record's version.
func onlyRaises(c Call) bool {
	return c.Op == OpUpdate && kindOf(c.Key()) == kindRecord && len(c.Update.Set) == 0 && len(c.Update.Remove) == 0
}

// A sweeper has seen that a void has not happened and is about to make it impossible, when it happens. Found by the
// model check: the sweeper took the version that it found for its own, and dropped the return item.
func caseVoidBeforeRaise(s *script) {
	s.newPool("x", "y")
	o := order(2, "key")
	st, void := s.beaten(s.on("frozen", 0), o, recordTo(dynamo.RecordVoid))
	sweep := s.sweep(s.on("sweeper", 0))
	sweep.until(onlyRaises)
	s.decide(void, None)
	s.kill(st.proc)
	sweep.must()
	s.seed(s.on("admin again", 0), "more", "z").must()
	s.sweeps()
	s.answered(s.claim(s.on("again", 0), o), "key", 2)
	s.whole()
}

func TestAVoidHappensWhileASweeperRulesItOut(t *testing.T) { replay(t, caseVoidBeforeRaise) }
