package dynamo

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"idpool/alloc"
)

// Stock goes over the chunks from the low mark to the tail, as they stood when it began: with what they list of IDs that are free. Then it
// scans the table for free IDs that are listed nowhere yet, of batches that were cut off or have let them go: after a restore of the table
// these may have been listed since, and taken.
//
//	q.SERIES.TAIL.CHUNK    where it is among the chunks
//	s.POSITION             in the scan
const (
	stockQueue = "q."
	stockScan  = "s."

	// stockChunks is how many chunks a page reads at most.
	stockChunks = 200
)

// Stock implements alloc.Restores.
func (s *Store) Stock(ctx context.Context, pool alloc.PoolName, mark string, limit int) (page []alloc.IDRecord, next string, err error) {
	h, err := s.poolHead(ctx, pool)
	if err != nil {
		return nil, "", err
	}
	switch {
	case mark == "":
		return s.stockOf(ctx, pool, stretchOfQueue{h.series, h.tl, h.lo}, limit)
	case strings.HasPrefix(mark, stockScan):
		return s.unlisted(ctx, pool, position(mark[len(stockScan):]), limit)
	}
	q, ok := parseStretch(mark)
	if !ok {
		return nil, "", internal(fmt.Errorf("%q is no mark of a pool's stock", mark))
	}
	return s.stockOf(ctx, pool, q, limit)
}

// stretchOfQueue is the chunks of a series from one to before the tail.
type stretchOfQueue struct{ series, tail, at int64 }

func (q stretchOfQueue) String() string {
	return fmt.Sprintf("%s%d.%d.%d", stockQueue, q.series, q.tail, q.at)
}

func parseStretch(mark string) (q stretchOfQueue, ok bool) {
	parts := strings.Split(strings.TrimPrefix(mark, stockQueue), ".")
	if len(parts) != 3 {
		return q, false
	}
	for i, n := range []*int64{&q.series, &q.tail, &q.at} {
		v, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil || v < 0 {
			return q, false
		}
		*n = v
	}
	return q, true
}

// stockOf gives the free IDs of some chunks.
func (s *Store) stockOf(ctx context.Context, pool alloc.PoolName, q stretchOfQueue, limit int) (page []alloc.IDRecord, next string, err error) {
	step := int64(max(1, (limit+maxListings-1)/maxListings))
	met := map[alloc.ID]bool{}
	for read := int64(0); q.at < q.tail && read < stockChunks && len(page) < limit; read += step {
		to := min(q.at+step, q.tail)
		v, err := s.window(ctx, &head{pool: alloc.Pool{Name: pool}, series: q.series}, q.at, to)
		if err != nil {
			return nil, "", err
		}
		for _, c := range v.chunks {
			for _, l := range c.listings {
				it := v.states[l.id]
				if free := isFree(it) && it.Int(AttrGeneration) == l.gen; free && !met[l.id] {
					met[l.id] = true
					page = append(page, decodeID(pool, l.id, it))
				}
			}
		}
		q.at = to
	}
	if q.at < q.tail {
		return page, q.String(), nil
	}
	return page, stockScan, nil
}

// unlisted gives free IDs that may be listed nowhere.
func (s *Store) unlisted(ctx context.Context, pool alloc.PoolName, at position, limit int) (page []alloc.IDRecord, next string, err error) {
	a := &auditing{s: s, pool: pool}
	var items []Item
	var from Key
	err = s.insist(ctx, func() (err error) {
		items, from, err = s.table.Scan(ctx, Scan{From: at.key(), Limit: max(limit, scanItems), Prefixes: []string{idKey(pool, "").PK}})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	settled := map[string]bool{}
	for _, it := range items {
		if it.Str(AttrSK) != skID || !isFree(it) {
			continue
		}
		listed, err := a.batchSettled(ctx, it, settled)
		if err != nil {
			return nil, "", err
		}
		if loose(it) || !listed {
			page = append(page, decodeID(pool, a.idOf(it), it))
		}
	}
	if from == (Key{}) {
		return page, "", nil
	}
	return page, stockScan + string(positionOf(from)), nil
}
