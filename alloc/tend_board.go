package alloc

import (
	"cmp"
	"context"
	"time"
)

// keepBoard writes down how everything stands after the run's look at pools and sequences. What this run has not come to stands as
// the board before says.
func (t *tending) keepBoard(ctx context.Context, numbers tendedSequences) error {
	if t.over() {
		return nil
	}
	data, err := t.store.Board(ctx)
	if err != nil {
		return err
	}
	old, err := decodeBoard(data)
	if err != nil {
		old = Board{} // what cannot be read is replaced
	}
	now := t.now()
	pools, failed := t.poolsOnBoard(ctx, old)
	board := Board{At: now, Pools: pools, Sequences: t.sequencesOnBoard(old, numbers.standings), Throttled: old.Throttled, ThrottledAt: old.ThrottledAt}
	if n := t.throttled(numbers); n > 0 {
		board.Throttled, board.ThrottledAt = n, now
	}
	if data, err = board.encode(); err != nil {
		return err
	}
	return cmp.Or(t.store.PutBoard(ctx, now, data), failed)
}

// throttled is for how many pools and sequences the engine was asked for more than it takes.
func (t *tending) throttled(numbers tendedSequences) (n Count) {
	for _, p := range t.all {
		if Is(p.failed, CodeThrottled) || p.fill != nil && Is(p.fill.report.Err, CodeThrottled) {
			n++
		}
	}
	return n + numbers.throttled
}

// stranding keeps since when stock of a pool has stayed as it is, and since when its sweeps leave work.
func (p *PoolOnBoard) stranding(at time.Time, was, is Level, swept SweepReport) {
	stock := is.Unlisted() + swept.Leased
	switch {
	case stock == 0:
		p.StockSince = time.Time{}
	case stock != p.Stock || p.StockSince.IsZero() || was.Available != is.Available || was.Held != is.Held || was.Claimed != is.Claimed || was.Seeded != is.Seeded:
		p.StockSince = at
	}
	p.Stock = stock
	switch {
	case !swept.More:
		p.Behind = time.Time{}
	case p.Behind.IsZero():
		p.Behind = at
	}
}

// poolsOnBoard is how the pools stand; beside the first error, with the trends that could be read.
func (t *tending) poolsOnBoard(ctx context.Context, old Board) (list []PoolOnBoard, failed error) {
	before := map[PoolName]PoolOnBoard{}
	for _, p := range old.Pools {
		before[p.Pool] = p
	}
	for _, p := range t.all {
		if p.pool.State != PoolDeleted {
			row, err := t.poolOnBoard(ctx, p, before[p.pool.Name])
			list, failed = append(list, row), cmp.Or(failed, err)
		}
	}
	return list, failed
}

// poolOnBoard is how the pool stands, after how it stood before.
func (t *tending) poolOnBoard(ctx context.Context, p *tended, row PoolOnBoard) (_ PoolOnBoard, err error) {
	row.Pool, row.State, row.Unknown = p.pool.Name, p.pool.State, ""
	if p.seen == nil {
		if p.failed != nil {
			row.Unknown = asError(p.failed).Message
		}
		return row, nil
	}
	now := t.standing(p)
	row.stranding(p.seen.at, row.Level, now.Level, p.swept)
	row.At, row.Level, row.Low, row.Target, row.Filled, row.Burns = p.seen.at, now.Level, now.Low, now.Target, now.Filled, p.seen.burns
	row.Filling, row.Dry, row.Failed = false, "", ""
	if p.fill != nil {
		row.Filling, row.Dry = p.fill.rec.Filling, p.fill.rec.Dry
		if err := p.fill.report.Err; err != nil {
			row.Failed = asError(err).Message
		}
		if p.fill.report.Added > 0 {
			row.Refilled = p.seen.at
		}
	}
	if len(row.Trend.Counts) == 0 {
		row.Trend, err = t.trendBefore(ctx, p)
	}
	row.Trend = row.Trend.at(p.seen.at, row.Level.Available)
	return row, err
}

// trendBefore is the trend of a pool that the board does not have yet, of its samples.
func (t *tending) trendBefore(ctx context.Context, p *tended) (Trend, error) {
	if t.enough() {
		return Trend{}, nil
	}
	samples, err := t.store.PoolSamples(ctx, p.pool.Name, p.seen.at.Add(-trendHours*time.Hour), p.seen.at, maxSamples)
	return trendOf(samples), err
}

func (t *tending) sequencesOnBoard(old Board, standings []SequenceStanding) (list []SequenceOnBoard) {
	now := map[SequenceName]SequenceStanding{}
	for _, s := range standings {
		now[s.Sequence] = s
	}
	before := map[SequenceName]SequenceOnBoard{}
	for _, q := range old.Sequences {
		before[q.Sequence] = q
	}
	for name, q := range t.sequences {
		row := before[name]
		row.Sequence, row.State, row.Start, row.Limit = name, q.State, q.Config.Start, q.Config.Limit
		if s, ok := now[name]; ok {
			row.At, row.State, row.Next, row.Left, row.Burns = s.Forecast.At, s.State, s.Next, s.Left, s.Forecast.Burns
		}
		list = append(list, row)
	}
	return list
}
