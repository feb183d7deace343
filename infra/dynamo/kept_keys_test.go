package dynamo_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// aKept is the key of a keyed request.
func aKept(key, body string) alloc.Key {
	return *alloc.NewKey("client", "putPool", "pool/p", key, body)
}

// writeTroubles are what may become of a single write beside being made: refused, or applied but reported as failed.
var writeTroubles = []dynamotest.Fault{
	dynamotest.Refused, dynamotest.LostRequest, dynamotest.AppliedButFailed, dynamotest.Throttled, dynamotest.Repeated,
}

// atEachWrite plays the scenario with each trouble at each write that it makes on the bench's table, until it makes no
// more.
func atEachWrite(t *testing.T, scenario func(t *testing.T, b *bench)) {
	t.Helper()
	for _, fault := range writeTroubles {
		t.Run(fault.String(), func(t *testing.T) {
			n := 0
			for hit := true; hit; n++ {
				b := newBench(t)
				hit = false
				plan := dynamotest.Nth(n, dynamotest.Call.Write, fault)
				b.table.Plan(func(c dynamotest.Call) dynamotest.Fault {
					f := plan(c)
					hit = hit || f != dynamotest.None
					return f
				})
				if scenario(t, b); t.Failed() {
					t.Fatalf("with the fault at write %d", n)
				}
			}
			if n < 2 {
				t.Fatal("the scenario makes no write")
			}
		})
	}
}

// insist does what a client does: after an error it asks again, in another process, until it has an answer.
func insist[T any](b *bench, do func(s *dynamo.Store) (T, error)) T {
	b.Helper()
	var last error
	for range 4 {
		got, err := do(b.open())
		if err == nil {
			return got
		}
		if code := alloc.CodeOf(err); code != alloc.CodeUnavailable && code != alloc.CodeThrottled {
			b.Fatalf("got %v, want an answer or an error that a repeat mends", err)
		}
		last = err
	}
	b.Fatalf("no answer after repeats: %v", last)
	panic("unreachable")
}

// A keyed request, with a fault at every single write of its record and the client's repeats: its work is known by one
// token, and its answer stays what it was.
func TestAKeptAnswerSurvivesAFaultAtEveryWrite(t *testing.T) {
	atEachWrite(t, func(t *testing.T, b *bench) {
		key := aKept("k", "body")
		answers := 0
		request := func() string {
			return insist(b, func(s *dynamo.Store) (string, error) {
				k, err := s.OpenKey(t.Context(), key, alloc.NewToken(), nil)
				if err != nil {
					return "", err
				}
				if !k.Done {
					answers++
					k, err = s.CloseKey(t.Context(), key, k.Token, fmt.Appendf(nil, "answer %d of %s", answers, k.Token))
				}
				return string(k.Answer), err
			})
		}
		first := request()
		for range 3 {
			if again := request(); again != first {
				t.Errorf("a repeat was answered %q, the first %q", again, first)
			}
		}
		if _, err := processAt(t, b.mem, b.clock.Now).OpenKey(t.Context(), aKept("k", "another"), alloc.NewToken(), nil); !alloc.Is(err, alloc.CodeKeyMismatch) {
			t.Errorf("another request with the key: %v, want a mismatch", err)
		}
	})
}

// A refused request keeps nothing: whatever becomes of the writes, the same key may be used for the repaired request.
func TestADroppedKeySurvivesAFaultAtEveryWrite(t *testing.T) {
	atEachWrite(t, func(t *testing.T, b *bench) {
		bad, good := aKept("k", "bad"), aKept("k", "good")
		token := alloc.NewToken()
		insist(b, func(s *dynamo.Store) (bool, error) {
			_, err := s.OpenKey(t.Context(), bad, token, nil)
			if err == nil {
				_, _, err = s.DropKey(t.Context(), bad, token)
			}
			return true, err
		})
		if _, ok, err := b.open().FindKey(t.Context(), good); ok || err != nil {
			t.Errorf("a dropped record is found: %t, %v", ok, err)
		}
		k := insist(b, func(s *dynamo.Store) (alloc.Kept, error) {
			return s.OpenKey(t.Context(), good, alloc.NewToken(), []byte("answer"))
		})
		if !k.Done || string(k.Answer) != "answer" {
			t.Errorf("the repaired request: %+v", k)
		}
	})
}

// K17: no transition of an attempt touches the record of a later one, whatever arrives late.
func TestK17AnAttemptThatOverrunsItsTimeTouchesNoLaterOne(t *testing.T) {
	key := aKept("k", "body")
	old, next := alloc.NewToken(), alloc.NewToken()
	for name, pass := range map[string]func(b *bench, s *dynamo.Store){
		"after the retention": func(b *bench, _ *dynamo.Store) { b.clock.Advance(alloc.KeyRetention) },
		"after it was dropped": func(b *bench, s *dynamo.Store) {
			dropped(b.TB, s, key, old)
		},
	} {
		for late, do := range map[string]func(ctx context.Context, s *dynamo.Store) error{
			"a close": func(ctx context.Context, s *dynamo.Store) error {
				k, err := s.CloseKey(ctx, key, old, []byte("late"))
				if err == nil && (k.Token != old || string(k.Answer) != "late") {
					return fmt.Errorf("the late close was answered %+v", k)
				}
				return err
			},
			"a drop": func(ctx context.Context, s *dynamo.Store) error {
				_, left, err := s.DropKey(ctx, key, old)
				if left {
					return fmt.Errorf("the late drop has found the record of %s", old)
				}
				return err
			},
		} {
			t.Run(late+" "+name, func(t *testing.T) {
				b := newBench(t)
				s := b.open()
				var opening dynamotest.Call
				for _, c := range b.opened(s, key, old) {
					opening = c
				}
				pass(b, s)
				_, err := s.OpenKey(t.Context(), key, next, nil)
				refused(t, err, "")
				if err := do(t.Context(), b.open()); err != nil {
					t.Error(err)
				}
				opening.Do(t.Context(), b.mem) // arrives a second time
				k, ok, err := s.FindKey(t.Context(), key)
				if err != nil || !ok || k.Token != next || k.Done {
					t.Errorf("the later attempt's record is %+v, %t, %v; want it open and as it was", k, ok, err)
				}
			})
		}
	}
}

