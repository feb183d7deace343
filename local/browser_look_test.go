//go:build !goonly

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"idpool/local/gallery"
	"idpool/web"
	"idpool/web/static"
)

// fault is one thing that is wrong with a page.
type fault struct{ Rule, Help, At string }

func (f fault) String() string { return fmt.Sprintf("%s: %s\n      %s", f.Rule, f.Help, f.At) }

// judge runs axe-core, every rule of it that is about accessibility. What is folded is unfolded first.
const judge = `(async () => {
	document.querySelectorAll("details").forEach(d => { d.open = true; });
	const options = { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } };
	const found = [];
	for (const v of (await axe.run(document, options)).violations)
		for (const n of v.nodes.slice(0, 3))
			found.push({ Rule: v.id, Help: v.help, At: n.html.slice(0, 200) + " | " + n.failureSummary.replaceAll("\n", " ").slice(0, 300) });
	return found;
})()`

// wide is what stands out of the page to the right, or can be reached only by moving the page sideways.
const wide = `(() => {
	const width = document.documentElement.clientWidth, found = [];
	if (document.documentElement.scrollWidth <= width) return found;
	for (const e of document.body.querySelectorAll("*")) {
		const box = e.getBoundingClientRect();
		if (box.right > width + 1 && box.width > 1) found.push(e.tagName + "." + e.className + " to " + Math.round(box.right) + ": " + e.textContent.slice(0, 40));
	}
	return found.slice(-4).concat("the page is " + document.documentElement.scrollWidth + " wide");
})()`

// covered are controls that lie on one another.
const covered = `(() => {
	const all = [...document.querySelectorAll("a, button, input:not([type=hidden]), select, textarea, summary")].flatMap(e => [...e.getClientRects()].map(box => ({ e, box })))
		.filter(({ e, box }) => box.width > 2 && box.right > 0 && !e.classList.contains("skip")), found = [];
	all.forEach((a, i) => all.slice(i + 1).forEach(b => {
		const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left), high = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
		const over = [a.e, b.e].some(e => e.classList.contains("copy"));
		if (a.e !== b.e && wide > 2 && high > 2 && !over) found.push((a.e.textContent || a.e.name) + " and " + (b.e.textContent || b.e.name));
	}));
	return found.slice(0, 4);
})()`

// spilled is text that stands out of its box: what is beside it is written over.
const spilled = `[...document.querySelectorAll("nav a, .btn, .chip, .state, .choices a, th, td, dd, dt, small, h1, h2, p, li, summary, label")]
	.filter(e => e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline" && !e.closest(".scroll"))
	.slice(0, 4).map(e => e.tagName + "." + e.className + ": " + e.textContent.trim().slice(0, 40) + " " + e.scrollWidth + " in " + e.clientWidth)`

// inLive are the controls that a refresh would swap under somebody's hand.
const inLive = `[...document.querySelectorAll("[data-live] :is(button, input, select, textarea, form), :is(button, input, select, textarea, form)[data-live]")].map(e => e.outerHTML.slice(0, 100))`

// astray is text from right to left that turns what stands beside it, since nothing keeps the two apart.
const astray = `(() => {
	const found = [], all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = all.nextNode(); n; n = all.nextNode())
		if (/[\u0590-\u06ff]/.test(n.data) && !n.parentElement.closest("bdi, [dir=auto], option, svg, pre, title")) found.push(n.parentElement.outerHTML.slice(0, 150));
	for (const e of document.querySelectorAll("input[type=text], input[type=search], textarea"))
		if (/[\u0590-\u06ff]/.test(e.value) && e.dir != "auto") found.push(e.outerHTML.slice(0, 150));
	return found;
})()`

