package api_test

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
	"idpool/web/api/apitest"
)

func TestACustomersPoolFillsItself(t *testing.T) {
	w := newWorld(t)
	c := newCustomer(t, w, token)
	config := apitest.PoolConfig{
		Generator: &apitest.Generator{
			Kind: apitest.GeneratorKindRandom, Length: new(10), Prefix: new("SPRING-"), Group: new(5), Check: new(apitest.GeneratorCheckMod3736), WithoutAmbiguous: new(true),
		},
		Refill: &apitest.Marks{Low: new(int64(20)), Target: new(int64(50))},
	}
	made := generator.Config{Kind: generator.Random, Length: 10, Prefix: "SPRING-", Group: 5, CheckChar: generator.CheckMod3736, WithoutAmbiguous: true}.WithDefaults()

	preview := told[*apitest.PreviewPoolResponse](c, 200)(c.PreviewPoolWithResponse(c.ctx, "vouchers", config)).JSON200
	if space, ok := new(big.Int).SetString(*preview.Space, 10); !ok || space.Cmp(made.Space()) != 0 || len(preview.Examples) != 5 || preview.Target != 50 {
		t.Errorf("the preview is %+v, the space %s", preview, made.Space())
	}
	for _, id := range preview.Examples {
		if err := made.Verify(id); err != nil {
			t.Errorf("the example %s: %v", id, err)
		}
	}
	told[*apitest.GetPoolResponse](c, 404)(c.GetPoolWithResponse(c.ctx, "vouchers"))

	pool := told[*apitest.PutPoolResponse](c, 201)(c.PutPoolWithResponse(c.ctx, "vouchers", nil, config)).JSON201
	if g := pool.Config.Generator; g == nil || *g.Prefix != "SPRING-" || *g.Separator != "-" || *pool.Config.Refill.Target != 50 {
		t.Errorf("the pool is %+v", pool.Config)
	}
	run := told[*apitest.TendResponse](c, 200)(c.TendWithResponse(c.ctx, nil)).JSON200
	if len(run.Refills) != 1 || run.Refills[0].Pool != "vouchers" || run.Refills[0].Added != 50 || run.Refills[0].Dry != nil {
		t.Errorf("the run has filled %+v", run.Refills)
	}
	claim := told[*apitest.ClaimResponse](c, 201)(c.ClaimWithResponse(c.ctx, "vouchers", nil, apitest.ClaimRequest{Count: new(int64(5))})).JSON201
	for _, id := range claim.Ids {
		if err := made.Verify(id); err != nil {
			t.Errorf("the ID %s: %v", id, err)
		}
	}

	first := told[*apitest.ForecastPoolResponse](c, 200)(c.ForecastPoolWithResponse(c.ctx, "vouchers")).JSON200
	if first.Outlook != apitest.Unknown || first.Available != 45 || first.Earliest != nil {
		t.Errorf("with nothing to tell by: %+v", first)
	}
	for range 10 {
		w.clock.Advance(time.Minute)
		told[*apitest.TendResponse](c, 200)(c.TendWithResponse(c.ctx, nil))
		told[*apitest.ClaimResponse](c, 201)(c.ClaimWithResponse(c.ctx, "vouchers", nil, apitest.ClaimRequest{}))
	}
	later := told[*apitest.ForecastPoolResponse](c, 200)(c.ForecastPoolWithResponse(c.ctx, "vouchers")).JSON200
	if later.Outlook != apitest.Ends || later.Earliest == nil || len(later.Burns) != 2 || later.Burns[0].Window != 3600 || later.Burns[1].Window != 86400 {
		t.Fatalf("after ten minutes: %+v", later)
	}
	if hours := later.Earliest.Sub(later.At).Hours(); hours < 0.1 || hours > 2 {
		t.Errorf("35 IDs at about one a minute last %f hours: %+v", hours, later)
	}
	samples := told[*apitest.ListPoolSamplesResponse](c, 200)(c.ListPoolSamplesWithResponse(c.ctx, "vouchers", nil)).JSON200.Samples
	if n := len(samples); n < 10 || !samples[n-1].At.Before(samples[0].At) || samples[n-1].Used >= samples[0].Used {
		t.Errorf("the samples are %+v", samples)
	}
	few := told[*apitest.ListPoolSamplesResponse](c, 200)(c.ListPoolSamplesWithResponse(c.ctx, "vouchers", &apitest.ListPoolSamplesParams{From: &samples[5].At, Until: &samples[1].At, Limit: new(2)})).JSON200.Samples
	if diff := cmp.Diff(samples[2:4], few); diff != "" {
		t.Errorf("two from the third on, going back (-want +got):\n%s", diff)
	}
	status := told[*apitest.GetRefillResponse](c, 200)(c.GetRefillWithResponse(c.ctx, "vouchers")).JSON200
	if status.Filling || status.Dry != nil || status.UpdatedAt == nil {
		t.Errorf("the refill is %+v", status)
	}
}

