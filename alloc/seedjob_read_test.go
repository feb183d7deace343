package alloc_test

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"idpool/alloc"
)

func TestAFileInPartsIsReadAsOne(t *testing.T) {
	type entries []alloc.SeedEntry
	text, table := alloc.SeedFormat{}, alloc.SeedFormat{CSV: true}
	for _, c := range []struct {
		does  string
		parts []string
		f     alloc.SeedFormat
		want  entries
	}{
		{"lines are counted through", []string{"A1\n\nA2\n", "\nA3\n", "A4"}, text, entries{{1, "A1"}, {3, "A2"}, {5, "A3"}, {6, "A4"}}},
		{"a part may be empty, the first one too", []string{"", "code\nA1\n", "", "A2\n"}, text, entries{{2, "A1"}, {3, "A2"}}},
		{"blank lines before the first record decide nothing", []string{"\n\n", "\n", "code\nA1\n", "code\n"}, text, entries{{5, "A1"}, {6, "code"}}},
		{"a header stands alone in the first part", []string{"code\n", "id\n"}, text, entries{{2, "id"}}},
		{"a mark at the beginning of the file is no text", []string{"\uFEFFcode\n", "A1\n"}, text, entries{{2, "A1"}}},
		{"a mark further down is part of what stands there", []string{"A0\n", "\uFEFFA1\n"}, text, entries{{1, "A0"}, {2, "\uFEFFA1"}}},
		{"lines may end in CR", []string{"A1\rA2\r", "A3\rA4"}, text, entries{{1, "A1"}, {2, "A2"}, {3, "A3"}, {4, "A4"}}},
		{"a CR in a file of LF is part of the line, also in a part without LF", []string{"A1\n", "A\r2"}, text, entries{{1, "A1"}, {2, "A\r2"}}},
		{"the column of the first header holds for all", []string{"discount,code\n10,A1\n", "20,A2\n", "30\n"}, alloc.SeedFormat{CSV: true, Column: "code"}, entries{{2, "A1"}, {3, "A2"}, {4, ""}}},
		{"a header is no header in a later part", []string{"code,x\nA1,1\n", "code,2\n"}, table, entries{{2, "A1"}, {3, "code"}}},
		{"the separator of the first part holds for all", []string{"A1;1\nA2;2\n", "A3,5;1\nA4,5;2\n"}, table, entries{{1, "A1"}, {2, "A2"}, {3, "A3,5"}, {4, "A4,5"}}},
		{"a separator is declared at the beginning only", []string{"sep=|\n", "code|x\nA1|1\n", "sep=;\n"}, table, entries{{3, "A1"}, {4, "sep=;"}}},
		{"a quoted cell may have line ends", []string{"code\n\"A\n1\"\n", "\"A\n\n2\"\nA3\n"}, table, entries{{2, "A\n1"}, {4, "A\n\n2"}, {7, "A3"}}},
		{"a table of CR", []string{"code,x\rA1,1\r", "A2,2\r"}, table, entries{{2, "A1"}, {3, "A2"}}},
		{"header no holds for all", []string{"code\n", "id\n"}, alloc.SeedFormat{Header: alloc.HeaderNo}, entries{{1, "code"}, {2, "id"}}},
		{"header yes is about the first record", []string{"x\n", "y\n"}, alloc.SeedFormat{Header: alloc.HeaderYes}, entries{{2, "y"}}},
	} {
		t.Run(c.does, func(t *testing.T) {
			parts := make([][]byte, len(c.parts))
			for i, p := range c.parts {
				parts[i] = []byte(p)
			}
			got, err := alloc.ReadInParts(c.f, parts...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]alloc.SeedEntry(c.want), got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPartsThatCannotFollowAreRefused(t *testing.T) {
	table := alloc.SeedFormat{CSV: true}
	for _, c := range []struct {
		what  string
		parts []string
		f     alloc.SeedFormat
		says  string
	}{
		{"a part behind a line without end", []string{"A1\nA", "2\n"}, alloc.SeedFormat{}, "does not end with a line end"},
		{"a part behind a CRLF that was cut", []string{"A1\r\nA2\r", "\nA3\r\n"}, alloc.SeedFormat{}, "does not end with a line end"},
		{"lines of LF behind lines of CR", []string{"A1\rA2\r", "A3\n"}, alloc.SeedFormat{}, "one of both"},
		{"a record that was cut", []string{"code\n\"A\n", "1\"\n"}, table, "begins on line 2"},
		{"quotes in a later part, by the lines of the file", []string{"code\nA1\n", "A2\nA\"3\n"}, table, "line 4: a quote"},
		{"UTF-16 in a later part", []string{"A1\n", "\xff\xfeA\x001\x00"}, alloc.SeedFormat{}, "UTF-16"},
		{"a column that is not there", []string{"\n", "id,x\n"}, alloc.SeedFormat{CSV: true, Column: "code"}, `no column "code"`},
	} {
		t.Run(c.what, func(t *testing.T) {
			parts := make([][]byte, len(c.parts))
			for i, p := range c.parts {
				parts[i] = []byte(p)
			}
			got, err := alloc.ReadInParts(c.f, parts...)
			if !alloc.Is(err, alloc.CodeInvalidRequest) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, %v; want invalid_request saying %q", got, err, c.says)
			}
		})
	}
}

// However a file is cut between its records, its parts give what the whole gives.
func TestPartsGiveWhatTheWholeGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := alloc.SeedFormat{CSV: rapid.Bool().Draw(t, "table"), Header: rapid.SampledFrom([]alloc.HeaderMode{"", alloc.HeaderYes, alloc.HeaderNo}).Draw(t, "header")}
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "line end")
		cell := rapid.OneOf(rapid.Just("code"), rapid.Just(""), rapid.StringMatching(`[A-D;, ]{0,4}`), rapid.StringMatching(`[0-9]{1,3}`))
		var whole bytes.Buffer
		var cuts []int
		comma := rapid.SampledFrom([]rune{',', ';', '\t'}).Draw(t, "comma")
		if f.CSV {
			whole.WriteString("sep=" + string(comma) + end)
		}
		for range rapid.IntRange(0, 12).Draw(t, "records") {
			if rapid.Bool().Draw(t, "cut") {
				cuts = append(cuts, whole.Len())
			}
			if !f.CSV {
				whole.WriteString(cell.Draw(t, "line") + end)
				continue
			}
			var record bytes.Buffer
			w := csv.NewWriter(&record)
			w.Comma = comma
			if err := w.Write(rapid.SliceOfN(cell, 1, 3).Draw(t, "record")); err != nil {
				t.Fatal(err)
			}
			w.Flush()
			whole.WriteString(strings.ReplaceAll(record.String(), "\n", end))
		}
		data := whole.Bytes()
		if rapid.Bool().Draw(t, "no end at the end") {
			data = bytes.TrimSuffix(data, []byte(end))
		}
		want, _, wantErr := alloc.ReadSeed(data, f)
		var parts [][]byte
		last := 0
		for _, at := range cuts {
			if at > len(data) {
				break
			}
			parts, last = append(parts, data[last:at]), at
		}
		got, err := alloc.ReadInParts(f, append(parts, data[last:])...)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q in %d parts: %v, want %v", data, len(parts)+1, err, wantErr)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q in %d parts (-whole +parts):\n%s", data, len(parts)+1, diff)
		}
	})
}

