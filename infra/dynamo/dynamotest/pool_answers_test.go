package dynamotest

import (
	"slices"
	"strings"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// watch follows one claim under way: the least number of IDs that it could have had, its own among them.
type watch struct {
	tokens map[string]bool
	least  int
}

// count brings the watches of claims under way up to date.
func (w *poolWorld) count() {
	n := len(w.free())
	w.freed = append(w.freed, moment{time.Now(), n})
	for _, watch := range w.watchers {
		watch.see(n, w.ids)
	}
}

func (v *watch) see(free int, ids map[alloc.ID]dynamo.Item) {
	own := 0
	for _, it := range ids {
		if taken(stateOf(it)) && v.tokens[it.Str(dynamo.AttrToken)] {
			own++
		}
	}
	v.least = min(v.least, free+own)
}

// claims starts the watch of a claim. A Store may remember an empty pool for a second of its own, so the watch begins
// that much earlier.
func (w *poolWorld) claims(a *act) {
	v := &watch{tokens: map[string]bool{}, least: len(w.free())}
	since := time.Now().Add(-time.Second)
	for _, m := range slices.Backward(w.freed) {
		v.least = min(v.least, m.n)
		if m.at.Before(since) {
			break
		}
	}
	w.watchers[a] = v
}

// answer holds a successful claim against the books: durable, all different, nobody else's, and of one token always the
// same.
func (w *poolWorld) answer(who string, n alloc.Count, c alloc.Claim) {
	if alloc.Count(len(c.IDs)) != n || c.Token == "" || c.State != alloc.StateClaimed && c.State != alloc.StateHeld || c.Pool != pool {
		w.fail("%s asked for %d and was answered %+v", who, n, c)
	}
	seen := map[alloc.ID]bool{}
	for _, id := range c.IDs {
		if seen[id] {
			w.fail("%s was answered %s twice in one claim", who, id)
		}
		seen[id] = true
		if slices.ContainsFunc(c.Ended, func(e alloc.EndedID) bool { return e.ID == id }) {
			continue
		}
		l, ok := w.life(id, string(c.Token))
		if !ok {
			l, ok = w.lost(who, id, c)
		}
		if !ok {
			w.fail("%s was answered %s, which is %v", who, id, w.ids[id])
			continue
		}
		if first, ok := w.answered[l]; ok && first != who {
			w.fail("%s was answered %v, which was answered to %s before", who, l, first)
		}
		w.answered[l] = who
		w.comesBack(who, l, c)
	}
	ids := joinIDs(c.IDs)
	if first, ok := w.tokens[string(c.Token)]; ok && first != ids {
		w.fail("%s: the claim %s was answered as %s, and before as %s", who, c.Token, ids, first)
	}
	if w.tokens[string(c.Token)] == "" {
		w.owners.answered(c)
	}
	w.tokens[string(c.Token)] = ids
}

// lost returns the life of the ID that the token has owned and does not own any more: its hold was over before it was
// answered, or its owner has let go of it since the first answer.
func (w *poolWorld) lost(who string, id alloc.ID, c alloc.Claim) (listing, bool) {
	for l, owner := range w.owner {
		if l.id == id && owner == string(c.Token) {
			return l, c.State == alloc.StateHeld || w.answered[l] == who && w.owners.letGo[ownership{id, owner}] > 0
		}
	}
	return listing{}, false
}

// life returns the life of the ID that the token owns: the present one, or one that was forgotten before the claim could
// be answered, its item expired or the ID seeded again.
func (w *poolWorld) life(id alloc.ID, token string) (listing, bool) {
	if it := w.ids[id]; it != nil && taken(stateOf(it)) && it.Str(dynamo.AttrToken) == token {
		return listing{id, it.Int(dynamo.AttrGeneration)}, true
	}
	for l, owner := range w.owner {
		if l.id == id && owner == token && (w.again[l] || w.expired[l]) {
			return l, true
		}
	}
	return listing{}, false
}

// exhausted holds the refusal against the books: at some moment of the claim there really were fewer IDs than asked for.
func (w *poolWorld) exhausted(a *act, n alloc.Count) {
	if v := w.watchers[a]; v.least >= int(n) {
		w.fail("%s asked for %d and was told that the pool is exhausted, while there always were %d", a.name, n, v.least)
	}
}

func joinIDs(ids []alloc.ID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = string(id)
	}
	return strings.Join(parts, " ")
}

// unheard counts the lives of IDs that somebody took and nobody was answered, and that did not end by coming back. An ID
// that was seeded again while its claim was under way is back by that.
func (w *poolWorld) unheard() (n alloc.Count) {
	for l := range w.owner {
		if w.answered[l] == "" && !w.cameBack[l] && !w.again[l] {
			n++
		}
	}
	return n
}

// listedForNothing counts listings that a sweep takes for available without looking, and that are not: an ID that was
// claimed out of another batch's listing before its own batch had listed it. They count until their chunk is leased.
func (w *poolWorld) listedForNothing() (n alloc.Count) {
	for k := w.head.Int(dynamo.AttrNext); k < w.head.Int(dynamo.AttrTail); k++ {
		if w.chunks[k].Bool(dynamo.AttrRelisted) {
			continue // these it looks at
		}
		for _, l := range listingsOf(w.chunks[k]) {
			it := w.ids[l.id]
			if it == nil || stateOf(it) != alloc.StateFree || it.Int(dynamo.AttrGeneration) != l.g {
				n++
			}
		}
	}
	return n
}
