package dynamotest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"idpool/infra/dynamo"
)

// Usage counts what a table was asked and what DynamoDB would have charged for it, by its published size formula.
type Usage struct {
	Gets, GetManys, Queries, Scans int
	Puts, Updates, Deletes         int
	ConditionsFailed               int // of the writes
	WriteUnits, ReadUnits          int
}

// RoundTrips is the number of calls.
func (u Usage) RoundTrips() int {
	return u.Gets + u.GetManys + u.Queries + u.Scans + u.Puts + u.Updates + u.Deletes
}

// Writes is the number of calls that may have written.
func (u Usage) Writes() int { return u.Puts + u.Updates + u.Deletes }

// Usage returns what was used since the beginning or the last ResetUsage.
func (m *Memory) Usage() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage
}

// ResetUsage starts counting anew.
func (m *Memory) ResetUsage() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage = Usage{}
}

// Items returns copies of all items in the order of their keys: for a census, which looks at the data itself.
func (m *Memory) Items() []dynamo.Item {
	m.mu.Lock()
	defer m.mu.Unlock()
	var items []dynamo.Item
	for _, pk := range slices.Sorted(maps.Keys(m.partitions)) {
		for _, sk := range m.partitions[pk].order {
			items = append(items, clone(m.partitions[pk].items[sk]))
		}
	}
	return items
}

// Each calls f with every item, in no order, without copying: f must not change or keep it, nor call m.
func (m *Memory) Each(f func(dynamo.Item)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.partitions {
		for _, it := range p.items {
			f(it)
		}
	}
}

// Item returns a copy of one item, nil if there is none. It counts as no call.
func (m *Memory) Item(k dynamo.Key) dynamo.Item {
	m.mu.Lock()
	defer m.mu.Unlock()
	return clone(m.find(k))
}

// Set writes an item by hand, as an operator would, and Drop removes one. They count as no call.
func (m *Memory) Set(it dynamo.Item) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.store(it.Key(), clone(it))
}

// Drop removes an item by hand.
func (m *Memory) Drop(k dynamo.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(k)
}

// Expire removes what its "exp" says has expired by now, as DynamoDB's TTL does at some time of its choosing, and
// returns how many items that was.
func (m *Memory) Expire(now time.Time) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	var gone []dynamo.Key
	for _, p := range m.partitions {
		for _, it := range p.items {
			if exp, ok := it["exp"].(int64); ok && exp < now.Unix() {
				gone = append(gone, it.Key())
			}
		}
	}
	for _, k := range gone {
		m.remove(k)
	}
	return len(gone)
}

// Snapshot is the state of a table at one moment.
type Snapshot struct{ items []dynamo.Item }

// Snapshot takes a backup.
func (m *Memory) Snapshot() Snapshot { return Snapshot{items: m.Items()} }

// Restore brings the whole table back to the backup; the usage counted stays.
func (m *Memory) Restore(s Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.partitions, m.scanned = map[string]*partition{}, scanOrder{}
	for _, it := range s.items {
		m.store(it.Key(), clone(it))
	}
}

// Size is the size of an item in bytes by DynamoDB's published formula; 0 for none.
func Size(it dynamo.Item) int {
	n := 0
	for name, v := range it {
		n += len(name) + sizeOf(v)
	}
	return n
}

func sizeOf(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	case int64:
		return sizeOfNumber(v)
	case bool:
		return 1
	case []string:
		n := 3
		for _, s := range v {
			n += 1 + len(s)
		}
		return n
	case map[string]string:
		n := 3
		for k, s := range v {
			n += 1 + len(k) + len(s)
		}
		return n
	}
	return 0
}

// sizeOfNumber is one byte for each two significant digits and one more, and one for the sign.
func sizeOfNumber(n int64) int {
	digits := strconv.FormatInt(n, 10)
	size := 1
	if strings.HasPrefix(digits, "-") {
		size++
		digits = digits[1:]
	}
	return size + (len(strings.TrimRight(digits, "0"))+1)/2
}

// units rounds bytes up to whole units, at least one.
func units(bytes, unit int) int { return max(1, (bytes+unit-1)/unit) }
