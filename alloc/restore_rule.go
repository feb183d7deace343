package alloc

import (
	"cmp"
	"slices"
	"time"
)

// Standing is what a restored pool has of an ID of which something is said that is to be carried.
type Standing struct {
	IDRecord // its State is "" where the pool does not know the ID

	// Carried says that a Carry has brought whoever has it, and that it was not settled here since: he has not taken it here, whenever that was. Ahead is by how many
	// generations the pool has it later than was said then; 0 also where a version before has carried it.
	Carried bool
	Ahead   Generation
}

// carryOrder is the order of the states of one generation.
var carryOrder = []State{StateFree, StateHeld, StateClaimed, StateReturning, StateRetired}

// Carry is the one rule for what is to become of an ID of which the record says something, where the backup is one of the point: every
// Store calls it, and writes what it returns where it says CarryDone, on condition that the ID is still as it was read.
//
// It keeps three promises. What the record says that somebody has is not free afterwards, and does not become free but by its owner or the end
// of its hold. Nobody who has taken an ID here after the point loses it. Where these two are at odds the ID is in two hands, and that is told:
// CarryClash. For these it lets an ID stay taken that may have been given back.
//
// A pool may be a generation ahead of what is said: a hold of the time of the backup has ended here, and was confirmed there. So whoever is said to have what
// is free here gets it, in the generation that it has here: who has listed that, finds it taken. Likewise an ID on its way back here, that is
// said to be claimed by the same, is claimed again: as likely its hold has ended as he has released it.
//
// An ID that goes from one to another rises by a generation at least, so that in one of them nobody else ever has it. So what an earlier log or the old table has
// brought is compared with a later log by the generation that it had there.
//
// What a burning has retired has no token and is nobody's; a burning takes nothing that has an owner.
//
// Who held an ID before the point, and has confirmed or retired it here since, has taken it here as any other.
//
// One thing it cannot see: an ID that a pool has forgotten, as somebody has claimed it here without a key, is one that the pool does not know. A pool that is
// paused from the restore on has none.
func (r Standing) Carry(said IDRecord, point time.Time) (IDRecord, CarryOutcome) {
	if r.State == "" {
		if said.State == StateFree { // it may have been taken since
			said.State, said.HeldUntil = StateRetired, time.Time{}
		}
		return said, CarryDone
	}
	outcome := r.becomes(said, point)
	said.Generation = max(said.Generation, r.Generation)
	if r.Token != "" && said.Token != r.Token && said.Generation == r.Generation {
		said.Generation++ // in one generation nobody else ever has it
	}
	return said, outcome
}

func (r Standing) becomes(said IDRecord, point time.Time) CarryOutcome {
	here := r.Token != "" && !r.Carried && later(r.At, r.Changed).After(point) // somebody has taken it since the restore, or kept it
	generation := r.Generation
	if r.Carried && !said.burned() { // a burning says what it has met here
		generation -= r.Ahead
	}
	switch {
	case said.State == StateFree:
		return CarryKnown
	case r.State == StateFree && said.State == StateReturning && said.Generation < r.Generation:
		return CarryBehind
	case r.State == StateFree:
		return CarryDone
	case r.State == StateRetired && here && said.Token != r.Token && said.has():
		return CarryClash
	case r.State == StateRetired:
		return CarryKnown
	case r.Token == said.Token && !said.burned():
		return r.goesOn(said)
	case said.State == StateReturning && said.Generation < r.Generation:
		return CarryBehind
	case said.State == StateReturning: // nobody has it there, so it is whose it is here
		return CarryKnown
	case r.State == StateReturning && said.Generation < generation && !here:
		return CarryBehind
	case r.State == StateReturning:
		return CarryDone
	case here:
		return CarryClash
	case r.Carried && said.Generation == generation && !said.burned(): // of an earlier log, in the generation that the pool had by then
		return CarryDone
	}
	return [...]CarryOutcome{CarryBehind, CarryClash, CarryDone}[1+cmp.Compare(said.Generation, generation)]
}

// has reports whether somebody has the ID, or had it to the end.
func (r IDRecord) has() bool {
	return r.State == StateHeld || r.State == StateClaimed || r.State == StateRetired && r.Token != ""
}

func (r IDRecord) burned() bool { return r.State == StateRetired && r.Token == "" }

// goesOn is the rule where the record is about whoever has the ID here. What he has for good is not taken from him, as he may have confirmed it since.
func (r Standing) goesOn(said IDRecord) CarryOutcome {
	switch {
	case r.State == StateClaimed && said.State == StateReturning:
		return CarryKnown
	case said.Generation > r.Generation:
		return CarryDone
	case r.State == StateReturning && said.State == StateClaimed, slices.Index(carryOrder, said.State) > slices.Index(carryOrder, r.State):
		return CarryDone
	}
	return CarryKnown
}
