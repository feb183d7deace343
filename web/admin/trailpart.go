package admin

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"idpool/alloc"
	"idpool/templates"
)

// What the page of a thing shows of the trail: the last records about it, of so many as are read. The trail has no order by target, and a page
// costs the same however long it is.
const (
	trailPartShown = 5
	trailPartPages = 2
	trailPartPage  = 100
)

// topic is what records are looked for.
type topic struct {
	target string // the target that they have; "" for any
	detail string // what stands in their detail; "" for anything
	from   time.Time
}

func (a topic) wants(r alloc.AuditRecord) bool {
	return (a.target == "" || r.Target == a.target) && strings.Contains(r.Detail, a.detail)
}

// address is the trail with a filter that has all of them.
func (a topic) address() string {
	q := url.Values{}
	if a.target != "" {
		q.Set(queryTarget, a.target)
	}
	if !a.from.IsZero() {
		q.Set(queryFrom, a.from.UTC().Format(time.RFC3339))
	}
	return address("/audit", q)
}

// aboutJob is what is said of a job: the record of a step has the job's ID in its detail, under what the job is on.
func aboutJob(j alloc.Job) topic {
	a := topic{target: "pool/" + string(j.Pool), detail: string(j.ID), from: j.Created.Truncate(time.Second)}
	if j.Pool == "" {
		a.target = "sequence/" + string(j.Spec.Sequence)
	}
	if a.target == "sequence/" {
		a.target = ""
	}
	return a
}

// aboutID is what is said of an ID: it stands, quoted, in the detail of what was done with it.
func aboutID(pool alloc.PoolName, id alloc.ID) topic {
	return topic{target: "pool/" + string(pool), detail: strconv.Quote(string(id))}
}

// trailPart are the last records about a thing; nothing for who may not read the trail.
func (d *dashboard) trailPart(r *http.Request, a topic) (part templates.TrailPart) {
	if isRefresh(r) || !may(r, alloc.ActionRead, "*") {
		return part
	}
	part.All = a.address()
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	var at alloc.Cursor
	for range trailPartPages {
		records, next, err := d.svc.Trail(ctx, alloc.TrailFilter{}, at, trailPartPage)
		if err != nil {
			part.Failure = failure(r, err, r.URL.RequestURI())
			return part
		}
		for _, rec := range records {
			if a.wants(rec) && len(part.Rows) < trailPartShown {
				part.Rows = append(part.Rows, trailRow(rec, d.now()))
			}
		}
		if at = next; at == "" || len(part.Rows) == trailPartShown {
			break
		}
	}
	if at != "" && len(part.Rows) < trailPartShown {
		part.Note = "looked for among the last " + strconv.Itoa(trailPartPages*trailPartPage) + " records"
	}
	return part
}
