package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
)

// findPools is how many pools are asked for an ID of which nobody says where it is; findReaders so many at once.
const (
	findPools   = 100
	findReaders = 8
)

// find looks for a pool, a sequence or a job of that name, and for an ID in the pools that whoever asks may read.
func (d *dashboard) find(r *http.Request) (templ.Component, error) {
	if err := web.RequireCaller(r); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	p := templates.FindPage{Frame: d.frame(r, "Find"), Text: text}
	if text == "" {
		return templates.Find(p), nil
	}
	add := func(what, name, href string, err error) {
		switch {
		case alloc.Is(err, alloc.CodePoolDeleted), alloc.Is(err, alloc.CodeSequenceDeleted):
			p.Found = append(p.Found, templates.Fact{Term: what, Value: name, Note: "It was deleted. Its name is not used again."})
		case err == nil:
			p.Found = append(p.Found, templates.Fact{Term: what, Value: name, Href: href})
		}
	}
	if alloc.CheckName(text) == nil {
		_, err := d.svc.Pool(ctx, alloc.PoolName(text))
		add("Pool", text, poolAddress(alloc.PoolName(text)), err)
		_, err = d.svc.Sequence(ctx, alloc.SequenceName(text))
		add("Sequence", text, sequenceAddress(alloc.SequenceName(text)), err)
	}
	_, err := d.svc.Job(ctx, alloc.JobID(text))
	add("Job", text, jobAddress(alloc.JobID(text)), err)

	pools, next, err := d.svc.PoolNames(ctx, "", findPools)
	if err != nil {
		p.Failure = failure(r, err, r.URL.RequestURI())
		return templates.Find(p), nil
	}
	if next != "" {
		p.Note = fmt.Sprintf("An ID was looked for in the first %d pools only; on the page of its pool it is found in any case.", findPools)
	}
	for _, rec := range d.findID(ctx, pools, text) {
		add("ID in "+string(rec.Pool), string(rec.ID), idAddress(rec.Pool, rec.ID), nil)
	}
	return templates.Find(p), nil
}

// findID asks the pools for an ID, several at once; what cannot be read is not there.
func (d *dashboard) findID(ctx context.Context, pools []alloc.PoolName, text string) (found []alloc.IDRecord) {
	records := make([]*alloc.IDRecord, len(pools))
	var readers sync.WaitGroup
	next := make(chan int)
	for range min(findReaders, len(pools)) {
		readers.Go(func() {
			for i := range next {
				if rec, err := d.svc.InspectID(ctx, pools[i], text); err == nil {
					records[i] = &rec
				}
			}
		})
	}
	for i := range pools {
		next <- i
	}
	close(next)
	readers.Wait()
	for _, rec := range records {
		if rec != nil {
			found = append(found, *rec)
		}
	}
	return found
}

// idAddress is the page of an ID. It stands in the query: an ID may be of any characters.
func idAddress(pool alloc.PoolName, id alloc.ID) string {
	return poolAddress(pool) + "/ids?id=" + url.QueryEscape(string(id))
}
