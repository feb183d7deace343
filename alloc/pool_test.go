package alloc_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
)

func TestPoolConfigCheck(t *testing.T) {
	for _, c := range []struct {
		what   string
		config alloc.PoolConfig
		ok     bool
	}{
		{"nothing said", alloc.PoolConfig{}, true},
		{"all said", alloc.PoolConfig{Description: "Spring sale", Policy: alloc.PolicyForget, FoldCase: true, MaxBatch: alloc.MaxBatchLimit, OnRelease: alloc.ReleaseRetires, RequireKey: true}, true},
		{"a released ID comes back", alloc.PoolConfig{OnRelease: alloc.ReleaseReturns}, true},
		{"a released ID is burnt", alloc.PoolConfig{OnRelease: "burn"}, false},
		{"an unknown policy", alloc.PoolConfig{Policy: "burn"}, false},
		{"a negative batch", alloc.PoolConfig{MaxBatch: -1}, false},
		{"a batch too large", alloc.PoolConfig{MaxBatch: alloc.MaxBatchLimit + 1}, false},
		{"a description too long", alloc.PoolConfig{Description: strings.Repeat("x", alloc.MaxDescription+1)}, false},
		{"a description of two lines", alloc.PoolConfig{Description: "a\nb"}, false},
	} {
		err := c.config.WithDefaults().Check()
		if (err == nil) != c.ok || err != nil && !alloc.Is(err, alloc.CodeInvalidConfig) {
			t.Errorf("%s: got %v", c.what, err)
		}
	}
	from := alloc.PoolConfig{}.WithDefaults()
	if from.OnRelease != alloc.ReleaseReturns || from.RequireKey {
		t.Errorf("the defaults are %+v, want released IDs to come back and no key required", from)
	}
	for _, to := range []alloc.PoolConfig{{OnRelease: alloc.ReleaseRetires}, {RequireKey: true}} {
		if err := from.CheckChange(to.WithDefaults()); err != nil {
			t.Errorf("a change to %+v: %v", to, err)
		}
	}
	for _, to := range []alloc.PoolConfig{{Policy: alloc.PolicyForget}, {FoldCase: true}, {MaxBatch: -1}} {
		wantCode(t, from.CheckChange(to.WithDefaults()), alloc.CodeInvalidConfig)
	}
	from = alloc.PoolConfig{Policy: alloc.PolicyForget, FoldCase: true}.WithDefaults()
	err := wantCode(t, from.CheckChange(alloc.PoolConfig{MaxBatch: 5}.WithDefaults()), alloc.CodeInvalidConfig)
	if !strings.Contains(err.Message, `policy "forget" and fold_case true: send them as they are`) {
		t.Errorf("who left both out is told %q, want the values to send", err.Message)
	}
}

// A pool that folds case finds an ID in any case, and never says that case matters.
func TestInspectIDFoldsCase(t *testing.T) {
	for _, policy := range []alloc.Policy{alloc.PolicyKeep, alloc.PolicyForget} {
		for _, fold := range []bool{false, true} {
			s, _ := newPool(t, alloc.PoolConfig{Policy: policy, FoldCase: fold})
			ctx := asAdmin(t.Context())
			if _, err := s.Seed(ctx, alloc.SeedRequest{Pool: "vouchers", Entries: []alloc.SeedEntry{{Line: 1, Raw: "abc"}}}); err != nil {
				t.Fatal(err)
			}
			r, err := s.InspectID(ctx, "vouchers", " ABC")
			if fold {
				if err != nil || r.ID != "abc" {
					t.Errorf("ABC where case is folded: got %+v, %v", r, err)
				}
			} else {
				wantCode(t, err, alloc.CodeIDNotFound)
			}
			_, err = s.InspectID(ctx, "vouchers", "other")
			e := wantCode(t, err, alloc.CodeIDNotFound)
			if strings.Contains(e.Message, "case") == fold || strings.Contains(e.Message, "forgets") != (policy == alloc.PolicyForget) {
				t.Errorf("%s, fold_case %t: %s", policy, fold, e.Message)
			}
		}
	}
}

