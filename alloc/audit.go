package alloc

import "time"

// MaxDetailBytes is the greatest length of a record's Detail.
const MaxDetailBytes = 1000

// AuditRecord is one administrative step.
type AuditRecord struct {
	ID      string // sorts by time; unique
	At      time.Time
	Client  ClientID
	Action  string // "pool.create", "pool.seed", "sequence.pause", "credential.rotate" …
	Target  string // "pool/NAME", "sequence/NAME" or "credential/ID"
	Detail  string // what was to change, in words; at most MaxDetailBytes
	Result  string // "ok" or the error code
	Request string
	Address string
}
