package admin

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/web/admin/plan"
)

// stale is a page of confirmation of an action, and a change after which it shows something else.
type stale struct {
	before func(w *staleWorld)        // what it needs
	path   func(w *staleWorld) string // of the page
	change func(w *staleWorld)        // nil where the plan depends on nothing that can change
}

// staleWorld is a system with what the pages of all actions need.
type staleWorld struct {
	*system
	t     *testing.T
	ctx   context.Context
	model *alloctest.Model
	id    alloc.ID // that somebody has
	owned alloc.Token
	made  string // address of what before has made
}

func (w *staleWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func at(path string) func(*staleWorld) string { return func(*staleWorld) string { return path } }

func (w *staleWorld) changePool() {
	st, err := w.svc.Pool(w.ctx, "pool-000")
	w.must(err)
	_, err = w.svc.ChangePool(w.ctx, "pool-000", st.Pool.Version, alloc.PoolConfig{Description: "another"})
	w.must(err)
}

func (w *staleWorld) changeSequence() {
	q, err := w.svc.Sequence(w.ctx, "sequence-000")
	w.must(err)
	_, err = w.svc.ChangeSequence(w.ctx, "sequence-000", q.Version, alloc.SequenceConfig{Limit: 3000})
	w.must(err)
}

func (w *staleWorld) setSequence(to alloc.SequenceState) {
	_, err := w.svc.SetSequenceState(w.ctx, "sequence-000", 0, to)
	w.must(err)
}

func (w *staleWorld) planned(margin alloc.Count) {
	_, err := w.svc.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: "sequence-000", Margin: margin})
	w.must(err)
}

// claimAnew has the ID go back and be taken by somebody else.
func (w *staleWorld) claimAnew() {
	_, err := w.svc.Settle(w.ctx, alloc.SettleRequest{Pool: "pool-000", Event: alloc.EventRelease, IDs: []alloc.ID{w.id}, Token: w.owned})
	w.must(err)
	_, err = w.svc.Sweep(w.ctx, "pool-000")
	w.must(err)
	for {
		c, err := w.svc.Claim(w.ctx, alloc.ClaimRequest{Pool: "pool-000", Count: 1})
		if w.must(err); c.IDs[0] == w.id {
			return
		}
	}
}

func (w *staleWorld) openSeeding() {
	w.made, _, _ = strings.Cut(w.upload("/pools/pool-000/seed", map[string]string{"plan": w.planOf("/pools/pool-000/seed"), "format": "text"}, "NEW-1\n").Header().Get("Location"), "/seed")
	w.tend()
}

func (w *staleWorld) cancelMade() {
	_, err := w.svc.CancelJob(w.ctx, alloc.JobID(strings.TrimPrefix(w.made, "/jobs/")))
	w.must(err)
}

func (w *staleWorld) credential() {
	c, _, err := w.svc.CreateCredential(w.ctx, alloc.CredentialRequest{Client: "shop", Scopes: []alloc.Scope{{Action: alloc.ActionRead, Pattern: "*"}}})
	w.must(err)
	w.made = "/credentials/" + string(c.ID)
}

func (w *staleWorld) changeCredential() {
	id := alloc.CredentialID(strings.TrimPrefix(w.made, "/credentials/"))
	c, err := w.svc.Credential(w.ctx, id)
	w.must(err)
	_, err = w.svc.ChangeCredential(w.ctx, id, c.Version, alloc.CredentialRequest{Scopes: c.Scopes, Description: "another"})
	w.must(err)
}

func made(rest string) func(*staleWorld) string {
	return func(w *staleWorld) string { return w.made + rest }
}

func (w *staleWorld) pausePool() { w.setPool("pool-000", alloc.PoolPaused) }

func (w *staleWorld) pauseSequence() { w.setSequence(alloc.SequencePaused) }

func (w *staleWorld) morePools() {
	_, _, err := w.svc.CreatePool(w.ctx, "pool-new", alloc.PoolConfig{})
	w.must(err)
	w.setPool("pool-new", alloc.PoolPaused)
	if w.stateOf("pool-000") == alloc.PoolActive {
		w.setPool("pool-new", alloc.PoolActive)
	}
}

