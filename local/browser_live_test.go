//go:build !goonly

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// byHand has the time of a page pass when the test says so: tick does what is due and waits for its end. It counts what pages ask for
// by themselves, and how far things have moved under the reader's eye.
const byHand = `globalThis.due = [];
globalThis.setTimeout = (run, after) => due.push({ run, after });
globalThis.tick = async () => { for (const d of due.splice(0)) await d.run(); };
globalThis.asked = 0;
const ask = globalThis.fetch;
globalThis.fetch = (...what) => { asked++; return ask(...what); };
let shifts = [];
const keep = list => { shifts.push(...list.map(s => s.sources.map(e => e.node?.outerHTML?.slice(0, 80) ?? "text") + " by " + s.value)); };
const observer = new PerformanceObserver(list => keep(list.getEntries()));
observer.observe({ type: "layout-shift", buffered: true });
globalThis.moved = async () => {
	for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame);
	keep(observer.takeRecords());
	return shifts.splice(0);
};`

// ticked has the time of the page pass, and returns how often it asked the server for itself as it is now.
func (p *tab) ticked() (asked int) {
	p.t.Helper()
	return value[int](p, `(async () => { const before = asked; await tick(); return asked - before; })()`)
}

// hide hides the tab by its window, or shows it again.
func (p *tab) hide(hidden bool) {
	p.t.Helper()
	state := cdpbrowser.WindowStateNormal
	if hidden {
		state = cdpbrowser.WindowStateMinimized
	}
	p.must("change the window", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		window, err := cdp.Call(ctx, target, cdpbrowser.GetWindowForTarget, cdpbrowser.GetWindowForTargetParams{})
		if err != nil {
			return err
		}
		_, err = cdp.Call(ctx, target, cdpbrowser.SetWindowBounds, cdpbrowser.SetWindowBoundsParams{
			WindowID: window.WindowID, Bounds: &cdpbrowser.Bounds{WindowState: state},
		})
		return err
	}))
	p.comes("the window is as it was told", fmt.Sprintf(`document.hidden === %t`, hidden))
}

// point moves the pointer onto an element.
func (p *tab) point(selector string) {
	p.t.Helper()
	at := value[[]float64](p, fmt.Sprintf(`(() => { const box = document.querySelector(%q).getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()`, selector))
	p.must("point at "+selector, called(input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: at[0], Y: at[1]}))
	p.comes("the pointer is there", fmt.Sprintf(`document.querySelector(%q).matches(":hover")`, selector))
}

// TestBrowserKeepsPagesFresh lets time pass on pages while things happen: they tell of it, but never under the hand of somebody who is at work in
// them, nor where nobody looks.
func TestBrowserKeepsPagesFresh(t *testing.T) {
	s := newSite(t, nil)
	p := s.signedIn(t, newBrowser(t))
	p.onNewPages(byHand)
	const row = `#live-pools a[href="/pools/voucher-spring"]`
	pool := fmt.Sprintf(`document.querySelector(%q).closest("tr").innerText`, row)
	happen := func() { s.make(t, 201, "POST", "/v1/pools/voucher-spring/claims", `{"count": 7}`) }
	changes := func(what string, asks int, want bool) {
		t.Helper()
		before := value[string](p, pool)
		happen()
		if asked := p.ticked(); asked != asks {
			t.Errorf("%s: the page asked %d times, want %d", what, asked, asks)
		}
		if changed := value[string](p, pool) != before; changed != want {
			t.Errorf("%s: the row has changed: %t, want %t", what, changed, want)
		}
	}
	p.visit("/pools")
	changes("nobody is at work", 1, true)
	value[any](p, fmt.Sprintf(`document.querySelector(%q).focus()`, row))
	changes("the focus is inside", 0, false)
	if !value[bool](p, fmt.Sprintf(`document.activeElement.matches(%q)`, row)) {
		t.Error("the focus was lost")
	}
	value[any](p, `document.activeElement.blur()`)
	changes("the focus has left", 1, true)
	value[any](p, fmt.Sprintf(`getSelection().selectAllChildren(document.querySelector(%q))`, row))
	changes("a text inside is selected", 0, false)
	value[any](p, `getSelection().removeAllRanges()`)
	changes("nothing is selected any more", 1, true)
	p.point(row)
	changes("the pointer is on a link inside", 0, false)
	held := value[string](p, pool)
	p.must("press r", p.press("r"))
	p.comes("it is brought up to date all the same for who asks for it", fmt.Sprintf(`%s !== %q`, pool, held))
	p.point(`.filters button`)
	changes("the pointer is on what stands above", 1, true)
	p.hide(true)
	changes("the page is hidden", 0, false)
	p.hide(false)
	changes("it is seen again", 1, true)

	p.must("pause", chromedp.Click(`.asof a`))
	p.comes("it is paused", `location.search === "?every=0" && document.readyState === "complete"`)
	p.says(".asof", "not kept up to date")
	changes("it is paused", 0, false)
	p.must("go on", chromedp.Click(`.asof a`))
	p.comes("it goes on", `location.search === "" && document.readyState === "complete"`)
	changes("it goes on", 1, true)

	p.visit("/pools/voucher-spring")
	p.point(`.choices a`)
	if asked := p.ticked(); asked != 0 {
		t.Error("a page is brought up to date while the pointer is on a link below what may grow")
	}
	p.visit("/pools")

	s.end()
	for n, seconds := range []int{10, 20, 40, 80, 80} {
		if after := value[[]int](p, `due.map(d => d.after)`); len(after) != 1 || after[0] != seconds*1000 {
			t.Errorf("after %d failures it asks again after %v ms, want %d s", n, after, seconds)
		}
		p.ticked()
	}
	if said := value[string](p, `getComputedStyle(document.getElementById("live-asof"), "::after").content`); !strings.Contains(said, "cannot be kept up to date") {
		t.Errorf("of a server that is gone the page says %s", said)
	}
}

