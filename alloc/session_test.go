package alloc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// door is a Service over a model, at a time that a test sets.
type door struct {
	*alloc.Service
	t     *testing.T
	store *alloctest.Faulty
	model *alloctest.Model
	now   time.Time
}

func newDoor(t *testing.T) *door {
	t.Helper()
	d := &door{t: t, now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	now := func() time.Time { return d.now }
	d.model = alloctest.NewModel(now)
	d.store = alloctest.NewFaulty(d.model, nil)
	var err error
	if d.Service, err = alloc.NewService(alloc.Config{Store: d.store, Now: now}); err != nil {
		t.Fatal(err)
	}
	return d
}

func request(subject string, role alloc.Role) alloc.SignInRequest {
	return alloc.SignInRequest{
		Person: alloc.Person{Issuer: "https://issuer.example", Subject: subject, Login: subject + "@example.org", Name: "Name of " + subject},
		Origin: alloc.Origin{Address: "192.0.2.7", Agent: "Firefox", Request: "r-9"}, Role: role,
	}
}

func (d *door) signIn(subject string, role alloc.Role) (alloc.Session, alloc.SessionSecret) {
	d.t.Helper()
	s, secret, err := d.SignIn(d.t.Context(), request(subject, role), "")
	if err != nil {
		d.t.Fatal(err)
	}
	return s, secret
}

// open reports whether the secret works.
func (d *door) open(secret alloc.SessionSecret) bool {
	d.t.Helper()
	_, _, err := d.Authenticate(d.t.Context(), secret)
	if err != nil && !alloc.Is(err, alloc.CodeUnauthenticated) {
		d.t.Fatal(err)
	}
	return err == nil
}

func TestASessionIsOfWhoSignedIn(t *testing.T) {
	d := newDoor(t)
	for _, role := range alloc.Roles() {
		made, secret := d.signIn("ann", role)
		s, caller, err := d.Authenticate(t.Context(), secret)
		if err != nil || s != made || s.Role != role || s.Name != "Name of ann" || s.Address != "192.0.2.7" || s.Agent != "Firefox" {
			t.Errorf("got %+v and %v, want the session that began: %+v", s, err, made)
		}
		if caller.Client != s.Client || caller.Role != role || fmt.Sprint(caller.Scopes) != fmt.Sprint(role.Scopes()) || !caller.Expires.IsZero() {
			t.Errorf("the caller is %+v, want one of the client %s with the scopes of %s", caller, s.Client, role)
		}
		if err := alloc.CheckName(string(s.Client)); err == nil || !strings.HasPrefix(string(s.Client), "user:ann@example.org-") {
			t.Errorf("the client is %s, which a credential could have, or nobody can read", s.Client)
		}
	}
}

func TestNoTwoPeopleAreOneClient(t *testing.T) {
	clients := map[alloc.ClientID]string{}
	for _, issuer := range []string{"https://a.example", "https://b.example"} {
		for _, subject := range []string{"1", "2", "1\x002"} {
			p := alloc.Person{Issuer: issuer, Subject: subject, Login: "Ann <ann>: " + strings.Repeat("ä", 400), Name: "Ann"}
			c := p.Client()
			if other := clients[c]; other != "" || len(c) > 100 {
				t.Errorf("%q at %s is the client %s of %s, or that is too long", subject, issuer, c, other)
			}
			clients[c] = issuer + " " + subject
		}
	}
	if c := (alloc.Person{Subject: "terminal"}).Client(); c != alloc.LocalClient {
		t.Errorf("whoever has the terminal is %s, want %s", c, alloc.LocalClient)
	}
}

func TestOnlyTheSecretItselfWorks(t *testing.T) {
	d := newDoor(t)
	s, secret := d.signIn("ann", alloc.RoleAdmin)
	for _, wrong := range []alloc.SessionSecret{"", secret[:42], secret + "A", secret[:42] + "!", alloc.SessionSecret(s.ID), secret[:20] + "\n" + secret[21:], "\r\n" + secret} {
		if d.open(wrong) {
			t.Errorf("%q works", string(wrong))
		}
	}
	if !d.open(secret) {
		t.Error("the secret does not work")
	}
	encoded, err := json.Marshal(map[string]any{"s": secret})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprintf("%v %s %q %#v %+v", secret, secret, secret, secret, secret), string(encoded), fmt.Sprintf("%+v", s)} {
		if strings.Contains(text, string(secret)) {
			t.Errorf("%s shows the secret", text)
		}
	}
}

