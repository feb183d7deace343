//go:build !goonly

package functions_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/chromedp/chromedp"
	"github.com/oauth2-proxy/mockoidc"

	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
	"idpool/web"
)

// gateway is what API Gateway is to a browser: each request is an event for the function, and its answer is what the browser gets.
type gateway struct {
	t        *testing.T
	url      string
	function atomic.Pointer[environment]
	packed   atomic.Int64 // answers that were compressed
	sent     atomic.Int64 // bytes of bodies
}

func newGateway(t *testing.T) *gateway {
	g := &gateway{t: t}
	server := httptest.NewTLSServer(g)
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e, err := eventOf(r)
	if err != nil {
		g.t.Error(err)
		return
	}
	var got events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(g.function.Load().invoke(g.t, e), &got); err != nil {
		g.t.Error(err)
		return
	}
	body := []byte(got.Body)
	if got.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(got.Body); err != nil {
			g.t.Error(err)
		}
	}
	for name, value := range got.Headers {
		w.Header().Set(name, value)
	}
	for _, c := range got.Cookies {
		w.Header().Add("Set-Cookie", c)
	}
	if w.Header().Get("Content-Encoding") == "gzip" {
		g.packed.Add(1)
	}
	g.sent.Add(int64(len(body)))
	w.WriteHeader(got.StatusCode)
	w.Write(body) // where the browser is gone there is nobody to tell
}

// eventOf is the event of the payload format 2.0 that API Gateway makes of a request on a route without an authorizer.
func eventOf(r *http.Request) (e events.APIGatewayV2HTTPRequest, err error) {
	body, err := io.ReadAll(r.Body)
	e = httpEvent(r.Method, r.URL.EscapedPath(), "")
	e.RequestContext.Authorizer = nil
	e.RequestContext.DomainName = r.Host
	e.RawQueryString = r.URL.RawQuery
	e.Headers = map[string]string{"host": r.Host}
	for name, values := range r.Header {
		if name == "Cookie" {
			for _, line := range values {
				e.Cookies = append(e.Cookies, strings.Split(line, "; ")...)
			}
			continue
		}
		e.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	if len(body) > 0 {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return e, err
}

// chromium is a tab of a browser that trusts the gateway's certificate.
func chromium(t *testing.T) context.Context {
	t.Helper()
	allocator, end := chromedp.NewExecAllocator(t.Context(),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.IgnoreCertErrors,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.WSURLReadTimeout(2*time.Minute),
	)
	t.Cleanup(end)
	tab, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	if err := chromedp.Do(tab); err != nil {
		t.Fatalf("start the browser: %v; run `make tools`, or install Chromium", err)
	}
	return tab
}

// TestBrowserReachesTheFunction goes the way of an administrator through the function as it is deployed: in at an issuer, a text seeded into a
// pool, and the trail. Jobs are carried on by the schedule.
func TestBrowserReachesTheFunction(t *testing.T) {
	database := dynamotest.StartServer(t, "")
	const table = "idpool"
	if err := dynamo.CreateTable(t.Context(), dynamotest.NewClient(t, database.URL, dynamo.ClientConfig{}), table); err != nil {
		t.Fatal(err)
	}
	issuer, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = issuer.Shutdown() })
	settings := []string{"IDPOOL_TABLE=" + table, "IDPOOL_DYNAMODB_ENDPOINT=" + database.URL, "IDPOOL_TOKEN_HASH=" + web.TokenHash(token)}
	refill := start(t, "refill", settings...)
	g := newGateway(t)
	g.function.Store(start(t, "admin", append(settings,
		"IDPOOL_DASHBOARD_URL="+g.url, "IDPOOL_OIDC_ISSUER="+issuer.Issuer(), "IDPOOL_OIDC_CLIENT_ID="+issuer.ClientID,
		"IDPOOL_OIDC_CLIENT_SECRET="+issuer.ClientSecret, "IDPOOL_OIDC_SCOPES=profile groups", "IDPOOL_OIDC_ROLE_CLAIM=groups", "IDPOOL_OIDC_ADMINS=design")...))
	call(t, g.function.Load(), 201, httpEvent("PUT", "/v1/pools/vouchers", ""))
	call(t, g.function.Load(), 200, httpEvent("POST", "/v1/pools/vouchers/seed", `{"ids": ["A"]}`))

	tab := chromium(t)
	step := func(what string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		ctx, cancel := context.WithTimeout(tab, time.Minute)
		defer cancel()
		if response, err := chromedp.RunResponse(ctx, steps...); err != nil || response.Status != 200 {
			t.Fatalf("%s: %v, %+v", what, err, response)
		}
	}
	says := func(words ...string) {
		t.Helper()
		text, err := chromedp.Run(tab, chromedp.Evaluate[string](`document.title + "\n" + document.body.innerText`))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Fatalf("the page does not say %q: %s", w, text)
			}
		}
	}
	work := func() { refill.invoke(t, map[string]string{"source": "schedule"}) }

	step("open the dashboard", chromedp.Navigate(g.url+"/pools"))
	says("Sign in")
	step("sign in", chromedp.Click(`main a.primary`))
	says("jane.doe", "admin", "vouchers")
	before := g.sent.Load()
	step("open the overview", chromedp.Navigate(g.url+"/"))
	if sent := g.sent.Load() - before; g.packed.Load() < 3 || sent > 60<<10 {
		t.Errorf("%d answers were compressed, and the overview had %d bytes", g.packed.Load(), sent)
	}
	step("open the pool", chromedp.Navigate(g.url+"/pools/vouchers"))
	step("seed it", chromedp.Click(`main a[href="/pools/vouchers/seed"]`))
	step("check a text", chromedp.SetValue(`#text`, "A\n1000-1099\n"), chromedp.Click(`#ranges`), chromedp.SetValue(`#why`, "the spring campaign"), chromedp.Click(`main form button[type=submit]`))
	says("101 entries")
	work()
	step("look again", chromedp.Reload())
	says("Nothing was added yet", "it is in the pool")
	step("go on", chromedp.Click(`main a[href*="/start?"]`))
	step("confirm", chromedp.SetValue(`#reason`, "they are the right ones"), chromedp.Click(`form.confirm button[type=submit]`))
	work()
	step("look again", chromedp.Reload())
	says("done", "100", "the spring campaign")
	step("read the trail", chromedp.Navigate(g.url+"/audit?action=pool.*"))
	says("pool.start-seed", "they are the right ones", "pool.done-seed")
	step("sign out", chromedp.Click(`.who button`))
	says("You are signed out")
}
