package dynamotest

import (
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// wrong is by how much the clock of a process is wrong at most.
const wrong = 5 * time.Minute

// longestHold is the longest hold of a random schedule: its end waits longer.
const longestHold = 90 * time.Minute

// moved holds a change of an ID that somebody has against what was asked for: nobody's ID is confirmed, retired or given
// back but by himself, or, when it was answered as held, when that is over by a clock as wrong as there may be.
func (w *poolWorld) moved(by *act, before, after dynamo.Item) {
	was, is := stateOf(before), stateOf(after)
	if was == is {
		return
	}
	if by != nil {
		w.owners.changed[by]++
	}
	own := ownership{idOf(before), before.Str(dynamo.AttrToken)}
	l := listing{own.id, before.Int(dynamo.AttrGeneration)}
	switch {
	case is == alloc.StateRetired:
		w.saw("an ID retired")
		if w.owners.retiring[own] == 0 {
			w.fail("%v of %s was retired, and its owner has not asked for it", l, own.token)
		}
	case was == alloc.StateHeld && taken(is):
		w.saw("a hold confirmed")
		if !w.owners.confirming[own] {
			w.fail("%v of %s was confirmed, and its owner has not asked for it", l, own.token)
		}
		key := time.UnixMilli(before.Int(dynamo.AttrTaken)).Add(alloc.KeyRetention)
		if exp, expires := after[dynamo.AttrExpires].(int64); is == stateForgotten || expires && time.Unix(exp, 0).Before(key) {
			w.fail("%v of %s was confirmed, and is forgotten before its key is: %v", l, own.token, after)
		}
	case is != alloc.StateReturning || w.owners.letGo[own] > 0:
	case was == alloc.StateHeld:
		w.saw("a hold over")
		if end := time.UnixMilli(before.Int(dynamo.AttrHoldEnd)); w.answered[l] != "" && end.After(time.Now().Add(wrong)) {
			w.fail("the hold of %v by %s was over %s before its time", l, w.answered[l], time.Until(end))
		}
	case w.answered[l] != "":
		w.fail("%v was taken from %s, who has it for good", l, w.answered[l])
	}
}

// comesBack shows that what is answered as held, and is held still, has the return item by which it comes back.
func (w *poolWorld) comesBack(who string, l listing, c alloc.Claim) {
	if c.State != alloc.StateHeld || stateOf(w.ids[l.id]) != alloc.StateHeld || !w.has(ownership{l.id, string(c.Token)}) {
		return
	}
	if w.mem.Item(returnItem(l.id, l.g)) == nil {
		w.fail("%s was answered that %v is held, and it has no return item", who, l)
	}
}

// has reports whether the token has the ID now, held or for good.
func (w *poolWorld) has(own ownership) bool {
	it := w.ids[own.id]
	return it != nil && taken(stateOf(it)) && it.Str(dynamo.AttrToken) == own.token
}

// everHad reports whether the token has ever had the ID.
func (w *poolWorld) everHad(own ownership) bool {
	for l, owner := range w.owner {
		if l.id == own.id && owner == own.token {
			return true
		}
	}
	return false
}

// settled holds a success against the item: it is what was answered, or was and has moved on by what its owner has asked
// for. A release is also a success where the ID is on its way back already, or has come back, as its hold was over.
func (r *poolRun) settled(asked alloc.Event, own ownership) {
	e := r.w.owners.effect(asked)
	it := r.w.ids[own.id]
	if !r.w.everHad(own) {
		r.fail("%s of %s by %s succeeded, which never had it", e, own.id, own.token)
		return
	}
	mine := it != nil && it.Str(dynamo.AttrToken) == own.token
	switch is := stateOf(it); {
	case e == alloc.EventConfirm && mine:
		if is == alloc.StateHeld || !taken(is) && r.w.owners.letGo[own] == 0 {
			r.fail("%s was confirmed, and is %v", own.id, it)
		}
	case e == alloc.EventConfirm:
		if r.w.owners.letGo[own] == 0 && !r.w.forgot(own) {
			r.fail("%s was confirmed, and is %v", own.id, it)
		}
	case asked == alloc.EventRelease && (!mine || is == alloc.StateReturning):
	case !mine || is != settledState(e):
		r.fail("%s succeeded, and %s is %v", e, own.id, it)
	}
}
