package dynamo_test

import (
	"testing"
	"time"

	"idpool/alloc"
)

// What an environment took into memory and did not claim is on the board, comes back by the sweep, and is never called stranded.
func TestStockThatComesBackIsNotStranded(t *testing.T) {
	b := filled(t, 1000, alloc.PoolConfig{})
	if _, err := b.open().Claim(t.Context(), alloc.ClaimOrder{Pool: "p", Count: 1, By: "gone"}); err != nil {
		t.Fatal(err)
	}
	svc, err := alloc.NewService(alloc.Config{Store: b.open(), Now: b.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx := alloc.AsSchedule(t.Context())
	most := alloc.Count(0)
	for range 30 {
		b.clock.Advance(time.Minute)
		if _, err := svc.Tend(ctx); err != nil {
			t.Fatal(err)
		}
		board, err := svc.Board(alloc.WithCaller(t.Context(), alloc.Caller{Client: "c", Scopes: alloc.AllScopes()}))
		if err != nil || len(board.Pools) != 1 {
			t.Fatalf("%+v, %v", board, err)
		}
		p := board.Pools[0]
		most = max(most, p.Stock)
		if p.IsStranded() || p.IsBehind() {
			t.Errorf("at %s: %+v", b.clock.Now(), p)
		}
	}
	board, err := svc.Board(alloc.WithCaller(t.Context(), alloc.Caller{Client: "c", Scopes: alloc.AllScopes()}))
	if err != nil || board.Pools[0].Stock != 0 || most == 0 {
		t.Errorf("at most %d were in memory, and at the end %d, %v; want some, and none", most, board.Pools[0].Stock, err)
	}
}
