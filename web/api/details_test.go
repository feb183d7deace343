package api_test

import (
	"strings"
	"testing"
	"time"
)

// What a refusal says is what the caller is to do, in the words of the request.
func TestWhatRefusalsSay(t *testing.T) {
	w := newWorld(t)
	w.must(200, "POST", "/v1/credentials/"+w.credential.ID+"/revoke", "")
	ending := w.makeCredential(`{"client": "shop", "scopes": ["claim:p"], "expires_at": "` + w.clock.Now().Add(time.Minute).Format(time.RFC3339) + `"}`)
	rotated := w.makeCredential(`{"client": "shop", "scopes": ["claim:p"]}`)
	w.must(200, "POST", "/v1/credentials/"+rotated.ID+"/rotate", `{"overlap": 60}`)
	gone := w.makeCredential(`{"client": "shop", "scopes": ["claim:p"]}`)
	w.must(200, "POST", "/v1/credentials/"+gone.ID+"/rotate", `{"overlap": 0}`)
	w.must(200, "POST", "/v1/credentials/"+gone.ID+"/revoke", "")
	shop := w.makeCredential(`{"client": "shop", "scopes": ["claim:p"]}`)
	w.clock.Advance(time.Hour)

	for _, tt := range []struct {
		token              string // "" for the administrator's
		method, path, body string
		status             int
		want               string
	}{
		{"", "POST", "/v1/pools/p/claims", `{"hold": 0}`, 400, "hold must be 1 to 604800 seconds; left out, the IDs are claimed for good"},
		{"", "POST", "/v1/credentials/" + shop.ID + "/rotate", `{"overlap": -1}`, 400, "overlap must be 0 to 604800 seconds; left out, it is a day"},
		{"", "POST", "/v1/credentials", `{"client": "a", "scopes": ["claim:p"], "quota": -1}`, 400, "quota must be 0 to 1000000000; 0, or left out, is no bound"},
		{"", "POST", "/v1/credentials", `{"client": "a", "scopes": ["claim:p"], "expires_at": "2001-01-01T00:00:00Z"}`, 400, "expires_at must be in the future"},
		{shop.Secret, "GET", "/v1/credentials", "", 403, "this needs the scope credentials:*, which this credential does not have"},
		{shop.Secret, "POST", "/v1/pools/p/pause", "", 403, "this needs the scope operate:p, which this credential does not have"},
		{w.credential.Secret, "POST", "/v1/pools/p/claims", "", 401, "this credential was revoked"},
		{ending.Secret, "POST", "/v1/pools/p/claims", "", 401, "this credential has expired"},
		{rotated.Secret, "POST", "/v1/pools/p/claims", "", 401, "this secret was replaced by another"},
		{gone.Secret, "POST", "/v1/pools/p/claims", "", 401, "this credential is not known"}, // it is no secret of it any more
	} {
		c := w.client
		if tt.token != "" {
			c = c.as(tt.token)
		}
		if p := problemOf(t, c.must(tt.status, tt.method, tt.path, tt.body)); !strings.HasPrefix(p.Detail, tt.want) {
			t.Errorf("%s %s %s: %q, want %q", tt.method, tt.path, tt.body, p.Detail, tt.want)
		}
	}
}
