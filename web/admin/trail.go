package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
)

// The query of the trail's page.
const (
	afterRecord = "trail_after"
	queryClient = "client"
	queryAction = "action"
	queryTarget = "target"
	queryResult = "result"
	queryMonth  = "month"
	queryFrom   = "from"
	queryUntil  = "until"
)

// trailFilter is what of the trail the query asks for.
func trailFilter(v *values) alloc.TrailFilter {
	return alloc.TrailFilter{
		Client: alloc.ClientID(v.text(queryClient)), Action: v.text(queryAction), Target: v.text(queryTarget), Result: v.text(queryResult), Month: v.text(queryMonth),
		From: v.moment(queryFrom), Until: v.moment(queryUntil),
	}
}

// trailPage is the trail, by a filter that stands in the address.
func (d *dashboard) trailPage(r *http.Request) (templ.Component, error) {
	if err := web.RequireCaller(r); err != nil {
		return nil, err
	}
	v := filled(r)
	filter := trailFilter(v)
	p := templates.TrailPage{Frame: d.frame(r, "Audit"), Filtered: filter != alloc.TrailFilter{}, Clear: "/audit"}
	p.Fields = v.show(templates.Form{Groups: []templates.FieldGroup{{Fields: []templates.Field{
		textField(queryClient, "Who", "", ""), textField(queryAction, "Action", "", "As pool.pause, or pool.*"), textField(queryTarget, "Target", "", "As pool/vouchers, or pool/team-a.*"),
		textField(queryResult, "Result", "", "ok, or a code of an error"), textField(queryMonth, "Month", "", "As 2026-11"),
		textField(queryFrom, "From, UTC", "", "As 2026-11-30 14:05"), textField(queryUntil, "Until, UTC", "", ""),
	}}}}).Groups[0].Fields
	if len(v.problems) > 0 {
		p.Problem = "Some of the filter cannot be read; see below."
		return templates.Trail(p), nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	q := listQuery{values: r.URL.Query(), path: "/audit"}
	records, next, err := d.svc.Trail(ctx, filter, q.cursor(afterRecord), q.limit())
	if err != nil {
		p.Failure = failure(r, err, q.again(afterRecord, err))
		return templates.Trail(p), nil
	}
	keep := r.URL.Query()
	for _, k := range []string{afterRecord, queryDone} {
		keep.Del(k)
	}
	if r.URL.Query().Get(afterRecord) != "" {
		p.Paging.First = address("/audit", keep)
	}
	p.Exports = []templates.Link{{Text: "CSV", Href: export(keep, "csv")}, {Text: "JSON lines", Href: export(keep, "jsonl")}}
	if next != "" {
		keep.Set(afterRecord, string(next))
		p.Paging.Next = address("/audit", keep)
	}
	for _, rec := range records {
		p.Rows = append(p.Rows, trailRow(rec, d.now()))
	}
	return templates.Trail(p), nil
}

func address(path string, q url.Values) string {
	u := url.URL{Path: path, RawQuery: q.Encode()}
	return u.String()
}

func export(q url.Values, format string) string {
	some := maps.Clone(q)
	some.Set("format", format)
	return address("/audit/export", some)
}

// trailRow shows one record.
func trailRow(rec alloc.AuditRecord, now time.Time) templates.TrailRow {
	row := templates.TrailRow{
		At: clock(rec.At, now), Client: string(rec.Client), Action: rec.Action, Target: rec.Target, Href: targetAddress(rec.Target), Detail: rec.Detail, Reason: rec.Reason,
		State: templates.State{Tone: templates.ToneGood, Text: rec.Result},
		Facts: []templates.Fact{
			{Term: "Before", Value: rec.Before},
			{Term: "After", Value: rec.After},
			{Term: "Plan", Value: rec.Plan, Mono: true},
			{Term: "By what right", Value: rec.Role},
			{Term: "Address", Value: rec.Address, Mono: true},
			{Term: "Request", Value: rec.Request, Mono: true},
			{Term: "Record", Value: rec.ID, Mono: true},
		},
	}
	if strings.HasPrefix(rec.Target, "session/") { // which says nothing to people: whose it is does
		row.Target, row.Whose = "session", rec.Detail
		row.Facts = append(row.Facts, templates.Fact{Term: "Target", Value: rec.Target, Mono: true})
	}
	if rec.Result != "ok" {
		row.State.Tone = templates.ToneWarn
	}
	if rec.Month != "" {
		row.Facts = append(row.Facts, templates.Fact{Term: "In the chain", Value: rec.Month + ", " + strconv.FormatInt(rec.Position, 10), Note: rec.Hash, Mono: true})
	}
	return row
}

// targetAddress is the page of what a record is about; "" where it has none.
func targetAddress(target string) string {
	kind, name, ok := strings.Cut(target, "/")
	if !ok {
		return ""
	}
	switch kind {
	case "pool":
		return poolAddress(alloc.PoolName(name))
	case "sequence":
		return sequenceAddress(alloc.SequenceName(name))
	case "credential":
		return "/credentials"
	}
	return ""
}

// exportTrail sends what the filter wants of the trail as one file: all of it, or an error that says how to ask for less.
func (d *dashboard) exportTrail(w http.ResponseWriter, r *http.Request) {
	format := r.URL.Query().Get("format")
	if !slices.Contains([]string{"", "csv", "jsonl"}, format) {
		d.failed(w, r, alloc.Errorf(alloc.CodeInvalidRequest, "the trail is exported as csv or as jsonl; go back and choose one"))
		return
	}
	records, err := d.trailRecords(r)
	if err != nil {
		d.failed(w, r, err)
		return
	}
	var file bytes.Buffer
	media, ending, write := "text/csv; charset=utf-8", "csv", trailCSV
	if format == "jsonl" {
		media, ending, write = "application/jsonl", "jsonl", trailLines
	}
	if err := write(&file, records); err != nil {
		d.failed(w, r, alloc.Errorf(alloc.CodeInternal, "the trail cannot be written as a file").Because(err))
		return
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Disposition", `attachment; filename="trail.`+ending+`"`)
	w.Write(file.Bytes()) //nolint:errcheck // the client is gone; there is nobody to tell
}

func (d *dashboard) trailRecords(r *http.Request) ([]alloc.AuditRecord, error) {
	v := filled(r)
	filter := trailFilter(v)
	if len(v.problems) > 0 {
		return nil, alloc.Errorf(alloc.CodeInvalidRequest, "some of the filter cannot be read; go back and correct it")
	}
	all, whole, err := d.svc.TrailAtOnce(r.Context(), filter)
	if err == nil && !whole {
		err = alloc.Errorf(web.CodeTooLarge, "that is too much of the trail for one file, which has at most %s records, of %s that are looked at; go back, narrow the filter "+
			"to a Month, and export month by month; of a month that is still too much, GET /v1/audit with format=csv gives all, page by page",
			grouped(alloc.Count(alloc.MaxTrailAtOnce)), grouped(alloc.Count(alloc.MaxTrailRead)))
	}
	return all, err
}

// trailFields are a record's fields in a file, by their names.
var trailFields = []struct {
	name string
	of   func(alloc.AuditRecord) string
}{
	{"at", func(r alloc.AuditRecord) string { return r.At.UTC().Format(time.RFC3339Nano) }},
	{"client", func(r alloc.AuditRecord) string { return string(r.Client) }},
	{"role", func(r alloc.AuditRecord) string { return r.Role }},
	{"action", func(r alloc.AuditRecord) string { return r.Action }},
	{"target", func(r alloc.AuditRecord) string { return r.Target }},
	{"detail", func(r alloc.AuditRecord) string { return r.Detail }},
	{"plan", func(r alloc.AuditRecord) string { return r.Plan }},
	{"reason", func(r alloc.AuditRecord) string { return r.Reason }},
	{"before", func(r alloc.AuditRecord) string { return r.Before }},
	{"after", func(r alloc.AuditRecord) string { return r.After }},
	{"result", func(r alloc.AuditRecord) string { return r.Result }},
	{"request_id", func(r alloc.AuditRecord) string { return r.Request }},
	{"address", func(r alloc.AuditRecord) string { return r.Address }},
	{"id", func(r alloc.AuditRecord) string { return r.ID }},
	{"month", func(r alloc.AuditRecord) string { return r.Month }},
	{"position", func(r alloc.AuditRecord) string { return strconv.FormatInt(r.Position, 10) }},
	{"previous", func(r alloc.AuditRecord) string { return r.Previous }},
	{"hash", func(r alloc.AuditRecord) string { return r.Hash }},
}

func trailCSV(file *bytes.Buffer, records []alloc.AuditRecord) error {
	rows := make([][]string, 1, len(records)+1)
	for _, f := range trailFields {
		rows[0] = append(rows[0], f.name)
	}
	for _, r := range records {
		row := make([]string, len(trailFields))
		for i, f := range trailFields {
			row[i] = f.of(r)
		}
		rows = append(rows, row)
	}
	data, err := web.WriteCSV(rows)
	file.Write(data)
	return err
}

func trailLines(file *bytes.Buffer, records []alloc.AuditRecord) error {
	for _, r := range records {
		line := members{}
		for _, f := range trailFields {
			line = append(line, member{f.name, f.of(r)})
		}
		text, err := json.Marshal(line)
		if err != nil {
			return err
		}
		file.Write(append(text, '\n'))
	}
	return nil
}
