package main

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"idpool/alloc/alloctest"
)

func TestHoldsAtEveryDoor(t *testing.T) { atEveryDoor(t, holdDoorCases) }

// settleRequest confirms, releases or retires.
func settleRequest(event, token string, ids ...string) sent {
	body, err := json.Marshal(map[string]any{"ids": ids, "token": token})
	if err != nil {
		panic(err) // strings always can be encoded
	}
	return sent{method: "POST", path: "/v1/pools/p/" + event, body: string(body)}
}

// settle settles IDs of the pool p and stops the test unless the answer has the status.
func (w *doorWorld) settle(status int, event, token string, ids ...string) seen {
	w.Helper()
	return w.want(w.door(w.TB, settleRequest(event, token, ids...)), status, event)
}

// hold holds n IDs of the pool p for a minute.
func (w *doorWorld) hold(body string) claimed {
	w.Helper()
	c := into[claimed](w.TB, w.want(w.door(w.TB, sent{method: "POST", path: "/v1/pools/p/claims", body: body}), 201, "hold"))
	if c.State != "held" || c.Held == "" {
		w.Fatalf("hold: %+v, want a state of held with its end", c)
	}
	return c
}

func (w *doorWorld) state(id string) string {
	w.Helper()
	a := w.want(w.door(w.TB, sent{method: "GET", path: "/v1/pools/p/ids?id=" + id}), 200, "inspect")
	return into[struct{ State string }](w.TB, a).State
}

