package dynamo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

func settleOrder(e alloc.Event, token alloc.Token, ids ...alloc.ID) alloc.SettleOrder {
	return alloc.SettleOrder{Pool: "p", Event: e, IDs: ids, Token: token}
}

// settle carries the event out.
func (b *bench) settle(s *dynamo.Store, e alloc.Event, token alloc.Token, ids ...alloc.ID) alloc.State {
	b.Helper()
	settled, err := s.Settle(b.Context(), settleOrder(e, token, ids...))
	if err != nil {
		b.Fatalf("%s of %v: %v", e, ids, err)
	}
	if diff := cmp.Diff(ids, settled.IDs); diff != "" {
		b.Errorf("%s: the IDs of the answer (-want +got):\n%s", e, diff)
	}
	return settled.State
}

// refuseSettle demands that the event is refused with a code for each ID, "" for one that would be allowed.
func (b *bench) refuseSettle(s *dynamo.Store, e alloc.Event, token alloc.Token, ids []alloc.ID, codes ...alloc.Code) {
	b.Helper()
	_, err := s.Settle(b.Context(), settleOrder(e, token, ids...))
	var want []alloc.IDFault
	for i, code := range codes {
		if code != "" {
			want = append(want, alloc.IDFault{ID: ids[i], Code: code})
		}
	}
	refused(b.TB, err, want[0].Code)
	if diff := cmp.Diff(want, asError(b.TB, err).IDs); diff != "" {
		b.Errorf("%s: what was refused (-want +got):\n%s", e, diff)
	}
}

func (b *bench) stateOf(id alloc.ID) alloc.State {
	b.Helper()
	r, err := b.open().Inspect(b.Context(), "p", id)
	if err != nil {
		b.Fatalf("Inspect: %v", err)
	}
	return r.State
}

var events = []alloc.Event{alloc.EventConfirm, alloc.EventRelease, alloc.EventRetire}

func TestEveryEventInEveryStateIsAsTheOneTableSays(t *testing.T) {
	into := map[alloc.State]func(b *bench, s *dynamo.Store, c alloc.Claim){
		alloc.StateHeld:      func(*bench, *dynamo.Store, alloc.Claim) {},
		alloc.StateClaimed:   func(b *bench, s *dynamo.Store, c alloc.Claim) { b.settle(s, alloc.EventConfirm, c.Token, c.IDs...) },
		alloc.StateReturning: func(b *bench, s *dynamo.Store, c alloc.Claim) { b.settle(s, alloc.EventRelease, c.Token, c.IDs...) },
		alloc.StateRetired:   func(b *bench, s *dynamo.Store, c alloc.Claim) { b.settle(s, alloc.EventRetire, c.Token, c.IDs...) },
	}
	for state, bring := range into {
		for _, e := range events {
			for _, n := range []alloc.Count{1, 3} {
				t.Run(fmt.Sprintf("%s of %d %s", e, n, state), func(t *testing.T) {
					b := filled(t, 20, alloc.PoolConfig{})
					s := b.open()
					c := b.claim(s, wantHold(n, time.Hour))
					bring(b, s, c)
					want := state.On(e)
					if want.Effect == alloc.EffectRefuse {
						codes := make([]alloc.Code, n)
						for i := range codes {
							codes[i] = alloc.RefusalOf(state)
						}
						b.refuseSettle(b.open(), e, c.Token, c.IDs, codes...)
					} else if got := b.settle(b.open(), e, c.Token, c.IDs...); got != want.To {
						t.Errorf("the answer: got %s, want %s", got, want.To)
					}
					for _, id := range c.IDs {
						if got := b.stateOf(id); got != want.To {
							t.Errorf("%s: got %s, want %s", id, got, want.To)
						}
					}
				})
			}
		}
	}
}

func TestWhatSettlingCosts(t *testing.T) {
	for e, want := range map[alloc.Event][]string{
		alloc.EventConfirm: {"update I", "delete I#"},
		alloc.EventRelease: {"get I", "put I#", "update I"},
		alloc.EventRetire:  {"update I", "delete I#", "update H"}, // the last two side by side
	} {
		b := filled(t, 20, alloc.PoolConfig{})
		s := b.open()
		c := b.claim(s, wantHold(1, time.Hour))
		b.table.Seen()
		b.settle(s, e, c.Token, c.IDs...)
		got := ops(b.table.Seen())
		for i, op := range got {
			got[i], _, _ = strings.Cut(op, "#")
			if strings.Contains(op, "#") {
				got[i] += "#"
			}
		}
		if e == alloc.EventRetire {
			slices.Sort(got[1:])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the calls of a %s (-want +got):\n%s", e, diff)
		}
	}
}

