package generator_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// Pools take the IDs as they are: see alloc.CheckID.

// anyConfig draws what is allowed of each kind, random ones of any size.
func anyConfig() *rapid.Generator[generator.Config] {
	sized := rapid.Custom(func(t *rapid.T) generator.Config {
		c := generator.Config{Kind: generator.Random, Length: rapid.IntRange(2, 64).Draw(t, "length")}
		c.CheckChar = rapid.SampledFrom([]generator.CheckKind{
			generator.CheckNone, generator.CheckLuhn, generator.CheckDamm, generator.CheckMod3736,
		}).Draw(t, "check")
		c.Alphabet = rapid.SampledFrom([]string{"", "0123456789"}).Draw(t, "alphabet")
		if c.CheckChar == generator.CheckNone || c.CheckChar == generator.CheckMod3736 {
			c.Alphabet = rapid.SampledFrom([]string{"", "abcdefghkmnp", "0123456789xyz", "TRAFFICONE" /* with F twice */}).Draw(t, "letters")
		}
		c.Group = rapid.IntRange(0, c.Length-1).Draw(t, "group")
		c.Prefix = rapid.StringOfN(rapid.SampledFrom([]rune("aZ09-_ é№請")), 0, 10, -1).Draw(t, "prefix")
		c.WithoutAmbiguous = rapid.Bool().Draw(t, "plain")
		c.Block = rapid.SampledFrom([]string{"", "bad b4d", "ab 12 xyz"}).Draw(t, "block")
		return c
	})
	stamped := rapid.SampledFrom([]generator.Config{{Kind: generator.UUIDv7}, {Kind: generator.ULID}})
	return rapid.OneOf(sized, sized, smallConfig(), sequenceConfig(), stamped)
}

// TestPoolsTakeTheIDs holds of every configuration that Check allows: its IDs are of the form that pools demand, no longer than is
// said, verify, and are in lower case where FoldedOK says so.
func TestPoolsTakeTheIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig().Draw(t, "config")
		if c.Check() != nil {
			return
		}
		ids, err := c.Generate(20, time.Unix(1e9, 0))
		if c.Kind == generator.Sequence {
			ids, err = nil, nil
			for n := range uint64(5) {
				id, failed := c.Number(n, time.Unix(1e9, 0))
				if failed != nil {
					t.Fatal(failed)
				}
				ids = append(ids, id)
			}
		}
		if err != nil || len(ids) == 0 {
			t.Fatalf("%d IDs, %v", len(ids), err)
		}
		folded := c.FoldedOK() == nil
		for _, id := range ids {
			if err := alloc.CheckID(id); err != nil {
				t.Fatal(err)
			}
			if len(id) > generator.MaxBytes {
				t.Fatalf("%q has %d bytes", id, len(id))
			}
			if err := c.Verify(id); err != nil {
				t.Fatal(err)
			}
			if clean, err := alloc.CleanID(id, folded); err != nil || string(clean) != id {
				t.Fatalf("a pool takes %q as %q, %v; folded: %t", id, clean, err, folded)
			}
		}
	})
}

func TestFoldedOK(t *testing.T) {
	tests := map[string]struct {
		config generator.Config
		want   string // in the refusal; "" for none
	}{
		"the default alphabet":            {generator.Config{Kind: generator.Random}, "alphabet"},
		"one in lower case":               {generator.Config{Kind: generator.Random, Alphabet: "abc"}, ""},
		"digits":                          {generator.Config{Kind: generator.Random, Alphabet: "012"}, ""},
		"a prefix":                        {generator.Config{Kind: generator.Random, Alphabet: "abc", Prefix: "é-Ä"}, "prefix"},
		"a check digit":                   {generator.Config{Kind: generator.Random, CheckChar: generator.CheckLuhn}, ""},
		"a check letter":                  {generator.Config{Kind: generator.Random, Alphabet: "012", CheckChar: generator.CheckMod3736}, "check character"},
		"a check letter of the lower":     {generator.Config{Kind: generator.Random, Alphabet: "012a", CheckChar: generator.CheckMod3736}, ""},
		"upper ones that are taken out":   {generator.Config{Kind: generator.Random, Alphabet: "abcOI", WithoutAmbiguous: true}, ""},
		"a format":                        {numbers("INV-{n}"), "format"},
		"a format in lower case":          {numbers("inv-{n}-{yyyy}"), ""},
		"UUIDs":                           {generator.Config{Kind: generator.UUIDv7}, ""},
		"ULIDs":                           {generator.Config{Kind: generator.ULID}, "uuidv7"},
		"what is refused for another why": {generator.Config{Kind: generator.Random, Length: 99}, "length"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.config.FoldedOK()
			if (err == nil) != (tt.want == "") {
				t.Fatalf("FoldedOK = %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("FoldedOK = %q, want %q in it", err, tt.want)
			}
		})
	}
}

// TestTextOfIDsIsNormal tries every character of the first three planes, beyond which no script is written: what a prefix may have is in normal form C by itself, begins no
// sequence that is composed, and is taken by a pool.
func TestTextOfIDsIsNormal(t *testing.T) {
	allowed := 0
	for r := rune(0); r <= 0x2FFFF; r++ {
		c := generator.Config{Kind: generator.Sequence, Sequence: "s", Format: "a" + string(r) + "a{n}"}
		if c.Check() != nil {
			continue
		}
		if r == '{' || r == '}' {
			t.Errorf("%U is allowed", r)
		}
		allowed++
		if err := alloc.CheckID("a" + string(r) + "a"); err != nil {
			t.Errorf("%U is allowed: %v", r, err)
		}
		p := norm.NFC.PropertiesString(string(r))
		if !p.BoundaryBefore() || p.CCC() != 0 || !norm.NFC.IsNormalString(string(r)) {
			t.Errorf("%U is allowed, and may join with what stands before it", r)
		}
	}
	if allowed < 30_000 {
		t.Errorf("%d characters are allowed, want the common scripts", allowed)
	}
}
