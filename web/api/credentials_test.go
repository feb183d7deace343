package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

var secretForm = regexp.MustCompile(`^idpool_[a-z2-7]{12}_[a-z2-7]{39}$`)

// A credential's life: it is made, rotated with an overlap, changed, and revoked.
func TestTheLifeOfACredential(t *testing.T) {
	w := newWorld(t)
	shop := w.makeCredential(`{"client": "shop", "scopes": ["claim:p"]}`)
	if !secretForm.MatchString(shop.Secret) || !strings.Contains(shop.Secret, shop.ID) || shop.Client != "shop" {
		t.Fatalf("made %+v", shop)
	}
	path := "/v1/credentials/" + shop.ID
	lets := func(secret string, want int) {
		t.Helper()
		if got := w.as(secret).do("POST", "/v1/pools/p/claims", `{"count": 1, "hold": 1}`); got.Code != want {
			t.Errorf("%d, want %d: %s", got.Code, want, got.Body)
		}
	}
	lets(shop.Secret, http.StatusCreated)

	rotated := read[made](t, w.must(200, "POST", path+"/rotate", `{"overlap": 60}`).Body)
	lets(shop.Secret, http.StatusCreated)
	lets(rotated.Secret, http.StatusCreated)
	w.clock.Advance(60 * time.Second)
	w.must(200, "POST", "/v1/pools/p/sweep", "") // what was held comes back
	lets(shop.Secret, http.StatusUnauthorized)
	lets(rotated.Secret, http.StatusCreated)

	w.must(200, "PUT", path, `{"scopes": ["claim:q"], "description": "moved"}`, fmt.Sprintf(`If-Match: "%d"`, rotated.Version))
	lets(rotated.Secret, http.StatusForbidden)
	w.must(412, "POST", path+"/revoke", "", fmt.Sprintf(`If-Match: "%d"`, rotated.Version))
	w.must(200, "POST", path+"/revoke", "")
	lets(rotated.Secret, http.StatusUnauthorized)

	for _, secret := range []string{shop.Secret, rotated.Secret} {
		for _, path := range []string{path, "/v1/credentials", "/v1/audit"} {
			body := w.must(200, "GET", path, "").Body.String()
			if path == "/v1/audit" { // whose records have a hash of their own
				body = strings.ReplaceAll(body, `,"hash":"`, "")
			}
			if strings.Contains(body, secret) || strings.Contains(body, "hash") {
				t.Errorf("%s tells of the secret: %s", path, body)
			}
		}
	}
}

// Nobody gives what it has not, be it by a credential that is made, changed or rotated.
func TestNobodyGivesWhatItHasNot(t *testing.T) {
	w := newWorld(t)
	strong := w.makeCredential(`{"client": "root", "scopes": ["*:*"]}`)
	clerk := w.as(strings.TrimPrefix(w.secretFor("credentials:*", "claim:p*"), "Bearer "))
	clerk.must(201, "POST", "/v1/credentials", `{"client": "shop", "scopes": ["claim:pens"]}`)
	for _, scope := range []string{"claim:*", "claim:q", "manage:p", "*:p", "*:*"} {
		clerk.must(403, "POST", "/v1/credentials", fmt.Sprintf(`{"client": "shop", "scopes": ["claim:p", %q]}`, scope))
	}
	clerk.must(403, "POST", "/v1/credentials/"+strong.ID+"/rotate", "")
	clerk.must(403, "PUT", "/v1/credentials/"+strong.ID, `{"scopes": ["claim:p"]}`, `If-Match: "1"`)
	clerk.must(403, "PUT", "/v1/credentials/"+w.credential.ID, `{"scopes": ["claim:*"]}`, `If-Match: "1"`)
	clerk.must(200, "POST", "/v1/credentials/"+strong.ID+"/revoke", "")
}

// A store that does not answer when a credential is looked at is a 503: the client is to come again, not to sign in anew.
func TestACredentialThatCannotBeLookedAt(t *testing.T) {
	w := newWorld(t)
	store := alloctest.NewFaulty(w.store, nil)
	c := clientAt(t, store, w.clock.Now)
	for fault, code := range map[alloctest.Fault]alloc.Code{alloctest.Refused: alloc.CodeUnavailable, alloctest.Throttled: alloc.CodeThrottled} {
		store.SetPlan(always(fault, "Credential"))
		p := problemOf(t, c.as(w.credential.Secret).must(503, "POST", "/v1/pools/p/claims", ""))
		if p.Code != code {
			t.Errorf("%s, want %s", p.Code, code)
		}
		c.must(201, "POST", "/v1/pools/p/claims", "") // the configured one needs no store
	}
	store.SetPlan(nil)
	c.as(w.credential.Secret).must(201, "POST", "/v1/pools/p/claims", "")
}

