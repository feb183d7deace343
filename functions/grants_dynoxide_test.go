//go:build !goonly

package functions_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
	"idpool/infra/sqs/sqstest"
	"idpool/web"
)

// system is the functions as they are deployed, over one table, with a recorder before each.
type system struct {
	table dynamo.Table // for what no function does: to damage something
	aged  dynamo.Table // from before a restore

	admin, refill, worker *environment
	first, second         *environment // two of allocate, each with a memory of its own
	adminAlone            *environment // without a queue, as the first refill is
	refillSending         *environment // with one

	toAdmin, toRefill, toAllocate, toWorker *recorder

	run func(folder string, r *recorder, more ...string) *environment // starts another

	queues map[string]*sqstest.Server // of each function that sends: who sent is known by it
}

func startSystem(t *testing.T) *system {
	server := dynamotest.StartServer(t, "")
	client := dynamotest.NewClient(t, server.URL, dynamo.ClientConfig{})
	const table = "idpool"
	for _, name := range []string{table, theOldTable} {
		if err := dynamo.CreateTable(t.Context(), client, name); err != nil {
			t.Fatal(err)
		}
	}
	run := func(folder string, r *recorder, more ...string) *environment {
		return start(t, folder, append(more, "IDPOOL_TABLE="+table, "IDPOOL_OLD_TABLE="+theOldTable, "IDPOOL_DYNAMODB_ENDPOINT="+r.url, "IDPOOL_TOKEN_HASH="+web.TokenHash(token))...)
	}
	s := &system{
		run:     run,
		table:   dynamo.NewSDKTable(client, table),
		aged:    dynamo.NewSDKTable(client, theOldTable),
		toAdmin: record(t, server.URL), toRefill: record(t, server.URL), toAllocate: record(t, server.URL), toWorker: record(t, server.URL),
		queues: map[string]*sqstest.Server{},
	}
	sending := func(function, folder string, r *recorder) *environment {
		q := sqstest.Start(t)
		s.queues[function] = q
		return run(folder, r, "IDPOOL_QUEUE_URL="+q.QueueURL, "IDPOOL_SQS_ENDPOINT="+q.URL)
	}
	s.admin, s.adminAlone = sending("AdminFunction", "admin", s.toAdmin), run("admin", s.toAdmin)
	s.refill, s.refillSending = run("refill", s.toRefill), sending("RefillFunction", "refill", s.toRefill)
	s.worker = sending("WorkerFunction", "worker", s.toWorker)
	s.first, s.second = run("allocate", s.toAllocate), run("allocate", s.toAllocate)
	return s
}

// TestTheTemplateGrantsWhatTheFunctionsCallAndNoMore holds the policies of template.yaml against what the functions call
// in conversations that lead them everywhere, crashes half-way included. Where a function learns to call something new,
// a conversation here has to make it do so, and the template to grant it.
func TestTheTemplateGrantsWhatTheFunctionsCallAndNoMore(t *testing.T) {
	s := startSystem(t)
	s.managePools(t)
	s.manageSequences(t)
	s.claim(t)
	s.lease(t)
	s.settle(t)
	s.manageCredentials(t)
	s.signIn(t)
	s.atTheDashboard(t)
	s.export(t)
	s.fill(t)
	s.workOn(t)
	s.rebuildSequences(t)
	s.rebuildPools(t)
	s.blindRestore(t)
	s.comeBack(t, "admin", func(pool string) { call(t, s.admin, 200, httpEvent("POST", "/v1/pools/"+pool+"/sweep", "")) })
	s.comeBack(t, "refill", func(string) { s.tend(t) })
	call(t, s.first, 201, httpEvent("POST", path("pools/used/claims"), "")) // too lately for a sweep to take its stock back
	s.tend(t)

	for function, r := range map[string]*recorder{
		"AllocateFunction": s.toAllocate, "AdminFunction": s.toAdmin, "RefillFunction": s.toRefill, "WorkerFunction": s.toWorker,
	} {
		calls := append(r.recorded(), rare()[function]...)
		if q := s.queues[function]; q != nil && q.Calls() > 0 {
			calls = append(calls, access{"sqs:SendMessage", theQueue})
		}
		if faults := grantFaults(templateGrants(t, function), calls); len(faults) > 0 {
			t.Errorf("%s:\n%s\nit calls:\n%v", function, strings.Join(faults, "\n"), calls)
		}
	}
}