func TestASessionEndsWhenItIsNotUsed(t *testing.T) {
	d := newDoor(t)
	_, secret := d.signIn("ann", alloc.RoleViewer)
	for range 10 {
		d.now = d.now.Add(29 * time.Minute)
		if !d.open(secret) {
			t.Fatalf("at %s it has ended, although it was in use", d.now)
		}
	}
	d.now = d.now.Add(30 * time.Minute)
	if d.open(secret) {
		t.Error("half an hour after its last use it works")
	}
}

func TestASessionEndsAfterItsLifetime(t *testing.T) {
	d := newDoor(t)
	s, secret := d.signIn("ann", alloc.RoleViewer)
	end := d.now.Add(12 * time.Hour)
	if !s.Ends.Equal(end) {
		t.Errorf("it ends at %s, want %s", s.Ends, end)
	}
	for d.now.Add(20 * time.Minute).Before(end) {
		d.now = d.now.Add(20 * time.Minute)
		if !d.open(secret) {
			t.Fatalf("at %s it has ended", d.now)
		}
	}
	if d.now = end.Add(-time.Second); !d.open(secret) {
		t.Error("a second before its end it has ended")
	}
	if d.now = end; d.open(secret) {
		t.Error("at its end it works")
	}
}

// A Service with shorter times ends sessions that one with longer ones began.
func TestShorterTimesHoldForOldSessions(t *testing.T) {
	d := newDoor(t)
	_, secret := d.signIn("ann", alloc.RoleViewer)
	now := func() time.Time { return d.now }
	strict, err := alloc.NewService(alloc.Config{Store: d.store, Now: now, SessionIdle: 5 * time.Minute, SessionLifetime: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(6 * time.Minute)
	if _, _, err := strict.Authenticate(t.Context(), secret); !alloc.Is(err, alloc.CodeUnauthenticated) {
		t.Errorf("after six minutes without use, of five: %v", err)
	}
	if !d.open(secret) {
		t.Error("where it may be idle for longer it has ended")
	}
	for _, c := range []alloc.Config{{SessionIdle: time.Minute}, {SessionIdle: time.Hour, SessionLifetime: time.Minute}, {SessionLifetime: 8 * 24 * time.Hour}, {SessionIdle: -1}} {
		c.Store = d.store
		if _, err := alloc.NewService(c); err == nil {
			t.Errorf("sessions of %s and %s are accepted", c.SessionIdle, c.SessionLifetime)
		}
	}
}

func TestASessionInUseIsWrittenOnceAMinute(t *testing.T) {
	d := newDoor(t)
	_, secret := d.signIn("ann", alloc.RoleViewer)
	touches := 0
	d.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		if c.Method == "TouchSession" {
			touches++
		}
		return alloctest.Pass
	})
	for range 600 {
		d.now = d.now.Add(time.Second)
		if !d.open(secret) {
			t.Fatal("it has ended")
		}
	}
	if touches != 10 {
		t.Errorf("%d writes in ten minutes, want 10", touches)
	}
	d.store.SetPlan(alloctest.Script("TouchSession", alloctest.Refused))
	d.now = d.now.Add(time.Minute)
	if !d.open(secret) {
		t.Error("a use that could not be written ends the session")
	}
}

func TestSignInEndsWhatTheBrowserHadBefore(t *testing.T) {
	d := newDoor(t)
	_, former := d.signIn("eve", alloc.RoleViewer)
	_, fresh, err := d.SignIn(t.Context(), request("ann", alloc.RoleAdmin), former)
	if err != nil || fresh == former || d.open(former) || !d.open(fresh) {
		t.Errorf("got %v; the former session works: %t, the new one: %t", err, d.open(former), d.open(fresh))
	}
	if _, _, err := d.SignIn(t.Context(), request("ann", alloc.RoleAdmin), "what a stranger put there"); err != nil {
		t.Errorf("a cookie that is nothing keeps people out: %v", err)
	}
}

