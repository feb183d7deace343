//go:build !goonly

package main

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestBrowserAnswersKeys presses the keys that pages answer; while somebody types they are letters.
func TestBrowserAnswersKeys(t *testing.T) {
	s := newSite(t, func(c *settings) { c.demo = false })
	p := s.signedIn(t, newBrowser(t))
	p.onNewPages(byHand)
	for _, to := range []struct{ keys, path string }{
		{"gp", "/pools"}, {"gs", "/sequences"}, {"gj", "/jobs"}, {"ga", "/audit"}, {"gc", "/credentials"}, {"gi", "/about"}, {"?", "/help"}, {"go", "/"},
	} {
		p.leads("press "+to.keys, 200, p.press(to.keys))
		if path := p.path(); path != to.path {
			t.Errorf("%s leads to %s, want %s", to.keys, path, to.path)
		}
	}
	asked := func() int { return value[int](p, `asked`) }
	p.must("press r", p.press("r"))
	p.comes("it is brought up to date", `asked === 1`)

	p.must("press /", p.press("/"))
	if !value[bool](p, `document.activeElement.matches(".find input") && document.activeElement.value === ""`) {
		t.Error("/ does not lead to the search, or is typed into it")
	}
	const typed = "r/?gpgogs"
	p.must("type", p.press(typed))
	if got := value[string](p, `document.activeElement.value`); got != typed || p.path() != "/" || asked() != 1 {
		t.Errorf("what was typed is %q, at %s, and the page asked %d times", got, p.path(), asked())
	}
	p.leads("look for it", 200, p.press("\r"))
	if got := p.path(); got != "/find?q=r%2F%3Fgpgogs" {
		t.Errorf("the search leads to %s", got)
	}
	p.visit("/pools")
	for _, held := range []chromedp.Modifier{chromedp.ModifierCtrl, chromedp.ModifierAlt, chromedp.ModifierMeta} {
		p.must("press g p with another key", chromedp.KeyEvent("gs/", chromedp.KeyModifiers(held)))
	}
	if p.path() != "/pools" || value[bool](p, `document.activeElement.matches("input")`) {
		t.Errorf("keys that belong to the browser lead to %s", p.path())
	}
}

// TestBrowserLetsKeysBeSwitchedOff switches the keys of one letter off and on again on the page of help: the browser keeps it, and nothing else does.
func TestBrowserLetsKeysBeSwitchedOff(t *testing.T) {
	s := newSite(t, func(c *settings) { c.demo = false })
	p := s.signedIn(t, newBrowser(t))
	answers := func(want bool) {
		t.Helper()
		p.visit("/pools")
		if shown := value[bool](p, `document.querySelector(".find kbd").checkVisibility()`); shown != want {
			t.Errorf("the key of the search is shown: %t, want %t", shown, want)
		}
		p.must("press /", p.press("/"))
		if got := value[bool](p, `document.activeElement.matches(".find input")`); got != want {
			t.Errorf("/ leads to the search: %t, want %t", got, want)
		}
	}
	turn := func() {
		t.Helper()
		p.visit("/pools")
		p.follow(`.who a[href="/help"]`)
		p.tabTo(`#keys-on`)
		p.must("press the space bar", p.press(" "))
	}
	answers(true)
	turn()
	p.must("press g p", p.press("gp"))
	answers(false)
	turn()
	answers(true)
	p.scripts(false)
	p.visit("/help")
	if value[bool](p, `document.querySelector("#keys-on").checkVisibility()`) {
		t.Error("without scripts there is a switch that switches nothing")
	}
	p.visit("/new/pool?review=1&name=p")
	if value[bool](p, `document.querySelector(".copy").checkVisibility()`) {
		t.Error("without scripts there is a button that copies nothing")
	}
}

// stop is where the tabulator has come to.
type stop struct {
	Name           string
	Seen, Outlined bool
}

// here describes it: whether it comes onto the screen with nothing over it, and can be told from the rest.
const here = `(async () => {
	const e = document.activeElement;
	if (!e || e === document.body) return { Name: "" };
	const seen = () => {
		const box = e.getBoundingClientRect();
		const over = document.elementFromPoint(box.x + Math.min(box.width, innerWidth) / 2, box.y + Math.min(box.height, 40) / 2);
		return box.width > 0 && box.height > 0 && box.top >= 0 && box.left >= 0 && box.top < innerHeight && (over === e || e.contains(over) || over?.contains(e));
	};
	for (let frames = 0; frames < 100 && !seen(); frames++) await new Promise(requestAnimationFrame);
	const style = getComputedStyle(e);
	return {
		Name: e.outerHTML.slice(0, 80), Seen: seen(),
		Outlined: (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2) || style.boxShadow !== "none",
	};
})()`

// TestBrowserShowsWhereTheFocusIs goes through pages by the tabulator: it begins with the way past what is on every page, reaches everything
// that can be used, and is always seen.
func TestBrowserShowsWhereTheFocusIs(t *testing.T) {
	s := newSite(t, func(c *settings) { c.demo = false })
	p := s.signedIn(t, newBrowser(t))
	s.make(t, 201, "PUT", "/v1/pools/p", "")
	s.make(t, 201, "PUT", "/v1/sequences/s", "")
	for _, width := range []int64{1280, 375} {
		p.size(width, 800)
		for _, address := range []string{"/", "/pools/p", "/pools/p/seed", "/pools/p/pause", "/new/pool", "/audit?action=pool.*", "/help"} {
			p.visit(address)
			p.must("press the tabulator", p.press(kb.Tab))
			if !value[bool](p, `document.activeElement.matches(".skip")`) {
				t.Errorf("%s: the tabulator comes to %s first", address, value[stop](p, here).Name)
			}
			most := value[int](p, `document.querySelectorAll("a, button, input, select, textarea, summary, pre").length`)
			stops := 0
			for at := value[stop](p, here); at.Name != "" && stops <= most; at = value[stop](p, here) {
				if stops++; !at.Seen || !at.Outlined {
					t.Errorf("%s, %d wide: on the screen %t, outlined %t: %s", address, width, at.Seen, at.Outlined, at.Name)
				}
				p.must("press the tabulator", p.press(kb.Tab))
				if value[bool](p, `document.activeElement.matches(".skip")`) {
					break
				}
			}
			if missed := value[int](p, `[...document.querySelectorAll("a[href], button, input, select, textarea")].filter(e => e.checkVisibility() && e.tabIndex >= 0 && e.type !== "hidden" && !e.closest("details:not([open])")).length`); stops < missed {
				t.Errorf("%s: the tabulator reaches %d of %d", address, stops, missed)
			}
		}
	}
	p.visit("/pools")
	p.must("go past the navigation", p.press(kb.Tab+"\r"))
	if !value[bool](p, `document.activeElement.matches("main") && location.hash === "#main"`) {
		t.Errorf("the way past the navigation leads to %s", value[stop](p, here).Name)
	}
}
