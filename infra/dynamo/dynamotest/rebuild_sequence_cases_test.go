package dynamotest

import (
	"context"
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

func (s *script) watch(p *process) *step[alloc.Sequence] {
	return begin(s, p, "watch", func(ctx context.Context, store *dynamo.Store) (alloc.Sequence, error) {
		return store.Watch(ctx, sequence)
	})
}

func (s *script) freeze(p *process, rebuild alloc.JobID) *step[alloc.Sequence] {
	return begin(s, p, "freeze", func(ctx context.Context, store *dynamo.Store) (alloc.Sequence, error) {
		return store.Freeze(ctx, sequence, rebuild)
	})
}

func (s *script) thaw(p *process, rebuild alloc.JobID, to alloc.SequenceState, share int) *step[alloc.Sequence] {
	return begin(s, p, "thaw", func(ctx context.Context, store *dynamo.Store) (alloc.Sequence, error) {
		return store.Thaw(ctx, sequence, rebuild, to, share)
	})
}

func (s *script) restart(p *process, o alloc.RestartOrder) *step[alloc.Sequence] {
	o.Sequence = sequence
	return begin(s, p, "restart", func(ctx context.Context, store *dynamo.Store) (alloc.Sequence, error) { return store.Restart(ctx, o) })
}

// dropLedger removes all that was leased.
func (s *script) dropLedger() {
	for _, it := range s.mem.Items() {
		if it.Str("pk") == "S#"+string(sequence)+"#L" {
			s.mem.Drop(it.Key())
		}
	}
}

func putsMark(c Call) bool { return c.Op == OpPut && c.Key() == markKey }
func putsHead(c Call) bool { return c.Op == OpPut && c.Key() == counterKey }

// caseBelowMark: ledger and counter are lost to before the mark, and a process that knows nothing is asked.
func caseBelowMark(s *script) {
	s.newSequence(alloc.SequenceConfig{})
	a := s.on("a", 0)
	s.lease(a, 10, nil).must()
	s.watch(a).must()
	s.dropLedger()
	s.setCounter(3)
	if r, err := s.lease(s.on("b", 0), 2, nil).end(); !alloc.Is(err, alloc.CodeSequenceStopped) {
		s.fatalf("below the mark a lease got %v, %v", r, err)
	}
}

// caseLateMark: the mark of a watch lands after that of a later one.
func caseLateMark(s *script) {
	s.newSequence(alloc.SequenceConfig{})
	a, b := s.on("a", 0), s.on("b", 0)
	s.lease(a, 10, nil).must()
	late := s.watch(a)
	late.until(putsMark)
	s.lease(b, 10, nil).must()
	s.watch(b).must()
	late.must()
	if it := s.mem.Item(markKey); it.Int(attrLast) != 20 {
		s.fatalf("the mark was lowered: %v", it)
	}
}

// caseLateFreeze: the first step of a rebuild lands after the rebuild has ended.
func caseLateFreeze(s *script) {
	s.newSequence(alloc.SequenceConfig{})
	a, b := s.on("a", 0), s.on("b", 0)
	late := s.freeze(a, "r1")
	late.until(isStep)
	s.freeze(b, "r1").must()
	s.thaw(b, "r1", alloc.SequenceActive, 0).must()
	if _, err := late.end(); !alloc.Is(err, alloc.CodeRebuildStep) {
		s.fatalf("a freeze that came late ended with %v", err)
	}
	if _, err := s.lease(b, 1, nil).end(); err != nil {
		s.fatalf("a lease after the rebuild: %v", err)
	}
}

// caseLateRestart: a lost head is made by two at once, and one of the writes lands when leases have gone on.
func caseLateRestart(s *script) {
	s.newSequence(alloc.SequenceConfig{})
	a, b := s.on("a", 0), s.on("b", 0)
	s.lease(a, 10, nil).must()
	s.mem.Drop(counterKey)
	o := alloc.RestartOrder{Rebuild: "r1", To: 2, Next: 100, Config: alloc.SequenceConfig{}.WithDefaults()}
	late := s.restart(a, o)
	late.until(putsHead)
	s.restart(b, o).must()
	s.thaw(b, "r1", alloc.SequenceActive, 0).must()
	first := s.lease(b, 10, nil).must()
	late.must() // it finds what it wanted
	if it := s.mem.Item(counterKey); it.Int(attrLast) != int64(first.End) || it.Str(attrState) != "active" {
		s.fatalf("a head that was made late has replaced the present one: %v", it)
	}
}

// caseSharedLess: a process that knows a greater share of the callers than is served now.
func caseSharedLess(s *script) {
	s.newSequence(alloc.SequenceConfig{})
	a, b := s.on("a", 0), s.on("b", 0)
	s.freeze(b, "r1").must()
	s.thaw(b, "r1", alloc.SequenceResuming, 99).must()
	s.lease(a, 1, nil).must()
	s.freeze(b, "r2").must()
	s.thaw(b, "r2", alloc.SequenceResuming, 1).must()
	if r, err := s.lease(a, 1, nil).end(); !alloc.Is(err, alloc.CodeSequenceResuming) {
		s.fatalf("a caller who is not served was answered %v, %v", r, err)
	}
}

// caseTestOfAnother: a test of a rebuild whose place another has taken.
func caseTestOfAnother(s *script) {
	s.newSequence(alloc.SequenceConfig{})
	a, b := s.on("a", 0), s.on("b", 0)
	s.freeze(a, "r1").must()
	test := begin(s, a, "test", func(ctx context.Context, store *dynamo.Store) (alloc.Range, error) {
		return store.Lease(ctx, alloc.LeaseOrder{Sequence: sequence, Count: 10, By: "operator", Rebuild: "r1"})
	})
	test.until(func(c Call) bool { return c.Op == OpUpdate && c.Update.Add != nil })
	s.thaw(b, "r1", alloc.SequenceActive, 0).must()
	s.freeze(b, "r2").must()
	if r, err := test.end(); !alloc.Is(err, alloc.CodeRebuildStep) {
		s.fatalf("the test of a rebuild that is over got %v, %v", r, err)
	}
}

func TestWhatComesLateToASequenceThatWasRebuiltChangesNothing(t *testing.T) {
	for name, schedule := range map[string]func(*script){
		"a lease below the mark":                   caseBelowMark,
		"P03 a mark that lands after a later one":  caseLateMark,
		"P03 a freeze after the rebuild has ended": caseLateFreeze,
		"P03 a head that was made meanwhile":       caseLateRestart,
		"a lease by a share that was made smaller": caseSharedLess,
		"the test of a rebuild that is over":       caseTestOfAnother,
	} {
		t.Run(name, func(t *testing.T) { replay(t, schedule) })
	}
}
