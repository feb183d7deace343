package alloc

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Saying is what a source says beside the others, to whoever asks whether a sequence is to be rebuilt.
type Saying string

// What a source may say.
const (
	SaysOK         Saying = "ok"         // nothing that is known speaks against it
	SaysBehind     Saying = "behind"     // others know of higher numbers than it should have missed
	SaysMissing    Saying = "missing"    // it is not there, and should be
	SaysUnreadable Saying = "unreadable" // it could not be read now
	SaysNothing    Saying = "nothing"    // there is none, and there need not be
)

// SourceSeen is what one source said when it was read.
type SourceSeen struct {
	Source
	Read time.Time
	Says Saying
	Err  error // why it could not be read; with SaysUnreadable
}

// SequenceEvidence tells whether a sequence is to be rebuilt. It is a look, and no plan: nothing is frozen for it, so the sources were read one beside the
// other while numbers may have been leased, and of the ledger there is the highest lease alone.
type SequenceEvidence struct {
	Sequence   SequenceName
	At         time.Time
	Known      bool          // State, Epoch and Configured could be read
	State      SequenceState // one without a counter is stopped
	Epoch      Epoch         // of the counter; 0 where it is lost
	Configured bool          // its configuration is known, from the counter or from its copy
	Fault      string        // what is wrong with the counter, in words; "" for nothing that is known
	Sources    []SourceSeen
}

// lateAfter is how old a lease is by which the schedule should have raised the mark and kept a sample.
const lateAfter = 5 * time.Minute

// sourcesLook is what was read for a SequenceEvidence, each part with what went wrong.
type sourcesLook struct {
	at         time.Time
	evidence   Evidence
	leases     []LeaseRecord
	memory     memory
	rebuild    Rebuild
	evidenceIs error
	leasesIs   error
	memoryIs   error
	rebuildIs  error
}

// SequenceEvidence asks every source where the sequence stands, and changes nothing. A source that cannot be read says so, and stops no other. Its cost is
// bounded, whatever the ledger's length. Needs ActionRead. CodeSequenceNotFound, CodeSequenceDeleted.
func (s *Service) SequenceEvidence(ctx context.Context, name SequenceName) (SequenceEvidence, error) {
	if _, err := s.admit(ctx, ActionRead, string(name)); err != nil {
		return SequenceEvidence{}, err
	}
	l := s.lookAtSources(ctx, name)
	if Is(l.evidenceIs, CodeSequenceNotFound) || Is(l.evidenceIs, CodeSequenceDeleted) {
		return SequenceEvidence{}, l.evidenceIs
	}
	e := l.evidence
	seen := SequenceEvidence{Sequence: name, At: l.at, Known: l.evidenceIs == nil, Configured: e.Configured, Sources: l.sources()}
	switch {
	case e.Counter:
		seen.State, seen.Epoch = e.Sequence.State, e.Sequence.Epoch
	case seen.Known:
		seen.State = SequenceStopped
	}
	seen.Fault = l.fault(seen.Sources)
	return seen, nil
}

// lookAtSources reads the sources, all at once.
func (s *Service) lookAtSources(ctx context.Context, name SequenceName) sourcesLook {
	l := sourcesLook{at: s.second()}
	read := []func(){
		func() { l.evidence, l.evidenceIs = s.store.Evidence(ctx, name) },
		func() { l.leases, l.leasesIs = s.store.Leases(ctx, name, MaxNumber+1, 1) },
		func() { l.memory, l.memoryIs = rebuilding{Service: s}.remember(ctx, Rebuild{Sequence: name}) },
		func() { l.rebuild, l.rebuildIs = s.store.Rebuild(ctx, name) },
	}
	var readers sync.WaitGroup
	for _, one := range read {
		readers.Go(one)
	}
	readers.Wait()
	return l
}

