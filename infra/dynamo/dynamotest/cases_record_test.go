package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// What libraries for idempotency have got wrong with the record of a request (A34 to A38), on claims, leases and
// requests whose answer is kept.

// leaseOf is an order for numbers with a key.
func leaseOf(n alloc.Count, key string) alloc.LeaseOrder {
	k := alloc.NewKey("client", "lease", "sequence/"+string(sequence), key, fmt.Sprint(n))
	return alloc.LeaseOrder{Sequence: sequence, Count: n, By: "client", Key: k}
}

// keptOf is the key of a request whose answer is kept.
func keptOf(key, body string) alloc.Key { return *alloc.NewKey("client", "seed", "pool/p", key, body) }

// request is one keyed request in any of the three forms; other is the same key with another request.
type request struct {
	name  string
	do    func(ctx context.Context, s *dynamo.Store) (answer string, err error)
	other func(ctx context.Context, s *dynamo.Store) error
	hash  string
}

func requests() []request {
	claim, lease, kept := order(2, "key"), leaseOf(5, "key"), keptOf("key", "body")
	return []request{
		{
			name: "a claim", hash: claim.Key.Hash,
			do: func(ctx context.Context, s *dynamo.Store) (string, error) {
				c, err := s.Claim(ctx, claim)
				return joinIDs(c.IDs) + " " + string(c.Token), err
			},
			other: func(ctx context.Context, s *dynamo.Store) error {
				o := order(1, "key")
				_, err := s.Claim(ctx, o)
				return err
			},
		},
		{
			name: "a lease", hash: lease.Key.Hash,
			do: func(ctx context.Context, s *dynamo.Store) (string, error) {
				r, err := s.Lease(ctx, lease)
				return fmt.Sprint(r.Start, r.End, r.Token), err
			},
			other: func(ctx context.Context, s *dynamo.Store) error {
				_, err := s.Lease(ctx, leaseOf(4, "key"))
				return err
			},
		},
		{
			name: "a kept answer", hash: kept.Hash,
			do: func(ctx context.Context, s *dynamo.Store) (string, error) {
				k, err := s.OpenKey(ctx, kept, alloc.NewToken(), nil)
				if err == nil && !k.Done {
					k, err = s.CloseKey(ctx, kept, k.Token, []byte("answer of "+string(k.Token)))
				}
				return string(k.Answer), err
			},
			other: func(ctx context.Context, s *dynamo.Store) error {
				_, err := s.OpenKey(ctx, keptOf("key", "another"), alloc.NewToken(), nil)
				return err
			},
		},
	}
}

// eachRequest runs a test for each form of request, over a table with a pool and a sequence.
func eachRequest(t *testing.T, test func(t *testing.T, mem *Memory, q request)) {
	t.Helper()
	for _, q := range requests() {
		t.Run(q.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, furnished(t), q) })
		})
	}
}

