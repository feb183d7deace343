package base_test

import (
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/functions/internal/base"
	"idpool/web"
)

const token = "a-token-of-the-tests"

func TestRead(t *testing.T) {
	good := map[string]string{"IDPOOL_TABLE": "idpool"}
	tests := []struct {
		name   string
		change map[string]string
		faults []string // a part of each; none for good settings
	}{
		{"the service itself", nil, nil},
		{"another server", map[string]string{"IDPOOL_DYNAMODB_ENDPOINT": "http://127.0.0.1:8000"}, nil},
		{"a table from before a restore", map[string]string{"IDPOOL_OLD_TABLE": "idpool-old"}, nil},
		{"the same table as the one from before a restore", map[string]string{"IDPOOL_OLD_TABLE": "idpool"}, []string{"IDPOOL_OLD_TABLE must"}},
		{"an old table that none can have as its name", map[string]string{"IDPOOL_OLD_TABLE": "a b"}, []string{"IDPOOL_OLD_TABLE must"}},
		{"no table", map[string]string{"IDPOOL_TABLE": ""}, []string{"IDPOOL_TABLE must"}},
		{"an endpoint without scheme", map[string]string{"IDPOOL_DYNAMODB_ENDPOINT": "localhost:8000"}, []string{"IDPOOL_DYNAMODB_ENDPOINT must"}},
		{
			"everything wrong is told together",
			map[string]string{"IDPOOL_TABLE": "a b", "IDPOOL_DYNAMODB_ENDPOINT": "x"},
			[]string{"IDPOOL_TABLE must", "IDPOOL_DYNAMODB_ENDPOINT must"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := base.Read(func(name string) (string, bool) {
				if v, ok := tt.change[name]; ok {
					return v, true
				}
				v, ok := good[name]
				return v, ok
			})
			if len(tt.faults) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("no fault was found")
			}
			for _, f := range tt.faults {
				if !strings.Contains(err.Error(), f) {
					t.Errorf("faults %q, want %q among them", err, f)
				}
			}
		})
	}
}

func TestVerifier(t *testing.T) {
	svc, err := alloc.NewService(alloc.Config{Store: alloctest.NewModel(nil)})
	if err != nil {
		t.Fatal(err)
	}
	f := base.Function{Service: svc}
	verifier := func(hash string) (web.Verifier, error) {
		return f.Verifier(func(string) (string, bool) { return hash, hash != "" }, "IDPOOL_TOKEN_HASH")
	}
	for name, hash := range map[string]string{"the token in place of its hash": token, "the hash of nothing": web.TokenHash("")} {
		if _, err := verifier(hash); err == nil || !strings.Contains(err.Error(), "IDPOOL_TOKEN_HASH") || strings.Contains(err.Error(), token) {
			t.Errorf("%s: got %v, want an error that names the variable and shows no token", name, err)
		}
	}
	for name, c := range map[string]struct {
		hash string
		want alloc.Code
	}{
		"a bootstrap token": {web.TokenHash(token), ""},
		"none":              {"", alloc.CodeUnauthenticated},
		"another":           {web.TokenHash("another"), alloc.CodeUnauthenticated},
	} {
		verify, err := verifier(c.hash)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verify(t.Context(), token); alloc.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
