package generator

import (
	"encoding/hex"
	"errors"
	"math/big"
	"slices"
	"strings"
	"time"
)

// UUIDv7 and ULID are 128 bits, of which the first 48 are the milliseconds since 1970. What is random in the others is drawn for
// each ID anew and then sorted: so those of one call ascend, are distinct, and none tells anything of its neighbours.

const (
	uuidRandomBits = 74 // RFC 9562, section 5.7: rand_a and rand_b
	ulidRandomBits = 80
	crockford      = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	maxMillis      = 1<<48 - 1
)

// millis is the time as stamped.
func millis(now time.Time) (uint64, error) {
	ms := now.UnixMilli()
	if ms < 0 || ms > maxMillis {
		return 0, errors.New("the time is before 1970 or after 10889; set the clock")
	}
	return uint64(ms), nil
}

// stamped makes n numbers of 128 bits: the time, and random bits below it.
func (s source) stamped(n int, now time.Time, randomBits uint) ([]*big.Int, error) {
	ms, err := millis(now)
	if err != nil {
		return nil, err
	}
	drawn, err := s.distinct(n, new(big.Int).Lsh(big.NewInt(1), randomBits))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(drawn, (*big.Int).Cmp)
	stamp := new(big.Int).Lsh(new(big.Int).SetUint64(ms), randomBits)
	for _, d := range drawn {
		d.Or(d, stamp)
	}
	return drawn, nil
}

// uuidv7 writes 48 bits of time and 74 random ones as version 7 of the RFC's variant.
func uuidv7(x *big.Int) string {
	bits := func(shift uint, n uint) uint64 {
		mask := new(big.Int).SetUint64(1<<n - 1)
		return mask.And(mask, new(big.Int).Rsh(x, shift)).Uint64()
	}
	high := bits(74, 48)<<16 | 7<<12 | bits(62, 12)
	low := 2<<62 | bits(0, 62)
	var b [16]byte
	for i := range 8 {
		b[i], b[8+i] = byte(high>>(56-8*i)), byte(low>>(56-8*i))
	}
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func verifyUUID(id string) error {
	if len(id) != 36 {
		return errors.New("it is not of the form of a UUID: 36 characters")
	}
	for i := range len(id) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		if hyphen && id[i] != '-' || !hyphen && strings.IndexByte("0123456789abcdef", id[i]) < 0 {
			return errors.New("it is not of the form of a UUID: lower-case hexadecimal digits with hyphens")
		}
	}
	if id[14] != '7' || strings.IndexByte("89ab", id[19]) < 0 {
		return errors.New("it is a UUID, but not of version 7")
	}
	return nil
}

func ulid(x *big.Int) string {
	rest, digit, base := new(big.Int).Set(x), new(big.Int), big.NewInt(32)
	var b [26]byte
	for i := range slices.Backward(b[:]) {
		rest.DivMod(rest, base, digit)
		b[i] = crockford[digit.Int64()]
	}
	return string(b[:])
}

func verifyULID(id string) error {
	if len(id) != 26 || strings.Trim(id, crockford) != "" {
		return errors.New("it is not of the form of a ULID: 26 digits and upper-case letters without I, L, O and U")
	}
	if id[0] > '7' {
		return errors.New("it is more than a ULID can be, 7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
	}
	return nil
}
