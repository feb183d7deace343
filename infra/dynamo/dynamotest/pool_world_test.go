package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// pool is the pool of every schedule.
const pool alloc.PoolName = "pool"

// listing is an ID in one life: an ID that came back has the next generation.
type listing struct {
	id alloc.ID
	g  int64
}

// poolWorld sees every write that reaches the table and every answer that leaves a Store, and holds them against the
// promises. It keeps its own books: of the Store's code it knows only what the items are called.
type poolWorld struct {
	mem  *Memory
	fail func(format string, args ...any)
	saw  func(what string) // that a schedule came to something worth coming to

	rules bool // judge by rules of the protocol too, not only by what a client can see

	writing sync.Mutex // one write at a time, so that what was there before it is known

	ids       map[alloc.ID]dynamo.Item        // the ID items
	owner     map[listing]string              // the first token that took it
	answered  map[listing]string              // which request it was answered to
	tokens    map[string]string               // token of an answer -> its IDs in order
	chunks    map[int64]dynamo.Item           // of the head's series
	series    map[int64]map[int64]dynamo.Item // of each
	head      dynamo.Item                     // nil while it is lost
	rebuilt   rebuiltBooks
	promised  map[alloc.ID]bool // answered as known to the pool by a seeding
	seeded    map[seeding]int   // how often a job has put an ID
	attempts  map[string]int    // how often a job was begun
	cameBack  map[listing]bool
	expired   map[listing]bool // lives that ended by the item's expiry
	again     map[listing]bool // lives that a pool had forgotten when the ID was seeded again
	freed     []moment         // how many listings were there for the taking, by time
	watchers  map[*act]*watch
	owners    owners
	fills     *fillBooks  // of a schedule with batches that have UpTo; nil for none
	unheardOf alloc.Count // most IDs that keyless claims with an unknown outcome may have left behind
}

// seeding is one ID of one job.
type seeding struct {
	id  alloc.ID
	job string
}

type moment struct {
	at time.Time
	n  int
}

func newPoolWorld(mem *Memory) *poolWorld {
	chunks := map[int64]dynamo.Item{}
	return &poolWorld{
		series: map[int64]map[int64]dynamo.Item{1: chunks}, chunks: chunks,
		mem: mem, saw: func(string) {}, ids: map[alloc.ID]dynamo.Item{}, owner: map[listing]string{}, answered: map[listing]string{},
		tokens: map[string]string{}, promised: map[alloc.ID]bool{},
		seeded: map[seeding]int{}, attempts: map[string]int{}, cameBack: map[listing]bool{}, again: map[listing]bool{}, expired: map[listing]bool{},
		watchers: map[*act]*watch{}, owners: newOwners(),
	}
}

// table is the Memory under the world's eyes.
func (w *poolWorld) table() dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		if !c.Write() {
			return c.Do(ctx, w.mem)
		}
		w.writing.Lock()
		defer w.writing.Unlock()
		before := w.mem.Item(c.Key())
		a := c.Do(ctx, w.mem)
		if e := alloc.CodeOf(a.Err); e == alloc.CodeInternal && !isConditionFailed(a.Err) {
			w.fail("the table refused %s: %v", c, a.Err)
		}
		if a.Err == nil {
			by, _ := ctx.Value(actKey{}).(*act)
			w.wrote(by, before, w.mem.Item(c.Key()))
		}
		return a
	})
}

// wrote looks at one change.
func (w *poolWorld) wrote(by *act, before, after dynamo.Item) {
	it := after
	if it == nil {
		it = before
	}
	switch kindOf(it.Key()) {
	case kindID:
		w.wroteID(by, before, after)
	case kindChunk:
		w.wroteChunk(before, after)
	case kindHead:
		w.wroteHead(before, after)
	case kindRecord:
		w.wroteRecord(before, after)
		return
	default:
		return
	}
	w.count()
}

