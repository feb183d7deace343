package alloctest

import (
	"sync/atomic"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"idpool/alloc"
)

var rebuildRecordCases = []testCase{
	{"a sequence that was never rebuilt has a record of version 0, whether it is there or not", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		for _, name := range []alloc.SequenceName{"s", "none"} {
			w.isRebuild(alloc.Rebuild{Sequence: name})
		}
	}},
	{"the record of a rebuild is read back in every field, from whatever process, and each sequence has its own", func(w *world) {
		for _, name := range []alloc.SequenceName{"s", "s-b", "s.b"} {
			w.sequence(name, alloc.SequenceConfig{})
			r := filled[alloc.Rebuild](w.clock.Now())
			r.Sequence, r.Why = name, "of "+string(name)
			r = w.changeRebuild(0, r)
			equal(w, r.Version, 1, "version of the first")
			w.isRebuild(r)
			bare := alloc.Rebuild{Sequence: name, ID: "other", Change: "next", Step: alloc.RebuildGathering}
			bare = w.changeRebuild(1, bare)
			w.isRebuild(bare)
		}
		w.isRebuild(alloc.Rebuild{Sequence: "s", ID: "other", Change: "next", Step: alloc.RebuildGathering, Version: 2})
	}},
	{"a change from another version is refused with the present one, and changes nothing", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.changeRebuild(0, alloc.Rebuild{Sequence: "s", ID: "one", Change: "a", Step: alloc.RebuildGathering})
		r := w.changeRebuild(1, alloc.Rebuild{Sequence: "s", ID: "one", Change: "b", Step: alloc.RebuildPlanned})
		for _, from := range []alloc.Version{0, 1, 3, 100} {
			_, err := w.open().ChangeRebuild(w.Context(), from, alloc.Rebuild{Sequence: "s", ID: "two", Change: "c", Step: alloc.RebuildDone})
			e := w.wantError(err, alloc.CodeVersionMismatch, "ChangeRebuild from another version")
			equal(w, e.Current, 2, "Current")
			w.isRebuild(r)
		}
	}},
	{"a repeat of the change last made is a success, also where it is said in other words", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		r := w.changeRebuild(0, alloc.Rebuild{Sequence: "s", ID: "one", Change: "a", Step: alloc.RebuildGathering, Why: "first"})
		again := r
		again.Why = "said anew"
		got, err := w.open().ChangeRebuild(w.Context(), 0, again)
		w.ok(err, "repeat of ChangeRebuild")
		w.sameRebuild(got, r)
		w.isRebuild(r)
	}},
	{"C16 of two operators who change a record at once one does", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		n := w.callers()
		stores := w.processes(n)
		for from := range alloc.Version(3) {
			var changed atomic.Int64
			w.together(n, func(i int) {
				r := alloc.Rebuild{Sequence: "s", ID: "one", Change: alloc.NewToken(), Step: alloc.RebuildGathering}
				for range patience {
					_, err := stores[i].ChangeRebuild(w.Context(), from, r)
					if repeatable(err) {
						continue
					}
					if err == nil {
						changed.Add(1)
					} else if !alloc.Is(err, alloc.CodeVersionMismatch) {
						w.Errorf("ChangeRebuild beside others: got %v, want success or version_mismatch", err)
					}
					return
				}
			})
			equal(w, changed.Load(), 1, "changes from one version")
		}
		r, err := w.open().Rebuild(w.Context(), "s")
		w.ok(err, "Rebuild")
		equal(w, r.Version, 3, "version after three changes")
	}},
	{"a change whose answer is lost is repeated and is made once", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		f := NewFaulty(w.open(), nil)
		version := alloc.Version(0)
		for _, faults := range faultSeries() {
			r := alloc.Rebuild{Sequence: "s", ID: "one", Change: alloc.NewToken(), Step: alloc.RebuildPlanned}
			f.SetPlan(Script("ChangeRebuild", faults...))
			w.untilDone("ChangeRebuild", func() error { _, err := f.ChangeRebuild(w.Context(), version, r); return err })
			version++
			r.Version = version
			w.isRebuild(r)
		}
	}},
}

func (w *world) changeRebuild(from alloc.Version, r alloc.Rebuild) alloc.Rebuild {
	w.Helper()
	changed, err := w.open().ChangeRebuild(w.Context(), from, r)
	w.ok(err, "ChangeRebuild")
	r.Version = from + 1
	w.sameRebuild(changed, r)
	return changed
}

func (w *world) isRebuild(want alloc.Rebuild) {
	w.Helper()
	got, err := w.open().Rebuild(w.Context(), want.Sequence)
	w.ok(err, "Rebuild")
	w.sameRebuild(got, want)
}

func (w *world) sameRebuild(got, want alloc.Rebuild) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(sameTime), cmpopts.EquateEmpty()); diff != "" {
		w.Fatalf("record of a rebuild (-want +got):\n%s", diff)
	}
}
