package api

import (
	"context"
	"net/http"
	"time"

	"idpool/alloc"
	"idpool/web"
)

// outlook is how a forecast ends, in a word.
type outlook string

const (
	outlookUnknown outlook = "unknown" // there is no rate to tell by yet
	outlookNever   outlook = "never"   // at none of the known rates it ends
	outlookEnds    outlook = "ends"
)

type forecastAnswer struct {
	At        time.Time    `json:"at"`
	Available alloc.Count  `json:"available"`
	Burns     []burnAnswer `json:"burns"`
	Outlook   outlook      `json:"outlook"`
	Earliest  time.Time    `json:"earliest,omitzero"` // with outlookEnds
	Latest    time.Time    `json:"latest,omitzero"`   // absent too where at the lowest rate it never ends
}

type burnAnswer struct {
	Window  int64       `json:"window"` // seconds
	Span    int64       `json:"span"`   // seconds of the window that there are samples for
	Used    alloc.Count `json:"used"`
	PerHour float64     `json:"per_hour"`
}

func newForecastAnswer(f alloc.Forecast) forecastAnswer {
	a := forecastAnswer{At: utc(f.At), Available: f.Available, Burns: make([]burnAnswer, len(f.Burns)), Outlook: outlookUnknown}
	for i, b := range f.Burns {
		a.Burns[i] = burnAnswer{int64(b.Window / time.Second), int64(b.Span / time.Second), b.Used, b.PerHour}
	}
	switch {
	case !f.Known:
	case f.Never:
		a.Outlook = outlookNever
	default:
		a.Outlook, a.Earliest, a.Latest = outlookEnds, utc(f.Earliest), utc(f.Latest)
	}
	return a
}

func (a api) poolForecast(ctx context.Context, q request) (answer, error) {
	return forecastAt(a.svc.PoolForecast(ctx, q.pool()))
}

func (a api) sequenceForecast(ctx context.Context, q request) (answer, error) {
	return forecastAt(a.svc.SequenceForecast(ctx, q.sequence()))
}

func forecastAt(f alloc.Forecast, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: newForecastAnswer(f)}, nil
}

type refillAnswer struct {
	Pool     alloc.PoolName `json:"pool"`
	Filling  bool           `json:"filling"`
	Waiting  alloc.Count    `json:"waiting"`      // IDs that are made and not in the pool yet
	Dry      string         `json:"dry,omitzero"` // why the generator can make no more
	DrySince time.Time      `json:"dry_since,omitzero"`
	Updated  time.Time      `json:"updated_at,omitzero"`
}

func (a api) poolRefill(ctx context.Context, q request) (answer, error) {
	r, err := a.svc.PoolRefill(ctx, q.pool())
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: refillAnswer{
		Pool: r.Pool, Filling: r.Filling, Waiting: r.Waiting, Dry: r.Dry, DrySince: utc(r.DrySince), Updated: utc(r.Updated),
	}}, nil
}

type samplesAnswer struct {
	Samples []sampleAnswer `json:"samples"`
}

type sampleAnswer struct {
	At        time.Time   `json:"at"`
	Available alloc.Count `json:"available"`
	Used      alloc.Count `json:"used"`
}

func (a api) poolSamples(ctx context.Context, q request) (answer, error) {
	name := q.pool()
	return q.samples(func(from, until time.Time, limit int) ([]alloc.Sample, error) {
		return a.svc.PoolSamples(ctx, name, from, until, limit)
	})
}

func (a api) sequenceSamples(ctx context.Context, q request) (answer, error) {
	name := q.sequence()
	return q.samples(func(from, until time.Time, limit int) ([]alloc.Sample, error) {
		return a.svc.SequenceSamples(ctx, name, from, until, limit)
	})
}

// What samples are shown when the query does not say: those of a day, a minute each.
const (
	samplesSpan  = 24 * time.Hour
	samplesAhead = time.Minute // for clocks that differ
	maxSamples   = 1500
)

// samples answers with those that the query asks for.
func (q request) samples(find func(from, until time.Time, limit int) ([]alloc.Sample, error)) (answer, error) {
	until := web.Received(q.http.Context()).Add(samplesAhead)
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
	samples, err := find(from, until, limit)
	if err != nil {
		return answer{}, err
	}
	body := samplesAnswer{Samples: make([]sampleAnswer, len(samples))}
	for i, s := range samples {
		body.Samples[i] = sampleAnswer{utc(s.At), s.Available, s.Used}
	}
	return answer{status: http.StatusOK, body: body}, nil
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
