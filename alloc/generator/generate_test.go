package generator

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// fixed is a source whose numbers are the same in each run, so that no test fails by chance.
func fixed() source { return source{rand.NewChaCha8([32]byte{7})} }

// chiSquare sums the squared deviations of the counts from their mean, in units of the mean.
func chiSquare(counts map[string]int, cells, draws int) float64 {
	mean := float64(draws) / float64(cells)
	sum := float64(cells-len(counts)) * mean
	for _, n := range counts {
		sum += (float64(n) - mean) * (float64(n) - mean) / mean
	}
	return sum
}

// TestEveryIDIsAsLikely draws from spaces that a careless way would favour a part of: bounds that are no power of two, and blocked
// words that leave some beginnings more ends than others.
func TestEveryIDIsAsLikely(t *testing.T) {
	const draws = 2_500
	configs := map[string]Config{
		"three characters":  {Kind: Random, Alphabet: "abc", Length: 3},
		"a check digit":     {Kind: Random, CheckChar: CheckLuhn, Length: 2},
		"blocked words":     {Kind: Random, Alphabet: "abc", Length: 4, Block: "aa abc cb", Group: 2},
		"blocked by check":  {Kind: Random, CheckChar: CheckDamm, Length: 2, Block: "00 57 12"},
		"a plain alphabet":  {Kind: Random, Alphabet: "0A3B7", Length: 3, CheckChar: CheckMod3736, WithoutAmbiguous: true},
		"letters two times": {Kind: Random, Alphabet: "aAb", Length: 3, Block: "ab"},
	}
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			random := fixed()
			counts := map[string]int{}
			for range draws {
				ids, err := c.generate(1, time.Unix(0, 0), random)
				if err != nil {
					t.Fatal(err)
				}
				counts[ids[0]]++
			}
			cells := int(c.Space().Int64())
			// The mean of the distribution is cells-1, its deviation √(2(cells-1)): the bound is above 6 of these.
			if got, most := chiSquare(counts, cells, draws), 1.5*float64(cells)+40; got > most || len(counts) != cells {
				t.Errorf("chi-square of %d of %d IDs = %.1f, want at most %.1f", len(counts), cells, got, most)
			}
		})
	}
}

// TestEverySetIsAsLikely draws three of five: each set in each order.
func TestEverySetIsAsLikely(t *testing.T) {
	const draws = 30_000
	random := fixed()
	counts := map[string]int{}
	for range draws {
		drawn, err := random.distinct(3, big.NewInt(5))
		if err != nil {
			t.Fatal(err)
		}
		var key []string
		for _, x := range drawn {
			key = append(key, x.String())
		}
		counts[strings.Join(key, " ")]++
	}
	if got := chiSquare(counts, 60, draws); got > 130 {
		t.Errorf("chi-square of %d of 60 orders = %.1f, want at most 130", len(counts), got)
	}
}

