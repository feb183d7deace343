package alloc_test

import (
	"fmt"
	"strings"
	"testing"

	"idpool/alloc"
)

// How many IDs wait for their place in a pool may be known by whoever reads the pool, but not which: they are free codes.
func TestAReaderIsNotToldWhichIDsWait(t *testing.T) {
	p := newPlant(t, filled(10, 20, random))
	config := filled(10, 20, random)
	config = config.WithDefaults()
	if _, err := p.model.ChangeRefill(t.Context(), 0, alloc.Refill{Pool: pool, Batch: "batch", IDs: []alloc.ID{"SECRET-1", "SECRET-2"}, Filling: true, Generator: config.Generator}); err != nil {
		t.Fatal(err)
	}
	r, err := p.PoolRefill(as(t.Context(), "reader", alloc.Scope{Action: alloc.ActionRead, Pattern: string(pool)}), pool)
	if err != nil || r.Waiting != 2 || !r.Filling || r.Version != 1 {
		t.Errorf("got %+v, %v, want two that wait", r, err)
	}
	if strings.Contains(fmt.Sprintf("%+v", r), "SECRET") {
		t.Errorf("%+v tells which", r)
	}
}
