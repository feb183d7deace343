package alloc

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"strconv"
)

// A piece is what one step of a seeding adds: entries as they were cleaned, each as the number of lines after the one before and
// the text, both with their length. It is cut so that what is not added of it surely fits a part of the result.
const (
	pieceEntries = 1000
	pieceTwice   = pieceText + 1  // stands before an entry that is the same as one before in its part: then comes the line of that, and the entry
	pieceText    = MaxIDBytes + 1 // of an entry: what is longer is too long for an ID anyway, and is not shown as a whole

	// What a line of rejects has at most: three times the bytes of the text, as quotes are doubled and a byte that is no character
	// is shown as one of three bytes, and this beside it.
	rejectBytes = 160
)

// cutter cuts entries into pieces.
type cutter struct {
	fold   bool           // of the pool
	met    map[string]int // the lines of what was met in the part
	pieces [][]byte
	count  Count // entries in all

	entries, rejects, line int // of the last piece
}

// add cleans an entry and adds it to the last piece, or to a new one where that is full.
func (c *cutter) add(e SeedEntry) {
	text := clean(e.Raw, c.fold)
	if len(text) > pieceText {
		text = text[:pieceText]
	}
	reject := 3*len(text) + rejectBytes
	if len(c.pieces) == 0 || c.entries == pieceEntries || c.rejects+reject > MaxPartBytes {
		c.pieces = append(c.pieces, nil)
		c.entries, c.rejects, c.line = 0, 0, 0
	}
	last := &c.pieces[len(c.pieces)-1]
	*last = binary.AppendUvarint(*last, uint64(e.Line-c.line))
	if c.met == nil {
		c.met = map[string]int{}
	}
	if before, twice := c.met[text]; twice {
		*last = binary.AppendUvarint(*last, pieceTwice)
		*last = binary.AppendUvarint(*last, uint64(before))
	} else {
		c.met[text] = e.Line
	}
	*last = binary.AppendUvarint(*last, uint64(len(text)))
	*last = append(*last, text...)
	c.entries, c.rejects, c.line = c.entries+1, c.rejects+reject, e.Line
	c.count++
}

// pieceEntry is an entry of a piece: its Raw is cleaned.
type pieceEntry struct {
	SeedEntry
	twice int // the line on which the same text stands before, in the same part of the file; 0 for none
}

// readPiece returns the entries of a piece.
func readPiece(data []byte) ([]pieceEntry, error) {
	var entries []pieceEntry
	for line := 0; len(data) > 0; {
		after, n := binary.Uvarint(data)
		if n <= 0 || after > 1<<40 {
			return nil, damagedPiece()
		}
		size, m := binary.Uvarint(data[n:])
		twice := uint64(0)
		if m > 0 && size == pieceTwice {
			data = data[n+m:]
			if twice, n = binary.Uvarint(data); n <= 0 || twice > 1<<40 {
				return nil, damagedPiece()
			}
			size, m = binary.Uvarint(data[n:])
		}
		if m <= 0 || size > pieceText || size > uint64(len(data)-n-m) {
			return nil, damagedPiece()
		}
		text := data[n+m:][:size]
		line += int(after)
		entries = append(entries, pieceEntry{SeedEntry{Line: line, Raw: string(text)}, int(twice)})
		data = data[n+m+len(text):]
	}
	return entries, nil
}

func damagedPiece() *Error {
	return Errorf(CodeInternal, "a piece of the file cannot be read as it was kept")
}

// inputName names piece i of part n: after what the part has, so that the pieces of two that were sent as the same part
// do not mix.
func inputName(n int, digest string, i int) string {
	return fmt.Sprintf("%d.%.16s.%d", n, digest, i)
}

// pieceName names piece k of all that the job has received; ok is false where there are not so many.
func (j Job) pieceName(k int) (name string, ok bool) {
	for n, in := range j.Inputs {
		if k < in.Pieces {
			return inputName(n, in.Digest, k), true
		}
		k -= in.Pieces
	}
	return "", false
}

// pieces is how many pieces the job has received.
func (j Job) pieces() int {
	all := 0
	for _, in := range j.Inputs {
		all += in.Pieces
	}
	return all
}

// rejects writes what was not added of a piece.
type rejects struct {
	text  bytes.Buffer
	tally Tally
}

func (r *rejects) write(line int, id string, outcome SeedOutcome, reason string) error {
	w := csv.NewWriter(&r.text)
	if err := w.Write([]string{strconv.Itoa(line), id, string(outcome), reason}); err != nil {
		return Errorf(CodeInternal, "what was not added could not be written").Because(err)
	}
	w.Flush()
	return nil
}
