package alloc

// Event is what may happen to an ID, done by whoever has its token (claim, hold, confirm, release, retire) or by the
// store in the course of things (expire, free).
type Event string

// The events.
const (
	EventClaim   Event = "claim"   // somebody takes a free ID for good
	EventHold    Event = "hold"    // somebody takes a free ID for a time
	EventConfirm Event = "confirm" // its holder keeps it for good
	EventRelease Event = "release" // its owner gives it back
	EventRetire  Event = "retire"  // its owner says that nobody is ever to have it again
	EventExpire  Event = "expire"  // its hold's time is over
	EventFree    Event = "free"    // the way back is done: it is free, of the next generation
)

// Effect is what an event does to an ID in a state.
type Effect string

// The effects.
const (
	EffectMove   Effect = "move"   // the ID goes to another state
	EffectRepeat Effect = "repeat" // it has happened before: a success that changes nothing
	EffectRefuse Effect = "refuse" // it cannot happen: nothing changes, and whoever asked is told why
)

// Transition is what becomes of an ID. To is the state after it, which is the state before it unless the effect is a
// move.
type Transition struct {
	Effect Effect
	To     State
}

// On is the one table of the state machine. It holds of an ID whose token is that of whoever asks, or, for a claim and a
// hold, of any; for an expiry, of a hold whose time is over. Every Store follows it, each move by one conditional write
// on state, token and generation, so that a repeat of an old event cannot push an ID back.
//
//	            claim    hold     confirm  release    retire   expire     free
//	free        claimed  held     refuse   refuse     refuse   refuse     repeat
//	held        refuse   refuse   claimed  returning  retired  returning  refuse
//	claimed     refuse   refuse   repeat   returning  retired  refuse     refuse
//	returning   refuse   refuse   refuse   repeat     refuse   repeat     free
//	retired     refuse   refuse   refuse   refuse     repeat   refuse     refuse
func (s State) On(e Event) Transition {
	if to, ok := moves[s][e]; ok {
		return Transition{EffectMove, to}
	}
	if repeats[e] == s && s != "" {
		return Transition{EffectRepeat, s}
	}
	if s == StateReturning && e == EventExpire {
		return Transition{EffectRepeat, s}
	}
	return Transition{EffectRefuse, s}
}

var moves = map[State]map[Event]State{
	StateFree:      {EventClaim: StateClaimed, EventHold: StateHeld},
	StateHeld:      {EventConfirm: StateClaimed, EventRelease: StateReturning, EventRetire: StateRetired, EventExpire: StateReturning},
	StateClaimed:   {EventRelease: StateReturning, EventRetire: StateRetired},
	StateReturning: {EventFree: StateFree},
}

// repeats is the state in which an event has happened already.
var repeats = map[Event]State{
	EventConfirm: StateClaimed, EventRelease: StateReturning, EventRetire: StateRetired, EventFree: StateFree,
}
