package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// ownership is an ID in the hands of a token.
type ownership struct {
	id    alloc.ID
	token string
}

// owners is what the world knows of IDs that were answered: what their owners have asked for, and been told.
type owners struct {
	retires bool // a release is a retirement in this pool

	claims    []alloc.Claim      // answered
	held      map[ownership]bool // for a time only, at first
	letGo     map[ownership]int  // releases and retirements that were begun, and may be carried out
	retiring  map[ownership]int  // retirements of these
	confirmed map[ownership]bool // a confirmation was answered
	released  map[ownership]bool // a release was answered
	retired   map[ownership]bool // a retirement was answered

	confirming map[ownership]bool // a confirmation was begun
	asked      map[ownership]int  // how often anything was asked for
	changed    map[*act]int       // IDs whose state an operation has changed
}

func newOwners() owners {
	return owners{
		held: map[ownership]bool{}, letGo: map[ownership]int{}, retiring: map[ownership]int{}, confirmed: map[ownership]bool{},
		released: map[ownership]bool{}, retired: map[ownership]bool{},
		confirming: map[ownership]bool{}, asked: map[ownership]int{}, changed: map[*act]int{},
	}
}

// effect is what an event is in this pool.
func (o *owners) effect(e alloc.Event) alloc.Event {
	if o.retires && e == alloc.EventRelease {
		return alloc.EventRetire
	}
	return e
}

// asks books that an event is asked for.
func (o *owners) asks(own ownership, e alloc.Event) {
	o.asked[own]++
	o.book(own, e, 1)
}

// book adds to the events of which something may come.
func (o *owners) book(own ownership, e alloc.Event, n int) {
	switch o.effect(e) {
	case alloc.EventConfirm:
		o.confirming[own] = true
	case alloc.EventRetire:
		o.letGo[own] += n
		o.retiring[own] += n
	default:
		o.letGo[own] += n
	}
}

// answered books a claim.
func (o *owners) answered(c alloc.Claim) {
	o.claims = append(o.claims, c)
	for _, id := range c.IDs {
		o.held[ownership{id, string(c.Token)}] = c.State == alloc.StateHeld
	}
}

// loses holds an ID that begins its way back against the books.
func (w *poolWorld) loses(id alloc.ID, token string) {
	own := ownership{id, token}
	if w.owners.confirmed[own] && w.owners.letGo[own] == 0 {
		w.fail("%s was confirmed to %s, and comes back", id, token)
	}
	if w.owners.retired[own] {
		w.fail("%s was retired by %s, and comes back", id, token)
	}
}

// settleSome lets the owner of an answered claim confirm, release or retire it, or a part of it.
func (r *poolRun) settleSome(p *process) {
	if len(r.w.owners.claims) == 0 {
		r.claimKeyless(p)
		return
	}
	c := r.w.owners.claims[r.rng.IntN(len(r.w.owners.claims))]
	ids := c.IDs
	if r.chance(50) {
		at := r.rng.IntN(len(ids))
		ids = ids[at : at+1]
	}
	events := []alloc.Event{alloc.EventConfirm, alloc.EventConfirm, alloc.EventRelease, alloc.EventRelease, alloc.EventRelease, alloc.EventRetire}
	if r.chance(5) { // with a token that owns other IDs, or these
		c.Token = r.w.owners.claims[r.rng.IntN(len(r.w.owners.claims))].Token
	}
	r.settles(p, events[r.rng.IntN(len(events))], c, ids)
}

func (r *poolRun) settles(p *process, e alloc.Event, c alloc.Claim, ids []alloc.ID) *act {
	o := &r.w.owners
	mine := func(id alloc.ID) ownership { return ownership{id, string(c.Token)} }
	for _, id := range ids {
		o.asks(mine(id), e)
	}
	order := alloc.SettleOrder{Pool: pool, Event: e, IDs: ids, Token: c.Token}
	return do(r.chaos, p, fmt.Sprintf("%s(%d)", e, len(ids)), func(ctx context.Context, s *dynamo.Store) (alloc.Settled, error) {
		return s.Settle(ctx, order)
	}, func(a *act, got alloc.Settled, err error) {
		if p.dead {
			return
		}
		switch {
		case err == nil:
		case r.rebuilds.explain(err):
			return
		default:
			r.settleRefused(a, order, err)
			return
		}
		r.saw(string(e) + " answered")
		for _, id := range ids {
			r.settled(e, mine(id))
		}
		asked := e
		e := o.effect(e)
		if got.State == alloc.StateReturning {
			e = asked // of holds that were over
		}
		if want := settledState(e); got.State != want || !slices.Equal(got.IDs, ids) {
			r.fail("%s of %v was answered %+v", e, ids, got)
		}
		for _, id := range ids {
			switch e {
			case alloc.EventConfirm:
				o.confirmed[mine(id)] = true
			case alloc.EventRelease:
				o.released[mine(id)] = true
			default:
				o.retired[mine(id)] = true
			}
		}
	})
}

func settledState(e alloc.Event) alloc.State { return alloc.StateHeld.On(e).To }

