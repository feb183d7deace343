package alloc_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"idpool/alloc"
)

func TestReadSeed(t *testing.T) {
	type entries []alloc.SeedEntry
	text, table := alloc.SeedFormat{}, alloc.SeedFormat{CSV: true}
	for _, c := range []struct {
		does string
		data string
		f    alloc.SeedFormat
		want entries
	}{
		{"text has one ID per line", "A1\nA2\n", text, entries{{1, "A1"}, {2, "A2"}}},
		{"text needs no line end at its end", "A1\nA2", text, entries{{1, "A1"}, {2, "A2"}}},
		{"blank lines count as lines and give nothing", "\nA1\n  \n\t\nA2\n\n", text, entries{{2, "A1"}, {5, "A2"}}},
		{"lines may end in CRLF", "A1\r\n\r\nA2\r\n", text, entries{{1, "A1"}, {3, "A2"}}},
		{"lines may end in CR", "A1\r\rA2\r", text, entries{{1, "A1"}, {3, "A2"}}},
		{"a CR inside a line that LF ends is part of the ID", "A\r1\nA2\n", text, entries{{1, "A\r1"}, {2, "A2"}}},
		{"a UTF-8 mark is no part of the first ID", "\uFEFFA1\n", text, entries{{1, "A1"}}},
		{"a UTF-8 mark alone is an empty file", "\uFEFF", text, nil},
		{"text keeps separators, quotes and spaces", " A;1,\"x\" \n", text, entries{{1, " A;1,\"x\" "}}},
		{"text may have a header", "Voucher-Code\nA1\n", text, entries{{2, "A1"}}},
		{"a header further down is an ID", "A1\ncode\n", text, entries{{1, "A1"}, {2, "code"}}},
		{"without header the word is an ID", "code\nA1\n", alloc.SeedFormat{Header: alloc.HeaderNo}, entries{{1, "code"}, {2, "A1"}}},
		{"with header any first line is one", "\nSommeraktion\nA1\n", alloc.SeedFormat{Header: alloc.HeaderYes}, entries{{3, "A1"}}},
		{"bytes that are not UTF-8 are kept", "A\xff\nA2\n", text, entries{{1, "A\xff"}, {2, "A2"}}},
		{"an empty file has no entries", "", text, nil},
		{"an empty table has no entries", "", table, nil},
		{"a header alone has no entries", "code,discount\n", table, nil},

		{"a table gives its first column", "A1,10\nA2,20\n", table, entries{{1, "A1"}, {2, "A2"}}},
		{"cells keep their spaces", "code\n  A1 \nA2\t\n", table, entries{{2, "  A1 "}, {3, "A2\t"}}},
		{"quoted cells may hold separators, quotes and line ends", "code,x\n\"A,1\",\"a\r\nb\"\n\"A\"\"2\",\n", table, entries{{2, "A,1"}, {4, `A"2`}}},
		{"a record's line is the one it begins on", "code\n\n\n\"A\n1\"\nA2\n", table, entries{{4, "A\n1"}, {6, "A2"}}},
		{"a table may use CR alone", "code,x\rA1,1\r\rA2,2\r", table, entries{{2, "A1"}, {4, "A2"}}},
		{"semicolons separate", "code;price\nA1;12,50\nA2;9\n", table, entries{{2, "A1"}, {3, "A2"}}},
		{"semicolons separate beside decimal commas in every record", "A1;12,50\nA2;9,90\n", table, entries{{1, "A1"}, {2, "A2"}}},
		{"tabs separate", "code\tprice, net\nA1\t9\n", table, entries{{2, "A1"}}},
		{"a tab behind some codes does not separate", "code,price\nA1\t,9\nA2,9\n", table, entries{{2, "A1\t"}, {3, "A2"}}},
		{"a separator inside quotes does not separate", "\"a;b\",1\n\"c;d\",2\n", table, entries{{1, "a;b"}, {2, "c;d"}}},
		{"a spreadsheet's sep line is obeyed", "sep=|\r\ncode|price\r\nA1|9\r\n", table, entries{{3, "A1"}}},
		{"a sep line with more behind it is a record", "sep=ab\nA1\n", table, entries{{1, "sep=ab"}, {2, "A1"}}},
		{"records may be ragged", "code,x\nA1\nA2,1,2,3\n", table, entries{{2, "A1"}, {3, "A2"}}},
		{"records without text are blank", "code,x,y\n,,\nA1,1,\n \t,,\n", table, entries{{3, "A1"}}},
		{"a record with text but without ID is an entry", "code,x\n,spring\n", table, entries{{2, ""}}},
		{"a column can be named in any case", "Discount , Voucher CODE\n10,A1\n20\n", alloc.SeedFormat{CSV: true, Column: "voucher code"}, entries{{2, "A1"}, {3, ""}}},
		{"a named column needs no known word", "x,Gutschein\n10,A1\n", alloc.SeedFormat{CSV: true, Column: "gutschein"}, entries{{2, "A1"}}},
		{"without header a table's first record is data", "code,x\nA1,1\n", alloc.SeedFormat{CSV: true, Header: alloc.HeaderNo}, entries{{1, "code"}, {2, "A1"}}},
		{"with header a table's first record never is", "A0,x\nA1,1\n", alloc.SeedFormat{CSV: true, Header: alloc.HeaderYes}, entries{{2, "A1"}}},
	} {
		t.Run(c.does, func(t *testing.T) {
			got, _, err := alloc.ReadSeed([]byte(c.data), c.f)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]alloc.SeedEntry(c.want), got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadSeedRefuses(t *testing.T) {
	table := alloc.SeedFormat{CSV: true}
	for _, c := range []struct {
		what string
		data string
		f    alloc.SeedFormat
		says string // part of the message
	}{
		{"UTF-16, little end first", "\xff\xfeA\x001\x00", table, "UTF-16"},
		{"UTF-16, big end first", "\xfe\xff\x00A\x001", table, "UTF-16"},
		{"UTF-16 without a mark", "A\x001\x00\n\x00", alloc.SeedFormat{}, "UTF-16"},
		{"a workbook", "PK\x03\x04 and so on", table, "workbook"},
		{"a compressed file", "\x1f\x8b\x08 and so on", alloc.SeedFormat{}, "gzip"},
		{"an old workbook", "\xd0\xcf\x11\xe0 and so on", table, "workbook"},
		{"a quote that is never closed", "code\nA1\n\"A2\nA3\n", table, "begins on line 3"},
		{"text behind a closing quote", "code\n\"A\n1\"x\n", table, "begins on line 2 are not balanced (seen on line 3)"},
		{"a quote inside an open cell", "code\n\nA\"1\n", table, "line 3: a quote"},
		{"lines are counted from the sep line on", "sep=;\ncode\nA\"1\n", table, "line 3: a quote"},
		{"a column that is not there", "id,x\nA1,1\n", alloc.SeedFormat{CSV: true, Column: "code"}, `there is no column "code"; the first line names "id", "x"`},
		{"a column named twice", "Code,code\nA1,1\n", alloc.SeedFormat{CSV: true, Column: "code"}, "more than once"},
		{"a column of plain text", "A1\n", alloc.SeedFormat{Column: "code"}, "plain text has no columns"},
		{"a column without header", "A1\n", alloc.SeedFormat{CSV: true, Column: "code", Header: alloc.HeaderNo}, "chosen by name"},
		{"an unknown header mode", "A1\n", alloc.SeedFormat{Header: "maybe"}, "header must be"},
		{"a header whose IDs stand further right", "campaign,Code\nspring,A1\n", table, `under "Code"`},
	} {
		t.Run(c.what, func(t *testing.T) {
			got, _, err := alloc.ReadSeed([]byte(c.data), c.f)
			if !alloc.Is(err, alloc.CodeInvalidRequest) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, %v; want invalid_request saying %q", got, err, c.says)
			}
		})
	}
}

// The voucher export of a customer, as it was sent.
func TestReadSeedOfTheExport(t *testing.T) {
	data, err := os.ReadFile("testdata/codes.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []alloc.SeedFormat{{CSV: true}, {CSV: true, Column: "CODE"}, {CSV: true, Header: alloc.HeaderYes}} {
		got, _, err := alloc.ReadSeed(data, f)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 2447 {
			t.Errorf("%+v: got %d entries, want 2447: 2,407 codes, 37 repeats, 3 that are no codes", f, len(got))
		}
		lines := bytes.Split(data, []byte("\r\n"))
		for _, e := range got {
			cell := strings.ReplaceAll(strings.TrimSpace(e.Raw), `"`, `""`)
			if !bytes.Contains(lines[e.Line-1], []byte(cell)) {
				t.Fatalf("%+v: line %d is said to hold %q, it is %q", f, e.Line, e.Raw, lines[e.Line-1])
			}
		}
	}
}

// Whatever a writer of CSV writes, ReadSeed reads: the same cells, each on its line.
func TestReadSeedReadsWhatCSVWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringMatching(`[ -~äé\n]{0,8}`)
		var file bytes.Buffer
		w := csv.NewWriter(&file)
		w.Comma = rapid.SampledFrom([]rune{',', ';', '\t'}).Draw(t, "comma")
		w.UseCRLF = rapid.Bool().Draw(t, "crlf")
		fmt.Fprintf(&file, "sep=%c\n", w.Comma)
		var want []alloc.SeedEntry
		for range rapid.IntRange(0, 12).Draw(t, "records") {
			record := rapid.SliceOfN(cell, 1, 4).Draw(t, "record")
			line := bytes.Count(file.Bytes(), []byte("\n")) + 1
			if err := w.Write(record); err != nil {
				t.Fatal(err)
			}
			w.Flush()
			if strings.TrimSpace(strings.Join(record, "")) != "" {
				want = append(want, alloc.SeedEntry{Line: line, Raw: record[0]})
			}
		}
		got, _, err := alloc.ReadSeed(file.Bytes(), alloc.SeedFormat{CSV: true, Header: alloc.HeaderNo})
		if err != nil {
			t.Fatalf("%v in %q", err, file.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("entries of %q (-want +got):\n%s", file.String(), diff)
		}
	})
}

