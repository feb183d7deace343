package sql

import (
	"time"

	"idpool/alloc"
)

// A pool that forgets keeps what has just been claimed with a key or confirmed: what made it so may be repeated, and
// answers the same. Only a claim without a key needs no memory.
const (
	forgetRows = `DELETE FROM ids WHERE n IN (` + freeRows + `) RETURNING id` // at once, with the claim
	forgetDue  = `DELETE FROM ids WHERE n IN
		(SELECT n FROM ids WHERE pool = $1 AND forget_at <= $2 ORDER BY forget_at LIMIT $3)`
	forgetOneDue = `DELETE FROM ids WHERE pool = $1 AND id = $2 AND forget_at <= $3`
)

// forgetAt is the column's value of an ID that comes into the state now: nil for what is not to be forgotten.
func forgetAt(p poolRow, to alloc.State, now time.Time) *int64 {
	if p.Config.Policy != alloc.PolicyForget || to != alloc.StateClaimed {
		return nil
	}
	return new(instant(now.Add(alloc.KeyRetention)))
}

// over reports whether the time at which something is forgotten has come; the zero time never does.
func over(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// forgetDue forgets what is due, the longest due first; more says that some is left.
func (t *tx) forgetDue(p poolRow, now time.Time) (more bool, err error) {
	gone, err := t.exec(forgetDue, p.number, instant(now), sweepRows)
	if err != nil {
		return false, err
	}
	return gone == sweepRows, t.count(p, tally{}.move(alloc.StateClaimed, countForgotten, int(gone)))
}
