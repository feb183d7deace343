package alloc

import (
	"fmt"
	"strings"
	"unicode"
)

// warnOfHeader warns of a table whose first entry, which was taken for an ID, may be a header: it has no digit, and most
// of the entries after it have one.
func warnOfHeader(entries []SeedEntry) []string {
	if len(entries) < 2 || hasDigit(entries[0].Raw) || isBlank(entries[0].Raw) {
		return nil
	}
	rest := entries[1:]
	if !isMost(rest, hasDigit) {
		return nil
	}
	return []string{fmt.Sprintf("the first line was taken for an ID, %s; if it is a header, send header=true",
		quoteShort(strings.TrimSpace(entries[0].Raw)))}
}

// warnOfCSV warns of plain text that may be a table: most of its lines, and at least two, have the same separator.
func warnOfCSV(entries []SeedEntry) []string {
	if len(entries) < 2 {
		return nil
	}
	for _, comma := range []string{"\t", ";", ","} {
		if isMost(entries, func(line string) bool { return strings.Contains(strings.TrimSpace(line), comma) }) {
			return []string{"the lines look like CSV, and each was taken as a whole for an ID; if they are, send Content-Type: text/csv"}
		}
	}
	return nil
}

func hasDigit(s string) bool { return strings.ContainsFunc(s, unicode.IsDigit) }

// isMost reports whether more than half of the entries are such.
func isMost(entries []SeedEntry, such func(raw string) bool) bool {
	n := 0
	for _, e := range entries {
		if such(e.Raw) {
			n++
		}
	}
	return n > len(entries)/2
}
