package base_test

import (
	"strings"
	"testing"

	"idpool/functions/internal/base"
	"idpool/web"
)

const token = "a-token-of-the-tests"

func TestRead(t *testing.T) {
	good := map[string]string{"IDPOOL_TABLE": "idpool", "IDPOOL_TOKEN_HASH": web.TokenHash(token)}
	tests := []struct {
		name   string
		change map[string]string
		faults []string // a part of each; none for good settings
	}{
		{"the service itself", nil, nil},
		{"another server", map[string]string{"IDPOOL_DYNAMODB_ENDPOINT": "http://127.0.0.1:8000"}, nil},
		{"no credential", map[string]string{"IDPOOL_TOKEN_HASH": ""}, []string{"IDPOOL_TOKEN_HASH is required"}},
		{"the token in place of its hash", map[string]string{"IDPOOL_TOKEN_HASH": token}, []string{"IDPOOL_TOKEN_HASH is required"}},
		{"the hash of nothing", map[string]string{"IDPOOL_TOKEN_HASH": web.TokenHash("")}, []string{"IDPOOL_TOKEN_HASH is required"}},
		{"no table", map[string]string{"IDPOOL_TABLE": ""}, []string{"IDPOOL_TABLE must"}},
		{"an endpoint without scheme", map[string]string{"IDPOOL_DYNAMODB_ENDPOINT": "localhost:8000"}, []string{"IDPOOL_DYNAMODB_ENDPOINT must"}},
		{
			"everything wrong is told together",
			map[string]string{"IDPOOL_TABLE": "a b", "IDPOOL_DYNAMODB_ENDPOINT": "x", "IDPOOL_TOKEN_HASH": "y"},
			[]string{"IDPOOL_TABLE must", "IDPOOL_DYNAMODB_ENDPOINT must", "IDPOOL_TOKEN_HASH is required"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := base.Read(func(name string) (string, bool) {
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
				if _, err := s.Verify(t.Context(), token); err != nil {
					t.Errorf("the credential is not known: %v", err)
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
			if strings.Contains(err.Error(), token) {
				t.Errorf("the fault shows the token: %q", err)
			}
		})
	}
}
