package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

func reset() (*http.Response, error) {
	return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
}

func notConnected() (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

func throttle() (*http.Response, error) {
	return fault(400, "ProvisionedThroughputExceededException", "slow down", nil)
}

func failing() (*http.Response, error) { return fault(500, "InternalServerError", "", nil) }

// cutShort is an answer whose connection broke in its midst.
func cutShort() (*http.Response, error) {
	r, err := reply(200, "")
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"Item":`), iotest.ErrReader(io.ErrUnexpectedEOF)))
	return r, err
}

// TestEveryFaultHasItsCode covers A24, A29 and A32: errors are told apart by type, with and without a message.
func TestEveryFaultHasItsCode(t *testing.T) {
	const unknownIfWrite = true
	for name, f := range map[string]struct {
		answer   func() (*http.Response, error)
		code     alloc.Code
		unknown  bool // of a write
		attempts int
	}{
		"a reset connection":           {reset, alloc.CodeUnavailable, unknownIfWrite, 4},
		"a refused connection":         {notConnected, alloc.CodeUnavailable, false, 4},
		"an internal server error":     {failing, alloc.CodeUnavailable, unknownIfWrite, 4},
		"a 503 of a proxy":             {func() (*http.Response, error) { return reply(503, "<html>") }, alloc.CodeUnavailable, unknownIfWrite, 4},
		"an answer that breaks off":    {cutShort, alloc.CodeUnavailable, unknownIfWrite, 4},
		"a throttle":                   {throttle, alloc.CodeThrottled, false, 4},
		"a throttle of the account":    {func() (*http.Response, error) { return fault(400, "RequestLimitExceeded", "", nil) }, alloc.CodeThrottled, false, 4},
		"a throttle of the API":        {func() (*http.Response, error) { return fault(400, "ThrottlingException", "", nil) }, alloc.CodeThrottled, false, 4},
		"the 429 of a proxy":           {func() (*http.Response, error) { return reply(429, "<html>") }, alloc.CodeThrottled, false, 4},
		"A29: a transaction's lock":    {func() (*http.Response, error) { return fault(400, "TransactionConflictException", "", nil) }, alloc.CodeThrottled, false, 4},
		"a conflict between regions":   {func() (*http.Response, error) { return fault(400, "ReplicatedWriteConflictException", "", nil) }, alloc.CodeThrottled, false, 4},
		"a missing table":              {func() (*http.Response, error) { return fault(400, "ResourceNotFoundException", "", nil) }, alloc.CodeUnavailable, false, 1},
		"an invalid request":           {func() (*http.Response, error) { return fault(400, "ValidationException", "no", nil) }, alloc.CodeInternal, false, 1},
		"A32: a fault without message": {func() (*http.Response, error) { return fault(400, "ValidationException", "", nil) }, alloc.CodeInternal, false, 1},
		"credentials not known":        {func() (*http.Response, error) { return fault(400, "UnrecognizedClientException", "", nil) }, alloc.CodeInternal, false, 1},
		"permission missing":           {func() (*http.Response, error) { return fault(400, "AccessDeniedException", "", nil) }, alloc.CodeInternal, false, 1},
	} {
		for _, m := range methods {
			t.Run(name+"/"+m.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := &wire{answer: always(f.answer)}
					err := m.call(t.Context(), wired(t, w))
					e, ok := errors.AsType[*alloc.Error](err)
					if !ok || e.Code != f.code || e.Unknown != (f.unknown && m.write) {
						t.Errorf("got %#v\nwant %s, unknown %v", err, f.code, f.unknown && m.write)
					}
					if got := len(w.requests()); got != f.attempts {
						t.Errorf("%d attempts, want %d", got, f.attempts)
					}
					if ok && f.code != alloc.CodeInternal && e.RetryAfter <= 0 {
						t.Error("no hint when to come again")
					}
				})
			})
		}
	}
}

func TestAnEarlierAttemptThatMayHaveBeenAppliedMakesAWriteUnknown(t *testing.T) {
	for name, last := range map[string]func() (*http.Response, error){
		"a throttle":         throttle,
		"a missing table":    func() (*http.Response, error) { return fault(400, "ResourceNotFoundException", "", nil) },
		"an invalid request": func() (*http.Response, error) { return fault(400, "ValidationException", "", nil) },
		"no connection":      notConnected,
	} {
		for _, m := range methods {
			t.Run(name+"/"+m.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := &wire{answer: func(n int, _ request) (*http.Response, error) {
						if n == 1 {
							return reset()
						}
						return last()
					}}
					err := m.call(t.Context(), wired(t, w))
					if e, ok := errors.AsType[*alloc.Error](err); !ok || e.Unknown != m.write {
						t.Errorf("got %#v, want unknown %v", err, m.write)
					}
				})
			})
		}
	}
}

func TestAThrottleTellsItsReasonsAndALongerWaitForALimitOfTheAccount(t *testing.T) {
	for reason, want := range map[string]time.Duration{
		"TableWriteKeyRangeThroughputExceeded":    time.Second,
		"TableWriteAccountLimitExceeded":          5 * time.Second,
		"TableWriteMaxOnDemandThroughputExceeded": 5 * time.Second,
	} {
		for _, kind := range []string{"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"} {
			synctest.Test(t, func(t *testing.T) {
				more := map[string]any{}
				list := []map[string]string{{"reason": reason, "resource": "arn:aws:dynamodb:eu-west-1:1:table/ids"}}
				// The members of ThrottlingException begin with a small letter.
				more["ThrottlingReasons"], more["throttlingReasons"] = list, list
				w := &wire{answer: always(func() (*http.Response, error) { return fault(400, kind, "", more) })}
				_, err := wired(t, w).Get(t.Context(), aKey)
				e, ok := errors.AsType[*alloc.Error](err)
				if !ok || e.Code != alloc.CodeThrottled || e.RetryAfter != want || e.Throttle != reason {
					t.Errorf("%s with %s: got %#v, want throttled with the reason, after %v", kind, reason, err, want)
				}
			})
		}
	}
}

func TestAThrottleStaysOneWhenTheTimeIsOverDuringTheWaitAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: always(func() (*http.Response, error) {
			r, err := throttle()
			r.Header.Set("X-Amz-Retry-After", "60000")
			return r, err
		})}
		_, err := wired(t, w).Get(t.Context(), aKey)
		refused(t, err, alloc.CodeThrottled)
	})
}

func TestA27AFailedConditionWithoutItsItemIsReadAfterwards(t *testing.T) {
	for _, m := range methods {
		if !m.write {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			w := &wire{answer: func(_ int, r request) (*http.Response, error) {
				if r.Op == "GetItem" {
					if !strings.Contains(r.Body, `"ConsistentRead":true`) {
						t.Errorf("the read is not strong: %s", r.Body)
					}
					return reply(200, `{"Item":{"pk":{"S":"p"},"sk":{"S":"s"},"t":{"S":"mine"}}}`)
				}
				return fault(400, "ConditionalCheckFailedException", "", nil)
			}}
			err := m.call(t.Context(), wired(t, w))
			failed, ok := errors.AsType[*dynamo.ConditionFailed](err)
			if !ok {
				t.Fatalf("got %v, want a failed condition", err)
			}
			if diff := cmp.Diff(dynamo.Item{"pk": "p", "sk": "s", "t": "mine"}, failed.Old); diff != "" {
				t.Errorf("-there +told:\n%s", diff)
			}
		})
	}
}

func TestAFailedConditionHasItsItemAndCostsNoRead(t *testing.T) {
	item := map[string]any{"Item": map[string]any{"pk": map[string]any{"S": "p"}, "n": map[string]any{"N": "9223372036854775807"}}}
	for _, m := range methods {
		if !m.write {
			continue
		}
		w := &wire{answer: always(func() (*http.Response, error) {
			return fault(400, "ConditionalCheckFailedException", "The conditional request failed", item)
		})}
		err := m.call(t.Context(), wired(t, w))
		failed, ok := errors.AsType[*dynamo.ConditionFailed](err)
		if !ok || failed.Old.Int("n") != 1<<63-1 || len(w.requests()) != 1 {
			t.Errorf("%s: got %v after %d requests, want the item after one", m.name, err, len(w.requests()))
		}
		if body := w.requests()[0].Body; !strings.Contains(body, `"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`) {
			t.Errorf("%s does not ask for the item: %s", m.name, body)
		}
	}
}

