package dynamo_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// stroll is a walk on its way: what it has met, and what was there all the time.
type stroll struct {
	b     *bench
	state alloc.State
	limit int
	mark  string
	over  bool
	met   map[alloc.ID]int
	there map[alloc.ID]string
	pages int
}

// setOut begins a walk: what is there now and stays is what it must meet.
func (b *bench) setOut(state alloc.State, limit int) *stroll {
	w := &stroll{b: b, state: state, limit: limit, met: map[alloc.ID]int{}, there: b.there(state)}
	return w
}

// there are the IDs that are listed, of the generation that they have, and in the state, as the items say; each with the
// batch that has put it.
func (b *bench) there(state alloc.State) map[alloc.ID]string {
	tail, now := b.head().Int(dynamo.AttrTail), b.clock.Now().Unix()
	listed, items := map[string]bool{}, map[string]dynamo.Item{}
	b.mem.Each(func(it dynamo.Item) {
		if id, ok := strings.CutPrefix(it.Str("pk"), "I#p#"); ok {
			items[id] = it
		}
		place, ok := strings.CutPrefix(it.Str("pk"), "P#p#1#")
		if n, err := strconv.ParseInt(place, 10, 64); ok && err == nil && n < tail {
			for _, text := range it.List(dynamo.AttrListings) {
				listed[text] = true
			}
		}
	})
	there := map[alloc.ID]string{}
	for id, it := range items {
		s, exp := it.Str(dynamo.AttrState), it.Int(dynamo.AttrExpires)
		switch {
		case !listed[strconv.FormatInt(it.Int(dynamo.AttrGeneration), 36)+" "+id], s == dynamo.StateForgotten, exp != 0 && exp <= now:
		case state == "" || states[s] == state:
			there[alloc.ID(id)] = it.Str(dynamo.AttrJob) + "/" + it.Str(dynamo.AttrBatch)
		}
	}
	return there
}

// step reads a page, in a process of its own, and the same page again: a job may repeat a step.
func (w *stroll) step() {
	w.b.Helper()
	if w.over {
		return
	}
	w.pages++
	page, next, err := w.b.open().WalkIDs(w.b.Context(), "p", w.state, w.mark, w.limit)
	if err != nil {
		w.b.Fatalf("page %d from %q: %v", w.pages, w.mark, err)
	}
	again, mark, err := w.b.open().WalkIDs(w.b.Context(), "p", w.state, w.mark, w.limit)
	if err != nil || mark != next && w.mark != "" || len(again) < len(page) {
		w.b.Fatalf("page %d from %q again: %d IDs and the mark %q, %v; want %d and %q", w.pages, w.mark, len(again), mark, err, len(page), next)
	}
	if most := w.limit + 400; len(page) > most {
		w.b.Errorf("page %d has %d IDs, want about %d", w.pages, len(page), w.limit)
	}
	for _, r := range page {
		if w.state != "" && r.State != w.state {
			w.b.Errorf("%s is %s, want %s", r.ID, r.State, w.state)
		}
		w.met[r.ID]++
	}
	w.mark, w.over = next, next == ""
	now := w.b.there(w.state)
	for id, batch := range w.there {
		if now[id] != batch {
			delete(w.there, id)
		}
	}
}

// finish walks to the end and holds what was met against the promise.
func (w *stroll) finish() {
	w.b.Helper()
	for !w.over {
		if w.step(); w.pages > 10_000 {
			w.b.Fatal("the walk does not come to an end")
		}
	}
	for id, n := range w.met {
		if n > 1 {
			w.b.Errorf("%s was met %d times", id, n)
		}
	}
	for id := range w.there {
		if w.met[id] == 0 {
			w.b.Errorf("%s was there all the time and was not met", id)
		}
	}
}

// walks walks the pool from beginning to end, in pages of several sizes.
func (b *bench) walks(want int) {
	b.Helper()
	for _, limit := range []int{1, 7, 1000} {
		w := b.setOut("", limit)
		w.finish()
		if len(w.met) != want {
			b.Errorf("in pages of %d the walk met %d IDs, want %d", limit, len(w.met), want)
		}
	}
}

