package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/web/api"
)

// needed is the table of what each operation needs: an action, and the name that it must be permitted on. Without an
// action every known credential is let in.
var needed = map[string]struct {
	action alloc.Action
	on     string
}{
	"health": {}, "ready": {}, "contract": {},
	"listPools": {}, "listSequences": {}, "listJobs": {},

	"claim": {"claim", "p"}, "confirm": {"claim", "p"}, "release": {"claim", "p"}, "retire": {"claim", "p"},
	"lease": {"lease", "s"}, "next": {"lease", "s"},
	"inspectID": {"read", "p"}, "getPool": {"read", "p"},
	"exportPool": {"export", "p"}, "getJob": {"export", "p"}, "getJobPart": {"export", "p"}, // of an export; see neededOf
	"cancelJob": {"manage", "p"}, "putJobInput": {"manage", "p"}, "startJob": {"manage", "p"}, "checkJob": {"manage", "p"}, // of another client's job, as those in the world are
	"getSequence": {"read", "s"}, "listLeases": {"read", "s"}, "forecastSequence": {"read", "s"}, "listSequenceSamples": {"read", "s"},
	"getRefill": {"read", "p"}, "forecastPool": {"read", "p"}, "listPoolSamples": {"read", "p"}, "countPool": {"read", "p"},
	"previewPool": {"manage", "p"},
	"seedPool":    {"seed", "p"}, "openSeeding": {"seed", "p"},
	"sweepPool": {"tend", "p"},
	"putPool":   {"manage", "p"}, "deletePool": {"manage", "p"}, "pausePool": {"operate", "p"}, "resumePool": {"operate", "p"}, "releaseForOwner": {"operate", "p"}, "retireForOwner": {"operate", "p"}, "drainPool": {"manage", "p"},
	"putSequence": {"manage", "s"}, "deleteSequence": {"manage", "s"}, "pauseSequence": {"operate", "s"}, "resumeSequence": {"operate", "s"},
	"getRebuild": {"read", "s"}, "planRebuild": {"manage", "s"}, "applyRebuild": {"manage", "s"}, "resumeRebuild": {"manage", "s"}, "cancelRebuild": {"manage", "s"},
	"getEvidence": {"read", "p"}, "getSequenceEvidence": {"read", "s"}, "rebuildPool": {"manage", "p"},
	"auditPool": {"manage", "p"}, "auditSequence": {"manage", "s"}, "verifyAudit": {"manage", "*"}, "acknowledgeAudit": {"manage", "*"},
	"logPool": {"manage", "p"}, "logSequence": {"manage", "s"}, "restorePool": {"manage", "p"}, "restoreSequence": {"manage", "s"},
	"tend":            {"tend", "*"},
	"listAudit":       {"read", "*"},
	"listCredentials": {"credentials", "*"}, "createCredential": {"credentials", "*"}, "getCredential": {"credentials", "*"},
	"putCredential": {"credentials", "*"}, "rotateCredential": {"credentials", "*"}, "revokeCredential": {"credentials", "*"},
	"endSession": {"credentials", "*"},
}

// neededOf is what each kind of job needs on its pool to be seen. Who manages the pool may cancel them all, and sees them.
var neededOf = map[alloc.JobKind]alloc.Action{
	alloc.JobExport: "export", alloc.JobSeed: "seed", alloc.JobCheck: "seed", alloc.JobCount: "read",
	alloc.JobRebuild: "manage", alloc.JobAudit: "manage", alloc.JobLog: "manage", alloc.JobRestore: "manage",
}

// actions are all that a scope may permit.
var actions = []alloc.Action{
	"*", alloc.ActionClaim, alloc.ActionLease, alloc.ActionRead, alloc.ActionExport, alloc.ActionSeed, alloc.ActionOperate, alloc.ActionManage, alloc.ActionTend, alloc.ActionCredentials,
}

func TestEveryRouteSaysWhatItNeeds(t *testing.T) {
	routes := api.Routes(nil)
	if len(needed) != len(routes) {
		t.Errorf("%d operations in the table, %d routes", len(needed), len(routes))
	}
	names := map[string]string{"pool": "p", "sequence": "s", "job": "p", api.Everything: "*", "": ""}
	for _, rt := range routes {
		need, ok := needed[rt.Operation]
		if !ok {
			t.Errorf("%s has no row in the table of what is needed", rt.Operation)
		}
		says := rt.Need
		if rt.NeedOf != nil {
			says = rt.NeedOf[alloc.JobExport]
		}
		if says != need.action || names[rt.On] != need.on {
			t.Errorf("%s says that it needs %s on %s, the table %s on %s", rt.Operation, says, rt.On, need.action, need.on)
		}
		if diff := cmp.Diff(neededOf, rt.NeedOf); rt.NeedOf != nil && diff != "" {
			t.Errorf("%s says of the kinds of jobs what the table does not (-table +route):\n%s", rt.Operation, diff)
		}
	}
}

