package dynamo

import (
	"context"
	"maps"
	"time"

	"idpool/alloc"
)

// The item of a sequence in the catalogue is N#seq / NAME:
//
//	mark  how far its creation is, below      born  when it was begun, in nanoseconds
//
// and beside them the copy of the configuration, state, version and epoch of its head, under the names of the head's own
// attributes. It is written when the sequence is made, changed and watched, and read where the head is lost.

// Values of mark. It is written before the head, so that a missing head tells what it means: "creating", the creation was cut off
// and goes on with the next attempt; "live", the counter is lost; "deleted", it was not needed any more.
const (
	sequenceCatalogue = "N#seq"

	markCreating = "creating"
	markLive     = "live"
	markDeleted  = "deleted"
)

func sequenceEntry(name alloc.SequenceName) Key { return Key{PK: sequenceCatalogue, SK: string(name)} }

// copyAttrs is the copy of a head.
func copyAttrs(h *sequenceHead) map[string]any {
	set := wholeConfigAttrs(h.Config)
	set["st"], set["ver"], set["ep"] = string(h.State), int64(h.Version), int64(h.Epoch)
	return set
}

// keepSequenceCopy makes the entry of the catalogue have the copy of the head, if it does not, and makes it live. A newer copy stays.
func (s *Store) keepSequenceCopy(ctx context.Context, h *sequenceHead, entry Item) error {
	set := copyAttrs(h)
	set["mark"] = markLive
	if entry.has(set) {
		return nil
	}
	if entry == nil {
		it := item(sequenceEntry(h.Name), Item{"born": h.Created.UnixNano()})
		maps.Copy(it, set)
		err := s.table.Put(ctx, it, Absent("pk"))
		if _, met := refusedBy(err); met {
			return nil // somebody else has mended it
		}
		return err
	}
	return s.changeEntry(ctx, h.Name, set, All(Exists("pk"), Ne("mark", markDeleted), notAbove(entry, "ver", int64(h.Version)), notAbove(entry, "ep", int64(h.Epoch))))
}

// notAbove holds while the attribute is not higher than n. What was read to be no number is damaged, or not there yet, and is replaced.
func notAbove(read Item, attr string, n int64) Cond {
	if _, ok := read[attr].(int64); ok {
		return Le(attr, n)
	}
	return asRead(read, attr)
}

// asRead holds while the attributes are what they were when the item was read; no item has none.
func asRead(read Item, attrs ...string) Cond {
	of := make([]Cond, len(attrs))
	for i, attr := range attrs {
		if v, there := read[attr]; there {
			of[i] = Eq(attr, v)
		} else {
			of[i] = Absent(attr)
		}
	}
	return All(of...)
}

// changeEntry changes the catalogue; a condition that does not hold means that somebody else has gone further.
func (s *Store) changeEntry(ctx context.Context, name alloc.SequenceName, set map[string]any, c Cond) error {
	_, err := s.table.Update(ctx, sequenceEntry(name), Update{Set: set, Quiet: true}, c)
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}

// ofEntry is what the catalogue alone tells of a sequence: one without a counter is stopped.
func ofEntry(name alloc.SequenceName, entry Item) alloc.Sequence {
	q := alloc.Sequence{Name: name, State: alloc.SequenceStopped}
	if born := entry.Int("born"); born != 0 {
		q.Created = time.Unix(0, born).UTC()
	}
	if config, version, ok := configOf(entry); ok {
		q.Config, q.Version = config, version
	}
	if entry.Str("mark") == markDeleted {
		q.State = alloc.SequenceDeleted
	}
	return q
}
