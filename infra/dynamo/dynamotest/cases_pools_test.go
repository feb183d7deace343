package dynamotest

import (
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// P01: a twin that has read the live record is frozen while one of its IDs is released, comes back and goes to another.
func caseP01(s *script) {
	s.newPool("x", "y")
	o := order(2, "key")
	first := s.answered(s.claim(s.on("first", 0), o), "key", 2)
	x, y := first.IDs[0], first.IDs[1]
	twin := s.claim(s.on("twin", 0), o)
	// The twin has read the live record and holds its claim of x in its hand.
	held := twin.next()
	for held != nil && !toState(x, dynamo.StateClaimed)(held.call) && !readsIDs(held.call) {
		s.decide(held, None)
		held = twin.next()
	}
	s.settle(s.on("client", 0), alloc.EventRelease, first.Token, x).must()
	s.sweep(s.on("sweeper", 0)).must()
	if c := s.answered(s.claim(s.on("other", 0), order(1, "")), "other", 1); c.IDs[0] != x {
		s.fatalf("the other was answered %v, want %s", c, x)
	}
	ended := []alloc.EndedID{{ID: x, State: alloc.StateReturning}}
	if c, err := twin.end(); err != nil || !slices.Equal(c.Ended, ended) {
		s.fatalf("the twin was answered %+v, %v; want it told that %s has come back", c, err, x)
	}
	s.sweeps()
	if it := s.world.ids[y]; stateOf(it) != alloc.StateClaimed || it.Str(dynamo.AttrToken) != string(first.Token) {
		s.fatalf("%s was taken from its owner: %v", y, it)
	}
	if it := s.mem.Item(recordKey(o)); it.Str(dynamo.AttrState) != dynamo.RecordEnded {
		s.fatalf("the record is no longer ended: %v", it)
	}
}

func recordKey(o alloc.ClaimOrder) dynamo.Key { return dynamo.Key{PK: "K#" + o.Key.Hash, SK: "K"} }

func readsIDs(c Call) bool {
	return (c.Op == OpGet || c.Op == OpGetMany) && kindOf(c.Key()) == kindID
}

func TestP01AFrozenTwinDoesNotVoidAnEndedRecord(t *testing.T) { replay(t, caseP01) }

// caseP03 holds an operation at its update of the head while a rebuild begins, or is over.
func caseP03(begin func(*script, *process) *held, rebuild func(dynamo.Item)) func(*script) {
	return func(s *script) {
		s.newPool("x", "y")
		update := begin(s, s.on("late", 0))
		s.edit(headKey, rebuild)
		if a := s.decide(update, None); !isConditionFailed(a.Err) {
			s.fatalf("the head was updated: %v", a)
		}
	}
}

func seedsOver(s *script, p *process) *held { return s.seed(p, "more", "z").until(updatesHead) }

func leasesOver(s *script, p *process) *held { return s.claim(p, order(1, "")).until(updatesHead) }

func sweepsOver(s *script, p *process) *held {
	s.claim(s.on("dead", 0), order(1, "")).must()
	time.Sleep(15 * time.Minute)
	return s.sweep(p).until(movesWindow)
}

func rebuildOn(it dynamo.Item) { it[dynamo.AttrRebuild] = "rebuild" }

func rebuildOver(it dynamo.Item) { it[dynamo.AttrSeries] = it.Int(dynamo.AttrSeries) + 1 }

func TestP03AHeadUpdateFromBeforeARebuildIsRefused(t *testing.T) {
	for name, begin := range map[string]func(*script, *process) *held{"seed": seedsOver, "claim": leasesOver, "sweep": sweepsOver} {
		t.Run(name+", a rebuild is on", func(t *testing.T) { replay(t, caseP03(begin, rebuildOn)) })
		t.Run(name+", a rebuild is over", func(t *testing.T) { replay(t, caseP03(begin, rebuildOver)) })
	}
}

// P06: the claim's write arrives twice, and between the two the ID is on its way back.
func caseP06(s *script) {
	s.newPool("x")
	st := s.claim(s.on("late", 0), order(1, ""))
	claim := st.until(toState("x", dynamo.StateClaimed))
	s.arrive(claim)
	s.edit(idKey("x"), func(it dynamo.Item) { it[dynamo.AttrState] = dynamo.StateReturning })
	s.decide(claim, None)
	if c, err := st.end(); err == nil {
		s.fatalf("answered %v, which is on its way back", c)
	}
}

func TestP06ALateRepeatThatFindsItsIDReturningIsNoSuccess(t *testing.T) { replay(t, caseP06) }

// P07: the same ID stands in two chunks, and one process has both in its stock.
func caseP07(key string) func(*script) {
	return func(s *script) {
		s.newPool("x")
		first := s.mem.Item(chunkKey(0))
		second := first
		second["pk"] = chunkKey(1).PK
		second[dynamo.AttrBefore] = int64(1)
		s.mem.Set(second)
		s.world.chunks[1] = second
		s.edit(headKey, func(it dynamo.Item) {
			it[dynamo.AttrTail], it[dynamo.AttrPublished] = int64(2), int64(2)
		})
		s.seed(s.on("admin again", 0), "more", "y").must()
		s.answered(s.claim(s.on("p", 0), order(2, key)), "claim", 2)
		s.whole()
	}
}

func TestP07TheSameIDInTwoChunks(t *testing.T) {
	for name, key := range map[string]string{"without a key": "", "with a key": "key"} {
		t.Run(name, func(t *testing.T) { replay(t, caseP07(key)) })
	}
}

// caseFreeAndOwned makes an ID free by hand that has an owner, and lists it where it is leased next.
func caseFreeAndOwned(s *script) {
	s.newPool("x", "y")
	first := s.answered(s.claim(s.on("first", 0), order(1, "")), "first", 1)
	s.edit(idKey(first.IDs[0]), func(it dynamo.Item) { it[dynamo.AttrState] = dynamo.StateFree })
	s.edit(headKey, func(it dynamo.Item) { it[dynamo.AttrNext] = it.Int(dynamo.AttrLow) })
	p := s.on("other", 0)
	if c := s.claim(p, order(1, "")).must(); c.IDs[0] == first.IDs[0] {
		s.fatalf("%s was handed out, which has an owner", c.IDs[0])
	}
	refused(s.claim(p, order(1, "")), alloc.CodePoolExhausted)
}

func TestAnIDThatIsFreeAndOwnedIsNotClaimed(t *testing.T) { replay(t, caseFreeAndOwned) }
