package dynamo_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

func isRecord(c dynamotest.Call) bool { return strings.HasPrefix(c.Key().PK, "K#") }

func TestK13AKeyedBatchWhoseAnswerIsLostAnywhereIsFinishedByARepeatInAnotherProcess(t *testing.T) {
	const each = 3
	for _, fault := range []dynamotest.Fault{dynamotest.LostRequest, dynamotest.AppliedButFailed, dynamotest.Repeated} {
		for n := range 2 + each {
			t.Run(fmt.Sprintf("%s at call %d", fault, n), func(t *testing.T) {
				b := filled(t, 1000, alloc.PoolConfig{})
				s, o := b.open(), wantKeyed(each, "k")
				b.claim(s, want(1))
				b.table.Plan(dynamotest.Nth(n, anyCall, fault))
				first, err := s.Claim(t.Context(), o)
				b.table.Plan(nil)
				if fault == dynamotest.Repeated {
					if err != nil || first.Replayed {
						t.Fatalf("Claim with a write that the SDK repeats: got %+v and %v, want IDs for the first time", first, err)
					}
				} else if n <= each && !asError(t, err).Unknown {
					t.Fatalf("Claim: got %v, want an unknown outcome", err)
				}
				answer := b.claim(b.open(), o)
				again := b.claim(s, o)
				if met := answer.Replayed && n > 0 && n <= each && fault == dynamotest.LostRequest; met && !answer.Finished {
					t.Errorf("the repeat that took what was left: got %+v, want it to say that it finished the claim", answer)
				}
				if again.Finished {
					t.Errorf("the second repeat: got %+v, want nothing left to finish", again)
				}
				answer.Finished, again.Replayed = false, answer.Replayed
				if diff := cmp.Diff(answer, again); diff != "" {
					t.Errorf("two repeats (-first +second):\n%s", diff)
				}
				b.settled(alloc.PolicyKeep, 1000, 1+each)
			})
		}
	}
}

// shortOf makes a pool of n IDs and a process that claims all of them with a key; as soon as its intent is written,
// another takes one of them, so that nothing can complete the batch.
func shortOf(t *testing.T, n int, after func(c dynamotest.Call) bool) (b *bench, s *dynamo.Store, o alloc.ClaimOrder) {
	t.Helper()
	b = filled(t, n, alloc.PoolConfig{})
	o = wantKeyed(alloc.Count(n), "k")
	var once sync.Once
	var dead atomic.Bool
	table := dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
		if dead.Load() {
			return dynamotest.Refused.Apply(ctx, c, b.mem)
		}
		answer := c.Do(ctx, b.mem)
		if c.Op == dynamotest.OpPut && isRecord(c) {
			once.Do(func() { b.claim(b.open(), want(1)) })
		}
		if after != nil && after(c) {
			dead.Store(true)
		}
		return answer
	})
	return b, processAt(t, table, b.clock.Now), o
}

func TestABatchThatCannotBeCompletedIsGivenBackAtOnceAndItsKeyMayAskForLess(t *testing.T) {
	const n = 5
	b, s, o := shortOf(t, n, nil)
	b.refuse(s, o, alloc.CodeBusy)
	b.level(alloc.Level{Seeded: n, Available: n - 1})
	b.refuse(b.open(), o, alloc.CodePoolExhausted)
	b.settled(alloc.PolicyKeep, n, 1)
	less := wantKeyed(n-1, "k")
	first := b.claim(b.open(), less)
	if again := b.claim(b.open(), less); !again.Replayed || again.Token != first.Token {
		t.Errorf("the repeat: got %+v, want %+v replayed", again, first)
	}
	b.refuse(b.open(), o, alloc.CodeKeyMismatch)
	b.settled(alloc.PolicyKeep, n, n)
}

