package api

import (
	"context"
	"net/http"
	"time"

	"idpool/alloc"
)

type trailAnswer struct {
	Records []trailRecord `json:"records"`
	Next    alloc.Cursor  `json:"next_cursor,omitzero"` // what to give as cursor to go on
}

type trailRecord struct {
	ID      string         `json:"id"`
	At      time.Time      `json:"at"`
	Client  alloc.ClientID `json:"client"`
	Role    string         `json:"role"`
	Action  string         `json:"action"`
	Target  string         `json:"target"`
	Detail  string         `json:"detail"`
	Plan    string         `json:"plan,omitzero"`
	Reason  string         `json:"reason,omitzero"`
	Before  string         `json:"before,omitzero"`
	After   string         `json:"after,omitzero"`
	Result  string         `json:"result"`
	Request string         `json:"request_id"`
	Address string         `json:"address"`

	// Where it stands in the trail; absent of a record from before there was a chain.
	Month    string      `json:"month,omitzero"`
	Position *numberText `json:"position,omitempty"`
	Previous string      `json:"previous,omitzero"`
	Hash     string      `json:"hash,omitzero"`
}

func newTrailRecord(r alloc.AuditRecord) trailRecord {
	a := trailRecord{
		ID: r.ID, At: r.At.UTC(), Client: r.Client, Role: r.Role, Action: r.Action, Target: r.Target, Detail: r.Detail,
		Plan: r.Plan, Reason: r.Reason, Before: r.Before, After: r.After, Result: r.Result, Request: r.Request, Address: r.Address,
		Month: r.Month, Previous: r.Previous, Hash: r.Hash,
	}
	if r.Month != "" {
		a.Position = &numberText{alloc.Number(r.Position)}
	}
	return a
}

var trailColumns = []column[trailRecord]{
	{"id", func(r trailRecord) string { return r.ID }},
	{"at", func(r trailRecord) string { return when(r.At) }},
	{"client", func(r trailRecord) string { return string(r.Client) }},
	{"role", func(r trailRecord) string { return r.Role }},
	{"action", func(r trailRecord) string { return r.Action }},
	{"target", func(r trailRecord) string { return r.Target }},
	{"detail", func(r trailRecord) string { return r.Detail }},
	{"plan", func(r trailRecord) string { return r.Plan }},
	{"reason", func(r trailRecord) string { return r.Reason }},
	{"before", func(r trailRecord) string { return r.Before }},
	{"after", func(r trailRecord) string { return r.After }},
	{"result", func(r trailRecord) string { return r.Result }},
	{"request_id", func(r trailRecord) string { return r.Request }},
	{"address", func(r trailRecord) string { return r.Address }},
	{"month", func(r trailRecord) string { return r.Month }},
	{"position", func(r trailRecord) string {
		if r.Position == nil {
			return ""
		}
		return decimal(r.Position.Number)
	}},
	{"previous", func(r trailRecord) string { return r.Previous }},
	{"hash", func(r trailRecord) string { return r.Hash }},
}

// listTrail gives a page of the trail; as JSON lines, too, for whoever exports it page by page.
func (a api) listTrail(ctx context.Context, q request) (answer, error) {
	cursor, limit, err := q.page()
	if err != nil {
		return answer{}, err
	}
	filter, err := q.trailFilter()
	if err != nil {
		return answer{}, err
	}
	lines := q.query.Get("format") == formatLines
	if !lines {
		if _, err := q.wantsCSV(); err != nil {
			return answer{}, err
		}
	}
	records, next, err := a.svc.Trail(ctx, filter, cursor, limit)
	if err != nil {
		return answer{}, err
	}
	body := trailAnswer{Records: make([]trailRecord, len(records)), Next: next}
	for i, r := range records {
		body.Records[i] = newTrailRecord(r)
	}
	table := listOf("audit", trailColumns, body.Records, next)
	if !lines {
		return q.listed(body, table)
	}
	data, err := logLines(records, newTrailRecord)
	return answer{status: http.StatusOK, list: table, file: &file{media: mediaLines, name: table.name + ".jsonl", data: data}}, err
}

// formatLines is a list as lines of JSON.
const formatLines = "lines"

// trailFilter says which records the client wants.
func (q request) trailFilter() (f alloc.TrailFilter, err error) {
	f = alloc.TrailFilter{
		Client: alloc.ClientID(q.query.Get("client")), Action: q.query.Get("action"), Target: q.query.Get("target"), Result: q.query.Get("result"), Month: q.query.Get("month"),
	}
	if q.query.Has("month") && !alloc.IsMonth(f.Month) {
		return alloc.TrailFilter{}, alloc.Errorf(alloc.CodeInvalidRequest, "month must be one like 2026-11; leave it out for all")
	}
	for name, to := range map[string]*time.Time{"from": &f.From, "until": &f.Until} {
		if !q.query.Has(name) {
			continue
		}
		if *to, err = parseMoment(name, q.query.Get(name)); err != nil {
			return alloc.TrailFilter{}, err
		}
	}
	return f, nil
}