func TestPoolStates(t *testing.T) {
	pool := func(s alloc.PoolState) alloc.Pool {
		return alloc.Pool{Name: "vouchers", State: s, Config: alloc.PoolConfig{}.WithDefaults()}
	}
	for _, c := range []struct {
		state                   alloc.PoolState
		claim, seed, move, gone alloc.Code
	}{
		{alloc.PoolActive, "", "", "", alloc.CodePoolActive},
		{alloc.PoolPaused, alloc.CodePoolPaused, "", "", ""},
		{alloc.PoolDraining, "", alloc.CodePoolDraining, "", ""},
		{alloc.PoolDeleted, alloc.CodePoolDeleted, alloc.CodePoolDeleted, alloc.CodePoolDeleted, alloc.CodePoolDeleted},
	} {
		p := pool(c.state)
		if got := alloc.CodeOf(p.CheckClaim(alloc.ClaimOrder{Count: 1})); got != c.claim {
			t.Errorf("a claim of a pool that is %s: got %q, want %q", c.state, got, c.claim)
		}
		if got := alloc.CodeOf(p.CheckSeed()); got != c.seed {
			t.Errorf("seeding a pool that is %s: got %q, want %q", c.state, got, c.seed)
		}
		if got := alloc.CodeOf(p.CheckTo(alloc.PoolActive)); got != c.move {
			t.Errorf("resuming a pool that is %s: got %q, want %q", c.state, got, c.move)
		}
		if got := alloc.CodeOf(p.CheckTo(alloc.PoolDeleted)); got != c.gone {
			t.Errorf("deleting a pool that is %s: got %q, want %q", c.state, got, c.gone)
		}
	}
	for _, n := range []alloc.Count{0, -1, math.MinInt64, alloc.DefaultMaxBatch + 1, math.MaxInt64} { // C22
		wantCode(t, pool(alloc.PoolActive).CheckClaim(alloc.ClaimOrder{Count: n}), alloc.CodeInvalidCount)
	}
}

