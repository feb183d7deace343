package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/web/api"
)

// forgetful is a world whose pool p forgets what is claimed from it.
func forgetful(t testing.TB) *world {
	return newWorldOf(t, `{"policy": "forget"}`)
}

// worlds are those in which a route that is on a pool is tried.
func worlds(rt api.Route) map[string]func(testing.TB) *world {
	all := map[string]func(testing.TB) *world{"": func(t testing.TB) *world { return newWorldFor(t, rt) }}
	if strings.Contains(rt.Path, "{pool}") && rt.Operation != "putPool" && rt.Operation != "logPool" { // of which a pool that forgets has none
		all[", of a pool that forgets"] = func(t testing.TB) *world { return forgetful(t).readyFor(rt) }
	}
	return all
}

// losses are what may become of a call: refused, or done and reported as failed.
var losses = map[string]alloctest.Fault{"refused": alloctest.Refused, "done, but not heard": alloctest.AppliedButFailed}

// keyedRoutes are the routes that take a key: claims and numbers too.
func keyedRoutes() []api.Route {
	return slices.DeleteFunc(api.Routes(nil), func(rt api.Route) bool { return rt.Keys == api.KeysIgnored })
}

// K12, K13: whatever of the calls of the store fails, refused or done and reported as failed, a repeat with the key ends
// with one answer, and what was asked for was done once.
func TestAFaultAtAnyCallUnderAKey(t *testing.T) {
	for _, rt := range keyedRoutes() {
		for in, world := range worlds(rt) {
			for name, fault := range losses {
				t.Run(rt.Operation+" "+name+in, func(t *testing.T) {
					once := world(t)
					once.send(rt, "Idempotency-Key: k")
					want := once.made()
					for failing := 1; failing < 100; failing++ {
						if faultAtCall(t, world(t), rt, fault, failing, want) {
							return
						}
					}
					t.Error("the calls do not end")
				})
			}
		}
	}
}

// faultAtCall lets the call of that number fail while the route does its work, and repeats; it reports whether there was
// no such call.
func faultAtCall(t *testing.T, w *world, rt api.Route, fault alloctest.Fault, failing int, want counts) (done bool) {
	t.Helper()
	store := alloctest.NewFaulty(w.store, nil)
	calls := 0
	store.SetPlan(func(alloctest.Call) alloctest.Fault {
		if calls++; calls == failing {
			return fault
		}
		return alloctest.Pass
	})
	w.h = clientAt(t, store, w.clock.Now).h
	first := w.send(rt, "Idempotency-Key: k")
	if first.Code >= 300 && first.Code != http.StatusServiceUnavailable && first.Code != http.StatusInternalServerError {
		t.Errorf("call %d: %d %s, want 503 or the answer", failing, first.Code, first.Body)
	}
	done = calls < failing
	store.SetPlan(nil)
	second := w.send(rt, "Idempotency-Key: k")
	if second.Code >= 300 {
		t.Errorf("call %d: %d %s, then %d %s", failing, first.Code, first.Body, second.Code, second.Body)
		return done
	}
	if first.Code < 300 && withoutSecret(t, first) != withoutSecret(t, second) {
		t.Errorf("call %d: %s, then %s", failing, first.Body, second.Body)
	}
	if third := w.send(rt, "Idempotency-Key: k"); third.Code != second.Code || withoutSecret(t, third) != withoutSecret(t, second) {
		t.Errorf("call %d: %d %s, then %d %s", failing, second.Code, second.Body, third.Code, third.Body)
	}
	if got := w.made(); !got.equal(want) {
		t.Errorf("call %d: there are %v, want %v", failing, got, want)
	}
	return done
}

// counts is how much there is of everything.
type counts struct {
	things [4]int                      // pools, sequences, credentials, jobs
	ids    map[alloc.State]alloc.Count // of the pool p
}

func (c counts) equal(d counts) bool { return c.things == d.things && maps.Equal(c.ids, d.ids) }

// made counts what there is.
func (w *world) made() counts {
	w.t.Helper()
	c := counts{ids: w.store.Census("p")}
	for i, path := range []string{"/v1/pools", "/v1/sequences", "/v1/credentials", "/v1/jobs"} {
		c.things[i] = strings.Count(w.must(200, "GET", path, "").Body.String(), `"created_at":`)
	}
	return c
}

