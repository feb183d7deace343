package generator

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// slowly counts the strings of a configuration with the plainest of all dynamic programs: by the last letters that were
// read and what is known for the check character.
func slowly(c Config) *big.Int {
	words := strings.Fields(c.Block)
	longest := 1
	for _, w := range words {
		longest = max(longest, len(w))
	}
	blocked := func(read string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(read, w) })
	}
	type state struct {
		read  string
		check int
	}
	s := c.scheme()
	ways := map[state]*big.Int{{"", s.start}: big.NewInt(1)}
	for place := range c.Length {
		next := map[state]*big.Int{}
		for from, n := range ways {
			for i := range len(c.Alphabet) {
				char := c.Alphabet[i : i+1]
				read := from.read + strings.ToLower(char)
				if blocked(read) {
					continue
				}
				to := state{read[max(0, len(read)-longest+1):], s.step(from.check, strings.Index(s.symbols, char), c.Length-1-place)}
				if next[to] == nil {
					next[to] = new(big.Int)
				}
				next[to].Add(next[to], n)
			}
		}
		ways = next
	}
	sum := new(big.Int)
	for end, n := range ways {
		check := ""
		if s.symbols != "" {
			check = s.symbols[s.final(end.check) : s.final(end.check)+1]
		}
		if !blocked(end.read+strings.ToLower(check)) && !(c.WithoutAmbiguous && RemoveAmbiguous(check) != check) {
			sum.Add(sum, n)
		}
	}
	return sum
}

// largeConfig draws configurations whose spaces take several words of the table.
func largeConfig() *rapid.Generator[Config] {
	return rapid.Custom(func(t *rapid.T) Config {
		c := Config{Kind: Random, Length: rapid.IntRange(30, 64).Draw(t, "length")}
		c.CheckChar = rapid.SampledFrom([]CheckKind{CheckNone, CheckLuhn, CheckDamm, CheckMod3736}).Draw(t, "check")
		c.Alphabet = map[CheckKind]string{CheckNone: "abDE09", CheckLuhn: "0189", CheckDamm: "0189", CheckMod3736: "AB09"}[c.CheckChar]
		words := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("abde0189")), 2, 3, -1), 0, 5).Draw(t, "words")
		c.Block = strings.Join(words, " ")
		return c
	})
}

func TestLargeSpacesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := largeConfig().Draw(t, "config")
		if got, want := c.Space(), slowly(c); got.Cmp(want) != 0 {
			t.Fatalf("Space = %s, want %s", got, want)
		}
	})
}

// TestRanksAreInOrder proves of large spaces what trying all does of small ones: each rank has its own ID, in the order of
// the alphabet, from the first to the last.
func TestRanksAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := largeConfig().Draw(t, "config")
		k, err := c.counter()
		if err != nil {
			return // these words leave nothing
		}
		last := new(big.Int).Sub(k.total(), big.NewInt(1))
		a, b := rankUpTo(last).Draw(t, "rank"), rankUpTo(last).Draw(t, "other rank")
		first, second := k.drawn(a), k.drawn(b)
		if got, want := strings.Compare(placed(c, first), placed(c, second)), a.Cmp(b); got != want {
			t.Fatalf("%s of rank %s and %s of rank %s compare as %d, want %d", first, a, second, b, got, want)
		}
		for _, drawn := range []string{first, second, k.drawn(new(big.Int)), k.drawn(last)} {
			if err := c.Verify(c.write(drawn)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func rankUpTo(last *big.Int) *rapid.Generator[*big.Int] {
	return rapid.Custom(func(t *rapid.T) *big.Int {
		x := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "bytes"))
		return x.Mod(x, new(big.Int).Add(last, big.NewInt(1)))
	})
}

// placed writes the places of the characters in the alphabet, so that they compare.
func placed(c Config, drawn string) string {
	b := []byte(drawn)
	for i := range b {
		b[i] = byte(strings.IndexByte(c.Alphabet, b[i]))
	}
	return string(b)
}

// TestTheLargestConfigurations holds the bound of the table: what fits is counted, and what does not is refused in words.
func TestTheLargestConfigurations(t *testing.T) {
	var words []string
	for i := range MaxBlockWords {
		words = append(words, fmt.Sprintf("%c%c%c%04d", 'a'+i%26, 'a'+i/26, 'a'+i%7, i*37))
	}
	c := Config{Kind: Random, Block: strings.Join(words, " "), CheckChar: CheckMod3736, Length: 24}
	if err := c.Check(); err != nil {
		t.Errorf("200 words in IDs of 24 characters with a check character: %v", err)
	}
	c.Length = MaxLength
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "fewer words") {
		t.Errorf("200 words in IDs of %d characters with a check character: %v, want it refused", MaxLength, err)
	}
	c.CheckChar = CheckNone
	if err := c.Check(); err != nil {
		t.Errorf("the same without a check character: %v", err)
	}
	full := Config{Kind: Random, Length: MaxLength, Alphabet: DefaultAlphabet + strings.ToLower(letters) + "+/"}
	want := new(big.Int).Exp(big.NewInt(64), big.NewInt(64), nil)
	if got := full.Space(); got.Cmp(want) != 0 {
		t.Errorf("Space = %s, want 64^64 = %s", got, want)
	}
}
