package dynamo

import (
	"context"
	"errors"
	"time"

	"idpool/alloc"
)

var _ alloc.Sequences = (*Store)(nil)

// changeTries bounds how often a change of a head is tried against changes by others.
const changeTries = 5

func sequenceBusy(name alloc.SequenceName) error {
	return alloc.Errorf(alloc.CodeBusy, "the sequence %q is being changed by others at this moment; try again", name).After(time.Second)
}

// CreateSequence implements alloc.Sequences.
func (s *Store) CreateSequence(ctx context.Context, name alloc.SequenceName, config alloc.SequenceConfig) (alloc.Sequence, bool, error) {
	now := s.now()
	config, born := config.Birth()
	entry := item(sequenceEntry(name), Item{"mark": markCreating, "born": now.UnixNano()})
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
	return s.createHead(ctx, name, config, born, now)
}

// createHead makes the head, or finds that somebody else has: of several creators at once the first head decides.
func (s *Store) createHead(ctx context.Context, name alloc.SequenceName, config alloc.SequenceConfig, born alloc.SequenceState, now time.Time) (alloc.Sequence, bool, error) {
	used, err := s.hasUsed(ctx, name)
	if err != nil {
		return alloc.Sequence{}, false, err
	}
	var h *sequenceHead
	var created bool
	if !used {
		h, created, err = s.putHead(ctx, name, newHead(name, config, born, now))
	} else if h, err = s.sequenceHead(ctx, name); alloc.Is(err, alloc.CodeSequenceNotFound) {
		// The creation was cut off after its head, and that was lost since. A new counter would begin at numbers that
		// have left the house.
		err = alloc.Stopped(name)
	}
	if err != nil {
		return alloc.Sequence{}, false, err
	}
	set := copyAttrs(h)
	set["mark"] = markLive
	if err := s.changeEntry(ctx, name, set, Eq("mark", markCreating)); err != nil {
		return alloc.Sequence{}, false, err
	}
	if created {
		return h.Sequence, true, nil
	}
	return asCreated(h, config)
}

// hasUsed reports whether anything shows that the sequence has leased numbers: an entry of the ledger, or a mark.
func (s *Store) hasUsed(ctx context.Context, name alloc.SequenceName) (bool, error) {
	leased, err := s.table.Query(ctx, Query{PK: ledgerPK(name), Limit: 1})
	if err != nil || len(leased.Items) > 0 {
		return err == nil, err
	}
	mark, err := s.table.Get(ctx, markKey(name))
	return mark != nil, err
}

// putHead returns the head that is there in the end; created says that it is this call's.
func (s *Store) putHead(ctx context.Context, name alloc.SequenceName, it Item) (h *sequenceHead, created bool, err error) {
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
	return h, created, nil
}

// asCreated answers a creation that met the sequence.
func asCreated(h *sequenceHead, config alloc.SequenceConfig) (alloc.Sequence, bool, error) {
	if err := h.CheckThere(); err != nil {
		return alloc.Sequence{}, false, err
	}
	if h.Config != config {
		return alloc.Sequence{}, false, alloc.Errorf(alloc.CodeSequenceExists,
			"the sequence %q exists with another configuration; read it, then change it", h.Name)
	}
	return h.Sequence, false, nil
}

// Sequence implements alloc.Sequences.
func (s *Store) Sequence(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	h, err := s.sequenceHead(ctx, name)
	if err != nil {
		return alloc.Sequence{}, err
	}
	return h.Sequence, nil
}

// sequenceHead reads the head with the mark, strongly, and remembers them.
func (s *Store) sequenceHead(ctx context.Context, name alloc.SequenceName) (*sequenceHead, error) {
	asOf := s.now()
	read, err := s.table.GetMany(ctx, []Key{sequenceKey(name), markKey(name)})
	if err != nil {
		return nil, err
	}
	if read[0] == nil {
		return s.headless(ctx, name)
	}
	h, err := readHead(name, read[0])
	if err != nil {
		s.sequences.drop(name)
		return nil, err
	}
	h.mark, h.markAt = highWaterOf(read[1]).last, asOf
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
	return s.withoutHead(ctx, name, entry)
}

// withoutHead is headless with the catalogue's entry.
func (s *Store) withoutHead(ctx context.Context, name alloc.SequenceName, entry Item) (*sequenceHead, error) {
	switch {
	case entry.Str("mark") == markDeleted:
		return &sequenceHead{Sequence: ofEntry(name, entry)}, nil
	case entry == nil || entry.Str("mark") == markCreating:
		used, err := s.hasUsed(ctx, name)
		if err != nil {
			return nil, err
		}
		if !used {
			return nil, notFound(alloc.CodeSequenceNotFound, "sequence", string(name))
		}
	}
	return nil, alloc.Stopped(name)
}

// ChangeSequence implements alloc.Sequences.
func (s *Store) ChangeSequence(ctx context.Context, name alloc.SequenceName, from alloc.Version, config alloc.SequenceConfig) (alloc.Sequence, error) {
	h, err := s.sequenceHead(ctx, name)
	for range changeTries {
		if err != nil {
			return alloc.Sequence{}, err
		}
		if err := h.CheckThere(); err != nil {
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
			s.copied(ctx, h)
			return h.Sequence, nil
		}
	}
	return alloc.Sequence{}, sequenceBusy(name)
}

// copied keeps the copy of a head that was changed. Where that fails, Watch does it.
func (s *Store) copied(ctx context.Context, h *sequenceHead) {
	set := copyAttrs(h)
	_ = s.changeEntry(ctx, h.Name, set, All(Exists("pk"), Lt("ver", int64(h.Version)), Le("ep", int64(h.Epoch)))) //nolint:errcheck // see above
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
		set := map[string]any{"st": string(to)} // of which the copy is to know where the head is lost
		if to == alloc.SequenceDeleted {
			set = map[string]any{"mark": markDeleted}
		}
		return h.Sequence, s.changeEntry(ctx, name, set, All(Exists("pk"), Ne("mark", markDeleted)))
	}
	return alloc.Sequence{}, sequenceBusy(name)
}

// changeHead changes attributes of the head other than the counter. It returns the head as it is now, whether or not
// the condition held; done says that it did. What is remembered of the head is forgotten.
func (s *Store) changeHead(ctx context.Context, name alloc.SequenceName, set map[string]any, c Cond) (h *sequenceHead, done bool, err error) {
	s.sequences.drop(name)
	it, err := s.table.Update(ctx, sequenceKey(name), Update{Set: set}, c)
	old, met := refusedBy(err)
	switch {
	case met && old == nil:
		h, err = s.headless(ctx, name)
		return h, false, err
	case met:
		it = old
	case err != nil:
		return nil, false, err
	}
	h, err = readHead(name, it)
	return h, !met && err == nil, err
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
			q := ofEntry(alloc.SequenceName(entry.Str("sk")), entry)
			if h, err := readHead(q.Name, heads[i]); err == nil {
				q = h.Sequence
			}
			list = append(list, q)
		case entry.Str("mark") != markCreating:
			list = append(list, ofEntry(alloc.SequenceName(entry.Str("sk")), entry))
		}
	}
	return list, nil
}
