package generator_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"idpool/alloc/generator"
)

// TestCheckTarget is C36: who asks for more IDs than there can be, or for so many that they collide, is told before any is made, with
// the arithmetic.
func TestCheckTarget(t *testing.T) {
	fourDigits := generator.Config{Kind: generator.Random, Alphabet: "0123456789", Length: 4}
	blocked := generator.Config{Kind: generator.Random, Alphabet: "ab", Length: 3, Block: "aa"}
	tests := map[string]struct {
		config generator.Config
		target int64
		words  []string // nil where it is allowed
	}{
		"no target":           {fourDigits, 0, nil},
		"a tenth":             {fourDigits, 1000, nil},
		"one more":            {fourDigits, 1001, []string{"1,001 of the 10,000 IDs", "10^4 = 10,000", "10 %", "in 10.0 tries", "length 5 (100,000 IDs)"}},
		"half":                {fourDigits, 5000, []string{"50 %", "in 2.0 tries", "length 5"}},
		"all there are":       {fourDigits, 10_000, []string{"100 %", "in 1.0 tries", "length 5 (100,000 IDs)"}},
		"more than there are": {fourDigits, 10_001, []string{"10,001 IDs", "only 10,000", "10^4 = 10,000", "length 6 (1,000,000 IDs)"}},
		"more than any length gives": {
			generator.Config{Kind: generator.Random, Alphabet: "ab", Length: 3, Block: "aa ab"}, 10, []string{"only 2", "larger alphabet"},
		},
		"blocked words count":              {blocked, 6, []string{"only 5", "2^3 = 8", "block and without_ambiguous leave 5", "length 9 (89 IDs)"}},
		"the defaults and the most wanted": {generator.Config{Kind: generator.Random}, 10_000_000, nil},
		"UUIDs":                            {generator.Config{Kind: generator.UUIDv7}, 10_000_000, nil},
		"ULIDs":                            {generator.Config{Kind: generator.ULID}, 10_000_000, nil},
		"all numbers of a format":          {numbers("{n:3}"), 1000, nil},
		"more numbers than places": {
			numbers("{n:3}"), 1001, []string{"1,001 IDs", "room for 1,000 numbers", "more places"},
		},
		"numbers that grow": {growing(numbers("{n:3}")), 10_000_000, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.config.CheckTarget(tt.target)
			if (err == nil) != (tt.words == nil) {
				t.Fatalf("CheckTarget = %v", err)
			}
			for _, w := range tt.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("CheckTarget = %q, want %q in it", err, w)
				}
			}
		})
	}
}

// TestTheRemedyHelps: with the length that the words advise, the target is allowed.
func TestTheRemedyHelps(t *testing.T) {
	for _, block := range []string{"", "00 11 22 01 7", "123 45"} {
		for _, target := range []int64{11, 1000, 12345, 10_000_000} {
			c := generator.Config{Kind: generator.Random, Alphabet: "0123457", Length: 1, Block: strings.TrimSuffix(block, " 7")}
			for c.CheckTarget(target) != nil {
				c.Length++
			}
			advised := c.Length
			c.Length = 1
			words := c.CheckTarget(target).Error()
			if want := "length " + big.NewInt(int64(advised)).String() + " ("; !strings.Contains(words, want) {
				t.Errorf("block %q, target %d: %q, want %q in it", block, target, words, want)
			}
		}
	}
}

func TestOdds(t *testing.T) {
	tests := map[string]struct {
		config             generator.Config
		target             int64
		bits               float64
		collision, guesses float64
	}{
		"four digits, a hundred": {generator.Config{Kind: generator.Random, Alphabet: "0123456789", Length: 4}, 100, math.Log2(10_000), 0.01, 10_001. / 101},
		"a check digit adds nothing": {
			generator.Config{Kind: generator.Random, CheckChar: generator.CheckLuhn, Length: 4}, 100, math.Log2(10_000), 0.01, 10_001. / 101,
		},
		"as many as there are":         {generator.Config{Kind: generator.Random, Alphabet: "01", Length: 3}, 8, 3, 1, 1},
		"more than there are":          {generator.Config{Kind: generator.Random, Alphabet: "01", Length: 3}, 9, 3, 1, 1},
		"no target":                    {generator.Config{Kind: generator.Random, Alphabet: "01", Length: 3}, 0, 3, 0, 0},
		"64 characters of 64":          {generator.Config{Kind: generator.Random, Alphabet: asciiFrom('!', 64), Length: 64}, 1, 384, math.Pow(2, -384), math.Pow(2, 383)},
		"what Check refuses":           {generator.Config{Kind: generator.Random, Length: -1}, 5, 0, 1, 1},
		"UUIDs":                        {generator.Config{Kind: generator.UUIDv7}, 5, 74, 0, 0},
		"ULIDs":                        {generator.Config{Kind: generator.ULID}, 5, 80, 0, 0},
		"numbers of which all is told": {numbers("{n:6}"), 5, 0, 0, 0},
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b)) }
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.config.Bits(); !near(got, tt.bits) {
				t.Errorf("Bits = %v, want %v", got, tt.bits)
			}
			if got := tt.config.Collision(tt.target); !near(got, tt.collision) {
				t.Errorf("Collision = %v, want %v", got, tt.collision)
			}
			if got := tt.config.Guesses(tt.target); !near(got, tt.guesses) {
				t.Errorf("Guesses = %v, want %v", got, tt.guesses)
			}
		})
	}
}

func TestSpaceOfTheStampedIsNotCounted(t *testing.T) {
	for _, kind := range []generator.Kind{generator.UUIDv7, generator.ULID} {
		if s := (generator.Config{Kind: kind}).Space(); s != nil {
			t.Errorf("%s: Space = %s, want nil", kind, s)
		}
	}
}