// takeBack is what makes a keyed change that was done be refused from then on: somebody else's change of the same thing.
func (w *world) takeBack(rt api.Route) (refusal int) {
	ids := fmt.Sprintf(`{"ids": [%q, %q], "token": %q}`, w.held.IDs[0], w.held.IDs[1], w.held.Token)
	switch rt.Operation {
	case "seedPool":
		w.must(200, "POST", "/v1/pools/p/drain", "")
		return 409
	case "putPool":
		w.must(200, "PUT", "/v1/pools/p", `{"description": "another's"}`, `If-Match: "2"`)
		return 412
	case "putSequence":
		w.must(200, "PUT", "/v1/sequences/s", `{"description": "another's"}`, `If-Match: "2"`)
		return 412
	case "putCredential":
		w.must(200, "PUT", "/v1/credentials/"+w.credential.ID, `{"scopes": ["claim:q"]}`, `If-Match: "2"`)
		return 412
	case "rotateCredential":
		w.must(200, "POST", "/v1/credentials/"+w.credential.ID+"/rotate", "")
		w.must(200, "POST", "/v1/credentials/"+w.credential.ID+"/revoke", "")
		return 409
	case "startJob":
		w.must(200, "POST", "/v1/jobs/"+w.seeding+"/cancel", "")
		return 409
	case "confirm":
		w.must(200, "POST", "/v1/pools/p/retire", ids)
		return 409
	case "pausePool", "resumePool", "drainPool":
		w.remove("/v1/pools/p")
		return 410
	case "pauseSequence", "resumeSequence":
		w.remove("/v1/sequences/s")
		return 410
	}
	return 0
}

// A change was done, its answer could not be kept, and somebody else has changed the same thing since. The repeat is refused
// and says that it may have been done; the key stays with the request.
func TestARefusalLeavesTheKeyOfWhatMayBeDone(t *testing.T) {
	tried := 0
	for _, rt := range withKeys() {
		for in, world := range worlds(rt) {
			w := world(t)
			store := alloctest.NewFaulty(w.store, alloctest.Script("CloseKey", alloctest.Refused))
			w.h = clientAt(t, store, w.clock.Now).h
			if first := w.send(rt, "Idempotency-Key: k"); first.Code != 503 || !problemOf(t, first).OutcomeUnknown {
				t.Fatalf("%s%s: %d %s, want the answer lost", rt.Operation, in, first.Code, first.Body)
			}
			status := w.takeBack(rt)
			if status == 0 {
				continue
			}
			tried++
			after := w.snapshot()
			for range 2 {
				again := w.send(rt, "Idempotency-Key: k")
				if again.Code != status {
					t.Errorf("%s%s: %d %s, want %d", rt.Operation, in, again.Code, again.Body, status)
					continue
				}
				if p := problemOf(t, again); !p.OutcomeUnknown || !strings.Contains(p.Detail, "another attempt") {
					t.Errorf("%s%s: %s, want that it may have been done", rt.Operation, in, again.Body)
				}
			}
			if body, headers := w.changed(rt); body != "" || rt.Conditional {
				if other := w.do(rt.Method, w.path(rt), body, append(headers, "Idempotency-Key: k")...); other.Code != 422 {
					t.Errorf("%s%s: another request with the key: %d %s, want 422", rt.Operation, in, other.Code, other.Body)
				}
			}
			if w.snapshot() != after {
				t.Errorf("%s%s: what was refused has changed something", rt.Operation, in)
			}
		}
	}
	if tried < 12 {
		t.Errorf("%d of the routes were tried", tried)
	}
}

// A keyed seeding of a pool that forgets, whose answer was lost and whose repeat was refused in between, adds once.
func TestAKeyedSeedingAddsOnce(t *testing.T) {
	w := forgetful(t)
	w.h = clientAt(t, alloctest.NewFaulty(w.store, alloctest.Script("Seed", alloctest.AppliedButFailed)), w.clock.Now).h
	seed := func(status int) {
		t.Helper()
		w.must(status, "POST", "/v1/pools/p/seed", `{"ids": ["X"]}`, "Idempotency-Key: k")
	}
	seed(503)
	w.must(200, "POST", "/v1/pools/p/drain", "")
	seed(409)
	w.must(201, "POST", "/v1/pools/p/claims", `{"count": 4}`)
	w.must(200, "POST", "/v1/pools/p/resume", "")
	seed(200)
	w.must(409, "POST", "/v1/pools/p/claims", "")
}

