package generator_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"idpool/alloc/generator"
)

// The reference knows IDs of Random by what is written of them, in another way than the package: it tries every string.

const (
	lowerSymbols = "0123456789abcdefghijklmnopqrstuvwxyz"
	upperSymbols = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	ambiguous    = "0Oo1IlL2Zz5Ss8BUuVv"
)

// rightCheck tests a string with its check character at the end as the standards say how to test one.
func rightCheck(kind generator.CheckKind, s string) bool {
	switch kind {
	case generator.CheckLuhn:
		sum := 0
		for i, r := range slices.Backward([]rune(s)) {
			d := int(r - '0')
			if (len(s)-1-i)%2 == 1 {
				d = []int{0, 2, 4, 6, 8, 1, 3, 5, 7, 9}[d]
			}
			sum += d
		}
		return sum%10 == 0
	case generator.CheckDamm:
		table := "0317598642709215486342068713591750983426612304597836742095815869720134894536201794386172052581436790"
		at := 0
		for _, r := range s {
			at = int(table[10*at+int(r-'0')] - '0')
		}
		return at == 0
	case generator.CheckMod3736:
		p := 36 // ISO/IEC 7064, 8.2: the sum of each step, adjusted, is congruent to 1 at the end
		for i, r := range strings.ToLower(s) {
			sum := p + strings.IndexRune(lowerSymbols, r)
			if i == len(s)-1 {
				return sum%36 == 1
			}
			adjusted := sum % 36
			if adjusted == 0 {
				adjusted = 36
			}
			p = 2 * adjusted % 37
		}
	}
	return true
}

// checkSymbols are the characters that might stand in the place of the check character.
func checkSymbols(c generator.Config) []string {
	switch {
	case c.CheckChar == generator.CheckNone:
		return []string{""}
	case c.CheckChar != generator.CheckMod3736:
		return strings.Split("0123456789", "")
	case strings.ContainsAny(c.Alphabet, "abcdefghijklmnopqrstuvwxyz"):
		return strings.Split(lowerSymbols, "")
	}
	return strings.Split(upperSymbols, "")
}

// candidates are all IDs of the form, with every check character.
func candidates(c generator.Config) (ids []string, right map[string]bool) {
	right = map[string]bool{}
	var from []string
	for a := range strings.SplitSeq(c.Alphabet, "") {
		if !c.WithoutAmbiguous || !strings.Contains(ambiguous, a) {
			from = append(from, a)
		}
	}
	bodies := []string{""}
	for range c.Length {
		var longer []string
		for _, b := range bodies {
			for _, a := range from {
				longer = append(longer, b+a)
			}
		}
		bodies = longer
	}
	for _, b := range bodies {
		for _, check := range checkSymbols(c) {
			id := c.Prefix + grouped(b+check, c.Group, c.Separator)
			ids = append(ids, id)
			plain := !c.WithoutAmbiguous || check == "" || !strings.Contains(ambiguous, check)
			right[id] = plain && rightCheck(c.CheckChar, b+check) && !hasBlocked(c, id, b+check)
		}
	}
	return ids, right
}

func grouped(body string, group int, separator string) string {
	if group == 0 {
		return body
	}
	var groups []string
	for part := range slices.Chunk([]byte(body), group) {
		groups = append(groups, string(part))
	}
	return strings.Join(groups, separator)
}

// hasBlocked looks for words in the ID as it is written, in what was drawn without separators, and in what is left of the
// whole when all punctuation is out.
func hasBlocked(c generator.Config, id, body string) bool {
	bare := strings.NewReplacer("-", "", "_", "", ".", "", " ", "", "!", "").Replace
	for w := range strings.FieldsSeq(strings.ToLower(c.Block)) {
		for _, text := range []string{id, body, c.Prefix + body, bare(id)} {
			if strings.Contains(strings.ToLower(text), w) {
				return true
			}
		}
	}
	return false
}