// IDs that are made and not in the pool yet are free codes: whoever may read the pool is told how many there are.
func TestIDsOnTheirWayAreToldToNobody(t *testing.T) {
	w := newWorld(t)
	w.must(201, "PUT", "/v1/pools/vouchers", `{"generator": {"kind": "random"}, "refill": {"low": 20, "target": 50}}`)
	w.client = clientAt(t, alloctest.NewFaulty(w.store, alloctest.Script("Seed", alloctest.Refused)), w.clock.Now)
	run := w.must(200, "POST", "/v1/tend", "").Body.String()
	batch, err := w.store.Refill(t.Context(), "vouchers")
	if err != nil || len(batch.IDs) != 50 {
		t.Fatalf("on their way are %d IDs, %v; want 50", len(batch.IDs), err)
	}
	told := run + w.must(200, "GET", "/v1/pools/vouchers/refill", "").Body.String() + w.log.take()
	if !strings.Contains(told, `"filling":true,"waiting":50,`) || !strings.Contains(run, `"refills":[{"pool":"vouchers","added":0,"batches":0,"error":{`) {
		t.Errorf("told was %s", told)
	}
	for _, id := range batch.IDs {
		if strings.Contains(told, string(id)) {
			t.Fatalf("%s is told in %s", id, told)
		}
	}
	w.must(200, "POST", "/v1/tend", "")
	if got := w.must(200, "GET", "/v1/pools/vouchers/refill", "").Body.String(); !strings.Contains(got, `"filling":false,"waiting":0,`) {
		t.Errorf("after the next run: %s", got)
	}
}

// A generator whose space is used up says so, once to those who run the schedule and as long as it lasts to those who ask.
func TestACustomersGeneratorRunsDry(t *testing.T) {
	w := newWorld(t)
	c := newCustomer(t, w, token)
	told[*apitest.PutSequenceResponse](c, 201)(c.PutSequenceWithResponse(c.ctx, "cases", nil, apitest.SequenceConfig{Limit: new("50")}))
	told[*apitest.PutPoolResponse](c, 201)(c.PutPoolWithResponse(c.ctx, "cases", nil, apitest.PoolConfig{
		Generator: &apitest.Generator{Kind: apitest.GeneratorKindSequence, Sequence: new("cases"), Format: new("C-{n:3}")},
		Refill:    &apitest.Marks{Low: new(int64(20)), Target: new(int64(40))},
	}))
	told[*apitest.TendResponse](c, 200)(c.TendWithResponse(c.ctx, nil))
	told[*apitest.ClaimResponse](c, 201)(c.ClaimWithResponse(c.ctx, "cases", nil, apitest.ClaimRequest{Count: new(int64(25))}))
	w.log.take()
	for range 3 {
		told[*apitest.TendResponse](c, 200)(c.TendWithResponse(c.ctx, nil))
	}
	alarm := regexp.MustCompile(`(?m)^.*"level":"ERROR","msg":"a generator is dry","request_id":"[A-Z2-7]{26}","pool":"cases","reason":"[^"].*$`)
	if log := w.log.take(); len(alarm.FindAllString(log, -1)) != 1 || strings.Count(log, "a generator is dry") != 1 {
		t.Errorf("of a generator that has become dry the log says: %s", log)
	}
	status := told[*apitest.GetRefillResponse](c, 200)(c.GetRefillWithResponse(c.ctx, "cases")).JSON200
	if status.Dry == nil || *status.Dry == "" || status.DrySince == nil {
		t.Errorf("the refill is %+v, want it dry", status)
	}
	end := told[*apitest.ForecastSequenceResponse](c, 200)(c.ForecastSequenceWithResponse(c.ctx, "cases")).JSON200
	if end.Available != "0" {
		t.Errorf("the forecast is %+v", end)
	}
	pool := told[*apitest.GetPoolResponse](c, 200)(c.GetPoolWithResponse(c.ctx, "cases")).JSON200
	if s := pool.RefillStatus; s == nil || s.Low || !s.Filling || s.Dry == nil || *s.Dry != *status.Dry {
		t.Errorf("the pool has the refill %+v", s)
	}
	told[*apitest.ClaimResponse](c, 201)(c.ClaimWithResponse(c.ctx, "cases", nil, apitest.ClaimRequest{Count: new(int64(15))}))
	all := told[*apitest.ListPoolsResponse](c, 200)(c.ListPoolsWithResponse(c.ctx, nil)).JSON200
	if s := all.Pools[0].RefillStatus; all.Pools[0].Name != "cases" || s == nil || !s.Low || !s.Filling || s.Dry == nil {
		t.Errorf("in the list %s has the refill %+v", all.Pools[0].Name, s)
	}
	if s := all.Pools[1].RefillStatus; s != nil {
		t.Errorf("a pool without marks has the refill %+v", s)
	}
}

