package dynamotest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// Limits of DynamoDB that Memory keeps.
const (
	maxPKBytes    = 2048
	maxSKBytes    = 1024
	maxItemBytes  = 400 << 10
	maxPageBytes  = 1 << 20
	maxGetMany    = 100
	readUnitBytes = 4 << 10
	writeUnit     = 1 << 10
)

// Memory is dynamo.Table in memory: every call is atomic and strongly consistent, and what DynamoDB would refuse as
// invalid is CodeInternal here. It is safe for concurrent use. Items go in and out as copies.
//
// It is stricter than the seam in three ways, each of which DynamoDB would punish later: an empty All or Any is
// invalid, so is a key that stands twice in a GetMany, and so is an Update that changes nothing.
type Memory struct {
	mu         sync.Mutex
	partitions map[string]*partition
	scanned    scanOrder
	usage      Usage
}

// partition holds the items of one partition key and their sort keys in order.
type partition struct {
	items map[string]dynamo.Item
	order []string
}

// NewMemory returns an empty table.
func NewMemory() *Memory { return &Memory{partitions: map[string]*partition{}} }

var _ dynamo.Table = (*Memory)(nil)

// Get implements dynamo.Table.
func (m *Memory) Get(ctx context.Context, k dynamo.Key) (dynamo.Item, error) {
	if err := check(ctx, k); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	it := m.find(k)
	m.usage.Gets++
	m.usage.ReadUnits += units(Size(it), readUnitBytes)
	return clone(it), nil
}

