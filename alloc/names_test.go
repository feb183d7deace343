package alloc_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"idpool/alloc"
)

var nameRule = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,127}$`)

// C51
func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "0", "vouchers", "team-a.orders_2026", "a..b", "a" + strings.Repeat("-", 127)} {
		if err := alloc.CheckName(name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for _, name := range []string{
		"", ".", "..", "-a", "_a", "A", "Vouchers", "a/b", "a#b", "a%2Fb", "a b", " a", "a ", "a\n", "a\x00", "é", "e\u0301", "订单", "🎫",
		"a" + strings.Repeat("b", 128), "ａ",
	} {
		e := wantCode(t, alloc.CheckName(name), alloc.CodeInvalidName)
		if !utf8.ValidString(e.Message) || len(e.Message) > 400 {
			t.Errorf("the message for %q cannot be shown: %q", name, e.Message)
		}
	}
}

func FuzzCheckName(f *testing.F) {
	for _, s := range []string{"a", "", "a/b", "é", "\xff", "a\n", strings.Repeat("x", 129)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		err := alloc.CheckName(name)
		if (err == nil) != (nameRule.MatchString(name) && !strings.HasSuffix(name, "\n")) {
			t.Errorf("%q: got %v, the rule is %v", name, err, nameRule)
		}
		if err != nil {
			wantSafe(t, wantCode(t, err, alloc.CodeInvalidName))
		}
	})
}

// wantSafe holds a message against what every client may be shown: one line of bounded length that can be printed.
func wantSafe(t *testing.T, e *alloc.Error) {
	t.Helper()
	if len(e.Message) > 600 || !utf8.ValidString(e.Message) || strings.ContainsFunc(e.Message, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("the message is not fit to be shown: %q", e.Message)
	}
}

func TestCheckID(t *testing.T) {
	for _, id := range []string{
		"A", "B5UL-C3VL-NBF8", `a"b,c;d`, "a b", "#/%2F..", "é", "订单-1", "🎫", "नमस्ते", strings.Repeat("x", 256), strings.Repeat("é", 128),
	} {
		if err := alloc.CheckID(id); err != nil {
			t.Errorf("%q is refused: %v", id, err)
		}
	}
	for _, c := range []struct{ id, why string }{
		{"", "empty"},
		{strings.Repeat("x", 257), "longer than 256 bytes"},
		{strings.Repeat("é", 128) + "x", "longer than 256 bytes"},
		{"a\xff", "not valid UTF-8"},
		{"\xed\xa0\x80", "not valid UTF-8"}, // a surrogate
		{" a", "white space"},
		{"a\t", "white space"},
		{"a\u00a0", "white space"},
		{"e\u0301", "normal form C"},
		{"\u212b", "normal form C"}, // the sign of the angstrom, which is Å
		{"a\x00b", "cannot be seen, U+0000"},
		{"a\tb", "cannot be seen, U+0009"},
		{"a\nb", "cannot be seen, U+000A"},
		{"a\x7fb", "cannot be seen, U+007F"},
		{"a\u0085b", "cannot be seen, U+0085"},
		{"a\u00a0b", "cannot be seen, U+00A0"}, // no-break space
		{"a\u00adb", "cannot be seen, U+00AD"}, // soft hyphen
		{"a\u200bb", "cannot be seen, U+200B"}, // zero-width space
		{"a\u200db", "cannot be seen, U+200D"}, // joiner
		{"a\u202eb", "cannot be seen, U+202E"}, // right-to-left override
		{"a\u2028b", "cannot be seen, U+2028"}, // line separator
		{"a\u2066b", "cannot be seen, U+2066"}, // isolate
		{"\ufeffa", "cannot be seen, U+FEFF"},  // byte order mark
		{"a\u3164b", "cannot be seen, U+3164"}, // a letter that shows nothing
		{"a\ufe0f", "cannot be seen, U+FE0F"},  // variation selector
		{"a\ue000", "cannot be seen, U+E000"},  // private use
		{"a\u0378", "cannot be seen, U+0378"},  // not assigned
		{"a\ufffdb", "lost when the text was converted"},
	} {
		e := wantCode(t, alloc.CheckID(c.id), alloc.CodeInvalidID)
		if !strings.Contains(e.Message, c.why) {
			t.Errorf("%q is refused because %q, want %q", c.id, e.Message, c.why)
		}
	}
}

