package alloc

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// breakKind is what is wrong at a place of the trail.
type breakKind string

const (
	breakMissing breakKind = "missing" // records are not there
	breakChanged breakKind = "changed" // a record is not as it was sealed
	breakBegun   breakKind = "begun"   // a record follows one that is not there
	breakOrder   breakKind = "order"   // a record does not follow the one before it
	breakEnd     breakKind = "end"     // a record is not the one that is known to have been there
)

// trailBreak is a place where the trail is not whole. What was seen there is kept as a digest: whoever acknowledges the break acknowledges this, and
// anything else that is found there later is another one.
type trailBreak struct {
	kind        breakKind
	month       string
	first, last int64 // positions
	seen        string
	acked       string // place of the record that acknowledges it; "" for none
}

// seen is the digest of what was seen.
func seen(what string, fields ...string) string {
	h := sha256.New()
	for _, field := range append([]string{what}, fields...) {
		h.Write([]byte(strconv.Itoa(len(field)) + ":" + field)) // never returns an error
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// seenLink is what is seen between two records: the first has the one hash, and the second was to follow the other. It is the same whether the
// second is there yet, or only the end of the month.
func seenLink(there, wanted string) string { return seen("link", there, wanted) }

func seenMissing(month string, first, last int64) string {
	return seen("missing", month, strconv.FormatInt(first, 10), strconv.FormatInt(last, 10))
}

func (b trailBreak) place() string {
	return AuditRecord{Link: Link{Month: b.month, Position: b.first}}.Place()
}

// words says what is wrong.
func (b trailBreak) words() string {
	switch b.kind {
	case breakMissing:
		if b.first == b.last {
			return fmt.Sprintf("record %d of the month is missing", b.first)
		}
		return fmt.Sprintf("records %d to %d of the month are missing", b.first, b.last)
	case breakChanged:
		return "the record was changed after it was written: it does not have the hash with which it was sealed"
	case breakBegun:
		return "it follows a record that is not there: what was before it was removed"
	case breakOrder:
		return "it does not follow the record before it, which was replaced, or is not the one that was there"
	}
	return "it is not the record that the end of its month, which is kept apart, is known by"
}

// finding is how the break is told: one that was acknowledged is for information.
func (b trailBreak) finding() Finding {
	f := Finding{Kind: FindTrail, On: b.place(), Detail: b.words(), Seen: b.seen}
	if b.acked != "" {
		f.Kind, f.Detail = FindAcknowledged, fmt.Sprintf("%s; the record %s acknowledges that", f.Detail, b.acked)
	}
	return f
}

// chainMark is where the verification of the trail stands: behind a record of a month, or behind all of them; and the breaks that it has met, as records
// that come later may acknowledge them.
type chainMark struct {
	month    string // "" before the first one
	position int64
	hash     string // of the last record before; "" for none
	breaks   []trailBreak
}

func (m chainMark) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%q %d %q", m.month, m.position, m.hash)
	for _, b := range m.breaks {
		fmt.Fprintf(&text, " %s %q %d %d %s %q", b.kind, b.month, b.first, b.last, b.seen, b.acked)
	}
	return text.String()
}

func readChainMark(text string) (m chainMark, err error) {
	if text == "" {
		return chainMark{}, nil
	}
	in := strings.NewReader(text)
	_, err = fmt.Fscanf(in, "%q %d %q", &m.month, &m.position, &m.hash)
	for err == nil && in.Len() > 0 {
		var b trailBreak
		_, err = fmt.Fscanf(in, " %s %q %d %d %s %q", &b.kind, &b.month, &b.first, &b.last, &b.seen, &b.acked)
		m.breaks = append(m.breaks, b)
	}
	if err != nil {
		return chainMark{}, Errorf(CodeInternal, "where the verification of the trail goes on is not known").Because(err)
	}
	return m, nil
}
