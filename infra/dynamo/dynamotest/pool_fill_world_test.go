package dynamotest

import (
	"maps"
	"slices"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// fillBooks are kept of a pool that batches with UpTo fill: what counts, by the chunks over which the tail was raised.
type fillBooks struct {
	counted map[listing][]int64 // the chunks that count an ID as added, in one life
}

func newFillBooks() *fillBooks { return &fillBooks{counted: map[listing][]int64{}} }

// loose tells whether an ID was let go, as it is not needed: it is free, and as good as absent.
func loose(it dynamo.Item) bool {
	return it != nil && stateOf(it) == alloc.StateFree && it.Str(dynamo.AttrPut) == putLoose
}

// voids tells whether the change of a chunk is one that a chunk may see: it is emptied, while it stands at the tail and the
// head says that it is to be.
func (w *poolWorld) voids(before, after dynamo.Item) bool {
	return before != nil && after.Bool(dynamo.AttrVoid) && len(listingsOf(after)) == 0 && after.Int(dynamo.AttrSeeded) == 0 &&
		before.Str(dynamo.AttrSource) == after.Str(dynamo.AttrSource) && chunkNumber(after.Key()) == w.head.Int(dynamo.AttrTail) &&
		w.head.Str(dynamo.AttrVoiding) == before.Str(dynamo.AttrSource)
}

// raised holds the chunks over which the tail was raised against the head: what it counts as seeded is what they count, each
// ID counts once, and those that count up to a level have lifted the pool no higher.
func (w *poolWorld) raised(before, after dynamo.Item) {
	added, upTo := int64(0), int64(0)
	for n := before.Int(dynamo.AttrTail); n < after.Int(dynamo.AttrTail); n++ {
		c := w.chunks[n]
		added += c.Int(dynamo.AttrSeeded)
		if c.Int(dynamo.AttrSeeded) > 0 {
			for _, l := range listingsOf(c) {
				w.fills.counted[l] = append(w.fills.counted[l], n)
				if chunks := w.fills.counted[l]; len(chunks) > 1 {
					w.fail("%v is counted as added by the chunks %v", l, chunks)
				}
			}
		}
		if c.Int(dynamo.AttrUpTo) > 0 && (!c.Bool(dynamo.AttrRelisted) || c.Int(dynamo.AttrSeeded) == 0) {
			upTo = c.Int(dynamo.AttrUpTo)
		}
	}
	if got := after.Int(dynamo.AttrSeeded) - before.Int(dynamo.AttrSeeded); got != added {
		w.fail("the head counts %d more as seeded, and the chunks %d", got, added)
	}
	if level := w.level(after); upTo > 0 && level > upTo {
		w.fail("a chunk that was to count up to %d has lifted the pool to %d", upTo, level)
	}
}

// level is how many IDs are available by a head.
func (w *poolWorld) level(head dynamo.Item) int64 {
	n := head.Int(dynamo.AttrWindowFree) - head.Int(dynamo.AttrDead)
	if next := head.Int(dynamo.AttrNext); next < head.Int(dynamo.AttrTail) {
		n += head.Int(dynamo.AttrPublished) - w.chunks[next].Int(dynamo.AttrBefore)
	}
	return max(0, n)
}

// times is how often an ID counts, in all of its lives.
func (b *fillBooks) times(id alloc.ID) (n int) {
	for l, chunks := range b.counted {
		if l.id == id {
			n += len(chunks)
		}
	}
	return n
}

// countsOnce shows, when every seeding was carried to its end and everything was needed, that each ID is there and counts
// once. In a pool that forgets it counts once in each of its lives, and one that is over may have come to its end uncounted.
func (r *fillRun) countsOnce() {
	for _, id := range slices.Sorted(maps.Keys(r.w.ids)) {
		if n := r.w.fills.times(id); r.policy == alloc.PolicyKeep && n != 1 || n == 0 && !r.uncounted() || loose(r.w.ids[id]) {
			r.fail("at last %s is counted %d times: %v", id, n, r.w.ids[id])
		}
	}
	if r.policy == alloc.PolicyForget {
		return
	}
	if want := int64(len(r.w.ids)) + int64(r.beyond()); r.w.head.Int(dynamo.AttrSeeded) != want {
		r.fail("at last the head counts %d as seeded, and %d are there", r.w.head.Int(dynamo.AttrSeeded), want)
	}
}

// nothingTwice shows that no more IDs count than are there.
func (r *fillRun) nothingTwice() {
	for l := range r.w.fills.counted {
		it := r.w.ids[l.id]
		if loose(it) && it.Int(dynamo.AttrGeneration) == l.g || it == nil && r.policy == alloc.PolicyKeep {
			r.fail("%v counts as added, and is %v", l, it)
		}
	}
}
