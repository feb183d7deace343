package dynamotest

import (
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// C42: a confirmation comes after the hold has expired, and somebody else has the ID.
func TestC42ALateConfirmationOfAnIDThatSomebodyElseHas(t *testing.T) {
	replay(t, func(s *script) {
		s.newPool("x")
		c := s.holdX("key")
		time.Sleep(2 * time.Minute)
		late := s.settle(s.on("late", 0), alloc.EventConfirm, c.Token, "x")
		confirm := late.until(toState("x", dynamo.StateClaimed))
		s.sweep(s.on("sweeper", 0)).must()
		s.answered(s.claim(s.on("other", 0), order(1, "")), "other", 1)
		s.decide(confirm, None)
		refused(late, alloc.CodeNotOwner)
		s.whole()
	})
}

// P04, the other way round: the expiry lands first, and the confirmation is told so before the ID is anybody else's.
func TestP04AConfirmationLandsAfterTheExpiry(t *testing.T) {
	replay(t, func(s *script) {
		s.newPool("x")
		c := s.holdX("key")
		time.Sleep(2 * time.Minute)
		sweep := s.sweep(s.on("sweeper", 0))
		s.decide(sweep.until(toState("x", dynamo.StateReturning)), None)
		refused(s.settle(s.on("late", 0), alloc.EventConfirm, c.Token, "x"), alloc.CodeNotOwner)
		sweep.must()
		s.whole()
	})
}

// P06: the write of a claim is repeated when its ID has been released: its process is told so, and does not answer it as
// its own.
func TestP06ALateClaimFindsItsOwnTokenOnAnIDThatIsReturning(t *testing.T) {
	replay(t, func(s *script) {
		s.newPool("x", "y")
		o := order(2, "key")
		twin := s.claim(s.on("twin", 0), o)
		claim := twin.until(idTo(dynamo.StateClaimed))
		first := s.answered(s.claim(s.on("first", 0), o), "key", 2)
		s.settle(s.on("client", 0), alloc.EventRelease, first.Token, "x").must()
		s.decide(claim, None)
		c, err := twin.end()
		if want := []alloc.EndedID{{ID: "x", State: alloc.StateReturning}}; err != nil || !slices.Equal(c.Ended, want) || !c.Replayed {
			s.fatalf("the twin was answered %+v, %v; want it told that x is on its way back", c, err)
		}
		s.settle(s.on("client", 0), alloc.EventRelease, first.Token, "y").must()
		refused(s.claim(s.on("third", 0), o), alloc.CodeKeyEnded)
		s.whole()
	})
}

// P08: a release has put its return item and freezes for an hour; the sweeper brings the ID back, and somebody else has
// it when the release goes on.
func caseFrozenRelease(s *script) {
	s.newPool("x")
	c := s.answered(s.claim(s.on("first", 0), order(1, "key")), "first", 1)
	release := s.settle(s.on("frozen", 0), alloc.EventRelease, c.Token, "x")
	step := release.until(toState("x", dynamo.StateReturning))
	time.Sleep(time.Hour)
	s.sweep(s.on("sweeper", 0)).must()
	other := s.answered(s.claim(s.on("other", 0), order(1, "")), "other", 1)
	s.decide(step, None)
	if got := release.must(); got.State != alloc.StateReturning {
		s.fatalf("the release was answered %+v", got)
	}
	if it := s.mem.Item(idKey("x")); it.Str(dynamo.AttrToken) != string(other.Token) || stateOf(it) != alloc.StateClaimed {
		s.fatalf("x was taken from its owner: %v", it)
	}
	s.whole()
}

func TestP08AReleaseFrozenBetweenItsTwoWrites(t *testing.T) { replay(t, caseFrozenRelease) }

// The same, and the other has released it too when the release goes on: nothing on the ID tells any more who gave it back
// first.
func TestP08AReleaseFrozenWhileOthersHaveTheIDAndReleaseIt(t *testing.T) {
	replay(t, func(s *script) {
		s.newPool("x")
		c := s.answered(s.claim(s.on("first", 0), order(1, "")), "first", 1)
		release := s.settle(s.on("frozen", 0), alloc.EventRelease, c.Token, "x")
		step := release.until(toState("x", dynamo.StateReturning))
		s.sweep(s.on("sweeper", 0)).must()
		other := s.answered(s.claim(s.on("other", 0), order(1, "")), "other", 1)
		s.settle(s.on("other", 0), alloc.EventRelease, other.Token, "x").must()
		s.sweep(s.on("sweeper", 0)).must()
		third := s.answered(s.claim(s.on("third", 0), order(1, "")), "third", 1)
		s.decide(step, None)
		if got := release.must(); got.State != alloc.StateReturning {
			s.fatalf("the release was answered %+v", got)
		}
		if it := s.mem.Item(idKey("x")); it.Str(dynamo.AttrToken) != string(third.Token) || stateOf(it) != alloc.StateClaimed {
			s.fatalf("x was taken from its owner: %v", it)
		}
		s.whole()
	})
}

// A release of two IDs freezes between its writes. One is retired, the other comes back by the return item of the release:
// its refusal must not say that nothing was changed.
func TestAFrozenReleaseThatIsRefusedSaysThatItsOtherIDHasComeBack(t *testing.T) {
	replay(t, func(s *script) {
		s.newPool("x", "y")
		c := s.answered(s.claim(s.on("first", 0), order(2, "")), "first", 2)
		release := s.settle(s.on("frozen", 0), alloc.EventRelease, c.Token, "x", "y")
		release.until(toState("x", dynamo.StateReturning))
		release.until(toState("y", dynamo.StateReturning))
		s.settle(s.on("client", 0), alloc.EventRetire, c.Token, "y").must()
		s.sweep(s.on("sweeper", 0)).must()
		s.stateIs("x", alloc.StateFree)
		if _, err := release.end(); !alloc.Is(err, alloc.CodeIDRetired) || !unknown(err) {
			s.fatalf("the release was answered %v; want id_retired, and that it is not known what was done", err)
		}
	})
}

// A release loses to a retirement between its two writes: its return item is of no use and goes.
func TestAReleaseThatLosesToARetirementLeavesNothing(t *testing.T) {
	replay(t, func(s *script) {
		s.newPool("x", "y")
		c := s.answered(s.claim(s.on("first", 0), order(1, "")), "first", 1)
		release := s.settle(s.on("frozen", 0), alloc.EventRelease, c.Token, c.IDs...)
		step := release.until(toState(c.IDs[0], dynamo.StateReturning))
		s.settle(s.on("client", 0), alloc.EventRetire, c.Token, c.IDs...).must()
		s.decide(step, None)
		refused(release, alloc.CodeIDRetired)
		s.sweeps()
		s.stateIs(c.IDs[0], alloc.StateRetired)
		if it := s.mem.Item(returnItem(c.IDs[0], 0)); it != nil {
			s.fatalf("a return item is left: %v", it)
		}
	})
}

// P09: the deletions of a hold's return item, by its confirmation and by a sweep, land after a release has put its own in
// its place.
func caseHoldsDeletion(s *script) {
	s.newPool("x")
	c := s.holdX("")
	confirm := s.settle(s.on("client", 0), alloc.EventConfirm, c.Token, "x")
	first := confirm.until(write(kindReturn, OpDelete))
	sweep := s.sweep(s.on("sweeper", 0))
	second := sweep.until(write(kindReturn, OpDelete))
	release := s.settle(s.on("client too", 0), alloc.EventRelease, c.Token, "x")
	s.decide(release.until(toState("x", dynamo.StateReturning)), None)
	s.decide(first, None)
	confirm.must()
	s.decide(second, None)
	s.kill(release.proc)
	sweep.must()
	s.sweeps()
	s.stateIs("x", alloc.StateFree)
	s.whole()
}

func TestP09TheDeletionOfAHoldsReturnItemSparesThatOfARelease(t *testing.T) {
	replay(t, caseHoldsDeletion)
}

// The process of a hold dies between the two writes; its client repeats when the hold is over and somebody else has the
// ID.
func TestAKeyedHoldThatWasCutOffIsOverWhenItsClientComesAgain(t *testing.T) {
	replay(t, func(s *script) {
		s.newPool("x")
		o := order(1, "key")
		o.Hold = time.Minute
		st := s.claim(s.on("dying", 0), o)
		put := st.until(write(kindReturn, OpPut))
		s.kill(st.proc)
		_ = put
		s.sweeps()
		s.answered(s.claim(s.on("other", 0), order(1, "")), "other", 1)
		refused(s.claim(s.on("again", 0), o), alloc.CodeKeyEnded)
		s.whole()
	})
}

// A hold expires, and comes back, before its claim is answered: the return item that is put then is of no use to
// anybody, and goes.
func TestAHoldThatIsOverBeforeItIsAnswered(t *testing.T) {
	for _, key := range []string{"", "key"} {
		replay(t, func(s *script) {
			s.newPool("x")
			o := order(1, key)
			o.Hold = time.Second
			st := s.claim(s.on("slow", 0), o)
			put := st.until(write(kindReturn, OpPut))
			time.Sleep(time.Minute)
			s.sweep(s.on("sweeper", 0)).must() // it puts the return item
			s.sweep(s.on("sweeper", 0)).must()
			s.stateIs("x", alloc.StateFree)
			other := s.answered(s.claim(s.on("other", 0), order(1, "")), "other", 1)
			s.decide(put, None)
			c, err := st.end()
			if err != nil {
				s.fatalf("the slow claim: %v", err)
			}
			refused(s.settle(s.on("client", 0), alloc.EventConfirm, c.Token, "x"), alloc.CodeNotOwner)
			s.sweeps()
			if it := s.mem.Item(idKey("x")); it.Str(dynamo.AttrToken) != string(other.Token) {
				s.fatalf("x was taken from its owner: %v", it)
			}
			if it := s.mem.Item(returnItem("x", 0)); it != nil {
				s.fatalf("a return item is left: %v", it)
			}
		})
	}
}

// P16: holds end early or late by as much as the clocks are off, and nothing else.
func TestP16HoldsUnderWrongClocks(t *testing.T) {
	for name, skews := range map[string][2]time.Duration{
		"the sweeper ahead": {0, 5 * time.Minute}, "the sweeper behind": {0, -5 * time.Minute},
		"the holder ahead": {5 * time.Minute, 0}, "the holder behind": {-5 * time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			replay(t, func(s *script) {
				s.newPool("x")
				o := order(1, "key")
				o.Hold = time.Hour
				s.answered(s.claim(s.on("holder", skews[0]), o), "holder", 1)
				late := skews[0] - skews[1]
				time.Sleep(time.Hour + late - time.Minute)
				s.sweep(s.on("sweeper", skews[1])).must()
				s.stateIs("x", alloc.StateHeld)
				time.Sleep(2 * time.Minute)
				s.sweep(s.on("sweeper", skews[1])).must()
				s.stateIs("x", alloc.StateFree)
				s.whole()
			})
		})
	}
}

// P12: a void record's IDs were held: what the void owns comes back once, although the holds have return items too.
func TestAVoidRecordOfHolds(t *testing.T) {
	replay(t, func(s *script) {
		s.newPool("x", "y")
		o := order(2, "key")
		o.Hold = time.Minute
		st := s.claim(s.on("dying", 0), o)
		y := st.until(toState("y", dynamo.StateHeld))
		for _, h := range s.calls() {
			if h.act == st.act && h != y {
				s.decide(h, None)
			}
		}
		s.answered(s.claim(s.on("thief", 0), order(1, "")), "thief", 1)
		s.decide(y, None)
		s.decide(st.until(recordTo(dynamo.RecordVoid)), None)
		s.kill(st.proc)
		refused(s.claim(s.on("early", 0), o), alloc.CodeKeyBusy)
		s.sweeps()
		s.seed(s.on("admin again", 0), "more", "z").must()
		again := s.answered(s.claim(s.on("again", 0), o), "key", 2)
		s.settle(s.on("client", 0), alloc.EventConfirm, again.Token, again.IDs...).must()
		s.whole()
	})
}
