package alloc_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

func scopesOf(on string, actions ...alloc.Action) (scopes []alloc.Scope) {
	for _, a := range actions {
		scopes = append(scopes, alloc.Scope{Action: a, Pattern: on})
	}
	return scopes
}

// The credential for the one on duty, as docs/runbook.md has it, sees every job; the IDs of an export it does not get.
func TestWhoManagesSeesEveryJob(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A1")
	written := m.job(t)
	m.deliver(t)
	if _, err := m.JobPart(m.ctx, written.ID, 0); err != nil {
		t.Fatal(err)
	}
	for _, client := range []alloc.ClientID{"duty", "admin"} { // also where its client has made it
		duty := as(t.Context(), client, scopesOf("*", alloc.ActionRead, alloc.ActionManage, alloc.ActionSeed, alloc.ActionTend)...)
		if jobs, _, err := m.Jobs(duty, "", 100); err != nil || len(jobs) != 1 {
			t.Errorf("%s sees %+v, %v", client, jobs, err)
		}
		if _, err := m.Job(duty, written.ID); err != nil {
			t.Errorf("%s: %v", client, err)
		}
		_, err := m.JobPart(duty, written.ID, 0)
		wantCode(t, err, alloc.CodeForbidden)
	}
}

// Who may not cancel another client's job may not feed or start it either; who manages the pool may.
func TestAStrangerDoesNotFeedOrStartAnothersJob(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	j := m.file(t, alloc.SeedFormat{})
	bob := as(t.Context(), "bob", scopesOf(string(pool), alloc.ActionSeed, alloc.ActionRead, alloc.ActionExport)...)
	_, err := m.CancelJob(bob, j.ID)
	wantCode(t, err, alloc.CodeForbidden)
	_, _, err = m.ReceivePart(bob, j.ID, 0, []byte("BOB1\n"))
	wantCode(t, err, alloc.CodeForbidden)
	if err := m.receive(j.ID, 0, "A1\n"); err != nil {
		t.Errorf("its maker's own part: %v", err)
	}
	_, err = m.StartJob(bob, j.ID, 1)
	wantCode(t, err, alloc.CodeForbidden)
	_, _, err = m.ReceivePart(as(t.Context(), "admin", scopesOf(string(pool), alloc.ActionSeed)...), j.ID, 1, []byte("A2\n"))
	if err != nil {
		t.Errorf("its maker, who may seed: %v", err)
	}
	manager := as(t.Context(), "manager", scopesOf(string(pool), alloc.ActionManage)...)
	if _, err := m.StartJob(manager, j.ID, 2); err != nil {
		t.Errorf("a manager: %v", err)
	}
}

// trail is what the audit has of the action, newest first.
func (m *mill) trail(t testing.TB, action string) (found []alloc.AuditRecord) {
	t.Helper()
	records, err := m.model.Records(t.Context(), "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Action == action {
			found = append(found, r)
		}
	}
	return found
}

// The trail shows with which bytes a seeding was started, and what came of it, once.
func TestTheTrailOfASeeding(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A1")
	one := m.file(t, alloc.SeedFormat{}, "A1\nA2\n")
	m.start(t, one)
	m.deliver(t)
	started, done := m.trail(t, "pool.start-seed"), m.trail(t, "pool.done-seed")
	if len(started) != 1 || started[0].Client != "admin" || !strings.Contains(started[0].Detail, "2 entries, sha256 "+one.Inputs[0].Digest) {
		t.Errorf("the start is recorded as %+v", started)
	}
	if len(done) != 1 || done[0].Detail != "job "+string(one.ID)+" of admin: of 2 entries 1 added, 1 duplicate, 0 conflict, 0 invalid" {
		t.Errorf("the end is recorded as %+v", done)
	}

	var parts []string
	for i := range 41 {
		parts = append(parts, "B"+string(rune('A'+i))+"\n")
	}
	few, many := m.file(t, alloc.SeedFormat{}, parts[:3]...), m.file(t, alloc.SeedFormat{}, parts...)
	m.clock.Advance(time.Second)
	m.start(t, few)
	for n, in := range few.Inputs {
		if r := m.trail(t, "pool.start-seed")[0]; !strings.Contains(r.Detail, in.Digest[:16]) {
			t.Errorf("of three parts number %d is not in %q", n, r.Detail)
		}
	}
	m.clock.Advance(time.Second)
	m.start(t, many)
	if r := m.trail(t, "pool.start-seed")[0]; !strings.Contains(r.Detail, "41 entries, sha256 of their digests ") || len(r.Detail) > 300 {
		t.Errorf("the start with many parts is recorded as %q", r.Detail)
	}
	m.clock.Advance(time.Second)
	if _, err := m.StartJob(m.ctx, few.ID, 2); !alloc.Is(err, alloc.CodeInvalidRequest) {
		t.Fatal(err)
	}
	if r := m.trail(t, "pool.start-seed")[0]; r.Result != "invalid_request" || !strings.Contains(r.Detail, "2 parts said, 3 there") {
		t.Errorf("a start that is refused is recorded as %+v", r)
	}
}