func TestAGivenUpBatchWhoseProcessDiesIsSettledByTheSweepAndItsKeyWaitsForThat(t *testing.T) {
	const n = 5
	isVoid := func(c dynamotest.Call) bool {
		return isRecord(c) && c.Update.Set[dynamo.AttrState] == dynamo.RecordVoid
	}
	isReturn := func(c dynamotest.Call) bool { return strings.HasSuffix(c.Key().PK, "#R") && c.Op == dynamotest.OpPut }
	for name, c := range map[string]struct {
		after func(dynamotest.Call) bool
		code  alloc.Code // of a repeat before the sweep
	}{
		"after its return item": {isReturn, alloc.CodeBusy},
		"after it was void":     {isVoid, alloc.CodeKeyBusy},
	} {
		t.Run(name, func(t *testing.T) {
			b, s, o := shortOf(t, n, c.after)
			_, err := s.Claim(t.Context(), o)
			if err == nil {
				t.Fatal("Claim: got IDs, want an error")
			}
			if c.code == alloc.CodeKeyBusy {
				b.refuse(b.open(), o, c.code)
				b.clock.Advance(25 * time.Hour) // a void record does not expire
				b.refuse(b.open(), o, c.code)
				if report := b.sweep(); report.Voided != 1 {
					t.Errorf("Sweep: got %+v, want one batch settled", report)
				}
			} else {
				b.sweep() // the void that never happened cannot happen any more
				b.refuse(b.open(), o, c.code)
			}
			b.refuse(b.open(), o, alloc.CodePoolExhausted)
			b.settled(alloc.PolicyKeep, n, 1)
			b.claim(b.open(), wantKeyed(n-1, "k"))
			b.settled(alloc.PolicyKeep, n, n)
		})
	}
}

func TestALostListingOfAKeyedBatchIsExchangedAndTheOrderStays(t *testing.T) {
	b := filled(t, 1000, alloc.PoolConfig{})
	o := wantKeyed(4, "k")
	var once sync.Once
	table := dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
		answer := c.Do(ctx, b.mem)
		if c.Op == dynamotest.OpPut && isRecord(c) {
			once.Do(func() {
				_, id, _ := strings.Cut(c.Item.List(dynamo.AttrListings)[1], " ")
				b.edit(idItem(alloc.ID(id)), func(it dynamo.Item) { it[dynamo.AttrState], it[dynamo.AttrToken] = dynamo.StateClaimed, "another" })
			})
		}
		return answer
	})
	first := b.claim(processAt(t, table, b.clock.Now), o)
	if first.Replayed {
		t.Error("Replayed: got true of the first answer")
	}
	distinct(t, first.IDs)
	if first.Lost != 1 {
		t.Errorf("Lost: got %d, want the one that another took", first.Lost)
	}
	again := b.claim(b.open(), o)
	again.Replayed, again.Lost = false, first.Lost
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the repeat (-first +repeat):\n%s", diff)
	}
	b.settled(alloc.PolicyKeep, 1000, 5)
}

func TestAnIDOfAKeyThatExpiredInAPoolThatForgetsIsForgottenAndMayBeSeededAgain(t *testing.T) {
	b := filled(t, 2, alloc.PoolConfig{Policy: alloc.PolicyForget})
	o := wantKeyed(2, "k")
	ids := b.claim(b.open(), o).IDs
	b.clock.Advance(alloc.KeyRetention - time.Second)
	b.claim(b.open(), o)
	if r, err := b.open().Inspect(t.Context(), "p", ids[0]); err != nil || r.State != alloc.StateClaimed {
		t.Errorf("Inspect before the key has expired: got %+v and %v, want it claimed", r, err)
	}
	b.clock.Advance(2 * time.Second)
	_, err := b.open().Inspect(t.Context(), "p", ids[0])
	refused(t, err, alloc.CodeIDNotFound)
	b.seed(b.open(), "second", ids)
	b.claim(b.open(), o)
	b.settled(alloc.PolicyForget, 4, 4)
}