// smallConfig draws configurations of Random of which all IDs can be tried. Many of them have blocked words that do occur.
func smallConfig() *rapid.Generator[generator.Config] {
	return rapid.Custom(func(t *rapid.T) generator.Config {
		c := generator.Config{Kind: generator.Random}
		c.CheckChar = rapid.SampledFrom([]generator.CheckKind{
			generator.CheckNone, generator.CheckLuhn, generator.CheckDamm, generator.CheckMod3736,
		}).Draw(t, "check")
		from := map[generator.CheckKind][]string{
			generator.CheckNone:    {"abAB-_", "01ab", "aAbBcC"},
			generator.CheckLuhn:    {"0123456789", "0346"},
			generator.CheckDamm:    {"0123456789", "3467"},
			generator.CheckMod3736: {"0AB3", "a0bz", "0347"},
		}[c.CheckChar]
		chars := rapid.Permutation([]byte(rapid.SampledFrom(from).Draw(t, "from"))).Draw(t, "chars")
		c.Alphabet = string(chars[:rapid.IntRange(2, min(5, len(chars))).Draw(t, "size")])
		c.Length = rapid.IntRange(1, 4).Draw(t, "length")
		c.Prefix = rapid.SampledFrom([]string{"", "", "a", "B-", "x-a", "É0-", "A_b."}).Draw(t, "prefix")
		if c.Length > 1 && rapid.Bool().Draw(t, "groups") {
			c.Group = rapid.IntRange(1, c.Length-1).Draw(t, "group")
			c.Separator = rapid.SampledFrom([]string{".", " ", "!"}).Draw(t, "separator")
		}
		c.WithoutAmbiguous = rapid.Bool().Draw(t, "plain")
		// Few letters, of those that occur: so words overlap and stand within each other.
		letters := []rune(rapid.SampledFrom([]string{"a", "B", "3", "47", "aé0"}).Draw(t, "letters"))
		if body := strings.Trim(c.Alphabet, "-_"); body != "" {
			letters = append(letters, rune(body[0]))
		}
		words := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom(letters), 2, 4, -1), 0, 4).Draw(t, "words")
		c.Block = strings.Join(words, " ")
		return c
	})
}

// TestSmallSpaces proves that Space counts, Generate makes and Verify knows the same IDs, all of them and no others.
func TestSmallSpaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := smallConfig().Draw(t, "config")
		ids, right := candidates(c)
		var want []string
		for _, id := range ids {
			if right[id] {
				want = append(want, id)
			}
		}
		drawnFrom := c.Alphabet
		if c.WithoutAmbiguous {
			drawnFrom = generator.RemoveAmbiguous(c.Alphabet)
		}
		possible := len(want) > 0 && len(drawnFrom) > 1 && !hasBlocked(c, c.Prefix, "")
		if err := c.Check(); (err == nil) != possible {
			t.Fatalf("Check = %v of a configuration of %d IDs", err, len(want))
		}
		if !possible {
			if ids, err := c.Generate(1, time.Unix(0, 0)); err == nil {
				t.Fatalf("Generate makes %q of a configuration that Check refuses", ids)
			}
			return
		}
		if space := c.Space(); space.Cmp(big.NewInt(int64(len(want)))) != 0 {
			t.Fatalf("Space = %s, want %d", space, len(want))
		}
		got, err := c.Generate(len(want)+3, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("Generate makes\n%q, want\n%q", got, want)
		}
		for _, id := range ids {
			if err := c.Verify(id); (err == nil) != right[id] {
				t.Fatalf("Verify(%q) = %v, want right: %t", id, err, right[id])
			}
		}
	})
}

// TestEveryPairOfWords has words that overlap, begin, end and contain each other in all ways.
func TestEveryPairOfWords(t *testing.T) {
	var words []string
	for length := 2; length <= 4; length++ {
		for bits := range 1 << length {
			w := make([]byte, length)
			for i := range w {
				w[i] = "ab"[bits>>i&1]
			}
			words = append(words, string(w))
		}
	}
	for _, one := range words {
		for _, other := range words {
			c := generator.Config{Kind: generator.Random, Alphabet: "ab", Length: 6, Block: one + " " + other}
			_, right := candidates(c)
			want := 0
			for _, ok := range right {
				if ok {
					want++
				}
			}
			if got := c.Space(); got.Cmp(big.NewInt(int64(want))) != 0 {
				t.Errorf("without %s and %s there are %s, want %d", one, other, got, want)
			}
		}
	}
}
