package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"idpool/alloc"
)

func keyOf(t *testing.T, values ...string) (string, error) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	r.Header[http.CanonicalHeaderKey(keyHeader)] = values
	return IdempotencyKey(r)
}

// K01, K02, K03, C48.
func TestIdempotencyKey(t *testing.T) {
	long := strings.Repeat("k", alloc.MaxKeyBytes)
	tests := map[string]struct {
		values []string
		want   string
		bad    bool
	}{
		"none":                                 {values: nil, want: ""},
		"quoted":                               {values: []string{`"abc"`}, want: "abc"},
		"bare is the same":                     {values: []string{"abc"}, want: "abc"},
		"space around it does not count":       {values: []string{" \t\"abc\" "}, want: "abc"},
		"one character":                        {values: []string{"k"}, want: "k"},
		"a comma in quotes survives":           {values: []string{`"a,b"`}, want: "a,b"},
		"an escaped quote and backslash":       {values: []string{`"a\"b\\c"`}, want: `a"b\c`},
		"a bare backslash is itself":           {values: []string{`a\b`}, want: `a\b`},
		"inner spaces":                         {values: []string{"a b"}, want: "a b"},
		"spaces in quotes":                     {values: []string{`" a "`}, want: " a "},
		"255 bytes":                            {values: []string{long}, want: long},
		"255 bytes in quotes":                  {values: []string{`"` + long + `"`}, want: long},
		"256 bytes":                            {values: []string{long + "k"}, bad: true},
		"256 bytes in quotes":                  {values: []string{`"` + long + `k"`}, bad: true},
		"empty":                                {values: []string{""}, bad: true},
		"blank":                                {values: []string{"  "}, bad: true},
		"empty quotes":                         {values: []string{`""`}, bad: true},
		"a quote that does not close":          {values: []string{`"abc`}, bad: true},
		"a quote that does not open":           {values: []string{`abc"`}, bad: true},
		"a quote alone":                        {values: []string{`"`}, bad: true},
		"a backslash before the end":           {values: []string{`"abc\`}, bad: true},
		"an escape that there is not":          {values: []string{`"a\nb"`}, bad: true},
		"two quoted keys in one line":          {values: []string{`"a", "b"`}, bad: true},
		"two bare keys, as a proxy joins them": {values: []string{"a, b"}, bad: true},
		"parameters":                           {values: []string{`"a";x=1`}, bad: true},
		"two lines":                            {values: []string{"a", "b"}, bad: true},
		"the same in two lines":                {values: []string{"a", "a"}, bad: true},
		"a letter beyond ASCII":                {values: []string{"é"}, bad: true},
		"a letter beyond ASCII in quotes":      {values: []string{`"é"`}, bad: true},
		"a control character":                  {values: []string{"a\x01b"}, bad: true},
		"a tab in quotes":                      {values: []string{"\"a\tb\""}, bad: true},
		"a byte that is not UTF-8":             {values: []string{"a\xff"}, bad: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := keyOf(t, tt.values...)
			if tt.bad {
				if !alloc.Is(err, alloc.CodeInvalidKey) {
					t.Fatalf("got %q, %v; want invalid_key", got, err)
				}
				return
			}
			if got != tt.want || err != nil {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{"abc", `"abc"`, `"a\"b"`, `"a,b"`, `"`, `a"`, "a,b", " ", `"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := keyOf(t, s)
		if err != nil {
			if !alloc.Is(err, alloc.CodeInvalidKey) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if err := alloc.CheckKey(key); err != nil {
			t.Fatalf("%q gave the key %q: %v", s, key, err)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := keyOf(t, quoted); err != nil || again != key {
			t.Fatalf("%q gave %q; quoted as %q it gives %q, %v", s, key, quoted, again, err)
		}
	})
}