// Pieces keep what was cut into them, have at most so many entries, and what is not added of them fits a part.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.OneOf(
			rapid.StringMatching(`[A-Z0-9]{1,12}`), rapid.Just(strings.Repeat(`"`, alloc.MaxIDBytes)), rapid.Just(strings.Repeat("é", alloc.MaxIDBytes/2)),
			rapid.Just(strings.Repeat("\x01", 40)), rapid.Just(strings.Repeat("x", 5000)), rapid.Just(strings.Repeat("\xff", 300)), rapid.Just(""), rapid.String(),
			rapid.Just(strings.Repeat("\U0001F600", 60)), rapid.Just("a\uFFFD,\""),
		)
		some := rapid.SliceOfN(raw, 1, 30).Draw(t, "texts")
		n := rapid.IntRange(1, 2500).Draw(t, "entries")
		var entries []alloc.SeedEntry
		line := rapid.IntRange(1, 1<<30).Draw(t, "first line")
		for i := range n {
			entries = append(entries, alloc.SeedEntry{Line: line, Raw: some[i%len(some)]})
			line += 1 + i%7
		}
		var back []alloc.SeedEntry
		for _, piece := range alloc.CutPieces(entries) {
			got, err := alloc.ReadPiece(piece)
			if err != nil || len(got) == 0 || len(got) > 1000 || len(piece) > alloc.MaxPartBytes {
				t.Fatalf("a piece of %d bytes and %d entries, %v", len(piece), len(got), err)
			}
			if text, err := alloc.RejectAll(got); err != nil || len(text) > alloc.MaxPartBytes {
				t.Fatalf("%d entries have %d bytes of rejects, %v", len(got), len(text), err)
			}
			back = append(back, got...)
		}
		if len(back) != len(entries) {
			t.Fatalf("%d entries of %d", len(back), len(entries))
		}
		for i, e := range entries {
			id, err := alloc.CleanID(e.Raw, false)
			if back[i].Line != e.Line || err == nil && back[i].Raw != string(id) || (err == nil) != (alloc.CheckID(back[i].Raw) == nil) {
				t.Fatalf("entry %+v came back as %+v", e, back[i])
			}
		}
	})
}

func FuzzReadPiece(f *testing.F) {
	for _, piece := range alloc.CutPieces([]alloc.SeedEntry{{Line: 1, Raw: "A1"}, {Line: 300, Raw: strings.Repeat("x", 300)}}) {
		f.Add(piece)
	}
	f.Add([]byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{1, 200, 'a'})
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := alloc.ReadPiece(data)
		if err != nil {
			if !alloc.Is(err, alloc.CodeInternal) {
				t.Fatalf("got %v", err)
			}
			return
		}
		size := 0
		for _, e := range entries {
			size += len(e.Raw)
		}
		if size > len(data) {
			t.Fatalf("%d bytes of text in %d", size, len(data))
		}
	})
}
