package dynamotest

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// holdX claims x for a minute.
func (s *script) holdX(key string) alloc.Claim {
	o := order(1, key)
	o.Hold = time.Minute
	return s.answered(s.claim(s.on("holder", 0), o), "holder", 1)
}

// caseP04 and P05: the sweeper is about to expire a hold when it is confirmed or renewed. Its write fails, and the key's
// record is not ended.
func caseP04(change func(*script, alloc.Claim)) func(*script) {
	return func(s *script) {
		s.newPool("x")
		c := s.holdX("key")
		time.Sleep(2 * time.Minute)
		st := s.sweep(s.on("sweeper", 0))
		expiry := st.until(toState("x", dynamo.StateReturning))
		change(s, c)
		if a := s.decide(expiry, None); !isConditionFailed(a.Err) {
			s.fatalf("the hold expired all the same: %v", a)
		}
		st.must()
		if it := s.mem.Item(recordKey(order(1, "key"))); it.Str(dynamo.AttrState) != dynamo.RecordLive {
			s.fatalf("P05: the record of the hold was ended: %v", it)
		}
	}
}

func confirmsX(s *script, c alloc.Claim) {
	s.settle(s.on("client", 0), alloc.EventConfirm, c.Token, c.IDs...).must()
}

// renewsX is done by hand: no call renews a hold.
func renewsX(s *script, _ alloc.Claim) {
	s.edit(idKey("x"), func(it dynamo.Item) { it[dynamo.AttrHoldEnd] = time.Now().Add(time.Hour).UnixMilli() })
}

func TestP04AHoldIsConfirmedOrRenewedWhileItExpires(t *testing.T) {
	for name, change := range map[string]func(*script, alloc.Claim){"confirmed": confirmsX, "renewed": renewsX} {
		t.Run(name, func(t *testing.T) { replay(t, caseP04(change)) })
	}
}

// P08: the return item is put, its process freezes for an hour, a sweeper runs, the process goes on to the next write
// and dies.
func caseP08(s *script) {
	s.newPool("x", "y")
	st, back := s.beaten(s.on("frozen", 0), order(2, ""), toState("x", dynamo.StateReturning))
	time.Sleep(time.Hour)
	sweeper := s.on("sweeper", 0)
	s.sweep(sweeper).must()
	s.decide(back, None)
	s.kill(st.proc)
	s.whole()
}

func TestP08AReleaseFrozenForAnHour(t *testing.T) { replay(t, caseP08) }

// The releaser dies as soon as the ID is returning: nothing has listed it yet.
func caseFreedBeforePublished(s *script) {
	s.newPool("x", "y")
	st, back := s.beaten(s.on("dying", 0), order(2, ""), toState("x", dynamo.StateReturning))
	s.decide(back, None)
	s.decide(st.next(), None)
	s.kill(st.proc)
	s.whole()
}

func TestAReleaserDiesBeforeTheIDIsListed(t *testing.T) { replay(t, caseFreedBeforePublished) }

// P09: the deletion of a return item lands after that of the next generation was put.
func caseP09(s *script) {
	s.newPool("x", "y")
	_, old := s.beaten(s.on("first", 0), order(2, ""), write(kindReturn, OpDelete))
	s.seed(s.on("admin again", 0), "more", "z").must()
	if s.mem.Item(idKey("x")).Int(dynamo.AttrGeneration) != 1 {
		s.fatalf("x has not come back")
	}
	x := s.answered(s.claim(s.on("x", 0), order(2, "")), "x", 2)
	release := s.settle(s.on("x again", 0), alloc.EventRelease, x.Token, "x")
	back := release.until(toState("x", dynamo.StateReturning))
	s.decide(old, None)
	if s.mem.Item(returnItem("x", 1)) == nil {
		s.fatalf("the return item of the next generation is gone")
	}
	s.decide(back, None)
	s.kill(release.proc)
	if s.mem.Item(returnItem("x", 0)) != nil {
		s.fatalf("the old return item is still there")
	}
	s.whole()
}

func TestP09AnOldDeletionOfAReturnItem(t *testing.T) { replay(t, caseP09) }

// A batch is beaten and cannot be given back, as the table does not answer. Its client must not be told that nothing was
// taken. Found by the model check: it was told that the pool is exhausted.
func TestABatchThatCannotBeGivenBackIsNotRefusedAsExhausted(t *testing.T) {
	replay(t, func(s *script) {
		s.newPool("x", "y")
		puts := write(kindReturn, OpPut)
		st, h := s.beaten(s.on("cut off", 0), order(2, ""), puts)
		for ; h != nil; h = st.next() {
			if puts(h.call) {
				s.decide(h, LostRequest)
			} else {
				s.decide(h, None)
			}
		}
		if c, err := st.end(); !alloc.Is(err, alloc.CodeUnavailable) || !unknown(err) {
			s.fatalf("answered %v, %v; want that it is not known", c, err)
		}
	})
}

// P10: a hold out of old stock, whose chunk the window has passed; nobody ever calls again.
func caseP10(s *script) {
	s.newPool("x", "y")
	p := s.on("holder", 0)
	s.answered(s.claim(p, order(1, "")), "first", 1) // y stays in its stock
	time.Sleep(5 * time.Minute)
	s.sweep(s.on("sweeper", 0)).must() // y is listed once more, and the window passes the chunk that it was in
	if low := s.mem.Item(headKey).Int(dynamo.AttrLow); low == 0 {
		s.fatalf("the window has passed nothing")
	}
	o := order(1, "")
	o.Hold = time.Minute
	y := s.answered(s.claim(p, o), "holder", 1).IDs[0]
	for range 3 {
		s.sweep(s.on("sweeper", 0)).must()
	}
	s.stateIs(y, alloc.StateHeld)
	s.sweeps()
	s.stateIs(y, alloc.StateFree)
	s.whole()
}

