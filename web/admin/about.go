package admin

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
	"idpool/web/admin/plan"
	"idpool/web/admin/signin"
)

// afterSession is where in the query the list of sessions goes on.
const afterSession = "sessions_after"

// roleWords are what each role may do.
var roleWords = map[alloc.Role]string{
	alloc.RoleViewer:   "looks at everything but credentials and the sessions of others, and counts",
	alloc.RoleOperator: "may pause and resume too, and claim, release and retire IDs",
	alloc.RoleAdmin:    "may do everything",
}

// about says what runs here, and who is signed in.
func (d *dashboard) about(r *http.Request) (templ.Component, error) {
	if err := web.RequireCaller(r); err != nil {
		return nil, err
	}
	own, signed := signin.SessionOf(r.Context())
	p := templates.AboutPage{Frame: d.frame(r, "About"), Facts: d.systemFacts()}
	for _, role := range alloc.Roles() {
		p.Roles = append(p.Roles, templates.RoleRow{Name: string(role), May: roleWords[role], Given: d.roleGiven(role), Yours: signed && own.Role == role})
	}
	if d.gate == nil {
		p.Hidden = "Nobody signs in here: whoever can reach this address looks at it."
		return templates.About(p), nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	q := listQuery{values: r.URL.Query(), path: "/about"}
	found, next, err := d.svc.Sessions(ctx, q.cursor(afterSession), q.limit())
	switch {
	case alloc.Is(err, alloc.CodeForbidden):
		p.Hidden = "Administrators see here who is signed in."
		return templates.About(p), nil
	case err != nil:
		p.Failure = failure(r, err, q.again(afterSession, err))
		return templates.About(p), nil
	}
	p.Paging = q.paging(afterSession, next)
	for _, s := range found {
		row := templates.SessionRow{
			Name: s.Name, Client: string(s.Client), Role: string(s.Role), Address: s.Address, Agent: s.Agent,
			Begun: clock(s.Created, d.now()), Seen: clock(s.Seen, d.now()), Yours: signed && s.ID == own.ID,
		}
		if !d.readOnly {
			row.End = "/sessions/" + url.PathEscape(string(s.ID)) + "/end"
		}
		p.Sessions = append(p.Sessions, row)
	}
	return templates.About(p), nil
}

// systemFacts say what runs here.
func (d *dashboard) systemFacts() []templates.Fact {
	facts := append([]templates.Fact{{Term: "Environment", Value: d.environment}}, d.facts...)
	if b, ok := debug.ReadBuildInfo(); ok {
		facts = append(facts, templates.Fact{Term: "Version", Value: cmp.Or(strings.Trim(b.Main.Version, "()"), "devel"), Note: "built by " + b.GoVersion})
	}
	if d.readOnly {
		return append(facts, templates.Fact{Term: "Changes", Value: "none: this dashboard is read-only"})
	}
	return facts
}

// roleGiven says who has a role here.
func (d *dashboard) roleGiven(role alloc.Role) string {
	switch {
	case d.gate == nil:
		return ""
	case d.gate.Issuer != nil:
		if values := d.gate.Issuer.Roles[role]; len(values) > 0 {
			return "whose " + d.gate.Issuer.RoleClaim + " at " + d.gate.Issuer.URL + " is " + strings.Join(values, " or ")
		}
		return "nobody"
	case role == alloc.RoleAdmin && d.gate.Once != nil:
		return "whoever signs in by an address of one use"
	}
	return "nobody"
}

// sessionActions are the steps that can be taken with sessions.
func (d *dashboard) sessionActions() []action {
	return []action{{
		path: "/sessions/{session}/end", verb: "session.end", need: alloc.ActionCredentials,
		propose: func(r *http.Request) (proposal, error) {
			id := r.PathValue("session")
			if !may(r, alloc.ActionCredentials, "*") {
				return proposal{}, alloc.Errorf(alloc.CodeForbidden, "only administrators end the sessions of others")
			}
			return proposal{
				name: "*", target: "session/" + id, params: map[string]string{"session": id}, title: "End a session", button: "End session", back: "/about", reason: true,
				facts:  d.sessionFacts(r, alloc.SessionID(id)),
				twin:   call{method: http.MethodDelete, path: "/v1/sessions/" + url.PathEscape(id), keyed: true}.twin(),
				effect: []string{"Whoever has it is signed out at once, and may sign in again: take the role away at the issuer to keep somebody out."},
			}, nil
		},
		carry: func(ctx context.Context, p plan.Plan, _ asked, _ alloc.Attempt) (outcome, error) {
			_, err := d.svc.EndSession(ctx, alloc.SessionID(p.Params["session"]))
			return outcome{Location: "/about", Done: "session-ended"}, err
		},
	}}
}

// sessionFacts say whose a session is, where it is among those that the page of sessions begins with; its ID, which tells nobody anything, is in the address.
func (d *dashboard) sessionFacts(r *http.Request, id alloc.SessionID) []templates.Fact {
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	found, _, err := d.svc.Sessions(ctx, "", 100)
	if err != nil {
		return []templates.Fact{{Term: "Whose", Value: failure(r, err, "").Message}}
	}
	for _, s := range found {
		if s.ID == id {
			return []templates.Fact{
				{Term: "Whose", Value: s.Name, Note: string(s.Client)},
				{Term: "Role", Value: string(s.Role)},
				{Term: "From", Value: s.Address, Note: s.Agent},
				{Term: "Begun", Time: clock(s.Created, d.now())},
				{Term: "Last seen", Time: clock(s.Seen, d.now())},
			}
		}
	}
	return []templates.Fact{{Term: "Session", Value: string(id), Mono: true}}
}

// help says what keys there are, and what the words mean.
func (d *dashboard) help(r *http.Request) (templ.Component, error) {
	if err := web.RequireCaller(r); err != nil {
		return nil, err
	}
	return templates.Help(templates.HelpPage{
		Frame: d.frame(r, "Help"),
		Keys: []templates.Fact{
			{Term: "/", Value: "find"},
			{Term: "r", Value: "bring the page up to date"},
			{Term: "?", Value: "this page"},
			{Term: "g o", Value: "overview"},
			{Term: "g p", Value: "pools"},
			{Term: "g s", Value: "sequences"},
			{Term: "g j", Value: "jobs"},
			{Term: "g a", Value: "audit"},
			{Term: "g c", Value: "credentials"},
			{Term: "g i", Value: "about"},
		},
		Words: []templates.Fact{
			{Term: "Pool", Value: "ready-made IDs, each of which is claimed once"},
			{Term: "Sequence", Value: "numbers, leased in ranges that never overlap"},
			{Term: "Hold", Value: "a claim that ends by itself unless it is confirmed"},
			{Term: "Epoch", Value: "which life of a sequence's counter; a rebuild begins another"},
			{Term: "High-water mark", Value: "the highest number that is known to be used, kept apart from the counter"},
			{Term: "Low mark, target", Value: "below the one the schedule fills a pool, up to the other"},
			{Term: "Burned", Value: "numbers or IDs that nobody gets, to be on the safe side"},
		},
	}), nil
}