// A credential that is made under a key is made once; who lost its secret rotates it.
func TestASecretIsToldOnce(t *testing.T) {
	w := newWorld(t)
	const body = `{"client": "till", "scopes": ["claim:p"]}`
	first := read[made](t, w.must(201, "POST", "/v1/credentials", body, "Idempotency-Key: k").Body)
	again := read[made](t, w.must(201, "POST", "/v1/credentials", body, "Idempotency-Key: k").Body)
	if first.Secret == "" || first.Withheld || again.Secret != "" || !again.Withheld || again.ID != first.ID {
		t.Errorf("first %+v, then %+v", first, again)
	}
	path := "/v1/credentials/" + first.ID + "/rotate"
	rotated := read[made](t, w.must(200, "POST", path, `{"overlap": 0}`, "Idempotency-Key: r").Body)
	twice := read[made](t, w.must(200, "POST", path, `{"overlap": 0}`, "Idempotency-Key: r").Body)
	if rotated.Secret == "" || rotated.Secret == first.Secret || twice.Secret != "" || !twice.Withheld || twice.Version != rotated.Version {
		t.Errorf("rotated %+v, then %+v", rotated, twice)
	}
	w.as(rotated.Secret).must(201, "POST", "/v1/pools/p/claims", "")
	w.as(first.Secret).must(401, "POST", "/v1/pools/p/claims", "")
}

// Who makes a credential twice at once under one key gets one, and one secret that works.
func TestACredentialMadeTwiceAtOnce(t *testing.T) {
	w := newWorld(t)
	answers := make([]made, 16)
	atOnce(t, len(answers), func(i int) error {
		got := w.do("POST", "/v1/credentials", `{"client": "till", "scopes": ["claim:p"]}`, "Idempotency-Key: k")
		if got.Code != http.StatusCreated {
			return fmt.Errorf("%d %s", got.Code, got.Body)
		}
		answers[i] = read[made](t, got.Body)
		return nil
	})
	secrets := map[string]bool{}
	for _, a := range answers {
		if a.ID != answers[0].ID {
			t.Errorf("two credentials: %s, %s", a.ID, answers[0].ID)
		}
		if secrets[a.Secret] = true; a.Secret == "" != a.Withheld {
			t.Errorf("a secret that is neither told nor withheld: %+v", a)
		}
	}
	if delete(secrets, ""); len(secrets) != 1 {
		t.Fatalf("%d secrets, want 1", len(secrets))
	}
	for secret := range secrets {
		w.as(secret).must(201, "POST", "/v1/pools/p/claims", "")
	}
}

// A credential that ends cannot take its end away, nor make one that has none or a later one.
func TestNoCredentialOutlivesWhoMadeIt(t *testing.T) {
	w := newWorld(t)
	end := func(d time.Duration) string { return w.clock.Now().Add(d).UTC().Format(time.RFC3339) }
	ops := w.makeCredential(fmt.Sprintf(`{"client": "ops", "scopes": ["credentials:*", "claim:p"], "expires_at": %q}`, end(time.Hour)))
	by := w.as(ops.Secret)
	path := "/v1/credentials/" + ops.ID
	by.must(403, "PUT", path, `{"scopes": ["credentials:*", "claim:p"]}`, `If-Match: "1"`)
	by.must(403, "POST", "/v1/credentials", `{"client": "shop", "scopes": ["claim:p"]}`)
	for _, expires := range []string{end(time.Hour + time.Second), "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.5Z"} {
		if got := by.do("POST", "/v1/credentials", fmt.Sprintf(`{"client": "shop", "scopes": ["claim:p"], "expires_at": %q}`, expires)); got.Code != 403 && got.Code != 400 {
			t.Errorf("an end at %s: %d %s", expires, got.Code, got.Body)
		}
	}
	by.must(201, "POST", "/v1/credentials", fmt.Sprintf(`{"client": "shop", "scopes": ["claim:p"], "expires_at": %q}`, end(time.Hour)))
	w.clock.Advance(time.Hour)
	by.must(401, "GET", path, "")

	// The secret that was replaced works for a time; what it can make ends then too.
	root := w.makeCredential(`{"client": "root", "scopes": ["*:*"]}`)
	w.must(200, "POST", "/v1/credentials/"+root.ID+"/rotate", `{"overlap": 60}`)
	w.as(root.Secret).must(403, "POST", "/v1/credentials", `{"client": "shop", "scopes": ["claim:p"]}`)
	w.as(root.Secret).must(403, "POST", "/v1/credentials/"+root.ID+"/rotate", "")
}