// TestAuthorisation sends to every route what it is for with every kind of credential: those that let nobody in, and each
// action on patterns that cover the name and on such that do not. It is carried out exactly where the table of what is
// needed says so; a refusal changes nothing.
func TestAuthorisation(t *testing.T) {
	refusing := newWorld(t)
	useless := refusing.uselessCredentials()
	limited := map[alloc.Scope]string{}
	for _, action := range actions {
		for _, pattern := range []string{"*", "p", "p*", "s", "pp", "other*"} {
			limited[alloc.Scope{Action: action, Pattern: pattern}] = refusing.secretFor(string(action) + ":" + pattern)
		}
	}
	for _, rt := range api.Routes(nil) {
		t.Run(rt.Operation, func(t *testing.T) {
			need := needed[rt.Operation]
			before := refusing.snapshot()
			for kind, credential := range useless {
				want := http.StatusUnauthorized
				if rt.Open { // no credential is looked at
					want = http.StatusOK
				}
				if got := refusing.ask(rt, credential); got != want {
					t.Errorf("%s credential: %d, want %d", kind, got, want)
				}
			}
			for scope, credential := range limited {
				if need.action == "" || scope.Permits(need.action, need.on) || rt.Operation == "getJob" && scope.Permits(alloc.ActionManage, need.on) {
					continue
				}
				if got := refusing.ask(rt, credential); got != http.StatusForbidden {
					t.Errorf("with %s: %d, want 403", scope, got)
				}
			}
			if after := refusing.snapshot(); after != before {
				t.Errorf("what was refused has changed something: %s, before %s", after, before)
			}
			for _, scopes := range permitting(need.action, need.on) {
				w := newWorldFor(t, rt)
				if rt.Operation == "getJobPart" {
					w.must(200, "POST", "/v1/tend", "")
				}
				if got := w.ask(rt, w.secretFor(scopes...)); got >= 300 {
					t.Errorf("with %s: %d, want success", scopes, got)
				}
			}
		})
	}
}

// permitting are lists of scopes that permit the action on the name.
func permitting(action alloc.Action, on string) [][]string {
	if action == "" {
		return [][]string{{"claim:other"}, {"*:*"}}
	}
	lists := [][]string{{"*:*"}}
	for _, pattern := range slices.Compact([]string{on, on[:1] + "*", "*"}) {
		pattern = strings.ReplaceAll(pattern, "**", "*")
		lists = append(lists, []string{"claim:other", string(action) + ":" + pattern})
	}
	if action == alloc.ActionCredentials {
		for i := range lists { // whoever gives a scope must have it
			lists[i] = append(lists[i], "claim:p")
		}
	}
	return lists
}

// ask sends to a route what it is for, and returns the status.
func (w *world) ask(rt api.Route, authorization string) int {
	w.t.Helper()
	body, headers := w.good(rt)
	return w.as("").do(rt.Method, w.path(rt)+query(rt), body, append(headers, "Authorization:"+authorization)...).Code
}

// secretFor makes a credential with the scopes, once each.
func (w *world) secretFor(scopes ...string) string {
	w.t.Helper()
	return "Bearer " + w.makeCredential(fmt.Sprintf(`{"client": "asker", "scopes": ["%s"]}`, strings.Join(scopes, `", "`))).Secret
}

// uselessCredentials are those that let nobody in, whatever they could do.
func (w *world) uselessCredentials() map[string]string {
	w.t.Helper()
	all := `{"client": "asker", "scopes": ["*:*"]%s}`
	expiring := w.makeCredential(fmt.Sprintf(all, `, "expires_at": "`+w.clock.Now().Add(time.Minute).Format(time.RFC3339)+`"`))
	revoked := w.makeCredential(fmt.Sprintf(all, ""))
	w.must(200, "POST", "/v1/credentials/"+revoked.ID+"/revoke", "")
	rotated := w.makeCredential(fmt.Sprintf(all, ""))
	w.must(200, "POST", "/v1/credentials/"+rotated.ID+"/rotate", `{"overlap": 30}`)
	good := w.makeCredential(fmt.Sprintf(all, ""))
	w.clock.Advance(time.Minute)
	flipped := []byte(good.Secret)
	flipped[len(flipped)-1] ^= 1
	return map[string]string{
		"none": "", "empty": "Bearer ", "malformed": "Bearer not-of-our-form", "of another scheme": "Basic " + good.Secret,
		"unknown":         "Bearer idpool_aaaaaaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"mistyped":        "Bearer " + string(flipped),
		"cut":             "Bearer " + good.Secret[:len(good.Secret)-1],
		"of another form": "Bearer " + strings.ToUpper(good.Secret),
		"expired":         "Bearer " + expiring.Secret, "revoked": "Bearer " + revoked.Secret, "rotated away": "Bearer " + rotated.Secret,
		"wrong bootstrap": "Bearer " + token + "x",
	}
}
