package alloctest

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"

	"idpool/alloc"
)

// The model of a small pool for linearizability. Where the contract leaves a choice, a step has several outcomes: which
// free ID a claim gets; whether what has an unknown outcome was done; when in its course a sweep comes to an ID.

// linearIDs is the most IDs of a pool, linearKeys how many keys there are.
const (
	linearIDs  = 4
	linearKeys = 3
)

// linearState is the state of the pool at one moment. Two are the same if they are equal.
type linearState struct {
	ids  [linearIDs]linearID
	keys [linearKeys]linearKey
}

// linearID is one ID of it. A token that begins with '?' is that of a claim whose answer was lost, until somebody has
// seen it.
type linearID struct {
	state  alloc.State // "" for an ID that the pool does not have
	token  alloc.Token
	until  int64 // the end of a hold, in seconds
	vague  bool  // it may be later than that, as its answer was lost
	told   int64 // when the hold was answered, in the time of the history
	lapsed bool  // it is returning because its hold's time was over

	last       alloc.Token // of whoever gave it back last
	lastLapsed bool        // or lost it to the clock
}

// linearKey is what a key has claimed.
type linearKey struct {
	token alloc.Token // "" for nothing yet
	id    int
}

// linearInput is one operation. A sweep is one for each ID, as it does not come to all of them at once.
type linearInput struct {
	kind  linearKind
	event alloc.Event // of a settlement
	id    int         // of all but claims
	token alloc.Token // of a settlement
	key   int         // of a claim: from 1, 0 for none
	hold  bool        // of a claim
	lost  alloc.Token // of a claim: what stands for its token while nobody has seen it
	call  int64       // when it began, in the time of the history
	from  int64       // the clock before it …
	to    int64       // … and after it
	loose bool        // a sweep was on meanwhile, or one of which it is not known when it ended: it may have come to the ID before
}

type linearKind string

const (
	linearClaim   linearKind = "claim"
	linearSettle  linearKind = "settle"
	linearInspect linearKind = "inspect"
	linearSweep   linearKind = "sweep"
)

// linearOutput is the answer.
type linearOutput struct {
	unknown bool // it may have been done, now or later
	code    alloc.Code
	id      int         // of a claim
	state   alloc.State // of an inspection and of a settlement
	token   alloc.Token // of a claim and of an inspection
	until   int64       // of a hold
	end     int64       // when it was given, in the time of the history
	key     int         // of an inspection: to whose key the token was answered; 0 for nobody, -1 for a claim without a key
}

// linearModel is the model of a pool with n IDs.
func linearModel(n int) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any {
			var s linearState
			for i := range n {
				s.ids[i].state = alloc.StateFree
			}
			return []any{s}
		},
		Step: func(state, input, output any) []any {
			var next []any
			for _, s := range state.(linearState).step(input.(linearInput), output.(linearOutput)) {
				next = append(next, s)
			}
			return next
		},
	}
	return model.ToModel()
}

// step returns the states that may follow; none if the answer could not have been given.
func (s linearState) step(in linearInput, out linearOutput) (next []linearState) {
	for _, s := range s.before(in, out) {
		switch in.kind {
		case linearClaim:
			next = append(next, s.claim(in, out)...)
		case linearSettle:
			next = append(next, s.settle(in, out)...)
		case linearInspect:
			next = append(next, s.inspect(in, out)...)
		case linearSweep:
			next = append(next, s.sweep(in)...)
		}
	}
	return next
}

// before returns the states in which an operation may find the IDs that it is about: while a sweep is on, it may have come
// to them.
func (s linearState) before(in linearInput, out linearOutput) []linearState {
	states := []linearState{s}
	if !in.loose {
		return states
	}
	for i := range s.ids {
		about := i == in.id
		if in.kind == linearClaim {
			repeated := in.key > 0 && s.keys[in.key-1].token != "" && s.keys[in.key-1].id == i
			about = out.unknown || repeated || out.code == "" && out.id == i
		}
		if !about {
			continue
		}
		for _, s := range states {
			states = append(states, s.swept(i, in.to)...)
		}
	}
	return states
}

// swept returns what a sweep may make of an ID before the time to; in the last of the states it is done with it.
func (s linearState) swept(i int, to int64) (after []linearState) {
	id := &s.ids[i]
	if id.state == alloc.StateHeld && id.until < to {
		id.state, id.until, id.vague, id.told, id.lapsed = alloc.StateReturning, 0, false, 0, true
		after = append(after, s)
	}
	if id.state == alloc.StateReturning {
		*id = linearID{state: alloc.StateFree, last: id.token, lastLapsed: id.lapsed}
		after = append(after, s)
	}
	return after
}

