package dynamo

import (
	"context"
	"maps"

	"idpool/alloc"
)

var _ alloc.Rebuilds = (*Store)(nil)

// wreck is what there is of a sequence, as it was read: head, mark and entry of the catalogue may each be lost or damaged.
type wreck struct {
	name              alloc.SequenceName
	head, mark, entry Item
	whole             *sequenceHead // nil where the head is lost or damaged
}

// wreckOf reads what there is. CodeSequenceNotFound, CodeSequenceDeleted.
func (s *Store) wreckOf(ctx context.Context, name alloc.SequenceName) (*wreck, error) {
	read, err := s.table.GetMany(ctx, []Key{sequenceKey(name), markKey(name), sequenceEntry(name)})
	if err != nil {
		return nil, err
	}
	w := &wreck{name: name, head: read[0], mark: read[1], entry: read[2]}
	h, err := s.headOf(ctx, name, w.head, w.entry)
	if alloc.Is(err, alloc.CodeSequenceStopped) {
		return w, nil
	}
	if err != nil {
		return nil, err
	}
	if err := h.CheckThere(); err != nil {
		return nil, err
	}
	w.whole = h
	return w, nil
}

// config is the configuration that is known last: of the head, also where its counter is damaged, or of the copy.
func (w *wreck) config() (c alloc.SequenceConfig, v alloc.Version, ok bool) {
	c, v, ok = configOf(w.entry)
	if own, version, whole := configOf(w.head); whole && version >= v {
		return own, version, true
	}
	return c, v, ok
}

// stopped is how a sequence without a counter is told.
func (w *wreck) stopped() alloc.Sequence {
	q := ofEntry(w.name, w.entry)
	q.Config, q.Version, _ = w.config()
	q.State = alloc.SequenceStopped
	return q
}

// Evidence implements alloc.Rebuilds.
func (s *Store) Evidence(ctx context.Context, name alloc.SequenceName) (alloc.Evidence, error) {
	w, err := s.wreckOf(ctx, name)
	if err != nil {
		return alloc.Evidence{}, err
	}
	e := alloc.Evidence{Counter: w.whole != nil, Epoch: alloc.Epoch(w.entry.Int("ep"))}
	if w.whole != nil {
		e.Sequence, e.Configured = w.whole.Sequence, true
	} else {
		e.Sequence = w.stopped()
		_, _, e.Configured = w.config()
		if st := w.entry.Str("st"); e.Configured && isSequenceState(st) {
			e.Sequence.State = alloc.SequenceState(st)
		}
	}
	if mark := highWaterOf(w.mark); mark.last > noMark {
		e.Marked, e.Mark, e.MarkedAt, e.Epoch = true, alloc.Number(mark.last), mark.at, max(e.Epoch, mark.epoch)
	}
	return e, nil
}

func rebuildStep(name alloc.SequenceName) error {
	return alloc.Errorf(alloc.CodeRebuildStep, "the rebuild of the sequence %q is not at the step that this needs; look at it again", name)
}

// isOn reports whether a rebuild, as it says or any for "", has frozen the sequence and not let it go.
func (h *sequenceHead) isOn(rebuild alloc.JobID) bool {
	return (h.State == alloc.SequenceFrozen || h.State == alloc.SequenceResuming) && (rebuild == "" || h.froze == rebuild)
}

// changeStep is a step of a rebuild on a whole head: it tests that no other step was made since the head was read, and that state and
// epoch are the same. So no step lands after a later one.
func (s *Store) changeStep(ctx context.Context, h *sequenceHead, u Update, more ...Cond) (now *sequenceHead, done bool, err error) {
	s.sequences.drop(h.Name)
	u.Set["rt"] = string(alloc.NewToken())
	last := Absent("rt")
	if h.step != "" {
		last = Eq("rt", h.step)
	}
	more = append(more, last, Eq("st", string(h.State)), Eq("ep", int64(h.Epoch)))
	it, err := s.table.Update(ctx, sequenceKey(h.Name), u, All(more...))
	if old, met := refusedBy(err); met {
		return nil, old != nil && old.Str("rt") == u.Set["rt"], nil
	}
	if err != nil {
		return nil, false, err
	}
	now, err = readHead(h.Name, it)
	if alloc.Is(err, alloc.CodeSequenceStopped) {
		return nil, false, nil // damaged in this moment: it is looked at again
	}
	return now, true, err
}

// step carries out a step of a rebuild: it looks at the sequence, and makes the change that the function says until that was not overtaken.
// The function returns what to answer, or else the change with what it relies on beside the step before.
func (s *Store) step(ctx context.Context, name alloc.SequenceName, f func(w *wreck) (*alloc.Sequence, Update, []Cond, error)) (alloc.Sequence, error) {
	for range changeTries {
		w, err := s.wreckOf(ctx, name)
		if err != nil {
			return alloc.Sequence{}, err
		}
		answer, u, more, err := f(w)
		if err != nil {
			return alloc.Sequence{}, err
		}
		if answer != nil {
			return *answer, nil
		}
		now, done, err := s.changeStep(ctx, w.whole, u, more...)
		if err != nil {
			return alloc.Sequence{}, err
		}
		if done && now != nil {
			return now.Sequence, nil
		}
	}
	return alloc.Sequence{}, sequenceBusy(name)
}

