package dynamo

import (
	"context"
	"time"

	"idpool/alloc"
)

// A sample is an item P#pool#V or S#seq#V, named by its minute. It expires SampleRetention after it was taken; Sweep puts
// those of pools, with more that is its own. Both have:
//
//	a  when it was taken, in milliseconds     av  available     sd  of a pool: IDs ever added     us  of a sequence: numbers leased
const attrLeased = "us"

func sequenceSamplesPK(name alloc.SequenceName) string { return sequenceKey(name).PK + "#V" }

// sampleMinute is the sort key of a sample taken at that time.
func sampleMinute(at time.Time) string { return at.UTC().Format(sampleTime) }

// PoolSamples implements alloc.Samples.
func (s *Store) PoolSamples(ctx context.Context, pool alloc.PoolName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return s.samples(ctx, samplesPK(pool), from, until, limit)
}

// SequenceSamples implements alloc.Samples.
func (s *Store) SequenceSamples(ctx context.Context, name alloc.SequenceName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return s.samples(ctx, sequenceSamplesPK(name), from, until, limit)
}

// SampleSequence implements alloc.Samples.
func (s *Store) SampleSequence(ctx context.Context, name alloc.SequenceName, sample alloc.Sample) error {
	return s.putFresh(ctx, Item{
		AttrPK: sequenceSamplesPK(name), AttrSK: sampleMinute(sample.At), AttrTaken: sample.At.UnixMilli(),
		AttrAvail: int64(sample.Available), attrLeased: int64(sample.Used), AttrExpires: sample.At.Add(alloc.SampleRetention).Unix(),
	})
}

// samples reads those taken at or after from and before until, oldest first. The minutes bound what is read, the times decide.
func (s *Store) samples(ctx context.Context, pk string, from, until time.Time, limit int) (list []alloc.Sample, err error) {
	now := s.now()
	if oldest := now.Add(-alloc.SampleRetention); from.Before(oldest) {
		from = oldest // what is older counts as absent; and a year has no more than four digits here
	}
	if latest := now.Add(alloc.SampleRetention); until.After(latest) {
		until = latest
	}
	q := Query{PK: pk, From: sampleMinute(from), To: sampleMinute(until)}
	for len(list) < limit && from.Before(until) {
		q.Limit = limit - len(list) + 1 // the first one may be of the minute in which from lies, and before it
		page, err := s.table.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			if sample := decodeSample(it); !expired(it, now) && !sample.At.Before(from) && sample.At.Before(until) && len(list) < limit {
				list = append(list, sample)
			}
		}
		if !page.More || len(page.Items) == 0 {
			break
		}
		q.From = page.Items[len(page.Items)-1].Str(AttrSK) + "\x00"
	}
	return list, nil
}

func decodeSample(it Item) alloc.Sample {
	sample := alloc.Sample{At: fromMilli(it.Int(AttrTaken)), Available: alloc.Count(it.Int(AttrAvail)), Used: alloc.Count(it.Int(attrLeased))}
	if seeded, ofPool := it[AttrSeeded].(int64); ofPool {
		sample.Used = max(0, alloc.Count(seeded)-sample.Available)
	}
	return sample
}
