package alloc

import "strings"

// String writes a scope as people write it: "claim:vouchers-*".
func (s Scope) String() string { return string(s.Action) + ":" + s.Pattern }

// ParseScope reads what String has written, and checks it: CodeInvalidRequest.
func ParseScope(text string) (Scope, error) {
	action, pattern, ok := strings.Cut(text, ":")
	if !ok {
		return Scope{}, Errorf(CodeInvalidRequest, "the scope %s must be an action, ':' and a pattern, as in claim:vouchers-*", quoteShort(text))
	}
	s := Scope{Action: Action(action), Pattern: pattern}
	return s, s.Check()
}