func TestA26AFailedConditionAfterAnUnknownOutcomeThatCannotBeReadIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: func(n int, r request) (*http.Response, error) {
			switch {
			case n == 1:
				return reset()
			case r.Op == "GetItem":
				return failing()
			}
			return fault(400, "ConditionalCheckFailedException", "", nil)
		}}
		err := wired(t, w).Put(t.Context(), dynamo.Item{"pk": "p", "sk": "s"}, dynamo.Absent("pk"))
		if e, ok := errors.AsType[*alloc.Error](err); !ok || e.Code != alloc.CodeUnavailable || !e.Unknown {
			t.Errorf("got %#v, want unavailable and unknown", err)
		}
	})
}

func TestA30AndA32NothingIsWrittenAsNullAndEmptyListsAreLists(t *testing.T) {
	w := &wire{answer: always(func() (*http.Response, error) { return reply(200, `{}`) })}
	item := dynamo.Item{"pk": "p", "sk": "s", "l": []string(nil), "m": map[string]string(nil), "e": "", "f": false, "z": int64(0)}
	if err := wired(t, w).Put(t.Context(), item, dynamo.Cond{}); err != nil {
		t.Fatal(err)
	}
	body := w.requests()[0].Body
	for _, want := range []string{`"l":{"L":[]}`, `"m":{"M":{}}`, `"e":{"S":""}`, `"f":{"BOOL":false}`, `"z":{"N":"0"}`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing in %s", want, body)
		}
	}
	if strings.Contains(strings.ToLower(body), "null") {
		t.Errorf("a null in %s", body)
	}
}

