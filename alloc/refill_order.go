package alloc

import (
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"
)

// order is the name of a batch from when it is ordered on: a token that begins with the time at which it was.
type order JobID

func newOrder(at time.Time) order { return order(newIntent(at)) }

// orderMark stands in a record without IDs between the order's name, which is empty where there is none, and what sets the
// change apart from all others.
const orderMark = "."

// orderOf is the order that a record has.
func orderOf(r Refill) order {
	name, _, _ := strings.Cut(string(r.Batch), orderMark)
	return order(name)
}

// unique is what a record without IDs has as its batch.
func (o order) unique() JobID { return JobID(o) + orderMark + JobID(NewToken()) }

// at is when the batch was ordered; the zero time for none.
func (o order) at() time.Time {
	b, err := base32.HexEncoding.WithPadding(base32.NoPadding).DecodeString(string(o))
	if err != nil || len(b) < 8 {
		return time.Time{}
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b) >> 16)).UTC()
}
