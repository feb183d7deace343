//go:build !goonly

package functions_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/oauth2-proxy/mockoidc"
)

// person is a browser of somebody at the dashboard.
type person struct {
	t       *testing.T
	admin   *environment
	cookies map[string]string
}

// send sends a request with the cookies, as API Gateway hands it on, and keeps what is set.
func (p *person) send(status int, method, address, body string) events.APIGatewayV2HTTPResponse {
	p.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		p.t.Fatal(err)
	}
	e := httpEvent(method, u.Path, body)
	delete(e.Headers, "authorization")
	e.RequestContext.Authorizer = nil
	e.RawQueryString = u.RawQuery
	e.Headers["host"], e.Headers["sec-fetch-site"], e.Headers["content-type"] = "ids.example.com", "same-origin", "application/x-www-form-urlencoded"
	for name, value := range p.cookies {
		e.Cookies = append(e.Cookies, name+"="+value)
	}
	got := call(p.t, p.admin, status, e)
	for _, line := range got.Cookies {
		c, err := http.ParseSetCookie(line)
		if err != nil {
			p.t.Fatal(err)
		}
		if p.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(p.cookies, c.Name)
		}
	}
	return got
}

// follow asks the issuer, and returns where it leads back to.
func (p *person) follow(address string) string {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		p.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.Header.Get("Location")
}

// signIn goes the way of somebody at the dashboard: in at an issuer, to a page, out.
func (s *system) signIn(t *testing.T) {
	issuer, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = issuer.Shutdown() })
	p := &person{t: t, cookies: map[string]string{}, admin: s.run("admin", s.toAdmin,
		"IDPOOL_DASHBOARD_URL=https://ids.example.com", "IDPOOL_OIDC_ISSUER="+issuer.Issuer(), "IDPOOL_OIDC_CLIENT_ID="+issuer.ClientID,
		"IDPOOL_OIDC_CLIENT_SECRET="+issuer.ClientSecret, "IDPOOL_OIDC_SCOPES=profile groups", "IDPOOL_OIDC_ROLE_CLAIM=groups", "IDPOOL_OIDC_VIEWERS=other, design")}
	if got := p.send(303, "GET", "/pools", ""); got.Headers["Location"] != "/signin?to=%2Fpools" || got.Headers["Strict-Transport-Security"] == "" {
		t.Errorf("without a session a page answers with %v", got.Headers)
	}
	to := p.send(303, "GET", "/signin/go?to=%2Fpools", "").Headers["Location"]
	back := p.follow(to)
	if !strings.HasPrefix(back, "https://ids.example.com/signin/callback?") {
		t.Fatalf("the issuer leads to %q", back)
	}
	if got := p.send(303, "GET", back, ""); got.Headers["Location"] != "/pools" || len(got.Cookies) != 2 {
		t.Errorf("the sign-in answers with %v and %d cookies", got.Headers, len(got.Cookies))
	}
	if got := p.send(200, "GET", "/pools", ""); !strings.Contains(got.Body, "jane.doe · viewer") && !strings.Contains(got.Body, "jane.doe@example.com · viewer") {
		t.Error("the page does not say who is signed in")
	}
	p.send(200, "GET", "/", "")
	p.send(409, "POST", "/pools/p/pause", "plan=x") // without a plan
	secret := p.cookies["__Host-idpool"]
	p.send(303, "POST", "/signout", "")
	p.cookies["__Host-idpool"] = secret
	p.send(303, "GET", "/pools", "")
}

func TestSomebodySignsInAtTheFunction(t *testing.T) { startSystem(t).signIn(t) }