func TestAWalkMeetsEachIDOnceHoweverOftenItIsListed(t *testing.T) {
	b := filled(t, 300, alloc.PoolConfig{})
	b.walks(300)
	claims := make([]alloc.Claim, 30)
	for i := range claims {
		claims[i] = b.claim(b.open(), want(3)) // each process takes stock with it
	}
	b.clock.Advance(time.Hour)
	if r := b.sweep(); r.Relisted == 0 {
		t.Fatal("nothing was listed again")
	}
	b.walks(300)
	for i, c := range claims {
		event := []alloc.Event{alloc.EventRelease, alloc.EventRetire}[i%2]
		if _, err := b.open().Settle(t.Context(), alloc.SettleOrder{Pool: "p", Event: event, IDs: c.IDs, Token: c.Token}); err != nil {
			t.Fatal(err)
		}
	}
	if r := b.sweep(); r.Returned != 45 {
		t.Fatalf("%d IDs came back, want 45", r.Returned)
	}
	b.seed(b.open(), "more", []alloc.ID{"one", "two"})
	b.walks(302)
	for state, n := range map[alloc.State]int{alloc.StateFree: 257, alloc.StateRetired: 45, alloc.StateClaimed: 0} {
		w := b.setOut(state, 50)
		if w.finish(); len(w.met) != n {
			t.Errorf("the walk over what is %s met %d IDs, want %d", state, len(w.met), n)
		}
	}
}

func TestAWalkOfAPoolThatIsNotThere(t *testing.T) {
	b := newBench(t)
	_, _, err := b.open().WalkIDs(t.Context(), "p", "", "", 10)
	refused(t, err, alloc.CodePoolNotFound)
	b.pool(alloc.PoolConfig{})
	b.walks(0)
	b.seed(b.open(), "job", someIDs(3))
	for _, mark := range []string{"x", "1.2", "1.1.1.0.0.", "1.1.0.2.0.", "1.1.0.0.0.zz", "1.1.-1.0.0."} {
		_, _, err := b.open().WalkIDs(t.Context(), "p", "", mark, 10)
		refused(t, err, alloc.CodeInternal)
	}
	b.mem.Drop(dynamo.Key{PK: "P#p#1#0", SK: "C"})
	_, _, err = b.open().WalkIDs(t.Context(), "p", "", "", 10)
	refused(t, err, alloc.CodePoolDamaged)
}

// Two jobs list the same IDs, and the first is cut off at one write after the other: it may have put them and never list
// them, and go on when the second has listed them. At each such place the walk meets each ID once, also one that sets out
// before the first job goes on, and one that is under way then.
func TestAWalkMeetsWhatASeedingThatWasCutOffHasPut(t *testing.T) {
	for _, policy := range []alloc.Policy{alloc.PolicyKeep, alloc.PolicyForget} {
		t.Run(string(policy), func(t *testing.T) {
			doubts := 0
			for n := 0; ; n++ {
				b := filled(t, 4, alloc.PoolConfig{Policy: policy})
				cut := alloc.SeedBatch{Pool: "p", Job: "cut", IDs: []alloc.ID{"a", "b", "c", "d", "e"}}
				hit := b.cutOff(cut, n)
				b.clock.Advance(time.Minute)
				if _, err := b.open().Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "other", IDs: []alloc.ID{"b", "c", "x", "y", "e"}}); err != nil {
					t.Fatal(err)
				}
				if _, err := b.open().Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "third", IDs: []alloc.ID{"c", "z"}}); err != nil {
					t.Fatal(err)
				}
				if b.doubtful() {
					doubts++
				}
				b.walks(len(b.there("")))
				b.claim(b.open(), want(1))
				b.clock.Advance(time.Hour)
				b.sweep() // what is free is listed once more
				b.walks(len(b.there("")))
				under := []*stroll{b.setOut("", 1), b.setOut("", 1), b.setOut("", 1)}
				for range 3 {
					under[1].step()
				}
				for range 6 {
					under[2].step()
				}
				under[0].step()
				if _, err := b.open().Seed(t.Context(), cut); err != nil {
					t.Fatal(err)
				}
				for _, w := range under {
					w.finish()
				}
				b.walks(len(b.there("")))
				if t.Failed() {
					t.Fatalf("cut off at write %d", n)
				}
				if !hit {
					break
				}
			}
			if doubts == 0 {
				t.Error("no ID was ever listed by a batch that had not put it")
			}
		})
	}
}

// cutOff seeds in a process that dies at its n-th write; it reports whether it came so far.
func (b *bench) cutOff(batch alloc.SeedBatch, n int) bool {
	b.Helper()
	return b.cutOffBy(batch, n, dynamotest.Refused)
}

