package alloc

import "context"

// CheckCarry refuses to carry leases into a sequence that somebody may lease from: what is carried forward may be leased in the same moment.
// Every Store calls it.
func (s Sequence) CheckCarry() error {
	switch s.State {
	case SequenceDeleted:
		return s.deleted()
	case SequenceActive:
		return Errorf(CodeRebuildStep, "the sequence %q is not paused, so what is carried forward may be leased in the same moment; pause it, then restore it: "+
			"from the restore of the backup on until it is rebuilt", s.Name)
	case SequenceResuming:
		return Errorf(CodeRebuildStep, "the sequence %q serves a share of its callers, as it was rebuilt; bring that to its end, pause the sequence, and then restore it", s.Name)
	}
	return nil
}

// readable reports whether the entry says whose it is, and how far it goes.
func (e LeaseRecord) readable() bool { return e.Token != "" && e.Start <= e.End }

// overlaps reports whether there are numbers that both have.
func (e LeaseRecord) overlaps(f LeaseRecord) bool { return e.Start <= f.End && f.Start <= e.End }

// Carries is the one rule for what is to become of a lease that is carried into a ledger of which all entries are given that begin within it or
// overlap it, in any order: every Store calls it, and, where it is due, writes what it returns in the place of whatever begins there.
//
// Nothing that can be read is taken out of the ledger. Where somebody else's has the same start, what the carried one has behind its end is written: so
// a rebuild begins above both. CarryClash where the entry of somebody else overlaps it, also at a repeat, so that who comes after a try that was cut off
// tells of it; else CarryDone where something is due, and CarryKnown where nothing is.
//
// One that cannot be read where it comes from is written as that, where nothing begins there: it tells that something does.
func (e LeaseRecord) Carries(there []LeaseRecord) (write LeaseRecord, due bool, outcome CarryOutcome) {
	at := make(map[Number]LeaseRecord, len(there)) // by their start
	clash := false
	for _, t := range there {
		at[t.Start] = t
		clash = clash || t.readable() && e.readable() && t.Token != e.Token && t.overlaps(e)
	}
	if e.readable() {
		write, due = e.behind(at)
	} else {
		_, met := at[e.Start]
		write, due = e, !met
	}
	switch {
	case clash:
		return write, due, CarryClash
	case due:
		return write, due, CarryDone
	}
	return write, due, CarryKnown
}

// behind is what the lease has behind the entries from its start on that follow one upon the other; some says whether there is anything.
func (e LeaseRecord) behind(at map[Number]LeaseRecord) (rest LeaseRecord, some bool) {
	for {
		t, met := at[e.Start]
		switch {
		case !met || !t.readable() || t.Token == e.Token && t.End < e.End:
			return e, true
		case t.End >= e.End:
			return e, false
		}
		e.Start = t.End + 1
	}
}

// readyToCarry refuses a restore of a sequence that is not there, or from which somebody may lease meanwhile.
func (s *Service) readyToCarry(ctx context.Context, j Job) error {
	e, err := s.store.Evidence(ctx, j.Spec.Sequence)
	if err != nil || !e.Counter || j.Spec.Source == RestoreBurn { // which changes nothing
		return err
	}
	return e.Sequence.CheckCarry()
}

// carryLeases carries leases, none that begins where another does, and tells of those that are not as they were said to be.
func (s *Service) carryLeases(ctx context.Context, j Job, leases []LeaseRecord, c *forwarded) error {
	outcomes, err := s.store.CarryLeases(ctx, j.Spec.Sequence, leases)
	if err != nil {
		return err
	}
	if len(outcomes) != len(leases) {
		return Errorf(CodeInternal, "the store gave %d outcomes for %d leases", len(outcomes), len(leases))
	}
	for i, o := range outcomes {
		c.lease(j.Spec.Sequence, leases[i], o)
	}
	return nil
}

// lease counts what became of a lease, and tells of one that is not as it was said to be.
func (c *forwarded) lease(name SequenceName, r LeaseRecord, o CarryOutcome) {
	c.done++
	line := CarryLine{Sequence: name, Start: r.Start, End: r.End, Outcome: o}
	switch {
	case r.Unreadable():
		c.tally.Invalid++
		line.Outcome = CarryUnreadable
		line.Detail = "the entry of the old ledger that begins here cannot be read, so where it ends is not known; report the highest number that is used when you rebuild the sequence"
	case o == CarryDone:
		c.tally.Carried++
		return
	case o == CarryKnown:
		c.tally.Duplicate++
		return
	case o == CarryClash:
		c.tally.Conflict++
		line.Detail = "some of its numbers, or all, were leased to somebody else too: they are in two hands"
	default:
		c.tally.Invalid++
		line.Detail = "what became of it is not known"
	}
	c.lines = append(c.lines, line)
}
