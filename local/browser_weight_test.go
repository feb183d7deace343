//go:build !goonly

package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// What pages may weigh on the wire, with their headers.
const (
	mostFirst    = 60 << 10
	mostRequests = 4
	mostStyle    = 12 << 10
	mostScript   = 8 << 10
	mostHundred  = 25 << 10
)

// loaded is one thing that the browser has fetched.
type loaded struct {
	url, media string
	bytes      int
}

// weigh opens an address with an empty cache and returns all that the browser fetches for it.
func (p *tab) weigh(address string) (all []loaded) {
	p.t.Helper()
	p.must("empty the cache", called(network.ClearBrowserCache, cdp.Empty{}))
	seen := make(chan any, 64)
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	if err := chromedp.Listen(ctx, func(ev any) {
		switch ev.(type) {
		case *network.EventResponseReceived, *network.EventLoadingFinished:
			select {
			case seen <- ev:
			default: // of a page that fetches that much the test fails
			}
		}
	}); err != nil {
		p.t.Fatal(err)
	}
	p.visit(address)
	p.comes("the page is whole", `document.readyState === "complete"`)
	open := map[network.RequestID]loaded{}
	for len(open) > 0 || len(seen) > 0 {
		select {
		case ev := <-seen:
			switch e := ev.(type) {
			case *network.EventResponseReceived:
				open[e.RequestID] = loaded{url: e.Response.URL, media: e.Response.MimeType}
			case *network.EventLoadingFinished:
				if l, ok := open[e.RequestID]; ok {
					l.bytes = int(e.EncodedDataLength)
					all = append(all, l)
					delete(open, e.RequestID)
				}
			}
		case <-ctx.Done():
			p.t.Fatalf("%s: %+v did not end", address, open)
		}
	}
	return all
}

// heavy says what of a page that was fetched is more than it may be.
func heavy(all []loaded, most int) (faults []string) {
	sum := 0
	for _, l := range all {
		sum += l.bytes
		limit := most
		switch l.media {
		case "text/css":
			limit = mostStyle
		case "text/javascript":
			limit = mostScript
		}
		if l.bytes > limit || l.bytes == 0 {
			faults = append(faults, fmt.Sprintf("%s has %d bytes, of at most %d", l.url, l.bytes, limit))
		}
	}
	if sum > mostFirst || len(all) > mostRequests || len(all) == 0 {
		faults = append(faults, fmt.Sprintf("%d bytes by %d requests, of at most %d and %d: %+v", sum, len(all), mostFirst, mostRequests, all))
	}
	return faults
}

// TestBrowserLoadsLittle weighs the first page that somebody sees, and a page with a hundred pools.
func TestBrowserLoadsLittle(t *testing.T) {
	s := newSite(t, nil)
	p := s.signedIn(t, newBrowser(t))
	for n := range 100 {
		pool := fmt.Sprintf("/v1/pools/team-%d.vouchers-%s-%d", n%7, []string{"spring", "summer", "autumn"}[n%3], n*7919%100000)
		s.make(t, 201, "PUT", pool, fmt.Sprintf(`{"description": "codes of campaign %d, imported by hand", "max_batch": %d}`, n*31, 10+n))
		s.make(t, 200, "POST", pool+"/seed", fmt.Sprintf(`{"ids": ["A-%d", "B-%d", "C-%d"]}`, n, n*3, n*5))
	}
	for _, page := range []struct {
		address string
		most    int
	}{{"/", mostFirst}, {"/pools?limit=100", mostHundred}} {
		all := p.weigh(page.address)
		t.Logf("%s: %+v", page.address, all)
		for _, fault := range heavy(all, page.most) {
			t.Errorf("%s: %s", page.address, fault)
		}
	}
	if rows := value[int](p, `document.querySelectorAll("main tbody tr").length`); rows != 100 {
		t.Errorf("the page has %d pools", rows)
	}
}