var stalePages = map[string]stale{
	"pool.pause":  {nil, at("/pools/pool-000/pause"), (*staleWorld).changePool},
	"pool.resume": {(*staleWorld).pausePool, at("/pools/pool-000/resume"), (*staleWorld).changePool},
	"pool.drain":  {nil, at("/pools/pool-000/drain"), (*staleWorld).changePool},
	"pool.delete": {(*staleWorld).pausePool, at("/pools/pool-000/delete"), (*staleWorld).changePool},
	"pool.create": {nil, at("/new/pool?review=1&name=another"), nil},
	"pool.change": {nil, at("/pools/pool-000/edit?review=1&description=mine"), (*staleWorld).changePool},
	"pool.claim":  {nil, at("/pools/pool-000/claim"), (*staleWorld).pausePool},
	"pool.verify": {nil, at("/pools/pool-000/verify?review=1"), nil},
	"pool.count":  {nil, at("/pools/pool-000/count"), nil},
	"pool.export": {nil, at("/pools/pool-000/export?review=1&format=csv"), nil},
	"pool.rebuild": {nil, at("/pools/pool-000/rebuild"), func(w *staleWorld) {
		w.model.Damage(w.t, alloctest.Damage{Kind: alloctest.LoseHead, Pool: "pool-000"})
		w.model.Damage(w.t, alloctest.Damage{Kind: alloctest.LoseCopy, Pool: "pool-000"})
	}},
	"pool.seed":             {nil, at("/pools/pool-000/seed"), nil},
	"pool.release":          {nil, func(w *staleWorld) string { return "/pools/pool-000/ids/release?id=" + string(w.id) }, (*staleWorld).claimAnew},
	"pool.retire":           {nil, func(w *staleWorld) string { return "/pools/pool-000/ids/retire?id=" + string(w.id) }, (*staleWorld).claimAnew},
	"pools.pause":           {nil, at("/bulk/pools/pause?review=1"), (*staleWorld).morePools},
	"pools.resume":          {(*staleWorld).pausePool, at("/bulk/pools/resume?review=1"), (*staleWorld).morePools},
	"sequence.pause":        {nil, at("/sequences/sequence-000/pause"), (*staleWorld).changeSequence},
	"sequence.resume":       {(*staleWorld).pauseSequence, at("/sequences/sequence-000/resume"), (*staleWorld).changeSequence},
	"sequence.delete":       {(*staleWorld).pauseSequence, at("/sequences/sequence-000/delete"), (*staleWorld).changeSequence},
	"sequence.create":       {nil, at("/new/sequence?review=1&name=another"), nil},
	"sequence.change":       {nil, at("/sequences/sequence-000/edit?review=1&description=mine&limit=2500"), (*staleWorld).changeSequence},
	"sequence.verify":       {nil, at("/sequences/sequence-000/verify?review=1"), nil},
	"sequence.rebuild-plan": {nil, at("/sequences/sequence-000/rebuild/plan?review=1"), func(w *staleWorld) { w.planned(7) }},
	"sequence.rebuild-apply": {func(w *staleWorld) { w.planned(7) }, at("/sequences/sequence-000/rebuild/apply"), func(w *staleWorld) {
		w.planned(8)
	}},
	"sequence.rebuild-cancel": {func(w *staleWorld) { w.planned(7) }, at("/sequences/sequence-000/rebuild/cancel"), func(w *staleWorld) { w.planned(8) }},
	"sequence.rebuild-resume": {func(w *staleWorld) {
		w.planned(7)
		w.step("/sequences/sequence-000/rebuild/apply", "sequence-000")
	}, at("/sequences/sequence-000/rebuild/resume?review=1&share=100"), func(w *staleWorld) {
		w.step("/sequences/sequence-000/rebuild/plan?review=1", "sequence-000")
		w.step("/sequences/sequence-000/rebuild/apply", "sequence-000")
	}},
	"job.cancel":        {(*staleWorld).openSeeding, made("/cancel"), (*staleWorld).cancelMade},
	"job.check":         {(*staleWorld).openSeeding, made("/check"), (*staleWorld).cancelMade},
	"job.start":         {(*staleWorld).openSeeding, made("/start"), (*staleWorld).cancelMade},
	"credential.create": {nil, at("/new/credential?review=1&client=shop&scopes=read:*"), nil},
	"credential.change": {(*staleWorld).credential, made("/edit?review=1&scopes=read:*&description=mine"), (*staleWorld).changeCredential},
	"credential.rotate": {(*staleWorld).credential, made("/rotate?review=1&overlap=1"), (*staleWorld).changeCredential},
	"credential.revoke": {(*staleWorld).credential, made("/revoke"), (*staleWorld).changeCredential},
	"session.end":       {nil, at("/sessions/none/end"), nil},
}

func newStaleWorld(t *testing.T, page stale) *staleWorld {
	t.Helper()
	model := alloctest.NewModel(nil)
	w := &staleWorld{system: newSystem(t, model, root), t: t, ctx: alloc.WithCaller(t.Context(), root), model: model}
	w.fill(1)
	c, err := w.svc.Claim(w.ctx, alloc.ClaimRequest{Pool: "pool-000", Count: 1})
	w.must(err)
	w.id, w.owned = c.IDs[0], c.Token
	if page.before != nil {
		page.before(w)
	}
	return w
}