// TestBrowserLeadsToTheSignIn ends the session of a page that keeps itself fresh: it leads to the sign-in, which says why and knows the way back.
func TestBrowserLeadsToTheSignIn(t *testing.T) {
	s := newSite(t, nil)
	p := s.signedIn(t, newBrowser(t))
	p.onNewPages(byHand)
	p.visit("/pools?sort=name")
	p.must("sign out elsewhere", called(network.ClearBrowserCookies, cdp.Empty{}))
	value[any](p, `document.cookie = "idpool-" + location.port + "=a secret of before; path=/"`)
	value[any](p, `void tick()`)
	p.comes("the sign-in is shown", `location.pathname === "/signin" && document.readyState === "complete"`)
	p.says("main", "Your session has ended")
	if to := value[string](p, `document.querySelector("main [name=to]").value`); to != "/pools?sort=name" {
		t.Errorf("the way back is to %s", to)
	}
}

// TestBrowserShowsThatAPageIsOld looks at the time that a page was true, which turns amber when three intervals have passed without another; with
// scripts or without, as the stylesheet alone does it.
func TestBrowserShowsThatAPageIsOld(t *testing.T) {
	s := newSite(t, nil)
	p := s.signedIn(t, newBrowser(t))
	const passed = `(after => {
		const time = document.querySelector("#live-asof time"), all = time.getAnimations({ subtree: true });
		all.forEach(a => { a.pause(); a.currentTime = after; });
		return all.length + " " + (getComputedStyle(time).color !== getComputedStyle(time.parentElement).color) + " " + getComputedStyle(time, "::after").visibility;
	})(%d)`
	for _, page := range []struct {
		address string
		seconds int
	}{{"/", 30}, {"/pools?every=60", 180}, {"/pools?every=0", 30}, {"/pools?every=7", 30}} {
		for _, script := range []bool{true, false} {
			p.scripts(script)
			p.visit(page.address)
			for after, want := range map[int]string{page.seconds*1000 - 10: "2 false hidden", page.seconds*1000 + 10: "2 true visible"} {
				if got := value[string](p, fmt.Sprintf(passed, after)); got != want {
					t.Errorf("%s, scripts %t, after %d ms: %s, want %s", page.address, script, after, got, want)
				}
			}
		}
	}
	p.scripts(true)
	p.onNewPages(byHand)
	p.visit("/")
	const gap = `(() => {
		const text = document.createRange();
		text.selectNodeContents(document.querySelector("#live-asof time"));
		return document.querySelector("#live-asof + span").getBoundingClientRect().left - text.getBoundingClientRect().right;
	})()`
	for _, width := range []int64{1280, 360} {
		p.size(width, 900)
		if wide := value[float64](p, gap); wide < 1 || wide > 6 {
			t.Errorf("%d wide, between the time and what follows it are %.1f px, as if something were left out there", width, wide)
		}
	}
	value[any](p, fmt.Sprintf(passed, 40_000))
	p.ticked()
	p.comes("a page that was brought up to date is young again", `getComputedStyle(document.querySelector("#live-asof time"), "::after").visibility === "hidden"`)
}

// TestBrowserMovesNothingAtARefresh lets numbers change on every page that keeps itself fresh: nothing moves, and no control stands in what
// is swapped.
func TestBrowserMovesNothingAtARefresh(t *testing.T) {
	s := newSite(t, nil)
	p := s.signedIn(t, newBrowser(t))
	p.onNewPages(byHand)
	doOnce(t, s.api(), request{method: "POST", path: "/v1/pools/voucher-spring/count"})                                     // so that there is a job
	doOnce(t, s.api(), request{method: "POST", path: "/v1/sequences/invoice-de/rebuild", body: `{"why": "to look at it"}`}) // one that is on; before that its page reads once
	for _, address := range []string{"/", "/pools", "/pools/voucher-spring", "/sequences", "/sequences/order", "/sequences/invoice-de/rebuild", "/jobs"} {
		for _, width := range []int64{1280, 375} {
			p.size(width, 900)
			p.visit(address)
			value[any](p, `moved()`)
			s.make(t, 201, "POST", "/v1/pools/voucher-spring/claims", `{"count": 3}`)
			s.make(t, 201, "POST", "/v1/pools/phone-numbers-de/claims", `{"count": 1}`)
			s.make(t, 201, "POST", "/v1/sequences/order/leases", `{"count": 1000}`)
			for range 2 { // at the first every part is swapped
				if asked := p.ticked(); asked != 1 {
					t.Errorf("%s asked %d times for itself", address, asked)
				}
			}
			if moved := value[[]string](p, `moved()`); len(moved) > 0 {
				t.Errorf("%s, %d wide: this has moved at a refresh: %q", address, width, moved)
			}
			if controls := value[[]string](p, inLive); len(controls) > 0 {
				t.Errorf("%s: controls stand in what is swapped: %q", address, controls)
			}
		}
	}
	if moved := value[[]string](p, `document.querySelector("main").prepend(Object.assign(document.createElement("p"), { textContent: "new" })), moved()`); len(moved) == 0 {
		t.Error("what moves is not seen")
	}
}
