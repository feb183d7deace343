package dynamo

import (
	"context"
	"maps"
	"slices"
	"time"

	"idpool/alloc"
)

// A batch with UpTo goes like any other, with three differences. Before IDs are put the level is looked at, and no more are
// put than are missing. Their chunks count only while the level stays at or below UpTo with them: see publish_upto.go. And
// its record is not closed while something of it is not needed. So IDs are put and not needed only where others have filled
// the pool in the same moment, or where a run was cut off; these it lets go: see seed_loose.go.

// rowMost is how many chunks of a batch with UpTo are placed before the tail is raised over them.
const rowMost = 16

// fill adds IDs in their order while they are needed, and says of the others whether they are there.
func (sd *seeding) fill(ctx context.Context) error {
	f := &filling{seeding: sd}
	for at := 0; at < len(sd.ids); {
		room, err := f.room(ctx)
		if err != nil {
			return err
		}
		g := &group{from: at, look: f.full || room <= 0}
		switch {
		case g.look:
			g.to = len(sd.ids)
		case at < sd.marked:
			g.to = sd.marked
		default:
			g.to = min(len(sd.ids), at+int(min(room, groupSize)))
		}
		g.found = make([]found, g.to-at)
		if err := sd.settle(ctx, g); err != nil {
			return err
		}
		if !g.look {
			f.put = g.to
		}
		if err := f.list(ctx, g); err != nil {
			return err
		}
		at = g.to
	}
	if slices.Contains(sd.outcomes, alloc.SeedUnneeded) {
		return f.park(ctx)
	}
	return sd.finish(ctx)
}

// filling is a run over a batch with UpTo.
type filling struct {
	*seeding
	put  int  // so many IDs of the batch, from the first, are put
	full bool // something was not needed: nor is what comes after it
}

// room is how many IDs are missing in this moment.
func (f *filling) room(ctx context.Context) (int64, error) {
	h, err := f.s.poolHead(ctx, f.pool)
	if err != nil {
		return 0, err
	}
	if h.rebuilding || h.series != f.head.series {
		return 0, poolRebuilding(f.pool)
	}
	f.head = h
	available, err := f.s.available(ctx, h)
	return f.upTo - available, err
}

// list lists what a group has put, as far as it is needed.
func (f *filling) list(ctx context.Context, g *group) error {
	what, err := f.sort(ctx, g)
	if err != nil {
		return err
	}
	size := f.head.seeded + int64(len(f.ids)-g.from)
	counted := func(ls []listing) []draft { return f.counted(ls, size) }
	taken := func(ls []listing) []draft { return relisted(counted(ls)) }
	if _, err := f.publishUpTo(ctx, what.taken, taken); err != nil {
		return err
	}
	left, err := f.publishUpTo(ctx, what.sure, counted)
	if err != nil {
		return err
	}
	for _, tag := range slices.Sorted(maps.Keys(what.unsure)) {
		more, err := f.publishUpTo(ctx, what.unsure[tag], func(ls []listing) []draft { return f.doubted(tag, ls, size) })
		if err != nil {
			return err
		}
		left = append(left, more...)
	}
	if len(left) == 0 {
		return nil
	}
	f.full = true
	kept, err := f.letGo(ctx, g, left)
	if err != nil {
		return err
	}
	_, err = f.publishUpTo(ctx, kept, taken)
	return err
}

// letGo lets go what of a group was not listed as it is not needed, and returns what cannot be, as it is in the hands of
// others by now: that counts as added.
func (f *filling) letGo(ctx context.Context, g *group, left []listing) (kept []listing, err error) {
	rest := map[alloc.ID]bool{}
	for _, l := range left {
		rest[l.id] = true
	}
	for n := g.from; n < g.to; n++ {
		if rest[f.ids[n]] {
			// As far as this batch is concerned; it is ours again when it is taken. The record has to say so first: who goes on
			// in a pool that forgets may find that another has added it since.
			f.theirs.set(n, true)
		}
	}
	if err := f.mark(ctx, f.put); err != nil {
		return nil, err
	}
	held, errs := make([]bool, len(g.found)), make([]error, len(g.found))
	each(len(g.found), seedWidth, func(i int) {
		if found := g.found[i]; rest[found.listing.id] && found.ours {
			held[i], errs[i] = f.loosen(ctx, found)
		}
	})
	for i, found := range g.found {
		switch n := g.from + i; {
		case held[i]:
			f.theirs.set(n, false)
			kept = append(kept, found.listing)
		case rest[f.ids[n]]:
			f.outcomes[n] = alloc.SeedUnneeded
		}
	}
	return kept, firstOf(errs)
}

// publishUpTo publishes listings in their order, in such drafts, while they are needed, and returns the others.
func (f *filling) publishUpTo(ctx context.Context, ls []listing, drafted func([]listing) []draft) (left []listing, err error) {
	for try := range publishTries {
		if len(ls) == 0 {
			return nil, nil
		}
		room, err := f.room(ctx)
		if err != nil {
			return nil, err
		}
		list := f.needed(drafted(ls), room)
		if len(list) == 0 {
			return ls, nil
		}
		p := publication{s: f.s, h: f.head, id: string(alloc.NewToken()), guard: func(ctx context.Context) error { return f.mark(ctx, f.put) }}
		done, err := p.attempt(ctx, list)
		if err != nil {
			return nil, err
		}
		for _, d := range list[:done] {
			ls = ls[len(d.listings):]
		}
		if done > 0 {
			continue
		}
		// Others publish at the same time: spread out, or all of them try for every place.
		if err := f.s.wait(ctx, f.s.spread(try)); err != nil {
			return nil, err
		}
	}
	return nil, poolContended(f.pool)
}

// needed cuts drafts to what there is room for. What lifts the level by nothing there is always room for.
func (f *filling) needed(list []draft, room int64) []draft {
	list = list[:min(len(list), rowMost)]
	for i := range list {
		d := &list[i]
		d.upTo = f.upTo
		if d.relisted && d.added > 0 {
			continue
		}
		if room <= 0 {
			return list[:i]
		}
		d.listings = d.listings[:min(int64(len(d.listings)), room)]
		d.added = min(d.added, len(d.listings))
		room -= int64(len(d.listings))
	}
	return list
}

// park ends a run that has left something as it is not needed. Where a run before it was cut off, something that was put by
// that may still come: then the batch stays open for others.
func (f *filling) park(ctx context.Context) error {
	set := map[string]any{AttrRun: ""}
	if f.clean {
		set = map[string]any{AttrState: batchParked}
	}
	set[AttrOthers] = f.encodeTheirs()
	_, _, err := f.update(ctx, set)
	return err
}

// spread is how long to wait after so many attempts that met another publisher.
func (s *Store) spread(try int) time.Duration {
	return time.Duration(s.intN(int(min(insistLongest, publishPause<<min(try, 8)))))
}
