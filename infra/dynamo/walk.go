package dynamo

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"idpool/alloc"
)

// A walk over a pool's IDs goes over its chunks, as they stood when it began, in their order. They are never changed, so
// where a walk is said by a number; and every ID that was there is in one of them. Most IDs are in several: listed again
// by sweeps, listed of later generations. A walk meets an ID at one listing alone:
//
//   - where its batch has counted it: in the chunk that is tagged with the batch of the ID's item and counts its listings
//     as added. Of these an ID has one at most, as that is by which Seed counts each ID once.
//   - Where it has no such listing, at the first in a chunk of doubt, tagged so: a seeding that meets an ID which another
//     batch has put, and may never come to list, lists it in such a chunk. Whether there is a counted listing is searched
//     for, page by page, in the chunks of the walk. It takes a seeding that was cut off and never repeated to come to that.
//   - In a series that a rebuild has made each of its listings says for which batch it is the counted one. Those of what
//     was settled then come first, in chunks below 0.
//
// All other chunks (of sweeps, of what came back) list nothing for the first time and are passed without a look at the
// IDs. Which listing it is depends on chunks and on the tag of the ID's batch, which stay, so no two pages disagree. In a
// pool that forgets, an ID that is seeded again is another batch's, which lists it behind the end of the walk.

// AttrDoubt is the tag of the batch that has put the IDs of a chunk and may not have listed them.
const AttrDoubt = "q"

const (
	walkChunks = 200  // chunks that a page reads at most
	walkSearch = 1000 // chunks that a page of a search reads at most
	walkRun    = 16   // chunks of doubt that one search is for at most
)

// mark is where a walk is. While it searches, open says of each listing of the run chunks of doubt from at on whether
// it may still be the one, and searched how far that is known.
type mark struct {
	series, end int64 // the walk is over so many chunks
	base        int64 // so many of them are below 0
	at          int64 // counted from the first of them, as are the others
	run         int64
	searched    int64
	open        bits
}

// WalkIDs implements alloc.Jobs. The walk goes over the series of chunks in which it has begun, also while a rebuild
// makes another one: the old one stays as it is.
func (s *Store) WalkIDs(ctx context.Context, pool alloc.PoolName, state alloc.State, from string, limit int) (page []alloc.IDRecord, next string, err error) {
	h, err := s.poolHead(ctx, pool)
	if err != nil {
		return nil, "", err
	}
	m := mark{series: h.series, end: h.base + h.tl, base: h.base}
	if from != "" {
		if m, err = parseMark(from); err != nil {
			return nil, "", err
		}
	}
	w := &walk{s: s, pool: pool, state: state, mark: m}
	if m.run > 0 {
		err = w.search(ctx)
	} else {
		err = w.stretch(ctx, limit)
	}
	if err != nil {
		return nil, "", err
	}
	if w.at == w.end {
		return w.page, "", nil
	}
	return w.page, w.mark.String(), nil
}

// walk is one page of a walk.
type walk struct {
	mark
	s     *Store
	pool  alloc.PoolName
	state alloc.State
	page  []alloc.IDRecord
}

// walked is a chunk as a walk sees it.
type walked struct {
	*chunk
	tag   string // of the batch that it counts, or doubts; "" for one that lists nothing for the first time
	doubt bool
}

func walkedOf(n int64, it Item) walked {
	c := walked{chunk: decodeChunk(n, it), tag: it.Str(AttrDoubt)}
	if c.doubt = c.tag != ""; !c.doubt && c.added > 0 {
		c.tag = c.batch
	}
	return c
}

// of reports whether it is the batch of listing i of the chunk that has put the ID.
func (c walked) of(i int, id Item) bool {
	tag, _ := batchOf(id)
	if len(c.tags) > 0 {
		return c.counts(i, tag)
	}
	return c.tag != "" && tag == c.tag
}

// passed reports whether it lists nothing for the first time.
func (c walked) passed() bool { return c.tag == "" && len(c.tags) == 0 }

// stretch goes over chunks until there are IDs enough, or there is doubt.
func (w *walk) stretch(ctx context.Context, limit int) error {
	want := max(1, (limit+maxListings-1)/maxListings)
	for read := int64(0); read < walkChunks && len(w.page) < limit && w.at < w.end; {
		chunks, err := w.chunks(ctx, w.at, min(w.at+int64(want), w.end, w.at+walkChunks-read))
		if err != nil {
			return err
		}
		if chunks[0].doubt {
			return w.begin(ctx, chunks)
		}
		if n := slices.IndexFunc(chunks, func(c walked) bool { return c.doubt }); n > 0 {
			chunks = chunks[:n]
		}
		counted := slices.DeleteFunc(slices.Clone(chunks), walked.passed)
		states, err := w.states(ctx, counted)
		if err != nil {
			return err
		}
		for _, c := range counted {
			for i, l := range c.listings {
				if it := states[l.id]; c.of(i, it) {
					w.meet(l.id, it)
				}
			}
		}
		read += int64(len(chunks))
		w.at += int64(len(chunks))
	}
	return nil
}

