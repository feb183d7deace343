package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
	"idpool/web/admin/plan"
)

// afterCredential is where in the query the list of credentials goes on.
const afterCredential = "credentials_after"

func credentialAddress(id alloc.CredentialID) string {
	return "/credentials/" + url.PathEscape(string(id))
}

// credentialsPage is the list of credentials.
func (d *dashboard) credentialsPage(r *http.Request) (templ.Component, error) {
	if err := web.RequireCaller(r); err != nil {
		return nil, err
	}
	p := templates.CredentialsPage{Frame: d.frame(r, "Credentials")}
	if !d.readOnly && may(r, alloc.ActionCredentials, "*") {
		p.Buttons = []templates.Link{{Text: "Create credential", Href: "/new/credential", Main: true}}
	}
	ctx, cancel := context.WithTimeout(r.Context(), panelTimeout)
	defer cancel()
	q := listQuery{values: r.URL.Query(), path: "/credentials"}
	found, next, err := d.svc.Credentials(ctx, q.cursor(afterCredential), q.limit())
	if err != nil {
		p.Failure = failure(r, err, q.again(afterCredential, err))
		return templates.Credentials(p), nil
	}
	p.Paging = q.paging(afterCredential, next)
	for _, c := range found {
		p.Rows = append(p.Rows, templates.CredentialRow{
			Client: string(c.Client), Href: credentialAddress(c.ID), Description: c.Description, Scopes: scopeWords(c.Scopes), State: credentialState(c, d.now()),
			Expires: ends(c.Expires, d.now()), Created: clock(c.Created, d.now()), Used: ends(c.LastUsed, d.now()),
		})
	}
	return templates.Credentials(p), nil
}

// ends is when something ends; no Machine for never.
func ends(t, now time.Time) templates.Time {
	if t.IsZero() {
		return templates.Time{Text: "never"}
	}
	return clock(t, now)
}

func scopeWords(scopes []alloc.Scope) []string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = s.String()
	}
	return words
}

func credentialState(c alloc.Credential, now time.Time) templates.State {
	switch {
	case !c.Revoked.IsZero():
		return templates.State{Tone: templates.ToneOff, Text: "revoked"}
	case !c.Expires.IsZero() && !now.Before(c.Expires):
		return templates.State{Tone: templates.ToneOff, Text: "expired"}
	case !c.Expires.IsZero() && c.Expires.Sub(now) < 14*24*time.Hour:
		return templates.State{Tone: templates.ToneWarn, Text: "ends soon"}
	}
	return templates.State{Tone: templates.ToneGood, Text: "valid"}
}

// credentialPage is one credential.
func (d *dashboard) credentialPage(r *http.Request) (templ.Component, error) {
	c, err := d.svc.Credential(r.Context(), alloc.CredentialID(r.PathValue("credential")))
	if err != nil {
		return nil, err
	}
	p := templates.CredentialPage{Frame: d.frame(r, "Credential of "+string(c.Client)), State: credentialState(c, d.now()), Facts: credentialFacts(c, d.now())}
	p.Trail = d.trailPart(r, topic{target: "credential/" + string(c.ID)})
	if !d.readOnly && c.Revoked.IsZero() && may(r, alloc.ActionCredentials, "*") {
		for _, s := range [][2]string{{"Edit credential", "edit"}, {"Rotate secret", "rotate"}, {"Revoke credential", "revoke"}} {
			p.Buttons = append(p.Buttons, templates.Link{Text: s[0], Href: credentialAddress(c.ID) + "/" + s[1], Danger: s[1] == "revoke"})
		}
	}
	return templates.Credential(p), nil
}

