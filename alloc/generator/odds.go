package generator

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// wise is how many times as many IDs as are wanted there should be.
const wise = 10

// Space is how many IDs there can be: of Sequence in each period; nil for UUIDv7 and ULID, of which there are enough for
// whatever is wanted; 0 where Check refuses the configuration.
func (c Config) Space() *big.Int {
	c = c.WithDefaults()
	if c.Kind == UUIDv7 || c.Kind == ULID {
		return nil
	}
	if c.Kind == Sequence {
		f, _, err := c.numbering()
		if err != nil {
			return new(big.Int)
		}
		return c.room(f)
	}
	if c.checkFields() != nil {
		return new(big.Int)
	}
	k, err := c.counter()
	if err != nil {
		return new(big.Int)
	}
	return k.total()
}

// Bits is the binary logarithm of how many IDs are as likely as the next: what somebody who guesses does not know. It is 0
// for Sequence.
func (c Config) Bits() float64 {
	switch c.Kind {
	case Random:
		return log2(c.Space())
	case UUIDv7:
		return uuidRandomBits
	case ULID:
		return ulidRandomBits
	}
	return 0
}

// Collision is how likely one more ID drawn is one of the target's. It is 0 for other kinds than Random.
func (c Config) Collision(target int64) float64 {
	if c.Kind != Random || target <= 0 {
		return 0
	}
	space := c.Space()
	if space.Cmp(big.NewInt(target)) <= 0 {
		return 1
	}
	return quotient(big.NewInt(target), space)
}

// Guesses is how many different IDs of the space somebody who guesses tries on average, until one is among the target's.
// It is 0 for other kinds than Random, and where nothing is wanted.
func (c Config) Guesses(target int64) float64 {
	if c.Kind != Random || target <= 0 {
		return 0
	}
	space := c.Space()
	if space.Cmp(big.NewInt(target)) <= 0 {
		return 1
	}
	one := big.NewInt(1)
	return quotient(new(big.Int).Add(space, one), new(big.Int).Add(big.NewInt(target), one))
}

// CheckTarget refuses a configuration that cannot make so many IDs at all, and one of Random that should not: of which
// more than one in ten would be taken, so that draws collide and guesses meet. The words have the arithmetic. A target of 0 is none.
func (c Config) CheckTarget(target int64) error {
	c = c.WithDefaults()
	if err := c.Check(); err != nil {
		return err
	}
	space := c.Space()
	if space == nil || target <= 0 {
		return nil
	}
	t := big.NewInt(target)
	impossible := t.Cmp(space) > 0
	unwise := c.Kind == Random && new(big.Int).Mul(t, big.NewInt(wise)).Cmp(space) > 0
	switch {
	case impossible && c.Kind == Sequence:
		return fmt.Errorf("the target is %s IDs, but format has room for %s numbers only: give {n} more places, or make the target smaller", thousands(t), thousands(space))
	case impossible:
		return fmt.Errorf("the target is %s IDs, but there can be only %s (%s): %s", thousands(t), thousands(space), c.arithmetic(), c.remedy(target))
	case unwise:
		return fmt.Errorf("the target is %s of the %s IDs that there can be (%s): with so many there, %.0f %% of the IDs drawn anew are there already, and somebody who guesses finds one in %.1f tries on average; %s",
			thousands(t), thousands(space), c.arithmetic(), 100*c.Collision(target), c.Guesses(target), c.remedy(target))
	}
	return nil
}

// arithmetic says how the space comes about.
func (c Config) arithmetic() string {
	all := c.strings()
	words := fmt.Sprintf("%d^%d = %s", len(c.drawnFrom()), c.Length, thousands(all))
	if space := c.Space(); space.Cmp(all) != 0 {
		words += fmt.Sprintf(", of which block and without_ambiguous leave %s", thousands(space))
	}
	return words
}

// strings is how many can be drawn, if nothing is blocked.
func (c Config) strings() *big.Int {
	return new(big.Int).Exp(big.NewInt(int64(len(c.drawnFrom()))), big.NewInt(int64(c.Length)), nil)
}

// remedy says which length would do for the target.
func (c Config) remedy(target int64) string {
	need := new(big.Int).Mul(big.NewInt(target), big.NewInt(wise))
	for longer := c; longer.Length < MaxLength; {
		longer.Length++
		if longer.strings().Cmp(need) < 0 {
			continue // not worth counting
		}
		if space := longer.Space(); space.Cmp(need) >= 0 {
			return fmt.Sprintf("make length %d (%s IDs), or the target smaller", longer.Length, thousands(space))
		}
	}
	return "make the target smaller, or give a larger alphabet"
}

func quotient(x, y *big.Int) float64 {
	q, _ := new(big.Rat).SetFrac(x, y).Float64() // exact or not: it is for people to read
	return q
}

// log2 is that of a number of any size.
func log2(x *big.Int) float64 {
	if x.Sign() <= 0 {
		return 0
	}
	m := new(big.Float)
	exp := new(big.Float).SetInt(x).MantExp(m)
	f, _ := m.Float64() // the mantissa, 0.5 to 1
	return float64(exp) + math.Log2(f)
}

// thousands writes a number with commas.
func thousands(x *big.Int) string {
	s := x.String()
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
