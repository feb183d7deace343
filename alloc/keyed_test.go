package alloc_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
)

// task counts what a request's work did, and with which intents.
type task struct {
	mu      sync.Mutex
	intents []alloc.Token
	others  []bool
	err     error                           // of the next attempt
	during  func(ctx context.Context)       // nil for nothing
	answer  func(intent alloc.Token) string // nil for the intent
}

func (j *task) work(ctx context.Context, a alloc.Attempt) ([]byte, error) {
	intent := a.Intent
	j.mu.Lock()
	j.others = append(j.others, a.Others)
	j.intents = append(j.intents, intent)
	err, during, answer := j.err, j.during, j.answer
	j.err, j.during = nil, nil
	j.mu.Unlock()
	if during != nil {
		during(ctx)
	}
	if err != nil {
		return nil, err
	}
	if answer != nil {
		return []byte(answer(intent)), nil
	}
	return []byte(intent), nil
}

var keyedRequest = alloc.KeyedRequest{
	Need: alloc.ActionManage, Name: string(pool), Operation: "pause", Resource: "pool/" + string(pool), Key: "k", Print: "p",
}

func keyedBy(change func(*alloc.KeyedRequest)) alloc.KeyedRequest {
	r := keyedRequest
	change(&r)
	return r
}

// ask asks as an administrator and wants no error.
func ask(t testing.TB, s *alloc.Service, r alloc.KeyedRequest, j *task) (answer string, replayed bool) {
	t.Helper()
	a, replayed, err := s.Keyed(asAdmin(t.Context()), r, j.work)
	if err != nil {
		t.Fatal(err)
	}
	return string(a), replayed
}

func wantAttempts(t testing.TB, j *task, want int) {
	t.Helper()
	if len(j.intents) != want || want > 0 && len(slices.Compact(slices.Clone(j.intents))) != 1 {
		t.Errorf("the work was done with the intents %v, want one of them %d times", j.intents, want)
	}
}

// K06, K22: from another process, with cold memory.
func TestKeyedAnswersARepeatWithoutTheWork(t *testing.T) {
	s, _, m := newWorld(t, nil)
	j := &task{}
	first, replayed := ask(t, s, keyedRequest, j)
	if replayed || first == "" {
		t.Errorf("got %q, replayed %t; want a first answer", first, replayed)
	}
	for _, process := range []*alloc.Service{s, newService(t, m.Open(nil))} {
		if again, replayed := ask(t, process, keyedRequest, j); !replayed || again != first {
			t.Errorf("the repeat: got %q, replayed %t; want %q replayed", again, replayed, first)
		}
	}
	wantAttempts(t, j, 1)
}

// K05: each of client, operation, resource and key makes another request of it.
func TestKeyedKeepsRequestsApart(t *testing.T) {
	s, _, _ := newWorld(t, nil)
	j := &task{}
	ask(t, s, keyedRequest, j)
	for i, r := range []alloc.KeyedRequest{
		keyedBy(func(r *alloc.KeyedRequest) { r.Operation = "resume" }),
		keyedBy(func(r *alloc.KeyedRequest) { r.Resource = "pool/other" }),
		keyedBy(func(r *alloc.KeyedRequest) { r.Key = "K" }),
	} {
		if _, replayed := ask(t, s, r, j); replayed || len(j.intents) != i+2 {
			t.Errorf("%+v: replayed %t with %d attempts; want another request", r, replayed, len(j.intents))
		}
	}
	_, replayed, err := s.Keyed(as(t.Context(), "other", alloc.AllScopes()...), keyedRequest, j.work)
	if err != nil || replayed {
		t.Errorf("another client: replayed %t, %v; want another request", replayed, err)
	}
}

// K08: also while the first is on its way.
func TestKeyedRefusesAnotherPrint(t *testing.T) {
	s, _, _ := newWorld(t, nil)
	other := keyedBy(func(r *alloc.KeyedRequest) { r.Print = "q" })
	j, k := &task{}, &task{}
	j.during = func(context.Context) {
		_, _, err := s.Keyed(asAdmin(t.Context()), other, k.work)
		wantErr(t, err, alloc.CodeKeyMismatch)
	}
	first, _ := ask(t, s, keyedRequest, j)
	_, _, err := s.Keyed(asAdmin(t.Context()), other, k.work)
	wantCode(t, err, alloc.CodeKeyMismatch)
	if again, replayed := ask(t, s, keyedRequest, j); !replayed || again != first {
		t.Errorf("got %q, replayed %t; want the first answer as it was", again, replayed)
	}
	wantAttempts(t, k, 0)
}

// K20: a record that has expired is none.
func TestKeyedForgetsAfterTheRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := newWorld(t, nil)
		j := &task{}
		ask(t, s, keyedRequest, j)
		time.Sleep(alloc.KeyRetention - time.Second)
		if _, replayed := ask(t, s, keyedRequest, j); !replayed {
			t.Error("a second before the end of the retention the repeat is not replayed")
		}
		time.Sleep(time.Second)
		if _, replayed := ask(t, s, keyedRequest, j); replayed || len(j.intents) != 2 || j.intents[0] == j.intents[1] {
			t.Errorf("at the end of the retention: replayed %t, intents %v; want another request", replayed, j.intents)
		}
	})
}