// TestGenerateMakesWhatIsAskedFor asks for more and for less than there is.
func TestGenerateMakesWhatIsAskedFor(t *testing.T) {
	tests := map[string]struct {
		config Config
		n      int
		want   int
	}{
		"none":                         {Config{Kind: Random}, 0, 0},
		"less than there is":           {Config{Kind: Random, Alphabet: "01", Length: 3}, 7, 7},
		"just what there is":           {Config{Kind: Random, Alphabet: "01", Length: 3}, 8, 8},
		"more than there is":           {Config{Kind: Random, Alphabet: "01", Length: 3}, 500, 8},
		"a batch of the defaults":      {Config{Kind: Random}, 500, 500},
		"a batch of the longest":       {Config{Kind: Random, Length: 64, Alphabet: DefaultAlphabet + "+/"}, 500, 500},
		"a batch with 200 words":       {Config{Kind: Random, Block: strings.Repeat("bad ", 199) + "a0"}, 500, 500},
		"a nearly blocked space":       {Config{Kind: Random, Alphabet: "ab", Length: 60, Block: "ab aaaaaaaaaaaaa"}, 500, 13},
		"UUIDs of the same moment":     {Config{Kind: UUIDv7}, 5000, 5000},
		"ULIDs of the same moment":     {Config{Kind: ULID}, 5000, 5000},
		"no UUIDs":                     {Config{Kind: UUIDv7}, 0, 0},
		"the whole space with a check": {Config{Kind: Random, CheckChar: CheckMod3736, Length: 2}, 2000, 1296},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ids, err := tt.config.Generate(tt.n, time.Unix(1e9, 0))
			if err != nil {
				t.Fatal(err)
			}
			if len(ids) != tt.want {
				t.Errorf("%d IDs, want %d", len(ids), tt.want)
			}
			slices.Sort(ids)
			if n := len(slices.Compact(slices.Clone(ids))); n != len(ids) {
				t.Errorf("%d of %d IDs are distinct", n, len(ids))
			}
			for _, id := range ids {
				if err := tt.config.Verify(id); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestWithoutRandomnessNothingIsMade: a source that ends is an error, never a weak ID.
func TestWithoutRandomnessNothingIsMade(t *testing.T) {
	for _, kind := range []Kind{Random, UUIDv7, ULID} {
		ids, err := Config{Kind: kind}.generate(3, time.Unix(0, 0), source{bytes.NewReader(make([]byte, 20))})
		if err == nil {
			t.Errorf("%s: %q", kind, ids)
		}
	}
}

func TestTimesThatCannotBeStamped(t *testing.T) {
	for _, at := range []time.Time{time.UnixMilli(-1), time.UnixMilli(1 << 48)} {
		for _, kind := range []Kind{UUIDv7, ULID} {
			if ids, err := (Config{Kind: kind}).Generate(1, at); err == nil {
				t.Errorf("%s at %s: %q", kind, at, ids)
			}
		}
	}
	for _, kind := range []Kind{UUIDv7, ULID} {
		if ids, err := (Config{Kind: kind}).Generate(-1, time.Unix(0, 0)); err == nil {
			t.Errorf("-1 of %s: %q", kind, ids)
		}
	}
}

// TestUUIDOfTheRFC is the example of RFC 9562, A.6.
func TestUUIDOfTheRFC(t *testing.T) {
	bits := new(big.Int).SetUint64(0x017F22E279B0)
	bits.Lsh(bits, 12).Or(bits, big.NewInt(0xCC3))
	bits.Lsh(bits, 62).Or(bits, big.NewInt(0x18C4DC0C0C07398F))
	if got, want := uuidv7(bits), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"; got != want {
		t.Errorf("uuid = %s, want %s", got, want)
	}
}

// TestULIDOfTheSpecification has the example of the specification's README, and the largest there is.
func TestULIDOfTheSpecification(t *testing.T) {
	bits := big.NewInt(1469918176385)
	bits.Lsh(bits, 80)
	if got, want := ulid(bits), "01ARYZ6S41"+"0000000000000000"; got != want {
		t.Errorf("ulid = %s, want %s", got, want)
	}
	most := new(big.Int).Lsh(big.NewInt(1), 128)
	if got, want := ulid(most.Sub(most, big.NewInt(1))), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"; got != want {
		t.Errorf("ulid = %s, want %s", got, want)
	}
}

// TestStampedIDs reads them with an independent reader: version, variant, time, order, and that each random bit is drawn.
func TestStampedIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, maxMillis).Draw(t, "ms"))
		uuids, err := Config{Kind: UUIDv7}.Generate(64, at)
		if err != nil {
			t.Fatal(err)
		}
		ulids, err := Config{Kind: ULID}.Generate(64, at)
		if err != nil {
			t.Fatal(err)
		}
		var set, clear [16]byte
		for i := range uuids {
			u, err := uuid.Parse(uuids[i])
			if err != nil {
				t.Fatal(err)
			}
			if u.Version() != 7 || u.Variant() != uuid.RFC4122 || uuids[i] != u.String() {
				t.Fatalf("%s is version %d, variant %s", u, u.Version(), u.Variant())
			}
			if got := milliseconds(u[:]); got != at.UnixMilli() {
				t.Fatalf("%s was made at %d, want %d", u, got, at.UnixMilli())
			}
			for j, b := range u {
				set[j], clear[j] = set[j]|b, clear[j]|^b
			}
			if got := milliseconds(unULID(ulids[i])); got != at.UnixMilli() {
				t.Fatalf("%s was made at %d, want %d", ulids[i], got, at.UnixMilli())
			}
		}
		if !slices.IsSorted(uuids) || !slices.IsSorted(ulids) {
			t.Fatal("the IDs of one call do not ascend")
		}
		for j, want := range [16]byte{6: 0x0F, 7: 0xFF, 8: 0x3F, 9: 0xFF, 10: 0xFF, 11: 0xFF, 12: 0xFF, 13: 0xFF, 14: 0xFF, 15: 0xFF} {
			if got := set[j] & clear[j]; got != want {
				t.Fatalf("of byte %d the bits %08b differ, want %08b", j, got, want)
			}
		}
	})
}

func milliseconds(b []byte) int64 { return new(big.Int).SetBytes(b[:6]).Int64() }

// unULID reads five bits a character.
func unULID(s string) []byte {
	x := new(big.Int)
	for i := range len(s) {
		x.Lsh(x, 5).Or(x, big.NewInt(int64(strings.IndexByte("0123456789ABCDEFGHJKMNPQRSTVWXYZ", s[i]))))
	}
	return x.FillBytes(make([]byte, 16))
}

func TestVerifyStamped(t *testing.T) {
	tests := map[string]struct {
		kind Kind
		id   string
		ok   bool
	}{
		"a UUID":                    {UUIDv7, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", true},
		"one in upper case":         {UUIDv7, "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", false},
		"one of version 4":          {UUIDv7, "017f22e2-79b0-4cc3-98c4-dc0c0c07398f", false},
		"one of another variant":    {UUIDv7, "017f22e2-79b0-7cc3-c8c4-dc0c0c07398f", false},
		"one without hyphens":       {UUIDv7, "017f22e279b07cc398c4dc0c0c07398f", false},
		"a hyphen in another place": {UUIDv7, "017f22e-279b0-7cc3-98c4-dc0c0c07398f", false},
		"one with a letter too far": {UUIDv7, "017f22g2-79b0-7cc3-98c4-dc0c0c07398f", false},
		"no UUID":                   {UUIDv7, "", false},
		"a ULID":                    {ULID, "01ARZ3NDEKTSV4RRFFQ69G5FAV", true},
		"the largest ULID":          {ULID, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", true},
		"one too large":             {ULID, "80000000000000000000000000", false},
		"a ULID in lower case":      {ULID, "01arz3ndektsv4rrffq69g5fav", false},
		"a ULID with a U":           {ULID, "01ARZ3NDEKTSV4RRFFQ69G5FAU", false},
		"a short ULID":              {ULID, "01ARZ3NDEKTSV4RRFFQ69G5FA", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := (Config{Kind: tt.kind}).Verify(tt.id); (err == nil) != tt.ok {
				t.Errorf("Verify(%q) = %v, want ok: %t", tt.id, err, tt.ok)
			}
		})
	}
}
