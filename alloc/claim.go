package alloc

import (
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a claim may carry, so that an ID's item stays below the size of one write unit.
const (
	MaxOwnerBytes    = 96
	MaxMetadataBytes = 256 // keys and values together
	MaxMetadataKeys  = 8
)

// ClaimOrder asks a Store for IDs.
type ClaimOrder struct {
	Pool     PoolName
	Count    Count
	Owner    string            // for whom, as the client says
	Metadata map[string]string // nil for none
	By       ClientID
	Key      *Key          // nil for none
	Hold     time.Duration // how long the IDs are held for a confirmation, whole seconds, up to MaxHold; 0 to claim them for good

	// Refusal is why no new claim may be made, whatever the pool says; nil for none. Like a refusal of the pool's it comes
	// after the key: a repeat is answered all the same.
	Refusal *Error
}

// MaxHold is the longest time for which an ID can be held.
const MaxHold = 7 * 24 * time.Hour

// Claim is the answer: exactly Count IDs, in the order in which the first answer had them.
type Claim struct {
	Pool      PoolName
	IDs       []ID
	State     State // StateClaimed or StateHeld: as it was first answered
	Token     Token
	At        time.Time
	HeldUntil time.Time // with StateHeld: At + Hold of the first request; later confirmations work until somebody has taken it back
	Replayed  bool      // this is the answer of an earlier request with the same key

	// Ended names those of the IDs that have come back (StateReturning, whoever may have them now) or were retired
	// (StateRetired) since, in the order of IDs; in an answer with Replayed only, and never all of them.
	Ended []EndedID

	// For metrics, without promise: Finished says that an earlier request with the key had not been carried out to its
	// end, and this one did it; Lost is how many IDs were tried and found taken by somebody else.
	Finished bool
	Lost     int
}

// EndedID is an ID that a key's claim has no longer.
type EndedID struct {
	ID    ID
	State State
}

// CheckClaimOrder refuses what no pool would accept: CodeInvalidName, CodeInvalidCount, CodeInvalidRequest.
func CheckClaimOrder(o ClaimOrder) error {
	if err := CheckName(string(o.Pool)); err != nil {
		return err
	}
	if o.Count < 1 || o.Count > MaxBatchLimit {
		return Errorf(CodeInvalidCount, "count must be 1 to %d", MaxBatchLimit)
	}
	if o.Hold < 0 || o.Hold > MaxHold || o.Hold%time.Second != 0 {
		return Errorf(CodeInvalidRequest, "hold must be 1 to %d seconds, or left out to claim for good", int(MaxHold/time.Second))
	}
	if err := checkText("owner", o.Owner, MaxOwnerBytes); err != nil {
		return err
	}
	if len(o.Metadata) > MaxMetadataKeys {
		return Errorf(CodeInvalidRequest, "metadata must have at most %d entries", MaxMetadataKeys)
	}
	size := 0
	for k, v := range o.Metadata {
		if k == "" {
			return Errorf(CodeInvalidRequest, "a metadata key must not be empty")
		}
		if err := checkText("metadata", k, MaxMetadataBytes); err != nil {
			return err
		}
		if err := checkText("metadata", v, MaxMetadataBytes); err != nil {
			return err
		}
		size += len(k) + len(v)
	}
	if size > MaxMetadataBytes {
		return Errorf(CodeInvalidRequest, "metadata must be at most %d bytes, keys and values together", MaxMetadataBytes)
	}
	return nil
}

// checkText refuses text that is too long, or has what a page or a log cannot show as it is: control characters, line
// separators, directional marks. The two joiners stay, as names are written with them.
func checkText(what, s string, limit int) error {
	if len(s) > limit || !utf8.ValidString(s) {
		return Errorf(CodeInvalidRequest, "%s must be at most %d bytes of UTF-8", what, limit)
	}
	for _, r := range s {
		if joiner := r == '\u200C' || r == '\u200D'; !unicode.IsGraphic(r) && !joiner {
			return Errorf(CodeInvalidRequest, "%s must have no control characters, line ends or directional marks", what)
		}
	}
	return nil
}
