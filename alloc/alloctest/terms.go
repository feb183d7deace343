package alloctest

import (
	"fmt"
	"slices"
	"time"

	"idpool/alloc"
)

// term is the time for which one claim has one ID, as far as answers tell.
type term struct {
	token alloc.Token
	until time.Time // the end of a hold; zero if it was claimed for good

	confirming int // confirmations that have begun and may have been carried out
	ending     int // releases and retirements that have

	confirmed bool // answered so
	released  bool // answered as returning
	retired   bool // answered so
}

// over reports whether the term is answered to have come to an end after which somebody else may have the ID, or has
// come to it by the clock.
func (t *term) over(now time.Time) bool {
	return t.released || !t.retired && t.ending == 0 && t.lapsed(now) && t.confirming == 0
}

// lapsed reports whether a hold's time is past and nobody was told that it was confirmed.
func (t *term) lapsed(now time.Time) bool {
	return !t.until.IsZero() && !t.confirmed && now.After(t.until)
}

// surely reports whether nobody else can have the ID now: not before this term is settled, and never if it was retired.
func (t *term) surely(now time.Time) bool {
	if t.retired {
		return true
	}
	return !t.released && t.ending == 0 && (t.until.IsZero() || t.confirmed || now.Before(t.until))
}

// state is what the ID of a term that is surely on must be; "" where that cannot be known.
func (t *term) state() alloc.State {
	switch {
	case t.retired:
		return alloc.StateRetired
	case t.until.IsZero() || t.confirmed:
		return alloc.StateClaimed
	case t.confirming == 0:
		return alloc.StateHeld
	}
	return ""
}

// term finds the one of a token.
func (a *account) term(id alloc.ID, token alloc.Token) *term {
	i := slices.IndexFunc(a.terms[id], func(t *term) bool { return t.token == token })
	if i < 0 {
		return nil
	}
	return a.terms[id][i]
}

// occupants counts who surely has the ID. More than one is the fault that must never be.
func (a *account) occupants(id alloc.ID, now time.Time) (n int) {
	for _, t := range a.terms[id] {
		if t.surely(now) {
			n++
		}
	}
	return n
}

// occupant is the term that is surely on; nil for none.
func (a *account) occupant(id alloc.ID, now time.Time) *term {
	for _, t := range a.terms[id] {
		if t.surely(now) {
			return t
		}
	}
	return nil
}

// mayHaveEnded checks that an ID which an answer says to have ended could have.
func (a *account) mayHaveEnded(e alloc.EndedID, token alloc.Token, now time.Time) error {
	t := a.term(e.ID, token)
	returned := t.released || t.ending > 0 || !t.until.IsZero() && !t.confirmed && !now.Before(t.until)
	retired := t.retired || t.ending > 0
	if e.State == alloc.StateReturning && !returned || e.State == alloc.StateRetired && !retired {
		return fmt.Errorf("a repeat says that %q is %s, which nobody asked for", e.ID, e.State)
	}
	return nil
}

// summary is in which states the account's IDs surely are after a sweep, and of how many that is not known.
type summary struct {
	held, claimed, retired, unsure alloc.Count
}

func (a *account) sum(now time.Time) summary {
	s := summary{claimed: a.forgotten, retired: a.lost}
	for id := range a.terms {
		t := a.occupant(id, now)
		if t == nil {
			if slices.ContainsFunc(a.terms[id], func(t *term) bool { return !t.over(now) }) {
				s.unsure++
			}
			continue
		}
		switch t.state() {
		case alloc.StateHeld:
			s.held++
		case alloc.StateClaimed:
			s.claimed++
		case alloc.StateRetired:
			s.retired++
		default:
			s.unsure++
		}
	}
	for _, n := range a.unheard {
		s.unsure += n
	}
	return s
}

// settling books that a call begins. The function that it returns books what came of it, and says what is wrong with
// that.
func (b *book) settling(o alloc.SettleOrder) func(s alloc.Settled, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, before := b.of(o.Pool), map[alloc.ID]term{}
	for _, id := range o.IDs {
		if t := a.term(id, o.Token); t != nil {
			before[id] = *t
			t.begin(o.Event, 1)
		}
	}
	return func(s alloc.Settled, err error) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		now := b.now()
		if err == nil {
			return a.settled(o, s, before, now)
		}
		e := asError(err)
		switch {
		case e == nil:
			return fmt.Errorf("got the bare error %w, want an *alloc.Error", err)
		case e.Unknown:
			return nil
		}
		for _, id := range o.IDs {
			if t := a.term(id, o.Token); t != nil {
				t.begin(o.Event, -1)
			}
		}
		return a.refused(o, e, now)
	}
}

func (t *term) begin(e alloc.Event, n int) {
	if e == alloc.EventConfirm {
		t.confirming += n
		return
	}
	t.ending += n
}

// settled books a success.
func (a *account) settled(o alloc.SettleOrder, s alloc.Settled, before map[alloc.ID]term, now time.Time) error {
	allowed := map[alloc.Event][]alloc.State{
		alloc.EventConfirm: {alloc.StateClaimed}, alloc.EventRetire: {alloc.StateRetired},
		alloc.EventRelease: {alloc.StateReturning, alloc.StateRetired}, // the pool's policy decides
	}
	if s.Pool != o.Pool || !slices.Equal(s.IDs, o.IDs) || !slices.Contains(allowed[o.Event], s.State) {
		return fmt.Errorf("got the answer %+v to %s, want its pool, %v and the state after it", s, o.Event, o.IDs)
	}
	for _, id := range o.IDs {
		t := a.term(id, o.Token)
		if t == nil {
			return fmt.Errorf("%s of %q succeeded with a token that no claim of it was answered with", o.Event, id)
		}
		was := before[id]
		switch s.State {
		case alloc.StateClaimed:
			t.confirmed = true
		case alloc.StateReturning:
			t.released = true
		case alloc.StateRetired:
			t.retired = true
		}
		switch n := a.occupants(id, now); {
		case was.retired && s.State != alloc.StateRetired, was.released && s.State != alloc.StateReturning:
			return fmt.Errorf("%s of %q succeeded after it had been settled as %+v", o.Event, id, was)
		case t.released && t.retired:
			return fmt.Errorf("%q was both released and retired", id)
		case n > 1:
			return fmt.Errorf("%s of %q succeeded although somebody else has it: %d have it", o.Event, id, n)
		}
	}
	return nil
}

// refused checks a refusal: that it names IDs that were asked for, in their order, and none that surely can be settled.
func (a *account) refused(o alloc.SettleOrder, e *alloc.Error, now time.Time) error {
	switch e.Code {
	case alloc.CodeIDNotFound, alloc.CodeNotOwner, alloc.CodeIDRetired:
	default:
		return nil
	}
	if len(e.IDs) == 0 || e.IDs[0].Code != e.Code {
		return fmt.Errorf("got %s that names %v, want it to name each ID that cannot be settled, the first with the code", e.Code, e.IDs)
	}
	rest := o.IDs
	for _, fault := range e.IDs {
		i := slices.Index(rest, fault.ID)
		if i < 0 {
			return fmt.Errorf("got %s that names %v, want some of %v in their order", e.Code, e.IDs, o.IDs)
		}
		rest = rest[i+1:]
		t := a.term(fault.ID, o.Token)
		if t != nil && t.surely(now) && !t.retired && fault.Code != alloc.CodeIDNotFound { // it may be forgotten
			return fmt.Errorf("%s of %q was refused with %s although it is its owner's", o.Event, fault.ID, fault.Code)
		}
	}
	return nil
}
