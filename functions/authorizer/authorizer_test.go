package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"idpool/alloc"
	"idpool/web"
)

func TestAnswer(t *testing.T) {
	verify := web.Verifier(func(_ context.Context, token string) (alloc.Caller, error) {
		switch token {
		case "known":
			return alloc.Caller{Client: "shop", Scopes: alloc.AllScopes()}, nil
		case "unlucky":
			return alloc.Caller{}, alloc.Errorf(alloc.CodeUnavailable, "the table does not answer")
		case "broken":
			return alloc.Caller{}, errors.New("no error of ours")
		}
		return alloc.Caller{}, alloc.Errorf(alloc.CodeUnauthenticated, "the credential is not known")
	})
	a := &authorizer{verify: verify, logger: slog.New(slog.DiscardHandler)}
	for name, c := range map[string]struct {
		headers  map[string]string
		lets     bool
		repeated bool // an error: the gateway does not remember it, and the client repeats
	}{
		"a known one":                {map[string]string{"authorization": "Bearer known"}, true, false},
		"with the name as sent":      {map[string]string{"Authorization": "bearer  known"}, true, false},
		"none":                       {map[string]string{"host": "x"}, false, false},
		"no headers":                 {nil, false, false},
		"an empty one":               {map[string]string{"authorization": ""}, false, false},
		"another":                    {map[string]string{"authorization": "Bearer another"}, false, false},
		"of another kind":            {map[string]string{"authorization": "Basic known"}, false, false},
		"two, as the gateway joins":  {map[string]string{"authorization": "Bearer known,Bearer known"}, false, false},
		"two, as nobody should send": {map[string]string{"authorization": "Bearer known", "Authorization": "Bearer known"}, false, false},
		"when the table is silent":   {map[string]string{"authorization": "Bearer unlucky"}, false, true},
		"when something is broken":   {map[string]string{"authorization": "Bearer broken"}, false, true},
	} {
		got, err := a.answer(t.Context(), events.APIGatewayV2CustomAuthorizerV2Request{Version: "2.0", Headers: c.headers})
		if got.IsAuthorized != c.lets || (err != nil) != c.repeated || (len(got.Context) > 0) != c.lets {
			t.Errorf("%s: got %+v and %v, want authorized %t and error %t", name, got, err, c.lets, c.repeated)
		}
	}
}
