package alloc_test

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// A range is what the format says is one, in text and tables alike: an ID may look like one.
func TestRangesOfASeedFile(t *testing.T) {
	type entries []alloc.SeedEntry
	on, off := alloc.SeedFormat{Ranges: true}, alloc.SeedFormat{}
	table := alloc.SeedFormat{CSV: true, Column: "code", Ranges: true}
	for _, c := range []struct {
		does, data string
		f          alloc.SeedFormat
		want       entries
		warns      string
	}{
		{"a range is each of its numbers, on its line, with as many digits", "A\n0008-0011\r\nB\n", on, entries{{1, "A"}, {2, "0008"}, {2, "0009"}, {2, "0010"}, {2, "0011"}, {3, "B"}}, "1 line was taken as a range, '0008-0011' on line 2, and written out to 4 IDs"},
		{"a range of one number is that", " 7-7 \n", on, entries{{1, "7"}}, "written out to 1 ID"},
		{"what is more or less than two numbers is an ID", "1-2-3\nA-B\n-5\n5-\n1–3\n", on, entries{{1, "1-2-3"}, {2, "A-B"}, {3, "-5"}, {4, "5-"}, {5, "1–3"}}, ""},
		{"a table has them too", "name;code\nx;10-12\ny;B\n", table, entries{{2, "10"}, {2, "11"}, {2, "12"}, {3, "B"}}, "1 line was taken as a range"},
		{"without a word it is an ID, and the warning says so", "1234-5678\n5678-1234\n2000-2001\n", off, entries{{1, "1234-5678"}, {2, "5678-1234"}, {3, "2000-2001"}}, "2 lines look like a range of numbers, the first '1234-5678' on line 1, and each was taken as an ID, as it stands"},
	} {
		t.Run(c.does, func(t *testing.T) {
			got, warnings, err := alloc.ReadSeed([]byte(c.data), c.f)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(c.want, entries(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			said := strings.ReplaceAll(strings.Join(warnings, "\n"), `"`, "'")
			if c.warns == "" && said != "" || !strings.Contains(said, c.warns) {
				t.Errorf("it warns %q, want %q", said, c.warns)
			}
		})
	}
	for data, says := range map[string]string{
		"A\n2000-1999\n":                 "line 2: the range 2000-1999 runs backwards",
		"8-11\n":                         "the same number of digits",
		"1000000-9999999\n":              "more than 100000 IDs",
		"000001-060000\n100001-160000\n": "line 2: the ranges make more than",
		strings.Repeat("0", 257) + "-" + strings.Repeat("9", 257): "at most 256 digits",
		strings.Repeat("0", 256) + "-" + strings.Repeat("9", 256): "more than 100000 IDs",
	} {
		if _, _, err := alloc.ReadSeed([]byte(data), on); !alloc.Is(err, alloc.CodeInvalidRequest) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v, want it refused as %q", data, err, says)
		}
	}
	long := strings.Repeat("8", 237) // with the rest more than any integer has
	for _, head := range []string{"89431000000000", long} {
		got, _, err := alloc.ReadSeed([]byte(head+"02989-"+head+"03101"), on)
		if err != nil || len(got) != 113 || got[0].Raw != head+"02989" || got[11].Raw != head+"03000" || got[112].Raw != head+"03101" {
			t.Errorf("of digits as many as %d it makes %d entries, %v", len(head), len(got), err)
		}
	}
	if got, _, err := alloc.ReadSeed([]byte("000001-100000"), on); err != nil || len(got) != alloc.MaxRangeIDs {
		t.Errorf("the longest range makes %d, %v", len(got), err)
	}
}

// A seeding's file has ranges by the format that it was opened with; the job says how its lines were taken, and its check which IDs would be new.
func TestASeedingWithRanges(t *testing.T) {
	for _, ranges := range []bool{true, false} {
		m := newMill(t, alloc.PoolConfig{})
		j := m.file(t, alloc.SeedFormat{Ranges: ranges}, "0098-0101\n", "NEW\n")
		want := alloc.Count(2)
		if ranges {
			want = 5
		}
		now := m.now(t, j.ID)
		if now.Total != want || !strings.Contains(told(now), "0098-0101") {
			t.Errorf("ranges %t: %d entries, and the log says %s", ranges, now.Total, told(now))
		}
		check, err := m.CheckSeeding(m.ctx, j.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		if now := m.now(t, j.ID); now.Spec.Check != check.ID {
			t.Errorf("the seeding knows of the check %q, want %q", now.Spec.Check, check.ID)
		}
		for range 5 {
			for _, step := range m.post.take() {
				if err := m.Work(m.ctx, step); err != nil {
					t.Error(err)
				}
			}
		}
		first := "0098-0101\nNEW"
		if ranges {
			first = "0098\n0099\n0100\n0101\nNEW"
		}
		if now := m.now(t, check.ID); now.Spec.FirstNew != first || now.Spec.LastNew != "NEW" || now.Tally.Added != want {
			t.Errorf("ranges %t: the check says %q to %q, %d", ranges, now.Spec.FirstNew, now.Spec.LastNew, now.Tally.Added)
		}
	}
}

// Of very many that would be added the first are named, and the last.
func TestACheckNamesTheFirstAndTheLast(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	j := m.file(t, alloc.SeedFormat{Ranges: true}, "0001-3000\n")
	check, err := m.CheckSeeding(m.ctx, j.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		for _, step := range m.post.take() {
			if err := m.Work(m.ctx, step); err != nil {
				t.Error(err)
			}
		}
	}
	now := m.now(t, check.ID)
	if got := strings.Split(now.Spec.FirstNew, "\n"); len(got) != alloc.SeedExamples || got[19] != "0020" || now.Spec.LastNew != "3000" {
		t.Errorf("%s: %v to %s", fmt.Sprint(now.State), got, now.Spec.LastNew)
	}
}