// furnished is a table with a pool of six and a sequence.
func furnished(t *testing.T) *Memory {
	t.Helper()
	mem := NewMemory()
	admin := storeOn(t, mem)
	if _, _, err := admin.CreatePool(t.Context(), pool, alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "job", IDs: ids("id", 6)}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := admin.CreateSequence(t.Context(), sequence, alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	return mem
}

// A34: a request that is cut off anywhere leaves a record that ends at its time, and that keeps nobody waiting until then.
func TestA34ARecordThatIsCutOffHasAnEndAndBlocksNobody(t *testing.T) {
	for _, q := range requests() {
		t.Run(q.name, func(t *testing.T) {
			for _, last := range []Fault{LostRequest, AppliedButFailed} {
				records := 0
				for n, reached := 0, true; reached; n++ {
					synctest.Test(t, func(t *testing.T) {
						mem := furnished(t)
						dead := false
						plan := death(n, last)
						table := NewFaults(mem, func(c Call) Fault {
							f := plan(c)
							dead = dead || f != None
							return f
						})
						// It ends by its own deadline too, of which nothing is left.
						ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
						cancel()
						if _, err := q.do(ctx, storeOn(t, table)); err == nil {
							t.Error("a request without any time was answered")
						}
						_, err := q.do(t.Context(), storeOn(t, table))
						if reached = dead; dead == (err == nil) {
							t.Errorf("cut off %t, and got %v", dead, err)
						}
						if it := mem.Item(dynamo.Key{PK: "K#" + q.hash, SK: "K"}); it != nil {
							records++
							exp, ok := it[dynamo.AttrExpires].(int64)
							if end := time.Unix(exp, 0); !ok || !end.After(time.Now()) || end.After(time.Now().Add(alloc.KeyRetention)) {
								t.Errorf("the record's end is %d (%t): %v", exp, ok, it)
							}
						}
						again, err := q.do(t.Context(), storeOn(t, mem))
						if err != nil {
							t.Errorf("a repeat right after it: %v", err)
						}
						if once, err := q.do(t.Context(), storeOn(t, mem)); err != nil || once != again {
							t.Errorf("answered %q, then %q, %v", again, once, err)
						}
					})
					if t.Failed() {
						t.Fatalf("%s at write %d", last, n)
					}
				}
				if records == 0 {
					t.Error("no record was ever left")
				}
			}
		})
	}
}

// A35: an attempt whose client has given up goes on when a second one has been let in. Whatever the order of their
// calls, both have one answer, and nothing more is taken.
func TestA35ASecondAttemptBesideTheFirstHasItsAnswer(t *testing.T) {
	eachRequest(t, func(t *testing.T, mem *Memory, q request) {
		for n := 0; ; n++ {
			table := furnished(t)
			stopped, second := false, ""
			var calls atomic.Int64
			slow := Through(func(ctx context.Context, c Call) Answer {
				if calls.Add(1) == int64(n)+1 { // before this call the second attempt comes and goes
					stopped = true
					var err error
					if second, err = q.do(ctx, storeOn(t, table)); err != nil {
						t.Errorf("the second attempt: %v", err)
					}
				}
				return c.Do(ctx, table)
			})
			first, err := q.do(t.Context(), storeOn(t, slow))
			if err != nil || stopped && first != second {
				t.Fatalf("before call %d: the first attempt was answered %q, %v, the second %q", n, first, err, second)
			}
			taken := 0
			for _, it := range table.Items() {
				if kindOf(it.Key()) == kindID && stateOf(it) != alloc.StateFree {
					taken++
				}
			}
			if want := map[string]int{"a claim": 2}[q.name]; taken != want {
				t.Fatalf("before call %d: %d IDs are taken, want %d", n, taken, want)
			}
			if !stopped {
				return
			}
		}
	})
}

// A36: a request with another fingerprint that has not read the record meets it when it puts its own. It is a mismatch
// there too.
func TestA36AnotherRequestWithTheKeyIsAMismatchWhereItMeetsTheRecordOnlyByItsPut(t *testing.T) {
	eachRequest(t, func(t *testing.T, mem *Memory, q request) {
		met := false
		late := Through(func(ctx context.Context, c Call) Answer {
			if c.Op == OpPut && isKeyRecord(c) && !met {
				met = true
				if _, err := q.do(ctx, storeOn(t, mem)); err != nil {
					t.Error(err)
				}
				a := c.Do(ctx, mem)
				if !isConditionFailed(a.Err) {
					t.Errorf("the put of the record: %v", a)
				}
				return a
			}
			if c.Op == OpGet && isKeyRecord(c) && met {
				t.Error("the record is read again, so it is not the put that has told")
			}
			return c.Do(ctx, mem)
		})
		if err := q.other(t.Context(), storeOn(t, late)); !alloc.Is(err, alloc.CodeKeyMismatch) || unknown(err) {
			t.Errorf("got %v, want a mismatch", err)
		}
		if !met {
			t.Error("it never came to its put")
		}
		before, err := q.do(t.Context(), storeOn(t, mem))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // and read first
			if err := q.other(t.Context(), storeOn(t, mem)); !alloc.Is(err, alloc.CodeKeyMismatch) {
				t.Errorf("got %v, want a mismatch", err)
			}
		}
		if after, err := q.do(t.Context(), storeOn(t, mem)); err != nil || after != before {
			t.Errorf("after the mismatches answered %q, %v; want %q", after, err, before)
		}
	})
}

