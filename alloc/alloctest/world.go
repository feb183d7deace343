package alloctest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"idpool/alloc"
)

// world is what one case sees: an engine, a clock, and a book of everything that was answered.
type world struct {
	testing.TB
	fixture Fixture
	clock   *Clock
	book    book
	other   func() alloc.Store // see elsewhere
}

func newWorld(tb testing.TB, f Fixture) *world {
	w := &world{TB: tb, fixture: f, clock: NewClock()}
	w.book = newBook(func() time.Time { return w.clock.Now() }) // a model brings a clock of its own
	w.other = sync.OnceValue(w.open)
	return w
}

// open starts another process: a Store with nothing in memory.
func (w *world) open() alloc.Store {
	w.Helper()
	return w.fixture.Open(w.TB, w.clock.Now)
}

// elsewhere is one more process, for what any but the one at work will do: to open one for each call is dear on some
// engines.
func (w *world) elsewhere() alloc.Store { return w.other() }

// callers is how many callers come at once.
func (w *world) callers() int {
	if testing.Short() {
		return 10
	}
	return 50
}

// size is n, or less where tests are to be short.
func size(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// together runs do n times at once and waits for all. do must not stop the test.
func (w *world) together(n int, do func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			do(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

// ok stops the test on an error.
func (w *world) ok(err error, what string) {
	w.Helper()
	if err != nil {
		w.Fatalf("%s: got %v, want no error", what, err)
	}
}

// want stops the test unless err is an *alloc.Error with the code, a message for the client and a known outcome.
func (w *world) want(err error, code alloc.Code, what string) {
	w.Helper()
	_ = w.wantError(err, code, what)
}

// wantError is want for a test that looks at what else the error says.
func (w *world) wantError(err error, code alloc.Code, what string) *alloc.Error {
	w.Helper()
	e, isError := errors.AsType[*alloc.Error](err)
	switch {
	case err == nil:
		w.Fatalf("%s: got no error, want %s", what, code)
	case !isError:
		w.Fatalf("%s: got the bare error %v, want an *alloc.Error with %s", what, err, code)
	case e.Code != code:
		w.Fatalf("%s: got %v, want %s", what, err, code)
	case e.Message == "":
		w.Fatalf("%s: got %s without a message for the client", what, code)
	case e.Unknown:
		w.Fatalf("%s: got %v with an unknown outcome, want it known", what, err)
	}
	return e
}

// equal stops the test unless got is want.
func equal[T comparable](w *world, got, want T, what string) {
	w.Helper()
	if got != want {
		w.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// pool makes a pool.
func (w *world) pool(name alloc.PoolName, config alloc.PoolConfig) alloc.PoolName {
	w.Helper()
	_, created, err := w.elsewhere().CreatePool(w.Context(), name, config.WithDefaults())
	w.ok(err, "CreatePool")
	equal(w, created, true, "CreatePool of a new pool: created")
	return name
}

// full makes a pool with the largest batch, and n IDs in it.
func (w *world) full(name alloc.PoolName, n int) []alloc.ID {
	w.Helper()
	w.pool(name, alloc.PoolConfig{MaxBatch: alloc.MaxBatchLimit})
	ids := someIDs(string(name)+"-", n)
	w.seedNew(name, "first", ids)
	return ids
}

// someIDs makes n different IDs.
func someIDs(prefix string, n int) []alloc.ID {
	ids := make([]alloc.ID, n)
	for i := range ids {
		ids[i] = alloc.ID(fmt.Sprintf("%s%05d", prefix, i))
	}
	return ids
}

// seed adds IDs and books what became of them.
func (w *world) seed(s alloc.Store, pool alloc.PoolName, job alloc.JobID, ids []alloc.ID) []alloc.SeedOutcome {
	w.Helper()
	return w.seedBatch(s, alloc.SeedBatch{Pool: pool, Job: job, IDs: ids})
}

// seedBatch adds a batch and books what became of its IDs.
func (w *world) seedBatch(s alloc.Store, b alloc.SeedBatch) []alloc.SeedOutcome {
	w.Helper()
	outcomes, err := s.Seed(w.Context(), b)
	w.ok(err, "Seed")
	equal(w, len(outcomes), len(b.IDs), "outcomes of Seed")
	w.book.seeded(b.Pool, b.IDs, outcomes)
	return outcomes
}

// seedNew adds IDs that the pool does not know, from another process.
func (w *world) seedNew(pool alloc.PoolName, job alloc.JobID, ids []alloc.ID) {
	w.Helper()
	for i, o := range w.seed(w.elsewhere(), pool, job, ids) {
		equal(w, o, alloc.SeedAdded, fmt.Sprintf("outcome of the new ID %q", ids[i]))
	}
}

// sweep runs sweeps in a new process until none is left to do.
func (w *world) sweep(pool alloc.PoolName) {
	w.Helper()
	s := w.open()
	for range 100 {
		report, err := s.Sweep(w.Context(), pool)
		w.ok(err, "Sweep")
		if !report.More {
			return
		}
	}
	w.Fatalf("Sweep of %q still has work after 100 runs", pool)
}

// settle lets the stock in all memories grow stale, and sweeps.
func (w *world) settle(pool alloc.PoolName) {
	w.Helper()
	w.clock.Advance(staleStock)
	w.sweep(pool)
}

// free counts the pool's free IDs in the data itself.
func (w *world) free(pool alloc.PoolName) alloc.Count {
	w.Helper()
	return w.fixture.Census(w.TB, pool)[alloc.StateFree]
}

// setState changes a pool's state and waits until every process knows. One that is to be deleted is drained first, if it is active.
func (w *world) setState(pool alloc.PoolName, to alloc.PoolState) {
	w.Helper()
	if to == alloc.PoolDeleted && w.readPool(pool).State == alloc.PoolActive {
		w.setState(pool, alloc.PoolDraining)
	}
	p, err := w.elsewhere().SetPoolState(w.Context(), pool, 0, to)
	w.ok(err, "SetPoolState")
	equal(w, p.State, to, "state that SetPoolState answers")
	w.clock.Advance(stateDelay)
}

// sameTime reports whether two times are the same to the millisecond, which is what an engine must keep.
func sameTime(a, b time.Time) bool { return a.Sub(b).Abs() < time.Millisecond }

// pages reads a whole list in pages of at most limit entries, each page after the last entry of the one before.
func pages[T any, K comparable](w *world, what string, limit int, read func(after K) ([]T, error), key func(T) K) (all []T) {
	w.Helper()
	var first K
	for after := first; ; {
		page, err := read(after)
		w.ok(err, what)
		if len(page) > limit {
			w.Fatalf("%s: got a page of %d, want at most %d", what, len(page), limit)
		}
		all = append(all, page...)
		if len(page) < limit {
			return all
		}
		if after = key(page[limit-1]); after == first {
			return all // nothing can come after it
		}
	}
}

// listNames are names in the order of their bytes, which is not that of an alphabet.
var listNames = []string{"0", "9z", "a", "a-b", "a.b", "a0", "a_b", "aa", "b", "b-", "b.", "z"}

// shuffled visits the positions of n things, of which 5 is no divisor, in another order.
func shuffled(n int, do func(i int)) {
	for i := range n {
		do((i * 5) % n)
	}
}
