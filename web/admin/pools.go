package admin

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
	"idpool/web/admin/plan"
)

var poolSteps = []stateStep[alloc.PoolState]{
	{segment: "pause", need: alloc.ActionOperate, to: alloc.PoolPaused, button: "Pause pool", title: "Pause the pool %s", done: "paused", method: http.MethodPost, effect: []string{
		"Claims are refused with pool_paused until somebody resumes it; a repeat of an earlier claim still gets its answer.",
		"What is claimed or held stays so, and can be confirmed, released and retired.",
		"Every environment knows it within 30 seconds.",
	}},
	{segment: "resume", need: alloc.ActionOperate, to: alloc.PoolActive, button: "Resume pool", title: "Resume the pool %s", done: "resumed", method: http.MethodPost, effect: []string{
		"Claims are served again, in every environment within 30 seconds.",
	}},
	{segment: "drain", need: alloc.ActionManage, to: alloc.PoolDraining, button: "Drain pool", title: "Drain the pool %s", done: "draining", method: http.MethodPost, effect: []string{
		"Claims go on until nothing is left, and nothing is added: seeding and refilling are refused.",
		"It can be resumed at any time.",
	}},
	{segment: "delete", need: alloc.ActionManage, to: alloc.PoolDeleted, button: "Delete pool", title: "Delete the pool %s", done: "deleted", danger: true, method: http.MethodDelete, effect: []string{
		"Nobody can claim an ID of it any more. This cannot be undone.",
		"Its name stays taken for ever, so that no ID of it can ever be handed out a second time.",
		"What was claimed can still be confirmed, released or retired by its owner.",
	}},
}

// poolActions are the steps that can be taken with one pool.
func (d *dashboard) poolActions() []action {
	var all []action
	for _, s := range poolSteps {
		all = append(all, action{
			path: "/pools/{pool}/" + s.segment, verb: "pool." + s.segment, need: s.need,
			propose: func(r *http.Request) (proposal, error) { return d.proposePoolState(r, s) },
			carry: func(ctx context.Context, p plan.Plan, _ asked, _ alloc.Attempt) (outcome, error) {
				name := alloc.PoolName(p.Name)
				if _, err := d.svc.SetPoolState(ctx, name, p.Version, s.to); err != nil {
					return outcome{}, err
				}
				if s.to == alloc.PoolDeleted {
					return outcome{Location: "/pools", Done: s.done}, nil
				}
				return outcome{Location: poolAddress(name), Done: s.done}, nil
			},
		})
	}
	return all
}

func (d *dashboard) proposePoolState(r *http.Request, s stateStep[alloc.PoolState]) (proposal, error) {
	st, err := d.svc.Pool(r.Context(), alloc.PoolName(r.PathValue("pool")))
	if err != nil {
		return proposal{}, err
	}
	p := st.Pool
	switch err := p.CheckTo(s.to); {
	case alloc.Is(err, alloc.CodePoolActive):
		return proposal{}, first(r, err, string(p.Name), poolAddress(p.Name), poolSteps, "pause", "drain")
	case err != nil:
		return proposal{}, err
	}
	return s.propose(string(p.Name), "/v1"+poolAddress(p.Name), p.Version, proposal{
		target: "pool/" + string(p.Name), facts: poolFacts(st), back: poolAddress(p.Name),
	}), nil
}

// poolFacts are what a page of confirmation says of a pool.
func poolFacts(st alloc.PoolStatus) []templates.Fact {
	p := st.Pool
	facts := []templates.Fact{
		{Term: "Pool", Value: string(p.Name), Href: poolAddress(p.Name)},
		{Term: "State", Value: string(p.State)},
		{Term: "Version", Value: strconv.FormatInt(int64(p.Version), 10)},
	}
	if st.LevelError == nil {
		l := st.Level
		facts = append(facts, templates.Fact{Term: "Available", Value: grouped(l.Available)},
			templates.Fact{Term: "Claimed", Value: grouped(l.Claimed), Note: others(l)})
	}
	return facts
}

func poolAddress(name alloc.PoolName) string { return "/pools/" + url.PathEscape(string(name)) }

// The query of the list of pools.
const (
	queryPart  = "q"
	queryState = "state"
	queryOrder = "sort"
)

