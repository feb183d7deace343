//go:build !goonly

package main

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// jobs are all jobs there are.
func (s *site) jobs(t testing.TB) []jobSeen {
	t.Helper()
	return must[struct{ Jobs []jobSeen }](t, s.api(), http.StatusOK, request{method: "GET", path: "/v1/jobs?limit=100"}).Jobs
}

// TestBrowserDoesOnceWhatIsConfirmedOnce presses the button of a confirmation twice, sends its form twice at once, and comes back to it: each plan
// makes one job, and whoever sends it again is shown that one.
func TestBrowserDoesOnceWhatIsConfirmedOnce(t *testing.T) {
	s := newSite(t, func(c *settings) { c.demo = false })
	p := s.signedIn(t, newBrowser(t))
	s.make(t, 201, "PUT", "/v1/pools/p", "")
	s.make(t, 200, "POST", "/v1/pools/p/seed", `{"ids": ["A", "B"]}`)
	const button = `form.confirm button[type=submit]`
	made := 0
	one := func(what string) string {
		t.Helper()
		if made++; len(s.jobs(t)) != made {
			t.Fatalf("%s: there are %d jobs, want %d", what, len(s.jobs(t)), made)
		}
		p.says(".notice", "The job goes on by itself")
		return value[string](p, `location.pathname`)
	}
	for what, script := range map[string]bool{"a double click": true, "a double click without scripts": false} {
		p.scripts(script)
		p.visit("/pools/p/count")
		p.must(what, chromedp.DoubleClick(button))
		p.comes("the job is shown", `location.pathname.startsWith("/jobs/") && document.readyState === "complete"`)
		one(what)
	}
	p.scripts(true)

	p.visit("/pools/p/count")
	led := value[[]string](p, `(async () => {
		const send = () => fetch(location.href, { method: "POST", body: new URLSearchParams(new FormData(document.querySelector("form.confirm"))) });
		return (await Promise.all([send(), send(), send()])).map(answer => answer.status + " " + new URL(answer.url).pathname);
	})()`)
	p.leads("press the button after all", http.StatusOK, chromedp.Click(button))
	first := one("a form that is sent by three at once, and again")
	for _, to := range led {
		if to != "200 "+first {
			t.Errorf("three at once and one after them are led to %q and %s", led, first)
		}
	}
}

// TestBrowserComesBackToAConfirmation goes back from a job to the page where it was confirmed, and presses again. Where the browser shows the page as
// it was, that is the same plan and leads to the same job; where it asks for it anew, it is another plan.
func TestBrowserComesBackToAConfirmation(t *testing.T) {
	s := newSite(t, func(c *settings) { c.demo = false })
	p := s.signedIn(t, newBrowser(t))
	s.make(t, 201, "PUT", "/v1/pools/p", "")
	const plan = `document.querySelector("form.confirm [name=plan]").value`
	press := func() (job string) {
		t.Helper()
		value[any](p, `document.querySelector("form.confirm button[type=submit]").click()`)
		p.comes("the job is shown", `location.pathname.startsWith("/jobs/") && document.readyState === "complete"`)
		return value[string](p, `location.pathname`)
	}
	p.visit("/pools/p/count")
	before := value[string](p, plan)
	first := press()
	value[any](p, `history.back()`)
	p.comes("the confirmation is shown", `document.readyState === "complete" && document.querySelector("form.confirm") !== null`)
	same := value[string](p, plan) == before
	again := press()
	if want := map[bool]int{true: 1, false: 2}[same]; (again == first) != same || len(s.jobs(t)) != want {
		t.Errorf("by the same plan (%t) the second press leads to %s and the first to %s; there are %d jobs, want %d", same, again, first, len(s.jobs(t)), want)
	}
}
