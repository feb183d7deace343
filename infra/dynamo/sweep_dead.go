package dynamo

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// What sweeps know of listings of no use in chunks that are not leased yet: the level counts these listings and is to leave
// them out. Where there are more such chunks than one run looks at, each looks at the last ones, which are the newest, and
// at some in turn, and what it has found goes from run to run. A chunk that was looked at once nobody who leased its IDs
// before remembers them does not change any more until it is leased itself.

const (
	// checkNear and checkFar are how many chunks that are not leased yet are checked for listings of no use: where there
	// are few that may have such, and where there are many, of the last ones and of those in turn.
	checkNear = 100
	checkFar  = 20

	// maxUseless is of how many chunks it is known how many of their listings are of no use: so many that the sweep's lock,
	// where this stands, stays within a few kilobytes.
	maxUseless = 400

	attrUseless = "dc" // of a lock: see useless
	attrTurn    = "dn" // of a lock: the chunk from which on some are checked next
)

// useless is how many listings of no use chunks have.
type useless map[int64]int64

func (u useless) String() string {
	var b strings.Builder
	chunks := slices.Sorted(maps.Keys(u))
	for _, n := range chunks[:min(len(chunks), maxUseless)] {
		b.WriteString(strconv.FormatInt(n, 36) + "." + strconv.FormatInt(u[n], 36) + " ")
	}
	return b.String()
}

func parseUseless(text string) useless {
	u := useless{}
	for part := range strings.FieldsSeq(text) {
		n, count, _ := strings.Cut(part, ".")
		at, err := strconv.ParseInt(n, 36, 64)
		many, err2 := strconv.ParseInt(count, 36, 64)
		if err == nil && err2 == nil {
			u[at] = many
		}
	}
	return u
}

// stretch is some chunks, from one to before another.
type stretch struct{ from, to int64 }

// toCheck is which chunks that are not leased yet are looked at: those that may list what others list too, where there are
// few of them or of all.
func (w *sweep) toCheck(h *head) []stretch {
	from, to := max(h.nx, h.dirtyFrom), h.dirtyTo
	last := to - checkFar
	switch {
	case to <= h.nx:
		return nil
	case h.tl-h.nx <= checkNear:
		return []stretch{{h.nx, h.tl}}
	case to-from <= checkNear:
		return []stretch{{from, to}}
	}
	if w.turn < from || w.turn >= last {
		w.turn = from
	}
	turn := stretch{w.turn, min(w.turn+checkFar, last)}
	w.turn = turn.to
	return []stretch{turn, {last, to}}
}

// check looks at chunks that are not leased yet and may list what others list too: what they list of free IDs need not
// be listed again, and the rest is of no use.
func (w *sweep) check(ctx context.Context, h *head, p *plan) error {
	if w.series != h.series {
		w.series, w.useless, w.turn = h.series, useless{}, 0
	}
	maps.DeleteFunc(w.useless, func(n, _ int64) bool { return n < h.nx })
	for _, s := range w.toCheck(h) {
		v, err := w.s.window(ctx, h, s.from, s.to)
		if err != nil {
			return err
		}
		if err := w.mindHolds(ctx, v); err != nil {
			return err
		}
		for _, c := range v.chunks {
			delete(w.useless, c.n)
			for _, l := range c.listings {
				standing := v.standing(l)
				if standing == listingHeld || standing == listingSettled || p.listed[l] {
					w.useless[c.n]++
					p.dirtyTo = c.n + 1
					continue
				}
				p.listed[l] = true
			}
		}
	}
	for _, many := range w.useless {
		p.dead += many
	}
	return nil
}
