package admin

import (
	"context"
	"net/http"
	"net/url"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web/admin/plan"
)

// recentShown is how many recent claims a pool's page shows at most.
const recentShown = 10

// claimActions is the step that takes one ID by hand.
func (d *dashboard) claimActions() []action {
	return []action{{
		path: "/pools/{pool}/claim", verb: "pool.claim", need: alloc.ActionClaim, propose: d.proposeClaim,
		carry: func(ctx context.Context, p plan.Plan, _ asked, _ alloc.Attempt) (outcome, error) {
			name := alloc.PoolName(p.Name)
			c, err := d.svc.Claim(ctx, alloc.ClaimRequest{Pool: name, Count: 1, Key: p.Operation, Print: "page"})
			if err != nil {
				return outcome{}, err
			}
			return outcome{Location: claimedAddress(name, c.IDs[0])}, nil
		},
	}}
}

func claimedAddress(pool alloc.PoolName, id alloc.ID) string {
	return poolAddress(pool) + "/claimed?id=" + url.QueryEscape(string(id))
}

// claimTwin is the request that takes one ID.
func claimTwin(pool alloc.PoolName) templates.Call {
	return call{method: http.MethodPost, path: "/v1" + poolAddress(pool) + "/claims", keyed: true, body: `{"count":1}`}.twin()
}

func (d *dashboard) proposeClaim(r *http.Request) (proposal, error) {
	st, err := d.svc.Pool(r.Context(), alloc.PoolName(r.PathValue("pool")))
	if err != nil {
		return proposal{}, err
	}
	p := st.Pool
	if err := p.CheckClaim(alloc.ClaimOrder{Pool: p.Name, Count: 1, Key: &alloc.Key{}}); err != nil {
		return proposal{}, err
	}
	effects := []string{"You get an ID that nobody has, and the next page shows it.", "It is yours for good, unless it is released on its page."}
	if p.Config.Policy == alloc.PolicyForget {
		effects[1] = "It is yours for good, and the pool forgets it a day later."
	}
	return proposal{
		name: string(p.Name), target: "pool/" + string(p.Name), title: "Claim an ID of " + string(p.Name), button: "Claim ID",
		facts: poolFacts(st), effect: effects, unrecorded: true, twin: claimTwin(p.Name), back: poolAddress(p.Name),
	}, nil
}

// claimedPage shows an ID that was just claimed.
func (d *dashboard) claimedPage(r *http.Request) (templ.Component, error) {
	pool := alloc.PoolName(r.PathValue("pool"))
	rec, err := d.svc.InspectID(r.Context(), pool, r.URL.Query().Get("id"))
	if err != nil {
		return nil, err
	}
	p := templates.ClaimedPage{
		Frame: d.frame(r, "An ID of "+string(pool)), Pool: string(pool), Back: poolAddress(pool), ID: string(rec.ID), State: idState(rec), Facts: idFacts(rec, d.now())[1:],
		Buttons: []templates.Link{{Text: "Inspect ID", Href: idAddress(pool, rec.ID)}}, Twin: claimTwin(pool),
	}
	if !d.readOnly && may(r, alloc.ActionClaim, string(pool)) {
		p.Buttons = append(p.Buttons, templates.Link{Text: "Claim another ID", Href: poolAddress(pool) + "/claim"})
	}
	return templates.Claimed(p), nil
}

// recentClaims are the IDs of a pool that were taken last.
func (d *dashboard) recentClaims(r *http.Request, pool alloc.PoolName) (panel templates.RecentPanel) {
	if isRefresh(r) {
		return panel
	}
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	found, err := d.svc.RecentClaims(ctx, pool, recentShown)
	if err != nil {
		panel.Failure = failure(r, err, r.URL.RequestURI())
		return panel
	}
	for _, rec := range found {
		panel.Rows = append(panel.Rows, templates.RecentRow{
			ID: string(rec.ID), Href: idAddress(pool, rec.ID), By: string(rec.By), Owner: rec.Owner, At: clock(rec.At, d.now()), State: idState(rec),
		})
	}
	return panel
}

// isRefresh reports whether the page is asked for by its own script, for its live parts alone: no other part needs to be read.
func isRefresh(r *http.Request) bool { return r.Header.Get("X-Requested-With") == "refresh" }
