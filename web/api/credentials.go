package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"idpool/alloc"
	"idpool/web"
)

// credentialChange is what an administrator may decide about a credential at any time.
type credentialChange struct {
	Description string      `json:"description"`
	Scopes      []string    `json:"scopes"`
	Quota       alloc.Count `json:"quota"` // an hour; 0 for no bound
	Expires     time.Time   `json:"expires_at,omitzero"`
}

func (b *credentialChange) fields() []field {
	return []field{text("description", &b.Description), texts("scopes", &b.Scopes), whole("quota", &b.Quota), moment("expires_at", &b.Expires)}
}

// request is what it asks the service for.
func (b credentialChange) request() (alloc.CredentialRequest, error) {
	r := alloc.CredentialRequest{Description: b.Description, Quota: b.Quota, Expires: b.Expires}
	for _, s := range b.Scopes {
		scope, err := alloc.ParseScope(s)
		if err != nil {
			return r, err
		}
		r.Scopes = append(r.Scopes, scope)
	}
	return r, nil
}

type credentialBody struct {
	Client alloc.ClientID `json:"client"`
	credentialChange
}

func (b *credentialBody) fields() []field {
	return append([]field{text("client", &b.Client)}, b.credentialChange.fields()...)
}

type credentialAnswer struct {
	ID          alloc.CredentialID `json:"id"`
	Client      alloc.ClientID     `json:"client"`
	Description string             `json:"description"`
	Scopes      []string           `json:"scopes"`
	Quota       alloc.Count        `json:"quota"`
	Version     alloc.Version      `json:"version"`
	Created     time.Time          `json:"created_at"`
	Expires     time.Time          `json:"expires_at,omitzero"`     // absent for never
	Rotated     time.Time          `json:"rotated_at,omitzero"`     // when its secret was made
	Previous    time.Time          `json:"previous_until,omitzero"` // how long the secret before works
	Revoked     time.Time          `json:"revoked_at,omitzero"`
	LastUsed    time.Time          `json:"last_used_at,omitzero"` // to some minutes

	// The secret, in the answer that makes it and never again: where a repeat of that would have it, withheld says so.
	Secret   string `json:"secret,omitzero"`
	Withheld bool   `json:"secret_withheld,omitzero"`
}

func newCredentialAnswer(c alloc.Credential) credentialAnswer {
	a := credentialAnswer{
		ID: c.ID, Client: c.Client, Description: c.Description, Scopes: make([]string, len(c.Scopes)), Quota: c.Quota, Version: c.Version,
		Created: utc(c.Created), Expires: utc(c.Expires), Rotated: utc(c.Rotated), Previous: utc(c.PreviousUntil), Revoked: utc(c.Revoked), LastUsed: utc(c.LastUsed),
	}
	for i, s := range c.Scopes {
		a.Scopes[i] = s.String()
	}
	return a
}

// withSecret is the answer that has made a secret. What is kept of it has none.
func withSecret(status int, c alloc.Credential, secret alloc.Secret) answer {
	body := newCredentialAnswer(c)
	kept := body
	kept.Withheld = true
	if secret == "" { // a repeat of what was done before
		return answer{status: status, body: kept, version: c.Version}
	}
	body.Secret = string(secret)
	return answer{status: status, body: body, kept: kept, version: c.Version}
}

func (a api) createCredential(ctx context.Context, q request, b credentialBody) (answer, error) {
	r, err := b.request()
	if err != nil {
		return answer{}, err
	}
	r.Client, r.Intent = b.Client, q.attempt.Intent
	c, secret, err := a.svc.CreateCredential(ctx, r)
	if err != nil {
		return answer{}, err
	}
	return withSecret(http.StatusCreated, c, secret), nil
}

func (a api) putCredential(ctx context.Context, q request, b credentialChange) (answer, error) {
	r, err := b.request()
	if err != nil {
		return answer{}, err
	}
	if q.ifMatch == 0 {
		if _, err := a.svc.Credential(ctx, q.credential()); err != nil {
			return answer{}, err
		}
		return answer{}, alloc.Errorf(web.CodeVersionRequired, "to change a credential, GET it and send the ETag of that answer as If-Match")
	}
	return credentialAt(a.svc.ChangeCredential(ctx, q.credential(), q.ifMatch, r))
}

type rotateBody struct {
	Overlap int64 `json:"overlap"` // seconds
}

func (b *rotateBody) fields() []field {
	b.Overlap = int64(alloc.DefaultOverlap / time.Second)
	return []field{seconds("overlap", 0, alloc.MaxOverlap, "it is a day", &b.Overlap)}
}

func (a api) rotateCredential(ctx context.Context, q request, b rotateBody) (answer, error) {
	c, secret, err := a.svc.RotateCredential(ctx, q.credential(), q.ifMatch, time.Duration(b.Overlap)*time.Second, q.attempt.Intent)
	if err != nil {
		return answer{}, err
	}
	return withSecret(http.StatusOK, c, secret), nil
}

func (a api) revokeCredential(ctx context.Context, q request) (answer, error) {
	return credentialAt(a.svc.RevokeCredential(ctx, q.credential(), q.ifMatch))
}

func (a api) credential(ctx context.Context, q request) (answer, error) {
	return credentialAt(a.svc.Credential(ctx, q.credential()))
}

func credentialAt(c alloc.Credential, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: newCredentialAnswer(c), version: c.Version}, nil
}

// credential is the one that the path names. The service checks the ID.
func (q request) credential() alloc.CredentialID {
	return alloc.CredentialID(q.http.PathValue("credential"))
}

type credentialsAnswer struct {
	Credentials []credentialAnswer `json:"credentials"`
	Next        alloc.Cursor       `json:"next_cursor,omitzero"` // what to give as cursor to go on
}

var credentialColumns = []column[credentialAnswer]{
	{"id", func(c credentialAnswer) string { return string(c.ID) }},
	{"client", func(c credentialAnswer) string { return string(c.Client) }},
	{"description", func(c credentialAnswer) string { return c.Description }},
	{"scopes", func(c credentialAnswer) string { return strings.Join(c.Scopes, " ") }},
	{"quota", func(c credentialAnswer) string { return decimal(c.Quota) }},
	{"version", func(c credentialAnswer) string { return decimal(c.Version) }},
	{"created_at", func(c credentialAnswer) string { return when(c.Created) }},
	{"expires_at", func(c credentialAnswer) string { return when(c.Expires) }},
	{"rotated_at", func(c credentialAnswer) string { return when(c.Rotated) }},
	{"previous_until", func(c credentialAnswer) string { return when(c.Previous) }},
	{"revoked_at", func(c credentialAnswer) string { return when(c.Revoked) }},
	{"last_used_at", func(c credentialAnswer) string { return when(c.LastUsed) }},
}

func (a api) listCredentials(ctx context.Context, q request) (answer, error) {
	cursor, limit, err := q.page()
	if err != nil {
		return answer{}, err
	}
	credentials, next, err := a.svc.Credentials(ctx, cursor, limit)
	if err != nil {
		return answer{}, err
	}
	body := credentialsAnswer{Credentials: make([]credentialAnswer, len(credentials)), Next: next}
	for i, c := range credentials {
		body.Credentials[i] = newCredentialAnswer(c)
	}
	return q.listed(body, listOf("credentials", credentialColumns, body.Credentials, next))
}
