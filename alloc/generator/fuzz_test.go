package generator_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// FuzzFormat: whatever is written as a format is refused, or makes IDs that a pool takes and that verify.
func FuzzFormat(f *testing.F) {
	for _, s := range []string{"{n}", "INV-{yyyy}-{n:6}", "{n:19}{yy}{mm}{dd}", "{", "}", "{n:}", "{{n}}", "{n:-1}", "№{n}é", " {n}", "{n}\u0301", "{dd}{n}", "\xff{n}"} {
		f.Add(s, uint64(17), int64(1764460800))
	}
	f.Fuzz(func(t *testing.T, format string, n uint64, unix int64) {
		at := time.Unix(unix%253402300800, 0)
		c := generator.Config{Kind: generator.Sequence, Sequence: "s", Format: format, Overflow: generator.OverflowGrow}
		id, err := c.Number(n, at)
		if refused := c.Check(); refused != nil {
			if err == nil {
				t.Fatalf("Number(%q) = %q, and Check refuses it: %v", format, id, refused)
			}
			return
		}
		if n > math.MaxInt64 {
			if !errors.Is(err, generator.ErrOverflow) {
				t.Fatalf("Number(%d) = %q, %v", n, id, err)
			}
			return
		}
		if err != nil {
			if at.UTC().Year() < 0 {
				return
			}
			t.Fatal(err)
		}
		if err := alloc.CheckID(id); err != nil || len(id) > generator.MaxBytes {
			t.Fatalf("%q of %d bytes: %v", id, len(id), err)
		}
		if err := c.Verify(id); err != nil {
			t.Fatal(err)
		}
		if p := c.Period(at); p != "" {
			if err := alloc.CheckName("s." + p); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzVerify: whatever is given as an ID, each generator answers; and what it takes for its own a pool takes too.
func FuzzVerify(f *testing.F) {
	configs := []generator.Config{
		{Kind: generator.Random},
		{Kind: generator.Random, Prefix: "é-", Length: 5, Group: 2, CheckChar: generator.CheckMod3736, WithoutAmbiguous: true, Block: "abc 99"},
		{Kind: generator.Random, Length: 3, CheckChar: generator.CheckLuhn},
		{Kind: generator.Random, Alphabet: "ab-_", Length: 3, Group: 1, Separator: " "},
		{Kind: generator.UUIDv7},
		{Kind: generator.ULID},
		numbers("INV-{yyyy}-{n:6}"),
		growing(numbers("{n:2}{yy}{mm}{dd}é")),
	}
	for _, id := range []string{
		"", "ABCDEFGHIJKL", "é-KK-KK-KE", "0000", "a - _", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "INV-2026-000017", "17261130é", "é-", "\xff", "INV-",
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		for _, c := range configs {
			if c.Verify(id) != nil {
				continue
			}
			if err := alloc.CheckID(id); err != nil || len(id) > generator.MaxBytes {
				t.Errorf("%s verifies %q of %d bytes: %v", c.Kind, id, len(id), err)
			}
		}
	})
}