func credentialFacts(c alloc.Credential, now time.Time) []templates.Fact {
	fact := func(term string, t time.Time, otherwise string) templates.Fact {
		if t.IsZero() {
			return templates.Fact{Term: term, Value: otherwise}
		}
		return templates.Fact{Term: term, Time: clock(t, now)}
	}
	quota := "no bound"
	if c.Quota > 0 {
		quota = grouped(c.Quota)
	}
	used := fact("Last used", c.LastUsed, "never, as far as is known")
	if !c.LastUsed.IsZero() {
		used.Note = "or some minutes later"
	}
	return []templates.Fact{
		{Term: "Credential", Value: string(c.ID), Mono: true},
		{Term: "Client", Value: string(c.Client)},
		{Term: "Description", Value: c.Description},
		{Term: "May", Value: strings.Join(scopeWords(c.Scopes), "  "), Mono: true},
		{Term: "IDs and numbers an hour", Value: quota},
		fact("Created", c.Created, ""), fact("Secret made", c.Rotated, ""), fact("Secret before works until", c.PreviousUntil, ""), fact("Expires", c.Expires, "never"), fact("Revoked", c.Revoked, ""),
		{Term: "Version", Value: strconv.FormatInt(int64(c.Version), 10)},
		used,
	}
}

// paramOverlap is for how many hours the secret before a rotation still works.
const paramOverlap = "overlap"

// credentialActions are the steps that can be taken with credentials.
func (d *dashboard) credentialActions() []action {
	return []action{
		{
			path: "/new/credential", verb: "credential.create", need: alloc.ActionCredentials, ask: d.askCredential, propose: d.proposeNewCredential,
			carry: func(ctx context.Context, p plan.Plan, _ asked, a alloc.Attempt) (outcome, error) {
				c, err := planned[alloc.CredentialRequest](p)
				if err != nil {
					return outcome{}, err
				}
				c.Intent = a.Intent
				made, secret, err := d.svc.CreateCredential(ctx, c)
				return outcome{Location: credentialAddress(made.ID), Done: "credential-created", secret: string(secret)}, err
			},
		},
		{
			path: "/credentials/{credential}/edit", verb: "credential.change", need: alloc.ActionCredentials, ask: d.askCredential, propose: d.proposeCredentialChange,
			carry: func(ctx context.Context, p plan.Plan, _ asked, _ alloc.Attempt) (outcome, error) {
				c, err := planned[alloc.CredentialRequest](p)
				if err != nil {
					return outcome{}, err
				}
				id := alloc.CredentialID(p.Params["credential"])
				_, err = d.svc.ChangeCredential(ctx, id, p.Version, c)
				return outcome{Location: credentialAddress(id), Done: "credential-changed"}, err
			},
		},
		{
			path: "/credentials/{credential}/rotate", verb: "credential.rotate", need: alloc.ActionCredentials, ask: d.askRotate, propose: d.proposeRotate,
			carry: func(ctx context.Context, p plan.Plan, _ asked, a alloc.Attempt) (outcome, error) {
				id := alloc.CredentialID(p.Params["credential"])
				_, secret, err := d.svc.RotateCredential(ctx, id, p.Version, time.Duration(numberOf(p.Params[paramOverlap]))*time.Hour, a.Intent)
				return outcome{Location: credentialAddress(id), Done: "credential-rotated", secret: string(secret)}, err
			},
		},
		{
			path: "/credentials/{credential}/revoke", verb: "credential.revoke", need: alloc.ActionCredentials, propose: d.proposeRevoke,
			carry: func(ctx context.Context, p plan.Plan, _ asked, _ alloc.Attempt) (outcome, error) {
				id := alloc.CredentialID(p.Params["credential"])
				_, err := d.svc.RevokeCredential(ctx, id, p.Version)
				return outcome{Location: credentialAddress(id), Done: "credential-revoked"}, err
			},
		},
	}
}