// poolsPage is the list of pools, by the board of the schedule's last run.
func (d *dashboard) poolsPage(r *http.Request) (templ.Component, error) {
	if err := web.RequireCaller(r); err != nil {
		return nil, err
	}
	q := listQuery{values: r.URL.Query(), path: "/pools"}
	query, fields := boardQuery(r, q, alloc.BoardStates())
	p := templates.PoolsPage{
		Frame: d.liveFrame(r, "Pools"), Buttons: append(d.createButton(r, "pool"), d.bulkButtons(r, query)...), Fields: fields, Clear: "/pools", Filtered: query.Text != "" || query.State != "",
	}
	p.Note, p.Panel = d.poolsBy(r, query, q)
	return templates.Pools(p), nil
}

// boardQuery is what the query asks for; what it does not know counts as not asked, and its field says so.
func boardQuery(r *http.Request, q listQuery, known []string) (query alloc.BoardQuery, fields []templates.Field) {
	v := filled(r)
	query.Text = v.text(queryPart)
	if len(query.Text) > maxPart {
		query.Text = query.Text[:maxPart]
	}
	switch state := v.text(queryState); {
	case slices.Contains(known, state):
		query.State = state
	case state != "":
		v.problems[queryState] = "There is no such state; any is shown."
	}
	query.Order = alloc.ByUrgency
	switch order := alloc.Order(v.text(queryOrder)); {
	case order == alloc.ByName, order == alloc.ByAvailable:
		query.Order = order
	case order != "" && order != alloc.ByUrgency:
		v.problems[queryOrder] = "There is no such order; the urgent are first."
	}
	if n := v.text(pageSize); n != "" && n != strconv.Itoa(q.limit()) {
		v.problems[pageSize] = "A page has 25, 50 or 100."
	}
	states := [][2]string{{"", "any"}}
	for _, s := range known {
		states = append(states, [2]string{s, s})
	}
	fields = []templates.Field{
		textField(queryPart, "Part of the name", query.Text, ""),
		choice(queryState, "State", "", query.State, states...),
		choice(queryOrder, "Order", "", string(query.Order), [2]string{string(alloc.ByUrgency), "urgent first"}, [2]string{string(alloc.ByName), "name"}, [2]string{string(alloc.ByAvailable), "fewest left first"}),
		choice(pageSize, "On a page", "", strconv.Itoa(q.limit()), [2]string{"25", "25"}, [2]string{"50", "50"}, [2]string{"100", "100"}),
	}
	for i := range fields {
		fields[i].Problem = v.problems[fields[i].Name]
	}
	return query, fields
}

// maxPart is the greatest length of a part of a name.
const maxPart = 128

// poolsBy is a page of the list, with what there is to say of all of it.
func (d *dashboard) poolsBy(r *http.Request, query alloc.BoardQuery, q listQuery) (note string, panel templates.LinesPanel) {
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	b, err := d.svc.Board(ctx)
	if err != nil {
		return "", templates.LinesPanel{Failure: failure(r, err, r.URL.RequestURI())}
	}
	pools, next, err := d.svc.PoolsBy(ctx, b, query, q.cursor(afterPool), q.limit())
	if err != nil {
		return "", templates.LinesPanel{Failure: failure(r, err, again(r, afterPool, err))}
	}
	for _, p := range pools {
		panel.Rows = append(panel.Rows, poolLine(ctx, p, d.now()))
	}
	panel.Paging = boardPaging(r, afterPool, next)
	return boardNote(b, d.now()), panel
}

// boardNote says that a list has no board, or an old one; nothing where it is as it should be.
func boardNote(b alloc.Board, now time.Time) string {
	switch {
	case b.At.IsZero():
		return "The schedule has not run for a day: this is in the order of names, and what is low or near its end is not known."
	case now.Sub(b.At) > staleAfter:
		return "The schedule last ran " + duration(now.Sub(b.At)) + " ago: order and forecasts are as of then."
	}
	return ""
}

// boardPaging are the other pages of a list by the board, with the same filter.
func boardPaging(r *http.Request, key string, next alloc.Cursor) (p templates.Paging) {
	if r.URL.Query().Get(key) != "" {
		p.First = with(r, key, "")
	}
	if next != "" {
		p.Next = with(r, key, string(next))
	}
	return p
}

// again is where a list that failed may be tried again, with the same filter: from its beginning if its cursor is none.
func again(r *http.Request, key string, err error) string {
	if alloc.Is(err, alloc.CodeInvalidCursor) {
		return with(r, key, "")
	}
	return r.URL.RequestURI()
}