// cutOffBy is cutOff where that write meets the fault.
func (b *bench) cutOffBy(batch alloc.SeedBatch, n int, fault dynamotest.Fault) bool {
	b.Helper()
	dead := false
	at := dynamotest.Nth(n, dynamotest.Call.Write, fault)
	table := dynamotest.NewFaults(b.mem, func(c dynamotest.Call) dynamotest.Fault {
		switch f := at(c); {
		case dead:
			return dynamotest.Refused
		case f != dynamotest.None:
			dead = true
			return f
		}
		return dynamotest.None
	})
	_, err := processAt(b.TB, table, b.clock.Now).Seed(b.Context(), batch)
	if dead != (err != nil) {
		b.Fatalf("cut off %t, and got %v", dead, err)
	}
	return dead
}

// doubtful reports whether there is a chunk of doubt.
func (b *bench) doubtful() bool {
	return slices.ContainsFunc(b.mem.Items(), func(it dynamo.Item) bool { return it.Str(dynamo.AttrDoubt) != "" })
}

// A search goes over more chunks than one page may read, and over more than one run of chunks of doubt.
func TestASearchOfAWalkGoesOverManyPages(t *testing.T) {
	b := newBench(t)
	b.pool(alloc.PoolConfig{})
	cut := alloc.SeedBatch{Pool: "p", Job: "cut", IDs: someIDs(40)}
	b.cutOff(cut, 41) // all of them are put
	other := append(someIDs(40), "last")
	if _, err := b.open().Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "other", IDs: other}); err != nil {
		t.Fatal(err)
	}
	if !b.doubtful() {
		t.Fatal("there is no chunk of doubt")
	}
	for i := range 1200 {
		b.seed(b.open(), alloc.JobID(fmt.Sprint("job", i)), []alloc.ID{alloc.ID(fmt.Sprint("more", i))})
	}
	w := b.setOut("", 100)
	b.table.Seen()
	reads := 0
	for !w.over {
		w.step()
		keys := 0
		for _, c := range b.table.Seen() {
			keys += len(c.Keys)
		}
		if reads = max(reads, keys); keys > 2*2000 {
			t.Fatalf("a page of the walk reads %d items", keys/2)
		}
	}
	w.finish()
	if len(w.met) != 1241 {
		t.Errorf("met %d IDs, want 1241", len(w.met))
	}
	if reads < 2*1000 {
		t.Errorf("no page of the search reads more than %d items", reads/2)
	}
}

func TestWalksAmongAllElseThatHappens(t *testing.T) { synctest.Test(t, walksAmongAllElse) }

// walksAmongAllElse does random work on pools while walks are under way.
func walksAmongAllElse(t *testing.T) {
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := newBench(t)
		b.pool(alloc.PoolConfig{Policy: []alloc.Policy{alloc.PolicyKeep, alloc.PolicyForget}[seed%3/2]})
		pool := someIDs(10 + rng.IntN(60))
		var claims []alloc.Claim
		var walks []*stroll
		for range 60 {
			b.clock.Advance(time.Duration(rng.IntN(200)) * time.Second)
			from := rng.IntN(len(pool))
			batch := alloc.SeedBatch{Pool: "p", Job: alloc.JobID(fmt.Sprint("job", rng.IntN(5))), IDs: pool[from:min(len(pool), from+1+rng.IntN(20))]}
			if rng.IntN(3) == 0 {
				batch.Job, batch.UpTo = "refill-"+batch.Job, alloc.Count(1+rng.IntN(len(pool)))
			}
			switch rng.IntN(7) {
			case 0:
				b.cutOff(batch, rng.IntN(2*len(batch.IDs)+4))
			case 1:
				if _, err := b.open().Seed(t.Context(), batch); err != nil {
					t.Fatal(err)
				}
			case 2:
				o := want(alloc.Count(1 + rng.IntN(3)))
				if rng.IntN(2) == 0 {
					o = wantKeyed(o.Count, fmt.Sprint(rng.Int()))
				}
				if c, err := b.open().Claim(t.Context(), o); err == nil {
					claims = append(claims, c)
				}
			case 3:
				if len(claims) > 0 {
					c := claims[rng.IntN(len(claims))]
					event := []alloc.Event{alloc.EventRelease, alloc.EventRelease, alloc.EventRetire}[rng.IntN(3)]
					_, err := b.open().Settle(t.Context(), alloc.SettleOrder{Pool: "p", Event: event, IDs: c.IDs, Token: c.Token})
					if code := alloc.CodeOf(err); code != "" && code != alloc.CodeNotOwner && code != alloc.CodeIDRetired && code != alloc.CodeIDNotFound {
						t.Fatal(err)
					}
				}
			case 4:
				b.sweep()
			case 5:
				walks = append(walks, b.setOut("", 1+rng.IntN(10)))
			case 6:
				for _, w := range walks {
					w.step()
				}
			}
		}
		for _, w := range walks {
			w.finish()
		}
		b.walks(len(b.there("")))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
