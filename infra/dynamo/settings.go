package dynamo

import (
	"context"
	"fmt"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// What a pool is filled by, and to what level, can be longer than all the rest of its head, which is to stay within one
// write unit: every lease of a chunk writes it. So generator and marks are an item of their own, P#pool G#digest, and the
// head has the digest. The item is put before the head that names it, never changed and never removed: so whoever reads
// a head finds what belongs to that version of the configuration, wherever a change was cut off. A claim never reads it.
//
//	gen  generator     marks  marks, both as JSON

// settingsDigest is how many characters of the digest name the item: 132 bits.
const settingsDigest = 22

// settings is the part of a configuration that stands in an item of its own.
type settings struct {
	gen   generator.Config
	marks alloc.Marks
}

func settingsOf(c alloc.PoolConfig) settings { return settings{c.Generator, c.Marks} }

// in returns the configuration with these settings.
func (st settings) in(c alloc.PoolConfig) alloc.PoolConfig {
	c.Generator, c.Marks = st.gen, st.marks
	return c
}

// name is the digest by which a head names them; "" for none.
func (st settings) name() string {
	if st == (settings{}) {
		return ""
	}
	return digestOf(document(storedGenerator(st.gen)), document(storedMarks(st.marks)))[:settingsDigest]
}

func settingsKey(pool alloc.PoolName, name string) Key {
	return Key{PK: headKey(pool).PK, SK: "G#" + name}
}

func decodeSettings(it Item) (settings, error) {
	gen, err1 := fromDocument[storedGenerator](it, "gen")
	marks, err2 := fromDocument[storedMarks](it, "marks")
	return settings{generator.Config(gen), alloc.Marks(marks)}, firstOf([]error{err1, err2})
}

// keepSettings puts the settings of a configuration, before a head names them.
func (s *Store) keepSettings(ctx context.Context, pool alloc.PoolName, st settings) error {
	name := st.name()
	if name == "" {
		return nil
	}
	it := item(settingsKey(pool, name), Item{"gen": document(storedGenerator(st.gen)), "marks": document(storedMarks(st.marks))})
	err := s.table.Put(ctx, it, Absent(AttrPK))
	if _, there := refusedBy(err); there {
		return nil
	}
	return err
}

// wholePools returns the pools of heads with their settings, and those of them whose settings are lost, which are without.
func (s *Store) wholePools(ctx context.Context, heads []*head) (pools []alloc.Pool, lost []alloc.PoolName, err error) {
	pools = make([]alloc.Pool, len(heads))
	var keys []Key
	var of []int
	for i, h := range heads {
		pools[i] = h.pool
		if h.settings != "" {
			keys, of = append(keys, settingsKey(h.pool.Name, h.settings)), append(of, i)
		}
	}
	items, err := s.getAll(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	for i, it := range items {
		p := &pools[of[i]]
		if it == nil {
			lost = append(lost, p.Name)
			continue
		}
		st, err := decodeSettings(it)
		if err != nil {
			return nil, nil, err
		}
		p.Config = st.in(p.Config)
	}
	return pools, lost, nil
}

// wholePool is wholePools of one.
func (s *Store) wholePool(ctx context.Context, h *head) (alloc.Pool, error) {
	pools, lost, err := s.wholePools(ctx, []*head{h})
	switch {
	case err != nil:
		return alloc.Pool{}, err
	case len(lost) > 0:
		return alloc.Pool{}, poolDamaged(h.pool.Name).Because(fmt.Errorf("the settings %s are lost", settingsKey(h.pool.Name, h.settings).SK))
	}
	return pools[0], nil
}

// hasConfig reports whether that is the head's configuration, without a read of its settings.
func (h *head) hasConfig(c alloc.PoolConfig) bool {
	return h.settings == settingsOf(c).name() && h.pool.Config == settings{}.in(c)
}

// poolWith is the head's pool, whose settings are known to be those of the configuration given.
func (h *head) poolWith(c alloc.PoolConfig) alloc.Pool {
	p := h.pool
	p.Config = settingsOf(c).in(p.Config)
	return p
}
