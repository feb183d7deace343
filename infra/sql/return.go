package sql

import (
	"time"

	"idpool/alloc"
)

// The way back of an ID, in two steps: its hold ends or its owner releases it, and then a sweep frees it, behind all
// that are free already, with a generation of its own.
const (
	endHolds = `UPDATE ids SET state = 'returning', hold_until = NULL WHERE n IN
		(SELECT n FROM ids WHERE pool = $1 AND state = 'held' AND hold_until <= $2 ORDER BY hold_until LIMIT $3)`
	returning = `SELECT n FROM ids WHERE pool = $1 AND state = 'returning' ORDER BY n LIMIT $2`
	freeRow   = `UPDATE ids SET n = (SELECT max(n) + 1 FROM ids), state = 'free', generation = generation + 1, last_token = token,
		token = NULL, client = NULL, owner = NULL, metadata = NULL, taken = NULL, changed = NULL, brought = 0 WHERE n = $1 AND state = 'returning'`
)

// bringBack ends the holds that are over and frees what is on its way back; more says that some is left.
func (t *tx) bringBack(p poolRow, now time.Time) (returned alloc.Count, more bool, err error) {
	ended, err := t.exec(endHolds, p.number, instant(now), sweepRows)
	if err != nil {
		return 0, false, err
	}
	rows, err := list(t, scanNumber, returning, p.number, sweepRows)
	if err != nil {
		return 0, false, err
	}
	for _, n := range rows {
		if err := changedOne(t.exec(freeRow, n)); err != nil {
			return 0, false, err
		}
	}
	by := tally{}.move(alloc.StateHeld, alloc.StateReturning, int(ended)).move(alloc.StateReturning, alloc.StateFree, len(rows))
	return alloc.Count(len(rows)), ended == sweepRows || len(rows) == sweepRows, t.count(p, by)
}

func scanNumber(row scanner) (n int64, err error) {
	err = row.Scan(&n)
	return n, err
}