// look judges the page that the tab shows: by axe-core in light and dark, by its width, by its texts from right to left, by what its policy
// refused, by what stands in its live parts.
func (p *tab) look(rules string) (faults []string) {
	p.t.Helper()
	say := func(what string, found []string) {
		for _, f := range found {
			faults = append(faults, what+": "+f)
		}
	}
	value[any](p, rules+";0")
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		for _, f := range value[[]fault](p, judge) {
			say(scheme, []string{f.String()})
		}
	}
	for _, width := range []int64{320, 768, 1280} {
		p.size(width, 900)
		say(fmt.Sprintf("%d wide", width), value[[]string](p, wide))
		say(fmt.Sprintf("%d wide, covered", width), value[[]string](p, covered))
		say(fmt.Sprintf("%d wide, spilled", width), value[[]string](p, spilled))
	}
	say("turned", value[[]string](p, astray))
	say("refused", value[[]string](p, `globalThis.refused`))
	say("a control in a live part", value[[]string](p, inLive))
	return faults
}

// TestBrowserFindsNothingWrongInTheGallery looks at each screen in each state that it can be in. Two tabs share the work.
func TestBrowserFindsNothingWrongInTheGallery(t *testing.T) {
	h := web.Stack(gallery.Handler(), web.Options{Logger: slog.New(slog.DiscardHandler)})
	mux := http.NewServeMux()
	mux.Handle(gallery.Prefix, h)
	mux.Handle(static.Prefix, static.Handler(h))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	b := newBrowser(t)
	rules := axe(t)
	p := b.open(t, server.URL)
	p.visit(gallery.Prefix)
	if links := value[int](p, `document.querySelectorAll("main a").length`); links < len(gallery.Pages()) {
		t.Errorf("the index leads to %d pages of %d", links, len(gallery.Pages()))
	}
	pages := make(chan gallery.Page)
	go func() {
		defer close(pages)
		seen := map[string]bool{}
		for _, page := range gallery.Pages() {
			var text strings.Builder
			if err := page.Show().Render(context.WithoutCancel(t.Context()), &text); err == nil && seen[text.String()] {
				continue // it is as in another state
			}
			seen[text.String()] = true
			pages <- page
		}
	}()
	t.Cleanup(func() {
		for range pages { // a tab that gave up leaves some
		}
	})
	for n := range 2 {
		t.Run(fmt.Sprintf("tab %d", n+1), func(t *testing.T) {
			t.Parallel()
			p := b.open(t, server.URL)
			for page := range pages {
				p.visit(page.Path())
				if faults := p.look(rules); len(faults) > 0 {
					t.Errorf("%s\n    %s", page.Path(), strings.Join(faults, "\n    "))
				}
			}
		})
	}
}

// TestBrowserFindsNothingWrongWithThePages looks at each screen of the running program.
func TestBrowserFindsNothingWrongWithThePages(t *testing.T) {
	s := newSite(t, nil)
	p := s.signedIn(t, newBrowser(t))
	rules := axe(t)
	made := must[struct{ Secret string }](t, s.api(), http.StatusCreated, request{method: "POST", path: "/v1/credentials", body: `{"client": "shop-eu", "scopes": ["read:*"]}`})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/v1/pools/voucher-spring", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+made.Secret)
	if resp, err := newClient(t).Do(req); err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the credential is not used: %v, %v", resp, err)
	}
	for _, address := range []string{
		"/", "/pools", "/pools/voucher-spring", "/pools/iccid-lot-7", "/pools/voucher-spring/ids", "/pools/voucher-spring/ids?id=SPRING-00000",
		"/sequences", "/sequences/order", "/sequences/order/rebuild", "/jobs", "/audit", "/audit?action=pool.create", "/credentials", "/about",
		"/help", "/find?q=voucher-spring", "/find?q=nothing", "/nowhere",
		"/pools/voucher-spring/pause", "/pools/voucher-spring/delete", "/pools/voucher-spring/edit", "/new/pool", "/new/pool?review=1&name=%20",
		"/new/sequence", "/new/credential",
		"/new/pool?review=1&name=codes&kind=random&length=12&prefix=P-&low=10&target=1000", // with a preview
	} {
		p.visit(address)
		switch {
		case address == "/credentials":
			p.says("main .when:nth-child(4)", "ago")
		case strings.Contains(address, "&kind=random"):
			p.says("main", "Example 1", "That fills the target")
		}
		if faults := p.look(rules); len(faults) > 0 {
			t.Errorf("%s\n    %s", address, strings.Join(faults, "\n    "))
		}
	}
}
