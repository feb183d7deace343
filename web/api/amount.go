package api

import (
	"strconv"

	"idpool/alloc"
)

// amount is how many IDs of a pool there are, a number in JSON, or how many numbers of a sequence: these may be more than many
// readers of JSON can count, and are a string.
type amount struct {
	n      alloc.Count
	quoted bool
}

// counting makes an amount of a count.
type counting func(alloc.Count) amount

func ids(n alloc.Count) amount { return amount{n: n} }

func numbers(n alloc.Count) amount { return amount{n: n, quoted: true} }

func (a amount) String() string { return strconv.FormatInt(int64(a.n), 10) }

// MarshalJSON implements json.Marshaler.
func (a amount) MarshalJSON() ([]byte, error) {
	if a.quoted {
		return []byte(`"` + a.String() + `"`), nil
	}
	return []byte(a.String()), nil
}
