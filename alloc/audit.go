package alloc

import "time"

// MaxDetailBytes is the greatest length of a record's Detail.
const MaxDetailBytes = 1000

// AuditRecord is one administrative step.
type AuditRecord struct {
	ID      string // sorts by time; unique
	At      time.Time
	Client  ClientID
	Role    string // by what right: the scopes of the caller, as they are written
	Action  string // "pool.create", "pool.seed", "sequence.pause", "credential.rotate" …
	Target  string // "pool/NAME", "sequence/NAME", "credential/ID" or "trail"
	Detail  string // what was to change, in words; like all that follow at most MaxDetailBytes
	Plan    string // the plan that was carried out, or the break of the trail that was acknowledged; "" for none
	Reason  string // that the caller gave; "" for none
	Before  string // what it was before, and After what it is since, in words; "" where that is not known or does not apply
	After   string
	Result  string // "ok", the error code, or ResultUnknown
	Request string
	Address string

	Link // where it stands in the trail; set by the Store
}

// ResultUnknown is the result of a step that was begun, and whose process has ended before it could say how it ended.
const ResultUnknown = "unknown"

// Link is the place of a record in the chain of its month. The zero Link is that of a record from before there was a chain.
type Link struct {
	Month    string // "2026-11", by the clock of the Store that appended it
	Position int64  // from 1
	Previous string // Hash of the record before it, in the month or the last one that has any; "" for the very first
	Hash     string // of Previous and all else of the record, by AuditRecord.Seal
}

// TrailMonth is the end of a month's chain, as it is kept beside the records: so that it shows when the last were removed. Noted elsewhere, it
// shows too when that was removed with them.
type TrailMonth struct {
	Month string
	Last  int64
	Hash  string
}
