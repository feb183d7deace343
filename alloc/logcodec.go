package alloc

// LogCodec is the form in which logs, findings and what a restore did are written, and in which a log is read: lines of JSON, each
// ending in "\n". What it writes of some and of others, one after the other, is what it would write of all. A process without one leaves
// the jobs that need it to others.
type LogCodec struct {
	EncodeIDs      func([]IDRecord) ([]byte, error) // with all that is known of them, the token too
	EncodeLeases   func(SequenceName, []LeaseRecord) ([]byte, error)
	EncodeFindings func([]Finding) ([]byte, error)
	EncodeCarries  func([]CarryLine) ([]byte, error)

	// Decode reads a line that EncodeIDs or EncodeLeases has written, without its end. An error's text is shown, with the number of the
	// line.
	Decode func(line []byte) (LogLine, error)
}

// LogLine is what a line of a log says: of an ID, or of a lease.
type LogLine struct {
	ID       *IDRecord    // nil in a line about a lease
	Lease    *LeaseRecord // nil in a line about an ID
	Sequence SequenceName // with Lease
}

// CarryLine is what a restore says of an ID or of a lease.
type CarryLine struct {
	Pool       PoolName
	ID         ID           // of a line about an ID; with Pool
	Sequence   SequenceName // of a line about a lease; with Start and End
	Start, End Number
	Outcome    CarryOutcome
	Detail     string // in words
}

// some reports whether there is anything of the codec.
func (c LogCodec) some() bool {
	return c.EncodeIDs != nil || c.EncodeLeases != nil || c.EncodeFindings != nil || c.EncodeCarries != nil || c.Decode != nil
}

// whole reports whether nothing of the codec is missing.
func (c LogCodec) whole() bool {
	return c.EncodeIDs != nil && c.EncodeLeases != nil && c.EncodeFindings != nil && c.EncodeCarries != nil && c.Decode != nil
}