func TestWhoHasNoRoleGetsNoSession(t *testing.T) {
	d := newDoor(t)
	for _, role := range []alloc.Role{"", "root", "Admin"} {
		_, secret, err := d.SignIn(t.Context(), request("ann", role), "")
		if !alloc.Is(err, alloc.CodeForbidden) || secret != "" {
			t.Errorf("the role %q: got %v", role, err)
		}
	}
	records := trail(t, d.model)
	if len(records) != 3 || records[0].Action != "session.sign-in" || records[0].Result != string(alloc.CodeForbidden) || !strings.Contains(records[0].Detail, `subject "ann"`) {
		t.Errorf("the trail has %+v, want three refusals", records)
	}
	for _, p := range []alloc.Person{{Issuer: "https://issuer.example"}, {Issuer: "i", Subject: strings.Repeat("x", 600)}} {
		_, _, err := d.SignIn(t.Context(), alloc.SignInRequest{Person: p, Role: alloc.RoleAdmin}, "")
		wantCode(t, err, alloc.CodeInvalidRequest)
	}
}

func TestTheTrailKnowsWhoSignedInAndOut(t *testing.T) {
	d := newDoor(t)
	s, secret := d.signIn("ann", alloc.RoleOperator)
	if err := d.SignOut(t.Context(), secret, alloc.Origin{Address: "192.0.2.8", Request: "r-10"}); err != nil {
		t.Fatal(err)
	}
	if d.open(secret) {
		t.Error("it works after the sign-out")
	}
	for _, again := range []alloc.SessionSecret{secret, "", "nothing"} {
		if err := d.SignOut(t.Context(), again, alloc.Origin{}); err != nil {
			t.Errorf("sign-out without a session: %v", err)
		}
	}
	records := trail(t, d.model)
	if len(records) != 2 {
		t.Fatalf("the trail has %d records, want 2: %+v", len(records), records)
	}
	for i, want := range []string{"session.sign-out", "session.sign-in"} {
		r := records[i]
		if r.Action != want || r.Client != s.Client || r.Role != "operator" || r.Target != "session/"+string(s.ID) || r.Result != "ok" || r.Request == "" || r.Address == "" {
			t.Errorf("got %+v, want %s of %s", r, want, s.Client)
		}
	}
}

// What the trail cannot take down does not happen.
func TestSignInFailsClosed(t *testing.T) {
	for _, method := range []string{"Intend", "CreateSession", "Record"} {
		d := newDoor(t)
		d.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
			if c.Method == method {
				return alloctest.Refused
			}
			return alloctest.Pass
		})
		_, secret, err := d.SignIn(t.Context(), request("ann", alloc.RoleAdmin), "")
		if err == nil || secret != "" || alloc.CodeOf(err) == alloc.CodeInternal {
			t.Errorf("%s fails: got a secret: %t, and %v", method, secret != "", err)
		}
	}
}

