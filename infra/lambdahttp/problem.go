package lambdahttp

import (
	"encoding/json"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"idpool/alloc"
)

// problem is an answer of RFC 9457 in the form of package web's: for the few requests that never reach it.
type problem struct {
	Type    string     `json:"type"`
	Title   string     `json:"title"`
	Status  int        `json:"status"`
	Detail  string     `json:"detail"`
	Code    alloc.Code `json:"code"`
	Request string     `json:"request_id,omitempty"`
	Unknown bool       `json:"outcome_unknown,omitempty"`
}

// refusal is the answer to an event that is no request that HTTP would let through.
func refusal(e events.APIGatewayV2HTTPRequest, detail string) events.APIGatewayV2HTTPResponse {
	return respond(e, http.StatusBadRequest, alloc.CodeInvalidRequest, detail)
}

// internalFault is the answer where the fault is ours; the log has the cause.
func internalFault(e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
	return respond(e, http.StatusInternalServerError, alloc.CodeInternal,
		"something went wrong on our side; repeat the request with the same Idempotency-Key, and if it fails again report the request_id")
}

func respond(e events.APIGatewayV2HTTPRequest, status int, code alloc.Code, detail string) events.APIGatewayV2HTTPResponse {
	body, err := json.Marshal(problem{
		Type: "urn:idpool:problem:" + string(code), Title: http.StatusText(status), Status: status, Detail: detail,
		Code: code, Request: e.RequestContext.RequestID, Unknown: status >= http.StatusInternalServerError,
	})
	if err != nil {
		body = []byte(`{"code":"internal"}`) // cannot be: strings and a number always marshal
	}
	return events.APIGatewayV2HTTPResponse{
		StatusCode: status,
		Headers:    map[string]string{"Content-Type": "application/problem+json", "Cache-Control": "no-store"},
		Body:       string(body),
		Cookies:    []string{},
	}
}
