package api

import (
	"context"
	"net/http"
	"time"

	"idpool/alloc"
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
	Available amount       `json:"available"`
	Burns     []burnAnswer `json:"burns"`
	Outlook   outlook      `json:"outlook"`
	Earliest  time.Time    `json:"earliest,omitzero"` // with outlookEnds
	Latest    time.Time    `json:"latest,omitzero"`   // absent too where at the lowest rate it never ends
}

type burnAnswer struct {
	Window  int64   `json:"window"` // seconds
	Span    int64   `json:"span"`   // seconds of the window that there are samples for
	Used    amount  `json:"used"`
	PerHour float64 `json:"per_hour"`
}

func newForecastAnswer(f alloc.Forecast, counted counting) forecastAnswer {
	a := forecastAnswer{At: utc(f.At), Available: counted(f.Available), Burns: make([]burnAnswer, len(f.Burns)), Outlook: outlookUnknown}
	for i, b := range f.Burns {
		a.Burns[i] = burnAnswer{int64(b.Window / time.Second), int64(b.Span / time.Second), counted(b.Used), b.PerHour}
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
	f, err := a.svc.PoolForecast(ctx, q.pool())
	return answer{status: http.StatusOK, body: newForecastAnswer(f, ids)}, err
}

func (a api) sequenceForecast(ctx context.Context, q request) (answer, error) {
	f, err := a.svc.SequenceForecast(ctx, q.sequence())
	return answer{status: http.StatusOK, body: newForecastAnswer(f, numbers)}, err
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