// K04, and the order of refusals: what the pool says comes before what the Service does.
func TestCheckClaimOfKeysAndRefusals(t *testing.T) {
	quota := alloc.Errorf(alloc.CodeQuotaExceeded, "used up")
	for _, c := range []struct {
		what  string
		pool  alloc.Pool
		order alloc.ClaimOrder
		want  alloc.Code
	}{
		{"no key where one is required", alloc.Pool{Config: alloc.PoolConfig{MaxBatch: 5, RequireKey: true}}, alloc.ClaimOrder{Count: 1}, alloc.CodeKeyRequired},
		{"a key where one is required", alloc.Pool{Config: alloc.PoolConfig{MaxBatch: 5, RequireKey: true}}, alloc.ClaimOrder{Count: 1, Key: &alloc.Key{}}, ""},
		{"a hold without the required key", alloc.Pool{Config: alloc.PoolConfig{MaxBatch: 5, RequireKey: true}}, alloc.ClaimOrder{Count: 1, Hold: time.Second}, alloc.CodeKeyRequired},
		{"a key where none is required", alloc.Pool{Config: alloc.PoolConfig{MaxBatch: 5}}, alloc.ClaimOrder{Count: 1, Key: &alloc.Key{}}, ""},
		{"a refusal", alloc.Pool{Config: alloc.PoolConfig{MaxBatch: 5}}, alloc.ClaimOrder{Count: 1, Refusal: quota}, alloc.CodeQuotaExceeded},
		{"a refusal, and no key", alloc.Pool{Config: alloc.PoolConfig{MaxBatch: 5, RequireKey: true}}, alloc.ClaimOrder{Count: 1, Refusal: quota}, alloc.CodeKeyRequired},
		{"a refusal of a paused pool", alloc.Pool{State: alloc.PoolPaused}, alloc.ClaimOrder{Count: 1, Refusal: quota}, alloc.CodePoolPaused},
	} {
		c.pool.Name = "vouchers"
		err := c.pool.CheckClaim(c.order)
		if got := alloc.CodeOf(err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
		if c.want == alloc.CodeKeyRequired {
			wantSafe(t, wantCode(t, err, c.want))
		}
	}
}

func TestExhaustedPoolAdvises(t *testing.T) {
	for n, fewer := range map[alloc.Count]bool{1: false, 2: true} {
		e := alloc.Exhausted("vouchers", n)
		if e.Code != alloc.CodePoolExhausted || strings.Contains(e.Message, "ask for fewer") != fewer {
			t.Errorf("of a claim of %d: %v", n, e)
		}
	}
}

func TestCheckClaimOrder(t *testing.T) {
	order := func(change func(*alloc.ClaimOrder)) alloc.ClaimOrder {
		o := alloc.ClaimOrder{Pool: "vouchers", Count: 1}
		change(&o)
		return o
	}
	many := map[string]string{}
	for k := range strings.SplitSeq("abcdefghi", "") {
		many[k] = ""
	}
	for _, c := range []struct {
		what string
		o    alloc.ClaimOrder
		want alloc.Code
	}{
		{"the least", order(func(*alloc.ClaimOrder) {}), ""},
		{"a name written with joiners", order(func(o *alloc.ClaimOrder) { o.Owner = "می\u200cخواهم" }), ""},
		{"the most metadata", order(func(o *alloc.ClaimOrder) { o.Metadata = map[string]string{"k": strings.Repeat("v", 255)} }), ""},
		{"a bad name", order(func(o *alloc.ClaimOrder) { o.Pool = "A" }), alloc.CodeInvalidName},
		{"no IDs", order(func(o *alloc.ClaimOrder) { o.Count = 0 }), alloc.CodeInvalidCount},
		{"too many IDs", order(func(o *alloc.ClaimOrder) { o.Count = 1_000_000_000 }), alloc.CodeInvalidCount},
		{"an owner too long", order(func(o *alloc.ClaimOrder) { o.Owner = strings.Repeat("x", 97) }), alloc.CodeInvalidRequest},
		{"an owner of two lines", order(func(o *alloc.ClaimOrder) { o.Owner = "a\u2028b" }), alloc.CodeInvalidRequest},
		{"an owner that turns the page's direction", order(func(o *alloc.ClaimOrder) { o.Owner = "a\u202eb" }), alloc.CodeInvalidRequest},
		{"an owner that is not UTF-8", order(func(o *alloc.ClaimOrder) { o.Owner = "\xff" }), alloc.CodeInvalidRequest},
		{"the shortest hold", order(func(o *alloc.ClaimOrder) { o.Hold = time.Second }), ""},
		{"the longest hold", order(func(o *alloc.ClaimOrder) { o.Hold = alloc.MaxHold }), ""},
		{"a hold too long", order(func(o *alloc.ClaimOrder) { o.Hold = alloc.MaxHold + time.Second }), alloc.CodeInvalidRequest},
		{"a hold that has ended", order(func(o *alloc.ClaimOrder) { o.Hold = -time.Second }), alloc.CodeInvalidRequest},
		{"a hold of half a second", order(func(o *alloc.ClaimOrder) { o.Hold = time.Second / 2 }), alloc.CodeInvalidRequest},
		{"nine entries", order(func(o *alloc.ClaimOrder) { o.Metadata = many }), alloc.CodeInvalidRequest},
		{"an empty key", order(func(o *alloc.ClaimOrder) { o.Metadata = map[string]string{"": "v"} }), alloc.CodeInvalidRequest},
		{"a control character in a value", order(func(o *alloc.ClaimOrder) { o.Metadata = map[string]string{"k": "\x00"} }), alloc.CodeInvalidRequest},
		{"too much metadata", order(func(o *alloc.ClaimOrder) {
			o.Metadata = map[string]string{"k": strings.Repeat("v", 200), "l": strings.Repeat("v", 55)}
		}), alloc.CodeInvalidRequest},
	} {
		if got := alloc.CodeOf(alloc.CheckClaimOrder(c.o)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}
