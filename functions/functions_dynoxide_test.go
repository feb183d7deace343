//go:build !goonly

package functions_test

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
	"idpool/web"
)

const token = "a-token-of-the-tests"

// TestTheFunctionsWorkTogether runs the three functions as they are deployed, each in a process of its own, over one table.
func TestTheFunctionsWorkTogether(t *testing.T) {
	server := dynamotest.StartServer(t, "")
	const table = "idpool"
	if err := dynamo.CreateTable(t.Context(), dynamotest.NewClient(t, server.URL, dynamo.ClientConfig{}), table); err != nil {
		t.Fatal(err)
	}
	settings := []string{
		"IDPOOL_TABLE=" + table, "IDPOOL_DYNAMODB_ENDPOINT=" + server.URL, "IDPOOL_TOKEN_HASH=" + web.TokenHash(token),
	}
	admin := start(t, "admin", settings...)
	allocate := start(t, "allocate", append(settings, "IDPOOL_BASE_PATH=/ids")...)
	refill := start(t, "refill", settings...)

	call(t, admin, 201, httpEvent("PUT", "/v1/pools/p", ""))
	call(t, admin, 200, httpEvent("POST", "/v1/pools/p/seed", `{"ids": ["A", "B"]}`))
	call(t, admin, 201, httpEvent("PUT", "/v1/sequences/s", ""))

	call(t, allocate, 200, httpEvent("GET", "/healthz", ""))
	first := call(t, allocate, 201, keyed(httpEvent("POST", "/ids/v1/pools/p/claims", `{"count": 2}`)))
	again := call(t, allocate, 201, keyed(httpEvent("POST", "/v1/pools/p/claims", `{"count": 2}`)))
	if first.Body != again.Body || again.Headers["Idempotent-Replayed"] != "true" {
		t.Errorf("the same key gave %s and then %s with %v", first.Body, again.Body, again.Headers)
	}
	call(t, allocate, 409, httpEvent("POST", "/v1/pools/p/claims", ""))
	call(t, allocate, 201, httpEvent("POST", "/v1/sequences/s/leases", `{"count": 10}`))
	call(t, allocate, 404, httpEvent("POST", "/v1/pools/p/seed", `{"ids": ["C"]}`)) // admin's
	stranger := httpEvent("POST", "/v1/pools/p/claims", "")
	stranger.Headers["authorization"] = "Bearer another"
	call(t, allocate, 401, stranger)

	page := httpEvent("GET", "/", "")
	if got := call(t, admin, 200, page); got.Headers["Content-Type"] != "text/html; charset=utf-8" {
		t.Errorf("the first page has the type %q", got.Headers["Content-Type"])
	}
	delete(page.Headers, "authorization")
	call(t, admin, 401, page)

	var result struct {
		Swept  int
		Failed map[string]string
	}
	if err := json.Unmarshal(refill.invoke(t, map[string]string{"source": "schedule"}), &result); err != nil {
		t.Fatal(err)
	}
	if result.Swept != 1 || len(result.Failed) != 0 {
		t.Errorf("a run of the schedule: %+v, want one pool swept", result)
	}
}

func httpEvent(method, path, body string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "$default", RawPath: path, Body: body,
		Headers: map[string]string{"host": "api.example.com", "authorization": "Bearer " + token},
	}
	if body != "" {
		e.Headers["content-type"] = "application/json"
	}
	e.RequestContext.Stage = "$default"
	e.RequestContext.HTTP = events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: method, Path: path, SourceIP: "203.0.113.7"}
	return e
}

func keyed(e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPRequest {
	e.Headers["idempotency-key"] = `"order, 1"`
	return e
}

func call(t *testing.T, e *environment, status int, request events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
	t.Helper()
	var got events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(e.invoke(t, request), &got); err != nil {
		t.Fatal(err)
	}
	if got.StatusCode != status {
		t.Errorf("%s %s: %d %s, want %d", request.RequestContext.HTTP.Method, request.RawPath, got.StatusCode, got.Body, status)
	}
	return got
}
