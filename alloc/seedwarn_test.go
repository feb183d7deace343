package alloc_test

import (
	"strings"
	"testing"

	"idpool/alloc"
)

func TestReadSeedWarns(t *testing.T) {
	text, table := alloc.SeedFormat{}, alloc.SeedFormat{CSV: true}
	const header, isCSV = `an ID, "Gutscheincode"; if it is a header, send header=true`, "send Content-Type: text/csv"
	for _, c := range []struct {
		does string
		data string
		f    alloc.SeedFormat
		says string // part of the one warning; "" for none
	}{
		{"a header of no known word", "Gutscheincode;Rabatt\nA1;10\nA2;20\nB;20\n", table, header},
		{"the same when it was asked for", "Gutscheincode;Rabatt\nA1;10\n", alloc.SeedFormat{CSV: true, Header: alloc.HeaderAuto}, header},
		{"a header that was said to be one", "Gutscheincode;Rabatt\nA1;10\n", alloc.SeedFormat{CSV: true, Header: alloc.HeaderYes}, ""},
		{"a first line that was said to be data", "Gutscheincode;Rabatt\nA1;10\n", alloc.SeedFormat{CSV: true, Header: alloc.HeaderNo}, ""},
		{"a named column", "Gutscheincode;Rabatt\nA;10\nA1;20\n", alloc.SeedFormat{CSV: true, Column: "Gutscheincode"}, ""},
		{"a first ID without digit under a known header", "code;Rabatt\nABC;10\nA1;10\nA2;9\n", table, ""},
		{"a first ID with a digit", "A0;5\nA1;10\n", table, ""},
		{"IDs of letters alone", "ABC;5\nDEF;10\n", table, ""},
		{"digits in half of the others", "ABC;5\nDEF;10\nA1;3\n", table, ""},
		{"one column", "Gutscheincode\nA1\nA2\n", table, ""},
		{"a record alone", "Gutscheincode;Rabatt\n", table, ""},
		{"no ID in the first record", ";Rabatt\nA1;3\n", table, ""},

		{"text with semicolons", "A1;5\nA2;6\n", text, isCSV},
		{"text with commas in most lines", "A1,5\nA2,6\nA3\n", text, isCSV},
		{"text with tabs", "A1\t5\nA2\t6\n", text, isCSV},
		{"text with a separator in half of the lines", "A1,5\nA2\n", text, ""},
		{"text with different separators", "A1,5\nA2;5\nA3\t5\n", text, ""},
		{"text with a tab at the end of lines", "A1\t\nA2\t\n", text, ""},
		{"one line", "A1,5\n", text, ""},
		{"plain text", "A1\nA2\n", text, ""},
		{"nothing", "", text, ""},
	} {
		t.Run(c.does, func(t *testing.T) {
			_, got, err := alloc.ReadSeed([]byte(c.data), c.f)
			switch {
			case err != nil:
				t.Fatal(err)
			case c.says == "" && len(got) != 0, c.says != "" && (len(got) != 1 || !strings.Contains(got[0], c.says)):
				t.Errorf("got the warnings %q, want %q", got, c.says)
			}
		})
	}
}
