package alloc_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

const someToken = alloc.Token("0123456789ABCDEFGHIJKLMNOP")

func TestCheckSettleOrder(t *testing.T) {
	many := make([]alloc.ID, alloc.MaxBatchLimit+1)
	for i := range many {
		many[i] = alloc.ID(fmt.Sprint("ID-", i))
	}
	for _, c := range []struct {
		what   string
		change func(*alloc.SettleOrder)
		want   alloc.Code
	}{
		{"a confirmation", func(*alloc.SettleOrder) {}, ""},
		{"a release", func(o *alloc.SettleOrder) { o.Event = alloc.EventRelease }, ""},
		{"a retirement", func(o *alloc.SettleOrder) { o.Event = alloc.EventRetire }, ""},
		{"the most IDs", func(o *alloc.SettleOrder) { o.IDs = many[:alloc.MaxBatchLimit] }, ""},
		{"a token as it is made", func(o *alloc.SettleOrder) { o.Token = alloc.NewToken() }, ""},
		{"a bad name", func(o *alloc.SettleOrder) { o.Pool = "A" }, alloc.CodeInvalidName},
		{"no event", func(o *alloc.SettleOrder) { o.Event = "" }, alloc.CodeInvalidRequest},
		{"an expiry", func(o *alloc.SettleOrder) { o.Event = alloc.EventExpire }, alloc.CodeInvalidRequest},
		{"a claim", func(o *alloc.SettleOrder) { o.Event = alloc.EventClaim }, alloc.CodeInvalidRequest},
		{"no IDs", func(o *alloc.SettleOrder) { o.IDs = nil }, alloc.CodeInvalidCount},
		{"too many IDs", func(o *alloc.SettleOrder) { o.IDs = many }, alloc.CodeInvalidCount},
		{"an ID that cannot be one", func(o *alloc.SettleOrder) { o.IDs = []alloc.ID{"a", " b"} }, alloc.CodeInvalidID},
		{"an ID named twice", func(o *alloc.SettleOrder) { o.IDs = []alloc.ID{"a", "b", "a"} }, alloc.CodeInvalidRequest},
		{"no token", func(o *alloc.SettleOrder) { o.Token = "" }, alloc.CodeInvalidRequest},
		{"a token too short", func(o *alloc.SettleOrder) { o.Token = someToken[1:] }, alloc.CodeInvalidRequest},
		{"a token too long", func(o *alloc.SettleOrder) { o.Token += "0" }, alloc.CodeInvalidRequest},
		{"a token in lower case", func(o *alloc.SettleOrder) { o.Token = alloc.Token(strings.ToLower(string(someToken))) }, alloc.CodeInvalidRequest},
		{"a token with a letter beyond", func(o *alloc.SettleOrder) { o.Token = someToken[1:] + "W" }, alloc.CodeInvalidRequest},
		{"a token with a slash", func(o *alloc.SettleOrder) { o.Token = "/" + someToken[1:] }, alloc.CodeInvalidRequest},
	} {
		o := alloc.SettleOrder{Pool: "vouchers", Event: alloc.EventConfirm, IDs: []alloc.ID{"a", "b"}, Token: someToken}
		c.change(&o)
		err := alloc.CheckSettleOrder(o)
		if got := alloc.CodeOf(err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
		if err != nil && o.Token != "" && strings.Contains(err.Error(), string(o.Token)) {
			t.Errorf("%s: the error shows the token: %v", c.what, err)
		}
	}
}

func TestSettleRefusesBeforeTheStore(t *testing.T) {
	s, store, _ := newWorld(t, nil)
	_, err := s.Settle(asAdmin(t.Context()), alloc.SettleRequest{Pool: pool, Event: alloc.EventConfirm, IDs: []alloc.ID{"a", "a"}, Token: someToken})
	wantCode(t, err, alloc.CodeInvalidRequest)
	_, err = s.Claim(asAdmin(t.Context()), alloc.ClaimRequest{Pool: pool, Count: 1, Hold: -time.Second})
	wantCode(t, err, alloc.CodeInvalidRequest)
	if calls := store.Calls(); len(calls) > 0 {
		t.Errorf("bad orders reached the Store: %+v", calls)
	}
}

func TestSettles(t *testing.T) {
	returns, retires := alloc.PoolConfig{}.WithDefaults(), alloc.PoolConfig{OnRelease: alloc.ReleaseRetires}.WithDefaults()
	for _, e := range events {
		if got := returns.Settles(e); got != e {
			t.Errorf("%s where a released ID comes back: got %s", e, got)
		}
		want := e
		if e == alloc.EventRelease {
			want = alloc.EventRetire
		}
		if got := retires.Settles(e); got != want {
			t.Errorf("%s where a released ID is retired: got %s, want %s", e, got, want)
		}
	}
}

// Every event that State.On refuses has a reason that a client may read.
func TestRefusals(t *testing.T) {
	for _, s := range states {
		for _, e := range []alloc.Event{alloc.EventConfirm, alloc.EventRelease, alloc.EventRetire} {
			if s.On(e).Effect != alloc.EffectRefuse {
				continue
			}
			want := alloc.CodeNotOwner
			if s == alloc.StateRetired {
				want = alloc.CodeIDRetired
			}
			faults := []alloc.IDFault{{ID: "a", Code: alloc.RefusalOf(s)}}
			got := alloc.Refused(e, faults)
			if got.Code != want || got.Message == "" || got.Unknown || !cmp.Equal(got.IDs, faults) {
				t.Errorf("%s in the state %s: got %+v, want %s", e, s, got, want)
			}
		}
	}
	if got := alloc.Refused(alloc.EventConfirm, []alloc.IDFault{{"a", alloc.CodeIDNotFound}, {"b", alloc.CodeNotOwner}}); got.Code != alloc.CodeIDNotFound || got.Message == "" {
		t.Errorf("of two reasons: got %+v, want the first", got)
	}
}

// C42, and the life of a hold as a client sees it.
func TestAHoldThroughTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPool(t, alloc.PoolConfig{})
		ctx := asAdmin(t.Context())
		if _, err := s.Seed(ctx, alloc.SeedRequest{Pool: "vouchers", Entries: entriesOf("a", "b")}); err != nil {
			t.Fatal(err)
		}
		held, err := s.Claim(ctx, alloc.ClaimRequest{Pool: "vouchers", Count: 2, Hold: time.Minute})
		if err != nil || held.State != alloc.StateHeld || !held.HeldUntil.Equal(time.Now().Add(time.Minute)) {
			t.Fatalf("got %+v, %v; want two IDs held for a minute", held, err)
		}
		settle := func(e alloc.Event, token alloc.Token, ids ...alloc.ID) (alloc.Settled, error) {
			return s.Settle(ctx, alloc.SettleRequest{Pool: "vouchers", Event: e, IDs: ids, Token: token})
		}
		for range 2 {
			got, err := settle(alloc.EventConfirm, held.Token, "a")
			if want := (alloc.Settled{Pool: "vouchers", IDs: []alloc.ID{"a"}, State: alloc.StateClaimed}); err != nil || !cmp.Equal(got, want) {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		}
		time.Sleep(time.Minute)
		if _, err := s.Sweep(ctx, "vouchers"); err != nil {
			t.Fatal(err)
		}
		other, err := s.Claim(ctx, alloc.ClaimRequest{Pool: "vouchers", Count: 1})
		if err != nil || other.IDs[0] != "b" {
			t.Fatalf("got %+v, %v; want the hold that has ended", other, err)
		}
		_, err = settle(alloc.EventConfirm, held.Token, "b")
		if e := wantCode(t, err, alloc.CodeNotOwner); !cmp.Equal(e.IDs, []alloc.IDFault{{"b", alloc.CodeNotOwner}}) {
			t.Errorf("got %+v, want the ID named", e)
		}
		if got, err := settle(alloc.EventRetire, other.Token, "b"); err != nil || got.State != alloc.StateRetired {
			t.Errorf("got %+v, %v; want it retired", got, err)
		}
		_, err = settle(alloc.EventRelease, other.Token, "b")
		wantCode(t, err, alloc.CodeIDRetired)
	})
}

// What is settled through a Store that fails in both forms is repeated, and ends as one.
func TestSettleIsRepeatable(t *testing.T) {
	for _, event := range []alloc.Event{alloc.EventConfirm, alloc.EventRelease, alloc.EventRetire} {
		s, store, m := newWorld(t, nil)
		ctx := asAdmin(t.Context())
		before := m.Census(pool)
		held, err := s.Claim(ctx, alloc.ClaimRequest{Pool: pool, Count: 1, Hold: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		r := alloc.SettleRequest{Pool: pool, Event: event, IDs: held.IDs, Token: held.Token}
		store.SetPlan(alloctest.Script("Settle", alloctest.Refused, alloctest.AppliedButFailed))
		for range 2 {
			if _, err := s.Settle(ctx, r); err == nil {
				t.Fatal("the plan was not carried out")
			}
		}
		want := held.State.On(event).To
		if got, err := s.Settle(ctx, r); err != nil || got.State != want || m.Census(pool)[want] != before[want]+1 {
			t.Errorf("%s: got %+v, %v and %v; want one %s more than %v", event, got, err, m.Census(pool), want, before)
		}
	}
}
