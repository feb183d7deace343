package signin

import (
	"net/http"
	"net/url"

	"github.com/a-h/templ"

	"idpool/templates"
)

// What the query of the sign-in's page says: that an address was printed in the terminal, and that there was a session.
const (
	queryPrinted = "printed"
	queryEnded   = "ended"
)

// page is the page of the sign-in.
func (g *Gate) page(w http.ResponseWriter, r *http.Request) {
	if g.Issuer == nil && g.Once == nil {
		g.Fail(w, r, notConfigured())
		return
	}
	q := r.URL.Query()
	p := templates.SignInPage{Printed: q.Has(queryPrinted), Ended: q.Has(queryEnded), To: localPath(q.Get(queryTo))}
	if g.Issuer != nil {
		p.Issuer = g.link(p.To)
	}
	if g.Once != nil {
		p.New = newPath
	}
	g.Show(w, r, "Sign in", func(f templates.Frame) templ.Component {
		p.Frame = f
		return templates.SignIn(p)
	})
}

// link leads to the issuer. It is a link and no form, as a browser follows no redirect of a form to another site.
func (g *Gate) link(to string) templates.Link {
	return templates.Link{Text: "Sign in with " + g.Issuer.name(), Href: goPath + "?" + url.Values{queryTo: {to}}.Encode()}
}

// signedOut says that the session has ended, and how that with the issuer is ended too.
func (g *Gate) signedOut(w http.ResponseWriter, r *http.Request) {
	p := templates.SignedOutPage{Again: signinPath}
	if g.provider != nil {
		if end := g.provider.endSession(r.Context(), g.BaseURL+signinPath); end != "" {
			p.Leave = templates.Link{Text: "Sign out of " + g.Issuer.name() + " too", Href: end}
		}
	}
	g.Show(w, r, "Signed out", func(f templates.Frame) templ.Component {
		p.Frame = f
		return templates.SignedOut(p)
	})
}
