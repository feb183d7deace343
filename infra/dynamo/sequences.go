package dynamo

import (
	"context"
	"errors"
	"time"

	"idpool/alloc"
)

var _ alloc.Sequences = (*Store)(nil)

// The catalogue of sequences is the partition N#seq with an item for each name. It is written before the head, so that
// a missing head tells what it means: mark "creating", the creation was cut off and goes on with the next attempt; mark
// "live", the counter is lost; mark "deleted", it was not needed any more.
const sequenceCatalogue = "N#seq"

const (
	markCreating = "creating"
	markLive     = "live"
	markDeleted  = "deleted"
)

func sequenceEntry(name alloc.SequenceName) Key { return Key{PK: sequenceCatalogue, SK: string(name)} }

// changeTries bounds how often a change of a head is tried against changes by others.
const changeTries = 5

func sequenceBusy(name alloc.SequenceName) error {
	return alloc.Errorf(alloc.CodeBusy, "the sequence %q is being changed by others at this moment; try again", name).After(time.Second)
}

// CreateSequence implements alloc.Sequences.
func (s *Store) CreateSequence(ctx context.Context, name alloc.SequenceName, config alloc.SequenceConfig) (alloc.Sequence, bool, error) {
	now := s.now()
	entry := Item{"pk": sequenceCatalogue, "sk": string(name), "mark": markCreating, "born": now.UnixNano()}
	mark := markCreating
	if err := s.table.Put(ctx, entry, Absent("pk")); err != nil {
		failed, ok := errors.AsType[*ConditionFailed](err)
		if !ok {
			return alloc.Sequence{}, false, err
		}
		mark = failed.Old.Str("mark")
	}
	if mark != markCreating {
		h, err := s.sequenceHead(ctx, name)
		if err != nil {
			return alloc.Sequence{}, false, err
		}
		return asCreated(h, config)
	}
	return s.createHead(ctx, name, config, now)
}

// createHead makes the head, or finds that somebody else has: of several creators at once the first head decides.
func (s *Store) createHead(ctx context.Context, name alloc.SequenceName, config alloc.SequenceConfig, now time.Time) (alloc.Sequence, bool, error) {
	leased, err := s.table.Query(ctx, Query{PK: ledgerPK(name), Limit: 1})
	if err != nil {
		return alloc.Sequence{}, false, err
	}
	var h *sequenceHead
	var created bool
	if len(leased.Items) == 0 {
		h, created, err = s.putHead(ctx, name, config, now)
	} else if h, err = s.sequenceHead(ctx, name); alloc.Is(err, alloc.CodeSequenceNotFound) {
		// The creation was cut off after its head, and that was lost since. A new counter would begin at numbers that
		// have left the house.
		err = alloc.Stopped(name)
	}
	if err != nil {
		return alloc.Sequence{}, false, err
	}
	if err := s.mark(ctx, name, markLive, Eq("mark", markCreating)); err != nil {
		return alloc.Sequence{}, false, err
	}
	if created {
		return h.Sequence, true, nil
	}
	return asCreated(h, config)
}

// putHead returns the head that is there in the end; created says that it is this call's.
func (s *Store) putHead(ctx context.Context, name alloc.SequenceName, config alloc.SequenceConfig, now time.Time) (h *sequenceHead, created bool, err error) {
	it := newHead(name, config, now)
	err = s.table.Put(ctx, it, Absent("pk"))
	created = true
	if failed, ok := errors.AsType[*ConditionFailed](err); ok {
		if failed.Old == nil {
			return nil, false, sequenceBusy(name)
		}
		created = failed.Old.Str("t") == it.Str("t")
		it = failed.Old
	} else if err != nil {
		return nil, false, err
	}
	if h, err = readHead(name, it); err != nil {
		return nil, false, err
	}
	s.sequences.keep(h)
	return h, created, nil
}

// asCreated answers a creation that met the sequence.
func asCreated(h *sequenceHead, config alloc.SequenceConfig) (alloc.Sequence, bool, error) {
	if err := h.CheckTo(alloc.SequenceDeleted); err != nil {
		return alloc.Sequence{}, false, err
	}
	if h.Config != config {
		return alloc.Sequence{}, false, alloc.Errorf(alloc.CodeSequenceExists,
			"the sequence %q exists with another configuration; read it, then change it", h.Name)
	}
	return h.Sequence, false, nil
}

// mark changes the catalogue; a condition that does not hold means that somebody else has gone further.
func (s *Store) mark(ctx context.Context, name alloc.SequenceName, to string, c Cond) error {
	_, err := s.table.Update(ctx, sequenceEntry(name), Update{Set: map[string]any{"mark": to}}, c)
	if _, failed := errors.AsType[*ConditionFailed](err); failed {
		return nil
	}
	return err
}

// Sequence implements alloc.Sequences.
func (s *Store) Sequence(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	h, err := s.sequenceHead(ctx, name)
	if err != nil {
		return alloc.Sequence{}, err
	}
	return h.Sequence, nil
}

// sequenceHead reads the head strongly.
func (s *Store) sequenceHead(ctx context.Context, name alloc.SequenceName) (*sequenceHead, error) {
	it, err := s.table.Get(ctx, sequenceKey(name))
	if err != nil {
		return nil, err
	}
	if it == nil {
		return s.headless(ctx, name)
	}
	h, err := readHead(name, it)
	if err != nil {
		return nil, err
	}
	s.sequences.keep(h)
	return h, nil
}