// A pool or a sequence that is deleted cannot be deleted again. Of one request, all attempts have deleted it.
func TestAKeyedDeletionIsDoneForAllItsAttempts(t *testing.T) {
	for _, path := range []string{"/v1/pools/p", "/v1/sequences/s"} {
		for name, headers := range map[string][]string{"": nil, " with If-Match": {`If-Match: "1"`}} {
			t.Run(path+name, func(t *testing.T) {
				headers = append(headers, "Idempotency-Key: k")
				paused := func() *world {
					w := newWorld(t)
					w.must(200, "POST", path+"/pause", "")
					return w
				}
				w := paused()
				want := paused().must(200, "DELETE", path, "").Body.String()
				w.h = clientAt(t, alloctest.NewFaulty(w.store, alloctest.Script("CloseKey", alloctest.Refused)), w.clock.Now).h
				w.must(503, "DELETE", path, "", headers...)
				for range 2 {
					again := w.must(200, "DELETE", path, "", headers...)
					if again.Body.String() != want || again.Header().Get("Idempotent-Replayed") != "true" {
						t.Errorf("got %s, %v; want %s", again.Body, again.Header(), want)
					}
				}
				w.must(410, "DELETE", path, "", "Idempotency-Key: another")
				w.must(410, "DELETE", path, "")
			})
		}
	}
}

// It was deleted by somebody else, at another version than this deletion was for: it is not done.
func TestAKeyedDeletionOfAnotherVersionIsRefused(t *testing.T) {
	for _, path := range []string{"/v1/pools/p", "/v1/sequences/s"} {
		w := newWorld(t)
		w.h = clientAt(t, alloctest.NewFaulty(w.store, func(c alloctest.Call) alloctest.Fault {
			if strings.HasSuffix(c.Method, "State") && c.Nth == 1 {
				return alloctest.Refused
			}
			return alloctest.Pass
		}), w.clock.Now).h
		w.must(200, "POST", path+"/pause", "")
		w.must(503, "DELETE", path, "", `If-Match: "1"`, "Idempotency-Key: k")
		w.must(200, "PUT", path, `{"description": "another's"}`, `If-Match: "1"`)
		w.must(200, "DELETE", path, "")
		got := w.must(410, "DELETE", path, "", `If-Match: "1"`, "Idempotency-Key: k")
		if !problemOf(t, got).OutcomeUnknown {
			t.Errorf("got %s, want that an attempt before may have done it", got.Body)
		}
	}
}

// C44: many attempts of one deletion at once have all deleted it.
func TestKeyedDeletionsTogether(t *testing.T) {
	for _, path := range []string{"/v1/pools/p", "/v1/sequences/s"} {
		for range 20 {
			w := newWorld(t)
			w.must(200, "POST", path+"/pause", "")
			answers := make([]*httptest.ResponseRecorder, 16)
			var all sync.WaitGroup
			for i := range answers {
				h := clientAt(t, w.store, w.clock.Now)
				all.Go(func() { answers[i] = h.do("DELETE", path, "", "Idempotency-Key: k") })
			}
			all.Wait()
			for _, a := range answers {
				if a.Code != 200 || a.Body.String() != answers[0].Body.String() {
					t.Fatalf("%s: %d %s, and %d %s", path, answers[0].Code, answers[0].Body, a.Code, a.Body)
				}
			}
		}
	}
}

// What its caller may not do leaves the same records in the trail with a key as without one.
func TestAForbiddenRequestWithAKeyLeavesItsRecord(t *testing.T) {
	for _, rt := range withKeys() {
		t.Run(rt.Operation, func(t *testing.T) {
			w := newWorldFor(t, rt)
			nobody := w.as(w.makeCredential(`{"client": "nobody", "scopes": ["lease:elsewhere"]}`).Secret)
			body, headers := w.good(rt)
			var records [2]int
			for i, key := range [][]string{nil, {"Idempotency-Key: k"}} {
				before := strings.Count(w.must(200, "GET", "/v1/audit", "").Body.String(), `"nobody"`)
				if got := nobody.do(rt.Method, w.path(rt), body, append(key, headers...)...); got.Code != 403 {
					t.Errorf("%d %s, want 403", got.Code, got.Body)
				}
				records[i] = strings.Count(w.must(200, "GET", "/v1/audit", "").Body.String(), `"nobody"`) - before
			}
			if records[0] != records[1] {
				t.Errorf("%d records without a key, %d with one", records[0], records[1])
			}
			if rt.Operation == "cancelJob" && records[1] != 1 {
				t.Errorf("the refusal has left %d records, want one", records[1])
			}
		})
	}
}
