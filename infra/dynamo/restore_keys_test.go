package dynamo_test

import (
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/infra/dynamo/dynamotest"
)

// A claim with a key is cut off when it has the first of its IDs, then the backup is made. After it the second is lost to somebody else, and the
// claim is carried out with another. In the restored table its record still names what was lost, and there is nothing to put in its place: a repeat must
// not give back what the client has.
func TestARepeatAfterARestoreTakesNothingFromItsClient(t *testing.T) {
	mem, clock := dynamotest.NewMemory(), alloctest.NewClock()
	f := onMemory(mem)
	ctx := t.Context()
	s := f.Open(t, clock.Now)
	config := alloc.PoolConfig{}.WithDefaults()
	if _, _, err := s.CreatePool(ctx, "p", config); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Seed(ctx, alloc.SeedBatch{Pool: "p", Job: "first", IDs: []alloc.ID{"a", "b", "c", "d"}}); err != nil {
		t.Fatal(err)
	}
	keyed := alloc.ClaimOrder{Pool: "p", Count: 2, By: "client", Key: alloc.NewKey("client", "claim", "p", "k")}
	claimCutOff(t, f, clock, keyed)
	backup := f.Clone(t)

	other := f.Open(t, clock.Now)
	var taken []alloc.Claim
	for range 3 {
		c, err := other.Claim(ctx, alloc.ClaimOrder{Pool: "p", Count: 1, By: "other"})
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, c)
	}
	if _, err := other.Settle(ctx, alloc.SettleOrder{Pool: "p", Event: alloc.EventRelease, IDs: taken[0].IDs, Token: taken[0].Token}); err != nil {
		t.Fatal(err)
	}
	swept(t, f, clock)
	told, err := f.Open(t, clock.Now).Claim(ctx, keyed)
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := s.WalkIDs(ctx, "p", "", "", 10)
	if err != nil {
		t.Fatal(err)
	}

	restored := backup.Open(t, clock.Now)
	if _, err := restored.Carry(ctx, "p", clock.Now(), records); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c, err := backup.Open(t, clock.Now).Claim(ctx, keyed)
		if err != nil || c.Token != told.Token || !c.Replayed {
			t.Errorf("a repeat: got %+v and %v, want what of it the token %s has", c, err, told.Token)
		}
		clock.Advance(time.Hour)
		swept(t, backup, clock)
	}
	if c, err := backup.Open(t, clock.Now).Claim(ctx, alloc.ClaimOrder{Pool: "p", Count: 1}); !alloc.Is(err, alloc.CodePoolExhausted) {
		t.Errorf("after it: got %v and %v, want an exhausted pool; the client was told that it has %v", c.IDs, err, told.IDs)
	}
}

// claimCutOff makes a claim that ends with its process once one of its IDs is claimed.
func claimCutOff(t *testing.T, f alloctest.Fixture, clock *alloctest.Clock, o alloc.ClaimOrder) {
	t.Helper()
	for calls := range 100 {
		g := f.Clone(t)
		if _, err := g.Through(t, clock.Now, dying(calls)).Claim(t.Context(), o); err == nil {
			break
		}
		if g.Census(t, o.Pool)[alloc.StateClaimed] == 1 {
			if _, err := f.Through(t, clock.Now, dying(calls)).Claim(t.Context(), o); err == nil || f.Census(t, o.Pool)[alloc.StateClaimed] != 1 {
				t.Fatal("the claim does not do the same again")
			}
			return
		}
	}
	t.Fatal("no cut leaves the claim half done")
}

// dying lets so many calls pass.
func dying(calls int) func() alloctest.Fault {
	passes := slices.Repeat([]alloctest.Fault{alloctest.Pass}, calls)
	return func() (next alloctest.Fault) {
		if len(passes) == 0 {
			return alloctest.RefusedUnknown
		}
		next, passes = passes[0], passes[1:]
		return next
	}
}

func swept(t *testing.T, f alloctest.Fixture, clock *alloctest.Clock) {
	t.Helper()
	for range 3 {
		if _, err := f.Open(t, clock.Now).Sweep(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
	}
}
