package alloc_test

import (
	"testing"

	"idpool/alloc"
)

func TestParseScope(t *testing.T) {
	for _, text := range []string{"claim:vouchers-*", "read:*", "*:*", "seed:vouchers", "credentials:*"} {
		s, err := alloc.ParseScope(text)
		if err != nil || s.String() != text {
			t.Errorf("ParseScope(%q): got %q and %v, want the same text and no error", text, s, err)
		}
	}
	for _, text := range []string{"", "claim", ":", "claim:", ":*", "steal:*", "claim:A", "claim:**", "claim:*x", "claim:a:b", " claim:*"} {
		if s, err := alloc.ParseScope(text); !alloc.Is(err, alloc.CodeInvalidRequest) {
			t.Errorf("ParseScope(%q): got %q and %v, want invalid_request", text, s, err)
		}
	}
}