func TestACustomerSeedsAFileInParts(t *testing.T) {
	w := newWorld(t)
	c := newCustomer(t, w, token)
	told[*apitest.PutPoolResponse](c, 201)(c.PutPoolWithResponse(c.ctx, "vouchers", nil, apitest.PoolConfig{}))
	seeded := told[*apitest.SeedPoolResponse](c, 200)(c.SeedPoolWithResponse(c.ctx, "vouchers", nil, apitest.SeedList{Ids: []string{"V-00003", "V-00004"}}))
	if seeded.JSON200.Added != 2 {
		t.Fatalf("seeded %+v", seeded.JSON200)
	}
	opened := told[*apitest.OpenSeedingResponse](c, 201)(c.OpenSeedingWithResponse(c.ctx, "vouchers", &apitest.OpenSeedingParams{IdempotencyKey: new("spring")},
		apitest.SeedingRequest{Format: apitest.SeedingRequestFormatCsv, Column: new("Code"), Why: new("spring campaign")})).JSON201
	if opened.State != apitest.JobStateReceiving || *opened.Why != "spring campaign" || opened.Input.Parts != 0 {
		t.Fatalf("the job is %+v", opened)
	}

	var second strings.Builder
	for n := range 3000 {
		fmt.Fprintf(&second, "%d;V-%05d\n", n, n)
	}
	parts := []string{"n;code\n1;V-90001\n2;=cmd()\x01\n", second.String()}
	var got *apitest.ReceivedJob
	for n, part := range parts {
		for range 2 { // the second time its answer was lost
			got = told[*apitest.PutJobInputResponse](c, 200)(c.PutJobInputWithBodyWithResponse(c.ctx, opened.ID, int32(n), nil, "application/octet-stream", strings.NewReader(part))).JSON200
		}
		if got.Input.Parts != n+1 {
			t.Errorf("after part %d: %+v", n, got)
		}
	}
	if *got.Total != 3002 || got.Input.Lines != 3003 {
		t.Errorf("after all parts: total %d, input %+v", *got.Total, got.Input)
	}
	other := told[*apitest.PutJobInputResponse](c, 400)(c.PutJobInputWithTextBodyWithResponse(c.ctx, opened.ID, 0, nil, "n;code\n1;V-8\n"))
	if !strings.Contains(other.ApplicationProblemJSON400.Detail, "other bytes") {
		t.Errorf("another part 0: %+v", other.ApplicationProblemJSON400)
	}
	told[*apitest.StartJobResponse](c, 400)(c.StartJobWithResponse(c.ctx, opened.ID, nil, apitest.StartRequest{Parts: 3}))
	told[*apitest.StartJobResponse](c, 202)(c.StartJobWithResponse(c.ctx, opened.ID, nil, apitest.StartRequest{Parts: 2}))
	told[*apitest.StartJobResponse](c, 202)(c.StartJobWithResponse(c.ctx, opened.ID, nil, apitest.StartRequest{Parts: 2}))

	var job *apitest.Job
	for range 20 {
		told[*apitest.TendResponse](c, 200)(c.TendWithResponse(c.ctx, nil))
		if job = told[*apitest.GetJobResponse](c, 200)(c.GetJobWithResponse(c.ctx, opened.ID)).JSON200; job.State == apitest.JobStateDone {
			break
		}
	}
	want := apitest.Tally{Added: new(int64(2999)), Duplicate: new(int64(2)), Conflict: new(int64(0)), Invalid: new(int64(1))}
	if diff := cmp.Diff(&want, job.Tally); job.State != apitest.JobStateDone || job.Done != 3002 || diff != "" {
		t.Fatalf("the job is %s, done %d; its tally (-want +got):\n%s", job.State, job.Done, diff)
	}
	rejects := ""
	for n := range job.Parts {
		rejects += string(told[*apitest.GetJobPartResponse](c, 200)(c.GetJobPartWithResponse(c.ctx, job.ID, int32(n))).Body)
	}
	lines := strings.Split(strings.TrimSpace(rejects), "\r\n")
	if len(lines) != 4 || lines[0] != "line,id,outcome,reason" || !strings.HasPrefix(lines[1], "3,") || !strings.Contains(lines[1], ",invalid,") ||
		!strings.HasPrefix(lines[2], "7,V-00003,duplicate,") || !strings.HasPrefix(lines[3], "8,V-00004,duplicate,") {
		t.Errorf("what was not added:\n%s", rejects)
	}

	count := told[*apitest.CountPoolResponse](c, 200)(c.CountPoolWithResponse(c.ctx, "vouchers", nil, apitest.CountRequest{Why: new("to be sure")})).JSON200
	if count.State != apitest.JobStateDone || count.Done != 3001 || *count.Tally.Free != 3001 || *count.Tally.Claimed != 0 {
		t.Errorf("the count is %+v", count)
	}
}
