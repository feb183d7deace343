package dynamotest

import (
	"context"
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

var rebuildStateKey = dynamo.Key{PK: "P#" + string(pool), SK: "M"}

// rebuildStep begins a step of the rebuild.
func (s *script) rebuildStep(p *process, mark string) *step[alloc.PoolRebuilt] {
	return begin(s, p, "step "+mark, func(ctx context.Context, store *dynamo.Store) (alloc.PoolRebuilt, error) {
		return store.RebuildPool(ctx, alloc.PoolRebuildOrder{Pool: pool, Job: "rebuild", Step: mark})
	})
}

// rebuildOn carries the rebuild on to its end.
func (s *script) rebuildOn(p *process, mark string) {
	for n := 0; ; n++ {
		done := s.rebuildStep(p, mark).must()
		if mark = done.Next; mark == "" {
			return
		}
		if n > 100 {
			s.fatalf("the rebuild does not end")
		}
	}
}

// isDone is the mark that a step of a rebuild is done.
func isDone(c Call) bool { return c.Op == OpUpdate && c.Key() == rebuildStateKey }

// caseLateDone: who has marked the head says so when others have done steps already. What these have listed is not
// listed again behind it.
func caseLateDone(s *script) {
	s.newPool(ids("id", 40)...)
	slow := s.rebuildStep(s.on("slow", 0), "")
	late := slow.until(isDone)
	it := s.mem.Item(rebuildStateKey)
	it["lm"] = int64(1) // steps that list a few IDs each
	s.mem.Set(it)
	fast := s.on("fast", 0)
	mark := s.rebuildStep(fast, "").must().Next
	for range 2 {
		mark = s.rebuildStep(fast, mark).must().Next
	}
	s.decide(late, None)
	slow.end()
	s.rebuildOn(fast, mark)
	s.whole()
}

// caseLateLetGo: a batch that has put what is not needed lets it go when a rebuild has listed it.
func caseLateLetGo(s *script) {
	s.newPool("a")
	fill := begin(s, s.on("fill", 0), "fill", func(ctx context.Context, store *dynamo.Store) ([]alloc.SeedOutcome, error) {
		return store.Seed(ctx, alloc.SeedBatch{Pool: pool, Job: "fill", IDs: []alloc.ID{"x"}, UpTo: 2})
	})
	fill.past(write(kindID, OpPut))
	s.seed(s.on("other", 0), "other", "b").must()
	late := fill.until(letsGo)
	rebuilder := s.on("rebuilder", 0)
	mark := s.rebuildStep(rebuilder, "").must().Next
	mark = s.rebuildStep(rebuilder, mark).must().Next
	s.decide(late, None)
	fill.end()
	s.rebuildOn(rebuilder, mark)
	s.whole()
}

// switches is the last step of a rebuild.
func switches(c Call) bool { return c.Op == OpPut && c.Key() == headKey }

// caseLateSwitch: another has come to the end of the rebuild, the pool has been filled since, and its head is lost, when who was as far
// goes on. He does not open the pool as it was at the end of the rebuild: what came after that would be listed nowhere.
func caseLateSwitch(s *script) {
	s.newPool("a", "b")
	p := s.on("slow", 0)
	slow := s.rebuildStep(p, "")
	last, mark := slow.reach(switches), ""
	for ; last == nil; last = slow.reach(switches) {
		mark = slow.must().Next
		slow = s.rebuildStep(p, mark)
	}
	s.rebuildOn(s.on("fast", 0), mark)
	s.seed(s.on("admin", 0), "more", "c").must()
	s.world.loseHead()
	s.decide(last, None)
	slow.end()
	if it := s.mem.Item(headKey); it != nil {
		s.fatalf("the pool has a head again, which does not know all that was published: %v", it)
	}
}

func TestLateStepsOfRebuildsOfPools(t *testing.T) {
	replay(t, caseLateDone)
	replay(t, caseLateSwitch)
	replay(t, caseLateLetGo)
}

// unpinned leaves out that a rebuild pins what it lists.
func unpinned(next dynamo.Table) dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		if write(kindID, OpUpdate)(c) && c.Update.Set[dynamo.AttrPut] == "p" {
			return Answer{}
		}
		return c.Do(ctx, next)
	})
}

func TestMutantsOfLateStepsAreCaught(t *testing.T) {
	for _, m := range []mutant{
		{name: "the done-mark of a step does not test the step", schedule: caseLateDone, call: untested(isDone, "sn")},
		{name: "what a batch may let go is not pinned", schedule: caseLateLetGo, around: unpinned},
	} {
		t.Run(m.name, func(t *testing.T) { m.caught(t) })
	}
}
