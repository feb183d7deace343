package alloctest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/generator"
)

var boardCases = []testCase{
	{"there is no board before the first", func(w *world) { w.isBoard(nil) }},
	{"a board is read back to the byte, whatever its size", func(w *world) {
		for _, size := range []int{1, 1000, 299_999, 300_001, 1 << 20, alloc.MaxBoardBytes} {
			data := w.someBoard(size)
			w.clock.Advance(time.Minute)
			w.putBoard(w.clock.Now(), data)
			w.isBoard(data)
		}
		w.clock.Advance(time.Minute)
		w.putBoard(w.clock.Now(), []byte("short again"))
		w.isBoard([]byte("short again"))
	}},
	{"the board that was written last stays, whatever is put after it", func(w *world) {
		now, long := w.clock.Now(), w.someBoard(700_000)
		w.putBoard(now, long)
		for _, early := range []time.Duration{0, time.Millisecond, time.Minute, time.Hour} {
			w.putBoard(now.Add(-early), []byte("another"))
			w.putBoard(now.Add(-early), w.someBoard(800_000))
			w.isBoard(long)
		}
		w.putBoard(now.Add(time.Millisecond), []byte("later"))
		w.isBoard([]byte("later"))
	}},
	{"a board counts for a day", func(w *world) {
		data := w.someBoard(400_000)
		w.putBoard(w.clock.Now(), data)
		w.clock.Advance(alloc.BoardRetention - time.Second)
		w.isBoard(data)
		w.clock.Advance(time.Second)
		w.isBoard(nil)
		w.putBoard(w.clock.Now(), []byte("of another day"))
		w.isBoard([]byte("of another day"))
	}},
	{"of many boards put at once, one that was written last stays, whole", func(w *world) {
		n := w.callers() / 5
		stores, now := w.processes(n), w.clock.Now()
		boards := make([][]byte, n)
		for i := range boards {
			boards[i] = w.someBoard(350_000 + 1000*i)
		}
		w.together(n, func(i int) {
			if err := stores[i].PutBoard(w.Context(), now.Add(time.Duration(i/2)*time.Second), boards[i]); err != nil {
				w.Errorf("PutBoard beside others: got %v, want success", err)
			}
		})
		got := w.board()
		for _, b := range boards[(n-1)/2*2:] {
			if bytes.Equal(got, b) {
				return
			}
		}
		w.Errorf("after boards at once: got %d bytes that are none of those written last", len(got))
	}},
	{"pools with their levels are read many at once, as each is alone", func(w *world) {
		s := w.open()
		var names []alloc.PoolName
		for i := range 100 {
			name := alloc.PoolName(fmt.Sprintf("p%03d", (i*37)%100))
			names = append(names, name)
			switch i % 4 {
			case 0:
				w.full(name, 3+i)
				w.claim(s, order(name, alloc.Count(i%3+1)))
			case 1:
				config := alloc.PoolConfig{
					Description: "with a generator", Generator: generator.Config{Kind: generator.Random}.WithDefaults(), Marks: alloc.Marks{Low: 5, Target: 9},
				}
				_, _, err := s.CreatePool(w.Context(), name, config.WithDefaults())
				w.ok(err, "CreatePool")
			case 2:
				w.full(name, 2)
				w.claim(s, order(name, 2))
				w.sweep(name)
			}
		}
		w.areLevels(names)
		w.areLevels(names[:1])
		w.areLevels(names[1:3])
		w.areLevels(nil)
	}},
	{"a board whose answer is lost, or that is refused, is put again and stands", func(w *world) {
		for i, faults := range faultSeries() {
			data := []byte(fmt.Sprint("board ", i))
			f := NewFaulty(w.open(), nil)
			f.SetPlan(Script("PutBoard", faults...))
			w.clock.Advance(time.Minute)
			at := w.clock.Now()
			w.untilDone("PutBoard", func() error { return f.PutBoard(w.Context(), at, data) })
			w.isBoard(data)
		}
	}},
}

// someBoard is so many bytes that nothing makes shorter.
func (w *world) someBoard(size int) []byte {
	random := rand.NewChaCha8([32]byte{byte(size), byte(size >> 8), byte(size >> 16)})
	data := make([]byte, size)
	random.Read(data)
	return data
}

// areLevels reads pools at once, and expects what is read of each alone.
func (w *world) areLevels(names []alloc.PoolName) {
	w.Helper()
	s := w.open()
	list, err := s.PoolLevels(w.Context(), names)
	w.ok(err, "PoolLevels")
	if len(list) != len(names) {
		w.Fatalf("PoolLevels of %d pools: got %d", len(names), len(list))
	}
	for i, name := range names {
		var want alloc.PoolLevel
		if want.Pool, want.Err = s.Pool(w.Context(), name); want.Err == nil {
			want.Level, want.Err = s.Level(w.Context(), name)
		}
		want.Pool.Name, want.Pool.Config.Generator, want.Pool.Config.Marks = name, generator.Config{}, alloc.Marks{}
		got := list[i]
		if diff := cmp.Diff([]any{want.Pool, want.Level, alloc.CodeOf(want.Err)}, []any{got.Pool, got.Level, alloc.CodeOf(got.Err)}); diff != "" {
			w.Errorf("PoolLevels, %s (-alone +at once):\n%s", name, diff)
		}
	}
}

func (w *world) putBoard(at time.Time, data []byte) {
	w.Helper()
	w.ok(w.open().PutBoard(w.Context(), at, data), "PutBoard")
}

func (w *world) board() []byte {
	w.Helper()
	got, err := w.open().Board(w.Context())
	w.ok(err, "Board")
	return got
}

func (w *world) isBoard(want []byte) {
	w.Helper()
	if got := w.board(); !bytes.Equal(got, want) || (got == nil) != (want == nil) {
		w.Errorf("Board: got %d bytes, want the %d that were put", len(got), len(want))
	}
}
