package alloc

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// Place is where a record stands in the whole trail, for Trail.Records: places sort as their records follow each other. Records
// from before there was a chain come first, by their IDs.
func (r AuditRecord) Place() string {
	if r.Month == "" {
		return "/" + r.ID
	}
	return fmt.Sprintf("%s/%020d", r.Month, r.Position)
}

func (m TrailMonth) place() string {
	return AuditRecord{Link: Link{Month: m.Month, Position: m.Last}}.Place()
}

// MonthOf is the name of the month of a time, in UTC.
func MonthOf(at time.Time) string { return at.UTC().Format("2006-01") }

// IsMonth reports whether it names a month as MonthOf does.
func IsMonth(month string) bool {
	at, err := time.Parse("2006-01", month)
	return err == nil && MonthOf(at) == month
}

// Seal gives a record its place in the chain of a month, behind one with the hash previous.
func (r AuditRecord) Seal(month string, position int64, previous string) AuditRecord {
	r.Link = Link{Month: month, Position: position, Previous: previous}
	r.Hash = r.digest()
	return r
}

// Intact reports whether the record is as it was sealed.
func (r AuditRecord) Intact() bool { return r.Hash != "" && r.Hash == r.digest() }

// digest is the SHA-256 over all of the record but its Hash, in hexadecimal. Each field stands with its length before it, so no two records have
// the same text. The order is for good.
func (r AuditRecord) digest() string {
	h := sha256.New()
	for _, field := range []string{
		"1", r.Month, strconv.FormatInt(r.Position, 10), r.Previous,
		r.ID, strconv.FormatInt(r.At.UnixNano(), 10), string(r.Client), r.Role, r.Action, r.Target, r.Detail,
		r.Plan, r.Reason, r.Before, r.After, r.Result, r.Request, r.Address,
	} {
		h.Write([]byte(strconv.Itoa(len(field)) + ":" + field)) // never returns an error
	}
	return hex.EncodeToString(h.Sum(nil))
}
