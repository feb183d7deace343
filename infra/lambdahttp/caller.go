package lambdahttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"idpool/alloc"
)

// The keys of the context that an authorizer gives and the gateway hands on. All values are strings: whatever else the
// gateway would turn into one in its own way.
const (
	contextClient     = "client"
	contextScopes     = "scopes" // a JSON array of strings, as "claim:vouchers-*"
	contextCredential = "credential"
	contextQuota      = "quota"   // decimal; absent for none
	contextExpires    = "expires" // RFC 3339; absent for never
)

// AuthorizerContext is the context in which an authorizer tells the functions behind it who calls.
func AuthorizerContext(c alloc.Caller) (map[string]any, error) {
	texts := make([]string, len(c.Scopes))
	for i, s := range c.Scopes {
		texts[i] = s.String()
	}
	scopes, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}
	context := map[string]any{contextClient: string(c.Client), contextScopes: string(scopes)}
	if c.Credential != "" {
		context[contextCredential] = string(c.Credential)
	}
	if c.Quota != 0 {
		context[contextQuota] = strconv.FormatInt(int64(c.Quota), 10)
	}
	if !c.Expires.IsZero() {
		context[contextExpires] = c.Expires.UTC().Format(time.RFC3339Nano)
	}
	return context, nil
}

// callerOf reads the caller from the gateway's context; ok is false where no authorizer stands before the route. What it
// cannot read whole is an error: a caller with half of its bounds would have too many rights.
func callerOf(e events.APIGatewayV2HTTPRequest) (c alloc.Caller, ok bool, err error) {
	if e.RequestContext.Authorizer == nil || e.RequestContext.Authorizer.Lambda == nil {
		return alloc.Caller{}, false, nil
	}
	context := map[string]string{}
	for key, value := range e.RequestContext.Authorizer.Lambda {
		text, isText := value.(string)
		if !isText {
			return alloc.Caller{}, false, fmt.Errorf("the authorizer's context has %q as %T, want a string", key, value)
		}
		context[key] = text
	}
	c = alloc.Caller{Client: alloc.ClientID(context[contextClient]), Credential: alloc.CredentialID(context[contextCredential])}
	if c.Client == "" {
		return alloc.Caller{}, false, errors.New("the authorizer's context names no client")
	}
	if c.Scopes, err = readScopes(context[contextScopes]); err != nil {
		return alloc.Caller{}, false, err
	}
	if text, there := context[contextQuota]; there {
		quota, err := strconv.ParseInt(text, 10, 64)
		if err != nil || quota < 1 {
			return alloc.Caller{}, false, errors.New("the authorizer's context has a quota that is no number above 0")
		}
		c.Quota = alloc.Count(quota)
	}
	if text, there := context[contextExpires]; there {
		if c.Expires, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return alloc.Caller{}, false, errors.New("the authorizer's context has an expiry that is no time")
		}
	}
	return c, true, nil
}

func readScopes(text string) ([]alloc.Scope, error) {
	var texts []string
	if err := json.Unmarshal([]byte(text), &texts); err != nil {
		return nil, errors.New("the authorizer's context has scopes that are no JSON array of strings")
	}
	scopes := make([]alloc.Scope, len(texts))
	for i, text := range texts {
		var err error
		if scopes[i], err = alloc.ParseScope(text); err != nil {
			return nil, fmt.Errorf("the authorizer's context: %w", err)
		}
	}
	return scopes, nil
}