func (d *dashboard) askCredential(r *http.Request) (templates.Form, error) {
	f := templates.Form{Title: "Create a credential", Button: "Review credential", Back: "/credentials"}
	var c alloc.Credential
	first := []templates.Field{{
		Kind: templates.FieldText, Name: "client", Label: "Client", Required: true, Hint: "Who uses it: lower-case letters, digits, '.', '_' and '-'. Idempotency-Keys belong to a client.",
	}}
	if id := r.PathValue("credential"); id != "" {
		var err error
		if c, err = d.svc.Credential(r.Context(), alloc.CredentialID(id)); err != nil {
			return templates.Form{}, err
		}
		f.Title, f.Button, f.Back = "Edit the credential of "+string(c.Client), "Review change", credentialAddress(c.ID)
		first = nil
	}
	expires := ""
	if !c.Expires.IsZero() {
		expires = c.Expires.UTC().Format("2006-01-02 15:04")
	}
	f.Groups = []templates.FieldGroup{{Fields: append(first,
		textField("description", "Description", c.Description, ""),
		templates.Field{Kind: templates.FieldLong, Name: "scopes", Label: "Scopes", Required: true, Value: strings.Join(scopeWords(c.Scopes), "\n"), Hint: "One a line, as claim:vouchers-* or read:*."},
		numberField("quota", "IDs and numbers an hour", number0(c.Quota), "No bound where it is empty."),
		textField("expires", "Expires, UTC", expires, "As 2027-01-31 00:00; never where it is empty."),
	)}}
	v := filled(r)
	readCredential(v)
	return v.show(f), nil
}

func readCredential(v *values) alloc.CredentialRequest {
	c := alloc.CredentialRequest{
		Client: alloc.ClientID(v.text("client")), Description: v.text("description"), Quota: alloc.Count(v.number("quota", 0)), Expires: v.moment("expires"),
	}
	for word := range strings.FieldsSeq(v.query.Get("scopes")) {
		s, err := alloc.ParseScope(word)
		if err != nil {
			_, detail := web.Explain(context.Background(), err)
			v.problems["scopes"] = sentence(detail)
			break
		}
		c.Scopes = append(c.Scopes, s)
	}
	if v.sent && len(c.Scopes) == 0 && v.problems["scopes"] == "" {
		v.problems["scopes"] = "Give at least one scope."
	}
	return c
}

// credentialTwin is what the API takes for it. It has the client where that is to be said.
func credentialTwin(c alloc.CredentialRequest) (string, error) {
	m := members{{"client", string(c.Client)}, {"description", c.Description}, {"scopes", scopeWords(c.Scopes)}, {"quota", int64(c.Quota)}}
	if !c.Expires.IsZero() {
		m = append(m, member{"expires_at", c.Expires.UTC().Format(time.RFC3339)})
	}
	return body(m)
}

func (d *dashboard) proposeNewCredential(r *http.Request) (proposal, error) {
	v := filled(r)
	c := readCredential(v)
	if err := v.readable(); err != nil {
		return proposal{}, err
	}
	if err := c.Check(d.now()); err != nil {
		return proposal{}, err
	}
	params, err := toPlan(c)
	if err != nil {
		return proposal{}, err
	}
	text, err := credentialTwin(c)
	return proposal{
		name: "*", target: "credential/new", params: params, title: "Create a credential for " + string(c.Client), button: "Create credential", back: withoutReview(r),
		facts:  changes(nil, credentialFacts(alloc.Credential{Client: c.Client, Description: c.Description, Scopes: c.Scopes, Quota: c.Quota, Expires: c.Expires}, d.now()), true),
		effect: []string{"Its secret is shown once, on the next page, and never again."},
		twin:   call{method: http.MethodPost, path: "/v1/credentials", keyed: true, body: text}.twin(),
	}, err
}

func (d *dashboard) proposeCredentialChange(r *http.Request) (proposal, error) {
	was, p, err := d.onCredential(r)
	if err != nil {
		return proposal{}, err
	}
	v := filled(r)
	c := readCredential(v)
	if err := v.readable(); err != nil {
		return proposal{}, err
	}
	whole := c
	if whole.Client = was.Client; !c.Expires.IsZero() && c.Expires.Equal(was.Expires) {
		whole.Expires = time.Time{} // what stands may be over
	}
	if err := whole.Check(d.now()); err != nil {
		return proposal{}, err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return proposal{}, alloc.Errorf(alloc.CodeInternal, "a credential cannot be planned").Because(err)
	}
	p.params[paramConfig] = string(text)
	after := was
	after.Description, after.Scopes, after.Quota, after.Expires = c.Description, c.Scopes, c.Quota, c.Expires
	changed := changes(credentialFacts(was, d.now()), credentialFacts(after, d.now()), false)
	if len(changed) == 0 {
		return proposal{}, nothingChanged()
	}
	p.title, p.button, p.back = "Change the credential of "+string(was.Client), "Change credential", withoutReview(r)
	p.facts = append([]templates.Fact{{Term: "Credential", Value: string(was.ID), Mono: true}, {Term: "Client", Value: string(was.Client)}}, changed...)
	p.effect = []string{"It takes effect in every environment within a minute."}
	twin, err := credentialTwin(c)
	p.twin = call{method: http.MethodPut, path: "/v1" + credentialAddress(was.ID), version: was.Version, keyed: true, body: twin}.twin()
	return p, err
}

