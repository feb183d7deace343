package api_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/web/api"
)

// world is a system that has one of everything: the pool p with free IDs and two that are held, the sequence s, a
// credential of the client shop, an export, and a seeding of which the first part has come.
type world struct {
	client
	store      *alloctest.Model
	clock      *alloctest.Clock
	held       claimed
	generation alloc.Generation // of them
	credential made
	job        string
	seeding    string
	plan       string // of the rebuild of s, where there is one
	broken     string // of a break of the trail, where there is one: what was seen
}

// claimed is what a claim has answered.
type claimed struct {
	IDs   []string
	Token string
	State string
	Ended []struct{ ID, State string }
}

// made is what the making of a credential has answered.
type made struct {
	ID, Client, Secret string
	Version            int
	Withheld           bool `json:"secret_withheld"`
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOf(t, "")
}

// newWorldOf is a world whose pool p has the configuration.
func newWorldOf(t testing.TB, config string) *world {
	t.Helper()
	clock := alloctest.NewClock()
	store := alloctest.NewModel(clock.Now)
	w := &world{client: clientAt(t, store, clock.Now), store: store, clock: clock}
	w.must(201, "PUT", "/v1/pools/p", config)
	w.must(200, "POST", "/v1/pools/p/seed", `{"ids": ["A-1", "A-2", "A-3", "A-4", "A-5"]}`)
	w.held = read[claimed](t, w.must(201, "POST", "/v1/pools/p/claims", `{"count": 2, "hold": 3600}`).Body)
	w.generation = read[struct{ Generation alloc.Generation }](t, w.must(200, "GET", "/v1/pools/p/ids?id="+w.held.IDs[0], "").Body).Generation
	w.must(201, "PUT", "/v1/sequences/s", "")
	w.credential = w.makeCredential(`{"client": "shop", "scopes": ["claim:p"]}`)
	w.job = read[struct{ ID string }](t, w.must(202, "POST", "/v1/pools/p/exports", "").Body).ID
	w.seeding = w.openSeeding(`{"format": "text"}`)
	w.must(200, "PUT", "/v1/jobs/"+w.seeding+"/input/0", "A-7\nA-8\n", textPlain)
	w.log.take()
	return w
}

// newWorldFor is a world in which the route can do what it is for.
func newWorldFor(t testing.TB, rt api.Route) *world {
	t.Helper()
	return newWorld(t).readyFor(rt)
}

// readyFor brings the world to where the route succeeds.
func (w *world) readyFor(rt api.Route) *world {
	w.t.Helper()
	switch rt.Operation {
	case "getRebuild", "applyRebuild", "cancelRebuild":
		w.planRebuild(`{"reported": "5"}`)
	case "restorePool", "deletePool":
		w.must(200, "POST", "/v1/pools/p/pause", "")
	case "restoreSequence", "deleteSequence":
		w.must(200, "POST", "/v1/sequences/s/pause", "")
	case "resumeRebuild":
		w.planRebuild(`{"reported": "5"}`)
		w.must(200, "POST", "/v1/sequences/s/rebuild/apply", fmt.Sprintf(`{"plan": %q, "confirm": "s"}`, w.plan))
	case "acknowledgeAudit":
		w.harm(alloctest.Damage{Kind: alloctest.LoseRecord, Month: alloc.MonthOf(w.clock.Now()), Position: 2})
		w.broken = read[struct{ Seen string }](w.t, strings.NewReader(w.parts(w.jobDone("/v1/audit/verify", "")))).Seen
	}
	w.log.take()
	return w
}

// rebuilt is what is answered of a rebuild.
type rebuilt struct {
	ID, Step, Was string
	Plan          struct{ ID, Floor, Next, Burned string }
}

// remove pauses a pool or a sequence, and deletes it.
func (w *world) remove(path string) {
	w.t.Helper()
	w.must(200, "POST", path+"/pause", "")
	w.must(200, "DELETE", path, "")
}

// planRebuild freezes the sequence s.
func (w *world) planRebuild(body string) rebuilt {
	w.t.Helper()
	r := read[rebuilt](w.t, w.must(200, "POST", "/v1/sequences/s/rebuild", body).Body)
	w.plan = r.Plan.ID
	return r
}

// textPlain is the header of a file with one ID a line.
const textPlain = "Content-Type: text/plain"

