package dynamo

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"idpool/alloc"
)

// pageAge is how long the page of a step stays: longer than any job.
const pageAge = 2 * alloc.JobRetention

// entry is an ID as a rebuild lists it.
type entry struct {
	listing
	tag  string // of the batch that has put it
	open bool   // it can be claimed, now or when it has come back
	lost bool   // it was listed and had no item
	back bool   // it was set back to free when it had been taken
	kept bool   // its batch may go on: it asks what of it is listed
}

// String is the stored form.
func (e entry) String() string {
	kind := "s"
	switch {
	case e.open:
		kind = "o"
	case e.lost:
		kind = "l"
	case e.back:
		kind = "b"
	}
	if e.kept {
		kind = strings.ToUpper(kind)
	}
	return kind + e.tag + " " + e.listing.String()
}

func parseEntry(text string) (entry, bool) {
	head, rest, _ := strings.Cut(text, " ")
	l, ok := parseListing(rest)
	if !ok || head == "" {
		return entry{}, false
	}
	kind := strings.ToLower(head[:1])
	return entry{listing: l, tag: head[1:], open: kind == "o", lost: kind == "l", back: kind == "b", kept: kind != head[:1]}, true
}

// rebuiltPage is what a step lists, and where the scan goes on after it.
type rebuiltPage struct {
	entries   []entry
	positions []position
	counts    tally
	size      int64 // of the pool, by which chunks are cut
	scan      int64 // how many items a segment reads at once from now on
	left      int64 // how many entries are still to come, as far as is known
}

func (p *rebuiltPage) item(r *rebuilding, now time.Time) Item {
	texts, positions := make([]string, len(p.entries)), make([]string, len(p.positions))
	for i, e := range p.entries {
		texts[i] = e.String()
	}
	for i, at := range p.positions {
		positions[i] = string(at)
	}
	it := Item{AttrListings: texts, attrPositions: positions, attrSize: p.size, attrScan: p.scan, attrLeft: p.left, AttrExpires: now.Add(pageAge).Unix()}
	maps.Copy(it, p.counts.in(map[string]any{}))
	return item(rebuiltPageKey(r.pool, r.series, r.step), it)
}

func decodePage(it Item) *rebuiltPage {
	p := &rebuiltPage{size: it.Int(attrSize), scan: it.Int(attrScan), left: it.Int(attrLeft)}
	for _, text := range it.List(AttrListings) {
		if e, ok := parseEntry(text); ok {
			p.entries = append(p.entries, e)
		}
	}
	for _, text := range it.List(attrPositions) {
		p.positions = append(p.positions, position(text))
	}
	for i, name := range tallyAttrs {
		p.counts[i] = it.Int(name)
	}
	return p
}

// pageOf reads the page of the step that is next or, where there is none, makes it.
func (s *Store) pageOf(ctx context.Context, r *rebuilding) (*rebuiltPage, error) {
	it, err := s.table.Get(ctx, rebuiltPageKey(r.pool, r.series, r.step))
	if err != nil {
		return nil, err
	}
	if it != nil {
		return decodePage(it), nil
	}
	p, err := s.scanStretch(ctx, r)
	if err != nil {
		return nil, err
	}
	it = p.item(r, s.now())
	err = s.insist(ctx, func() error { return s.table.Put(ctx, it, Absent(AttrPK)) })
	if there, met := refusedBy(err); met && there != nil {
		return decodePage(there), nil
	}
	return p, err
}

// chunks cuts the page's entries into chunks: those of what can be claimed, and the others.
func (p *rebuiltPage) chunks(pool alloc.PoolName) (open, settled [][]entry) {
	most := int(min(maxListings, max(1, p.size/50)))
	var opens, rest []entry
	for _, e := range p.entries {
		if e.open {
			opens = append(opens, e)
		} else {
			rest = append(rest, e)
		}
	}
	return cut(pool, opens, most), cut(pool, rest, maxListings)
}

// cut packs entries into chunks that stay within one write unit.
func cut(pool alloc.PoolName, entries []entry, most int) (chunks [][]entry) {
	room := 0
	for _, e := range entries {
		need := 2 + len(e.listing.String()) + len(e.tag)
		last := len(chunks) - 1
		if last < 0 || len(chunks[last]) == most || need > room {
			chunks = append(chunks, nil)
			last++
			room = unitBytes - chunkOverhead - len(pool)
		}
		chunks[last] = append(chunks[last], e)
		room -= need
	}
	return chunks
}