// onCredential is the credential of the page's address, and the beginning of a proposal about it.
func (d *dashboard) onCredential(r *http.Request) (alloc.Credential, proposal, error) {
	c, err := d.svc.Credential(r.Context(), alloc.CredentialID(r.PathValue("credential")))
	return c, proposal{
		name: "*", target: "credential/" + string(c.ID), version: c.Version, back: credentialAddress(c.ID), facts: credentialFacts(c, d.now()), params: map[string]string{"credential": string(c.ID)},
	}, err
}

func (d *dashboard) askRotate(r *http.Request) (templates.Form, error) {
	c, err := d.svc.Credential(r.Context(), alloc.CredentialID(r.PathValue("credential")))
	if err != nil {
		return templates.Form{}, err
	}
	v := filled(r)
	if n := v.number(paramOverlap, 0); time.Duration(n) > alloc.MaxOverlap/time.Hour {
		v.problems[paramOverlap] = "At most " + strconv.Itoa(int(alloc.MaxOverlap.Hours())) + " hours."
	}
	return v.show(templates.Form{
		Title: "Rotate the secret of " + string(c.Client), Button: "Review", Back: credentialAddress(c.ID),
		Groups: []templates.FieldGroup{{Fields: []templates.Field{
			numberField(paramOverlap, "Hours for which the secret of now still works", strconv.Itoa(int(alloc.DefaultOverlap.Hours())), "0 where somebody else may know it."),
		}}},
	}), nil
}

func (d *dashboard) proposeRotate(r *http.Request) (proposal, error) {
	c, p, err := d.onCredential(r)
	if err != nil {
		return proposal{}, err
	}
	hours := filled(r).number(paramOverlap, 0)
	p.params[paramOverlap] = strconv.FormatInt(hours, 10)
	p.title, p.button, p.back = "Rotate the secret of "+string(c.Client), "Rotate secret", withoutReview(r)
	p.effect = []string{"A new secret is made. It is shown once, on the next page, and never again."}
	if hours > 0 {
		p.effect = append(p.effect, "The secret of now works for "+strconv.FormatInt(hours, 10)+" hours more.")
	} else {
		p.effect = append(p.effect, "The secret of now ends at once: whoever uses it is cut off.")
	}
	if now := d.now(); now.Before(c.PreviousUntil) { // somebody may still use it, who has not been given the one of now
		p.danger, p.typed = true, string(c.Client)
		p.effect = append(p.effect, "The secret before, which was replaced "+exactly(c.Rotated)+" and would work until "+exactly(c.PreviousUntil)+
			", ends at once: every client that has not been given the secret of now is cut off. To cut nobody off, wait until then.")
	}
	text, err := json.Marshal(map[string]int64{"overlap": hours * 3600})
	p.twin = call{method: http.MethodPost, path: "/v1" + credentialAddress(c.ID) + "/rotate", version: c.Version, keyed: true, body: string(text)}.twin()
	return p, err
}

// exactly is a time in a sentence that must not be read in two ways.
func exactly(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func (d *dashboard) proposeRevoke(r *http.Request) (proposal, error) {
	c, p, err := d.onCredential(r)
	if err != nil {
		return proposal{}, err
	}
	p.title, p.button, p.danger, p.reason, p.typed = "Revoke the credential of "+string(c.Client), "Revoke credential", true, true, string(c.Client)
	p.effect = []string{"Nobody gets in with it any more, within a minute everywhere. This cannot be undone.", "What was claimed with it stays as it is."}
	p.twin = call{method: http.MethodPost, path: "/v1" + credentialAddress(c.ID) + "/revoke", version: c.Version, keyed: true}.twin()
	return p, nil
}
