package alloc_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"idpool/alloc"
)

func TestSecretsAreOfTheirForm(t *testing.T) {
	form := regexp.MustCompile(`^idpool_[a-z2-7]{12}_[a-z2-7]{39}$`)
	seen := map[alloc.Secret]bool{}
	for range 1000 {
		id := alloc.NewCredentialID("")
		s := alloc.NewSecret(id)
		if got, ok := s.Credential(); !form.MatchString(string(s)) || !ok || got != id || seen[s] {
			t.Fatalf("the secret %s has the ID %q, %t; want %q, and never twice", string(s), got, ok, id)
		}
		seen[s] = true
	}
}

// The checksum is stated, so that scanners can do without this package.
func TestSecretChecksum(t *testing.T) {
	s := string(alloc.NewSecret("aaaabbbbcccc"))
	body, check := s[:len(s)-7], s[len(s)-7:]
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
	sum, want := crc32.ChecksumIEEE([]byte(body)), ""
	for shift := 30; shift >= 0; shift -= 5 {
		want += string(alphabet[uint64(sum)>>shift&31])
	}
	if check != want {
		t.Errorf("the checksum of %s is %s, want %s", body, check, want)
	}
}

func TestWhatIsNoSecret(t *testing.T) {
	s := string(alloc.NewSecret("aaaabbbbcccc"))
	bad := []string{
		"", "idpool_", s + "a", s[1:], s[:len(s)-1], " " + s[1:], strings.ToUpper(s), strings.Replace(s, "_", "-", 1),
		strings.Replace(s, "idpool", "idpoll", 1), strings.Repeat("x", 59), strings.Repeat("é", 30),
	}
	for i := range s { // every single character is checked
		for _, c := range []byte{'a', '7', '1', 'A', 0, 0xff} {
			if s[i] != c {
				bad = append(bad, s[:i]+string(rune(c))+s[i+1:])
			}
		}
	}
	for i := 1; i < len(s); i++ { // as are two that changed places
		if s[i] != s[i-1] {
			bad = append(bad, s[:i-1]+s[i:i+1]+s[i-1:i]+s[i+1:])
		}
	}
	for _, text := range bad {
		if id, ok := alloc.Secret(text).Credential(); ok {
			t.Errorf("%q is taken for a secret of %q", text, id)
		}
	}
}

func TestSecretsDoNotShowThemselves(t *testing.T) {
	s := alloc.NewSecret("aaaabbbbcccc")
	type in struct {
		S alloc.Secret
		P *alloc.Secret
		M map[string]alloc.Secret
	}
	whole := in{s, &s, map[string]alloc.Secret{"s": s}}
	var log strings.Builder
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("m", "s", s, "in", whole, "list", []alloc.Secret{s})
	}
	encoded, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{"slog": log.String(), "json": string(encoded), "String": s.String(), "error": fmt.Errorf("bad: %v", s).Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%10.3s"} {
		shown[verb] = fmt.Sprintf(verb, s) + fmt.Sprintf(verb, whole) + fmt.Sprintf(verb, []alloc.Secret{s})
	}
	for how, text := range shown {
		if strings.Contains(text, string(s)[20:40]) || strings.Contains(text, fmt.Sprintf("%x", string(s)[20:40])) {
			t.Errorf("%s shows the secret: %s", how, text)
		}
		if !strings.Contains(text, "idpool_aaaabbbbcccc_…") {
			t.Errorf("%s should show whose it is: %s", how, text)
		}
	}
	if got := alloc.Secret("hunter2").String(); got != "idpool_…" {
		t.Errorf("what is no secret is shown as %q", got)
	}
}

func FuzzSecret(f *testing.F) {
	f.Add(string(alloc.NewSecret("aaaabbbbcccc")))
	f.Add("idpool_aaaabbbbcccc_")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		s := alloc.Secret(text)
		id, ok := s.Credential()
		if shown := s.String(); ok && (len(id) != 12 || shown != "idpool_"+string(id)+"_…") || !ok && (id != "" || shown != "idpool_…") {
			t.Errorf("%q has the ID %q, %t, and is shown as %q", text, id, ok, shown)
		}
	})
}
