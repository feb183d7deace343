package templates

// Form is a page with fields. It is sent by GET, so that its values stand in the address and nothing is lost on the way back.
type Form struct {
	Frame   Frame
	Title   string
	Path    string
	Intro   string // a sentence; "" for none
	Problem string // what is wrong with what was filled in; "" for nothing
	Groups  []FieldGroup
	Hidden  []Fact // name and value
	Button  string
	Back    string
}

// FieldGroup is some fields under one heading.
type FieldGroup struct {
	Title, Hint string
	Fields      []Field
	Parts       []FieldGroup // that are unfolded one by one, each by its title
	Open        bool         // as a part it is unfolded
}

// FieldKind is how a field is filled in.
type FieldKind string

// The kinds.
const (
	FieldText   FieldKind = "text"
	FieldNumber FieldKind = "number"
	FieldLong   FieldKind = "long" // several lines
	FieldChoice FieldKind = "choice"
	FieldCheck  FieldKind = "check"
	FieldTime   FieldKind = "time"
	FieldFile   FieldKind = "file"
)

// Field is one field of a form.
type Field struct {
	Kind     FieldKind
	Name     string
	Label    string
	Hint     string
	Value    string // of FieldCheck the value that it has when it is on
	Checked  bool
	Required bool
	Fixed    bool // it is shown and cannot be changed
	Options  []Option
	Problem  string
}

// Option is one of a choice.
type Option struct {
	Value, Text string
	Selected    bool
}

// Fact is a term with what it is.
type Fact struct {
	Term  string
	Value string
	Mono  bool // it is an ID, or a number to be read digit by digit
	Href  string
	Time  Time // shown in place of Value where it has Machine
	Note  string
}

// Call is the request to the API that does the same as a page.
type Call struct {
	Text string // for a shell; "" for none
}

// ConfirmPage says what will happen, and asks for a confirmation.
type ConfirmPage struct {
	Frame      Frame
	Path       string
	Plan       string // sealed
	Danger     bool
	Button     string
	Facts      []Fact
	Evidence   *EvidencePanel // what speaks for it, or against; nil for nothing
	Effects    []string
	Typed      string // what has to be typed; "" for nothing
	NeedReason bool
	Unrecorded bool   // no reason is asked for
	Reason     string // that was given before
	Problem    string
	Twin       Call
	Back       string
	ReadOnly   bool
}
