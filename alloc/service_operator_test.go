package alloc_test

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

func TestAnOperatorSettlesInPlaceOfTheOwner(t *testing.T) {
	clock := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return clock }
	svc, err := alloc.NewService(alloc.Config{Store: alloctest.NewModel(now), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	admin := alloc.WithCaller(t.Context(), alloc.Caller{Client: "admin", Scopes: alloc.AllScopes()})
	operator := alloc.WithCaller(t.Context(), alloc.Caller{Client: "op", Scopes: alloc.RoleOperator.Scopes()})
	viewer := alloc.WithCaller(t.Context(), alloc.Caller{Client: "looker", Scopes: alloc.RoleViewer.Scopes()})
	if _, _, err := svc.CreatePool(admin, "p", alloc.PoolConfig{}); err != nil {
		t.Fatal(err)
	}
	if _, err := svc.Seed(admin, alloc.SeedRequest{Pool: "p", Entries: []alloc.SeedEntry{{Line: 1, Raw: "A"}}}); err != nil {
		t.Fatal(err)
	}
	free, err := svc.InspectID(operator, "p", "A")
	if err != nil {
		t.Fatal(err)
	}
	claim, err := svc.Claim(admin, alloc.ClaimRequest{Pool: "p", Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	owned, err := svc.InspectID(operator, "p", "A")
	if err != nil {
		t.Fatal(err)
	}
	another := owned
	another.Token = "another"
	untold, others := owned, owned // as one sees it who is not shown the token
	untold.Token, others.Token, others.By = "", "", "shop"
	early := untold
	early.Generation--
	for name, tt := range map[string]struct {
		was   alloc.IDRecord
		event alloc.Event
		by    string
		want  alloc.Code
	}{
		"by who may only look":  {owned, alloc.EventRelease, "viewer", alloc.CodeForbidden},
		"as it was before":      {free, alloc.EventRelease, "operator", alloc.CodeNotOwner},
		"of another owner":      {another, alloc.EventRetire, "operator", alloc.CodeNotOwner},
		"of another client":     {others, alloc.EventRetire, "operator", alloc.CodeNotOwner},
		"of another life":       {early, alloc.EventRetire, "operator", alloc.CodeNotOwner},
		"what is no ID":         {alloc.IDRecord{Pool: "p", By: "admin"}, alloc.EventRetire, "operator", alloc.CodeInvalidID},
		"another step":          {owned, alloc.EventConfirm, "operator", alloc.CodeInvalidRequest},
		"an ID that is unknown": {alloc.IDRecord{Pool: "p", ID: "B", Token: "x"}, alloc.EventRetire, "operator", alloc.CodeIDNotFound},
	} {
		ctx := operator
		if tt.by == "viewer" {
			ctx = viewer
		}
		if _, err := svc.SettleFor(ctx, alloc.OperatorRequest{Was: tt.was, Event: tt.event, Why: "a test"}); !alloc.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
	for _, was := range []alloc.IDRecord{untold, owned} { // a repeat is a success
		if _, err := svc.SettleFor(operator, alloc.OperatorRequest{Was: was, Event: alloc.EventRelease, Why: "the customer has left"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := svc.Settle(admin, alloc.SettleRequest{Pool: "p", Event: alloc.EventConfirm, IDs: claim.IDs, Token: claim.Token}); err == nil {
		t.Error("its owner still has it")
	}
	if _, err := svc.Sweep(admin, "p"); err != nil {
		t.Fatal(err)
	}
	if again, err := svc.InspectID(operator, "p", "A"); err != nil || again.State != alloc.StateFree || again.Generation != owned.Generation+1 {
		t.Errorf("it did not come back: %+v, %v", again, err)
	}
	for _, was := range []alloc.IDRecord{untold, owned} {
		if _, err := svc.SettleFor(operator, alloc.OperatorRequest{Was: was, Event: alloc.EventRetire}); !alloc.Is(err, alloc.CodeNotOwner) {
			t.Errorf("of the life before: got %v, want not_owner", err)
		}
	}
	records, _, err := svc.Trail(admin, alloc.TrailFilter{}, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, r := range records {
		if r.Action == "pool.release" && r.Result == "ok" && r.Reason == "the customer has left" && r.Client == "op" {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("the trail has %d of 2 releases", kept)
	}
}
