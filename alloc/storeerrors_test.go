package alloc

import (
	"strings"
	"testing"
)

func TestErrorsOfEveryStoreSayWhatToDo(t *testing.T) {
	if e := VersionMismatch("pool", "p", 3); e.Current != 3 || !strings.Contains(e.Message, `the pool "p" was changed since: it is at version 3 now`) {
		t.Errorf("%+v", e)
	}
	for _, end := range []string{"released", "retired", "hold has ended"} {
		if !strings.Contains(KeyEnded().Message, end) {
			t.Errorf("%q does not name what may have happened: %s", KeyEnded().Message, end)
		}
	}
	long := JobID(strings.Repeat("J", 300))
	if e := JobNotFound(long); !strings.Contains(e.Message, "older than 7 days") || len(e.Message) > 200 {
		t.Errorf("%q", e.Message)
	}
	if e := CredentialNotFound(CredentialID(long)); e.Code != CodeCredentialNotFound || !strings.Contains(e.Message, "list them") || len(e.Message) > 200 {
		t.Errorf("%q", e.Message)
	}
	if e := KeyMismatch(); e.Code != CodeKeyMismatch || !strings.Contains(e.Message, "use a new key") {
		t.Errorf("%+v", e)
	}
}
