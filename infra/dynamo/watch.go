package dynamo

import (
	"context"
	"time"

	"idpool/alloc"
)

// The high-water mark of a sequence is the item S#NAME / W, apart from the counter and the ledger:
//
//	last  a number that is used, and below which all are     ep  epoch of the counter that said so     at  when, in nanoseconds
//
// It only ever rises. Whatever was read of it before the counter is raised is a bound that a healthy counter stands at, or above.
const skMark = "W"

func markKey(name alloc.SequenceName) Key { return Key{PK: sequenceKey(name).PK, SK: skMark} }

// highWater is a mark as it was read.
type highWater struct {
	last  int64 // noMark for none
	epoch alloc.Epoch
	at    time.Time
}

// highWaterOf reads a mark. One that is damaged is none: it is replaced when it is raised next.
func highWaterOf(it Item) highWater {
	if !hasNumbers(it, []string{"last", "ep"}) {
		return highWater{last: noMark}
	}
	return highWater{last: it.Int("last"), epoch: alloc.Epoch(it.Int("ep")), at: fromNanos(it.Int("at"))}
}

// watchPage is how many entries of the ledger Watch looks at, from the highest start down.
const watchPage = 8

// Watch implements alloc.Sequences.
func (s *Store) Watch(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	read, err := s.table.GetMany(ctx, []Key{sequenceKey(name), markKey(name), sequenceEntry(name)})
	if err != nil {
		return alloc.Sequence{}, err
	}
	h, err := s.headOf(ctx, name, read[0], read[2])
	if alloc.Is(err, alloc.CodeSequenceStopped) {
		return ofEntry(name, read[2]), nil
	}
	if err != nil {
		return alloc.Sequence{}, err
	}
	switch h.State {
	case alloc.SequenceDeleted, alloc.SequenceFrozen:
		return h.Sequence, nil
	case alloc.SequenceStopped:
		return h.Sequence, s.keepSequenceCopy(ctx, h, read[2])
	}
	mark := highWaterOf(read[1])
	top, err := s.table.Query(ctx, Query{PK: ledgerPK(name), Descending: true, Limit: watchPage})
	if err != nil {
		return alloc.Sequence{}, err
	}
	behind, why := h.behind(mark, top.Items)
	switch {
	case behind && h.State == alloc.SequencePaused:
		h.Behind = true
		return h.Sequence, s.keepSequenceCopy(ctx, h, read[2])
	case behind:
		return s.watched(ctx, h, why)
	}
	if err := s.raiseMark(ctx, h, read[1]); err != nil {
		return alloc.Sequence{}, err
	}
	return h.Sequence, s.keepSequenceCopy(ctx, h, read[2])
}

// headOf decodes a head that was read with its entry of the catalogue. CodeSequenceStopped where it is lost or damaged.
func (s *Store) headOf(ctx context.Context, name alloc.SequenceName, it, entry Item) (*sequenceHead, error) {
	if it == nil {
		s.sequences.drop(name)
		return s.withoutHead(ctx, name, entry)
	}
	return readHead(name, it)
}

// behind reports whether the counter is below what the mark or the entries show to be used. All that may have been read after
// the head: so why is the condition that is still to hold when the sequence is stopped. Of an epoch before the head's an entry
// says nothing: what was leased then and not entered until now is to be refused by its proof.
func (h *sequenceHead) behind(mark highWater, entries []Item) (behind bool, why Cond) {
	used, epoch := mark.last, mark.epoch
	for _, it := range entries {
		at := alloc.Epoch(it.Int("ep"))
		if at >= h.Epoch {
			used = max(used, it.Int("end"))
		}
		epoch = max(epoch, at)
	}
	if epoch > h.Epoch {
		return true, Eq("ep", int64(h.Epoch)) // the whole head is from before a rebuild
	}
	return used > h.last, Lt("last", used)
}

// watched stops a sequence whose counter is behind, unless it is so no more.
func (s *Store) watched(ctx context.Context, h *sequenceHead, why Cond) (alloc.Sequence, error) {
	now, _, err := s.halt(ctx, h.Name, h.Epoch, "", why)
	if alloc.Is(err, alloc.CodeSequenceStopped) { // it was lost or damaged in between
		return alloc.Sequence{Name: h.Name, Config: h.Config, Version: h.Version, State: alloc.SequenceStopped, Created: h.Created}, nil
	}
	if err != nil {
		return alloc.Sequence{}, err
	}
	return now.Sequence, nil
}

// halt stops a sequence of which the condition holds, in the epoch, until it is rebuilt. One that a rebuild has frozen stays so
// until the rebuild's own test, which it names, has met the fault, and one that is paused serves nobody and stays that. It returns the head as it is now.
func (s *Store) halt(ctx context.Context, name alloc.SequenceName, epoch alloc.Epoch, rebuild alloc.JobID, why Cond) (h *sequenceHead, done bool, err error) {
	open := Ne("st", string(alloc.SequenceFrozen))
	if rebuild != "" {
		open = Eq("rb", string(rebuild))
	}
	return s.changeHead(ctx, name, map[string]any{"st": string(alloc.SequenceStopped)},
		All(Eq("ep", int64(epoch)), Exists("st"), Ne("st", string(alloc.SequenceDeleted)), Ne("st", string(alloc.SequencePaused)), open, why))
}

// raiseMark raises the mark to the position. A counter of an epoch that is over raises it no more.
func (s *Store) raiseMark(ctx context.Context, h *sequenceHead, it Item) error {
	mark := highWaterOf(it)
	if h.Next <= h.Config.Start || mark.last == h.last && mark.epoch == h.Epoch {
		return nil
	}
	fresh := item(markKey(h.Name), Item{"last": h.last, "ep": int64(h.Epoch), "at": s.now().UnixNano()})
	below := asRead(it, "last", "ep")
	if mark.last != noMark || it == nil {
		below = Any(Absent("pk"), All(Lt("last", h.last), Le("ep", int64(h.Epoch))), All(Le("last", h.last), Lt("ep", int64(h.Epoch))))
	}
	err := s.table.Put(ctx, fresh, below)
	if _, met := refusedBy(err); met {
		return nil // somebody else has raised it further
	}
	return err
}
