//go:build !goonly

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// scripts switches those of the pages on or off; what a test evaluates runs all the same.
func (p *tab) scripts(on bool) {
	p.t.Helper()
	p.must("switch scripts", called(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}))
}

// leads takes steps that lead to another page, which has to come with the status.
func (p *tab) leads(what string, status int64, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, steps...)
	if err != nil {
		p.t.Fatalf("%s: %v; the page is %s", what, err, p.text("body"))
	}
	if response.Status != status {
		p.t.Fatalf("%s: %d, want %d: %s", what, response.Status, status, p.text("main"))
	}
	if refused := value[[]string](p, `globalThis.refused ?? []`); len(refused) > 0 {
		p.t.Errorf("%s: the page at %s was refused %q", what, p.path(), refused)
	}
}

// text is that of the first element, "" where there is none.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return value[string](p, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector))
}

// path is the address of the page, without the host.
func (p *tab) path() string {
	p.t.Helper()
	return value[string](p, `location.pathname + location.search`)
}

// says ends the test where the element does not have the words.
func (p *tab) says(selector string, words ...string) {
	p.t.Helper()
	for text := p.text(selector); len(words) > 0; words = words[1:] {
		if !strings.Contains(text, words[0]) {
			p.t.Fatalf("%s: %s does not say %q: %s", p.path(), selector, words[0], text)
		}
	}
}

// comes waits until an expression is true.
func (p *tab) comes(what, expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !value[bool](p, expression); {
		if time.Now().After(deadline) {
			p.t.Fatalf("it never came that %s; the page at %s is %s", what, p.path(), p.text("main"))
		}
		backOff()
	}
}

// press presses keys, wherever the focus is. As on a keyboard, what a page takes for itself is not typed: chromedp's own keys are.
func (p *tab) press(keys string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for _, r := range keys {
			events := kb.Encode(r)
			if len(events) == 3 { // down, character, up
				events[0].Text, events[0].UnmodifiedText = events[1].Text, events[1].UnmodifiedText
				events = slices.Delete(events, 1, 2)
			}
			for _, e := range events {
				if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, *e); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// tabTo presses the tabulator until an element has the focus, as somebody without a mouse does.
func (p *tab) tabTo(selector string) {
	p.t.Helper()
	const most = 120
	for range most {
		if value[bool](p, fmt.Sprintf(`document.activeElement?.matches(%q) ?? false`, selector)) {
			return
		}
		p.must("press the tabulator", p.press(kb.Tab))
	}
	p.t.Fatalf("%s: %s cannot be reached by the tabulator", p.path(), selector)
}

// fill goes to a field by the tabulator and types into it, in place of what is there.
func (p *tab) fill(name, text string) {
	p.t.Helper()
	p.tabTo(fmt.Sprintf(`main [name="%s"]`, name))
	p.must("select what is there", chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	p.must("type", p.press(text))
}

// follow goes to a link by the tabulator and follows it.
func (p *tab) follow(selector string) {
	p.t.Helper()
	p.tabTo(selector)
	p.leads("follow "+selector, 200, p.press(kb.Enter))
}

// send goes to the button of the page's form by the tabulator and presses it.
func (p *tab) send(words string) {
	p.t.Helper()
	p.tabTo(`main form button[type=submit]`)
	p.says(`main form button[type=submit]`, words)
	p.leads("press "+words, 200, p.press(kb.Enter))
}

// onNewPages has a script run before those of every page that comes.
func (p *tab) onNewPages(script string) {
	p.t.Helper()
	p.must("add a script", called(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}))
}

// api is the program as its other clients reach it.
func (s *site) api() *program { return &program{url: s.base} }

// make sends a request of the API that has to succeed.
func (s *site) make(t testing.TB, status int, method, path, body string) {
	t.Helper()
	must[any](t, s.api(), status, request{method: method, path: path, body: body})
}
