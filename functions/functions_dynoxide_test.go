//go:build !goonly

package functions_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
	"idpool/web"
)

const token = "a-token-of-the-tests"

// TestTheFunctionsWorkTogether runs the functions as they are deployed, each in a process of its own, over one table.
func TestTheFunctionsWorkTogether(t *testing.T) {
	server := dynamotest.StartServer(t, "")
	const table = "idpool"
	if err := dynamo.CreateTable(t.Context(), dynamotest.NewClient(t, server.URL, dynamo.ClientConfig{}), table); err != nil {
		t.Fatal(err)
	}
	settings := []string{
		"IDPOOL_TABLE=" + table, "IDPOOL_DYNAMODB_ENDPOINT=" + server.URL, "IDPOOL_TOKEN_HASH=" + web.TokenHash(token),
	}
	admin, authorizer := start(t, "admin", settings...), start(t, "authorizer", settings...)
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
	stranger.RequestContext.Authorizer = nil
	call(t, allocate, 401, stranger) // whatever its header says
	stranger = httpEvent("GET", "/v1/pools", "")
	stranger.RequestContext.Authorizer = nil
	call(t, admin, 401, stranger)

	// A credential from its making to its end, through the authorizer each time.
	made := call(t, admin, 201, asked(t, authorizer, token, httpEvent("POST", "/v1/credentials", `{"client": "shop", "scopes": ["seed:p", "claim:p"]}`)))
	var credential struct{ ID, Secret string }
	if err := json.Unmarshal([]byte(made.Body), &credential); err != nil {
		t.Fatal(err)
	}
	call(t, admin, 200, asked(t, authorizer, credential.Secret, httpEvent("POST", "/v1/pools/p/seed", `{"ids": ["C"]}`)))
	call(t, allocate, 201, asked(t, authorizer, credential.Secret, httpEvent("POST", "/v1/pools/p/claims", "")))
	call(t, allocate, 403, asked(t, authorizer, credential.Secret, httpEvent("POST", "/v1/sequences/s/leases", "")))
	call(t, admin, 403, asked(t, authorizer, credential.Secret, httpEvent("GET", "/v1/credentials", "")))
	for name, text := range map[string]string{"none": "", "another": "Bearer another", "two": "Bearer " + token + ",Bearer " + token, "a mistyped one": "Bearer " + credential.Secret + "a"} {
		if got := ask(t, authorizer, text); got.IsAuthorized || len(got.Context) != 0 {
			t.Errorf("the authorizer says %+v of %s, want that it is not authorized", got, name)
		}
	}
	call(t, admin, 200, asked(t, authorizer, token, httpEvent("POST", "/v1/credentials/"+credential.ID+"/revoke", "")))
	if got := ask(t, authorizer, "Bearer "+credential.Secret); got.IsAuthorized {
		t.Errorf("the authorizer says %+v of a revoked credential, want that it is not authorized", got)
	}

	if got := call(t, admin, 404, httpEvent("GET", "/", "")); !strings.Contains(got.Body, "The dashboard is not configured") {
		t.Errorf("the first page says %s, want that there is no issuer", got.Body)
	}

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
	e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		Lambda: map[string]any{"client": string(web.SoleClient), "scopes": `["*:*"]`},
	}
	e.RequestContext.HTTP = events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: method, Path: path, SourceIP: "203.0.113.7"}
	return e
}

// ask asks the authorizer as the gateway does; "" for a request without the header, which SAM local sends on.
func ask(t *testing.T, authorizer *environment, authorization string) (said events.APIGatewayV2CustomAuthorizerSimpleResponse) {
	t.Helper()
	q := events.APIGatewayV2CustomAuthorizerV2Request{
		Version: "2.0", Type: "REQUEST", RouteKey: "ANY /v1/{rest+}", Headers: map[string]string{"host": "api.example.com"},
	}
	if authorization != "" {
		q.Headers["authorization"], q.IdentitySource = authorization, []string{authorization}
	}
	if err := json.Unmarshal(authorizer.invoke(t, q), &said); err != nil {
		t.Fatal(err)
	}
	return said
}

// asked is the event as the gateway hands it on after it has asked the authorizer about the token.
func asked(t *testing.T, authorizer *environment, token string, e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPRequest {
	t.Helper()
	said := ask(t, authorizer, "Bearer "+token)
	if !said.IsAuthorized {
		t.Fatalf("the authorizer does not know the credential of %s %s", e.RequestContext.HTTP.Method, e.RawPath)
	}
	e.Headers["authorization"] = "Bearer " + token
	e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{Lambda: said.Context}
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