var holdDoorCases = []doorCase{
	{"a hold is confirmed, released or retired, and a repeat changes nothing", func(w *doorWorld) {
		w.pool("p", "", 3)
		for event, state := range map[string]string{"confirm": "claimed", "release": "returning", "retire": "retired"} {
			c := w.hold(`{"hold": 60}`)
			for range 2 {
				if got := into[claimed](w.TB, w.settle(200, event, c.Token, c.IDs...)); got.State != state {
					w.Errorf("%s answers %q, want %q", event, got.State, state)
				}
			}
			if got := w.state(c.IDs[0]); got != state {
				w.Errorf("after %s the ID is %q, want %q", event, got, state)
			}
		}
		if got := w.available("p"); got != 1 {
			w.Errorf("%d IDs are free, want the one released", got)
		}
	}},
	{"a hold that nobody confirms comes back after its time, not before", func(w *doorWorld) {
		w.pool("p", "", 2)
		c := w.hold(`{"hold": 3600, "count": 2}`)
		if got := w.available("p"); got != 0 { // 15 minutes later
			w.Errorf("%d IDs are free, want none: they are held", got)
		}
		w.refused(w.insist(w.door, sent{method: "POST", path: "/v1/pools/p/claims"}), 409, "pool_exhausted", "claim of what is held")
		w.clock.Advance(time.Hour)
		if got := w.available("p"); got != 2 {
			w.Errorf("%d IDs are free, want both: the hold is over", got)
		}
		w.refused(w.door(w.TB, settleRequest("confirm", c.Token, c.IDs...)), 409, "not_owner", "confirm after it")
	}},
	{"C42 a hold confirmed after its time, when somebody else has the ID, is refused", func(w *doorWorld) {
		w.pool("p", "", 1)
		late := w.hold(`{"hold": 60}`)
		w.available("p")
		theirs := w.hold(`{"hold": 3600}`)
		if theirs.IDs[0] != late.IDs[0] {
			w.Fatalf("%+v and %+v, want one ID", late, theirs)
		}
		w.refused(w.door(w.TB, settleRequest("confirm", late.Token, late.IDs...)), 409, "not_owner", "the late one")
		w.settle(200, "confirm", theirs.Token, theirs.IDs...)
		w.refused(w.door(w.TB, settleRequest("confirm", late.Token, late.IDs...)), 409, "not_owner", "the late one again")
	}},
	{"C42 a confirmation after the hold's time works while nobody has taken the ID back", func(w *doorWorld) {
		w.pool("p", "", 1)
		c := w.hold(`{"hold": 60}`)
		w.clock.Advance(time.Hour)
		w.settle(200, "confirm", c.Token, c.IDs...)
		if got := w.available("p"); got != 0 {
			w.Errorf("%d IDs are free, want none", got)
		}
	}},
	{"C41 a release brings the ID back once, however often it is sent; a retired one never", func(w *doorWorld) {
		w.pool("p", "", 1)
		first := into[claimed](w.TB, w.want(w.door(w.TB, sent{method: "POST", path: "/v1/pools/p/claims"}), 201, "claim"))
		for range 3 {
			w.settle(200, "release", first.Token, first.IDs...)
		}
		if got := w.available("p"); got != 1 {
			w.Fatalf("%d IDs are free, want 1", got)
		}
		w.settle(200, "release", first.Token, first.IDs...) // it has come back
		second := into[claimed](w.TB, w.want(w.door(w.TB, sent{method: "POST", path: "/v1/pools/p/claims"}), 201, "claim"))
		w.settle(200, "release", first.Token, first.IDs...) // and is somebody else's, who keeps it
		if got := w.state(second.IDs[0]); got != "claimed" {
			w.Fatalf("a late release made the ID %q", got)
		}
		w.settle(200, "retire", second.Token, second.IDs...)
		w.refused(w.door(w.TB, settleRequest("release", second.Token, second.IDs...)), 409, "id_retired", "release of a retired one")
		if got := w.available("p"); got != 0 {
			w.Errorf("%d IDs are free, want none", got)
		}
	}},
	{"C41 a pool may retire what is released", func(w *doorWorld) {
		w.pool("p", `{"on_release": "retire"}`, 1)
		c := w.hold(`{"hold": 60}`)
		for range 2 {
			if got := into[claimed](w.TB, w.settle(200, "release", c.Token, c.IDs...)); got.State != "retired" {
				w.Errorf("release answers %q, want retired", got.State)
			}
		}
		if got := w.available("p"); got != 0 {
			w.Errorf("%d IDs are free, want none", got)
		}
	}},
	{"a batch of which one ID cannot be settled is refused whole, and each is named", func(w *doorWorld) {
		w.pool("p", "", 3)
		c, other := w.hold(`{"hold": 60, "count": 2}`), w.hold(`{"hold": 60}`)
		a := w.door(w.TB, settleRequest("confirm", c.Token, c.IDs[0], other.IDs[0], "unknown"))
		if a.status != 409 && a.status != 404 {
			w.Fatalf("confirm: %d %s, want a refusal", a.status, a.body)
		}
		faults := into[struct{ IDs []struct{ ID, Code string } }](w.TB, a).IDs
		if len(faults) != 2 || faults[0].ID != other.IDs[0] || faults[0].Code != "not_owner" || faults[1].Code != "id_not_found" {
			w.Errorf("the problem names %+v", faults)
		}
		if got := w.state(c.IDs[0]); got != "held" {
			w.Errorf("the first ID is %q, want held: nothing was to change", got)
		}
	}},
	{"K06 a repeat of a held claim is the first answer, and tells what has ended", func(w *doorWorld) {
		w.pool("p", "", 5)
		s := claimWith("p", "k", `{"count": 3, "hold": 3600}`)
		first := w.want(w.door(w.TB, s), 201, "hold")
		c := into[claimed](w.TB, first)
		w.settle(200, "confirm", c.Token, c.IDs[0])
		w.replayed(w.process().door(w.TB, s), first, "after a confirmation")
		w.settle(200, "release", c.Token, c.IDs[1])
		w.settle(200, "retire", c.Token, c.IDs[2])
		again := into[claimed](w.TB, w.want(w.process().door(w.TB, s), 201, "after a release and a retirement"))
		if len(again.IDs) != 3 || len(again.Ended) != 2 || again.Ended[0].ID != c.IDs[1] || again.Ended[1].State != "retired" {
			w.Errorf("the repeat is %+v, want that two have ended", again)
		}
		w.settle(200, "release", c.Token, c.IDs[0])
		w.refused(w.process().door(w.TB, s), 410, "key_ended", "after all have ended")
	}},
	{"K06 K08 a confirmation, a release and a retirement have keys too", func(w *doorWorld) {
		w.pool("p", "", 3)
		for _, event := range []string{"confirm", "release", "retire"} {
			c := w.hold(`{"hold": 60}`)
			s := withKey(settleRequest(event, c.Token, c.IDs...), "k")
			first := w.want(w.door(w.TB, s), 200, event)
			w.replayed(w.process().door(w.TB, s), first, event+" again")
			other := withKey(settleRequest(event, c.Token, "another"), "k")
			w.refused(w.door(w.TB, other), 422, "key_mismatch", event+" of another with the same key")
		}
	}},
	{"K13 whatever call of the store fails, a repeat of a hold, a confirmation and a release has one answer", func(w *doorWorld) {
		w.pool("p", "", 20)
		for _, fault := range []alloctest.Fault{alloctest.Refused, alloctest.RefusedUnknown, alloctest.AppliedButFailed} {
			for n := range 3 {
				at := w.process()
				c := w.hold(`{"hold": 86400}`)
				for _, s := range []sent{
					withKey(settleRequest("confirm", c.Token, c.IDs...), c.IDs[0]+"c"), withKey(settleRequest("release", c.Token, c.IDs...), c.IDs[0]+"r"),
				} {
					at.store.SetPlan(failOnce(n, fault))
					at.door(w.TB, s)
					at.store.SetPlan(nil)
					first := w.want(w.insist(at.door, s), 200, s.path)
					w.replayed(w.insist(w.process().door, s), first, s.path+" again")
				}
			}
		}
		if got := w.available("p"); got != 20 {
			w.Errorf("%d IDs are free, want all 20", got)
		}
	}},
	{"what is no hold, no token and no ID is refused with what to do", func(w *doorWorld) {
		w.pool("p", "", 2)
		for _, body := range []string{`{"hold": -1}`, `{"hold": 604801}`, `{"hold": 1.5}`, `{"hold": "60"}`, `{"hold": 1e99}`} {
			if a := w.door(w.TB, sent{method: "POST", path: "/v1/pools/p/claims", body: body}); a.status != http.StatusBadRequest {
				w.Errorf("%s: %d %s, want 400", body, a.status, a.body)
			}
		}
		c := w.hold(`{"hold": 60}`)
		for name, s := range map[string]sent{
			"no IDs": settleRequest("confirm", c.Token), "no token": settleRequest("confirm", "", c.IDs...),
			"a token of another form": settleRequest("confirm", "x", c.IDs...), "an ID twice": settleRequest("confirm", c.Token, c.IDs[0], c.IDs[0]),
			"an empty ID": settleRequest("confirm", c.Token, ""),
		} {
			if a := w.door(w.TB, s); a.status != http.StatusBadRequest {
				w.Errorf("%s: %d %s, want 400", name, a.status, a.body)
			}
		}
		if got := w.state(c.IDs[0]); got != "held" {
			w.Errorf("the ID is %q, want held", got)
		}
	}},
}