func TestWhoseSessionsACallerSeesAndEnds(t *testing.T) {
	d := newDoor(t)
	mine, mySecret := d.signIn("ann", alloc.RoleViewer)
	other, otherSecret := d.signIn("ann", alloc.RoleViewer)
	bob, bobSecret := d.signIn("bob", alloc.RoleOperator)
	ctx := func(secret alloc.SessionSecret) (c alloc.Caller) {
		_, c, err := d.Authenticate(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	viewer := alloc.WithCaller(t.Context(), ctx(mySecret))
	seen, _, err := d.Sessions(viewer, "", 10)
	if err != nil || len(seen) != 2 || seen[0].Client != mine.Client || seen[1].Client != mine.Client {
		t.Errorf("a viewer sees %+v and %v, want the two of her own", seen, err)
	}
	_, err = d.EndSession(viewer, bob.ID)
	wantCode(t, err, alloc.CodeForbidden)
	_, err = d.EndSessions(viewer, bob.Client)
	wantCode(t, err, alloc.CodeForbidden)
	if ended, err := d.EndSession(viewer, other.ID); err != nil || !ended || d.open(otherSecret) || !d.open(mySecret) || !d.open(bobSecret) {
		t.Errorf("a viewer ends another session of her own: %t and %v", ended, err)
	}
	_, adminSecret := d.signIn("root", alloc.RoleAdmin)
	admin := alloc.WithCaller(t.Context(), ctx(adminSecret))
	if all, _, err := d.Sessions(admin, "", 10); err != nil || len(all) != 3 {
		t.Errorf("an administrator sees %d sessions and %v, want 3", len(all), err)
	}
	if n, err := d.EndSessions(admin, bob.Client); err != nil || n != 1 || d.open(bobSecret) || !d.open(adminSecret) {
		t.Errorf("an administrator ends those of another: %d and %v", n, err)
	}
	for _, id := range []alloc.SessionID{"", "short", alloc.SessionID(strings.Repeat("A", 52)), alloc.SessionID(strings.Repeat("#", 52))} {
		_, err := d.EndSession(admin, id)
		wantCode(t, err, alloc.CodeInvalidRequest)
	}
	for _, client := range []alloc.ClientID{"", "shop", "user:" + alloc.ClientID(strings.Repeat("x", 500)), "user:\x00"} {
		_, err := d.EndSessions(admin, client)
		wantCode(t, err, alloc.CodeInvalidRequest)
	}
}

func TestWhatIsSealedIsReadForItsPurposeAndTime(t *testing.T) {
	d := newDoor(t)
	sealed, err := d.Seal(t.Context(), "login", []byte("text"), d.now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := d.Unseal(t.Context(), "login", sealed); err != nil || string(text) != "text" {
		t.Errorf("got %q and %v", text, err)
	}
	for i := range sealed {
		forged := sealed[:i] + string(rune('A'+(sealed[i]-'A'+1)%25)) + sealed[i+1:]
		if forged == sealed {
			continue
		}
		_, err := d.Unseal(t.Context(), "login", forged)
		wantCode(t, err, alloc.CodeInvalidRequest)
	}
	for _, forged := range []string{"", "A", sealed[:20], sealed + "A", sealed + "\n", strings.Repeat("A", 5000)} {
		_, err := d.Unseal(t.Context(), "login", forged)
		wantCode(t, err, alloc.CodeInvalidRequest)
	}
	_, err = d.Unseal(t.Context(), "plan", sealed)
	wantCode(t, err, alloc.CodeInvalidRequest)
	d.now = d.now.Add(time.Minute)
	_, err = d.Unseal(t.Context(), "login", sealed)
	wantCode(t, err, alloc.CodeInvalidRequest)
}

// Whoever may only operate pauses and resumes, and does not end what an administrator has decided.
func TestOperatorsPauseAndResume(t *testing.T) {
	s, _, _ := newWorld(t, nil)
	operator, admin := as(t.Context(), "op", alloc.RoleOperator.Scopes()...), asAdmin(t.Context())
	set := func(to alloc.PoolState) error { _, err := s.SetPoolState(operator, pool, 0, to); return err }
	for _, to := range []alloc.PoolState{alloc.PoolPaused, alloc.PoolPaused, alloc.PoolActive} {
		if err := set(to); err != nil {
			t.Errorf("to %s: %v", to, err)
		}
	}
	for _, to := range []alloc.PoolState{alloc.PoolDraining, alloc.PoolDeleted, "other"} {
		wantCode(t, set(to), alloc.CodeForbidden)
	}
	if _, err := s.SetPoolState(admin, pool, 0, alloc.PoolDraining); err != nil {
		t.Fatal(err)
	}
	wantCode(t, set(alloc.PoolActive), alloc.CodeForbidden)
	wantCode(t, set(alloc.PoolPaused), alloc.CodeForbidden)
	if _, err := s.SetPoolState(admin, pool, 0, alloc.PoolDeleted); err != nil {
		t.Fatal(err)
	}
	wantCode(t, set(alloc.PoolPaused), alloc.CodePoolDeleted)
	for _, to := range []alloc.SequenceState{alloc.SequencePaused, alloc.SequenceActive} {
		if _, err := s.SetSequenceState(operator, sequence, 0, to); err != nil {
			t.Errorf("to %s: %v", to, err)
		}
	}
	_, err := s.SetSequenceState(operator, sequence, 0, alloc.SequenceDeleted)
	wantCode(t, err, alloc.CodeForbidden)
}

func TestEachRoleMayDoWhatTheOneBeforeMay(t *testing.T) {
	for i, role := range alloc.Roles() {
		for j, other := range alloc.Roles() {
			if role.Includes(other) != (i >= j) {
				t.Errorf("%s includes %s: %t", role, other, role.Includes(other))
			}
		}
	}
	may := map[alloc.Role]string{
		alloc.RoleViewer: "read", alloc.RoleOperator: "read claim lease operate", alloc.RoleAdmin: "read claim lease operate export seed manage tend credentials",
	}
	for role, actions := range may {
		for a := range strings.FieldsSeq(may[alloc.RoleAdmin]) {
			permitted := false
			for _, scope := range role.Scopes() {
				permitted = permitted || scope.Permits(alloc.Action(a), "*")
			}
			if want := strings.Contains(" "+actions+" ", " "+a+" "); permitted != want {
				t.Errorf("%s may %s: %t, want %t", role, a, permitted, want)
			}
		}
	}
}