func TestCleanID(t *testing.T) {
	for _, c := range []struct {
		raw  string
		fold bool
		want alloc.ID
	}{
		{"  A b\t\r\n", false, "A b"},
		{"\u00a0A\u3000", false, "A"},
		{"e\u0301", false, "é"},
		{"E\u0301", true, "é"},
		{"\u212aELVIN", true, "kelvin"}, // the sign of the kelvin
		{"İ", true, "i"},
		{strings.Repeat("e\u0301", 128), false, alloc.ID(strings.Repeat("é", 128))}, // 384 bytes before, 256 after
	} {
		got, err := alloc.CleanID(c.raw, c.fold)
		if err != nil || got != c.want {
			t.Errorf("CleanID(%q, %t) = %q, %v; want %q", c.raw, c.fold, got, err, c.want)
		}
	}
	for _, raw := range []string{"", " \t ", "a\x00", "\xff", strings.Repeat("x", 257), strings.Repeat("x", 1<<20)} {
		_, err := alloc.CleanID(raw, true)
		wantSafe(t, wantCode(t, err, alloc.CodeInvalidID))
	}
}

// Of every character that can be printed: lower case is stable, so that a folded ID folds to itself.
func TestCleanIDIsStableForEveryPrintableCharacter(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.IsPrint(r) {
			continue
		}
		for _, fold := range []bool{false, true} {
			id, err := alloc.CleanID(string(r), fold)
			if err != nil {
				continue
			}
			if again, err := alloc.CleanID(string(id), fold); err != nil || again != id {
				t.Errorf("%U becomes %q and then %q, %v", r, id, again, err)
			}
		}
	}
}

func FuzzCleanID(f *testing.F) {
	for _, s := range []string{" a ", "É", "e\u0301\u0323", "\xff", "\u202e", "Ⱥ", "\u0344", strings.Repeat("\u0301", 40), "ǅ", "ΑΣ"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, raw string, fold bool) {
		id, err := alloc.CleanID(raw, fold)
		if err != nil {
			wantSafe(t, wantCode(t, err, alloc.CodeInvalidID))
			if !fold && alloc.CheckID(raw) == nil {
				t.Errorf("CleanID refuses %q, which is an ID: %v", raw, err)
			}
			return
		}
		if err := alloc.CheckID(string(id)); err != nil {
			t.Errorf("CleanID(%q) gives %q, which is no ID: %v", raw, id, err)
		}
		if again, err := alloc.CleanID(string(id), fold); err != nil || again != id {
			t.Errorf("CleanID(%q) gives %q and of that %q, %v", raw, id, again, err)
		}
		if !fold && norm.NFC.String(strings.TrimSpace(raw)) != string(id) {
			t.Errorf("CleanID(%q) gives %q: more has changed than the form", raw, id)
		}
	})
}

func FuzzCheckKey(f *testing.F) {
	for _, s := range []string{"", "k", "a,b", "\x7f", "\x1f", "é", " ", strings.Repeat("k", 255), strings.Repeat("k", 256)} {
		f.Add(s)
	}
	rule := regexp.MustCompile(`^[ -~]{1,255}$`)
	f.Fuzz(func(t *testing.T, key string) {
		err := alloc.CheckKey(key)
		if (err == nil) != (rule.MatchString(key) && !strings.HasSuffix(key, "\n")) {
			t.Errorf("%q: got %v, the rule is %v", key, err, rule)
		}
		if err != nil {
			wantSafe(t, wantCode(t, err, alloc.CodeInvalidKey))
		}
	})
}

// K05, K07: what differs in client, operation, resource or key is another key; parts never run into each other.
func TestNewKey(t *testing.T) {
	hashes := map[string]bool{}
	for _, p := range [][4]string{
		{"c", "claim", "pool/a", "k"},
		{"d", "claim", "pool/a", "k"},
		{"c", "next", "pool/a", "k"},
		{"c", "claim", "pool/b", "k"},
		{"c", "claim", "pool/a", "l"},
		{"cc", "laim", "pool/a", "k"},
		{"", "cclaim", "pool/a", "k"},
		{"c", "claim", "pool/ak", ""},
		{"c", "claim", "1:p", "ool/ak"},
	} {
		k := alloc.NewKey(alloc.ClientID(p[0]), p[1], p[2], p[3], "f")
		if len(k.Hash) != 43 || len(k.Fingerprint) != 43 || hashes[k.Hash] {
			t.Errorf("%q: hash %q, fingerprint %q; want 43 characters each, and no hash twice", p, k.Hash, k.Fingerprint)
		}
		hashes[k.Hash] = true
	}
	a, b := alloc.NewKey("c", "o", "r", "k", "x", "y"), alloc.NewKey("c", "o", "r", "k", "xy", "")
	if a.Hash != b.Hash || a.Fingerprint == b.Fingerprint {
		t.Errorf("another request with the same key: %+v and %+v, want one hash and two fingerprints", a, b)
	}
}
