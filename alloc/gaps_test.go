package alloc_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"idpool/alloc"
)

// What a later step goes on from is what the step before had, and nothing else is taken for it.
func TestGapsAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var g alloc.Gaps
		next := alloc.Number(0)
		for range rapid.IntRange(0, 5).Draw(rt, "entries") {
			start := next + alloc.Number(rapid.Uint64Range(0, 1<<60).Draw(rt, "gap"))
			e := alloc.LeaseRecord{Start: start, End: start + 9, Epoch: alloc.Epoch(rapid.IntRange(1, 2).Draw(rt, "epoch")), Token: "t"}
			if rapid.Bool().Draw(rt, "damaged") {
				e.Token = ""
			}
			g, next = g.Plus(e, 0, time.Now()), start+10
		}
		if read, err := alloc.GapsFrom(g.String()); err != nil || read != g {
			rt.Fatalf("%q is read as %+v, %v, want %+v", g, read, err, g)
		}
	})
	for _, text := range []string{"", "1", "0.0.0.0.0.0.false ", "0.0.0.0.0.0.maybe", "-1.0.0.0.0.0", "00.0.0.0.0.0.false", "0.0.0.0.0.0.false/1"} {
		_, err := alloc.GapsFrom(text)
		wantCode(t, err, alloc.CodeInvalidRequest)
	}
}
