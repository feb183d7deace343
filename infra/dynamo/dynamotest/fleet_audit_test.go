package dynamotest

import (
	"fmt"
	"maps"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// audit reads the table: every ID that was put is in one state, every client has what it was answered, and of what is
// taken without a client to it there is no more than claims have left whose outcome nobody heard of.
func (b *books) audit() {
	b.mu.Lock()
	defer b.mu.Unlock()
	states := map[alloc.State]int{}
	total, loosened, found, orphans := 0, 0, 0, 0
	b.mem.Each(func(it dynamo.Item) {
		if kindOf(it.Key()) != kindID {
			return
		}
		s := stateOf(it)
		states[s]++
		total++
		if loose(it) {
			loosened++
		}
		if end := time.UnixMilli(it.Int(dynamo.AttrHoldEnd)); s == alloc.StateHeld && time.Since(end) > lateHold {
			b.failed("%s is held although its time was over at %s", idOf(it), end.Format(time.TimeOnly))
		}
		g := b.grants[idOf(it)]
		if g != nil {
			found++
		}
		if own := g != nil && it.Str(dynamo.AttrToken) == string(g.token); g != nil && !g.over() && (!own || !taken(s) && s != alloc.StateRetired) {
			b.failed("%s was answered to %s and is %v", idOf(it), g.token, it)
		} else if !own && taken(s) {
			orphans++
		}
	})
	for s, n := range b.states {
		if states[s] != n {
			b.failed("the table has %d IDs %s, the books %d", states[s], s, n)
		}
	}
	if twice := b.countedTwice(); len(twice) > 0 {
		b.failed("counted twice: %v", twice)
	}
	if seeded := int(b.head.Int(dynamo.AttrSeeded)); total-loosened < seeded || found < len(b.grants) {
		b.failed("%d IDs were seeded, %d are there, and %d let go; of the %d that were answered %d", seeded, total, loosened, len(b.grants), found)
	}
	if orphans > b.unheardOf+maxInFlight {
		b.failed("%d IDs are taken by nobody, and claims can have left %d", orphans, b.unheardOf)
	}
}

// countedTwice is of which IDs several chunks say that they were added, and which chunks these are.
func (b *books) countedTwice() map[alloc.ID][]string {
	by := map[alloc.ID][]string{}
	b.mem.Each(func(it dynamo.Item) {
		if kindOf(it.Key()) != kindChunk || it.Int(dynamo.AttrSeeded) == 0 {
			return
		}
		for _, l := range listingsOf(it) {
			by[l.id] = append(by[l.id], fmt.Sprintf("chunk %d of batch %s", chunkNumber(it.Key()), it.Str(dynamo.AttrBatch)))
		}
	})
	maps.DeleteFunc(by, func(_ alloc.ID, chunks []string) bool { return len(chunks) < 2 })
	return by
}
