package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
)

// The query of the overview: each list goes on from a cursor, by itself.
const (
	afterPool     = "pools_after"
	afterSequence = "sequences_after"
	pageSize      = "limit"
)

// panelTimeout is how long one panel may take, so that one that hangs leaves time for the others.
const panelTimeout = 3 * time.Second

// failure is what a panel shows in place of its rows. The error is in the log event of the request.
func failure(r *http.Request, err error, retry string) *templates.Failure {
	_, detail := web.Explain(r.Context(), err)
	if alloc.Is(err, alloc.CodeInvalidCursor) {
		detail = "this address does not lead into the list any more; begin it anew"
		retry = fromTheBeginning(r)
	}
	return &templates.Failure{Message: sentence(detail), RequestID: web.RequestID(r.Context()), Retry: retry}
}

// fromTheBeginning is the address of the request's page with each list at its beginning.
func fromTheBeginning(r *http.Request) string {
	q := r.URL.Query()
	for key := range q {
		if strings.HasSuffix(key, "after") {
			q.Del(key)
		}
	}
	return address(r.URL.Path, q)
}

// listQuery is the query of a page with lists.
type listQuery struct {
	values url.Values
	path   string
}

// limit is 25, 50 or 100; what is none of these is 25.
func (q listQuery) limit() int {
	switch n, _ := strconv.Atoi(q.values.Get(pageSize)); n { //nolint:errcheck // what is no number is none of these
	case 50, 100:
		return n
	default:
		return 25
	}
}

func (q listQuery) cursor(key string) alloc.Cursor { return alloc.Cursor(q.values.Get(key)) }

// again is the address where a list that failed may be tried again: from its beginning if its cursor is none.
func (q listQuery) again(key string, err error) string {
	if alloc.Is(err, alloc.CodeInvalidCursor) {
		return q.with(key, "")
	}
	return q.with(key, q.cursor(key))
}

// with is the address of the page with one list going on elsewhere and the rest as it is.
func (q listQuery) with(key string, from alloc.Cursor) string {
	values := url.Values{}
	for _, k := range []string{afterPool, afterSequence, afterJob, afterLease, afterCredential, afterSession} {
		if c := q.cursor(k); c != "" && len(c) <= alloc.MaxCursorBytes {
			values.Set(k, string(c))
		}
	}
	if n := q.limit(); n != 25 {
		values.Set(pageSize, strconv.Itoa(n))
	}
	values.Set(key, string(from))
	if from == "" {
		values.Del(key)
	}
	if len(values) == 0 {
		return q.path
	}
	return q.path + "?" + values.Encode()
}

func (q listQuery) paging(key string, next alloc.Cursor) templates.Paging {
	var p templates.Paging
	if q.values.Get(key) != "" {
		p.First = q.with(key, "")
	}
	if next != "" {
		p.Next = q.with(key, next)
	}
	return p
}

// poolRow shows one pool at the time now.
func poolRow(ctx context.Context, seen alloc.PoolSeen, now time.Time) templates.PoolRow {
	s := seen.PoolStatus
	row := templates.PoolRow{Name: string(s.Pool.Name), Description: s.Pool.Config.Description, State: poolState(ctx, seen, now)}
	if s.LevelError != nil {
		_, detail := web.Explain(ctx, s.LevelError)
		row.Unknown = sentence(detail)
		return row
	}
	l := s.Level
	row.Meter = poolMeter(s, row.State.Tone)
	row.Why, row.Marks = refillNote(ctx, s), marks(s.Pool.Config.Marks)
	row.Available, row.Claimed, row.Seeded = grouped(l.Available), grouped(l.Claimed), grouped(l.Seeded)
	row.Others = others(l)
	if !l.CountedAt.IsZero() {
		row.Counted = clock(l.CountedAt, now)
		row.Counted.Stale = now.Sub(l.CountedAt) > staleAfter
	}
	return row
}

// poolGauge measures what is available against the target; where there is none against all that was ever seeded, or the low mark if
// that was fewer.
func poolGauge(s alloc.PoolStatus) (free, whole alloc.Count, label string) {
	l := s.Level
	words := "%s of %s available"
	whole = max(l.Seeded, l.Available)
	switch m := s.Pool.Config.Marks; {
	case m.Target > 0:
		whole, words = m.Target, "%s available, the target is %s"
	case m.Low > whole:
		whole, words = m.Low, "%s available, the low mark is %s"
	}
	return l.Available, max(1, whole), fmt.Sprintf(words, grouped(l.Available), grouped(whole))
}

// poolMeter is poolGauge as a gauge.
func poolMeter(s alloc.PoolStatus, tone templates.Tone) templates.Meter {
	free, whole, label := poolGauge(s)
	return templates.Meter{Value: strconv.FormatInt(int64(free), 10), Max: strconv.FormatInt(int64(whole), 10), Label: label, Tone: tone}
}

// refillNote says why the pool's generator can make no more, or why that is not known.
func refillNote(ctx context.Context, s alloc.PoolStatus) string {
	switch {
	case s.RefillError != nil:
		_, detail := web.Explain(ctx, s.RefillError)
		return "Its refill is not known. " + sentence(detail)
	case s.Refill != nil:
		return sentence(s.Refill.Dry)
	}
	return ""
}

// staleAfter is three runs of the schedule.
const staleAfter = 3 * time.Minute
