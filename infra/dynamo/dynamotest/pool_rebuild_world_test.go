package dynamotest

import (
	"slices"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// rebuiltBooks are kept of what rebuilds do to a pool.
type rebuiltBooks struct {
	harmed   bool // something was lost, by hand, that no rebuild has restored yet
	switched int  // how often the head came to have another series
	unsure   bool // a head was lost: what it had counted is not known
}

// wroteRebuiltHead looks at changes of the head that only a rebuild makes, and reports whether it was one. While a head is
// marked nothing else changes it; a mark that goes leaves it as it was, or another series of chunks in which all is listed that was
// free.
func (w *poolWorld) wroteRebuiltHead(before, after dynamo.Item) bool {
	if after == nil {
		if !before.Bool(dynamo.AttrMade) {
			w.fail("the head was deleted")
		}
		w.head = nil
		return true
	}
	if before == nil {
		w.enter(after)
		if w.rebuilt.harmed && after.Str(dynamo.AttrRebuild) == "" {
			w.restored()
		}
		return w.rebuilt.harmed
	}
	job, was := after.Str(dynamo.AttrRebuild), before.Str(dynamo.AttrRebuild)
	switch {
	case before.Int(dynamo.AttrSeries) != after.Int(dynamo.AttrSeries):
		if was == "" || job != "" {
			w.fail("the series was switched without a rebuild: the head went from %v to %v", before, after)
		}
		free := w.free()
		w.enter(after)
		for _, id := range free {
			if !slices.Contains(w.free(), id) && !w.rebuilt.harmed {
				w.fail("%s was free and listed, and is not after the rebuild", id)
			}
		}
		w.restored()
		return true
	case job == was && was == "":
		return false
	}
	for _, attr := range []string{dynamo.AttrLow, dynamo.AttrNext, dynamo.AttrTail, dynamo.AttrPublished, dynamo.AttrSeeded, dynamo.AttrPoolState} {
		if before[attr] != after[attr] {
			w.fail("while it was marked the head went from %v to %v", before, after)
		}
	}
	w.head = after
	return true
}

// enter makes it the head.
func (w *poolWorld) enter(head dynamo.Item) {
	w.head = head
	series := head.Int(dynamo.AttrSeries)
	if w.series[series] == nil {
		w.series[series] = map[int64]dynamo.Item{}
	}
	w.chunks = w.series[series]
}

// restored is the end of a rebuild.
func (w *poolWorld) restored() {
	w.saw("a rebuilt pool")
	w.rebuilt.switched++
	w.rebuilt.harmed = false
	w.recounted()
}

// recounted begins the books of what counts anew, by what the rebuild has listed: each ID once.
func (w *poolWorld) recounted() {
	if w.head.Int(dynamo.AttrSeeded) < w.listings() {
		w.fail("the rebuilt head counts %d as seeded, and lists %d", w.head.Int(dynamo.AttrSeeded), w.listings())
	}
	met := map[alloc.ID]bool{}
	for n := -w.head.Int(dynamo.AttrBase); n < w.head.Int(dynamo.AttrTail); n++ {
		for _, l := range listingsOf(w.chunks[n]) {
			if met[l.id] {
				w.fail("the rebuild has listed %s twice", l.id)
			}
			if met[l.id] = true; loose(w.ids[l.id]) {
				w.fail("the rebuild has listed %s, which was let go", l.id)
			}
		}
	}
	if w.fills == nil {
		return
	}
	w.fills.counted = map[listing][]int64{}
	for n := -w.head.Int(dynamo.AttrBase); n < w.head.Int(dynamo.AttrTail); n++ {
		for _, l := range listingsOf(w.chunks[n]) {
			w.fills.counted[l] = []int64{n}
		}
	}
}

func (w *poolWorld) listings() (n int64) {
	for k := -w.head.Int(dynamo.AttrBase); k < w.head.Int(dynamo.AttrTail); k++ {
		n += int64(len(listingsOf(w.chunks[k])))
	}
	return n
}

// loseHead and loseChunk do harm by hand.
func (w *poolWorld) loseHead() {
	w.mem.Drop(headKey)
	w.head, w.chunks = nil, map[int64]dynamo.Item{}
	w.rebuilt.harmed, w.rebuilt.unsure = true, true
}

func (w *poolWorld) loseChunk(n int64) {
	if it := w.chunks[n]; it != nil {
		w.mem.Drop(it.Key())
		delete(w.chunks, n)
		if w.fills != nil {
			for _, l := range listingsOf(it) {
				w.fills.counted[l] = slices.DeleteFunc(w.fills.counted[l], func(by int64) bool { return by == n })
			}
		}
		w.rebuilt.harmed = true
	}
}
