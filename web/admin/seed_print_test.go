package admin

import (
	"net/http"
	"testing"
)

// Another file sent with the form of before is another file: it is checked, or refused; never answered with the check of the first.
func TestAnotherFileIsNotAnsweredWithTheCheckOfTheFirst(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	const path = "/pools/pool-000/seed"
	fields := map[string]string{"plan": s.planOf(path), "format": "text"}
	first := s.upload(path, fields, "WRONG-1\nWRONG-2\n")
	second := s.upload(path, fields, "RIGHT-1\n")
	if second.Code == http.StatusSeeOther && second.Header().Get("Location") == first.Header().Get("Location") {
		t.Errorf("RIGHT-1 was sent, and the answer is the check of WRONG-1: %s", second.Header().Get("Location"))
	}
}
