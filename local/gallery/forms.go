package gallery

import (
	"github.com/a-h/templ"

	"idpool/templates"
)

func form(s sample) templ.Component {
	f := templates.Form{
		Frame: s.frame("Create pool"), Title: "Create pool", Path: Prefix, Intro: s.text("A pool holds ready-made IDs."), Button: "Review pool", Back: Prefix,
		Groups: []templates.FieldGroup{{Fields: []templates.Field{
			{Kind: templates.FieldText, Name: "name", Label: "Name", Required: true, Hint: "Small letters, digits, dots and dashes."},
			{Kind: templates.FieldLong, Name: "description", Label: "Description"},
		}}, {Title: "Generator", Hint: s.text("How IDs are made."), Fields: []templates.Field{
			{Kind: templates.FieldChoice, Name: "kind", Label: "Kind", Options: []templates.Option{{Value: "", Text: "none"}, {Value: "random", Text: s.text("random"), Selected: true}}},
			{Kind: templates.FieldNumber, Name: "length", Label: "Length", Value: s.number("12"), Hint: "1 to 64"},
			{Kind: templates.FieldCheck, Name: "fold", Label: "Upper and lower case are one", Value: "yes", Checked: true},
			{Kind: templates.FieldText, Name: "policy", Label: "Policy", Value: "keep", Fixed: true, Hint: "It cannot be changed."},
			{Kind: templates.FieldFile, Name: "file", Label: "File"},
		}, Parts: []templates.FieldGroup{
			{Title: s.text("Random characters"), Open: s.state == Many, Fields: []templates.Field{
				{Kind: templates.FieldNumber, Name: "group", Label: "Characters in a group"}, {Kind: templates.FieldText, Name: "prefix", Label: "Prefix"},
			}},
			{Title: "Numbers of a sequence", Hint: s.text("In a format."), Fields: []templates.Field{{Kind: templates.FieldText, Name: "format", Label: "Format"}}},
		}}},
	}
	if s.state == Empty {
		return templates.FormPage(f)
	}
	name := &f.Groups[0].Fields[0]
	name.Value, f.Groups[0].Fields[1].Value = s.name("voucher-spring", 1), s.text("text codes")
	if s.state == Error {
		f.Problem, name.Value, name.Problem = "One field has to be put right.", "Voucher Spring", "A name has no spaces and no capitals."
	}
	return templates.FormPage(f)
}

func confirm(s sample) templ.Component {
	name := s.name("voucher-spring", 1)
	p := templates.ConfirmPage{
		Frame: s.frame("Delete pool " + name), Path: Prefix, Plan: "sealed", Danger: s.state != ReadOnly, Button: "Delete pool", Facts: s.facts(),
		Effects: []string{s.text("12,000 IDs are forgotten."), "Its name is never used again."}, Typed: name, NeedReason: true, Back: Prefix,
		Twin:     templates.Call{Text: "curl -X DELETE \"$IDPOOL/v1/pools/" + name + "\" \\\n  -H \"Authorization: Bearer $TOKEN\""},
		ReadOnly: s.state == ReadOnly,
	}
	if s.state == Error {
		p.Problem = "The pool was changed meanwhile: look at the plan again."
	}
	return templates.Confirm(p)
}

func help(s sample) templ.Component {
	return templates.Help(templates.HelpPage{
		Frame: s.frame("Help"), Keys: []templates.Fact{{Term: "/", Value: "find"}, {Term: "g p", Value: "pools"}}, Words: s.facts(),
	})
}

func message(s sample) templ.Component {
	return templates.Error(templates.ErrorPage{
		Frame: s.frame("Not found"), Heading: "Not found", Message: s.text("There is no page at this address."), RequestID: "01JDR4T2M0H6W8",
	})
}

// nobody is the frame where nobody is signed in.
func (s sample) nobody(title string) templates.Frame {
	f := s.frame(title)
	f.Nav, f.Who, f.SignOut = nil, "", false
	return f
}

func signIn(s sample) templ.Component {
	return templates.SignIn(templates.SignInPage{
		Ended: s.state == Many, To: "/pools",
		Frame: s.nobody("Sign in"), Issuer: templates.Link{Text: "Sign in with example.com", Href: Prefix}, New: Prefix, Printed: s.state == Error,
	})
}

func once(s sample) templ.Component {
	return templates.Once(templates.OncePage{Frame: s.nobody("Sign in"), Path: Prefix, Code: "ABC"})
}

func signedOut(s sample) templ.Component {
	return templates.SignedOut(templates.SignedOutPage{Frame: s.nobody("Signed out"), Again: Prefix, Leave: templates.Link{Text: "Leave example.com", Href: Prefix}})
}

func credential(s sample) templ.Component {
	return templates.Credential(templates.CredentialPage{
		Trail: s.trailPart(),
		Frame: s.frame(s.name("shop-eu", 1)), State: of(0, tones...), Facts: s.facts(), Buttons: s.buttons("Edit credential", "Rotate secret", "Revoke credential"),
	})
}

func secret(s sample) templ.Component {
	return templates.Secret(templates.SecretPage{
		Frame: s.frame("Secret of " + s.name("shop-eu", 1)), Said: "The credential was created.", Secret: "idp_" + s.name("0123456789abcdef", 1),
		Next: templates.Link{Text: "Go to the credential", Href: Prefix},
	})
}

func find(s sample) templ.Component {
	p := templates.FindPage{Frame: s.frame("Find"), Text: s.id(1), Failure: s.failure()}
	switch s.state {
	case Empty:
		p.Text = ""
	case Error:
	default:
		p.Found, p.Note = s.facts(), "Only the first 50 pools were asked for an ID."
	}
	return templates.Find(p)
}
