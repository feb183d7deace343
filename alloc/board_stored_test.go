package alloc

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// fullBoard has a value in each field that is kept.
func fullBoard() Board {
	at := time.Date(2026, 11, 29, 12, 0, 7, 0, time.UTC)
	burns := []Burn{{Window: time.Hour, Span: time.Hour, Used: 60, PerHour: 60}, {Window: 24 * time.Hour, Span: 2 * time.Hour, Used: 70, PerHour: 35}}
	return Board{
		At: at,
		Pools: []PoolOnBoard{{
			Pool: "a", At: at, State: PoolActive, Level: Level{Available: 1, Held: 2, Claimed: 3, Seeded: 4, CountedAt: at}, Low: 5, Target: 6,
			Filled: true, Filling: true, Dry: "dry", Failed: "failed é", Refilled: at, Unknown: "unknown", Burns: burns, Trend: Trend{7, []Count{-1, 0, math.MaxInt64}},
			Stock: 8, StockSince: at, Behind: at,
		}, {Pool: "empty"}},
		Sequences: []SequenceOnBoard{{Sequence: "s", At: at, State: SequenceActive, Start: 1, Limit: MaxNumber, Next: MaxNumber + 1, Left: 3, Burns: burns}},
		Throttled: 9, ThrottledAt: at,
	}
}

func TestABoardIsReadAsItWasWritten(t *testing.T) {
	for _, want := range []Board{{}, fullBoard()} {
		want = want.sorted()
		data, err := want.encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeBoard(data); err != nil || !sameBoard(got, want) {
			t.Errorf("got %+v and %v, want %+v", got, err, want)
		}
	}
}

// sameBoard compares boards; no list is an empty one.
func sameBoard(a, b Board) bool {
	return a.At.Equal(b.At) && a.Throttled == b.Throttled && a.ThrottledAt.Equal(b.ThrottledAt) && len(a.Pools) == len(b.Pools) && len(a.Sequences) == len(b.Sequences) &&
		(len(a.Pools) == 0 || reflect.DeepEqual(a.Pools, b.Pools)) && (len(a.Sequences) == 0 || reflect.DeepEqual(a.Sequences, b.Sequences))
}

func TestABoardOfAnotherVersionIsReadAsFarAsItGoes(t *testing.T) {
	type older struct{ name string }
	type newer struct {
		name, text string
		n          Count
		list       []Count
	}
	codeOld := func(c *coding, o *older) { text(c, &o.name) }
	codeNew := func(c *coding, n *newer) {
		text(c, &n.name)
		text(c, &n.text)
		number(c, &n.n)
		each(c, &n.list, number[Count])
	}
	var c coding
	each(&c, &[]older{{"a"}, {"b"}}, codeOld)
	var read []newer
	r := coding{reading: true, data: c.data}
	if each(&r, &read, codeNew); r.damaged || !reflect.DeepEqual(read, []newer{{name: "a"}, {name: "b"}}) {
		t.Errorf("what an earlier version wrote: got %+v, damaged %t", read, r.damaged)
	}
	c = coding{}
	each(&c, &[]newer{{"a", "x", -5, []Count{1}}, {name: "b"}}, codeNew)
	var old []older
	r = coding{reading: true, data: c.data}
	if each(&r, &old, codeOld); r.damaged || !reflect.DeepEqual(old, []older{{"a"}, {"b"}}) {
		t.Errorf("what a later version wrote: got %+v, damaged %t", old, r.damaged)
	}
}

func TestABoardThatWasCutOrChangedIsAnErrorOrABoard(t *testing.T) {
	b := fullBoard()
	var c coding
	record(&c, b.code)
	for i := range c.data {
		for _, data := range [][]byte{c.data[:i], append(append([]byte{}, c.data[:i]...), append([]byte{0xff}, c.data[i+1:]...)...)} {
			r := coding{reading: true, data: data}
			var got Board
			if record(&r, got.code); i > 0 && len(data) == i && !r.damaged {
				t.Errorf("cut to %d bytes: it is taken for whole", i)
			}
		}
	}
	for _, data := range []string{"x", "no board at all", strings.Repeat("\x1f\x8b", 9)} {
		if _, err := decodeBoard([]byte(data)); !Is(err, CodeInternal) {
			t.Errorf("%q: got %v, want %s", data, err, CodeInternal)
		}
	}
}
