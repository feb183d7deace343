//go:build !goonly

package main

import (
	"fmt"
	"slices"
	"testing"
)

// names are those of the rows of the page's list, in their order.
func (p *tab) names() []string {
	p.t.Helper()
	return value[[]string](p, `[...document.querySelectorAll("main tbody .name a")].map(a => a.textContent)`)
}

// TestBrowserWorksThroughListsByKeyboard filters a list, goes to its next page, pauses what it shows and resumes it: what it was filtered by stands
// in the address and survives all of it.
func TestBrowserWorksThroughListsByKeyboard(t *testing.T) {
	b := newBrowser(t)
	for name, script := range map[string]bool{"with scripts": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			j := &journey{s: newSite(t, func(c *settings) { c.demo = false }), script: script}
			j.signIn(t, b)
			var shops []string
			for n := range 30 {
				shops = append(shops, fmt.Sprintf("shop-%02d", n))
				j.s.make(t, 201, "PUT", "/v1/pools/"+shops[n], "")
			}
			j.s.make(t, 201, "PUT", "/v1/pools/vouchers", "")
			j.pages(shops)
			j.bulk(shops)
		})
	}
}

// pages goes through a list that is narrowed to the pools.
func (j *journey) pages(want []string) {
	j.t.Helper()
	j.follow(`nav a[href="/pools"]`)
	j.fill("q", "SHOP-")
	j.choose("sort", "name")
	j.send("Filter pools")
	if got := j.names(); !slices.Equal(got, want[:25]) {
		j.t.Fatalf("%s shows %q", j.path(), got)
	}
	j.follow(`main .paging a[rel="next"]`)
	if got := j.names(); !slices.Equal(got, want[25:]) {
		j.t.Errorf("the next page, %s, shows %q", j.path(), got)
	}
	j.filtered("q", "SHOP-", "sort", "name")
	j.follow(`main .paging a`)
	if got := j.names(); !slices.Equal(got, want[:25]) {
		j.t.Errorf("the first page, %s, shows %q", j.path(), got)
	}
	j.filtered("q", "SHOP-", "sort", "name")
}

// bulk pauses all pools of the filter, and resumes them.
func (j *journey) bulk(pools []string) {
	j.t.Helper()
	count := fmt.Sprintf("%d pools", len(pools))
	for _, step := range []struct{ segment, verb, done, state string }{{"pause", "Pause", "paused", "paused"}, {"resume", "Resume", "resumed", "nothing seeded"}} {
		j.follow(`main a[href^="/bulk/pools/` + step.segment + `?"]`)
		if got := value[string](j.tab, `document.querySelector("main [name=q]").value`); got != "SHOP-" {
			j.t.Errorf("the step is taken with %q", got)
		}
		j.send("Review pools")
		j.says("main", "whose name contains “SHOP-”", count, pools[0], pools[29])
		j.fill("typed", count)
		j.fill("reason", "the shop is closed")
		j.send(step.verb + " " + count)
		j.says("h1", "30 of "+count+" "+step.done)
		j.follow(`main .actions a`)
		j.filtered("q", "SHOP-", "sort", "name")
		if got := value[int](j.tab, fmt.Sprintf(`[...document.querySelectorAll("main tbody .is .state")].filter(e => e.textContent === %q).length`, step.state)); got != 25 {
			j.t.Errorf("of 25 pools %d are %s: %s", got, step.state, j.text("main table"))
		}
	}
}

// filtered reports whether the page's form has what its list was narrowed by.
func (j *journey) filtered(want ...string) {
	j.t.Helper()
	for ; len(want) > 0; want = want[2:] {
		if got := value[string](j.tab, fmt.Sprintf(`document.querySelector("main .filters [name=%s]").value`, want[0])); got != want[1] {
			j.t.Errorf("%s: %s is %q, want %q", j.path(), want[0], got, want[1])
		}
	}
}

// choose goes to a choice by the tabulator and takes the option by the keys of its first letters.
func (j *journey) choose(name, letters string) {
	j.t.Helper()
	j.tabTo(fmt.Sprintf(`main [name="%s"]`, name))
	j.must("choose "+letters, j.press(letters))
}
