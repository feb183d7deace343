package dynamotest

import (
	"context"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// newForgetfulPool makes a pool that forgets what it hands out.
func (s *script) newForgetfulPool(ids ...alloc.ID) {
	admin := s.on("admin", 0)
	begin(s, admin, "create", func(ctx context.Context, store *dynamo.Store) (alloc.Pool, error) {
		p, _, err := store.CreatePool(ctx, pool, alloc.PoolConfig{Policy: alloc.PolicyForget}.WithDefaults())
		return p, err
	}).must()
	s.seed(admin, "job", ids...).must()
}

// Two runs of one batch meet an ID of another job. The second finds it free and finishes the batch; then it is claimed
// and forgotten, and the first run puts it again. Found by the model check: nobody listed it.
func TestARunThatWasOvertakenListsWhatItPutAgain(t *testing.T) {
	replay(t, func(s *script) {
		s.newForgetfulPool("x")
		slow := s.seed(s.on("slow", 0), "more", "x")
		slow.until(write(kindID, OpPut))
		s.seed(s.on("fast", 0), "more", "x").must()
		s.answered(s.claim(s.on("client", 0), order(1, "")), "client", 1)
		if got := slow.must(); got[0] != alloc.SeedAdded {
			return // it left x alone, which is as good
		}
		s.answered(s.claim(s.on("next", 0), order(1, "")), "next", 1)
	})
}

// A batch is cut off between its IDs and its chunk; another batch lists one of the IDs, and that is claimed. The first
// batch is repeated twice, once cut off again. Found by the model check: the ID was counted by each repeat.
func TestAnIDThatIsClaimedBeforeItsBatchIsListedIsCountedOnce(t *testing.T) {
	replay(t, func(s *script) {
		s.newPool()
		cut := s.seed(s.on("cut off", 0), "first", "x", "y")
		cut.until(write(kindChunk, OpPut))
		s.kill(cut.proc)
		s.seed(s.on("other", 0), "second", "x").must()
		s.answered(s.claim(s.on("client", 0), order(1, "")), "client", 1)
		again := s.seed(s.on("cut off again", 0), "first", "x", "y")
		again.past(updatesHead)
		s.kill(again.proc)
		s.seed(s.on("last", 0), "first", "x", "y").must()
		s.sweeps()
		l := begin(s, s.on("reader", 0), "level", func(ctx context.Context, store *dynamo.Store) (alloc.Level, error) {
			return store.Level(ctx, pool)
		}).must()
		if l.Seeded != 2 || l.Claimed != 1 || l.Available != 1 {
			s.fatalf("the level is %+v, want 2 seeded, of which one is claimed and one available", l)
		}
		s.whole()
	})
}

// The same, when the batch has listed the ID itself, in a life that is over.
func TestARunThatWasOvertakenListsTheNextLifeOfItsID(t *testing.T) {
	replay(t, func(s *script) {
		s.newForgetfulPool("other")
		slow := s.seed(s.on("slow", 0), "first", "x")
		slow.until(write(kindID, OpPut))
		s.seed(s.on("fast", 0), "first", "x").must()
		s.answered(s.claim(s.on("one", 0), order(2, "")), "one", 2)
		s.seed(s.on("second", 0), "second", "x").must()
		s.answered(s.claim(s.on("two", 0), order(1, "")), "two", 1)
		s.world.attempts["first"] = 2
		slow.must()
		if it := s.mem.Item(idKey("x")); stateOf(it) == alloc.StateFree {
			s.answered(s.claim(s.on("three", 0), order(1, "")), "three", 1)
		}
	})
}

// A batch is cut off after its puts. Another lists its ID, which is claimed, forgotten, and removed a day later. The
// batch goes on then and puts the ID again: as one of a generation that old listings and late writes know nothing of.
// Found by the model check: it was put at the generation that it had before.
func TestABatchThatGoesOnDaysLaterBeginsNewLives(t *testing.T) {
	replay(t, func(s *script) {
		s.newForgetfulPool("other")
		cut := s.seed(s.on("cut off", 0), "first", "x")
		cut.until(func(c Call) bool { return c.Op == OpUpdate })
		s.kill(cut.proc)
		s.seed(s.on("second", 0), "second", "x").must()
		s.answered(s.claim(s.on("one", 0), order(2, "")), "one", 2)
		time.Sleep(50 * time.Hour)
		s.world.expire()
		s.world.attempts["first"] = 2
		s.seed(s.on("again", 0), "first", "x").must()
		s.answered(s.claim(s.on("two", 0), order(1, "")), "two", 1)
	})
}

// A batch is cut off when all but its end is done. Its ID is claimed and forgotten, seeded by another, claimed and
// forgotten again: the repeat of the batch has had its turn with it. Found by the model check: it put the ID again.
func TestARepeatedBatchDoesNotPutAgainWhatItHadListed(t *testing.T) {
	replay(t, func(s *script) {
		s.newForgetfulPool("other")
		cut := s.seed(s.on("cut off", 0), "first", "x")
		cut.past(updatesHead)
		s.kill(cut.proc)
		s.answered(s.claim(s.on("one", 0), order(2, "")), "one", 2)
		s.seed(s.on("second", 0), "second", "x").must()
		s.answered(s.claim(s.on("two", 0), order(1, "")), "two", 1)
		if got := s.seed(s.on("again", 0), "first", "x").must(); got[0] != alloc.SeedAdded {
			s.fatalf("the repeat says %s, want added", got[0])
		}
		s.sweeps()
		refused(s.claim(s.on("three", 0), order(1, "")), alloc.CodePoolExhausted)
	})
}
