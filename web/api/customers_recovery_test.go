package api_test

import (
	"strings"
	"testing"
	"time"

	"idpool/web/api/apitest"
)

func TestACustomerRebuildsASequence(t *testing.T) {
	w := newWorld(t)
	c := newCustomer(t, w, token)
	told[*apitest.LeaseResponse](c, 201)(c.LeaseWithResponse(c.ctx, "s", nil, apitest.LeaseRequest{Count: new(int64(1000))}))
	w.store.SetCounter("s", 10)
	stopped := told[*apitest.LeaseResponse](c, 503)(c.LeaseWithResponse(c.ctx, "s", nil, apitest.LeaseRequest{}))
	if stopped.ApplicationProblemJSON503.Code != apitest.ProblemCodeSequenceStopped {
		t.Errorf("a counter behind its leases: %+v", stopped.ApplicationProblemJSON503)
	}
	key := &apitest.PlanRebuildParams{IdempotencyKey: new("plan")}
	wanted := apitest.RebuildRequest{Why: new("behind"), Reported: new("9007199254740993"), Margin: new(int64(1))}
	planned := told[*apitest.PlanRebuildResponse](c, 200)(c.PlanRebuildWithResponse(c.ctx, "s", key, wanted))
	again := told[*apitest.PlanRebuildResponse](c, 200)(c.PlanRebuildWithResponse(c.ctx, "s", key, wanted))
	plan := planned.JSON200.Plan
	if planned.JSON200.Step != apitest.RebuildStepPlanned || plan.Next != "9007199254740995" || again.JSON200.Plan.ID != plan.ID || again.Headers200.IdempotentReplayed == nil {
		t.Fatalf("planned %+v, again %+v", planned.JSON200, again.JSON200)
	}
	other := told[*apitest.ApplyRebuildResponse](c, 409)(c.ApplyRebuildWithResponse(c.ctx, "s", nil, apitest.ApplyRequest{Plan: strings.Repeat("0", 32), Confirm: "s"}))
	if other.ApplicationProblemJSON409.Code != apitest.ProblemCodePlanChanged {
		t.Errorf("another plan: %+v", other.ApplicationProblemJSON409)
	}
	applied := told[*apitest.ApplyRebuildResponse](c, 200)(c.ApplyRebuildWithResponse(c.ctx, "s", nil, apitest.ApplyRequest{Plan: plan.ID, Confirm: "s"})).JSON200
	if applied.Step != apitest.RebuildStepVerified || applied.Tested == nil || applied.Tested.Start < plan.Next || applied.AppliedAt == nil {
		t.Errorf("applied: %+v", applied)
	}
	done := told[*apitest.ResumeRebuildResponse](c, 200)(c.ResumeRebuildWithResponse(c.ctx, "s", nil, apitest.ResumeRequest{Share: new(100)})).JSON200
	next := told[*apitest.LeaseResponse](c, 201)(c.LeaseWithResponse(c.ctx, "s", nil, apitest.LeaseRequest{})).JSON201
	if done.Step != apitest.RebuildStepDone || next.Epoch != 2 || next.Start <= applied.Tested.End {
		t.Errorf("done: %+v, and then %+v", done, next)
	}
	told[*apitest.GetRebuildResponse](c, 200)(c.GetRebuildWithResponse(c.ctx, "s"))
}

func TestACustomerAuditsAndRestores(t *testing.T) {
	w := newWorld(t)
	c := newCustomer(t, w, token)
	done := func(job *apitest.Job) *apitest.Job {
		t.Helper()
		w.ended(job.ID)
		return told[*apitest.GetJobResponse](c, 200)(c.GetJobWithResponse(c.ctx, job.ID)).JSON200
	}
	audit := done(told[*apitest.AuditPoolResponse](c, 202)(c.AuditPoolWithResponse(c.ctx, "p", nil, apitest.AuditRequest{})).JSON202)
	if audit.Verdict == nil || *audit.Verdict != apitest.JobVerdictHealthy || *audit.Tally.Findings != 0 || *audit.Tally.Held != 2 || *audit.Sample != 100 {
		t.Errorf("the audit of the pool: %+v", audit)
	}
	trail := done(told[*apitest.VerifyAuditResponse](c, 202)(c.VerifyAuditWithResponse(c.ctx, nil, apitest.VerifyRequest{})).JSON202)
	if trail.Verdict == nil || *trail.Verdict != apitest.JobVerdictHealthy || trail.Pool != nil || trail.Sequence != nil {
		t.Errorf("the audit of the trail: %+v", trail)
	}

	log := done(told[*apitest.LogPoolResponse](c, 202)(c.LogPoolWithResponse(c.ctx, "p", nil, apitest.LogRequest{})).JSON202)
	lines := told[*apitest.GetJobPartResponse](c, 200)(c.GetJobPartWithResponse(c.ctx, log.ID, 0)).Body
	if log.Done != 2 || strings.Count(string(lines), "\n") != 4 {
		t.Errorf("the log of two IDs that are held: %+v, %s", log, lines)
	}
	told[*apitest.PausePoolResponse](c, 200)(c.PausePoolWithResponse(c.ctx, "p", nil))
	restore := told[*apitest.RestorePoolResponse](c, 201)(c.RestorePoolWithResponse(c.ctx, "p", nil, apitest.RestoreRequest{
		Source: apitest.RestoreRequestSourceLog, Point: w.clock.Now().Add(-time.Hour), Confirm: "p", AtMost: new(int64(0)),
	})).JSON201
	told[*apitest.PutJobInputResponse](c, 200)(c.PutJobInputWithBodyWithResponse(c.ctx, restore.ID, 0, nil, "application/x-ndjson", strings.NewReader(string(lines))))
	told[*apitest.StartJobResponse](c, 202)(c.StartJobWithResponse(c.ctx, restore.ID, nil, apitest.StartRequest{Parts: 1}))
	if got := done(restore); got.State != apitest.JobStateDone || *got.Tally.Carried != 0 || *got.Tally.Burned != 0 {
		t.Errorf("the restore of what is there already: %+v", got)
	}

	evidence := told[*apitest.GetEvidenceResponse](c, 200)(c.GetEvidenceWithResponse(c.ctx, "p")).JSON200
	rebuilt := done(told[*apitest.RebuildPoolResponse](c, 202)(c.RebuildPoolWithResponse(c.ctx, "p", nil, apitest.PoolRebuildRequest{Confirm: "p"})).JSON202)
	if !evidence.Head || rebuilt.State != apitest.JobStateDone || *rebuilt.Tally.Free != 3 || *rebuilt.Tally.Lost != 0 {
		t.Errorf("%+v, rebuilt: %+v", evidence, rebuilt)
	}
}