// Freeze implements alloc.Rebuilds. What another rebuild has frozen is taken over by the one that is on record now, as that has taken the place of
// the other.
func (s *Store) Freeze(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID) (alloc.Sequence, error) {
	var was alloc.Sequence
	_, err := s.step(ctx, name, func(w *wreck) (*alloc.Sequence, Update, []Cond, error) {
		h := w.whole
		if h == nil {
			was = w.stopped()
			return &was, Update{}, nil, nil
		}
		was = h.before()
		switch {
		case h.State == alloc.SequenceFrozen && h.froze == rebuild:
			return &was, Update{}, nil, nil
		case h.isOn(rebuild), h.ended == rebuild: // a call that comes late: it has let the sequence go, or a part of the callers
			return nil, Update{}, nil, rebuildStep(name)
		case h.State == alloc.SequenceFrozen:
			if on, err := s.Rebuild(ctx, name); err != nil || on.ID != rebuild || on.Step.Ended() {
				return nil, Update{}, nil, firstOf([]error{err, rebuildStep(name)})
			}
		}
		return nil, Update{
			Set:    map[string]any{"st": string(alloc.SequenceFrozen), "rb": string(rebuild), "was": string(was.State)},
			Remove: []string{"shr", "met"},
		}, nil, nil
	})
	return was, err
}

// before is the sequence as it was before it was frozen.
func (h *sequenceHead) before() alloc.Sequence {
	q := h.Sequence
	if h.State != alloc.SequenceFrozen {
		return q
	}
	q.Rebuild, q.State = "", h.was
	if h.was == "" { // the counter was restarted: it was no good
		q.State = alloc.SequenceStopped
	}
	return q
}

// Thaw implements alloc.Rebuilds. Where a lease that was under way has shown meanwhile that the counter is no good, and it was not
// restarted, the sequence is stopped, unless it is to be paused.
func (s *Store) Thaw(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID, to alloc.SequenceState, share int) (alloc.Sequence, error) {
	return s.step(ctx, name, func(w *wreck) (*alloc.Sequence, Update, []Cond, error) {
		h := w.whole
		switch {
		case h == nil:
			q := w.stopped()
			return &q, Update{}, nil, nil
		case h.ended == rebuild && !h.isOn(""), h.isOn(rebuild) && to == alloc.SequenceResuming && share <= h.Share:
			return &h.Sequence, Update{}, nil, nil // a repeat
		case rebuild == "" || !h.isOn(rebuild):
			return nil, Update{}, nil, rebuildStep(name)
		case h.met && to != alloc.SequencePaused:
			to = alloc.SequenceStopped
		}
		u := Update{Set: map[string]any{"st": string(to), "re": string(rebuild)}, Remove: []string{"was", "met", "shr"}}
		if to == alloc.SequenceResuming {
			u = Update{Set: map[string]any{"st": string(to), "shr": int64(share)}, Remove: []string{"was", "met"}}
		}
		return nil, u, []Cond{Eq("rb", string(rebuild)), asRead(w.head, "was", "met")}, nil
	})
}

// Restart implements alloc.Rebuilds.
func (s *Store) Restart(ctx context.Context, o alloc.RestartOrder) (alloc.Sequence, error) {
	if o.To <= o.From || o.Next > alloc.MaxNumber+1 {
		return alloc.Sequence{}, rebuildStep(o.Sequence)
	}
	for range changeTries {
		w, err := s.wreckOf(ctx, o.Sequence)
		if err != nil {
			return alloc.Sequence{}, err
		}
		h, done := w.whole, false
		switch {
		case h == nil && o.From == 0:
			h, done, err = s.remake(ctx, w, o)
		case h != nil && h.froze == o.Rebuild && h.Epoch == o.To:
			done = true // a repeat
		case h == nil, h.State != alloc.SequenceFrozen, h.froze != o.Rebuild, h.Epoch != o.From, h.Next > o.Next:
			return alloc.Sequence{}, rebuildStep(o.Sequence)
		default:
			set := map[string]any{"last": before(o.Next), "base": before(o.Next), "ep": int64(o.To), "t": string(alloc.NewToken())}
			h, done, err = s.changeStep(ctx, h, Update{Set: set, Remove: []string{"was", "met"}}, Eq("rb", string(o.Rebuild)), Le("last", before(o.Next)))
		}
		if err != nil {
			return alloc.Sequence{}, err
		}
		if done && h != nil {
			return h.Sequence, s.keepSequenceCopy(ctx, h, w.entry)
		}
	}
	return alloc.Sequence{}, sequenceBusy(o.Sequence)
}

// before is the highest number used where next is the lowest that is not; −1 for none.
func before(next alloc.Number) int64 { return int64(next) - 1 }

// remake makes a head that is lost, or replaces a damaged one if that is still what was read.
func (s *Store) remake(ctx context.Context, w *wreck, o alloc.RestartOrder) (*sequenceHead, bool, error) {
	version, born := int64(1), s.now().UnixNano()
	if _, v, ok := w.config(); ok {
		version = int64(v)
	}
	if at := w.entry.Int("born"); at != 0 {
		born = at
	}
	step := string(alloc.NewToken())
	it := item(sequenceKey(o.Sequence), Item{
		"last": before(o.Next), "base": before(o.Next), "ep": int64(o.To), "st": string(alloc.SequenceFrozen), "ver": version, "born": born,
		"t": string(alloc.NewToken()), "rb": string(o.Rebuild), "rt": step,
	})
	maps.Copy(it, wholeConfigAttrs(o.Config.WithDefaults()))
	cond := Absent("pk")
	if w.head != nil {
		cond = All(Exists("pk"), asRead(w.head, "last", "ep", "st", "t", "rb", "rt"))
	}
	err := s.table.Put(ctx, it, cond)
	if old, met := refusedBy(err); met && old.Str("rt") != step {
		return nil, false, nil // somebody else has changed it: it is looked at again
	} else if err != nil && !met {
		return nil, false, err
	}
	s.sequences.drop(o.Sequence)
	h, err := readHead(o.Sequence, it)
	return h, err == nil, err
}