// rare are the calls that functions make and that no conversation here leads to, each with the reason. They count as
// made: the template has to grant them.
func rare() map[string][]access {
	// Of what is read in parts of many, a part that is one alone is another call.
	// And the version before writes the trail where this one does not any more: it answers until a deployment is through.
	alone := []access{{"PutItem", "A#trail"}, {"GetItem", "A#known"}, {"GetItem", "A#trail"}, {"GetItem", ofOld + "I#pool#id"}, {"GetItem", ofOld + "P#pool"}, {"GetItem", ofOld + "N#pool"}}
	// A board is read in parts from thousands of pools on.
	board := access{"BatchGetItem", "N#board"}
	return map[string][]access{
		// A run of a seeding that another run of the same batch has overtaken reads how far that one is. It takes two at
		// the same moment; the schedules of infra/dynamo/dynamotest have them.
		// And a lease of numbers that its ledger contradicts is taken back: see below.
		"AdminFunction": append([]access{{"GetItem", "J#job"}, {"DeleteItem", "S#sequence#L"}, board}, alone...),
		// Word of the rest is sent where the worker's time is over before the job has ended: that takes two minutes. An ID is
		// changed by a seeding where a refill has put it and did not need it: that takes two at the same moment.
		"WorkerFunction": append([]access{{"sqs:SendMessage", theQueue}, {"UpdateItem", "I#pool#id"}}, alone...),
		// A lease of numbers that its ledger contradicts is taken back: it takes a counter that was set back between two runs, and no mark yet.
		"AllocateFunction": {{"DeleteItem", "S#sequence#L"}},
		"RefillFunction":   append([]access{{"DeleteItem", "S#sequence#L"}, board}, alone...),
	}
}

func path(format string, a ...any) string { return "/v1/" + fmt.Sprintf(format, a...) }

func withKey(e events.APIGatewayV2HTTPRequest, key string) events.APIGatewayV2HTTPRequest {
	e.Headers["idempotency-key"] = key
	return e
}

func matching(e events.APIGatewayV2HTTPRequest, version string) events.APIGatewayV2HTTPRequest {
	e.Headers["if-match"] = version
	return e
}

// tend is one run of the schedule. No pool may fail.
func (s *system) tend(t *testing.T) {
	t.Helper()
	var result struct{ Failed map[string]string }
	if err := json.Unmarshal(s.refill.invoke(t, map[string]string{"source": "schedule"}), &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Failed) != 0 {
		t.Errorf("pools could not be swept: %v", result.Failed)
	}
}

// managePools does all that administrators do with pools, and leaves the pool "used" with one claimed ID of six.
func (s *system) managePools(t *testing.T) {
	call(t, s.admin, 200, httpEvent("GET", "/readyz", ""))
	call(t, s.admin, 404, httpEvent("GET", path("pools/none"), ""))
	for _, pool := range []string{"used", "gone"} {
		call(t, s.admin, 201, httpEvent("PUT", path("pools/%s", pool), ""))
	}
	call(t, s.admin, 200, matching(httpEvent("PUT", path("pools/used"), `{"description": "x"}`), `"1"`))
	seed := httpEvent("POST", path("pools/used/seed"), `{"ids": ["A", "B", "C", "D", "E", "F"]}`)
	call(t, s.admin, 200, withKey(seed, "seed-1"))
	call(t, s.admin, 200, withKey(seed, "seed-1")) // which is reported
	call(t, s.admin, 200, withKey(seed, "seed-2")) // whose IDs are of another job
	call(t, s.first, 201, httpEvent("POST", path("pools/used/claims"), ""))
	call(t, s.admin, 200, httpEvent("POST", path("pools/used/sweep"), ""))
	for _, step := range []string{"pause", "resume", "drain"} {
		call(t, s.admin, 200, httpEvent("POST", path("pools/used/%s", step), ""))
	}
	call(t, s.admin, 409, httpEvent("DELETE", path("pools/gone"), ""))
	call(t, s.admin, 200, httpEvent("POST", path("pools/gone/pause"), ""))
	call(t, s.admin, 200, httpEvent("DELETE", path("pools/gone"), ""))
	for _, p := range []string{"/v1/pools", "/v1/pools/used", "/v1/audit"} {
		call(t, s.admin, 200, httpEvent("GET", p, ""))
	}
	call(t, s.admin, 200, httpEvent("POST", path("tend"), ""))
}