func TestKeyedWithoutAKeyJustDoesTheWork(t *testing.T) {
	s, store, _ := newWorld(t, nil)
	j := &task{answer: func(intent alloc.Token) string { return "intent:" + string(intent) }}
	for range 2 {
		got, replayed := ask(t, s, keyedBy(func(r *alloc.KeyedRequest) { r.Key, r.Print = "", "" }), j)
		if got != "intent:" || replayed {
			t.Errorf("got %q, replayed %t; want the work done without an intent", got, replayed)
		}
	}
	if len(j.intents) != 2 || len(store.Calls()) > 0 {
		t.Errorf("%d attempts, calls %+v; want the work twice and nothing kept", len(j.intents), store.Calls())
	}
}

func TestKeyedChecksItsKey(t *testing.T) {
	s, store, _ := newWorld(t, nil)
	j := &task{}
	for _, key := range []string{"é", "\x00", strings.Repeat("k", alloc.MaxKeyBytes+1)} {
		_, _, err := s.Keyed(asAdmin(t.Context()), keyedBy(func(r *alloc.KeyedRequest) { r.Key = key }), j.work)
		wantCode(t, err, alloc.CodeInvalidKey)
	}
	wantAttempts(t, j, 0)
	if len(store.Calls()) > 0 {
		t.Errorf("bad keys reached the Store: %+v", store.Calls())
	}
}

// A replay needs the same permission, and who may not ask learns nothing of the answer.
func TestKeyedNeedsItsPermissionForAReplayToo(t *testing.T) {
	s, _, _ := newWorld(t, nil)
	j := &task{}
	ask(t, s, keyedRequest, j)
	for _, scope := range []alloc.Scope{{Action: alloc.ActionRead, Pattern: "*"}, {Action: alloc.ActionManage, Pattern: "team-b*"}} {
		answer, replayed, err := s.Keyed(as(t.Context(), "admin", scope), keyedRequest, j.work)
		if wantCode(t, err, alloc.CodeForbidden); answer != nil || replayed {
			t.Errorf("got %q, replayed %t beside the refusal", answer, replayed)
		}
	}
	all := keyedBy(func(r *alloc.KeyedRequest) { r.Name = "*" })
	_, _, err := s.Keyed(as(t.Context(), "admin", alloc.Scope{Action: alloc.ActionManage, Pattern: "team-a*"}), all, j.work)
	wantCode(t, err, alloc.CodeForbidden)
	_, _, err = s.Keyed(as(t.Context(), "admin", alloc.Scope{Action: alloc.ActionManage, Pattern: "*"}), all, j.work)
	if err != nil {
		t.Error(err)
	}
	_, _, err = s.Keyed(t.Context(), keyedRequest, j.work)
	wantCode(t, err, alloc.CodeUnauthenticated)
	_, _, err = s.Keyed(asAdmin(t.Context()), keyedBy(func(r *alloc.KeyedRequest) { r.Name = "A/" }), j.work)
	wantCode(t, err, alloc.CodeInvalidName)
}

// A forbidden request leaves the record that the operation leaves, and is not done, even if what it asks for needs less
// than the request said.
func TestKeyedLeavesTheRecordOfAForbiddenRequest(t *testing.T) {
	s, _, m := newWorld(t, nil)
	_, _, err := s.Keyed(as(t.Context(), "nosy", alloc.Scope{Action: alloc.ActionRead, Pattern: "*"}), keyedRequest,
		func(ctx context.Context, _ alloc.Attempt) ([]byte, error) {
			_, err := s.SetPoolState(ctx, pool, 0, alloc.PoolPaused)
			if err == nil {
				t.Error("a forbidden request was carried out")
			}
			_, err = s.Pool(ctx, pool)
			wantErr(t, err, alloc.CodeForbidden)
			return nil, nil
		})
	wantCode(t, err, alloc.CodeForbidden)
	if got := trail(t, m); len(got) != 1 || got[0].Client != "nosy" || got[0].Action != "pool.pause" || got[0].Result != string(alloc.CodeForbidden) {
		t.Errorf("the trail is %+v, want the refused pause", got)
	}
}

// A seeding under a key: every attempt is the same job, and a repeat counts nothing twice.
func TestKeyedSeeding(t *testing.T) {
	for _, policy := range []alloc.Policy{alloc.PolicyKeep, alloc.PolicyForget} {
		s, m := newPool(t, alloc.PoolConfig{Policy: policy})
		var reports []alloc.SeedReport
		seed := func(ctx context.Context, a alloc.Attempt) ([]byte, error) {
			r, err := s.Seed(ctx, alloc.SeedRequest{Pool: "vouchers", Entries: entriesOf("1", "2"), Intent: a.Intent})
			reports = append(reports, r)
			if err == nil && len(reports) == 1 {
				err = alloc.Errorf(alloc.CodeUnavailable, "the answer was lost")
			}
			return []byte(fmt.Sprint(r.Added)), err
		}
		r := alloc.KeyedRequest{Need: alloc.ActionSeed, Name: "vouchers", Operation: "seed", Resource: "pool/vouchers", Key: "k"}
		_, _, err := s.Keyed(asAdmin(t.Context()), r, seed)
		wantCode(t, err, alloc.CodeUnavailable)
		if _, err := s.Claim(asAdmin(t.Context()), alloc.ClaimRequest{Pool: "vouchers", Count: 1}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			answer, _, err := s.Keyed(asAdmin(t.Context()), r, seed)
			if err != nil || string(answer) != "2" {
				t.Errorf("got %q, %v; want 2 added", answer, err)
			}
		}
		if len(reports) != 2 || reports[0].Job != reports[1].Job || m.Census("vouchers")[alloc.StateFree] != 1 {
			t.Errorf("the seedings are %+v and %v are in the pool; want two attempts of one job, and one ID left", reports, m.Census("vouchers"))
		}
	}
}
