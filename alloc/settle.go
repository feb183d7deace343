package alloc

// SettleOrder asks a Store to confirm, release or retire IDs that somebody has taken.
type SettleOrder struct {
	Pool  PoolName
	Event Event // EventConfirm, EventRelease or EventRetire
	IDs   []ID  // distinct, 1 to MaxBatchLimit
	Token Token // of the claim that took them: one claim's IDs at a time
}

// CheckSettleOrder refuses what no pool would accept: CodeInvalidName, CodeInvalidCount, CodeInvalidID,
// CodeInvalidRequest.
func CheckSettleOrder(o SettleOrder) error {
	if err := CheckName(string(o.Pool)); err != nil {
		return err
	}
	switch o.Event {
	case EventConfirm, EventRelease, EventRetire:
	default:
		return Errorf(CodeInvalidRequest, "IDs can be confirmed, released or retired, and nothing else")
	}
	if len(o.IDs) < 1 || Count(len(o.IDs)) > MaxBatchLimit {
		return Errorf(CodeInvalidCount, "ids must be 1 to %d IDs of one claim", MaxBatchLimit)
	}
	seen := make(map[ID]bool, len(o.IDs))
	for _, id := range o.IDs {
		if err := CheckID(string(id)); err != nil {
			return err
		}
		if seen[id] {
			return Errorf(CodeInvalidRequest, "the ID %s is there twice; name each ID once", quoteShort(string(id)))
		}
		seen[id] = true
	}
	if !isToken(o.Token) {
		return Errorf(CodeInvalidRequest, "token must be the one that the claim of these IDs was answered with, %d characters of 0-9 and A-V", tokenLength)
	}
	return nil
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

// Settles returns what an order's event is in a pool with the configuration: a release may be a retirement there. IDs
// that were released before that was so come back all the same, and the repeat of that release is a success; but in one
// order with IDs that it would retire they are CodeNotOwner, as one order has one answer.
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