func FuzzReadSeed(f *testing.F) {
	f.Add([]byte("\uFEFFcode,x\r\nA1,\"a\r\nb\"\r\n"), true, "", "auto")
	f.Add([]byte("a;code\n1;A\n"), true, "CODE", "")
	f.Add([]byte("A\rB\r\n\xff\n"), false, "", "no")
	f.Add([]byte("sep=\t\n\"A"), true, "", "yes")
	f.Fuzz(func(t *testing.T, data []byte, isCSV bool, column, header string) {
		entries, _, err := alloc.ReadSeed(data, alloc.SeedFormat{CSV: isCSV, Column: column, Header: alloc.HeaderMode(header)})
		if err != nil {
			if !alloc.Is(err, alloc.CodeInvalidRequest) {
				t.Fatalf("got %v, want no error but invalid_request", err)
			}
			return
		}
		lines := 1 + bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r"))
		last := 0
		for _, e := range entries {
			if e.Line <= last || e.Line > lines {
				t.Fatalf("line %d after %d of %d", e.Line, last, lines)
			}
			last = e.Line
			if !isCSV && (strings.Contains(e.Raw, "\n") || !bytes.Contains(data, []byte(e.Raw))) {
				t.Fatalf("entry %q is not in the input", e.Raw)
			}
		}
	})
}