// wroteID checks that the change is one of the transitions, and that in one life an ID has one owner.
func (w *poolWorld) wroteID(by *act, before, after dynamo.Item) {
	if after == nil {
		w.fail("the ID item %v was deleted", before.Key())
		return
	}
	id := idOf(after)
	w.ids[id] = after
	state, g, token := stateOf(after), after.Int(dynamo.AttrGeneration), after.Str(dynamo.AttrToken)
	switch {
	case state == alloc.StateFree && (before == nil || before.Str(dynamo.AttrJob) != after.Str(dynamo.AttrJob) || stateOf(before) == stateForgotten):
		w.put(before, after)
		return
	case before == nil:
		w.fail("%s came into being %s", id, state)
		return
	}
	was, wasG := stateOf(before), before.Int(dynamo.AttrGeneration)
	if !allowed(was, wasG, state, g) {
		w.fail("%s went from %s (generation %d) to %s (generation %d)", id, was, wasG, state, g)
	}
	l := listing{id, g}
	if state == alloc.StateFree {
		if was == alloc.StateFree {
			return // let go, pinned or taken back
		}
		w.cameBack[listing{id, wasG}] = true
		w.saw("an ID that came back")
		if !w.listed(l) && !w.rebuilt.harmed {
			w.fail("%s was freed at generation %d before it was published", id, g)
		}
		return
	}
	if w.rules {
		w.moved(by, before, after)
	}
	if state == alloc.StateReturning {
		w.loses(id, token)
	}
	if first, taken := w.owner[l]; !taken {
		w.owner[l] = token
	} else if first != token {
		w.fail("the owner of %s at generation %d changed from %s to %s", id, g, first, token)
	}
	if by != nil && w.watchers[by] != nil && taken(state) {
		w.watchers[by].tokens[token] = true
	}
}

// wroteRecord checks that a key record only moves on.
func (w *poolWorld) wroteRecord(before, after dynamo.Item) {
	if before == nil || after == nil {
		return
	}
	was, is := before.Str(dynamo.AttrState), after.Str(dynamo.AttrState)
	if before.Str(dynamo.AttrToken) != after.Str(dynamo.AttrToken) {
		w.saw("a key record replaced")
		return
	}
	raised := after.Int(dynamo.AttrVersion) > before.Int(dynamo.AttrVersion)
	if w.rules && (!raised || was != dynamo.RecordLive && !(was == dynamo.RecordVoid && is == dynamo.RecordFailed)) {
		w.fail("a key record went from %v to %v", before, after)
	}
	switch {
	case is == dynamo.RecordVoid:
		w.saw("a key record void")
	case is == dynamo.RecordFailed && was == dynamo.RecordLive:
		w.saw("a key record failed at once")
	case is == was && !slices.Equal(before.List(dynamo.AttrListings), after.List(dynamo.AttrListings)):
		w.saw("listings exchanged")
	}
}

// put sees to it that a seeding puts an ID once, and in the place of one that the pool has forgotten only.
func (w *poolWorld) put(before, after dynamo.Item) {
	if loose(before) {
		w.saw("an ID that was let go, added by another batch")
		return
	}
	id := idOf(after)
	sd := seeding{id, after.Str(dynamo.AttrJob)}
	// A pool that forgets cannot tell an attempt that was overtaken, or cut off and repeated days later, from a new one
	// when what it meets was claimed and forgotten meanwhile. So each attempt may put an ID once there.
	most := 1
	if before != nil || w.hasExpired(id) {
		most = max(1, w.attempts[sd.job])
	}
	if w.seeded[sd]++; w.seeded[sd] > most {
		w.fail("%s was put %d times by %s", id, w.seeded[sd], sd.job)
	}
	if before == nil {
		return
	}
	exp, expires := before[dynamo.AttrExpires].(int64)
	late := time.Now().Add(6 * time.Minute).Unix()
	w.saw("an ID seeded again")
	w.again[listing{id, before.Int(dynamo.AttrGeneration)}] = true
	gone := stateOf(before) == stateForgotten || expires && stateOf(before) == alloc.StateClaimed && exp <= late
	if !gone || after.Int(dynamo.AttrGeneration) <= before.Int(dynamo.AttrGeneration) {
		w.fail("%s was put over %v at generation %d", id, before, after.Int(dynamo.AttrGeneration))
	}
}

// hasExpired tells whether an item of the ID has ever expired.
func (w *poolWorld) hasExpired(id alloc.ID) bool {
	for l := range w.expired {
		if l.id == id {
			return true
		}
	}
	return false
}

