package generator

import "strings"

const (
	digits  = "0123456789"
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// scheme computes a check character as a finite automaton, so that strings can be counted by the character that they will
// have. The values of characters are their places in symbols.
type scheme struct {
	symbols string
	states  int
	start   int
	step    func(state, value, left int) int // left: how many characters still follow this one, the check character not counted
	final   func(state int) int              // value of the check character
}

// noScheme has one state and no check character.
func noScheme() scheme {
	return scheme{states: 1, step: func(int, int, int) int { return 0 }}
}

// scheme is that of the configuration.
func (c Config) scheme() scheme {
	switch c.CheckChar {
	case CheckLuhn:
		return luhn()
	case CheckDamm:
		return damm()
	case CheckMod3736:
		return mod3736(c.Alphabet)
	}
	return noScheme()
}

// luhn doubles every second digit from the right, beginning with the last before the check digit. Its state is the sum
// so far.
func luhn() scheme {
	return scheme{
		symbols: digits,
		states:  10,
		step: func(sum, value, left int) int {
			if left%2 == 0 {
				value *= 2
			}
			return (sum + value/10 + value%10) % 10
		},
		final: func(sum int) int { return (10 - sum) % 10 },
	}
}

// dammTable is the quasigroup of order 10 of H. Michael Damm's thesis (2004): weakly totally anti-symmetric, with zeros
// on its diagonal, so that the check digit is the state itself.
var dammTable = [10][10]int{
	{0, 3, 1, 7, 5, 9, 8, 6, 4, 2},
	{7, 0, 9, 2, 1, 5, 4, 8, 6, 3},
	{4, 2, 0, 6, 8, 7, 1, 3, 5, 9},
	{1, 7, 5, 0, 9, 8, 3, 4, 2, 6},
	{6, 1, 2, 3, 0, 4, 5, 9, 7, 8},
	{3, 6, 7, 4, 2, 0, 9, 5, 8, 1},
	{5, 8, 6, 9, 7, 2, 0, 1, 3, 4},
	{8, 9, 4, 5, 3, 6, 2, 0, 1, 7},
	{9, 4, 3, 8, 6, 1, 7, 2, 0, 5},
	{2, 5, 8, 1, 4, 3, 6, 7, 9, 0},
}

func damm() scheme {
	return scheme{
		symbols: digits,
		states:  10,
		step:    func(state, value, _ int) int { return dammTable[state][value] },
		final:   func(state int) int { return state },
	}
}

// mod3736 is the hybrid system of ISO/IEC 7064 with the moduli 37 and 36. Its state is the standard's product P, 1 to 36,
// less one. The letters are of the alphabet's case, upper where it has none.
func mod3736(alphabet string) scheme {
	symbols := digits + letters
	if strings.ToUpper(alphabet) != alphabet {
		symbols = strings.ToLower(symbols)
	}
	return scheme{
		symbols: symbols,
		states:  36,
		start:   35,
		step: func(state, value, _ int) int {
			sum := (state + 1 + value) % 36
			if sum == 0 {
				sum = 36
			}
			return sum*2%37 - 1
		},
		final: func(state int) int { return (36 - state) % 36 },
	}
}

// checkCharacter is the one that belongs to the characters drawn; "" without a scheme.
func (s scheme) checkCharacter(drawn string) string {
	if s.symbols == "" {
		return ""
	}
	state := s.start
	for i := range len(drawn) {
		state = s.step(state, strings.IndexByte(s.symbols, drawn[i]), len(drawn)-1-i)
	}
	v := s.final(state)
	return s.symbols[v : v+1]
}