// manageSequences does the same with sequences.
func (s *system) manageSequences(t *testing.T) {
	call(t, s.admin, 404, httpEvent("GET", path("sequences/none"), ""))
	for _, seq := range []string{"numbers", "gone"} {
		call(t, s.admin, 201, httpEvent("PUT", path("sequences/%s", seq), ""))
	}
	call(t, s.admin, 200, matching(httpEvent("PUT", path("sequences/numbers"), `{"description": "x"}`), `"1"`))
	for _, step := range []string{"pause", "resume"} {
		call(t, s.admin, 200, httpEvent("POST", path("sequences/numbers/%s", step), ""))
	}
	call(t, s.admin, 409, httpEvent("DELETE", path("sequences/gone"), ""))
	call(t, s.admin, 200, httpEvent("POST", path("sequences/gone/pause"), ""))
	call(t, s.admin, 200, httpEvent("DELETE", path("sequences/gone"), ""))
	for _, p := range []string{"sequences", "sequences/numbers", "sequences/numbers/leases"} {
		call(t, s.admin, 200, httpEvent("GET", path("%s", p), ""))
	}
}

// claim claims with and without a key, in pools of both policies, down to the last ID.
func (s *system) claim(t *testing.T) {
	call(t, s.first, 404, httpEvent("POST", path("pools/none/claims"), ""))
	for _, policy := range []string{"keep", "forget"} {
		call(t, s.admin, 201, httpEvent("PUT", path("pools/%s", policy), fmt.Sprintf(`{"policy": %q}`, policy)))
		call(t, s.admin, 200, httpEvent("POST", path("pools/%s/seed", policy), `{"ids": ["A", "B", "C", "D"]}`))
		claims := path("pools/%s/claims", policy)
		call(t, s.first, 201, httpEvent("POST", claims, ""))
		call(t, s.first, 201, withKey(httpEvent("POST", claims, `{"count": 2}`), "order-1"))
		call(t, s.first, 201, withKey(httpEvent("POST", claims, `{"count": 2}`), "order-1"))
		call(t, s.first, 201, httpEvent("POST", claims, ""))
		call(t, s.second, 409, httpEvent("POST", claims, ""))
		call(t, s.admin, 200, httpEvent("POST", path("pools/%s/seed", policy), `{"ids": ["A", "B", "C", "D"]}`))
	}
	inspect := httpEvent("GET", path("pools/keep/ids"), "")
	inspect.RawQueryString = "id=A"
	call(t, s.first, 200, inspect)
}

// lease leases ranges and numbers until the counter is set back, which stops the sequence.
func (s *system) lease(t *testing.T) {
	leases := path("sequences/numbers/leases")
	call(t, s.first, 404, httpEvent("POST", path("sequences/none/leases"), `{"count": 1}`))
	call(t, s.first, 201, httpEvent("POST", leases, `{"count": 10}`))
	for range 2 {
		call(t, s.first, 201, withKey(httpEvent("POST", leases, `{"count": 10}`), "lease-1"))
	}
	call(t, s.first, 201, httpEvent("POST", path("sequences/numbers/next"), `{"count": 3}`))
	call(t, s.admin, 200, httpEvent("GET", leases, ""))

	_, err := s.table.Update(t.Context(), dynamo.Key{PK: "S#numbers", SK: "H"}, dynamo.Update{Set: map[string]any{"last": int64(5)}}, dynamo.Exists("pk"))
	if err != nil {
		t.Fatal(err)
	}
	got := call(t, s.first, 503, httpEvent("POST", leases, `{"count": 10}`))
	if code := problemCode(t, got); code != "sequence_stopped" {
		t.Errorf("a lease after the counter was set back: %s, want sequence_stopped", code)
	}
}