// putChunks puts the chunks of a page, and what batches ask for. Those that are there are of the same page.
func (s *Store) putChunks(ctx context.Context, r *rebuilding, p *rebuiltPage) error {
	open, settled := p.chunks(r.pool)
	items := make([]Item, 0, len(open)+len(settled))
	before := r.published
	for i, c := range open {
		items = append(items, r.chunkItem(r.tail+int64(i), before, c))
		before += int64(len(c))
	}
	for i, c := range settled {
		items = append(items, r.chunkItem(-r.base-int64(i)-1, 0, c))
	}
	items = append(items, p.batches(r, s.now())...)
	errs := make([]error, len(items))
	each(len(items), seedWidth, func(i int) {
		errs[i] = s.insist(ctx, func() error { return s.table.Put(ctx, items[i], Absent(AttrPK)) })
		if _, met := refusedBy(errs[i]); met {
			errs[i] = nil
		}
	})
	return firstOf(errs)
}

// batches are the items that say what the page lists of batches that may go on; see seeding.listedByRebuild.
func (p *rebuiltPage) batches(r *rebuilding, now time.Time) []Item {
	texts := map[string][]string{}
	for _, e := range p.entries {
		if e.kept {
			texts[e.tag] = append(texts[e.tag], e.listing.String())
		}
	}
	var items []Item
	for _, tag := range slices.Sorted(maps.Keys(texts)) {
		items = append(items, item(rebuiltBatchKey(r.pool, r.series, tag, r.step), Item{
			AttrListings: texts[tag], AttrExpires: now.Add(pageAge).Unix(),
		}))
	}
	return items
}

func (r *rebuilding) chunkItem(n, before int64, c []entry) Item {
	listings, tags := make([]string, len(c)), make([]string, len(c))
	for i, e := range c {
		listings[i], tags[i] = e.listing.String(), e.tag
	}
	return item(chunkKey(r.pool, r.series, n), Item{
		AttrBefore: before, AttrSeeded: int64(0), AttrSource: r.source(), AttrListings: listings, AttrTags: tags,
	})
}

// source is who puts the rebuild's chunks, and what it retires.
func (r *rebuilding) source() string { return "rb" + strconv.FormatInt(r.series, 36) }

// after is the rebuild's state when the page's chunks are put.
func (p *rebuiltPage) after(r *rebuilding) map[string]any {
	open, settled := p.chunks(r.pool)
	listed := int64(0)
	for _, c := range open {
		listed += int64(len(c))
	}
	positions := make([]string, len(p.positions))
	for i, at := range p.positions {
		positions[i] = string(at)
	}
	return r.counts.plus(p.counts).in(map[string]any{
		attrStep: r.step + 1, AttrTail: r.tail + int64(len(open)), AttrBase: r.base + int64(len(settled)), AttrPublished: r.published + listed,
		AttrSeeded: r.met + int64(len(p.entries)), attrPositions: positions, attrScan: p.scan,
	})
}

func (p *rebuiltPage) done(r *rebuilding, next string) alloc.PoolRebuilt {
	met := alloc.Count(len(p.entries))
	done := alloc.PoolRebuilt{Next: next, Met: met, Tally: p.counts.of(), Total: r.total(int64(met)), Looked: met, Left: alloc.Count(p.left)}
	for _, e := range p.entries {
		if e.lost && len(done.Gone) < alloc.MaxFindings {
			done.Gone = append(done.Gone, e.id)
		}
		if e.back && len(done.SetBack) < alloc.MaxFindings {
			done.SetBack = append(done.SetBack, e.id)
		}
	}
	return done
}

// position is where a segment of the scan goes on: "" at its beginning, scanEnd at its end, else the key as it was given.
type position string

const scanEnd position = "."

func positionOf(next Key) position {
	if next == (Key{}) {
		return scanEnd
	}
	return position(strconv.Itoa(len(next.PK)) + " " + next.PK + next.SK)
}

func (p position) key() Key {
	size, rest, _ := strings.Cut(string(p), " ")
	n, err := strconv.Atoi(size)
	if err != nil || n > len(rest) {
		return Key{}
	}
	return Key{PK: rest[:n], SK: rest[n:]}
}

func done(positions []position) bool {
	return !slices.ContainsFunc(positions, func(p position) bool { return p != scanEnd })
}
