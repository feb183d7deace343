package dynamo_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// storm is a pool in use while sweeps meet each other, are cut off at any of their writes, and environments wake up with
// old stock.
type storm struct {
	*bench
	rng  *rand.Rand
	envs []*dynamo.Store
	held []alloc.Claim
}

// listings is how many there are in chunks that no sweep has passed.
func (b *bench) listings() (n int) {
	h := b.head()
	for i := h.Int(dynamo.AttrLow); i < h.Int(dynamo.AttrTail); i++ {
		n += len(b.mem.Item(dynamo.Key{PK: fmt.Sprintf("P#p#1#%d", i), SK: "C"}).List(dynamo.AttrListings))
	}
	return n
}

// use claims and releases in some of the environments, which may have slept since.
func (s *storm) use() {
	s.Helper()
	for range 1 + s.rng.IntN(6) {
		i := s.rng.IntN(len(s.envs))
		if s.rng.IntN(30) == 0 {
			s.envs[i] = s.open() // the one before it has died with what it had
		}
		c, err := s.envs[i].Claim(s.Context(), want(alloc.Count(1+s.rng.IntN(3))))
		if err != nil {
			refused(s.TB, err, alloc.CodePoolExhausted)
			continue
		}
		s.held = append(s.held, c)
	}
	for len(s.held) > 40 || len(s.held) > 0 && s.rng.IntN(3) > 0 {
		i := s.rng.IntN(len(s.held))
		c := s.held[i]
		s.held = slices.Delete(s.held, i, i+1)
		s.settle(s.envs[s.rng.IntN(len(s.envs))], alloc.EventRelease, c.Token, c.IDs...)
	}
}

// sweeps lets one, two or three sweeps run at once, or one that dies at some write of its.
func (s *storm) sweeps() {
	s.Helper()
	if s.rng.IntN(3) == 0 {
		s.cutOffSweep(s.rng.IntN(40))
		return
	}
	var all sync.WaitGroup
	for range 1 + s.rng.IntN(3) {
		sweeper := s.open()
		all.Go(func() {
			if _, err := sweeper.Sweep(s.Context(), "p"); err != nil {
				s.Errorf("Sweep: %v", err)
			}
		})
	}
	all.Wait()
}

func (s *storm) cutOffSweep(write int) {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	last := []dynamotest.Fault{dynamotest.LostRequest, dynamotest.AppliedButFailed}[s.rng.IntN(2)]
	plan, dead := dynamotest.Nth(write, dynamotest.Call.Write, last), false
	s.table.Plan(func(c dynamotest.Call) dynamotest.Fault {
		if dead {
			return dynamotest.LostRequest
		}
		f := plan(c)
		if dead = f != dynamotest.None; dead {
			cancel() // it waits for nothing any more
		}
		return f
	})
	_, _ = s.open().Sweep(ctx, "p") // cut off, that is the point
	s.table.Plan(nil)
	s.clock.Advance(25 * time.Second) // its lock is over
}

func TestListingsDoNotMultiplyHoweverSweepsMeetAndDie(t *testing.T) {
	for size, rounds := range map[int]int{400: 1500, 3000: 800} { // of few chunks, which all are looked at, and of many
		if raced {
			rounds /= 10
		}
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // no pause takes its time
				b := filled(t, size, alloc.PoolConfig{})
				s := &storm{bench: b, rng: rand.New(rand.NewPCG(7, uint64(size)))}
				for range 12 {
					s.envs = append(s.envs, b.open())
				}
				s.rage(rounds)
				s.calm()
			})
		})
	}
}

// rage plays rounds, and bounds what there is of listings and how far off the level is.
func (s *storm) rage(rounds int) {
	s.Helper()
	most, off := 0.0, alloc.Count(0)
	for round := range rounds {
		s.clock.Advance(time.Duration(s.rng.IntN(150)) * time.Second)
		s.use()
		s.sweeps()
		s.table.Seen()
		if round%50 != 49 {
			continue
		}
		s.sweep()
		l, err := s.open().Level(s.Context(), "p")
		if err != nil {
			s.Fatal(err)
		}
		free := s.census()[alloc.StateFree]
		if l.Available < free {
			s.Fatalf("round %d: the level says %d, %d are free", round, l.Available, free)
		}
		off = max(off, l.Available-free)
		most = max(most, float64(s.listings())/float64(free))
	}
	h := s.head()
	published, seeded := h.Int(dynamo.AttrPublished), h.Int(dynamo.AttrSeeded)
	s.Logf("%d rounds: at most %.2f listings for each free ID; %.1f published again a round; the level too high by %d at most",
		rounds, most, float64(published-seeded)/float64(rounds), off)
	if most > 1.5 {
		s.Errorf("got %.2f listings for each free ID, want at most 1.5", most)
	}
	if off > alloc.Count(seeded/100) {
		s.Errorf("the level was too high by %d, want at most a hundredth of the pool", off)
	}
	if again := float64(published-seeded) / float64(rounds); again > 12+20*4 { // what a round gives back, and the stock of those who claim in it
		s.Errorf("got %.1f listings published again a round, want what came back and what was leased at most", again)
	}
}

// calm demands that a pool that nobody uses any more is left as it is, and that nothing of it is lost.
func (s *storm) calm() {
	s.Helper()
	for _, c := range s.held {
		s.settle(s.open(), alloc.EventRelease, c.Token, c.IDs...)
	}
	s.clock.Advance(15 * time.Minute)
	s.sweep()
	before := s.head()
	for range 30 {
		s.clock.Advance(time.Minute)
		s.sweep()
	}
	if more := s.head().Int(dynamo.AttrPublished) - before.Int(dynamo.AttrPublished); more != 0 {
		s.Errorf("30 sweeps of a pool that nobody used published %d listings, want none", more)
	}
	var ids []alloc.ID
	for e := s.open(); ; {
		c, err := e.Claim(s.Context(), want(1))
		if alloc.Is(err, alloc.CodeBusy) { // too much was leased since the last sweep to be searched
			s.sweep()
			continue
		}
		if err != nil {
			refused(s.TB, err, alloc.CodePoolExhausted)
			break
		}
		ids = append(ids, c.IDs...)
	}
	distinct(s.TB, ids)
	if seeded := before.Int(dynamo.AttrSeeded); int64(len(ids)) != seeded {
		s.Errorf("got %d IDs, want %d", len(ids), seeded)
	}
}

// A sweep that is cut off at the same write again and again lists nothing twice.
func TestASweepThatDiesAtTheSameWriteForEverDoesNotMultiplyListings(t *testing.T) {
	for write := range 14 {
		b := filled(t, 400, alloc.PoolConfig{})
		s := &storm{bench: b, rng: rand.New(rand.NewPCG(1, 1))}
		e := b.open()
		for range 3 {
			c := b.claim(e, want(2))
			b.settle(e, alloc.EventRelease, c.Token, c.IDs...)
		}
		b.clock.Advance(3 * time.Minute)
		for range 50 {
			s.cutOffSweep(write)
			b.clock.Advance(time.Minute)
		}
		if n := b.listings(); n > 400+60 {
			t.Errorf("cut off at write %d: got %d listings of 400 IDs after 50 sweeps", write, n)
		}
		b.settled(alloc.PolicyKeep, 400, 0)
	}
}