func problemCode(t *testing.T, r events.APIGatewayV2HTTPResponse) string {
	t.Helper()
	var problem struct{ Code string }
	if err := json.Unmarshal([]byte(r.Body), &problem); err != nil {
		t.Fatal(err)
	}
	return problem.Code
}

// comeBack gives up batches with and without a key, in one piece and cut off half-way, and cuts off the creation of a
// pool. What is left of it is finished by sweep.
func (s *system) comeBack(t *testing.T, by string, sweep func(pool string)) {
	claims := func(pool string) events.APIGatewayV2HTTPRequest {
		return httpEvent("POST", path("pools/%s/claims", pool), `{"count": 2}`)
	}
	giveUp := func(pool, key string) {
		r := claims(pool)
		if key != "" {
			r = withKey(r, key)
		}
		call(t, s.first, 503, r)
	}
	for _, tt := range []struct {
		name, key         string
		operation, prefix string // the last call before it is cut off; "" for none
	}{
		{"batch", "", "", ""},
		{"keyed", "order-2", "", ""},
		{"batch-cut", "", "PutItem", "P#"},
		{"keyed-cut", "order-2", "UpdateItem", "K#"},
	} {
		pool := tt.name + "-" + by
		s.contend(t, pool)
		if tt.operation == "" {
			giveUp(pool, tt.key)
		} else {
			s.toAllocate.cutAfter(t, tt.operation, tt.prefix, func() { giveUp(pool, tt.key) })
		}
		sweep(pool)
		if got := call(t, s.admin, 200, httpEvent("GET", path("pools/%s", pool), "")); !oneLeft(t, got.Body) {
			t.Errorf("pool %s after a batch that was given up: %s, want one ID available", pool, got.Body)
		}
	}
	pool := "created-" + by
	s.toAdmin.cutAfter(t, "PutItem", "P#", func() { call(t, s.admin, 500, httpEvent("PUT", path("pools/%s", pool), "")) })
	sweep(pool)
	entry, err := s.table.Get(t.Context(), dynamo.Key{PK: "N#pool", SK: pool})
	if err != nil || entry.Str(dynamo.AttrState) != "l" {
		t.Errorf("pool %s is in the catalogue as %v, %v; want it live", pool, entry, err)
	}
}

// contend makes a pool of two IDs. The first environment leases both and is cut off before it has read which they are;
// the second finds and claims one. So a batch of two by the first takes one and finds no other.
func (s *system) contend(t *testing.T, pool string) {
	t.Helper()
	call(t, s.admin, 201, httpEvent("PUT", path("pools/%s", pool), ""))
	call(t, s.admin, 200, httpEvent("POST", path("pools/%s/seed", pool), `{"ids": ["A", "B"]}`))
	claims := path("pools/%s/claims", pool)
	s.toAllocate.cutAfter(t, "UpdateItem", "P#", func() { call(t, s.first, 500, httpEvent("POST", claims, `{"count": 2}`)) })
	call(t, s.second, 201, httpEvent("POST", claims, ""))
}

func oneLeft(t *testing.T, body string) bool {
	t.Helper()
	var pool struct {
		Level struct{ Available, Claimed, Seeded int }
	}
	if err := json.Unmarshal([]byte(body), &pool); err != nil {
		t.Fatal(err)
	}
	return pool.Level.Available == 1 && pool.Level.Claimed == 1 && pool.Level.Seeded == 2
}
