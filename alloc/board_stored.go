package alloc

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"io"
	"time"
)

// coding writes records, or reads what was written: one description of the fields for both ways. A record stands with its length. What a
// later version adds to the end of a record is the zero value in what an earlier one wrote, and an earlier one passes over it.
type coding struct {
	reading bool
	data    []byte // what is written so far, or what is left to read
	damaged bool   // what was read is not what was written
}

// uint codes a number.
func (c *coding) uint(n uint64) uint64 {
	if !c.reading {
		c.data = binary.AppendUvarint(c.data, n)
		return n
	}
	if len(c.data) == 0 { // the record is older than the field
		return 0
	}
	n, size := binary.Uvarint(c.data)
	if size <= 0 {
		c.data, c.damaged = nil, true
		return 0
	}
	c.data = c.data[size:]
	return n
}

// bytes codes a text with its length.
func (c *coding) bytes(text []byte) []byte {
	size := c.uint(uint64(len(text)))
	if !c.reading {
		c.data = append(c.data, text...)
		return text
	}
	if size > uint64(len(c.data)) {
		c.data, c.damaged = nil, true
		return nil
	}
	text, c.data = c.data[:size], c.data[size:]
	return text
}

// number codes an integer; small ones are short, also below zero.
func number[T ~int64 | ~uint64](c *coding, n *T) {
	v := int64(*n)
	if u := c.uint(uint64(v)<<1 ^ uint64(v>>63)); c.reading {
		*n = T(int64(u>>1) ^ -int64(u&1))
	}
}

func text[T ~string](c *coding, s *T) {
	if read := c.bytes([]byte(*s)); c.reading {
		*s = T(read)
	}
}

func flag(c *coding, b *bool) {
	n := int64(0)
	if *b {
		n = 1
	}
	if number(c, &n); c.reading {
		*b = n != 0
	}
}

// moment codes a time to the second; the zero time is 0.
func moment(c *coding, t *time.Time) {
	n := int64(0)
	if !t.IsZero() {
		n = t.Unix()
	}
	number(c, &n)
	if c.reading {
		if *t = (time.Time{}); n != 0 {
			*t = time.Unix(n, 0).UTC()
		}
	}
}

// record codes what fields code, as one record.
func record(c *coding, fields func(*coding)) {
	inner := coding{reading: c.reading}
	if c.reading {
		inner.data = c.bytes(nil)
	}
	fields(&inner)
	if !c.reading {
		c.bytes(inner.data)
	}
	c.damaged = c.damaged || inner.damaged
}

// each codes a list of records.
func each[T any](c *coding, list *[]T, fields func(*coding, *T)) {
	count := c.uint(uint64(len(*list)))
	if !c.reading {
		for i := range *list {
			record(c, func(c *coding) { fields(c, &(*list)[i]) })
		}
		return
	}
	for *list = nil; count > 0 && len(c.data) > 0; count-- {
		var t T
		record(c, func(c *coding) { fields(c, &t) })
		*list = append(*list, t)
	}
	c.damaged = c.damaged || count > 0
}

func (b *Board) code(c *coding) {
	moment(c, &b.At)
	each(c, &b.Pools, func(c *coding, p *PoolOnBoard) { p.code(c) })
	each(c, &b.Sequences, func(c *coding, q *SequenceOnBoard) { q.code(c) })
	number(c, &b.Throttled)
	moment(c, &b.ThrottledAt)
}

func (p *PoolOnBoard) code(c *coding) {
	text(c, &p.Pool)
	moment(c, &p.At)
	text(c, &p.State)
	number(c, &p.Level.Available)
	number(c, &p.Level.Held)
	number(c, &p.Level.Claimed)
	number(c, &p.Level.Seeded)
	moment(c, &p.Level.CountedAt)
	number(c, &p.Low)
	number(c, &p.Target)
	flag(c, &p.Filled)
	flag(c, &p.Filling)
	text(c, &p.Dry)
	text(c, &p.Failed)
	moment(c, &p.Refilled)
	text(c, &p.Unknown)
	codeBurns(c, &p.Burns)
	number(c, &p.Trend.Hour)
	each(c, &p.Trend.Counts, number[Count])
	number(c, &p.Stock)
	moment(c, &p.StockSince)
	moment(c, &p.Behind)
}

func (q *SequenceOnBoard) code(c *coding) {
	text(c, &q.Sequence)
	moment(c, &q.At)
	text(c, &q.State)
	number(c, &q.Start)
	number(c, &q.Limit)
	number(c, &q.Next)
	number(c, &q.Left)
	codeBurns(c, &q.Burns)
}

// codeBurns codes burns that are in the order of ForecastWindows.
func codeBurns(c *coding, burns *[]Burn) {
	each(c, burns, func(c *coding, b *Burn) {
		seconds := int64(b.Span / time.Second)
		number(c, &seconds)
		number(c, &b.Used)
		if c.reading {
			b.Span = time.Duration(seconds) * time.Second
		}
	})
	if !c.reading {
		return
	}
	windows := ForecastWindows()
	*burns = (*burns)[:min(len(*burns), len(windows))]
	for i := range *burns {
		b := &(*burns)[i]
		b.Window = windows[i]
		if b.Span > 0 {
			b.PerHour = float64(b.Used) / b.Span.Hours()
		}
	}
}

// encode writes the board as a Store keeps it: one compressed record, of the most urgent.
func (b Board) encode() ([]byte, error) {
	b = b.sorted()
	b.Pools, b.Sequences = b.Pools[:min(len(b.Pools), maxOnBoard)], b.Sequences[:min(len(b.Sequences), maxOnBoard)]
	var c coding
	record(&c, b.code)
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(c.data)
	err = cmp.Or(err, w.Close())
	if err == nil && out.Len() > MaxBoardBytes {
		err = Errorf(CodeInternal, "the board has %d bytes, which is too much", out.Len())
	}
	return out.Bytes(), err
}

// decodeBoard reads what encode wrote; no bytes are no board.
func decodeBoard(data []byte) (b Board, err error) {
	if len(data) == 0 {
		return Board{}, nil
	}
	fail := func(err error) (Board, error) {
		return Board{}, Errorf(CodeInternal, "the board cannot be read; the next run of the schedule makes another").Because(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fail(err)
	}
	c := coding{reading: true}
	if c.data, err = io.ReadAll(r); err != nil {
		return fail(err)
	}
	record(&c, b.code)
	if c.damaged || len(c.data) > 0 {
		return fail(nil)
	}
	return b, nil
}
