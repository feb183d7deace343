package alloc

import (
	"context"
	"fmt"
)

// CreatePool makes a pool; see Pools.CreatePool for what a repeat and a clash give. Needs ActionManage.
func (s *Service) CreatePool(ctx context.Context, name PoolName, config PoolConfig) (p Pool, created bool, err error) {
	caller, err := s.admit(ctx, ActionManage, string(name))
	if err != nil {
		return Pool{}, false, err
	}
	config = config.WithDefaults()
	if err := config.Check(); err != nil {
		return Pool{}, false, err
	}
	err = s.audited(ctx, caller, "pool.create", poolTarget(name), fmt.Sprintf("%+v", config), func() (err error) {
		p, created, err = s.store.CreatePool(ctx, name, config)
		return err
	})
	return p, created, err
}

// ChangePool replaces the configuration of the pool at version from. Needs ActionManage.
func (s *Service) ChangePool(ctx context.Context, name PoolName, from Version, config PoolConfig) (p Pool, err error) {
	caller, err := s.admit(ctx, ActionManage, string(name))
	if err != nil {
		return Pool{}, err
	}
	config = config.WithDefaults()
	if err := config.Check(); err != nil {
		return Pool{}, err
	}
	err = s.audited(ctx, caller, "pool.change", poolTarget(name), fmt.Sprintf("from version %d: %+v", from, config), func() (err error) {
		p, err = s.store.ChangePool(ctx, name, from, config)
		return err
	})
	return p, err
}

// SetPoolState pauses, resumes (PoolActive), drains or deletes a pool. Needs ActionManage.
func (s *Service) SetPoolState(ctx context.Context, name PoolName, to PoolState) (p Pool, err error) {
	caller, err := s.admit(ctx, ActionManage, string(name))
	if err != nil {
		return Pool{}, err
	}
	switch to {
	case PoolActive, PoolPaused, PoolDraining, PoolDeleted:
	default:
		return Pool{}, Errorf(CodeInvalidRequest, "a pool has no state %q", to)
	}
	err = s.audited(ctx, caller, "pool.state", poolTarget(name), string(to), func() (err error) {
		p, err = s.store.SetPoolState(ctx, name, to)
		return err
	})
	return p, err
}

// PoolStatus is a pool with its level. LevelError stands in for a level that could not be read.
type PoolStatus struct {
	Pool       Pool
	Level      Level
	LevelError error
}

// Pool returns a pool with its level. Needs ActionRead.
func (s *Service) Pool(ctx context.Context, name PoolName) (PoolStatus, error) {
	if _, err := s.admit(ctx, ActionRead, string(name)); err != nil {
		return PoolStatus{}, err
	}
	p, err := s.store.Pool(ctx, name)
	if err != nil {
		return PoolStatus{}, err
	}
	if err := p.CheckTo(p.State); err != nil {
		return PoolStatus{}, err
	}
	return s.status(ctx, p), nil
}

// Pools returns at most limit (1 to 100) pools that are not deleted, with their levels, in the order of their names,
// after the name given; next is what to give to go on, "" at the end. Those that the caller may not read are left out.
func (s *Service) Pools(ctx context.Context, after PoolName, limit int) (pools []PoolStatus, next PoolName, err error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := checkPage(limit); err != nil {
		return nil, "", err
	}
	for {
		page, err := s.store.ListPools(ctx, after, limit)
		if err != nil {
			return nil, "", err
		}
		for _, p := range page {
			after = p.Name
			if p.State == PoolDeleted || !caller.permits(ActionRead, string(p.Name)) {
				continue
			}
			pools = append(pools, s.status(ctx, p))
			if len(pools) == limit {
				return pools, after, nil
			}
		}
		if len(page) < limit {
			return pools, "", nil
		}
	}
}

func (s *Service) status(ctx context.Context, p Pool) PoolStatus {
	l, err := s.store.Level(ctx, p.Name)
	return PoolStatus{Pool: p, Level: l, LevelError: err}
}