// begin begins the search for the chunks of doubt at the beginning of those given.
func (w *walk) begin(ctx context.Context, chunks []walked) error {
	run := w.doubts(chunks)
	w.run, w.searched, w.open = int64(len(run)), 0, nil
	states, err := w.states(ctx, run)
	if err != nil {
		return err
	}
	n := 0
	for _, c := range run {
		for i, l := range c.listings {
			w.open.set(n, c.of(i, states[l.id]) && w.wanted(states[l.id]))
			n++
		}
	}
	if !w.open.any() {
		w.settled()
	}
	return nil
}

// settled ends the search: the walk goes on behind the run.
func (w *walk) settled() {
	w.mark = mark{series: w.series, end: w.end, base: w.base, at: w.at + w.run}
}

// doubts are the chunks of doubt at the beginning of those given, as many as one search is for.
func (w *walk) doubts(chunks []walked) []walked {
	n := slices.IndexFunc(chunks, func(c walked) bool { return !c.doubt })
	if n < 0 {
		n = len(chunks)
	}
	return chunks[:min(n, walkRun)]
}

// search looks at more chunks for listings that come before those of the run: the counted ones of all chunks, and
// those of doubt before it. When all chunks have been looked at, what is still open is met.
func (w *walk) search(ctx context.Context) error {
	run, err := w.chunks(ctx, w.at, w.at+w.run)
	if err != nil {
		return err
	}
	states, err := w.states(ctx, run)
	if err != nil {
		return err
	}
	to := min(w.searched+walkSearch, w.end)
	others, err := w.chunks(ctx, w.searched, to)
	if err != nil {
		return err
	}
	counted, doubted := map[alloc.ID]bool{}, map[alloc.ID]int64{}
	for _, c := range others {
		for i, l := range c.listings {
			switch {
			case !c.of(i, states[l.id]):
			case !c.doubt:
				counted[l.id] = true
			default:
				if _, met := doubted[l.id]; !met {
					doubted[l.id] = c.n
				}
			}
		}
	}
	n := 0
	for _, c := range run {
		for _, l := range c.listings {
			first, met := doubted[l.id]
			if counted[l.id] || met && first < c.n {
				w.open.set(n, false)
			}
			if it := states[l.id]; to == w.end && w.open.has(n) {
				w.meet(l.id, it)
			}
			n++
		}
	}
	if w.searched = to; to == w.end || !w.open.any() {
		w.settled()
	}
	return nil
}

// meet puts the ID on the page if it is in the state.
func (w *walk) meet(id alloc.ID, it Item) {
	if w.wanted(it) {
		w.page = append(w.page, decodeID(w.pool, id, it))
	}
}

// wanted reports whether there is an ID, and in the state. One that the pool has forgotten is not there.
func (w *walk) wanted(it Item) bool {
	if it == nil || it.Str(AttrState) == StateForgotten || expired(it, w.s.now()) {
		return false
	}
	return w.state == "" || stateOf[it.Str(AttrState)] == w.state
}

// chunks reads the chunks from one number to before another.
func (w *walk) chunks(ctx context.Context, from, to int64) ([]walked, error) {
	keys := make([]Key, 0, to-from)
	for n := from; n < to; n++ {
		keys = append(keys, chunkKey(w.pool, w.series, n-w.base))
	}
	items, err := w.s.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	list := make([]walked, len(items))
	for i, it := range items {
		if it == nil {
			return nil, poolDamaged(w.pool)
		}
		list[i] = walkedOf(from+int64(i), it)
	}
	return list, nil
}

// states reads the IDs that the chunks list, strongly.
func (w *walk) states(ctx context.Context, chunks []walked) (map[alloc.ID]Item, error) {
	states := map[alloc.ID]Item{}
	var ids []alloc.ID
	for _, c := range chunks {
		for _, l := range c.listings {
			if _, known := states[l.id]; !known {
				states[l.id] = nil
				ids = append(ids, l.id)
			}
		}
	}
	return states, w.s.readIDs(ctx, w.pool, ids, states)
}

func (m mark) String() string {
	return fmt.Sprintf("%d.%d.%d.%d.%d.%d.%x", m.series, m.end, m.at, m.run, m.searched, m.base, []byte(m.open))
}

func parseMark(text string) (mark, error) {
	var m mark
	var err error
	numbers := []*int64{&m.series, &m.end, &m.at, &m.run, &m.searched, &m.base}
	parts := strings.Split(text, ".")
	ok := len(parts) == len(numbers)+1
	for i := 0; ok && i < len(numbers); i++ {
		*numbers[i], err = strconv.ParseInt(parts[i], 10, 64)
		ok = err == nil && *numbers[i] >= 0
	}
	if ok {
		m.open, err = hex.DecodeString(parts[len(numbers)])
		ok = err == nil && m.at < m.end && m.run <= m.end-m.at && m.run <= walkRun && m.searched < m.end && m.base <= m.end
	}
	if !ok {
		return mark{}, internal(fmt.Errorf("%q is no mark of a walk", text))
	}
	return m, nil
}

// bits is a row of truth values.
type bits []byte

func (b *bits) set(n int, v bool) {
	for len(*b) <= n/8 {
		*b = append(*b, 0)
	}
	if v {
		(*b)[n/8] |= 1 << (n % 8)
	} else {
		(*b)[n/8] &^= 1 << (n % 8)
	}
}

func (b bits) has(n int) bool { return n/8 < len(b) && b[n/8]>>(n%8)&1 == 1 }

func (b bits) any() bool { return slices.ContainsFunc(b, func(x byte) bool { return x != 0 }) }
