package templates

// SignInPage is the page of the sign-in.
type SignInPage struct {
	Frame   Frame
	Issuer  Link   // where people sign in; without an address there is none
	New     string // where a form asks for an address of one use in the terminal; "" where there are none
	Printed bool   // one was just printed
	Ended   bool   // there was a session
	To      string // where to go after the sign-in
}

// OncePage is the page behind an address of one use.
type OncePage struct {
	Frame Frame
	Path  string
	Code  string
	To    string // where to go after the sign-in
}

// SignedOutPage is the page after a session's end.
type SignedOutPage struct {
	Frame Frame
	Again string
	Leave Link // ends the session with the issuer; without an address it has no such thing
}
