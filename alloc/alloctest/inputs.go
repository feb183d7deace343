package alloctest

import (
	"bytes"
	"fmt"
	"time"

	"idpool/alloc"
)

// inputCases are about the pieces of a job's input.
var inputCases = []testCase{
	{"a piece of input is kept byte for byte, and the first of a name stays", func(w *world) {
		j := w.inState(1, alloc.JobReceiving)
		pieces := map[string][]byte{
			"0.0123456789abcdef.0": bytes.Repeat(everyByte(), alloc.MaxPartBytes/256),
			"0.0123456789abcdef.1": {0},
			"1.ffffffffffffffff.0": everyByte(),
			"199.ffffffffffffff.9": nil,
		}
		for name, data := range pieces {
			for _, later := range [][]byte{data, []byte("another"), nil} {
				w.ok(w.open().PutInput(w.Context(), j.ID, name, data), "PutInput")
				w.ok(w.open().PutInput(w.Context(), j.ID, name, later), "PutInput again")
				w.piece(j.ID, name, data)
			}
		}
		for name, data := range pieces {
			w.piece(j.ID, name, data)
		}
		w.sameJob(w.readJob(j.ID), j)
	}},
	{"pieces whose names begin alike, of several jobs, and parts of the result do not mix", func(w *world) {
		jobs := []alloc.Job{w.inState(1, alloc.JobReceiving), w.inState(11, alloc.JobReceiving)}
		names := []string{"0", "00", "0.0", "0.00", "0.0.0", "0.0.00", "1", "10", "1.0", "11", "11.0.1", "1.1.1", "a", "ab", "A"}
		for _, j := range jobs {
			w.noPiece(j.ID, names[0])
			for i, name := range names {
				w.ok(w.open().PutPart(w.Context(), j.ID, i, alloc.Part{Data: []byte("a part"), IDs: 1}), "PutPart")
				w.ok(w.open().PutInput(w.Context(), j.ID, name, []byte(name+" of "+string(j.ID))), "PutInput")
			}
			w.noPiece(j.ID, "0.")
			w.noPiece(j.ID, "111")
			w.noPiece(j.ID, "b")
		}
		for _, j := range jobs {
			for i, name := range names {
				w.piece(j.ID, name, []byte(name+" of "+string(j.ID)))
				w.part(j.ID, i, alloc.Part{Data: []byte("a part"), IDs: 1})
			}
		}
	}},
	{"a piece that is not there, or of a job that is not there, is job_not_found", func(w *world) {
		j := w.inState(1, alloc.JobReceiving)
		w.noPiece(j.ID, "0.0.0")
		w.noPiece(w.job(2).ID, "0.0.0")
		w.want(w.open().PutInput(w.Context(), w.job(2).ID, "0.0.0", []byte("x")), alloc.CodeJobNotFound, "PutInput to a job that is not there")
		w.ok(w.open().CreateJob(w.Context(), w.job(2)), "CreateJob")
		w.noPiece(w.job(2).ID, "0.0.0")
	}},
	{"pieces count as absent with their job, when its retention is over, and not before", func(w *world) {
		j := w.inState(1, alloc.JobReceiving)
		w.clock.Advance(alloc.JobRetention / 2)
		w.ok(w.open().PutInput(w.Context(), j.ID, "0.0.0", []byte("x")), "PutInput")
		w.clock.Advance(alloc.JobRetention/2 - time.Second)
		w.piece(j.ID, "0.0.0", []byte("x"))
		w.ok(w.open().PutInput(w.Context(), j.ID, "0.0.1", []byte("y")), "PutInput a second before the end")
		w.piece(j.ID, "0.0.1", []byte("y"))
		w.clock.Advance(2 * time.Second)
		w.noPiece(j.ID, "0.0.0")
		w.noPiece(j.ID, "0.0.1")
		w.want(w.open().PutInput(w.Context(), j.ID, "0.0.2", []byte("z")), alloc.CodeJobNotFound, "PutInput after the retention")
	}},
	{"of many who put one piece at once, one wins and stays", func(w *world) {
		j := w.inState(1, alloc.JobReceiving)
		n := w.callers() / 5
		stores := w.processes(n)
		w.together(n, func(i int) {
			if err := stores[i].PutInput(w.Context(), j.ID, "0.0.0", bytes.Repeat([]byte{byte(i)}, 100)); err != nil {
				w.Errorf("PutInput beside others: got %v, want no error", err)
			}
		})
		got, err := w.open().Input(w.Context(), j.ID, "0.0.0")
		w.ok(err, "Input")
		if len(got) != 100 {
			w.Fatalf("the piece of one of many: got %d bytes, want 100", len(got))
		}
		w.piece(j.ID, "0.0.0", bytes.Repeat(got[:1], 100))
	}},
	{"a piece whose answer is lost, or that is refused, is repeated and stands once", func(w *world) {
		j := w.inState(1, alloc.JobReceiving)
		for i, faults := range faultSeries() {
			f := NewFaulty(w.open(), Script("PutInput", faults...))
			name := fmt.Sprintf("%d.0123456789abcdef.0", i)
			w.untilDone("PutInput", func() error { return f.PutInput(w.Context(), j.ID, name, []byte(name)) })
			w.piece(j.ID, name, []byte(name))
		}
	}},
}

// everyByte has each byte once.
func everyByte() []byte {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return every
}

// piece stops the test unless a piece of a job's input is as wanted.
func (w *world) piece(id alloc.JobID, name string, want []byte) {
	w.Helper()
	var got []byte
	w.untilDone("Input", func() (err error) { // a long answer may be cut off, which a client repeats
		got, err = w.elsewhere().Input(w.Context(), id, name)
		return err
	})
	if !bytes.Equal(got, want) {
		w.Fatalf("the piece %q: got %d bytes, want %d, each as it was put", name, len(got), len(want))
	}
}

func (w *world) noPiece(id alloc.JobID, name string) {
	w.Helper()
	_, err := w.open().Input(w.Context(), id, name)
	w.want(err, alloc.CodeJobNotFound, fmt.Sprintf("Input %q", name))
}