// openSeeding makes a job for the pool p that takes a file.
func (c client) openSeeding(body string) (job string) {
	c.t.Helper()
	return read[struct{ ID string }](c.t, c.must(201, "POST", "/v1/pools/p/seedings", body).Body).ID
}

func (c client) makeCredential(body string) made {
	c.t.Helper()
	return read[made](c.t, c.must(201, "POST", "/v1/credentials", body).Body)
}

// path is the path of a route in this world.
func (w *world) path(rt api.Route) string {
	job := w.job
	switch rt.Operation {
	case "putJobInput", "startJob", "checkJob":
		job = w.seeding
	}
	return strings.NewReplacer("{pool}", "p", "{sequence}", "s", "{credential}", w.credential.ID, "{job}", job, "{part}", "0", "{input}", "1", "{session}", strings.Repeat("a2", 26)).Replace(rt.Path)
}

// good is a body, with headers, by which the route does what it is for.
func (w *world) good(rt api.Route) (body string, headers []string) {
	switch rt.Operation {
	case "confirm", "release", "retire":
		return fmt.Sprintf(`{"ids": [%q, %q], "token": %q}`, w.held.IDs[0], w.held.IDs[1], w.held.Token), nil
	case "releaseForOwner", "retireForOwner":
		return fmt.Sprintf(`{"id": %q, "generation": %d, "client": "default", "why": "the customer has left"}`, w.held.IDs[0], w.generation), nil
	case "seedPool":
		return `{"ids": ["A-6"]}`, nil
	case "putPool", "putSequence":
		return `{"description": "changed"}`, []string{`If-Match: "1"`}
	case "previewPool":
		return `{"generator": {"kind": "ulid"}, "refill": {"low": 2, "target": 5}}`, nil
	case "openSeeding":
		return `{"format": "text"}`, nil
	case "putJobInput":
		return "A-9\n", []string{textPlain}
	case "startJob":
		return `{"parts": 1}`, nil
	case "planRebuild":
		return `{"reported": "5", "why": "lost"}`, nil
	case "applyRebuild":
		return fmt.Sprintf(`{"plan": %q, "confirm": "s"}`, cmp.Or(w.plan, "none")), nil
	case "resumeRebuild":
		return `{"share": 100}`, nil
	case "rebuildPool":
		return `{"confirm": "p"}`, nil
	case "acknowledgeAudit":
		return fmt.Sprintf(`{"month": %q, "position": "2", "seen": %q, "why": "lost by hand"}`, alloc.MonthOf(w.clock.Now()), cmp.Or(w.broken, "0123456789abcdef")), nil
	case "restorePool":
		return `{"source": "burn", "point": "2026-11-29T11:00:00Z", "at_most": 1, "confirm": "p"}`, nil
	case "restoreSequence":
		return `{"source": "log", "point": "2026-11-29T11:00:00Z", "confirm": "s"}`, nil
	case "createCredential":
		return `{"client": "shop", "scopes": ["claim:p"]}`, nil
	case "putCredential":
		return `{"description": "changed", "scopes": ["claim:p"]}`, []string{`If-Match: "1"`}
	}
	return "", nil
}

// query is the query by which a route does what it is for, with its question mark.
func query(rt api.Route) string {
	if rt.Operation == "inspectID" {
		return "?id=A-1"
	}
	return ""
}

// code is the code of the problem that an answer may be.
func codeOf(t testing.TB, body []byte) alloc.Code {
	t.Helper()
	return read[struct{ Code alloc.Code }](t, strings.NewReader(string(body))).Code
}

// harm does harm to what is stored.
func (w *world) harm(d alloctest.Damage) {
	w.t.Helper()
	w.store.Damage(w.t, d)
}

// loseSequence loses all of the sequence s but its ledger and its mark.
func (w *world) loseSequence() {
	w.t.Helper()
	w.store.DropCounter("s")
	w.harm(alloctest.Damage{Kind: alloctest.LoseSequenceCopy, Sequence: "s"})
}

// loseLeases loses all that tells where the sequence s stands but its counter.
func (w *world) loseLeases() {
	w.t.Helper()
	w.harm(alloctest.Damage{Kind: alloctest.CutLedger, Sequence: "s"})
	w.harm(alloctest.Damage{Kind: alloctest.LoseMark, Sequence: "s"})
}
