package alloctest

import (
	"cmp"
	"fmt"
	"slices"

	"idpool/alloc"
)

var rebuildRaceCases = []testCase{
	{"C11 C14 leases that are on their way around rebuilds overlap no other, and epochs rise with the numbers", func(w *world) {
		const operators, rebuilds = 2, 5
		w.risingEpochs(w.rebuildsBeside(operators, rebuilds, nil))
	}},
	{"C12 C14 the same beside a counter that is set back before each rebuild", func(w *world) {
		w.rebuildsBeside(1, 5, func(int) { w.fixture.SetCounter(w.TB, "s", 3) })
	}},
	{"C13 C14 the same beside a counter that is lost before each rebuild", func(w *world) {
		w.rebuildsBeside(1, 5, func(int) { w.fixture.DropCounter(w.TB, "s") })
	}},
	{"C16 of many rebuilds at once one freezes the sequence", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		n := w.callers()
		stores, froze := w.processes(n), make([]bool, n)
		w.together(n, func(i int) {
			_, err := stores[i].Freeze(w.Context(), "s", alloc.JobID(fmt.Sprint("rebuild-", i)))
			for repeatable(err) {
				_, err = stores[i].Freeze(w.Context(), "s", alloc.JobID(fmt.Sprint("rebuild-", i)))
			}
			if froze[i] = err == nil; err != nil && !alloc.Is(err, alloc.CodeRebuildStep) {
				w.Errorf("Freeze beside others: got %v, want success or rebuild_step", err)
			}
		})
		winner := slices.Index(froze, true)
		if winner < 0 || slices.Contains(froze[winner+1:], true) {
			w.Fatalf("rebuilds that froze the sequence: got %v, want one", froze)
		}
		equal(w, w.readSequence("s").Rebuild, alloc.JobID(fmt.Sprint("rebuild-", winner)), "Rebuild")
	}},
	{"C16 of two operators who restart a counter by other plans at once one does", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		stores := w.processes(8)
		for round := range 5 {
			rebuild, epoch := alloc.JobID(fmt.Sprint("rebuild-", round)), w.readSequence("s").Epoch+1
			w.freeze(stores[0], "s", rebuild)
			before := w.readSequence("s").Next
			w.together(len(stores), func(i int) {
				o := restartOrder("s", rebuild, epoch, before+alloc.Number(10*(i+1)))
				_, err := stores[i].Restart(w.Context(), o)
				if err != nil && !repeatable(err) && !alloc.Is(err, alloc.CodeRebuildStep) {
					w.Errorf("Restart beside others: got %v, want success or rebuild_step", err)
				}
			})
			q := w.readSequence("s")
			equal(w, q.Epoch, epoch, "Epoch")
			if q.Next < before+10 || q.Next > before+80 || (q.Next-before)%10 != 0 {
				w.Fatalf("Next: got %d after %d, want that of one plan", q.Next, before)
			}
			w.thaw(stores[0], "s", rebuild, alloc.SequenceActive, 0)
		}
	}},
}

// rebuildsBeside rebuilds a sequence beside callers, several operators doing each step at once; harm, if there is any, is done before
// each. Where it is, a lease that was on its way may have numbers that a rebuild did not know of, and the next to get them stops the sequence: that
// is as it should be.
func (w *world) rebuildsBeside(operators, rebuilds int, harm func(round int)) []alloc.Range {
	w.Helper()
	const callers, each = 8, 10 // leases a caller and round
	w.sequence("s", alloc.SequenceConfig{})
	w.lease(w.open(), leaseOrder("s", 10))
	stores := w.processes(callers + operators)
	turns := make(chan struct{}, rebuilds*callers*each)
	var got ranges
	w.together(callers+1, func(i int) {
		if i < callers {
			w.leaseInTurns(stores[i], alloc.Count(i+1), &got, turns)
			return
		}
		defer close(turns)
		for round := range rebuilds {
			for range callers * each {
				turns <- struct{}{}
			}
			if harm != nil {
				harm(round)
			}
			w.together(operators, func(j int) { w.operate(stores[callers+j], alloc.JobID(fmt.Sprint("rebuild-", round))) })
		}
	})
	for _, s := range stores {
		if r, err := s.Lease(w.Context(), leaseOrder("s", 3)); err == nil {
			got.add(r)
		}
	}
	w.disjoint(got.all)
	if q := w.readSequence("s"); q.Epoch != alloc.Epoch(rebuilds+1) || q.State != alloc.SequenceActive && (harm == nil || q.State != alloc.SequenceStopped) {
		w.Fatalf("after %d rebuilds: got %+v, want it active in as many epochs more", rebuilds, q)
	}
	w.covered(w.ledger("s", 100), got.all)
	return got.all
}