// expire removes what has expired, as TTL does.
func (w *poolWorld) expire() {
	w.mem.Expire(time.Now())
	for id, it := range w.ids {
		if w.mem.Item(idKey(id)) == nil {
			w.expired[listing{id, it.Int(dynamo.AttrGeneration)}] = true
			delete(w.ids, id)
		}
	}
}

// taken tells whether somebody has an ID of the state.
func taken(s alloc.State) bool {
	return s == alloc.StateClaimed || s == alloc.StateHeld || s == stateForgotten
}

// allowed is the state machine of design.md.
func allowed(was alloc.State, wasG int64, is alloc.State, g int64) bool {
	switch {
	case was == is && wasG == g:
		return true
	case was == alloc.StateFree && taken(is), taken(was) && is == alloc.StateReturning:
		return g == wasG
	case was == alloc.StateHeld && taken(is), taken(was) && is == alloc.StateRetired:
		return g == wasG
	case was == alloc.StateReturning && is == alloc.StateFree:
		return g == wasG+1
	}
	return false
}

func (w *poolWorld) wroteChunk(before, after dynamo.Item) {
	switch {
	case after == nil:
		w.fail("the chunk %v was deleted", before.Key())
	case w.voids(before, after):
		w.saw("a chunk voided")
		w.keep(after)
	case before != nil && fmt.Sprint(before) != fmt.Sprint(after):
		w.fail("the chunk %v was changed", before.Key())
	default:
		w.keep(after)
	}
}

// keep keeps a chunk in the books of its series.
func (w *poolWorld) keep(it dynamo.Item) {
	series := chunkSeries(it.Key())
	if w.series[series] == nil {
		w.series[series] = map[int64]dynamo.Item{}
	}
	w.series[series][chunkNumber(it.Key())] = it
}

// wroteHead checks that the window only moves on, and that no listing of a free ID falls out of it.
func (w *poolWorld) wroteHead(before, after dynamo.Item) {
	if w.wroteRebuiltHead(before, after) {
		return
	}
	w.head = after
	lo, nx, tl := after.Int(dynamo.AttrLow), after.Int(dynamo.AttrNext), after.Int(dynamo.AttrTail)
	if before == nil {
		return
	}
	if lo > nx || nx > tl || lo < before.Int(dynamo.AttrLow) || nx < before.Int(dynamo.AttrNext) || tl < before.Int(dynamo.AttrTail) {
		w.fail("the head went from %v to %v", before, after)
	}
	for n := before.Int(dynamo.AttrTail); n < tl; n++ {
		if w.chunks[n] == nil {
			w.fail("chunk %d was published before it was put", n)
		}
	}
	if w.fills != nil {
		w.raised(before, after)
	}
	if lo == before.Int(dynamo.AttrLow) {
		return
	}
	if tl > before.Int(dynamo.AttrTail) {
		w.saw("free listings published again")
	}
	for n := before.Int(dynamo.AttrLow); n < lo; n++ {
		for _, l := range listingsOf(w.chunks[n]) {
			it := w.ids[l.id]
			if it != nil && it.Int(dynamo.AttrGeneration) == l.g && stateOf(it) == alloc.StateFree && !w.listed(l) {
				w.fail("%v fell out of the window while it was free", l)
			}
		}
	}
}

// listed tells whether a published chunk of the window has the listing.
func (w *poolWorld) listed(l listing) bool {
	for n := w.head.Int(dynamo.AttrLow); n < w.head.Int(dynamo.AttrTail); n++ {
		if slices.Contains(listingsOf(w.chunks[n]), l) {
			return true
		}
	}
	return false
}

// free returns the IDs that are there for the taking: free and listed.
func (w *poolWorld) free() []alloc.ID {
	var free []alloc.ID
	for _, id := range slices.Sorted(maps.Keys(w.ids)) {
		if it := w.ids[id]; stateOf(it) == alloc.StateFree && w.listed(listing{id, it.Int(dynamo.AttrGeneration)}) {
			free = append(free, id)
		}
	}
	return free
}

func isConditionFailed(err error) bool {
	_, ok := errors.AsType[*dynamo.ConditionFailed](err)
	return ok
}