func TestAnAttributeThatWasNeverWrittenSoIsAnErrorAndNoZero(t *testing.T) {
	for _, v := range []string{`{"N":"1.5"}`, `{"N":"9223372036854775808"}`, `{"NULL":true}`, `{"BS":["AA=="]}`, `{"L":[{"N":"1"}]}`, `{"M":{"a":{"N":"1"}}}`, `{"SS":["a"]}`} {
		w := &wire{answer: always(func() (*http.Response, error) {
			return reply(200, `{"Item":{"pk":{"S":"p"},"sk":{"S":"s"},"n":`+v+`}}`)
		})}
		_, err := wired(t, w).Get(t.Context(), aKey)
		refused(t, err, alloc.CodeInternal)
	}
}

func TestAValueThatCannotBeStoredIsNeverSent(t *testing.T) {
	w := &wire{answer: always(failing)}
	table := wired(t, w)
	type named string
	for _, v := range []any{1, named("x"), 1.5, nil, []int64{1}} {
		refused(t, table.Put(t.Context(), dynamo.Item{"pk": "p", "sk": "s", "v": v}, dynamo.Cond{}), alloc.CodeInternal)
		refused(t, table.Put(t.Context(), dynamo.Item{"pk": "p", "sk": "s"}, dynamo.Eq("v", v)), alloc.CodeInternal)
		_, err := table.Update(t.Context(), aKey, dynamo.Update{Set: map[string]any{"v": v}}, dynamo.Exists("pk"))
		refused(t, err, alloc.CodeInternal)
	}
	if got := w.requests(); len(got) > 0 {
		t.Errorf("sent %v", got)
	}
}

func TestGetManyAsksAgainForWhatWasLeftUnprocessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := func(n int) string { return fmt.Sprintf(`{"pk":{"S":"p"},"sk":{"S":"%d"}}`, n) }
		w := &wire{answer: func(n int, _ request) (*http.Response, error) {
			if n == 3 {
				return reply(200, `{"Responses":{"ids":[`+one(3)+`]}}`)
			}
			var rest []string
			for i := n + 1; i <= 3; i++ {
				rest = append(rest, one(i))
			}
			return reply(200, `{"Responses":{"ids":[`+one(n)+`]},"UnprocessedKeys":{"ids":{"Keys":[`+strings.Join(rest, ",")+`]}}}`)
		}}
		key := func(n int) dynamo.Key { return dynamo.Key{PK: "p", SK: fmt.Sprint(n)} }
		got, err := wired(t, w).GetMany(t.Context(), []dynamo.Key{key(3), key(9), key(1), key(2)})
		refused(t, err, "")
		want := []dynamo.Item{{"pk": "p", "sk": "3"}, nil, {"pk": "p", "sk": "1"}, {"pk": "p", "sk": "2"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestGetManyThatGetsNowhereIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: always(func() (*http.Response, error) {
			return reply(200, `{"UnprocessedKeys":{"ids":{"Keys":[{"pk":{"S":"p"},"sk":{"S":"s"}}]}}}`)
		})}
		_, err := wired(t, w).GetMany(t.Context(), []dynamo.Key{aKey})
		refused(t, err, alloc.CodeThrottled)
		if got := len(w.requests()); got != 4 {
			t.Errorf("%d requests, want 4", got)
		}
	})
}

func TestACallerWhoGivesUpGetsAnAnswerAtOnce(t *testing.T) {
	for _, m := range methods {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			w := &wire{answer: silence}
			table := wired(t, w)
			time.AfterFunc(100*time.Millisecond, cancel)
			began := time.Now()
			err := m.call(ctx, table)
			e, ok := errors.AsType[*alloc.Error](err)
			if !ok || e.Code != alloc.CodeUnavailable || e.Unknown != m.write || time.Since(began) != 100*time.Millisecond {
				t.Errorf("%s: got %#v after %v", m.name, err, time.Since(began))
			}
		})
	}
}

func TestA32TheSDKIsNewEnough(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, version, found := strings.Cut(string(mod), "github.com/aws/aws-sdk-go-v2/service/dynamodb v")
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d.", &major, &minor); !found || err != nil {
		t.Fatalf("the SDK's version is not in go.mod: %v", err)
	}
	if major != 1 || minor < 74 {
		t.Errorf("the SDK is v%d.%d: v1.74.0 has the corrections that this package counts on", major, minor)
	}
}