// headless says what a missing head means: never made, lost, or deleted.
func (s *Store) headless(ctx context.Context, name alloc.SequenceName) (*sequenceHead, error) {
	s.sequences.drop(name)
	entry, err := s.table.Get(ctx, sequenceEntry(name))
	if err != nil {
		return nil, err
	}
	switch {
	case entry == nil || entry.Str("mark") == markCreating:
		return nil, notFound(alloc.CodeSequenceNotFound, "sequence", string(name))
	case entry.Str("mark") == markDeleted:
		return &sequenceHead{Sequence: ofEntry(entry)}, nil
	}
	return nil, alloc.Stopped(name)
}

// ofEntry is what the catalogue alone tells of a sequence.
func ofEntry(entry Item) alloc.Sequence {
	q := alloc.Sequence{
		Name: alloc.SequenceName(entry.Str("sk")), State: alloc.SequenceStopped, Created: time.Unix(0, entry.Int("born")).UTC(),
	}
	if entry.Str("mark") == markDeleted {
		q.State = alloc.SequenceDeleted
	}
	return q
}

// ChangeSequence implements alloc.Sequences.
func (s *Store) ChangeSequence(ctx context.Context, name alloc.SequenceName, from alloc.Version, config alloc.SequenceConfig) (alloc.Sequence, error) {
	h, err := s.sequenceHead(ctx, name)
	for range changeTries {
		if err != nil {
			return alloc.Sequence{}, err
		}
		if err := h.CheckTo(alloc.SequenceDeleted); err != nil {
			return alloc.Sequence{}, err
		}
		if h.Version == from+1 && h.Config == config {
			return h.Sequence, nil
		}
		if h.Version != from {
			return alloc.Sequence{}, alloc.VersionMismatch("sequence", string(name), h.Version)
		}
		if err := h.Config.CheckChange(config, h.Next); err != nil {
			return alloc.Sequence{}, err
		}
		set := configAttrs(config)
		set["ver"] = int64(from) + 1
		var done bool
		h, done, err = s.changeHead(ctx, name, set, All(
			Eq("ver", int64(from)), Ne("st", string(alloc.SequenceDeleted)), Le("last", int64(config.Limit)),
		))
		if done {
			return h.Sequence, nil
		}
	}
	return alloc.Sequence{}, sequenceBusy(name)
}

// SetSequenceState implements alloc.Sequences.
func (s *Store) SetSequenceState(ctx context.Context, name alloc.SequenceName, from alloc.Version, to alloc.SequenceState) (alloc.Sequence, error) {
	h, err := s.sequenceHead(ctx, name)
	for range changeTries {
		if err != nil {
			return alloc.Sequence{}, err
		}
		if err := h.CheckTo(to); err != nil {
			return alloc.Sequence{}, err
		}
		if from != 0 && h.Version != from {
			return alloc.Sequence{}, alloc.VersionMismatch("sequence", string(name), h.Version)
		}
		done := h.State == to
		if !done {
			h, done, err = s.changeHead(ctx, name, map[string]any{"st": string(to)}, All(Eq("st", string(h.State)), Eq("ver", int64(h.Version))))
			done = done || err == nil && h.State == to // by a repeat of this call, or by another that wanted the same
		}
		if !done {
			continue
		}
		if to == alloc.SequenceDeleted {
			if err := s.mark(ctx, name, markDeleted, Exists("pk")); err != nil {
				return alloc.Sequence{}, err
			}
		}
		return h.Sequence, nil
	}
	return alloc.Sequence{}, sequenceBusy(name)
}

// changeHead changes attributes of the head other than the counter. It returns the head as it is now, whether or not
// the condition held; done says that it did.
func (s *Store) changeHead(ctx context.Context, name alloc.SequenceName, set map[string]any, c Cond) (h *sequenceHead, done bool, err error) {
	it, err := s.table.Update(ctx, sequenceKey(name), Update{Set: set}, c)
	if failed, ok := errors.AsType[*ConditionFailed](err); ok {
		if failed.Old == nil {
			h, err = s.headless(ctx, name)
			return h, false, err
		}
		it = failed.Old
	} else if err != nil {
		return nil, false, err
	} else {
		done = true
	}
	if h, err = readHead(name, it); err != nil {
		return nil, false, err
	}
	s.sequences.keep(h)
	return h, done, nil
}

// ListSequences implements alloc.Sequences.
func (s *Store) ListSequences(ctx context.Context, after alloc.SequenceName, limit int) ([]alloc.Sequence, error) {
	var list []alloc.Sequence
	q := Query{PK: sequenceCatalogue}
	for {
		if after != "" {
			q.From = string(after) + " " // the first key behind it: no name has a character below '-'
		}
		q.Limit = min(limit-len(list), maxBatchGet)
		page, err := s.table.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		found, err := s.sequencesOf(ctx, page.Items)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
		if len(list) >= limit || !page.More || len(page.Items) == 0 {
			return list, nil
		}
		after = alloc.SequenceName(page.Items[len(page.Items)-1].Str("sk"))
	}
}

// sequencesOf reads the sequences of entries of the catalogue. One that is still being created is left out.
func (s *Store) sequencesOf(ctx context.Context, entries []Item) ([]alloc.Sequence, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	keys := make([]Key, len(entries))
	for i, entry := range entries {
		keys[i] = sequenceKey(alloc.SequenceName(entry.Str("sk")))
	}
	heads, err := s.table.GetMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	list := make([]alloc.Sequence, 0, len(entries))
	for i, entry := range entries {
		switch {
		case heads[i] != nil:
			q := ofEntry(entry)
			if h, err := readHead(q.Name, heads[i]); err == nil {
				q = h.Sequence
			}
			list = append(list, q)
		case entry.Str("mark") != markCreating:
			list = append(list, ofEntry(entry))
		}
	}
	return list, nil
}
