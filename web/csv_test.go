package web

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"
)

func TestACellRunsNothing(t *testing.T) {
	tests := map[string]string{
		"": "", "A-1": "A-1", "a=b": "a=b", "1+1": "1+1", "é": "é",
		"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "+cmd": "'+cmd", "-cmd": "'-cmd", "\t=1": "'\t'=1", "\r=1": "'\r=1", "-2+3": "'-2+3",
		"+49301234": "+49301234", "-5": "-5", "+": "'+", "-": "'-", "--5": "'--5", "+-5": "'+-5", "-+5": "'-+5", "+5-": "'+5-",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠1": "'＠1",
		"a;=1": "a;'=1", "a;b;@x": "a;b;'@x", "a\t+1": "a\t'+1", ";": ";", `"=1"`: `"=1"`, "'=1": "'=1",
	}
	for cell, want := range tests {
		if got := harmless(cell); got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"A-1", "=1", "a,b", `a"b`, "a\nb", "a;=b", "+1", "\r\n", "é,=", "'"} {
		f.Add(s, "x")
		f.Add("x", s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.ContainsRune(a+b, '\r') { // a reader makes one line end of each
			return
		}
		data, err := WriteCSV([][]string{{a, b}, {b, a}})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil {
			t.Fatalf("%q cannot be read: %v", data, err)
		}
		if want := [][]string{{harmless(a), harmless(b)}, {harmless(b), harmless(a)}}; !slices.EqualFunc(rows, want, slices.Equal) {
			t.Fatalf("%q is read as %q, want %q", data, rows, want)
		}
		for _, cell := range slices.Concat(rows...) {
			if cell != "" && strings.ContainsRune("=@\t", rune(cell[0])) {
				t.Fatalf("the cell %q runs", cell)
			}
		}
	})
}
