package alloc

import "time"

// LogCodec is the form in which logs, findings and what a restore did are written, and in which a log is read: lines of JSON, each
// ending in "\n". What it writes of some and of others, one after the other, is what it would write of all. A process without one leaves
// the jobs that need it to others.
type LogCodec struct {
	EncodeHead     func(LogHead) ([]byte, error)    // the first line of a log
	EncodeTail     func(LogTail) ([]byte, error)    // the last
	EncodeIDs      func([]IDRecord) ([]byte, error) // with all that is known of them, the token too
	EncodeLeases   func(SequenceName, []LeaseRecord) ([]byte, error)
	EncodeFindings func([]Finding) ([]byte, error)
	EncodeCarries  func([]CarryLine) ([]byte, error)

	// Decode reads a line of a log, without its end. An error's text is shown, with the number of the line.
	Decode func(line []byte) (LogLine, error)
}

// LogLine is what a line of a log says: one of the four.
type LogLine struct {
	Head     *LogHead
	Tail     *LogTail
	ID       *IDRecord
	Lease    *LeaseRecord
	Sequence SequenceName // with Lease
}

// LogHead is what the first line of a log says of it.
type LogHead struct {
	Format   int // LogFormat, of a log that this version writes
	Pool     PoolName
	Sequence SequenceName
	Since    time.Time // see JobSpec; zero for from the beginning
	Begun    time.Time // what was taken up to then is in it
	Job      JobID     // that has written it
}

// LogFormat is the format of the logs that this version writes and reads.
const LogFormat = 1

// LogTail is what the last line of a log says of it. A log without one is not whole.
type LogTail struct {
	Lines      Count  // of IDs or leases, between the first line of the log and its last
	Unreadable Count  // of them, those about entries of a ledger, or IDs, that cannot be read
	Digest     string // SHA-256 of all before the last line, with the ends of lines, in hexadecimal
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
	return c.EncodeHead != nil || c.EncodeTail != nil || c.EncodeIDs != nil || c.EncodeLeases != nil || c.EncodeFindings != nil || c.EncodeCarries != nil || c.Decode != nil
}

// whole reports whether nothing of the codec is missing.
func (c LogCodec) whole() bool {
	return c.EncodeHead != nil && c.EncodeTail != nil && c.EncodeIDs != nil && c.EncodeLeases != nil && c.EncodeFindings != nil && c.EncodeCarries != nil && c.Decode != nil
}