// However often the last step of a seeding is done, its end is recorded once; where the record cannot be written, the step is
// not done.
func TestTheEndOfASeedingIsRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMill(t, alloc.PoolConfig{})
		j := m.file(t, alloc.SeedFormat{}, "A1\n")
		m.start(t, j)
		m.store.SetPlan(failing("Record", alloctest.Refused))
		for _, step := range m.post.take() {
			if err := m.Work(m.ctx, step); !alloctest.Injected(err) {
				t.Errorf("got %v, want why the step failed", err)
			}
		}
		now := m.now(t, j.ID)
		if now.State != alloc.JobQueued || now.Tries != 3 || len(m.trail(t, "pool.done-seed")) != 0 {
			t.Errorf("the job is %+v", now)
		}
		for _, fault := range []alloctest.Fault{alloctest.Refused, alloctest.RefusedUnknown} {
			m.clock.Advance(time.Second)
			m.store.SetPlan(alloctest.Script("ChangeJob", fault, fault, fault, fault, fault, fault))
			if err := m.Work(m.ctx, alloc.Step{Job: j.ID, Version: now.Version}); !alloctest.Injected(err) {
				t.Errorf("got %v, want that the job could not be changed", err)
			}
		}
		m.store.SetPlan(nil)
		m.clock.Advance(time.Second)
		if err := m.Work(m.ctx, alloc.Step{Job: j.ID, Version: now.Version}); err != nil {
			t.Error(err)
		}
		if now := m.now(t, j.ID); now.State != alloc.JobDone || len(m.trail(t, "pool.done-seed")) != 1 {
			t.Errorf("the job is %+v, its end is recorded as %+v", now, m.trail(t, "pool.done-seed"))
		}
	})
}

// What became of a seeding that did not come to its end is recorded as well.
func TestTheTrailOfSeedingsThatDoNotComeToTheirEnd(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	cancelled, failed, silent := m.file(t, alloc.SeedFormat{}, "A1\n"), m.file(t, alloc.SeedFormat{}, "A2\n"), m.file(t, alloc.SeedFormat{}, "A3\n")
	if _, err := m.CancelJob(m.ctx, cancelled.ID); err != nil {
		t.Fatal(err)
	}
	m.start(t, failed)
	must(t, m.model.SetPoolState, pool, alloc.PoolDraining)
	for _, step := range m.post.take() {
		wantCode(t, m.Work(m.ctx, step), alloc.CodePoolDraining)
	}
	m.clock.Advance(24 * time.Hour)
	if _, err := m.Tend(m.ctx); err != nil {
		t.Fatal(err)
	}
	for action, want := range map[string]struct {
		job          alloc.JobID
		result, says string
	}{
		"pool.cancel-seed":  {cancelled.ID, "ok", "of 0 entries 0 added"},
		"pool.fail-seed":    {failed.ID, "pool_draining", "of 0 entries 0 added"},
		"pool.give-up-seed": {silent.ID, "ok", "after 1 part with 1 entry"},
	} {
		found := m.trail(t, action)
		if len(found) != 1 || found[0].Result != want.result || !strings.Contains(found[0].Detail, string(want.job)) || !strings.Contains(found[0].Detail, want.says) {
			t.Errorf("%s: %+v", action, found)
		}
	}
}
