package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// books are kept of every write that reaches the table and every answer that a client got. Of the Store's code they know
// only what the items are called. They are cheap enough for hundreds of thousands of claims.
type books struct {
	mem *Memory

	mu     sync.Mutex
	faults []string

	states    map[alloc.State]int
	ids       map[alloc.ID]life
	free      int                // IDs that are free and listed: there for the taking
	owner     map[listing]string // the first token that took it
	listed    map[listing]int    // how many chunks of the window and behind it list it
	chunks    map[int64][]listing
	head      dynamo.Item
	listings  int         // in chunks from the low mark on
	freed     int         // IDs that came back, ever
	taken     int         // IDs that were taken, ever
	leased    int         // listings that were leased, ever
	runs      []sweepMark // of the schedule, under way
	sweptAt   sweepMark
	sweeps    int
	filledTo  alloc.Count // the target of the pool; 0 for none
	unheardOf int         // most IDs that claims with an unknown outcome may have left taken

	grants map[alloc.ID]*grant

	levels       int // how often the level was looked at
	above, below int // the greatest errors of the level, beyond what was used and came back since it was counted
	rawAbove     int // and as it stands
	rawBelow     int
	overTarget   int     // by how much the target was exceeded at most, beyond what came back since the level was counted
	mostPerFree  float64 // listings for each free ID, at most
	emptyHanded  int     // claims refused because of a burst
}

// life is how an ID stands.
type life struct {
	state alloc.State
	g     int64
}

// grant is an ID in the hands of a client.
type grant struct {
	token alloc.Token
	until time.Time // it is held until then; zero for good
	letGo bool      // its owner has asked to release it
}

// sweepMark is how much had happened when a sweep began.
type sweepMark struct{ freed, taken, leased int }

func newBooks(mem *Memory) *books {
	return &books{
		mem: mem, states: map[alloc.State]int{}, ids: map[alloc.ID]life{}, owner: map[listing]string{}, listed: map[listing]int{},
		chunks: map[int64][]listing{}, grants: map[alloc.ID]*grant{},
	}
}

func (b *books) fail(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed(format, args...)
}

// failed is fail for who has the lock.
func (b *books) failed(format string, args ...any) {
	if len(b.faults) < 20 {
		b.faults = append(b.faults, time.Now().Format("15:04:05 ")+fmt.Sprintf(format, args...))
	}
}

func (b *books) broken() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.faults) > 0
}

// table is the Memory under the books' eyes, without faults.
func (b *books) table() dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		a, _ := b.do(ctx, c, None)
		return a
	})
}

