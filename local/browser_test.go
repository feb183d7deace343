//go:build !goonly

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// axeVersion is that of the rules of accessibility; .ci/tools fetches it.
const axeVersion = "4.14.1"

// patience bounds one step in the browser.
const patience = time.Minute

// browser is a Chromium with an empty profile, which ends with the test.
type browser struct{ ctx context.Context }

// newBrowser starts one. Where there is none the test fails: what pages promise is proven nowhere else.
func newBrowser(t testing.TB, options ...chromedp.ExecAllocatorOption) browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("the browser of the tests is missing: run `make tools`, or install Chromium")
	}
	allocator, end := chromedp.NewExecAllocator(t.Context(), append(options,
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(2*time.Minute),
	)...)
	t.Cleanup(end)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Logf("the browser did not end well: %v", err)
		}
		end()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return browser{ctx}
}

// tab is a page with cookies of its own.
type tab struct {
	t    testing.TB
	ctx  context.Context
	base string // of addresses without a host
}

// watch is run before every page: it keeps what the content security policy refused, and what failed.
const watch = `globalThis.refused = [];
addEventListener("securitypolicyviolation", e => refused.push(e.violatedDirective + " " + e.blockedURI + " " + e.sample));
addEventListener("error", e => refused.push("error: " + e.message));
addEventListener("unhandledrejection", e => refused.push("rejected: " + e.reason));`

func (b browser) open(t testing.TB, base string) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	p := &tab{t, ctx, base}
	// The first step makes the tab and lasts as long as its context, so it has no bound of its own.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	p.must("watch", called(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch}))
	p.size(1280, 900)
	return p
}

// must takes steps; one that fails ends the test.
func (p *tab) must(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// visit opens an address of the site.
func (p *tab) visit(address string) {
	p.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = p.base + address
	}
	p.must("open "+address, chromedp.Navigate(address))
}

// value is that of an expression, awaited.
func value[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

// size sets the window's.
func (p *tab) size(width, height int64) {
	p.t.Helper()
	p.must("set the size", chromedp.EmulateViewport(width, height))
}

// scheme sets the colour scheme that the reader prefers: "light" or "dark".
func (p *tab) scheme(name string) {
	p.t.Helper()
	p.must("set the scheme", called(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	}))
}

// axe returns the source of axe-core, which is run beside the page's own scripts.
func axe(t testing.TB) string {
	t.Helper()
	cache := os.Getenv("IDPOOL_CACHE")
	if cache == "" {
		base := os.Getenv("XDG_CACHE_HOME")
		if base == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				t.Fatal(err)
			}
			base = filepath.Join(home, ".cache")
		}
		cache = filepath.Join(base, "idpool")
	}
	text, err := os.ReadFile(filepath.Join(cache, "axe-core-"+axeVersion, "axe.min.js"))
	if err != nil {
		t.Fatalf("the rules of accessibility are missing: %v; run `make tools`", err)
	}
	return string(text)
}
