package alloc

import (
	"cmp"
	"context"
	"fmt"
)

// CreatePool makes a pool; see Pools.CreatePool for what a repeat and a clash give. Needs ActionManage.
func (s *Service) CreatePool(ctx context.Context, name PoolName, config PoolConfig) (p Pool, created bool, err error) {
	config = config.WithDefaults()
	err = s.administer(ctx, poolStep(name, "create", config.words), func() (err error) {
		if err := config.Check(); err != nil {
			return err
		}
		p, created, err = s.store.CreatePool(ctx, name, config)
		return err
	})
	return p, created, err
}

// ChangePool replaces the configuration of the pool at version from. Needs ActionManage.
func (s *Service) ChangePool(ctx context.Context, name PoolName, from Version, config PoolConfig) (p Pool, err error) {
	config = config.WithDefaults()
	detail := func() string { return fmt.Sprintf("from version %d to %s", from, config.words()) }
	err = s.administer(ctx, poolStep(name, "change", detail), func() (err error) {
		if err := config.Check(); err != nil {
			return err
		}
		p, err = s.store.ChangePool(ctx, name, from, config)
		return err
	})
	return p, err
}

// poolVerbs are the states that an administrator may set, with the verb of their record.
var poolVerbs = map[PoolState]string{PoolActive: "resume", PoolPaused: "pause", PoolDraining: "drain", PoolDeleted: "delete"}

// SetPoolState pauses, resumes (PoolActive), drains or deletes a pool. Needs ActionManage.
func (s *Service) SetPoolState(ctx context.Context, name PoolName, to PoolState) (p Pool, err error) {
	detail := func() string { return "to " + quoteShort(string(to)) }
	err = s.administer(ctx, poolStep(name, cmp.Or(poolVerbs[to], "state"), detail), func() (err error) {
		if poolVerbs[to] == "" {
			return Errorf(CodeInvalidRequest, "a pool has no state %s", quoteShort(string(to)))
		}
		p, err = s.store.SetPoolState(ctx, name, to)
		return err
	})
	return p, err
}

func poolStep(name PoolName, verb string, detail func() string) step {
	return step{need: ActionManage, name: string(name), action: "pool." + verb, target: poolTarget(name), detail: detail}
}

// PoolStatus is a pool with its level. LevelError stands in for a level that could not be read.
type PoolStatus struct {
	Pool       Pool
	Level      Level
	LevelError error
}

// Pool returns a pool with its level. Needs ActionRead.
func (s *Service) Pool(ctx context.Context, name PoolName) (PoolStatus, error) {
	if _, err := admit(ctx, ActionRead, string(name)); err != nil {
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
	caller, err := someone(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := checkList(string(after), limit); err != nil {
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
	caller, err := admit(ctx, ActionClaim, string(r.Pool))
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
	if _, err := admit(ctx, ActionRead, string(pool)); err != nil {
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
	if _, err := admit(ctx, ActionTend, string(pool)); err != nil {
		return SweepReport{}, err
	}
	return s.store.Sweep(ctx, pool)
}

func poolTarget(n PoolName) string { return "pool/" + string(n) }
