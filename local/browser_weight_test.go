//go:build !goonly

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"idpool/alloc"
	"idpool/infra/sql"
	"idpool/web/api"
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

// weigh opens an address with an empty cache and returns all that the browser fetches for it: not the icon of the page before, which may come late.
func (p *tab) weigh(address string) (all []loaded) {
	p.t.Helper()
	p.must("empty the cache", called(network.ClearBrowserCache, cdp.Empty{}))
	seen := make(chan any, 64)
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	if err := chromedp.Listen(ctx, func(ev any) {
		switch ev.(type) {
		case *network.EventRequestWillBeSent, *network.EventResponseReceived, *network.EventLoadingFinished:
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
	sent, open := map[network.RequestID]bool{}, map[network.RequestID]loaded{}
	for len(open) > 0 || len(seen) > 0 {
		select {
		case ev := <-seen:
			switch e := ev.(type) {
			case *network.EventRequestWillBeSent:
				if e.Type == network.ResourceTypeDocument || len(sent) > 0 {
					sent[e.RequestID] = true
				}
			case *network.EventResponseReceived:
				if !sent[e.RequestID] {
					continue
				}
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

// aHundredPools plays a day of a hundred pools, an hour a step, so that each has a line of its level to show.
func aHundredPools(t testing.TB, dir string) {
	t.Helper()
	now := time.Now().Add(-24 * time.Hour)
	clock := func() time.Time { return now }
	store, err := sql.OpenSQLite(t.Context(), sql.Config{Path: filepath.Join(dir, sqliteFile), Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	svc, err := alloc.NewService(alloc.Config{Store: store, Now: clock, Encoders: api.Encoders(), Log: api.LogCodec()})
	if err != nil {
		t.Fatal(err)
	}
	ctx := alloc.WithCaller(t.Context(), alloc.Caller{Client: "shop-eu", Scopes: alloc.AllScopes()})
	pool := func(n int) alloc.PoolName {
		return alloc.PoolName(fmt.Sprintf("team-%d.vouchers-%s-%d", n%7, []string{"spring", "summer", "autumn"}[n%3], n*7919%100000))
	}
	for n := range 100 {
		if _, _, err := svc.CreatePool(ctx, pool(n), alloc.PoolConfig{Description: fmt.Sprintf("codes of campaign %d, imported by hand", n*31)}); err != nil {
			t.Fatal(err)
		}
		var entries []alloc.SeedEntry
		for i := range 100 + n {
			entries = append(entries, alloc.SeedEntry{Line: i + 1, Raw: fmt.Sprintf("C-%d-%d", n, i)})
		}
		if _, err := svc.Seed(ctx, alloc.SeedRequest{Pool: pool(n), Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	for hour := range 24 {
		for n := range 100 {
			if count := alloc.Count((n + hour*(n%5+1)) % 4); count > 0 {
				if _, err := svc.Claim(ctx, alloc.ClaimRequest{Pool: pool(n), Count: count}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := svc.Tend(ctx); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
}

// TestBrowserLoadsLittle weighs the first page that somebody sees, and a page with a hundred pools.
func TestBrowserLoadsLittle(t *testing.T) {
	dir := t.TempDir()
	aHundredPools(t, dir)
	s := newSite(t, func(c *settings) { c.demo, c.data = false, dir })
	p := s.signedIn(t, newBrowser(t))
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
	if rows, lines := value[int](p, `document.querySelectorAll("main tbody tr").length`), value[int](p, `document.querySelectorAll("main svg.spark").length`); rows != 100 || lines != 100 {
		t.Errorf("the page has %d pools with %d lines of their levels, want 100", rows, lines)
	}
}