// do makes a call with a fault and tells how many write units it has cost.
func (b *books) do(ctx context.Context, c Call, fault Fault) (Answer, int) {
	if !c.Write() {
		return fault.Apply(ctx, c, b.mem), 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	units := b.mem.Usage().WriteUnits
	a := fault.Apply(ctx, c, Through(func(ctx context.Context, c Call) Answer {
		before := b.mem.Item(c.Key())
		a := c.Do(ctx, b.mem)
		if alloc.CodeOf(a.Err) == alloc.CodeInternal && !isConditionFailed(a.Err) {
			b.failed("the table refused %s: %v", c, a.Err)
		}
		if a.Err == nil {
			b.wrote(before, b.mem.Item(c.Key()))
		}
		return a
	}))
	return a, b.mem.Usage().WriteUnits - units
}

func (b *books) wrote(before, after dynamo.Item) {
	it := after
	if it == nil {
		it = before
	}
	switch kindOf(it.Key()) {
	case kindID:
		b.wroteID(before, after)
	case kindChunk:
		n := chunkNumber(it.Key())
		if after == nil || before != nil && (n < b.head.Int(dynamo.AttrTail) || len(listingsOf(after)) > 0) {
			b.failed("the chunk %v was changed", it.Key())
			return
		}
		b.chunks[n] = listingsOf(after)
	case kindHead:
		b.wroteHead(before, after)
	}
}

// wroteID checks that the change is one of the transitions, and that in one life an ID has one owner.
func (b *books) wroteID(before, after dynamo.Item) {
	if after == nil {
		b.failed("the ID item %v was deleted", before.Key())
		return
	}
	id, is, g := idOf(after), stateOf(after), after.Int(dynamo.AttrGeneration)
	b.states[is]++
	free := b.there(id)
	b.ids[id] = life{is, g}
	b.free += b.there(id) - free
	if before == nil {
		if is != alloc.StateFree {
			b.failed("%s came into being %s", id, is)
		}
		return
	}
	was, wasG := stateOf(before), before.Int(dynamo.AttrGeneration)
	b.states[was]--
	if !allowed(was, wasG, is, g) {
		b.failed("%s went from %s (generation %d) to %s (generation %d)", id, was, wasG, is, g)
	}
	l := listing{id, g}
	if is == alloc.StateFree {
		if was == alloc.StateFree {
			return // put, and to be listed or not
		}
		b.freed++
		if b.listed[l] == 0 {
			b.failed("%s was freed at generation %d before it was listed", id, g)
		}
		delete(b.owner, listing{id, wasG})
		return
	}
	if was == alloc.StateFree {
		b.taken++
	}
	token := after.Str(dynamo.AttrToken)
	if first, known := b.owner[l]; !known {
		b.owner[l] = token
	} else if first != token {
		b.failed("the owner of %s at generation %d changed from %s to %s", id, g, first, token)
	}
}

// there is 1 for an ID that is free and listed, else 0.
func (b *books) there(id alloc.ID) int {
	if is := b.ids[id]; is.state == alloc.StateFree && b.listed[listing{id, is.g}] > 0 {
		return 1
	}
	return 0
}

// list books that so many more chunks list the listing.
func (b *books) list(l listing, n int) {
	was := b.there(l.id)
	b.listings += n
	if b.listed[l] += n; b.listed[l] == 0 {
		delete(b.listed, l)
	}
	b.free += b.there(l.id) - was
}

// wroteHead checks that the window only moves on, that no listing of a free ID falls out of it, and that a seeding does
// not lift the pool above its target.
func (b *books) wroteHead(before, after dynamo.Item) {
	b.head = after
	if after == nil || before == nil {
		return
	}
	number := func(attr string) (int64, int64) { return before.Int(attr), after.Int(attr) }
	lo, newLo := number(dynamo.AttrLow)
	nx, newNx := number(dynamo.AttrNext)
	tl, newTl := number(dynamo.AttrTail)
	if newLo < lo || newNx < nx || newTl < tl || newLo > newNx || newNx > newTl {
		b.failed("the head went from %v to %v", before, after)
		return
	}
	if at, now := number(dynamo.AttrCountedAt); at != now {
		b.sweeps++
		b.sweptAt = b.mark()
		for _, m := range b.runs { // whichever it is of
			b.sweptAt = sweepMark{min(b.sweptAt.freed, m.freed), min(b.sweptAt.taken, m.taken), min(b.sweptAt.leased, m.leased)}
		}
	}
	for n := tl; n < newTl; n++ {
		for _, l := range b.chunks[n] {
			b.list(l, 1)
		}
	}
	for n := nx; n < newNx; n++ {
		b.leased += len(b.chunks[n])
	}
	for n := lo; n < newLo; n++ {
		b.passed(b.chunks[n])
		delete(b.chunks, n)
	}
	if b.free >= fewFree {
		b.mostPerFree = max(b.mostPerFree, float64(b.listings)/float64(b.free))
	}
	if sd, newSd := number(dynamo.AttrSeeded); newSd > sd && b.filledTo > 0 {
		since := b.since()
		b.overTarget = max(b.overTarget, b.free-int(b.filledTo)-since.freed-since.leased)
	}
}

// passed takes the listings of a chunk off the books.
func (b *books) passed(ls []listing) {
	for _, l := range ls {
		b.list(l, -1)
		if is := b.ids[l.id]; b.listed[l] == 0 && is == (life{alloc.StateFree, l.g}) {
			b.failed("%v fell out of the window while it was free", l)
		}
	}
}

func (b *books) mark() sweepMark { return sweepMark{b.freed, b.taken, b.leased} }

// since is what has happened since the run began by which the level was counted last.
func (b *books) since() sweepMark {
	return sweepMark{b.freed - b.sweptAt.freed, b.taken - b.sweptAt.taken, b.leased - b.sweptAt.leased}
}

// begins books that a run of the schedule begins, and ends that one is over.
func (b *books) begins() sweepMark {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.mark()
	b.runs = append(b.runs, m)
	return m
}

func (b *books) ends(m sweepMark) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.runs, m)
	b.runs = slices.Delete(b.runs, i, i+1)
}