// dropped drops a key, of which nothing may be left.
func dropped(t testing.TB, s *dynamo.Store, key alloc.Key, token alloc.Token) {
	t.Helper()
	if k, left, err := s.DropKey(t.Context(), key, token); left || err != nil {
		t.Fatalf("the drop left %+v, %t, %v", k, left, err)
	}
}

// opened opens a key and returns the calls that it made.
func (b *bench) opened(s *dynamo.Store, key alloc.Key, token alloc.Token) []dynamotest.Call {
	b.Helper()
	b.table.Seen()
	if _, err := s.OpenKey(b.Context(), key, token, nil); err != nil {
		b.Fatal(err)
	}
	return b.table.Seen()
}

// The opening of a request that was refused arrives again: the key is not taken by it.
func TestALateOpeningDoesNotBringBackADroppedKey(t *testing.T) {
	b := newBench(t)
	s, key := b.open(), aKept("k", "bad")
	token := alloc.NewToken()
	calls := b.opened(s, key, token)
	dropped(t, s, key, token)
	for _, c := range calls {
		c.Do(t.Context(), b.mem)
	}
	_, err := s.OpenKey(t.Context(), aKept("k", "good"), alloc.NewToken(), nil)
	refused(t, err, "")
}

// K20: a record that TTL has not removed yet is as good as none from the second on in which it expires.
func TestK20AnExpiredKeptKeyBehavesLikeAnAbsentOne(t *testing.T) {
	key := aKept("k", "body")
	for name, removed := range map[string]bool{"still there": false, "removed": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			s, token := b.open(), alloc.NewToken()
			if _, err := s.OpenKey(t.Context(), key, token, []byte("answer")); err != nil {
				t.Fatal(err)
			}
			b.clock.Advance(alloc.KeyRetention - time.Second)
			k, ok, err := s.FindKey(t.Context(), key)
			if err != nil || !ok || string(k.Answer) != "answer" {
				t.Fatalf("a second before the end: %+v, %t, %v", k, ok, err)
			}
			_, err = s.OpenKey(t.Context(), aKept("k", "another"), alloc.NewToken(), nil)
			refused(t, err, alloc.CodeKeyMismatch)
			b.clock.Advance(time.Second)
			if removed {
				b.mem.Drop(dynamo.Key{PK: "K#" + key.Hash, SK: "K"})
			}
			if _, ok, err := s.FindKey(t.Context(), aKept("k", "another")); ok || err != nil {
				t.Errorf("after its end: found %t, %v", ok, err)
			}
			k, err = s.CloseKey(t.Context(), key, token, []byte("late"))
			if err != nil || !k.Done || k.Token != token || string(k.Answer) != "late" {
				t.Errorf("a close after its end: %+v, %v", k, err)
			}
			dropped(t, s, key, token)
			k, err = s.OpenKey(t.Context(), aKept("k", "another"), token, nil)
			if err != nil || k.Done || !k.At.Equal(b.clock.Now()) {
				t.Errorf("a new request after its end: %+v, %v", k, err)
			}
		})
	}
}

// Answers are kept as they are, up to their greatest length.
func TestAnAnswerIsKeptByteForByte(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		s := process(t, table)
		for name, answer := range map[string][]byte{
			"empty": {}, "no text": {0, 0xff, 0xfe, 1}, "longest": bytes.Repeat([]byte{0xf0}, alloc.MaxAnswerBytes),
		} {
			token := alloc.NewToken()
			at := aKept(name+" at once", "body")
			_, err := s.OpenKey(t.Context(), at, token, answer)
			refused(t, err, "")
			later := aKept(name+" later", "body")
			_, err = s.OpenKey(t.Context(), later, token, nil)
			refused(t, err, "")
			_, err = s.CloseKey(t.Context(), later, token, answer)
			refused(t, err, "")
			for _, key := range []alloc.Key{at, later} {
				k, ok, err := process(t, table).FindKey(t.Context(), key)
				if err != nil || !ok || !k.Done || !bytes.Equal(k.Answer, answer) || k.Answer == nil || k.Token != token {
					t.Errorf("%s: got %d bytes, done %t, token %s, %t, %v", name, len(k.Answer), k.Done, k.Token, ok, err)
				}
			}
		}
		_, err := s.OpenKey(t.Context(), aKept("too long", "body"), alloc.NewToken(), make([]byte, alloc.MaxAnswerBytes+1))
		refused(t, err, alloc.CodeInternal)
	})
}

// C44: of many requests with one key at once, one token and one answer count.
func TestC44NRequestsWithOneKeyHaveOneAnswer(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		key := aKept("k", "body")
		got := make([]alloc.Kept, callers)
		errs := make([]error, callers)
		together(callers, func(i int) {
			s := process(t, table)
			k, err := s.OpenKey(t.Context(), key, alloc.NewToken(), nil)
			if err == nil && !k.Done {
				k, err = s.CloseKey(t.Context(), key, k.Token, fmt.Append(nil, i))
			}
			got[i], errs[i] = k, err
		})
		for i, k := range got {
			refused(t, errs[i], "")
			if diff := cmp.Diff(got[0], k); diff != "" {
				t.Errorf("-first +%d:\n%s", i, diff)
			}
		}
	})
}
