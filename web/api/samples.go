package api

import (
	"context"
	"slices"
	"time"

	"idpool/alloc"
	"idpool/web"
)

type samplesAnswer struct {
	Samples []sampleAnswer `json:"samples"`
}

type sampleAnswer struct {
	At        time.Time `json:"at"`
	Available amount    `json:"available"`
	Used      amount    `json:"used"`
}

var sampleColumns = []column[sampleAnswer]{
	{"at", func(s sampleAnswer) string { return when(s.At) }},
	{"available", func(s sampleAnswer) string { return s.Available.String() }},
	{"used", func(s sampleAnswer) string { return s.Used.String() }},
}

func (a api) poolSamples(ctx context.Context, q request) (answer, error) {
	name := q.pool()
	return q.samples(ids, func(from, until time.Time, limit int) ([]alloc.Sample, error) {
		return a.svc.PoolSamples(ctx, name, from, until, limit)
	})
}

func (a api) sequenceSamples(ctx context.Context, q request) (answer, error) {
	name := q.sequence()
	return q.samples(numbers, func(from, until time.Time, limit int) ([]alloc.Sample, error) {
		return a.svc.SequenceSamples(ctx, name, from, until, limit)
	})
}

// What samples are shown when the query does not say: those of a day, a minute each.
const (
	samplesSpan  = 24 * time.Hour
	samplesAhead = time.Minute // for clocks that differ
	samplesKept  = 36 * 24 * time.Hour
	maxSamples   = 1500
)

// finder finds the samples of a time, from a moment on and before another: the first so many of them, oldest first.
type finder func(from, until time.Time, limit int) ([]alloc.Sample, error)

// samples answers with those that the query asks for, newest first as all lists that go by time.
func (q request) samples(counted counting, find finder) (answer, error) {
	now := web.Received(q.http.Context()).Add(samplesAhead)
	until := now
	if err := q.moment("until", &until); err != nil {
		return answer{}, err
	}
	from := until.Add(-samplesSpan)
	if err := q.moment("from", &from); err != nil {
		return answer{}, err
	}
	if !from.Before(until) {
		return answer{}, alloc.Errorf(alloc.CodeInvalidRequest, "from must be before until; left out, from is a day before it, and until is now")
	}
	limit, err := q.limit(maxSamples, maxSamples)
	if err != nil {
		return answer{}, err
	}
	samples, err := find.newest(from, until, now, limit)
	if err != nil {
		return answer{}, err
	}
	body := samplesAnswer{Samples: make([]sampleAnswer, len(samples))}
	for i, s := range samples {
		body.Samples[i] = sampleAnswer{utc(s.At), counted(s.Available), counted(s.Used)}
	}
	return q.listed(body, listOf("samples", sampleColumns, body.Samples, ""))
}

// newest finds the last samples of a time, at most limit, newest first. There is at most one a minute: so it looks at as many minutes
// before the end, and where there were fewer samples in them at twice as many before these.
func (find finder) newest(from, until, now time.Time, limit int) ([]alloc.Sample, error) {
	begin, end := latest(from, now.Add(-samplesKept)), earliest(until, now)
	if !begin.Before(end) { // of that time nothing is kept; whether it may be asked for is still to be found out
		return find(from, until, limit)
	}
	var found []alloc.Sample
	for span := time.Duration(limit) * time.Minute; len(found) < limit && begin.Before(end); span *= 2 {
		middle := latest(begin, end.Add(-span))
		some, err := find.all(middle, end)
		if err != nil {
			return nil, err
		}
		slices.Reverse(some)
		found, end = append(found, some...), middle
	}
	return found[:min(limit, len(found))], nil
}

// all finds all samples of a time, oldest first.
func (find finder) all(from, until time.Time) (found []alloc.Sample, err error) {
	for from.Before(until) {
		some, err := find(from, until, maxSamples)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
		if len(some) < maxSamples {
			break
		}
		from = some[len(some)-1].At.Add(time.Second) // the next one is later by far
	}
	return found, nil
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// moment reads a time of the query; without it to stays as it is.
func (q request) moment(name string, to *time.Time) error {
	if !q.query.Has(name) {
		return nil
	}
	t, err := parseMoment(name, q.query.Get(name))
	if err == nil {
		*to = t
	}
	return err
}