// Whoever has a quota cannot get another one by making credentials.
func TestQuotasDoNotMultiply(t *testing.T) {
	w := newWorld(t)
	ops := w.makeCredential(`{"client": "ops", "scopes": ["credentials:*", "claim:p"], "quota": 1}`)
	by := w.as(ops.Secret)
	by.must(201, "POST", "/v1/pools/p/claims", "")
	by.must(429, "POST", "/v1/pools/p/claims", "")
	for line, body := range map[string]string{
		"POST /v1/credentials":                       `{"client": "ops", "scopes": ["claim:p"], "quota": 1}`,
		"PUT /v1/credentials/" + ops.ID:              `{"scopes": ["credentials:*", "claim:p"], "quota": 1}`,
		"POST /v1/credentials/" + ops.ID + "/rotate": "",
	} {
		method, path, _ := strings.Cut(line, " ")
		var headers []string
		if method == "PUT" {
			headers = []string{`If-Match: "1"`}
		}
		if p := problemOf(t, by.must(403, method, path, body, headers...)); !strings.Contains(p.Detail, "quota") {
			t.Errorf("%s: %q should say why", line, p.Detail)
		}
	}
}

// A session of the dashboard is ended by its ID, at once; what is left out of the key's scope would end another's with the same key.
func TestASessionIsEnded(t *testing.T) {
	w := newWorld(t)
	svc, err := alloc.NewService(alloc.Config{Store: w.store, Now: w.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	var ids []alloc.SessionID
	var secrets []alloc.SessionSecret
	for _, name := range []string{"ada", "bob"} {
		s, secret, err := svc.SignIn(t.Context(), alloc.SignInRequest{Person: alloc.Person{Issuer: "https://login.example", Subject: name, Login: name, Name: name}, Role: alloc.RoleViewer}, "")
		if err != nil {
			t.Fatal(err)
		}
		ids, secrets = append(ids, s.ID), append(secrets, secret)
	}
	for i, id := range ids {
		for again := range 2 {
			if got := w.must(200, "DELETE", "/v1/sessions/"+string(id), "", "Idempotency-Key: k").Body.String(); !strings.Contains(got, string(id)) || !strings.Contains(got, `"ended":true`) {
				t.Errorf("%s, time %d: %s", id, again+1, got)
			}
		}
		if _, _, err := svc.Authenticate(t.Context(), secrets[i]); !alloc.Is(err, alloc.CodeUnauthenticated) {
			t.Errorf("%s still works: %v", id, err)
		}
	}
	if got := w.must(200, "DELETE", "/v1/sessions/"+string(ids[0]), "").Body.String(); !strings.Contains(got, `"ended":false`) {
		t.Errorf("one that has ended: %s", got)
	}
	w.must(400, "DELETE", "/v1/sessions/x", "")
}

// An ID is released in place of its owner by what GET …/ids says of it.
func TestAnIDIsReleasedAndRetiredForItsOwner(t *testing.T) {
	w := newWorld(t)
	body := func(id string, generation alloc.Generation, client string) string {
		return fmt.Sprintf(`{"id": %q, "generation": %d, "client": %q, "why": "the customer has left"}`, id, generation, client)
	}
	for _, bad := range []string{body(w.held.IDs[0], w.generation+1, "default"), body(w.held.IDs[0], w.generation, "shop"), body("A-5", 0, "default")} {
		w.must(409, "POST", "/v1/pools/p/ids/release", bad)
	}
	w.must(404, "POST", "/v1/pools/p/ids/release", body("none", 0, "default"))
	w.must(400, "POST", "/v1/pools/p/ids/release", body("", 0, "default"))
	w.must(400, "POST", "/v1/pools/p/ids/release", body(w.held.IDs[0], w.generation, "default"), `If-Match: "1"`)
	for range 2 {
		w.must(200, "POST", "/v1/pools/p/ids/release", body(w.held.IDs[0], w.generation, "default"))
		w.must(200, "POST", "/v1/pools/p/ids/retire", body(w.held.IDs[1], w.generation, "default"))
	}
	for i, want := range []string{"returning", "retired"} {
		if got := w.must(200, "GET", "/v1/pools/p/ids?id="+w.held.IDs[i], "").Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s is %s, want %s", w.held.IDs[i], got, want)
		}
	}
	w.must(409, "POST", "/v1/pools/p/confirm", fmt.Sprintf(`{"ids": [%q], "token": %q}`, w.held.IDs[0], w.held.Token))
}
