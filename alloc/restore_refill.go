package alloc

import (
	"context"
	"fmt"
)

// A backup may have IDs on the record of a pool's refill that were not in the pool yet: a batch on its way, or what was left of the last one as the pool was
// full. They were seeded after the point, and may have been taken. A blind restore retires them in the pool, and only then empties the record: so no refill
// adds them, neither the next one nor one that has read them before and goes on with them however late, as the pool knows them. It empties the version of the record of which it
// has retired all, and what another puts in between is retired too. The next order has another name, so that numbers that were leased for the one before
// are not made once more.

// refillMark says how many IDs of which version of the record are retired.
type refillMark struct {
	version Version
	done    int
}

func (m refillMark) String() string { return fmt.Sprintf("%d %d", m.version, m.done) }

// readRefillMark reads where the phase stands; of the zero version for its beginning.
func readRefillMark(text string) (m refillMark, err error) {
	if text == "" {
		return m, nil
	}
	if _, err := fmt.Sscanf(text, "%d %d", &m.version, &m.done); err != nil {
		return m, Errorf(CodeInternal, "where the job goes on is not known").Because(err)
	}
	return m, nil
}

// resetBy is the batch of a record that the job has emptied. It is of no order.
func (j Job) resetBy() JobID { return JobID(orderMark) + j.ID }

// refillPage reads the next IDs of the record that the pool does not know. next is "" where there is nothing to empty.
func (s *Service) refillPage(ctx context.Context, j Job, at string, limit int) (page []IDRecord, next string, err error) {
	r, err := s.store.Refill(ctx, j.Pool)
	if err != nil || r.Version == 0 || r.Batch == j.resetBy() {
		return nil, "", err
	}
	m, err := readRefillMark(at)
	if err != nil {
		return nil, "", err
	}
	if m.version != r.Version {
		m = refillMark{version: r.Version}
	}
	some := r.IDs[min(m.done, len(r.IDs)):]
	some = some[:min(limit, len(some))]
	known := map[ID]bool{}
	if len(some) > 0 {
		found, err := s.store.LookUp(ctx, j.Pool, some)
		if err != nil {
			return nil, "", err
		}
		for _, f := range found {
			known[f.ID] = true
		}
	}
	for _, id := range some {
		if !known[id] {
			page = append(page, IDRecord{Pool: j.Pool, ID: id, State: StateFree})
		}
	}
	m.done += len(some)
	return page, m.String(), nil
}

// takeBurn says on the record that the job retires some of the free IDs, from the first on, before it does the first: no two do that side by side, as each would
// take those behind the other's. What two of the same request would do one does, so the other ends; a job of another request waits.
func (s *Service) takeBurn(ctx context.Context, j Job) error {
	if j.Spec.AtMost == 0 { // it retires none, or all: two do no more than one
		return nil
	}
	for range changeTries {
		r, err := s.store.Refill(ctx, j.Pool)
		if err != nil || r.Burning == j.ID {
			return err
		}
		if err := s.checkBurning(ctx, j, r.Burning); err != nil {
			return err
		}
		r.Pool, r.Burning, r.Updated = j.Pool, j.ID, s.second()
		if _, err = s.store.ChangeRefill(ctx, r.Version, r); !Is(err, CodeVersionMismatch) {
			return err
		}
	}
	return Errorf(CodeBusy, "the pool %q is refilled all the time; the restore is tried again", j.Pool).After(retrySoon)
}

// checkBurning refuses to retire IDs beside another job that does.
func (s *Service) checkBurning(ctx context.Context, j Job, other JobID) error {
	if other == "" {
		return nil
	}
	on, err := s.store.Job(ctx, other)
	if Is(err, CodeJobNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	beside := !on.State.Ended() || on.State == JobDone && !j.Created.After(on.Updated) // it was asked for before the other had ended
	switch {
	case beside && j.Spec.Source == RestoreBurn && j.sameRestore(on):
		return Errorf(CodeJobEnded, "the job %s, which was made at the same moment, retires these IDs, or has done so; this one retires none beside it. Ask again where more are to be retired", on.ID)
	case on.State.Ended():
		return nil
	}
	return Errorf(CodeBusy, "the job %s retires IDs of the pool; this one goes on after its end", on.ID).After(retrySoon)
}

// resetRefill empties the record where all that its version has is retired. over is false where there is more, or another version.
func (s *Service) resetRefill(ctx context.Context, j Job, at string) (over bool, err error) {
	m, err := readRefillMark(at)
	if err != nil {
		return false, err
	}
	r, err := s.store.Refill(ctx, j.Pool)
	switch {
	case err != nil:
		return false, err
	case r.Batch == j.resetBy():
		return true, nil
	case r.Version != m.version || m.done < len(r.IDs):
		return false, nil
	}
	r.Batch, r.IDs, r.UpTo, r.Filling, r.Updated = j.resetBy(), nil, 0, false, s.second()
	_, err = s.store.ChangeRefill(ctx, m.version, r)
	if Is(err, CodeVersionMismatch) {
		return false, nil
	}
	return err == nil, err
}
