package alloc

// SettleOrder asks a Store to confirm, release or retire IDs that somebody has taken.
type SettleOrder struct {
	Pool  PoolName
	Event Event // EventConfirm, EventRelease or EventRetire
	IDs   []ID  // distinct, 1 to MaxBatchLimit
	Token Token // of the claim that took them: one claim's IDs at a time
}

// Settled is the answer: State is what all of the IDs are now (claimed after a confirmation, returning or retired after
// a release, retired). It is the same for a repeat, whatever the IDs have become since.
type Settled struct {
	Pool  PoolName
	IDs   []ID // as asked for
	State State
}

// OnRelease says what a pool does with an ID that its owner releases.
type OnRelease string

// What becomes of a released ID.
const (
	ReleaseReturns OnRelease = "return" // it comes back and is handed out again; the default
	ReleaseRetires OnRelease = "retire" // nobody ever gets it again
)

// Settles returns what an order's event is in a pool with the configuration: a release may be a retirement there.
func (c PoolConfig) Settles(e Event) Event {
	if e == EventRelease && c.OnRelease == ReleaseRetires {
		return EventRetire
	}
	return e
}

// IDFault is one ID for which an order was refused, with the reason: CodeIDNotFound, CodeNotOwner, CodeIDRetired.
type IDFault struct {
	ID   ID
	Code Code
}

// Refused is the error of every Store for a SettleOrder that some of its IDs do not allow.
func Refused(e Event, faults []IDFault) *Error {
	err := Errorf(faults[0].Code, "%s", refusals[faults[0].Code])
	err.IDs = faults
	return err
}

var refusals = map[Code]string{
	CodeIDNotFound: "the pool does not know this ID (or has forgotten it, where that is its policy); check the spelling, upper and lower case differ",
	CodeNotOwner: "the token does not own this ID now: its hold has ended, it was released, or the token is that of another claim; " +
		"nothing was changed; claim another",
	CodeIDRetired: "this ID was retired and stays so; nothing was changed",
}

// RefusalOf is the code for an event that State.On refuses to the owner of an ID in the state.
func RefusalOf(s State) Code {
	if s == StateRetired {
		return CodeIDRetired
	}
	return CodeNotOwner
}
