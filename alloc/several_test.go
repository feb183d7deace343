package alloc

import (
	"testing"
	"time"
)

func TestNumbersInWordsHaveThousandsSeparators(t *testing.T) {
	for got, want := range map[string]string{
		inWords("%d of %d, %s at %v, %s, %q", 1234567, Number(18446744073709551615), "1234", Count(-1000), 90*time.Minute, "x"): `1,234,567 of 18,446,744,073,709,551,615, 1234 at -1,000, 1h30m0s, "x"`,
		inWords("%d %t %v", 999, true, nil): "999 true <nil>",
		several(1, "entry", "entries"):      "1 entry",
		several(0, "entry", "entries"):      "0 entries",
		several(1000, "entry", "entries"):   "1,000 entries",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
