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
	lapsed bool  // it is returning because its hold's time was over

	last       alloc.Token // of whoever gave it back last
	lastLapsed bool        // or lost it to the clock
}

// linearKey is what a key has claimed.
type linearKey struct {
	token alloc.Token // "" for nothing yet
	id    int
}

// linearInput is one operation. A sweep is one of each kind for each ID, as it does not come to all of them at once.
type linearInput struct {
	kind  linearKind
	event alloc.Event // of a settlement
	id    int         // all but claims
	token alloc.Token // of a settlement
	key   int         // of a claim: from 1, 0 for none
	hold  bool        // of a claim
	name  alloc.Token // of a claim: its token while nobody has seen it
	from  int64       // the clock before it …
	to    int64       // … and after it
}

type linearKind string

const (
	linearClaim   linearKind = "claim"
	linearSettle  linearKind = "settle"
	linearInspect linearKind = "inspect"
	linearExpire  linearKind = "sweep: expire"
	linearFree    linearKind = "sweep: free"
)

// linearOutput is the answer.
type linearOutput struct {
	unknown bool // it may have been done, now or later
	code    alloc.Code
	id      int         // of a claim
	state   alloc.State // of an inspection and of a settlement
	token   alloc.Token // of a claim and of an inspection
	until   int64       // of a hold
	key     int         // of an inspection: whose key the token was answered to; 0 for none, -1 for a claim without a key
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
func (s linearState) step(in linearInput, out linearOutput) []linearState {
	switch in.kind {
	case linearClaim:
		return s.claim(in, out)
	case linearSettle:
		return s.settle(in, out)
	case linearInspect:
		return s.inspect(in, out)
	}
	switch {
	case out.code != "": // a sweep of a pool that is there is refused for no reason
		return nil
	case in.kind == linearExpire:
		return s.expire(in, out)
	}
	return s.free(in, out)
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
				next = append(next, s.take(in, i, in.name, in.from+int64(linearHold.Seconds()), true))
			}
		}
	case out.code == "":
		if s.ids[out.id].state == alloc.StateFree {
			next = append(next, s.take(in, out.id, out.token, out.until, false))
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
	id.token = token
	if in.hold {
		id.state, id.until, id.vague = alloc.StateHeld, until, vague
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
		done.ids[in.id].state, done.ids[in.id].until, done.ids[in.id].vague = t.To, 0, false
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

// expire is when a sweep looks whether a hold's time is over.
func (s linearState) expire(in linearInput, out linearOutput) []linearState {
	id, after := s.ids[in.id], s
	if id.state != alloc.StateHeld || id.until >= in.to {
		return []linearState{s}
	}
	after.ids[in.id].state, after.ids[in.id].until, after.ids[in.id].vague, after.ids[in.id].lapsed = alloc.StateReturning, 0, false, true
	if out.unknown || id.vague || id.until >= in.from {
		return []linearState{s, after}
	}
	return []linearState{after}
}

// free is when a sweep frees what is returning.
func (s linearState) free(in linearInput, out linearOutput) []linearState {
	id, after := s.ids[in.id], s
	if id.state != alloc.StateReturning {
		return []linearState{s}
	}
	after.ids[in.id] = linearID{state: alloc.StateFree, last: id.token, lastLapsed: id.lapsed}
	if out.unknown {
		return []linearState{s, after}
	}
	return []linearState{after}
}
