package alloc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"idpool/alloc/generator"
)

// The counter of a period that began after the point is in no list of the restored table. The next refill would make it, from its start, and with it
// IDs that were handed out. So a blind restore makes it before that, and pauses it: whoever knows what was used of it, rebuilds and resumes it.

// maxPeriods is how many periods there may be between the point and now. clockSlack is how wrong clocks may be by which the periods were told.
const (
	maxPeriods = 100
	clockSlack = 10 * time.Minute
)

// periodsSince names the counters of the periods of the generator from the point until now; none where its format has no period.
func periodsSince(g generator.Config, point, now time.Time) (names []SequenceName, err error) {
	if g.Kind != generator.Sequence || g.Period(now) == "" {
		return nil, nil
	}
	until := now.Add(clockSlack)
	for at := point.Add(-clockSlack); ; at = at.Add(12 * time.Hour) { // no period is shorter
		if at.After(until) {
			at = until
		}
		if name := periodOf(g, at); !slices.Contains(names, name) {
			names = append(names, name)
		}
		switch {
		case len(names) > maxPeriods:
			return nil, Errorf(CodeInvalidRequest, "between the point and now there are more than %d periods of the sequence %q, by which the pool's generator counts; give the pool a generator of another sequence, then restore it", maxPeriods, g.Sequence)
		case at.Equal(until):
			return names, nil
		}
	}
}

// closePeriods makes the counters that a refill would make for periods since the point, and pauses them.
func (s *Service) closePeriods(ctx context.Context, j Job, p Pool) (c forwarded, err error) {
	g := p.Config.Generator
	names, err := periodsSince(g, j.Spec.Since, s.now())
	if err != nil || len(names) == 0 {
		return forwarded{}, err
	}
	base, err := s.pausedBase(ctx, SequenceName(g.Sequence))
	if err != nil || base.Name == "" {
		return forwarded{}, err
	}
	var closed []string
	for _, name := range names {
		did, err := s.closePeriod(ctx, j, base, name)
		if err != nil {
			return forwarded{}, err
		}
		if did {
			closed = append(closed, string(name))
		}
	}
	if len(closed) > 0 {
		c.notes = []string{closedNote(base.Name, closed)}
	}
	return c, nil
}

// namedClosed is how many counters the note of a job names. The trail has a record of each.
const namedClosed = 5

// closedNote says which counters were closed: of many how many there are, the first of them, and where the others are named.
func closedNote(base SequenceName, closed []string) string {
	some := strings.Join(closed[:min(namedClosed, len(closed))], ", ")
	if more := len(closed) - namedClosed; more > 0 {
		some += fmt.Sprintf(" and %d more; the trail has a record of each, and the list of sequences has them as %s.…, paused", more, base)
	}
	return fmt.Sprintf("%s of a period made and paused, as they may have been used after the point: %s", several(len(closed), "counter", "counters"), some)
}

// pausedBase is the sequence whose periods are counted; the zero Sequence where nothing can count them. Nobody may make their counters meanwhile.
func (s *Service) pausedBase(ctx context.Context, name SequenceName) (Sequence, error) {
	q, err := s.store.Sequence(ctx, name)
	switch {
	case Is(err, CodeSequenceNotFound), err == nil && q.State == SequenceDeleted:
		return Sequence{}, nil
	case Is(err, CodeSequenceStopped):
		return Sequence{}, Errorf(CodeRebuildStep, "the sequence %q, by whose periods the pool's generator counts, has lost its counter; rebuild it and pause it first, then restore the pool", name)
	case err == nil && (q.State == SequenceActive || q.State == SequenceResuming):
		return Sequence{}, Errorf(CodeRebuildStep, "the sequence %q, by whose periods the pool's generator counts, is not paused, so the counter of a period that was used after the point may be made anew in the same moment; pause it, then restore the pool", name)
	}
	return q, err
}

// closePeriod makes the counter of a period that the backup has not, paused from its first moment on: whatever cuts the restore off, nobody leases of it. One that was
// made since the point, and was never rebuilt, is paused too.
func (s *Service) closePeriod(ctx context.Context, j Job, base Sequence, name SequenceName) (did bool, err error) {
	q, err := s.store.Sequence(ctx, name)
	if Is(err, CodeSequenceNotFound) {
		config := base.Config
		config.PeriodOf, config.BornPaused = base.Name, true
		if q, did, err = s.store.CreateSequence(ctx, name, config); err == nil {
			err = s.noteClosed(ctx, name, "create", fmt.Sprintf("%s; paused; by the restore %s", config.words(), j.ID))
		}
	}
	if Is(err, CodeSequenceExists) || Is(err, CodeSequenceStopped) || Is(err, CodeSequenceDeleted) { // there is one, or was: nobody makes it anew
		return false, nil
	}
	if err != nil || q.State != SequenceActive || q.Epoch > 1 || !q.Created.After(j.Spec.Since) {
		return did, err
	}
	if _, err = s.store.SetSequenceState(ctx, name, 0, SequencePaused); err != nil {
		return false, err
	}
	s.segments.changed(name)
	return true, s.noteClosed(ctx, name, "pause", "by the restore "+string(j.ID))
}

func (s *Service) noteClosed(ctx context.Context, name SequenceName, verb, detail string) error {
	caller, err := s.someone(ctx)
	if err != nil {
		return err
	}
	return s.record(ctx, caller, aSequence, string(name), verb, detail, nil)
}

// unsure says of the paused counter of a period from which nothing was taken since it was made, that it may be one of before a restore.
func (s Sequence) unsure() *Error {
	return Errorf(CodeSequencePaused, "the sequence %q is paused, and no number was taken since it was made: after a restore from a backup it may have been used after the point. "+
		"Restore it by the old table or a log where there is one, rebuild it with the highest number that is used as reported, or since the point, then resume it", s.Name)
}