func TestOfSeveralIDsNoneIsSettledWhereOneCannotBe(t *testing.T) {
	for _, e := range events {
		b := filled(t, 20, alloc.PoolConfig{})
		s := b.open()
		c, other := b.claim(s, wantHold(3, time.Hour)), b.claim(s, want(1))
		b.settle(s, alloc.EventRetire, c.Token, c.IDs[1])
		ids := []alloc.ID{c.IDs[0], other.IDs[0], "unknown", c.IDs[1], c.IDs[2]}
		retired := alloc.CodeIDRetired
		if e == alloc.EventRetire {
			retired = ""
		}
		b.table.Seen()
		b.refuseSettle(s, e, c.Token, ids, "", alloc.CodeNotOwner, alloc.CodeIDNotFound, retired, "")
		for _, call := range b.table.Seen() {
			if call.Write() {
				t.Errorf("a refused %s wrote: %s", e, call)
			}
		}
		if b.stateOf(c.IDs[0]) != alloc.StateHeld || b.stateOf(c.IDs[2]) != alloc.StateHeld || b.stateOf(other.IDs[0]) != alloc.StateClaimed {
			t.Errorf("a refused %s changed something", e)
		}
	}
}

func TestC41AReleaseRepeatedAfterTheIDCameBackIsASuccessUntilAnotherGivesItBack(t *testing.T) {
	b := filled(t, 1, alloc.PoolConfig{})
	s := b.open()
	first := b.claim(s, want(1))
	id := first.IDs[0]
	repeats := func(when string) {
		t.Helper()
		if got := b.settle(b.open(), alloc.EventRelease, first.Token, id); got != alloc.StateReturning {
			t.Errorf("%s: got %s, want returning", when, got)
		}
		for _, e := range []alloc.Event{alloc.EventConfirm, alloc.EventRetire} {
			b.refuseSettle(b.open(), e, first.Token, []alloc.ID{id}, alloc.CodeNotOwner)
		}
	}
	b.settle(s, alloc.EventRelease, first.Token, id)
	repeats("before the sweep")
	b.sweep()
	repeats("after it")
	second := b.claim(b.open(), wantHold(1, time.Minute))
	repeats("when another holds it")
	if got := b.stateOf(id); got != alloc.StateHeld {
		t.Errorf("the other's hold: got %s, want it untouched", got)
	}
	b.clock.Advance(2 * time.Minute)
	b.sweep() // the other's hold is over
	b.refuseSettle(b.open(), alloc.EventRelease, first.Token, []alloc.ID{id}, alloc.CodeNotOwner)
	b.settle(b.open(), alloc.EventRelease, second.Token, id)
	b.level(alloc.Level{Seeded: 1, Available: 1})
}

func TestAReleaseInAPoolThatRetiresIsARetirement(t *testing.T) {
	b := filled(t, 10, alloc.PoolConfig{OnRelease: alloc.ReleaseRetires})
	s := b.open()
	c := b.claim(s, want(3))
	for range 2 {
		if got := b.settle(s, alloc.EventRelease, c.Token, c.IDs[0], c.IDs[1]); got != alloc.StateRetired {
			t.Errorf("a release: got %s, want retired", got)
		}
	}
	b.sweep()
	b.level(alloc.Level{Seeded: 10, Available: 7, Claimed: 1, Retired: 2})
}

func TestAReleaseRepeatedAfterThePoolsRuleHasChangedIsStillDone(t *testing.T) {
	b := filled(t, 10, alloc.PoolConfig{})
	c := b.claim(b.open(), want(2))
	b.settle(b.open(), alloc.EventRelease, c.Token, c.IDs...)
	if _, err := b.open().ChangePool(t.Context(), "p", 1, alloc.PoolConfig{OnRelease: alloc.ReleaseRetires}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"before a sweep", "after it"} {
		if got := b.settle(b.open(), alloc.EventRelease, c.Token, c.IDs...); got != alloc.StateReturning {
			t.Errorf("%s: got %s, want returning", when, got)
		}
		b.sweep()
	}
	b.level(alloc.Level{Seeded: 10, Available: 10})
}

