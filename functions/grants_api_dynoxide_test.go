//go:build !goonly

package functions_test

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// said is the value that an answer gives for a name.
func said(t *testing.T, r events.APIGatewayV2HTTPResponse, name string) string {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		t.Fatal(err)
	}
	text, ok := body[name].(string)
	if !ok {
		t.Fatalf("there is no text %q in %s", name, r.Body)
	}
	return text
}

// settle holds IDs and confirms, releases and retires them, one and several, with and without a key for it; in pools that
// keep and that forget, and in one where a release is a retirement.
func (s *system) settle(t *testing.T) {
	for pool, config := range map[string]string{
		"settled": `{}`, "settled-forget": `{"policy": "forget"}`, "settled-retire": `{"on_release": "retire"}`,
	} {
		call(t, s.admin, 201, httpEvent("PUT", path("pools/%s", pool), config))
		call(t, s.admin, 200, httpEvent("POST", path("pools/%s/seed", pool), `{"ids": ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M"]}`))
		for i, verbs := range [][]string{{"confirm", "release"}, {"release"}, {"retire"}} {
			for _, count := range []string{"1", "2"} {
				key := string(rune('a'+i)) + count
				hold := withKey(httpEvent("POST", path("pools/%s/claims", pool), `{"hold": 60, "count": `+count+`}`), "hold-"+key)
				held := call(t, s.first, 201, hold)
				call(t, s.second, 201, hold)
				var ids struct{ IDs []string }
				if err := json.Unmarshal([]byte(held.Body), &ids); err != nil {
					t.Fatal(err)
				}
				body, err := json.Marshal(map[string]any{"ids": ids.IDs, "token": said(t, held, "token")})
				if err != nil {
					t.Fatal(err)
				}
				for _, verb := range verbs {
					event := httpEvent("POST", path("pools/%s/%s", pool, verb), string(body))
					call(t, s.second, 200, event)
					call(t, s.first, 200, withKey(event, verb+key))
					call(t, s.first, 200, withKey(event, verb+key))
				}
			}
		}
		call(t, s.first, 404, httpEvent("POST", path("pools/%s/release", pool), `{"ids": ["none"], "token": "0123456789ABCDEFGHIJKLMNOP"}`))
		call(t, s.admin, 200, httpEvent("POST", path("pools/%s/sweep", pool), ""))
	}
	s.tend(t)
}

// manageCredentials makes, shows, changes, rotates and revokes a credential, with keys, and takes with it what its quota
// allows.
func (s *system) manageCredentials(t *testing.T) {
	call(t, s.admin, 404, httpEvent("GET", path("credentials/aaaaaaaaaaaa"), ""))
	create := withKey(httpEvent("POST", path("credentials"), `{"client": "shop", "scopes": ["claim:*", "lease:*"], "quota": 3}`), "credential-1")
	id := said(t, call(t, s.admin, 201, create), "id")
	call(t, s.admin, 201, create)
	call(t, s.admin, 200, httpEvent("GET", path("credentials"), ""))
	call(t, s.admin, 200, httpEvent("GET", path("credentials/%s", id), ""))
	call(t, s.admin, 400, withKey(httpEvent("PUT", path("credentials/%s", id), `{"scopes": ["steal:*"]}`), "change-0"))
	call(t, s.admin, 200, matching(httpEvent("PUT", path("credentials/%s", id), `{"scopes": ["claim:*", "lease:*"], "quota": 4}`), `"1"`))
	call(t, s.admin, 200, httpEvent("POST", path("credentials/%s/rotate", id), `{}`))

	call(t, s.admin, 201, httpEvent("PUT", path("sequences/bounded"), ""))
	take := func(status int) {
		e := httpEvent("POST", path("sequences/bounded/leases"), `{"count": 2}`)
		e.RequestContext.Authorizer.Lambda = map[string]any{"client": "shop", "scopes": `["lease:*"]`, "credential": id, "quota": "4"}
		call(t, s.first, status, e)
	}
	for _, status := range []int{201, 201, 429} {
		take(status)
	}
	numbers := withKey(httpEvent("POST", path("sequences/bounded/next"), `{"count": 2}`), "next-1")
	call(t, s.first, 201, numbers)
	call(t, s.second, 201, numbers)
	call(t, s.admin, 200, httpEvent("POST", path("credentials/%s/revoke", id), ""))
}

// export writes the IDs of a pool into jobs, one carried on by the schedule, one by an administrator, one cancelled.
func (s *system) export(t *testing.T) {
	call(t, s.admin, 404, httpEvent("GET", path("jobs/none"), ""))
	export := func(key string) (job string) {
		e := withKey(httpEvent("POST", path("pools/settled/exports"), `{"state": "free", "format": "csv"}`), key)
		return said(t, call(t, s.admin, 202, e), "id")
	}
	for _, by := range []string{"refill", "admin"} {
		job := export("export-" + by)
		if by == "refill" {
			s.tend(t)
		} else {
			call(t, s.adminAlone, 200, httpEvent("POST", path("tend"), ""))
		}
		if state := said(t, call(t, s.admin, 200, httpEvent("GET", path("jobs/%s", job), "")), "state"); state != "done" {
			t.Errorf("the job by %s is %s, want it done", by, state)
		}
		call(t, s.admin, 200, httpEvent("GET", path("jobs/%s/parts/0", job), ""))
	}
	call(t, s.admin, 200, httpEvent("POST", path("jobs/%s/cancel", export("export-none")), ""))
	call(t, s.admin, 200, httpEvent("GET", path("jobs"), ""))
	page := httpEvent("GET", path("pools"), "")
	page.RawQueryString = "limit=1"
	call(t, s.admin, 200, page) // with a cursor, which is signed
}