var reasonIn = regexp.MustCompile(`name="reason" value="([^"]*)"`)

// Of each action: a page that asks again has the very plan that was sent, with what was filled in beside it; where its target has changed there is no such
// page, as whoever has looked at the first plan would confirm another one unread.
func TestAPageThatAsksAgainHasThePlanThatWasSent(t *testing.T) {
	for _, a := range (&dashboard{}).actions() {
		page, ok := stalePages[a.verb]
		if !ok {
			t.Errorf("no page of %s is tried", a.verb)
			continue
		}
		t.Run(a.verb, func(t *testing.T) {
			w := newStaleWorld(t, page)
			path := page.path(w)
			first := w.page(path)
			reason := strings.Repeat("x", alloc.MaxReason+1)
			form := url.Values{"plan": {html.UnescapeString(planIn(t, first))}, "typed": {"imv"}, "reason": {reason}}
			again := w.post(path, form)
			if again.Code != http.StatusUnprocessableEntity {
				t.Fatalf("of what has not changed: %d, want 422\n%s", again.Code, again.Body)
			}
			if a.page == nil {
				if got := html.UnescapeString(planIn(t, again.Body.String())); got != form.Get("plan") {
					t.Error("the page has another plan than was sent")
				}
				if m := reasonIn.FindStringSubmatch(again.Body.String()); strings.Contains(first, `name="reason"`) && (m == nil || m[1] != reason) {
					t.Errorf("the page has lost the reason: %q", m)
				}
			}
			if page.change == nil {
				return
			}
			page.change(w)
			for _, form := range []url.Values{form, {"plan": form["plan"]}} {
				if missing(w.opened(a, form), asked{reason: form.Get("reason")}, form.Get("typed")) == "" {
					continue
				}
				if now := w.post(path, form); now.Code != http.StatusConflict || strings.Contains(now.Body.String(), `name="plan"`) {
					t.Errorf("of what has changed: %d, want 409 without another plan\n%s", now.Code, now.Body)
				}
			}
		})
	}
}

// opened is the plan of a form.
func (w *staleWorld) opened(a action, form url.Values) plan.Plan {
	w.t.Helper()
	p, err := plan.Open(w.ctx, w.svc, form.Get("plan"), a.verb, string(root.Client))
	w.must(err)
	return p
}

// Who has looked at one plan and mistypes does not confirm that of somebody else.
func TestAMistypedNameDoesNotBringThePlanOfAnother(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	const at = "/sequences/sequence-000/rebuild"
	s.step(at + "/plan?review=1&margin=300")
	mine := url.Values{"plan": {s.planOf(at + "/apply")}, "typed": {"imv"}, "reason": {"it is behind"}}
	s.step(at + "/plan?review=1&margin=10")
	if w := s.post(at+"/apply", mine); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), `<a href="`+at+`/apply">Make a new plan</a>`) {
		t.Errorf("%d, want 409 with a link to a new plan\n%s", w.Code, w.Body)
	}
	b, err := s.svc.Rebuild(alloc.WithCaller(t.Context(), root), "sequence-000")
	if err != nil || b.Step != alloc.RebuildPlanned {
		t.Errorf("the rebuild is %s, %v", b.Step, err)
	}
}

// Of many pools as of one: what is asked to be typed is what was asked first, or there is a new plan.
func TestAListOfPoolsThatHasGrownNeedsANewPlan(t *testing.T) {
	s, _ := asOperator(t, bulkTyped+1)
	const path = "/bulk/pools/pause?review=1"
	form := url.Values{"plan": {s.planOf(path)}, "reason": {"a complaint"}, "typed": {"11 pool"}}
	if w := s.post(path, form); w.Code != http.StatusUnprocessableEntity || strings.Count(w.Body.String(), "11 pools") < 2 {
		t.Errorf("before there is another: %d\n%s", w.Code, w.Body)
	}
	ctx := alloc.WithCaller(t.Context(), root)
	if _, _, err := s.svc.CreatePool(ctx, "pool-new", alloc.PoolConfig{}); err != nil {
		t.Fatal(err)
	}
	w := s.post(path, form)
	if w.Code != http.StatusConflict || strings.Contains(w.Body.String(), fmt.Sprintf("%d pools", bulkTyped+2)) {
		t.Errorf("with another: %d, want 409\n%s", w.Code, w.Body)
	}
}