func TestAConfirmationInAPoolThatForgetsIsKnownForTheRetentionOfAKey(t *testing.T) {
	b := filled(t, 10, alloc.PoolConfig{Policy: alloc.PolicyForget})
	s, o := b.open(), wantKeyedHold(1, 48*time.Hour, "k")
	plain, keyed := b.claim(s, wantHold(3, time.Hour)), b.claim(s, o)
	late := b.claim(s, wantKeyedHold(1, 72*time.Hour, "late"))
	for range 2 {
		b.settle(s, alloc.EventConfirm, plain.Token, plain.IDs...)
		b.settle(s, alloc.EventConfirm, keyed.Token, keyed.IDs...)
	}
	if got := b.claim(b.open(), o); !got.Replayed || got.State != alloc.StateHeld || len(got.Ended) > 0 {
		t.Errorf("the replay of a confirmed hold: got %+v, want it as first answered", got)
	}
	b.sweep()
	b.level(alloc.Level{Seeded: 10, Available: 5, Held: 1, Forgotten: 4})
	b.clock.Advance(alloc.KeyRetention - time.Second)
	b.settle(b.open(), alloc.EventConfirm, plain.Token, plain.IDs...)
	b.settle(b.open(), alloc.EventRelease, plain.Token, plain.IDs[1])
	b.settle(b.open(), alloc.EventRetire, plain.Token, plain.IDs[2])
	b.clock.Advance(2 * time.Second)
	b.mem.Expire(b.clock.Now())
	for _, c := range []alloc.Claim{keyed, {Token: plain.Token, IDs: plain.IDs[:1]}} {
		b.refuseSettle(b.open(), alloc.EventRelease, c.Token, c.IDs, alloc.CodeIDNotFound)
	}
	b.settle(b.open(), alloc.EventConfirm, late.Token, late.IDs...) // its key has expired
	b.settle(b.open(), alloc.EventConfirm, late.Token, late.IDs...)
	b.seed(b.open(), "again", []alloc.ID{plain.IDs[0], keyed.IDs[0]})
	b.sweep()
	b.level(alloc.Level{Seeded: 12, Available: 8, Forgotten: 3, Retired: 1})
}

func TestReleasedIDsOfAPoolThatForgetsDoNotExpireOnTheirWay(t *testing.T) {
	b := filled(t, 10, alloc.PoolConfig{Policy: alloc.PolicyForget})
	c := b.claim(b.open(), wantKeyed(2, "k"))
	b.settle(b.open(), alloc.EventRelease, c.Token, c.IDs[0])
	b.settle(b.open(), alloc.EventRetire, c.Token, c.IDs[1])
	b.clock.Advance(2 * alloc.KeyRetention)
	b.mem.Expire(b.clock.Now())
	b.sweep()
	b.level(alloc.Level{Seeded: 10, Available: 9, Retired: 1})
}

func TestAReplayTellsWhatCameBackAndWhatWasRetired(t *testing.T) {
	b := filled(t, 100, alloc.PoolConfig{})
	o := wantKeyed(4, "k")
	first := b.claim(b.open(), o)
	b.settle(b.open(), alloc.EventRelease, first.Token, first.IDs[2])
	want := first
	want.Replayed, want.Ended = true, []alloc.EndedID{{ID: first.IDs[2], State: alloc.StateReturning}}
	tell := func(when string) {
		t.Helper()
		if diff := cmp.Diff(want, b.claim(b.open(), o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	tell("one is on its way back")
	b.settle(b.open(), alloc.EventRetire, first.Token, first.IDs[0])
	want.Ended = []alloc.EndedID{{ID: first.IDs[0], State: alloc.StateRetired}, {ID: first.IDs[2], State: alloc.StateReturning}}
	tell("another is retired")
	b.sweep()
	tell("after the sweep")
	ids := b.drain(b.open())
	if len(ids) != 97 {
		t.Errorf("got %d IDs, want 97", len(ids))
	}
	tell("when others have what came back")
	b.settle(b.open(), alloc.EventRelease, first.Token, first.IDs[1], first.IDs[3])
	b.refuse(b.open(), o, alloc.CodeKeyEnded)
	b.sweep()
	b.refuse(b.open(), o, alloc.CodeKeyEnded)
	b.level(alloc.Level{Seeded: 100, Available: 2, Claimed: 97, Retired: 1})
}

func TestARetirementIsCountedOnceAlthoughTheSDKRepeatsItsWrites(t *testing.T) {
	isUpdate := func(c dynamotest.Call) bool { return c.Op == dynamotest.OpUpdate }
	for n := range 3 {
		b := filled(t, 20, alloc.PoolConfig{})
		c := b.claim(b.open(), want(2))
		b.table.Plan(dynamotest.Nth(n, isUpdate, dynamotest.Repeated))
		b.settle(b.open(), alloc.EventRetire, c.Token, c.IDs...)
		b.table.Plan(nil)
		b.settle(b.open(), alloc.EventRetire, c.Token, c.IDs...) // and a client's repeat changes nothing
		b.sweep()
		b.level(alloc.Level{Seeded: 20, Available: 18, Retired: 2})
	}
}

func TestARefusalThatComesWithAnOrderIsNotAboutARepeat(t *testing.T) {
	for _, refusal := range []*alloc.Error{alloc.Errorf(alloc.CodeQuotaExceeded, "enough"), alloc.Errorf(alloc.CodeUnavailable, "no answer")} {
		b := filled(t, 20, alloc.PoolConfig{})
		o, again := wantKeyed(1, "k"), wantKeyed(1, "k")
		again.Refusal = refusal
		b.refuse(b.open(), again, refusal.Code)
		first := b.claim(b.open(), o)
		if got := b.claim(b.open(), again); !got.Replayed || got.Token != first.Token {
			t.Errorf("%s: the repeat got %+v, want %+v replayed", refusal.Code, got, first)
		}
		b.settled(alloc.PolicyKeep, 20, 1)
	}
}
