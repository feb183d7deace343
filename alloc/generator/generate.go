package generator

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"
)

// Generate makes n IDs of Random, UUIDv7 or ULID, or all there are where these are fewer. They are distinct, and every set
// of n is as likely as any other. Those of UUIDv7 and ULID ascend and are stamped with now. The error is Check's, or tells that there is
// no time or no randomness.
func (c Config) Generate(n int, now time.Time) ([]string, error) {
	return c.generate(n, now, source{rand.Reader})
}

func (c Config) generate(n int, now time.Time, s source) ([]string, error) {
	c = c.WithDefaults()
	if err := c.checkFields(); err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, errors.New("a number of IDs must be 0 or more")
	}
	switch c.Kind {
	case UUIDv7:
		return written(uuidv7)(s.stamped(n, now, uuidRandomBits))
	case ULID:
		return written(ulid)(s.stamped(n, now, ulidRandomBits))
	case Sequence:
		return nil, errors.New("the numbers come from the sequence; see Number")
	}
	k, err := c.counter()
	if err != nil {
		return nil, err
	}
	return written(func(rank *big.Int) string { return c.write(k.drawn(rank)) })(s.distinct(n, k.total()))
}

// written writes numbers as IDs, if there was no error in making them.
func written(write func(*big.Int) string) func([]*big.Int, error) ([]string, error) {
	return func(numbers []*big.Int, err error) ([]string, error) {
		if err != nil {
			return nil, err
		}
		ids := make([]string, len(numbers))
		for i, x := range numbers {
			ids[i] = write(x)
		}
		return ids, nil
	}
}

// source draws numbers from a source of random bytes.
type source struct{ random io.Reader }

// below draws a number from 0 and below the bound, each as likely.
func (s source) below(bound *big.Int) (*big.Int, error) {
	x, err := rand.Int(s.random, bound)
	if err != nil {
		return nil, fmt.Errorf("draw a random number: %w", err)
	}
	return x, nil
}

// distinct draws n numbers below the bound, or all of them where these are fewer, without repeating one and in random
// order. This is Floyd's way, by which every set is as likely and nothing is drawn in vain, however full the space is: of the last n
// numbers each in its turn gives way to one drawn from those up to it, unless that one is there already.
func (s source) distinct(n int, bound *big.Int) ([]*big.Int, error) {
	if big.NewInt(int64(n)).Cmp(bound) > 0 {
		n = int(bound.Int64())
	}
	drawn := make([]*big.Int, 0, n)
	seen := make(map[string]bool, n)
	one := big.NewInt(1)
	for last := new(big.Int).Sub(bound, big.NewInt(int64(n))); len(drawn) < n; {
		limit := new(big.Int).Add(last, one)
		x, err := s.below(limit)
		if err != nil {
			return nil, err
		}
		if seen[string(x.Bytes())] {
			x = new(big.Int).Set(last)
		}
		seen[string(x.Bytes())] = true
		drawn, last = append(drawn, x), limit
	}
	return s.shuffled(drawn)
}

// shuffled brings them into random order.
func (s source) shuffled(drawn []*big.Int) ([]*big.Int, error) {
	for i := range slices.Backward(drawn) {
		j, err := s.below(big.NewInt(int64(i) + 1))
		if err != nil {
			return nil, err
		}
		at := j.Int64()
		drawn[i], drawn[at] = drawn[at], drawn[i]
	}
	return drawn, nil
}
