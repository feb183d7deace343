package main

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"idpool/alloc"
	"idpool/infra/lambdahttp"
	"idpool/web"
)

// handler answers the gateway's question in the simple form of payload format 2.0.
type handler func(context.Context, events.APIGatewayV2CustomAuthorizerV2Request) (events.APIGatewayV2CustomAuthorizerSimpleResponse, error)

type authorizer struct {
	verify web.Verifier
	logger *slog.Logger
}

// answer lets a request through whose credential is known, with the caller as the context of the functions behind. What
// is not known is denied, never an error: the gateway makes a 500 of that. An error is only what it should not
// remember, and the client should repeat: the table did not answer.
func (a *authorizer) answer(
	ctx context.Context, e events.APIGatewayV2CustomAuthorizerV2Request,
) (events.APIGatewayV2CustomAuthorizerSimpleResponse, error) {
	var denied events.APIGatewayV2CustomAuthorizerSimpleResponse
	token, ok := web.BearerToken(headerOf(e))
	if !ok {
		return denied, nil
	}
	caller, err := a.verify(ctx, token)
	switch {
	case alloc.Is(err, alloc.CodeUnauthenticated):
		return denied, nil
	case err != nil:
		a.logger.ErrorContext(ctx, "a credential could not be checked", "error", err)
		return denied, err
	}
	known, err := lambdahttp.AuthorizerContext(caller)
	if err != nil {
		return denied, err
	}
	return events.APIGatewayV2CustomAuthorizerSimpleResponse{IsAuthorized: true, Context: known}, nil
}

// headerOf makes the header of what the gateway sends, in which two of one name are one already, joined by a comma.
func headerOf(e events.APIGatewayV2CustomAuthorizerV2Request) http.Header {
	h := http.Header{}
	for name, value := range e.Headers {
		h.Add(name, value)
	}
	return h
}