// GetMany implements dynamo.Table.
func (m *Memory) GetMany(ctx context.Context, keys []dynamo.Key) ([]dynamo.Item, error) {
	if len(keys) > maxGetMany {
		return nil, invalid("GetMany of %d keys", len(keys))
	}
	seen := map[dynamo.Key]bool{}
	for _, k := range keys {
		if err := check(ctx, k); err != nil {
			return nil, err
		}
		if seen[k] {
			return nil, invalid("GetMany has the key %v twice", k)
		}
		seen[k] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.GetManys++
	items := make([]dynamo.Item, len(keys))
	for i, k := range keys {
		it := m.find(k)
		m.usage.ReadUnits += units(Size(it), readUnitBytes)
		items[i] = clone(it)
	}
	return items, nil
}

// Put implements dynamo.Table.
func (m *Memory) Put(ctx context.Context, it dynamo.Item, c dynamo.Cond) error {
	k := it.Key()
	if err := check(ctx, k); err != nil {
		return err
	}
	if err := checkItem(it); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Puts++
	old := m.find(k)
	if err := m.test(old, c); err != nil {
		return err
	}
	m.usage.WriteUnits += units(max(Size(old), Size(it)), writeUnit)
	m.store(k, clone(it))
	return nil
}

// Update implements dynamo.Table.
func (m *Memory) Update(ctx context.Context, k dynamo.Key, u dynamo.Update, c dynamo.Cond) (dynamo.Item, error) {
	if err := check(ctx, k); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Updates++
	old := m.find(k)
	if err := m.test(old, c); err != nil {
		return nil, err
	}
	if old == nil {
		return nil, invalid("an Update would create the item %v: its condition must imply that the item exists", k)
	}
	it, err := apply(old, u)
	if err != nil {
		return nil, err
	}
	m.usage.WriteUnits += units(max(Size(old), Size(it)), writeUnit)
	m.store(k, it)
	if u.Quiet {
		return nil, nil
	}
	return clone(it), nil
}

// Delete implements dynamo.Table. Without an item and with a condition that holds of none it returns nil.
func (m *Memory) Delete(ctx context.Context, k dynamo.Key, c dynamo.Cond) (dynamo.Item, error) {
	if err := check(ctx, k); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Deletes++
	old := m.find(k)
	if err := m.test(old, c); err != nil {
		return nil, err
	}
	m.usage.WriteUnits += units(Size(old), writeUnit)
	m.remove(k)
	return clone(old), nil
}

// Query implements dynamo.Table. More is set whenever the page ended at its limit, also where nothing follows, as
// DynamoDB does.
func (m *Memory) Query(ctx context.Context, q dynamo.Query) (dynamo.Page, error) {
	switch {
	case ctx.Err() != nil:
		return dynamo.Page{}, unavailable(ctx.Err())
	case q.PK == "" || q.Limit < 0:
		return dynamo.Page{}, invalid("Query %+v", q)
	case q.From != "" && q.To != "" && q.From > q.To:
		return dynamo.Page{}, invalid("Query from %q to %q: the bounds are the wrong way round", q.From, q.To)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Queries++
	var page dynamo.Page
	bytes := 0
	for _, it := range m.partitions[q.PK].between(q) {
		if q.Limit > 0 && len(page.Items) == q.Limit || bytes >= maxPageBytes {
			page.More = true
			break
		}
		page.Items = append(page.Items, clone(it))
		bytes += Size(it)
	}
	page.More = page.More || q.Limit > 0 && len(page.Items) == q.Limit
	m.usage.ReadUnits += units(bytes, readUnitBytes)
	return page, nil
}

// between returns the items within the query's bounds in its order.
func (p *partition) between(q dynamo.Query) []dynamo.Item {
	if p == nil {
		return nil
	}
	var items []dynamo.Item
	for _, sk := range p.order {
		if sk >= q.From && (q.To == "" || sk <= q.To) {
			items = append(items, p.items[sk])
		}
	}
	if q.Descending {
		slices.Reverse(items)
	}
	return items
}

// test evaluates the condition on the item; a failed one costs what a write of the item would.
func (m *Memory) test(old dynamo.Item, c dynamo.Cond) error {
	ok, err := Holds(c, old)
	if err != nil {
		return err
	}
	if !ok {
		m.usage.ConditionsFailed++
		m.usage.WriteUnits += units(Size(old), writeUnit)
		return &dynamo.ConditionFailed{Old: clone(old)}
	}
	return nil
}

func (m *Memory) find(k dynamo.Key) dynamo.Item {
	if p := m.partitions[k.PK]; p != nil {
		return p.items[k.SK]
	}
	return nil
}

func (m *Memory) store(k dynamo.Key, it dynamo.Item) {
	p := m.partitions[k.PK]
	if p == nil {
		p = &partition{items: map[string]dynamo.Item{}}
		m.partitions[k.PK] = p
		m.scanned.add(k.PK)
	}
	if _, there := p.items[k.SK]; !there {
		i, _ := slices.BinarySearch(p.order, k.SK)
		p.order = slices.Insert(p.order, i, k.SK)
	}
	p.items[k.SK] = it
}

func (m *Memory) remove(k dynamo.Key) {
	p := m.partitions[k.PK]
	if p == nil {
		return
	}
	if i, there := slices.BinarySearch(p.order, k.SK); there {
		p.order = slices.Delete(p.order, i, i+1)
		delete(p.items, k.SK)
	}
	if len(p.order) == 0 {
		delete(m.partitions, k.PK)
		m.scanned.remove(k.PK)
	}
}

// apply returns the item after the update.
func apply(old dynamo.Item, u dynamo.Update) (dynamo.Item, error) {
	it := clone(old)
	touched := map[string]bool{}
	touch := func(name string) error {
		if name == "pk" || name == "sk" {
			return invalid("an Update changes the key attribute %s", name)
		}
		if touched[name] {
			return invalid("an Update names the attribute %s twice", name)
		}
		touched[name] = true
		return nil
	}
	for name, v := range u.Set {
		if err := touch(name); err != nil {
			return nil, err
		}
		it[name] = cloneValue(v)
	}
	for name, n := range u.Add {
		if err := touch(name); err != nil {
			return nil, err
		}
		have, ok := old[name].(int64)
		if !ok {
			return nil, invalid("an Update adds to the attribute %s, which is missing or no number", name)
		}
		if n > 0 && have > math.MaxInt64-n || n < 0 && have < math.MinInt64-n {
			return nil, invalid("an Update takes the attribute %s out of int64", name)
		}
		it[name] = have + n
	}
	for _, name := range u.Remove {
		if err := touch(name); err != nil {
			return nil, err
		}
		delete(it, name)
	}
	if len(touched) == 0 {
		return nil, invalid("an Update of %v changes nothing", old.Key())
	}
	return it, checkItem(it)
}

// check refuses keys that DynamoDB refuses, and calls whose context has ended: they are not applied.
func check(ctx context.Context, k dynamo.Key) error {
	if k.PK == "" || k.SK == "" || len(k.PK) > maxPKBytes || len(k.SK) > maxSKBytes {
		return invalid("the key %q %q", k.PK, k.SK)
	}
	if ctx.Err() != nil {
		return unavailable(ctx.Err())
	}
	return nil
}

// checkItem refuses values of types that the seam does not know, and items above 400 KB.
func checkItem(it dynamo.Item) error {
	for name, v := range it {
		if name == "" {
			return invalid("an attribute of %v has no name", it.Key())
		}
		if !known(v) {
			return invalid("the attribute %s of %v is a %T", name, it.Key(), v)
		}
	}
	if n := Size(it); n > maxItemBytes {
		return invalid("the item %v has %d bytes", it.Key(), n)
	}
	return nil
}

func known(v any) bool {
	switch v.(type) {
	case string, int64, bool, []byte, []string, map[string]string:
		return true
	}
	return false
}

func clone(it dynamo.Item) dynamo.Item {
	if it == nil {
		return nil
	}
	c := make(dynamo.Item, len(it))
	for name, v := range it {
		c[name] = cloneValue(v)
	}
	return c
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case []byte:
		return append([]byte{}, v...) // an empty value stays one
	case []string:
		return append([]string{}, v...) // an empty list stays a list
	case map[string]string:
		c := make(map[string]string, len(v))
		maps.Copy(c, v)
		return c
	}
	return v
}

func invalid(format string, args ...any) error {
	return alloc.Errorf(alloc.CodeInternal, "the table refused the call").Because(fmt.Errorf("dynamotest: "+format, args...))
}

func unavailable(cause error) error {
	return alloc.Errorf(alloc.CodeUnavailable, "the table did not answer; try again").After(time.Second).Because(cause)
}