// risingEpochs proves that no number of an epoch is above one of a later epoch. That holds of counters that nobody sets by hand:
// a lease that is on its way when its counter is set back is known to nobody, and is proven apart all the same.
func (w *world) risingEpochs(all []alloc.Range) {
	w.Helper()
	rising := slices.SortedFunc(slices.Values(all), func(a, b alloc.Range) int { return cmp.Compare(a.Start, b.Start) })
	for i := 1; i < len(rising); i++ {
		if rising[i].Epoch < rising[i-1].Epoch {
			w.Fatalf("got %+v above %+v, want epochs that rise with the numbers", rising[i], rising[i-1])
		}
	}
}

// leaseInTurns leases once a turn, until there are no more.
func (w *world) leaseInTurns(s alloc.Store, n alloc.Count, got *ranges, turns <-chan struct{}) {
	for range turns {
		r, err := w.leasePatiently(s, leaseOrder("s", n))
		switch {
		case err == nil:
			got.add(r)
		case !alloc.Is(err, alloc.CodeSequenceRebuilding) && !alloc.Is(err, alloc.CodeSequenceStopped) && !repeatable(err):
			w.Errorf("Lease beside rebuilds: got %v, want a range, sequence_rebuilding or sequence_stopped", err)
			return
		}
	}
}

// operate does the steps of a rebuild beside others. It must not stop the test.
func (w *world) operate(s alloc.Store, rebuild alloc.JobID) {
	w.Helper()
	steps := func() error {
		if _, err := s.Freeze(w.Context(), "s", rebuild); err != nil {
			return err
		}
		e, err := s.Evidence(w.Context(), "s")
		if err != nil {
			return err
		}
		entries, _, err := s.WalkLedger(w.Context(), "s", "", 100_000)
		if err != nil {
			return err
		}
		o := alloc.RestartOrder{Sequence: "s", Rebuild: rebuild, From: e.Sequence.Epoch, Next: max(e.Sequence.Next, e.Mark+1), Config: e.Sequence.Config}
		highest := max(e.Epoch, e.Sequence.Epoch)
		for _, l := range entries {
			o.Next, highest = max(o.Next, l.End+1), max(highest, l.Epoch)
		}
		o.Next, o.To = o.Next+5, highest+1
		if o.From == highest && e.Sequence.Rebuild == rebuild && e.Sequence.Epoch > w.epochBefore(rebuild) {
			o.From, o.To = o.From-1, o.To-1 // the other operator has restarted it
		}
		if _, err := s.Restart(w.Context(), o); err != nil {
			return err
		}
		_, err = s.Thaw(w.Context(), "s", rebuild, alloc.SequenceActive, 0)
		return err
	}
	for range patience {
		err := steps()
		if err == nil || alloc.Is(err, alloc.CodeRebuildStep) {
			return
		}
		if !repeatable(err) {
			w.Errorf("a step of a rebuild beside others: got %v, want success or rebuild_step", err)
			return
		}
	}
}

// epochBefore is the epoch that the nth of rebuildsBeside replaces.
func (w *world) epochBefore(rebuild alloc.JobID) (epoch alloc.Epoch) {
	if _, err := fmt.Sscanf(string(rebuild), "rebuild-%d", &epoch); err != nil {
		w.Errorf("the rebuild %q has no number", rebuild)
	}
	return epoch + 1
}
