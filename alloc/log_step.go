package alloc

import (
	"context"
	"fmt"
	"time"
)

// logMargin is how much earlier than the time since which a log is something may have happened that is in it all the same. What was written by a version
// that kept no later times than that of the claim was held until then, and was confirmed since; or the record of its key was carried out to
// its end since. Clocks may differ by the rest.
const logMargin = MaxHold + KeyRetention + time.Hour

// logStep writes the next part of a log.
func (s *Service) logStep(ctx context.Context, j Job) (doneStep, error) {
	lines := logWriter(s.logIDs)
	if j.Pool == "" {
		lines = s.logLeases
	}
	return s.writeStep(ctx, j, func(ctx context.Context, j Job, limit int) ([]byte, Count, string, error) {
		return s.logPart(ctx, j, limit, lines)
	})
}

// logWriter is a writer that also says how many of its lines are about entries that cannot be read.
type logWriter func(ctx context.Context, j Job, limit int) (data []byte, n, unreadable Count, next string, err error)

// logPart encodes lines from the job's mark on, after the head of the log where they are the first, and before its tail where they are the
// last. The mark counts all that is in the parts before, so the tail is about what stands there, whoever has written it.
func (s *Service) logPart(ctx context.Context, j Job, limit int, lines logWriter) (data []byte, n Count, next string, err error) {
	at, err := readLogMark(j.Mark)
	if err != nil {
		return nil, 0, "", err
	}
	from := j
	from.Mark = at.mark
	body, n, unreadable, mark, err := lines(ctx, from, limit)
	if err != nil {
		return nil, 0, "", err
	}
	at.mark = mark
	last := mark == ""
	if n == 0 && !last {
		return nil, 0, at.String(), nil
	}
	if !at.sum.begun() {
		data, err = withoutPanic(func() ([]byte, error) { return s.log.EncodeHead(j.logHead()) })
		if err != nil {
			return nil, 0, "", unwritten(err)
		}
	}
	data = append(data, body...)
	at.sum.add(data, n)
	at.sum.unreadable += unreadable
	if !last {
		return data, n, at.String(), nil
	}
	tail, err := withoutPanic(func() ([]byte, error) { return s.log.EncodeTail(at.sum.tail()) })
	return append(data, tail...), n, "", unwritten(err)
}

// logHead is what the first line of a log says. What was taken before the job was made is in it.
func (j Job) logHead() LogHead {
	return LogHead{Format: LogFormat, Pool: j.Pool, Sequence: j.Spec.Sequence, Since: j.Spec.Since, Begun: j.Created, Job: j.ID}
}

// logIDs encodes what was taken from the job's mark on. An ID of which it cannot be read what it is, has a line as one that is retired.
func (s *Service) logIDs(ctx context.Context, j Job, limit int) (data []byte, n, unreadable Count, next string, err error) {
	var taken []IDRecord
	next = j.Mark
	for range walkPages {
		var page []IDRecord
		if page, next, err = s.store.WalkIDs(ctx, j.Pool, "", next, limit-len(taken)); err != nil {
			return nil, 0, 0, "", rebuildFirst(err, "rebuild the pool %q first, then have another log written", j.Pool)
		}
		for _, r := range page {
			if r.State == "" {
				unreadable++
				r = r.orLost()
			}
			if j.logsID(r) {
				taken = append(taken, r)
			}
		}
		if next == "" || 2*len(taken) >= limit {
			break
		}
	}
	if len(taken) > 0 {
		data, err = withoutPanic(func() ([]byte, error) { return s.log.EncodeIDs(taken) })
	}
	return data, Count(len(taken)), unreadable, next, unwritten(err)
}

// rebuildFirst says of a pool that is damaged what to do so that it can be read whole. The job has failed by it: no other try goes better.
func rebuildFirst(err error, format string, pool PoolName) error {
	if !Is(err, CodePoolDamaged) {
		return err
	}
	e := *asError(err)
	e.Message = "a part of the pool's data is lost, so not all of it can be read; " + fmt.Sprintf(format, pool)
	return &e
}

// logLeases encodes what was leased from the job's mark on. Of an entry that cannot be read there is a line too: that something begins there.
func (s *Service) logLeases(ctx context.Context, j Job, limit int) (data []byte, n, unreadable Count, next string, err error) {
	var leases []LeaseRecord
	next = j.Mark
	for range walkPages {
		var page []LeaseRecord
		if page, next, err = s.store.WalkLedger(ctx, j.Spec.Sequence, next, max(1, limit-len(leases))); err != nil {
			return nil, 0, 0, "", err
		}
		for _, r := range page {
			if j.logs(r.At, r.Carried) {
				leases = append(leases, r)
			}
			if r.Unreadable() {
				unreadable++
			}
		}
		if next == "" || 2*len(leases) >= limit {
			break
		}
	}
	if len(leases) > 0 {
		data, err = withoutPanic(func() ([]byte, error) { return s.log.EncodeLeases(j.Spec.Sequence, leases) })
	}
	return data, Count(len(leases)), unreadable, next, unwritten(err)
}

// logsID reports whether an ID has a line in the log.
func (j Job) logsID(r IDRecord) bool {
	switch r.State {
	case StateFree:
		return false
	case StateClaimed:
		return j.logs(r.At, r.Changed)
	}
	return true
}

// logs reports whether what was taken at a time, and last changed or carried at another, may be missing from a backup of the time since which the log is, or be
// something else there. What has no time may be.
func (j Job) logs(at, changed time.Time) bool {
	return j.Spec.Since.IsZero() || at.IsZero() || later(at, changed).After(j.Spec.Since.Add(-logMargin))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Unreadable reports whether it is an entry that WalkLedger could not read: nothing is known of it but where it begins.
func (e LeaseRecord) Unreadable() bool { return e.End == 0 && e.Token == "" }

func unwritten(err error) error {
	if err == nil {
		return nil
	}
	return Errorf(CodeInternal, "what was taken cannot be written as a log").Because(err)
}