// judgeLevel holds the level against the IDs that are free. It counts what is published and not leased, and what the last
// sweep found free of the rest: so it may be too low by what was leased and came back since that began, and too high by
// what was taken.
func (b *books) judgeLevel() {
	store, err := dynamo.New(dynamo.Config{Table: b.mem})
	if err != nil {
		panic(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l, err := store.Level(context.Background(), pool)
	if err != nil {
		b.failed("the level: %v", err)
		return
	}
	b.levels++
	err1 := int(l.Available) - b.free
	since := b.since()
	b.rawAbove, b.rawBelow = max(b.rawAbove, err1), max(b.rawBelow, -err1)
	b.above, b.below = max(b.above, err1-since.taken), max(b.below, -err1-since.leased-since.freed)
}

// A claim remembers what had been taken when it began, to tell why it was refused.
func (b *books) claimBegins() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free
}

// exhausted checks that a claim was refused with reason.
func (b *books) exhausted(freeBefore int, n alloc.Count) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.emptyHanded++
	if free := b.free; min(free, freeBefore) >= int(n)+maxInFlight {
		b.failed("a claim of %d was refused while %d were free", n, min(free, freeBefore))
	}
}

// fewFree is below how many free IDs the listings for each are not looked at, and lateHold how long a hold may stand when its
// time is over: the schedule comes each minute, and may fail for a while.
const (
	fewFree  = 300
	lateHold = 30 * time.Minute // seen: 22 minutes, once in some 50 days
)

// maxInFlight is more than all claims that may be under way at once can hold.
const maxInFlight = 200

// answered books that a client got IDs: nobody else may have them.
func (b *books) answered(c alloc.Claim, o alloc.ClaimOrder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(c.IDs) != int(o.Count) {
		b.failed("asked for %d, answered %v", o.Count, c.IDs)
	}
	for _, id := range c.IDs {
		if g := b.grants[id]; g != nil && g.token != c.Token && !g.over() {
			b.failed("%s was handed out twice: to %+v, and now to %s", id, *g, c.Token)
		}
		b.grants[id] = &grant{token: c.Token, until: c.HeldUntil}
	}
}

// over reports whether somebody else may have the ID by now.
func (g *grant) over() bool {
	return g.letGo || !g.until.IsZero() && time.Now().Add(2*maxSkew).After(g.until)
}

func (b *books) unheard(n alloc.Count) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unheardOf += int(n)
}

// each looks at those of a claim's IDs that are its own still.
func (b *books) each(c alloc.Claim, f func(alloc.ID, *grant)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range c.IDs {
		if g := b.grants[id]; g != nil && g.token == c.Token {
			f(id, g)
		}
	}
}

func (b *books) letsGo(c alloc.Claim) { b.each(c, func(_ alloc.ID, g *grant) { g.letGo = true }) }

func (b *books) settled(c alloc.Claim, e alloc.Event) {
	b.each(c, func(_ alloc.ID, g *grant) {
		if e == alloc.EventConfirm {
			g.until = time.Time{} // for good
		}
	})
}

// refusedTo checks that an owner is refused only where the time of the hold is over.
func (b *books) refusedTo(c alloc.Claim, e alloc.Event, err error) {
	b.each(c, func(id alloc.ID, g *grant) {
		if !g.over() {
			b.failed("the %s of %s was refused to its owner: %v", e, id, err)
		}
	})
}
