package signin_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"idpool/alloc"
)

func TestSignOut(t *testing.T) {
	h := newHouse(t, nil)
	b := h.browser()
	b.signIn(user("ann", alloc.RoleViewer), "/")
	secret := b.cookie(sessionCookie)
	b.must(b.get("/signout"), http.StatusOK) // a look ends nothing
	if !b.inside() {
		t.Fatal("GET has ended the session")
	}
	if to := b.must(b.post("/signout", nil), http.StatusSeeOther); to != "/signout" {
		t.Errorf("it leads to %s", to)
	}
	b.says(b.get("/signout"), http.StatusOK, "You are signed out")
	if b.cookie(sessionCookie) != "" || b.inside() {
		t.Error("the browser has its cookie yet")
	}
	b.setCookie(sessionCookie, secret)
	if b.inside() {
		t.Error("the secret works after the sign-out")
	}
	b.must(b.post("/signout", nil), http.StatusSeeOther) // without a session too
}

// An issuer that can end its own session is offered for that, by its own address and with the way back; one that cannot, or says something that is no
// address to be trusted, is not.
func TestSignOutOfTheIssuerToo(t *testing.T) {
	const leave = "Sign out of "
	for name, tt := range map[string]struct {
		says  string // member of what the issuer says of itself
		leads string // beginning of the link; "" for none
	}{
		"it can":                         {`"end_session_endpoint":"https://id.example/logout",`, "https://id.example/logout?client_id="},
		"its address has a query":        {`"end_session_endpoint":"https://id.example/logout?realm=a",`, "https://id.example/logout?client_id="},
		"it cannot":                      {``, ""},
		"its address is none":            {`"end_session_endpoint":"%zz",`, ""},
		"its address is a script":        {`"end_session_endpoint":"javascript:alert(1)",`, ""},
		"its address is open to readers": {`"end_session_endpoint":"http://id.example/logout",`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, nil)
			h.tells = func(body string) string { return "{" + tt.says + strings.TrimPrefix(body, "{") }
			b := h.browser()
			b.signIn(user("ann", alloc.RoleViewer), "/")
			page := b.get(b.must(b.post("/signout", nil), http.StatusSeeOther)).body
			if tt.leads == "" {
				if strings.Contains(page, leave) || strings.Contains(page, "id.example") {
					t.Errorf("a way out at the issuer is offered:\n%s", page)
				}
				return
			}
			m := regexp.MustCompile(`href="([^"]+)"[^>]*>` + leave).FindStringSubmatch(page)
			if m == nil || !strings.HasPrefix(m[1], tt.leads) {
				t.Fatalf("no way out at the issuer is offered, or another:\n%s", page)
			}
			to, err := url.Parse(html.UnescapeString(m[1]))
			if err != nil || to.Query().Get("client_id") != h.issuer.ClientID || to.Query().Get("post_logout_redirect_uri") != h.url+"/signin" {
				t.Errorf("it leads to %s (%v)", m[1], err)
			}
			if strings.Contains(tt.says, "realm") && to.Query().Get("realm") != "a" {
				t.Errorf("the query of the address is lost: %s", to)
			}
			if b.inside() {
				t.Error("the session here goes on")
			}
		})
	}
}

// A function that has just been started, and has let nobody in, asks the issuer for its way out; one that is silent keeps nobody.
func TestSignOutOfTheIssuerWhereItWasNotAskedBefore(t *testing.T) {
	h := newHouse(t, nil)
	h.tells = func(body string) string {
		return `{"end_session_endpoint":"https://id.example/logout",` + strings.TrimPrefix(body, "{")
	}
	b := h.browser()
	b.says(b.get("/signout"), http.StatusOK, "https://id.example/logout?client_id=")

	h = newHouse(t, nil)
	silent := make(chan struct{})
	h.tells = func(string) string { <-silent; return "" }
	t.Cleanup(func() { close(silent) })
	a := h.browser().get("/signout")
	if a.StatusCode != http.StatusOK || !strings.Contains(a.body, "You are signed out") || strings.Contains(a.body, "Sign out of ") || !strings.Contains(h.log.String(), "does not answer") {
		t.Errorf("%d, and the log is %s:\n%s", a.StatusCode, h.log.String(), a.body)
	}
}
