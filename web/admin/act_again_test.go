package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"idpool/alloc"
)

// What a page of confirmation names, after something was missing in it, is what its plan does.
func TestTheSecondPageOfConfirmationIsOfTheSamePlan(t *testing.T) {
	s, _ := asOperator(t, bulkTyped+1)
	const path = "/bulk/pools/pause?review=1"
	form := url.Values{"plan": {s.planOf(path)}, "reason": {"a complaint"}, "typed": {"11 pool"}}
	ctx := alloc.WithCaller(t.Context(), root)
	if _, _, err := s.svc.CreatePool(ctx, "pool-new", alloc.PoolConfig{}); err != nil {
		t.Fatal(err)
	}
	w := s.post(path, form)
	if w.Code != http.StatusUnprocessableEntity {
		t.Fatalf("%d", w.Code)
	}
	again := url.Values{"plan": {planIn(t, w.Body.String())}, "reason": {"a complaint"}, "typed": {"12 pools"}}
	if !strings.Contains(w.Body.String(), "pool-new") || !strings.Contains(w.Body.String(), "12 pools") {
		t.Error("the page shows another proposal than there is by now")
	}
	if w := s.post(path, again); w.Code != http.StatusOK {
		t.Errorf("what the page asks to be typed is refused: %d", w.Code)
	}
	if p, err := s.svc.Pool(ctx, "pool-new"); err != nil || p.Pool.State != alloc.PoolPaused {
		t.Errorf("what the page named is %+v, %v", p, err)
	}
}