func TestP10AHoldThatNobodyRemembers(t *testing.T) { replay(t, caseP10) }

// P11: the listing of the next generation is met while the ID is still returning.
func caseP11(s *script) {
	s.newPool("x", "y")
	s.beaten(s.on("frozen", 0), order(2, ""), toState("x", dynamo.StateFree))
	s.stateIs("x", alloc.StateReturning)
	if c := s.answered(s.claim(s.on("next", 0), order(1, "")), "next", 1); c.IDs[0] != "x" {
		s.fatalf("answered %v, want x", c)
	}
}

func TestP11AListingIsMetWhileItsIDIsReturning(t *testing.T) { replay(t, caseP11) }

// P12: the process dies as soon as its record is void, and the key comes again after the retention.
func caseP12(s *script) {
	s.newPool("x", "y")
	o := order(2, "key")
	st, void := s.beaten(s.on("frozen", 0), o, recordTo(dynamo.RecordVoid))
	s.decide(void, None)
	s.kill(st.proc)
	time.Sleep(alloc.KeyRetention + time.Hour)
	s.mem.Expire(time.Now())
	s.seed(s.on("admin again", 0), "more", "z").must()
	refused(s.claim(s.on("early", 0), o), alloc.CodeKeyBusy)
	s.sweeps()
	s.answered(s.claim(s.on("again", 0), o), "key", 2)
	s.whole()
}

func TestP12AVoidRecordOutlivesTheRetention(t *testing.T) { replay(t, caseP12) }

// The same, dead before the record became void: the write may still arrive, after the sweeper has seen it missing.
func caseLateVoid(s *script) {
	s.newPool("x", "y")
	o := order(2, "key")
	st, void := s.beaten(s.on("frozen", 0), o, recordTo(dynamo.RecordVoid))
	s.later(void)
	s.kill(st.proc)
	s.sweeps()
	s.arrive(void)
	s.seed(s.on("admin again", 0), "more", "z").must()
	s.answered(s.claim(s.on("again", 0), o), "key", 2)
	s.whole()
}

func TestAVoidThatArrivesAfterItsReturnItemIsGone(t *testing.T) { replay(t, caseLateVoid) }

// P13: the last free ID is claimed with a key, the answer is lost, and the pool is empty when the key comes again.
func TestP13TheLastIDWithAKey(t *testing.T) {
	for name, lose := range map[string]Fault{"answer lost": AppliedButFailed, "killed": LostRequest} {
		t.Run(name, func(t *testing.T) {
			replay(t, func(s *script) {
				s.newPool("x")
				o := order(1, "key")
				st := s.claim(s.on("first", 0), o)
				claim := st.until(toState("x", dynamo.StateClaimed))
				if lose == LostRequest {
					s.arrive(claim)
					s.kill(st.proc)
				} else {
					s.decide(claim, lose)
					if c, err := st.end(); err == nil {
						s.fatalf("answered %v though the outcome was not known", c)
					}
				}
				refused(s.claim(s.on("other", 0), order(1, "")), alloc.CodePoolExhausted)
				c := s.answered(s.claim(s.on("again", 0), o), "key", 1)
				if !c.Replayed {
					s.fatalf("the repeat does not say that it is one: %v", c)
				}
			})
		})
	}
}

// P14: what a batch of five found too little of is not remembered as nothing.
func TestP14AFailedBatchIsNotRememberedAsExhausted(t *testing.T) {
	replay(t, func(s *script) {
		s.newPool("x", "y", "z")
		p := s.on("p", 0)
		refused(s.claim(p, order(5, "")), alloc.CodePoolExhausted)
		s.answered(s.claim(p, order(1, "")), "one", 1)
		s.whole()
	})
}

// P16: clocks five minutes off end a stock early or late, a key's record early or late, and nothing else.
func TestP16AKeyedClaimIsReplayedUnderWrongClocks(t *testing.T) {
	replay(t, func(s *script) {
		s.newPool("x", "y")
		o := order(1, "key")
		first := s.answered(s.claim(s.on("late", -5*time.Minute), o), "key", 1)
		time.Sleep(alloc.KeyRetention - 11*time.Minute)
		again := s.answered(s.claim(s.on("early", 5*time.Minute), o), "key", 1)
		if again.IDs[0] != first.IDs[0] || !again.Replayed {
			s.fatalf("answered %+v, then %+v", first, again)
		}
		time.Sleep(22 * time.Minute)
		fresh := s.answered(s.claim(s.on("late again", -5*time.Minute), o), "another", 1)
		if fresh.IDs[0] == first.IDs[0] || fresh.Replayed {
			s.fatalf("after the retention answered %+v, want a fresh ID", fresh)
		}
	})
}

// A claim's write arrives a second time when its batch has been given up and the ID has come back.
func caseLateClaim(s *script) {
	s.newPool("x", "y")
	st := s.claim(s.on("p", 0), order(2, ""))
	x := st.until(toState("x", dynamo.StateClaimed))
	s.decide(x, None)
	s.answered(s.claim(s.on("thief", 0), order(1, "")), "thief", 1)
	refused(st, alloc.CodeBusy)
	if g := s.mem.Item(idKey("x")).Int(dynamo.AttrGeneration); g != 1 {
		s.fatalf("x has not come back, it is at generation %d", g)
	}
	s.arrive(x)
	s.whole()
}

func TestAClaimThatArrivesInTheNextGeneration(t *testing.T) { replay(t, caseLateClaim) }
