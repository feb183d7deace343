package signin

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"idpool/alloc"
	"idpool/web"
)

// issuerTime bounds each request to the issuer.
const issuerTime = 5 * time.Second

// provider is the issuer as it describes itself. It is asked at the first use, so that this program starts without it, and
// again until it has answered.
type provider struct {
	Issuer
	redirect string
	now      func() time.Time
	client   *http.Client
	asking   chan struct{} // has room for the one that asks
	found    *described    // guarded by asking
}

// described is what the issuer says of itself.
type described struct {
	*oidc.Provider
	endSession string
}

func newProvider(i Issuer, redirect string, now func() time.Time) *provider {
	return &provider{Issuer: i, redirect: redirect, now: now, client: &http.Client{Timeout: issuerTime}, asking: make(chan struct{}, 1)}
}

// describe returns what the issuer says of itself. CodeUnavailable.
func (p *provider) describe(ctx context.Context) (*described, error) {
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	case <-ctx.Done():
		return nil, p.silent(ctx.Err())
	}
	if p.found != nil {
		return p.found, nil
	}
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.URL)
	if err != nil {
		return nil, p.silent(err)
	}
	var more struct {
		EndSession string `json:"end_session_endpoint"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, p.silent(err)
	}
	p.found = &described{Provider: found, endSession: more.EndSession}
	return p.found, nil
}

func (p *provider) silent(cause error) error {
	return alloc.Errorf(alloc.CodeUnavailable, "the issuer %s does not answer as it should; try again, and if it stays so tell whoever runs it", p.name()).
		Because(cause).After(10 * time.Second)
}

// leaveTime bounds what asking the issuer may hold up the page of somebody who is signed out already.
const leaveTime = 2 * time.Second

// endSession is where a person ends the session with the issuer, and comes back to the address from; "" where the issuer has no such thing, or
// does not say so in time.
func (p *provider) endSession(ctx context.Context, back string) string {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	d, err := p.describe(ctx)
	if err != nil {
		web.Note(ctx, slog.String(web.KeyPartialError, err.Error()))
		return ""
	}
	u, err := url.Parse(d.endSession)
	if err != nil || u.Host == "" || !trustworthy(u) {
		return ""
	}
	q := u.Query()
	q.Set("client_id", p.ClientID)
	q.Set("post_logout_redirect_uri", back)
	u.RawQuery = q.Encode()
	return u.String()
}

func (p *provider) oauth(d *described) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: d.Endpoint(), RedirectURL: p.redirect, Scopes: p.scopes(),
	}
}

// authorize is where the browser goes for the sign-in that is begun.
func (p *provider) authorize(ctx context.Context, b begun) (string, error) {
	d, err := p.describe(ctx)
	if err != nil {
		return "", err
	}
	return p.oauth(d).AuthCodeURL(b.State, oidc.Nonce(b.Nonce), oauth2.S256ChallengeOption(b.Verifier)), nil
}

// identity takes the code of a sign-in to the issuer and returns who the person is, and the role. CodeInvalidRequest for a code
// that the issuer does not take, CodeForbidden for what it says that cannot be trusted, CodeUnavailable.
func (p *provider) identity(ctx context.Context, code string, b begun) (alloc.Person, alloc.Role, error) {
	d, err := p.describe(ctx)
	if err != nil {
		return alloc.Person{}, "", err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.oauth(d).Exchange(ctx, code, oauth2.VerifierOption(b.Verifier))
	if err != nil {
		return alloc.Person{}, "", p.refused(err)
	}
	id, err := p.verify(ctx, d, token, b)
	if err != nil {
		return alloc.Person{}, "", err
	}
	said := claims{}
	if err := id.Claims(&said); err != nil {
		return alloc.Person{}, "", untrusted(err)
	}
	values, ok := p.roles(said)
	if !ok && d.UserInfoEndpoint() != "" { // some tell of groups there alone
		info, err := d.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return alloc.Person{}, "", p.silent(err)
		}
		more := claims{}
		if err := info.Claims(&more); err != nil || info.Subject != id.Subject {
			return alloc.Person{}, "", untrusted(fmt.Errorf("userinfo is of another subject or no JSON: %w", err))
		}
		values, _ = p.roles(more)
	}
	return said.person(id.Issuer, id.Subject), p.role(values), nil
}

// refused is the error for a code that got no token.
func (p *provider) refused(err error) error {
	answered, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok || answered.Response == nil || answered.Response.StatusCode >= http.StatusInternalServerError:
		return p.silent(err)
	case answered.ErrorCode == "invalid_client" || answered.ErrorCode == "unauthorized_client":
		return alloc.Errorf(alloc.CodeUnavailable, "the issuer %s does not take the client ID and secret of this dashboard; tell whoever runs it", p.name()).Because(err)
	}
	return alloc.Errorf(alloc.CodeInvalidRequest, "the issuer does not take this sign-in any more; sign in again").Because(err)
}

func untrusted(cause error) error {
	return alloc.Errorf(alloc.CodeForbidden, "what the issuer says of you cannot be trusted; sign in again, and if it stays so tell whoever runs this dashboard").Because(cause)
}

// verify returns the ID token if it is of the issuer, for this dashboard, for this very sign-in, and in its time.
func (p *provider) verify(ctx context.Context, d *described, token *oauth2.Token, b begun) (*oidc.IDToken, error) {
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return nil, untrusted(errors.New("there is no ID token"))
	}
	id, err := d.VerifierContext(ctx, &oidc.Config{ClientID: p.ClientID, Now: p.now}).Verify(ctx, raw)
	if err != nil {
		return nil, untrusted(err)
	}
	var more struct {
		Party string `json:"azp"`
	}
	if err := id.Claims(&more); err != nil {
		return nil, untrusted(err)
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(b.Nonce)) != 1:
		return nil, untrusted(errors.New("the nonce is another"))
	case more.Party != "" && more.Party != p.ClientID, more.Party == "" && len(id.Audience) > 1:
		return nil, untrusted(errors.New("it was made for another client"))
	case id.AccessTokenHash != "" && id.VerifyAccessToken(token.AccessToken) != nil:
		return nil, untrusted(errors.New("the access token is another"))
	}
	return id, nil
}
