package dynamotest

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strings"

	"idpool/infra/dynamo"
)

// Scan implements dynamo.Table. As in DynamoDB, next is set whenever the page ended at its limit, also where nothing
// follows, and what the prefixes leave out counts against the limit.
func (m *Memory) Scan(ctx context.Context, sc dynamo.Scan) (items []dynamo.Item, next dynamo.Key, err error) {
	total := max(1, sc.Total)
	switch {
	case ctx.Err() != nil:
		return nil, dynamo.Key{}, unavailable(ctx.Err())
	case sc.Segment < 0 || sc.Segment >= total || total > maxSegments || sc.Limit < 0 || (sc.From.PK == "") != (sc.From.SK == ""):
		return nil, dynamo.Key{}, invalid("Scan %+v", sc)
	case sc.From.PK != "" && segmentOf(sc.From.PK, total) != sc.Segment:
		return nil, dynamo.Key{}, invalid("Scan from %v, which is in another segment", sc.From)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Scans++
	read, bytes := 0, 0
	for pk := range m.scanned.from(sc.From.PK) {
		if segment := segmentOf(pk, total); segment < sc.Segment {
			continue
		} else if segment > sc.Segment {
			break
		}
		p := m.partitions[pk]
		for _, sk := range p.order {
			if pk == sc.From.PK && sk <= sc.From.SK {
				continue
			}
			it := p.items[sk]
			read++
			bytes += Size(it)
			if len(sc.Prefixes) == 0 || slices.ContainsFunc(sc.Prefixes, func(prefix string) bool { return strings.HasPrefix(pk, prefix) }) {
				items = append(items, clone(it))
			}
			if sc.Limit > 0 && read == sc.Limit || bytes >= maxPageBytes {
				m.usage.ReadUnits += units(bytes, readUnitBytes)
				return items, it.Key(), nil
			}
		}
	}
	m.usage.ReadUnits += units(bytes, readUnitBytes)
	return items, dynamo.Key{}, nil
}

// maxSegments is DynamoDB's limit.
const maxSegments = 1_000_000

// scanOrder is the order in which a scan meets partitions: that of a hash of their keys, which says nothing of the keys
// themselves. Each bucket holds the keys of one range of hashes, in order.
type scanOrder [4096][]string

func hashOf(pk string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(pk))
	return h.Sum32() * 2654435761
}

func segmentOf(pk string, total int) int {
	return int(uint64(hashOf(pk)) * uint64(total) >> 32) //nolint:gosec // below total
}

func bucketOf(pk string) int { return int(hashOf(pk) >> 20) }

func inScanOrder(a, b string) int {
	return cmp.Or(cmp.Compare(hashOf(a), hashOf(b)), cmp.Compare(a, b))
}

func (o *scanOrder) add(pk string) {
	b := &o[bucketOf(pk)]
	i, _ := slices.BinarySearchFunc(*b, pk, inScanOrder)
	*b = slices.Insert(*b, i, pk)
}

func (o *scanOrder) remove(pk string) {
	b := &o[bucketOf(pk)]
	if i, there := slices.BinarySearchFunc(*b, pk, inScanOrder); there {
		*b = slices.Delete(*b, i, i+1)
	}
}

// from yields the keys from the given one on, whether it is there or not; "" for all.
func (o *scanOrder) from(pk string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		first, i := 0, 0
		if pk != "" {
			first = bucketOf(pk)
			i, _ = slices.BinarySearchFunc(o[first], pk, inScanOrder)
		}
		for _, keys := range o[first:] {
			for _, key := range keys[min(i, len(keys)):] {
				if !yield(key) {
					return
				}
			}
			i = 0
		}
	}
}