// sources is what was read, in the order of Rebuild.sources, with what each says beside the others.
func (l sourcesLook) sources() []SourceSeen {
	e, r := l.evidence, Rebuild{Config: l.evidence.Sequence.Config, Base: l.rebuild.base()}
	counter, mark, samples := r.byCounter(e), byMark(e), r.bySamples(l.memory, e)
	if l.evidenceIs != nil { // where the samples count from is not known then
		samples = Source{Kind: SourceSamples}
	}
	reported := Source{Kind: SourceReported, Known: l.rebuild.HasReported, Last: l.rebuild.Reported, At: l.rebuild.Started}
	if reported.Known {
		reported.Note = "for the rebuild before"
	} else {
		reported.At = time.Time{}
	}
	all := []SourceSeen{
		l.saw(counter, l.evidenceIs), l.saw(l.byHighestLease(), l.leasesIs), l.saw(reported, l.rebuildIs),
		l.saw(mark, l.evidenceIs), l.saw(samples, firstError(l.evidenceIs, l.memoryIs)), l.saw(r.byRebuild(), l.rebuildIs),
	}
	for i := range all {
		if all[i].Err == nil {
			all[i].Says, all[i].Note = l.says(all[i].Source, all)
		}
	}
	return all
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (l sourcesLook) saw(s Source, err error) SourceSeen {
	if err != nil {
		return SourceSeen{Source: Source{Kind: s.Kind, Note: asError(err).Message}, Read: l.at, Says: SaysUnreadable, Err: err}
	}
	return SourceSeen{Source: s, Read: l.at, Says: SaysOK}
}

func (l sourcesLook) byHighestLease() Source {
	s := Source{Kind: SourceLedger}
	if len(l.leases) > 0 {
		s.Known, s.Last, s.At = true, l.leases[0].End, l.leases[0].At
		s.Note = fmt.Sprintf("the highest proven lease, by %s", l.leases[0].By)
	}
	return s
}

// says is what the source says beside the others, with its note. A mark, a sample and a report are behind the counter as a rule, and say nothing against it; the
// counter is never behind any of them.
func (l sourcesLook) says(s Source, all []SourceSeen) (Saying, string) {
	switch s.Kind {
	case SourceCounter:
		return l.counterSays(s, all)
	case SourceLedger:
		return l.ledgerSays(s, all)
	case SourceMark, SourceSamples:
		late := len(l.leases) > 0 && l.at.Sub(l.leases[0].At) > lateAfter
		if !s.Known && late {
			return SaysMissing, "the schedule keeps one within a minute, and the highest lease is older than that"
		}
		if s.Known && s.Kind == SourceMark && late && s.Last < l.leases[0].Start {
			return SaysBehind, "it was not raised since the highest lease"
		}
	}
	if !s.Known {
		return SaysNothing, s.Note
	}
	return SaysOK, s.Note
}

func (l sourcesLook) counterSays(s Source, all []SourceSeen) (Saying, string) {
	if !l.evidence.Counter {
		return SaysMissing, s.Note
	}
	if l.evidence.Epoch > l.evidence.Sequence.Epoch {
		return SaysBehind, inWords("it is of the epoch %d, and there was one of the epoch %d", l.evidence.Sequence.Epoch, l.evidence.Epoch)
	}
	if other, ok := highestBut(SourceCounter, all); ok && (!s.Known || other > s.Last) {
		return SaysBehind, "others know of higher numbers that are used"
	}
	return SaysOK, s.Note
}

// ledgerSays judges the ledger by the mark: above what the rebuild before has left out, nothing raises that but leases.
func (l sourcesLook) ledgerSays(s Source, all []SourceSeen) (Saying, string) {
	mark, base := sourceIn(SourceMark, all), sourceIn(SourceRebuild, all)
	used := mark.Known && mark.Last >= l.evidence.Sequence.Config.Start && !(base.Known && mark.Last <= base.Last)
	switch {
	case !s.Known && used:
		return SaysMissing, "there is no lease, and the high-water mark says that numbers were leased"
	case !s.Known:
		return SaysNothing, "nothing was leased yet"
	case used && s.Last < mark.Last:
		return SaysBehind, "the high-water mark is above it: a lease was cut off, or entries are lost"
	}
	return SaysOK, s.Note
}

func sourceIn(kind SourceKind, all []SourceSeen) Source {
	for _, s := range all {
		if s.Kind == kind {
			return s.Source
		}
	}
	return Source{}
}

// highestBut is the highest number that any other source knows to be used.
func highestBut(kind SourceKind, all []SourceSeen) (Number, bool) {
	var others []Source
	for _, s := range all {
		if s.Kind != kind {
			others = append(others, s.Source)
		}
	}
	return highest(others)
}

// fault says what is wrong with the counter, where it is, or where the sequence has stopped.
func (l sourcesLook) fault(all []SourceSeen) string {
	e := l.evidence
	if l.evidenceIs != nil {
		return ""
	}
	if !e.Counter || e.Sequence.State == SequenceStopped {
		return e.fault()
	}
	for _, s := range all {
		if s.Kind != SourceCounter && s.Known && s.Last >= e.Sequence.Next {
			return inWords("its counter would give %d next, and a source says that %d is used", e.Sequence.Next, s.Last)
		}
	}
	if e.Epoch > e.Sequence.Epoch {
		return e.fault()
	}
	return ""
}