// ClaimRequest is what a client asks of a pool.
type ClaimRequest struct {
	Pool     PoolName
	Count    Count
	Owner    string
	Metadata map[string]string
	Key      string // Idempotency-Key; "" for none
	Print    string // canonical form of the request, compared when the key comes again
}

// Claim takes IDs; see Claims.Claim. Needs ActionClaim.
func (s *Service) Claim(ctx context.Context, r ClaimRequest) (Claim, error) {
	caller, err := s.admit(ctx, ActionClaim, string(r.Pool))
	if err != nil {
		return Claim{}, err
	}
	o := ClaimOrder{Pool: r.Pool, Count: r.Count, Owner: r.Owner, Metadata: r.Metadata, By: caller.Client}
	if err := CheckClaimOrder(o); err != nil {
		return Claim{}, err
	}
	if o.Key, err = keyFor(caller, "claim", poolTarget(r.Pool), r.Key, r.Print); err != nil {
		return Claim{}, err
	}
	return s.store.Claim(ctx, o)
}

// InspectID returns what is known of one ID. Needs ActionRead.
func (s *Service) InspectID(ctx context.Context, pool PoolName, raw string) (IDRecord, error) {
	if _, err := s.admit(ctx, ActionRead, string(pool)); err != nil {
		return IDRecord{}, err
	}
	p, err := s.store.Pool(ctx, pool)
	if err != nil {
		return IDRecord{}, err
	}
	id, err := CleanID(raw, p.Config.FoldCase)
	if err != nil {
		return IDRecord{}, err
	}
	return s.store.Inspect(ctx, pool, id)
}

// Sweep sweeps one pool; see Claims.Sweep. Needs ActionTend.
func (s *Service) Sweep(ctx context.Context, pool PoolName) (SweepReport, error) {
	if _, err := s.admit(ctx, ActionTend, string(pool)); err != nil {
		return SweepReport{}, err
	}
	return s.store.Sweep(ctx, pool)
}

// TendReport says what one run of the schedule did.
type TendReport struct {
	Swept  []SweepReport
	Failed map[PoolName]error
}

// Tend is one run of the schedule: it sweeps every pool. A pool that fails does not stop the others. It ends early,
// without error, when the context does: the next run goes on. Needs ActionTend on all.
func (s *Service) Tend(ctx context.Context) (TendReport, error) {
	report := TendReport{Failed: map[PoolName]error{}}
	if _, err := permit(ctx, ActionTend, "*"); err != nil {
		return report, err
	}
	const page = 100
	for after := PoolName(""); ; {
		pools, err := s.store.ListPools(ctx, after, page)
		if err != nil {
			return report, err
		}
		for _, p := range pools {
			after = p.Name
			if p.State == PoolDeleted {
				continue
			}
			if ctx.Err() != nil {
				return report, nil
			}
			r, err := s.store.Sweep(ctx, p.Name)
			if err != nil {
				report.Failed[p.Name] = err
				continue
			}
			report.Swept = append(report.Swept, r)
		}
		if len(pools) < page {
			return report, nil
		}
	}
}

// admit checks the scope and the name.
func (s *Service) admit(ctx context.Context, a Action, name string) (Caller, error) {
	if _, err := s.someone(ctx); err != nil {
		return Caller{}, err
	}
	if err := CheckName(name); err != nil {
		return Caller{}, err
	}
	return permit(ctx, a, name)
}

func (s *Service) someone(ctx context.Context) (Caller, error) {
	c, ok := CallerFrom(ctx)
	if !ok {
		return Caller{}, unauthenticated()
	}
	return c, nil
}

func poolTarget(n PoolName) string { return "pool/" + string(n) }

func keyFor(c Caller, operation, resource, key, print string) (*Key, error) {
	if key == "" {
		return nil, nil
	}
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	return NewKey(c.Client, operation, resource, key, operation, resource, print), nil
}
