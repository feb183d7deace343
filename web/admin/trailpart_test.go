package admin

import (
	"fmt"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// The page of a thing shows what was done with it, and nothing of what was done with others.
func TestTheTrailOfAThingStandsOnItsPage(t *testing.T) {
	model := alloctest.NewModel(nil)
	s := newSystem(t, model, root)
	s.fill(2)
	ctx := alloc.WithCaller(t.Context(), root)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.svc.SetPoolState(ctx, "pool-000", 0, alloc.PoolPaused)
	check(err)
	_, err = s.svc.SetSequenceState(ctx, "sequence-000", 0, alloc.SequencePaused)
	check(err)
	was, err := s.svc.InspectID(ctx, "pool-000", "ID-0")
	check(err)
	_, err = s.svc.SettleFor(ctx, alloc.OperatorRequest{Was: was, Event: alloc.EventRelease, Why: "not <b> wanted"})
	check(err)
	c, _, err := s.svc.CreateCredential(ctx, alloc.CredentialRequest{Client: "shop", Scopes: viewer.Scopes})
	check(err)
	j, err := s.svc.Export(ctx, alloc.ExportRequest{Pool: "pool-000", Format: "csv"})
	check(err)
	_, err = s.svc.CancelJob(ctx, j.ID)
	check(err)
	for path, want := range map[string]struct{ has, hasNot, all string }{
		"/pools/pool-000":              {"pool.pause", "sequence.pause", "/audit?target=pool%2Fpool-000"},
		"/pools/pool-001":              {"pool.create", "pool.pause", "/audit?target=pool%2Fpool-001"},
		"/sequences/sequence-000":      {"sequence.pause", "pool.pause", "/audit?target=sequence%2Fsequence-000"},
		"/credentials/" + string(c.ID): {"credential.create", "pool.pause", "/audit?target=credential%2F" + string(c.ID)},
		"/pools/pool-000/ids?id=ID-0":  {"not &lt;b&gt; wanted", "pool.pause", "/audit?target=pool%2Fpool-000"},
		"/jobs/" + string(j.ID):        {"pool.cancel-export", "pool.pause", "/audit?from="},
	} {
		page := s.page(path)
		_, part, _ := strings.Cut(page, `<h2 id="trail">`)
		if !strings.Contains(part, want.has) || strings.Contains(part, want.hasNot) || !strings.Contains(part, `href="`+want.all) {
			t.Errorf("%s: the trail lacks %q or has %q:\n%s", path, want.has, want.hasNot, part)
		}
	}
	if page := s.page("/pools/pool-000/ids?id=ID-1"); !strings.Contains(page, "No record is about it.") {
		t.Error("an ID of which nothing is said has no trail")
	}
	some := newSystem(t, model, alloc.Caller{Client: "some", Scopes: []alloc.Scope{{Action: alloc.ActionRead, Pattern: "pool-000"}}})
	if page := some.page("/pools/pool-000"); strings.Contains(page, `id="trail"`) {
		t.Error("who may not read the trail is shown a part of it")
	}
}

// A long trail costs a page no more than a short one, and the page says that it has not looked at all of it.
func TestTheTrailOfAThingIsReadToABound(t *testing.T) {
	faulty := alloctest.NewFaulty(alloctest.NewModel(nil), nil)
	s := newSystem(t, faulty, root)
	s.fill(2)
	for i := range 3 * trailPartPage {
		if _, err := s.svc.SetPoolState(alloc.WithCaller(t.Context(), root), "pool-000", 0, []alloc.PoolState{alloc.PoolPaused, alloc.PoolActive}[i%2]); err != nil {
			t.Fatal(err)
		}
	}
	before := len(faulty.Calls())
	page := s.page("/pools/pool-001")
	if want := fmt.Sprintf("among the last %d records", trailPartPages*trailPartPage); !strings.Contains(page, want) {
		t.Errorf("the page does not say %q", want)
	}
	reads := 0
	for _, c := range faulty.Calls()[before:] {
		if c.Method == "Records" {
			reads++
		}
	}
	if reads > trailPartPages {
		t.Errorf("%d reads of the trail, want %d at most", reads, trailPartPages)
	}
}
