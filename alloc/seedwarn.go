package alloc

import (
	"fmt"
	"strings"
	"unicode"
)

// seedNotes is what is noted of the entries of a file, so that its end tells whether it may be meant in another way.
type seedNotes struct {
	entries int
	first   string // of them
	digits  int    // of those after the first, how many have a digit
	commas  [3]int // how many have each of warnCommas
}

// warnCommas are what separates cells.
var warnCommas = [3]string{"\t", ";", ","}

func (n *seedNotes) add(e SeedEntry) {
	if n.entries++; n.entries == 1 {
		n.first = e.Raw
	} else if hasDigit(e.Raw) {
		n.digits++
	}
	line := strings.TrimSpace(e.Raw)
	for i, comma := range warnCommas {
		if strings.Contains(line, comma) {
			n.commas[i]++
		}
	}
}

// warnOfHeader warns of a table whose first entry, which was taken for an ID, may be a header: it has no digit, and most
// of the entries after it have one.
func (n *seedNotes) warnOfHeader() []string {
	if n.entries < 2 || hasDigit(n.first) || isBlank(n.first) || n.digits <= (n.entries-1)/2 {
		return nil
	}
	return []string{fmt.Sprintf("the first line was taken for an ID, %s; if it is a header, send header=true",
		quoteShort(strings.TrimSpace(n.first)))}
}

// warnOfCSV warns of plain text that may be a table: most of its lines, and at least two, have the same separator.
func (n *seedNotes) warnOfCSV() []string {
	if n.entries < 2 {
		return nil
	}
	for _, lines := range n.commas {
		if lines > n.entries/2 {
			return []string{"the lines look like CSV, and each was taken as a whole for an ID; if they are, send Content-Type: text/csv"}
		}
	}
	return nil
}

func hasDigit(s string) bool { return strings.ContainsFunc(s, unicode.IsDigit) }
