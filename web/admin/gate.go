package admin

import (
	"net/http"

	"github.com/a-h/templ"

	"idpool/templates"
	"idpool/web/admin/signin"
)

// letIn makes the gate.
func (d *dashboard) letIn(c *signin.Config) (err error) {
	if c == nil {
		return nil
	}
	whole := *c
	whole.Service, whole.Now, whole.Fail = d.svc, d.now, d.failed
	whole.Show = func(w http.ResponseWriter, r *http.Request, title string, page func(templates.Frame) templ.Component) {
		d.render(w, r, http.StatusOK, page(d.frame(r, title)))
	}
	d.gate, err = signin.New(whole)
	return err
}

// signedIn lets nobody on who is not signed in, where that is the gate's business.
func (d *dashboard) signedIn(next http.Handler) http.Handler {
	if d.gate == nil {
		return next
	}
	return d.gate.RequireSession(next)
}

// gateRoutes are the routes of the sign-in.
func (d *dashboard) gateRoutes() map[string]map[string]http.Handler {
	if d.gate == nil {
		return nil
	}
	return d.gate.Routes()
}

// transport tells browsers what the gate knows of the way to it.
func (d *dashboard) transport(next http.Handler) http.Handler {
	if d.gate == nil {
		return next
	}
	return d.gate.Transport(next)
}
