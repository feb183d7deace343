package generator

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPublishedCheckCharacters holds the schemes against examples that others published.
func TestPublishedCheckCharacters(t *testing.T) {
	tests := map[string]struct {
		scheme scheme
		drawn  string
		want   string
	}{
		"Luhn's example":                {luhn(), "7992739871", "3"},
		"a card number of 16 digits":    {luhn(), "411111111111111", "1"},
		"a card number of 15 digits":    {luhn(), "37828224631000", "5"},
		"Damm's example":                {damm(), "572", "4"},
		"a longer one by Damm":          {damm(), "11294", "6"},
		"the Global Release Identifier": {mod3736(letters), "A12425GABC1234002", "M"},
		"an ISAN's root and episode":    {mod3736(letters), "0000000189470000", "8"},
		"an ISAN with its version":      {mod3736(letters), "000000018947000000000000", "D"},
		"another ISAN":                  {mod3736(letters), "006A15FA002BC95F", "W"},
		"the same in lower case":        {mod3736("a"), "a12425gabc1234002", "m"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.scheme.checkCharacter(tt.drawn); got != tt.want {
				t.Errorf("check character of %s = %q, want %q", tt.drawn, got, tt.want)
			}
		})
	}
}

// listedScheme is a scheme with the neighbours that it does not tell apart when they change places, in a state.
type listedScheme struct {
	scheme
	passes func(state, a, b int) bool
}

// schemes are all that there are. Luhn lets 09 and 90 pass for each other; mod 37,36 in each state one pair of the 630, of two
// symbols that follow each other; Damm none.
func schemes() map[CheckKind]listedScheme {
	return map[CheckKind]listedScheme{
		CheckLuhn: {luhn(), func(_, a, b int) bool { return min(a, b) == 0 && max(a, b) == 9 }},
		CheckDamm: {damm(), func(int, int, int) bool { return false }},
		CheckMod3736: {mod3736(letters), func(state, a, b int) bool {
			one, other := (36+17-state)%36, (36+18-state)%36
			return min(a, b) == min(one, other) && max(a, b) == max(one, other)
		}},
	}
}

// TestEveryErrorOfOneCharacterShows and the next prove it for strings of every length: each character permutes the states, so that two that once
// differ do so to the end; different characters lead from one state to different ones; and different states have
// different check characters.
func TestEveryErrorOfOneCharacterShows(t *testing.T) {
	for kind, s := range schemes() {
		for left := range 2 { // of Luhn the places differ by turns
			for a := range len(s.symbols) {
				if n := distinct(s.states, func(state int) int { return s.step(state, a, left) }); n != s.states {
					t.Errorf("%s: the character %d leads to %d states of %d", kind, a, n, s.states)
				}
			}
			for state := range s.states {
				if n := distinct(len(s.symbols), func(a int) int { return s.step(state, a, left) }); n != len(s.symbols) {
					t.Errorf("%s: from the state %d lead %d ways, want %d", kind, state, n, len(s.symbols))
				}
			}
		}
		if n := distinct(s.states, s.final); n != s.states {
			t.Errorf("%s: %d check characters of %d states", kind, n, s.states)
		}
	}
}

func TestNeighboursInTheWrongOrderShow(t *testing.T) {
	for kind, s := range schemes() {
		for state := range s.states {
			for a := range len(s.symbols) {
				for b := range a {
					for left := range 2 {
						same := s.step(s.step(state, a, left+1), b, left) == s.step(s.step(state, b, left+1), a, left)
						if same != s.passes(state, a, b) {
							t.Errorf("%s: from the state %d, %d %d and %d %d lead to the same: %t", kind, state, a, b, b, a, same)
						}
					}
				}
				check := s.final(s.step(state, a, 0))
				wrong := s.final(s.step(state, check, 0)) == a
				if check != a && wrong != s.passes(state, a, check) {
					t.Errorf("%s: from the state %d, %d and its check character %d may change places: %t", kind, state, a, check, wrong)
				}
			}
		}
	}
}

func distinct(n int, f func(int) int) int {
	seen := map[int]bool{}
	for i := range n {
		seen[f(i)] = true
	}
	return len(seen)
}

// TestErrorsInWholeIDsShow is the same from outside, by Verify.
func TestErrorsInWholeIDsShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]CheckKind{CheckLuhn, CheckDamm, CheckMod3736}).Draw(t, "check")
		s := schemes()[kind]
		c := Config{Kind: Random, CheckChar: kind, Alphabet: s.symbols, Length: rapid.IntRange(1, 30).Draw(t, "length")}
		drawn := rapid.StringOfN(rapid.SampledFrom([]rune(s.symbols)), c.Length, c.Length, -1).Draw(t, "drawn")
		id := []byte(c.write(drawn))
		if err := c.Verify(string(id)); err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(0, len(id)-1).Draw(t, "at")
		was := id[at]
		id[at] = rapid.SampledFrom([]byte(s.symbols)).Draw(t, "wrong")
		if err := c.Verify(string(id)); (err == nil) != (id[at] == was) {
			t.Fatalf("%s with one character changed to %s: %v", c.write(drawn), id, err)
		}
		id[at] = was
		if at == len(drawn) {
			return
		}
		id[at], id[at+1] = id[at+1], id[at]
		state := s.start
		for i := range at {
			state = s.step(state, strings.IndexByte(s.symbols, id[i]), len(drawn)-1-i)
		}
		a, b := strings.IndexByte(s.symbols, id[at]), strings.IndexByte(s.symbols, id[at+1])
		if err := c.Verify(string(id)); (err == nil) != (a == b || s.passes(state, a, b)) {
			t.Fatalf("%s with two characters in the wrong order, %s: %v", c.write(drawn), id, err)
		}
	})
}