// A37 and K26: what a process has in memory answers nothing. It has made the claim itself, and tells what became of it
// since; and a record that is not carried out yet is no answer.
func TestA37AndK26MemoryAnswersNothing(t *testing.T) {
	replay(t, func(s *script) {
		s.newPool("x", "y", "z")
		warm, o := s.on("warm", 0), order(2, "key")
		first := s.answered(s.claim(warm, o), "key", 2)
		s.settle(s.on("client", 0), alloc.EventRelease, first.Token, first.IDs[0]).must()
		c := s.claim(warm, o).must()
		if !c.Replayed || len(c.Ended) != 1 || c.Ended[0].ID != first.IDs[0] {
			s.fatalf("the warm process answers %+v, of which %s was released", c, first.IDs[0])
		}
		s.settle(s.on("client", 0), alloc.EventRelease, first.Token, first.IDs[1]).must()
		refused(s.claim(warm, o), alloc.CodeKeyEnded)
		s.sweeps()

		// Another process has put the record of a claim and not carried it out: the warm one does, before it answers.
		o = order(1, "another key")
		dying := s.claim(s.on("dying", 0), o)
		dying.until(idTo(dynamo.StateClaimed))
		s.kill(dying.proc)
		got := s.answered(s.claim(warm, o), "another key", 1)
		if it := s.mem.Item(idKey(got.IDs[0])); it.Str(dynamo.AttrToken) != string(got.Token) {
			s.fatalf("answered %+v, and the ID is %v", got, it)
		}
		s.whole()
	})
	eachRequest(t, func(t *testing.T, mem *Memory, q request) {
		warm := storeOn(t, mem)
		if _, err := q.do(t.Context(), warm); err != nil {
			t.Fatal(err)
		}
		mem.Drop(dynamo.Key{PK: "K#" + q.hash, SK: "K"})
		if err := q.other(t.Context(), warm); err != nil {
			t.Errorf("without the record, the same process refuses another request with its key: %v", err)
		}
	})
}

// A38: every error of a keyed request is the one type, known by its code through any wrapping, and tells neither key nor
// hash; and many at once wait for nobody and get one answer.
func TestA38ErrorsAreKnownByTheirCodeAndTellNoKey(t *testing.T) {
	eachRequest(t, func(t *testing.T, _ *Memory, q request) {
		for _, fault := range []Fault{Refused, LostRequest, AppliedButFailed, Throttled} {
			for n, reached := 0, true; reached; n++ {
				mem := furnished(t)
				plan := Nth(n, func(Call) bool { return true }, fault)
				reached = false
				_, err := q.do(t.Context(), storeOn(t, NewFaults(mem, func(c Call) Fault {
					f := plan(c)
					reached = reached || f != None
					return f
				})))
				if err == nil {
					continue // it has repeated by itself what it may
				}
				e, ok := errors.AsType[*alloc.Error](fmt.Errorf("at the edge: %w", err))
				if !ok || alloc.CodeOf(fmt.Errorf("%w", err)) != e.Code || e.Message == "" {
					t.Fatalf("%s at call %d: the error %v has no code", fault, n, err)
				}
				if e.Code != alloc.CodeUnavailable && e.Code != alloc.CodeThrottled {
					t.Errorf("%s at call %d: %v", fault, n, err)
				}
				for _, secret := range []string{q.hash, "key\"", "id-0"} {
					if strings.Contains(e.Message, secret) || strings.Contains(err.Error(), q.hash) {
						t.Errorf("%s at call %d: the error tells %q: %v", fault, n, secret, err)
					}
				}
			}
		}
		mem := furnished(t)
		answers := make(chan string, 32)
		for range cap(answers) {
			go func() {
				answer, err := q.do(t.Context(), storeOn(t, mem))
				answers <- fmt.Sprint(answer, err)
			}()
		}
		first := <-answers
		for range cap(answers) - 1 {
			if answer := <-answers; answer != first || !strings.HasSuffix(answer, "<nil>") {
				t.Errorf("one was answered %s, another %s", first, answer)
			}
		}
	})
}
