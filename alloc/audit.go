package alloc

import "time"

// AuditRecord is one administrative step.
type AuditRecord struct {
	ID      string // sorts by time; unique
	At      time.Time
	Client  ClientID
	Action  string // "pool.create", "pool.seed", "sequence.pause" …
	Target  string // "pool/NAME" or "sequence/NAME"
	Detail  string // what changed, in words
	Result  string // "ok" or the error code
	Request string
	Address string
}