// sweep is when a sweep that has ended came to an ID: it had to free what was returning, and what was held past its time,
// unless the claim that holds it was still on its way to its answer when the sweep began.
func (s linearState) sweep(in linearInput) []linearState {
	id, after := s.ids[in.id], s.swept(in.id, in.to)
	switch {
	case len(after) == 0:
		return []linearState{s}
	case id.state == alloc.StateHeld && (id.vague || id.told > in.call || id.until >= in.from):
		return append(after, s)
	}
	return after[len(after)-1:]
}

func (s linearState) claim(in linearInput, out linearOutput) []linearState {
	if in.key > 0 && s.keys[in.key-1].token != "" {
		return s.repeat(in, out)
	}
	var next []linearState
	switch {
	case out.unknown:
		next = append(next, s)
		for i := range s.ids {
			if s.ids[i].state == alloc.StateFree {
				next = append(next, s.take(in, i, in.lost, in.from+int64(linearHold.Seconds()), true))
			}
		}
	case out.code == "":
		if s.ids[out.id].state == alloc.StateFree {
			taken := s.take(in, out.id, out.token, out.until, false)
			taken.ids[out.id].told = out.end
			next = append(next, taken)
		}
	case out.code == alloc.CodePoolExhausted:
		for i := range s.ids {
			if s.ids[i].state == alloc.StateFree {
				return nil
			}
		}
		next = append(next, s)
	}
	return next
}

// take is the state after a claim has taken ID i.
func (s linearState) take(in linearInput, i int, token alloc.Token, until int64, vague bool) linearState {
	id := &s.ids[i]
	id.token, id.lapsed = token, false
	if in.hold {
		id.state, id.until, id.vague, id.told = alloc.StateHeld, until, vague, 0
	} else {
		id.state = alloc.StateClaimed
	}
	if in.key > 0 {
		s.keys[in.key-1] = linearKey{token, i}
	}
	return s
}

// repeat is a claim with a key that has claimed before.
func (s linearState) repeat(in linearInput, out linearOutput) []linearState {
	k := s.keys[in.key-1]
	id := s.ids[k.id]
	ended := id.token != k.token || id.state == alloc.StateReturning || id.state == alloc.StateRetired
	switch {
	case out.unknown, out.code == alloc.CodeKeyEnded && ended:
		return []linearState{s}
	case out.code != "" || ended || out.id != k.id:
		return nil
	}
	return s.seen(k.token, out.token, in.key)
}

// seen is the state when a token has been seen where the state has one: the same, or one that was not known until now.
// The key is that to which the token was answered.
func (s linearState) seen(had, got alloc.Token, key int) []linearState {
	if had == got {
		return []linearState{s}
	}
	if !strings.HasPrefix(string(had), "?") || key != 0 && had != lostToken(key) {
		return nil
	}
	for i := range s.ids {
		if s.ids[i].token == had {
			s.ids[i].token = got
		}
		if s.ids[i].last == had {
			s.ids[i].last = got
		}
	}
	for i := range s.keys {
		if s.keys[i].token == had {
			s.keys[i].token = got
		}
	}
	return []linearState{s}
}

// lostToken stands for the token of a claim with the key, while nobody has seen it.
func lostToken(key int) alloc.Token { return alloc.Token(fmt.Sprint("?key ", key)) }

func (s linearState) settle(in linearInput, out linearOutput) []linearState {
	id := s.ids[in.id]
	done, code := s, alloc.Code("")
	backAgain := id.last == in.token && in.event == alloc.EventRelease
	switch t := id.state.On(in.event); {
	case id.token != in.token && !backAgain:
		code = alloc.CodeNotOwner
	case id.token != in.token: // a repeat
	case t.Effect == alloc.EffectRefuse:
		code = alloc.RefusalOf(id.state)
	case t.Effect == alloc.EffectMove:
		to := &done.ids[in.id]
		to.state, to.until, to.vague, to.told, to.lapsed = t.To, 0, false, 0, false
	}
	switch {
	case out.unknown && code == "":
		return []linearState{s, done}
	case out.unknown:
		return []linearState{s}
	case out.code == "" && code == "" && out.state == alloc.StateHeld.On(in.event).To:
		return []linearState{done}
	case out.code != "" && (out.code == code || out.code == alloc.CodeNotOwner && backAgain && id.token != in.token && id.lastLapsed):
		return []linearState{s} // whether the end of a hold counts as its release is not promised
	}
	return nil
}

func (s linearState) inspect(in linearInput, out linearOutput) []linearState {
	id := s.ids[in.id]
	if out.state != id.state {
		return nil
	}
	if id.state == alloc.StateFree {
		return []linearState{s}
	}
	return s.seen(id.token, out.token, out.key)
}
