package lambdahttp_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/lambdahttp"
)

func authorized(context map[string]any) func(*events.APIGatewayV2HTTPRequest) {
	return func(e *events.APIGatewayV2HTTPRequest) {
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{Lambda: context}
	}
}

// callerSeen returns the caller that the handler finds, and the status of the answer.
func callerSeen(t *testing.T, e events.APIGatewayV2HTTPRequest) (c alloc.Caller, known bool, status int) {
	t.Helper()
	h := newHandler(t, func(_ http.ResponseWriter, r *http.Request) { c, known = alloc.CallerFrom(r.Context()) }, lambdahttp.Options{})
	return c, known, send(t, h, e).StatusCode
}

func TestTheCallerIsWhatTheAuthorizerSays(t *testing.T) {
	for name, want := range map[string]alloc.Caller{
		"the least": {Client: "shop", Scopes: []alloc.Scope{}},
		"everything": {
			Client: "shop", Scopes: []alloc.Scope{{Action: "claim", Pattern: "vouchers-*"}, {Action: "*", Pattern: "*"}},
			Credential: "abcdefghijkl", Quota: 1_000_000_000, Expires: time.Date(2027, 1, 2, 3, 4, 5, 678, time.UTC),
		},
	} {
		context, err := lambdahttp.AuthorizerContext(want)
		if err != nil {
			t.Fatal(err)
		}
		// As the gateway hands it on: through JSON.
		text, err := json.Marshal(context)
		if err != nil {
			t.Fatal(err)
		}
		var received map[string]any
		if err := json.Unmarshal(text, &received); err != nil {
			t.Fatal(err)
		}
		got, known, status := callerSeen(t, event("GET", "/", authorized(received)))
		if diff := cmp.Diff(want, got); diff != "" || !known || status != 200 {
			t.Errorf("%s: known %t, status %d, caller (-want +got):\n%s", name, known, status, diff)
		}
	}
}

func TestWithoutAnAuthorizerThereIsNoCaller(t *testing.T) {
	for name, change := range map[string]func(*events.APIGatewayV2HTTPRequest){
		"none": func(*events.APIGatewayV2HTTPRequest) {},
		"another kind of authorizer": func(e *events.APIGatewayV2HTTPRequest) {
			e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
				JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"client": "shop"}},
			}
		},
		"headers that say so": func(e *events.APIGatewayV2HTTPRequest) {
			e.Headers["client"] = "shop"
			e.Headers["x-golambdaproxy-apigw-context"] = `{"authorizer":{"lambda":{"client":"shop","scopes":"[\"*:*\"]"}}}`
		},
	} {
		if c, known, status := callerSeen(t, event("GET", "/", change)); known || status != 200 {
			t.Errorf("%s: caller %+v, status %d, want none and 200", name, c, status)
		}
	}
}

// What cannot be read whole must not become a caller with half of its bounds.
func TestAContextThatCannotBeReadIsRefused(t *testing.T) {
	good := map[string]any{"client": "shop", "scopes": `["claim:*"]`, "quota": "10", "expires": "2027-01-02T03:04:05Z"}
	for name, change := range map[string]map[string]any{
		"no client":            {"client": nil},
		"an empty client":      {"client": ""},
		"no scopes":            {"scopes": nil},
		"scopes of no JSON":    {"scopes": "claim:*"},
		"an unknown action":    {"scopes": `["steal:*"]`},
		"scopes as a list":     {"scopes": []any{"claim:*"}},
		"a quota as a number":  {"quota": 10.0},
		"a quota of null":      {"quota": nil},
		"a quota of nothing":   {"quota": "0"},
		"a quota of no number": {"quota": "many"},
		"an empty quota":       {"quota": ""},
		"an expiry of no time": {"expires": "tomorrow"},
	} {
		context := maps.Clone(good)
		maps.Copy(context, change)
		if c, known, status := callerSeen(t, event("GET", "/", authorized(context))); known || status != 500 {
			t.Errorf("%s: caller %+v, status %d, want none and 500", name, c, status)
		}
	}
	if _, known, status := callerSeen(t, event("GET", "/", authorized(good))); !known || status != 200 {
		t.Errorf("the good one: known %t, status %d", known, status)
	}
}
