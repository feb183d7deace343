package dynamo

import (
	"context"
	"maps"

	"idpool/alloc"
)

// The catalogue item of a pool has a copy of what its head says the pool is: state, version, configuration, series, and
// with it the settings themselves. By it a head that is lost can be made again. It is written after the head, by whoever
// has changed that; where he was cut off, by the next sweep.
//
// Who writes the copy reads it first and the head after it, and writes on condition that the copy has not changed since. So
// a write that comes late is refused: whoever has changed the head later has changed the copy too, or finds it changed.

// attrCopy is how often the copy was changed, of a catalogue item; absent where it has none.
const attrCopy = "cv"

// copyOf is what a copy has of a head.
func copyOf(h *head) Item {
	it := Item{
		AttrPoolState: string(h.pool.State), AttrVersion: int64(h.pool.Version), AttrBorn: h.pool.Created.UnixMilli(), AttrToken: h.token,
		AttrSeries: h.series,
	}
	maps.Copy(it, configItem(h.pool.Config, h.settings))
	return it
}

// configItem is a configuration, as a head has it.
func configItem(c alloc.PoolConfig, settings string) Item {
	it := Item(changeable(c))
	it[AttrPolicy], it[AttrFold] = string(c.Policy), c.FoldCase
	delete(it, AttrSettings)
	if settings != "" {
		it[AttrSettings] = settings
	}
	return it
}

// isCopyOf reports whether a catalogue item has the copy of that head.
func (it Item) isCopyOf(h *head) bool {
	return it.Str(AttrState) == catalogueLive && it.Int(attrCopy) > 0 && it.has(copyOf(h)) && it.Str(AttrSettings) == h.settings
}

// whole reports whether the head is one that this package writes: its marks fit together, and it says what the pool is.
func (h *head) whole() bool {
	switch h.pool.State {
	case alloc.PoolActive, alloc.PoolPaused, alloc.PoolDraining, alloc.PoolDeleted:
	default:
		return false
	}
	known := h.pool.Config.Policy == alloc.PolicyKeep || h.pool.Config.Policy == alloc.PolicyForget
	return known && h.said && h.pool.Version > 0 && h.series > 0 && 0 <= h.lo && h.lo <= h.nx && h.nx <= h.tl && h.published >= 0 && h.seeded >= 0 && h.base >= 0
}

// keepCopy sees to it that the catalogue has the copy of the head, and that the pool counts as made. h is what is known of it.
func (s *Store) keepCopy(ctx context.Context, h *head) error {
	name := h.pool.Name
	for range changeTries {
		entry, err := s.table.Get(ctx, catalogueKey(name))
		if err != nil || entry.isCopyOf(h) {
			return err
		}
		it, err := s.table.Get(ctx, headKey(name))
		if err != nil || it == nil {
			return err // nothing to be copied: whoever needs the head says so
		}
		if h = decodeHead(name, it); !h.whole() || h.rebuilding {
			return nil // a copy is as good as what it is of
		}
		if entry.isCopyOf(h) {
			return nil
		}
		written, err := s.writeCopy(ctx, entry, h)
		if err != nil || written {
			return err
		}
	}
	return poolContended(name)
}

// writeCopy writes the copy in the place of what was read.
func (s *Store) writeCopy(ctx context.Context, entry Item, h *head) (written bool, err error) {
	u := Update{Set: copyOf(h), Quiet: true}
	if h.settings == "" {
		u.Remove = []string{AttrSettings, "gen", "marks"}
	} else {
		kept, err := s.table.Get(ctx, settingsKey(h.pool.Name, h.settings))
		if err != nil {
			return false, err
		}
		if kept == nil {
			return true, nil // the copy may be the last that has them
		}
		u.Set["gen"], u.Set["marks"] = kept.Str("gen"), kept.Str("marks")
	}
	u.Set[AttrState], u.Set[attrCopy] = catalogueLive, entry.Int(attrCopy)+1
	if entry == nil {
		err = s.table.Put(ctx, item(catalogueKey(h.pool.Name), u.Set), Absent(AttrPK))
	} else {
		_, err = s.table.Update(ctx, catalogueKey(h.pool.Name), u, All(Exists(AttrPK), countIs(attrCopy, entry.Int(attrCopy))))
	}
	if _, met := refusedBy(err); met {
		return false, nil
	}
	return err == nil, err
}

// copyAfter writes the copy after a change of the head, which stands whether or not that can be done now.
func (s *Store) copyAfter(ctx context.Context, h *head) {
	_ = s.keepCopy(ctx, h) //nolint:errcheck // a sweep does it
}