// settleRefused holds a refusal against the books: an owner is refused what he has let go of, or held for a time only, or
// what his pool has forgotten. Where it is certain, nothing may come of what was asked for any more.
func (r *poolRun) settleRefused(a *act, o alloc.SettleOrder, err error) {
	refusal := alloc.CodeOf(err)
	if !unknown(err) {
		for _, id := range o.IDs {
			if own := (ownership{id, string(o.Token)}); r.w.has(own) { // else it may have been carried out
				r.w.owners.book(own, o.Event, -1)
			}
		}
	}
	if slices.Contains([]alloc.Code{alloc.CodeBusy, alloc.CodeThrottled, alloc.CodeUnavailable}, refusal) {
		return
	}
	e := asError(err)
	if e == nil || len(e.IDs) == 0 {
		r.fail("%s of %v: %v", o.Event, o.IDs, err)
		return
	}
	r.saw("an owner refused")
	if n := r.w.owners.changed[a]; n > 0 && !e.Unknown {
		r.fail("%s of %v was refused as a whole (%v), and has changed %d of them", o.Event, o.IDs, err, n)
	}
	for _, f := range e.IDs {
		own := ownership{f.ID, string(o.Token)}
		if r.w.has(own) && r.w.owners.asked[own] == 1 && !r.w.forgets(own) {
			r.fail("%s was refused as %s, and the token has %s", o.Event, f.Code, f.ID)
		}
		if !r.w.everHad(own) {
			continue
		}
		ok := false
		switch f.Code {
		case alloc.CodeNotOwner:
			ok = r.w.owners.letGo[own] > 0 || r.w.owners.held[own] && !r.w.owners.confirmed[own]
			if r.w.owners.retires && r.w.owners.held[own] {
				break // it has come back, and others of the order have not
			}
			// Only the last way back is remembered, and not by an ID that was forgotten and seeded again.
			ok = ok && (o.Event != alloc.EventRelease || !r.w.owners.released[own] || r.ways(f.ID) > 1 || r.policy == alloc.PolicyForget)
		case alloc.CodeIDRetired:
			ok = r.w.owners.retiring[own] > 0
		case alloc.CodeIDNotFound:
			ok = r.w.forgets(own) || !r.w.has(own) && (r.w.owners.letGo[own] > 0 || r.w.owners.held[own] && !r.w.owners.confirmed[own])
			ok = ok && r.policy == alloc.PolicyForget
		}
		if !ok && !r.w.forgot(own) {
			r.fail("%s of %s was refused as %s: %v", o.Event, f.ID, f.Code, r.w.ids[f.ID])
		}
	}
}

// forgets reports whether the pool has forgotten what the token has, by the present item: as it was claimed for good
// without a key, or as it expires by a clock as wrong as there may be.
func (w *poolWorld) forgets(own ownership) bool {
	it := w.ids[own.id]
	exp, expires := it[dynamo.AttrExpires].(int64)
	return w.has(own) && (stateOf(it) == stateForgotten && !w.owners.held[own] || expires && exp <= time.Now().Add(wrong+time.Minute).Unix())
}

// forgot reports whether the life of the ID that the token owned was forgotten by its pool.
func (w *poolWorld) forgot(own ownership) bool {
	for l, token := range w.owner {
		if l.id == own.id && token == own.token {
			return w.again[l] || w.expired[l]
		}
	}
	return false
}

// ways is how often an ID has come back.
func (r *poolRun) ways(id alloc.ID) (n int) {
	for l := range r.w.cameBack {
		if l.id == id {
			n++
		}
	}
	return n
}

// keyMayEnd holds the refusal of an ended key against the books: all that it was answered was let go, or held for a time
// only.
func (r *poolRun) keyMayEnd(o alloc.ClaimOrder) {
	r.saw("a key ended")
	if o.Hold > 0 || r.long {
		return
	}
	for _, k := range r.keys {
		if k.key != o.Key {
			continue
		}
		if k.first == nil {
			r.fail("%s has ended, and nobody was answered by it", k.name)
			return
		}
		for _, id := range k.first.IDs {
			if r.w.owners.letGo[ownership{id, string(k.first.Token)}] == 0 {
				r.fail("%s has ended, and its owner has not let go of %s", k.name, id)
			}
		}
	}
}

// toldEnded holds what an answer says has ended against the books.
func (r *poolRun) toldEnded(k *poolKey, c alloc.Claim) {
	for _, e := range c.Ended {
		own := ownership{e.ID, string(c.Token)}
		r.saw("an ID told ended")
		switch {
		case e.State == alloc.StateRetired && r.w.owners.retiring[own] == 0:
			r.fail("%s was told that %s is retired", k.name, e.ID)
		case e.State == alloc.StateReturning && r.w.owners.letGo[own] == 0 && c.State != alloc.StateHeld:
			r.fail("%s was told that %s has come back", k.name, e.ID)
		}
	}
}

// owned shows at the end that what owners were told has come true.
func (r *poolRun) owned() {
	now := map[ownership]alloc.State{}
	for id, it := range r.w.ids {
		now[ownership{id, it.Str(dynamo.AttrToken)}] = stateOf(it)
	}
	for own := range r.w.owners.retired {
		if now[own] != alloc.StateRetired {
			r.fail("%s was retired and is %v", own.id, r.w.ids[own.id])
		}
	}
	for own := range r.w.owners.released {
		if is, there := now[own]; there && r.w.owners.retiring[own] == 0 {
			r.fail("%s was released and is %s", own.id, is)
		}
	}
	for own := range r.w.owners.confirmed {
		if _, there := now[own]; !there && r.w.owners.letGo[own] == 0 && !r.w.forgot(own) {
			r.fail("%s was confirmed and is %v", own.id, r.w.ids[own.id])
		}
	}
	for _, it := range r.mem.Items() {
		if kindOf(it.Key()) == kindReturn {
			r.fail("a return item is left: %v", it)
		}
	}
}

// holdTime is how long a claim of a run holds: mostly for good.
func (r *poolRun) holdTime() time.Duration {
	if !r.holds {
		return 0
	}
	return []time.Duration{0, time.Second, 2 * time.Minute, 10 * time.Minute, longestHold}[r.rng.IntN(5)]
}
