package alloc

import "context"

// PoolStatus is a pool with its level. LevelError stands in for a level that could not be read.
type PoolStatus struct {
	Pool       Pool
	Level      Level
	LevelError error

	Refill      *RefillStatus // of a pool with a generator or marks whose level could be read; else nil
	RefillError error         // stands in for a refill that could not be read
}

// RefillStatus is whether a pool is to be filled, and is being filled.
type RefillStatus struct {
	Low     bool   // below its low mark
	Filling bool   // below low seen, target not reached yet
	Dry     string // why its generator can make no more; "" while it can, and without one
}

// status reads the level of a pool, and at one read more the record of its refill where it has a generator. Marks in hours need rates
// as well, which take two queries: it looks at them if rates says so, else they count as for a pool that nothing is used of.
func (s *Service) status(ctx context.Context, p Pool, rates bool) PoolStatus {
	st := PoolStatus{Pool: p}
	st.Level, st.LevelError = withoutPanic(func() (Level, error) { return s.store.Level(ctx, p.Name) })
	m := p.Config.Marks
	if st.LevelError != nil || m == (Marks{}) {
		return st
	}
	rates = rates && (m.LowHours > 0 || m.TargetHours > 0)
	r, err := withoutPanic(func() (RefillStatus, error) { return s.refillStatus(ctx, p, st.Level, rates) })
	if err != nil {
		st.RefillError = err
		return st
	}
	st.Refill = &r
	return st
}

func (s *Service) refillStatus(ctx context.Context, p Pool, l Level, rates bool) (r RefillStatus, err error) {
	if !p.Config.Generator.IsZero() {
		rec, err := s.store.Refill(ctx, p.Name)
		if err != nil {
			return RefillStatus{}, err
		}
		if rec.Generator == p.Config.Generator { // else it is of one that the pool has no longer
			r.Filling, r.Dry = rec.Filling, rec.Dry
		}
	}
	var burns []Burn
	if rates {
		if burns, err = s.poolBurns(ctx, p.Name, s.now(), l); err != nil {
			return RefillStatus{}, err
		}
	}
	low, _ := p.Config.levels(burns)
	r.Low = l.Available < low
	return r, nil
}
