package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/web/admin/plan"
)

// Every step of the table, by every role: the right is the service's to know, whatever a plan says.
func TestEveryStepByEveryRole(t *testing.T) {
	model := alloctest.NewModel(nil)
	newSystem(t, model, root).fill(1)
	rank := map[alloc.Action]int{alloc.ActionRead: 0, alloc.ActionClaim: 1, alloc.ActionOperate: 1}
	for at, role := range alloc.Roles() {
		s := newSystem(t, model, alloc.Caller{Client: "some", Scopes: role.Scopes()})
		d := &dashboard{svc: s.svc, now: func() time.Time { return s.clock }}
		for _, a := range d.actions() {
			needs, ok := rank[a.need]
			if !ok {
				needs = 2
			}
			if at >= needs {
				continue
			}
			path := strings.NewReplacer("{pool}", "pool-000", "{sequence}", "sequence-000", "{job}", "none", "{credential}", "none", "{session}", "none").Replace(a.path)
			name := "pool-000"
			if strings.Contains(path, "sequence") {
				name = "sequence-000"
			}
			if strings.Contains(path, "credential") || strings.Contains(path, "session/") || strings.Contains(path, "bulk") {
				name = "*"
			}
			sealed, err := plan.Seal(alloc.WithCaller(t.Context(), root), s.svc, plan.Plan{
				Action: a.verb, Target: "x/y", Name: name, Need: a.need, Operation: "page-" + string(role) + a.verb,
				Params: map[string]string{"config": "{}", "pools": `[{"n":"pool-000","v":1}]`, "generation": "1", "share": "100", "parts": "1", "job": "none", "plan": "x", "id": "ID-0"},
			}, "some", s.clock)
			if err != nil {
				t.Fatal(err)
			}
			w := s.post(path, url.Values{"plan": {sealed}, "reason": {"none"}})
			if w.Code != http.StatusForbidden {
				t.Errorf("%s by %s: %d, want 403", a.verb, role, w.Code)
			}
		}
	}
}
