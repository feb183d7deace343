package alloc

import (
	"context"
	"time"
)

// CreatePool makes a pool; see Pools.CreatePool for what a repeat and a clash give. Needs ActionManage, and
// ActionLease on the sequence of which its generator takes numbers: that has to be there and active.
func (s *Service) CreatePool(ctx context.Context, name PoolName, config PoolConfig) (p Pool, created bool, err error) {
	return create(ctx, s, aPool, name, config.WithDefaults(),
		func(ctx context.Context, name PoolName, config PoolConfig) (Pool, bool, error) {
			if err := s.checkSource(ctx, name, 0, config); err != nil {
				return Pool{}, false, err
			}
			return s.store.CreatePool(ctx, name, config)
		})
}

// ChangePool replaces the configuration of the pool at version from. Needs ActionManage, and for another generator of a
// sequence what CreatePool needs; to raise the marks of such a pool, ActionLease on the sequence.
func (s *Service) ChangePool(ctx context.Context, name PoolName, from Version, config PoolConfig) (Pool, error) {
	return change(ctx, s, aPool, name, from, config.WithDefaults(), s.store.Pool,
		func(ctx context.Context, name PoolName, from Version, config PoolConfig) (Pool, error) {
			if err := s.checkSource(ctx, name, from, config); err != nil {
				return Pool{}, err
			}
			return s.store.ChangePool(ctx, name, from, config)
		})
}

// poolVerbs are the states that an administrator may set, with the verb of their record.
var poolVerbs = map[PoolState]string{PoolActive: "resume", PoolPaused: "pause", PoolDraining: "drain", PoolDeleted: "delete"}

// SetPoolState pauses, resumes (PoolActive), drains or deletes a pool that is at version from (0: whatever it is at). Needs
// ActionOperate to pause and resume, but ActionManage where that ends a drain, and for all else. CodePoolActive where an active one is to be deleted:
// it is paused or drained first.
func (s *Service) SetPoolState(ctx context.Context, name PoolName, from Version, to PoolState) (Pool, error) {
	return setState(ctx, s, aPool, name, from, to, poolVerbs, s.store.Pool, func(ctx context.Context, name PoolName, from Version, to PoolState) (Pool, error) {
		if _, err := s.permit(ctx, ActionManage, string(name)); err != nil {
			if p, lerr := s.store.Pool(ctx, name); lerr != nil {
				return Pool{}, lerr
			} else if p.State == PoolDraining {
				return Pool{}, err
			}
		}
		return s.store.SetPoolState(ctx, name, from, to)
	})
}

// DeletedPool returns what is left of a deleted pool, for who deleted it and was not told. CodePoolNotFound where there is
// none. Needs ActionManage.
func (s *Service) DeletedPool(ctx context.Context, name PoolName) (Pool, error) {
	if _, err := s.admit(ctx, ActionManage, string(name)); err != nil {
		return Pool{}, err
	}
	p, err := s.store.Pool(ctx, name)
	switch {
	case err != nil:
		return Pool{}, err
	case p.State != PoolDeleted:
		return Pool{}, Errorf(CodePoolNotFound, "there is no deleted pool %q", name)
	}
	return p, nil
}

// Pool returns a pool with its level and what there is to say of its refill. Needs ActionRead.
func (s *Service) Pool(ctx context.Context, name PoolName) (PoolStatus, error) {
	if _, err := s.admit(ctx, ActionRead, string(name)); err != nil {
		return PoolStatus{}, err
	}
	p, err := s.store.Pool(ctx, name)
	if err != nil {
		return PoolStatus{}, err
	}
	if err := p.CheckThere(); err != nil {
		return PoolStatus{}, err
	}
	return s.status(ctx, p, true), nil
}

// Pools returns at most limit (1 to 100) pools that are not deleted, with their levels, in the order of their names,
// from the cursor on; next is what to give to go on, "" at the end. A low mark in hours counts as for a pool that nothing is used of. Those that the caller may not read are left out.
// Where very many are left out, there may be fewer than limit, even none, and yet more to come.
func (s *Service) Pools(ctx context.Context, c Cursor, limit int) (pools []PoolStatus, next Cursor, err error) {
	found, next, err := s.poolsFrom(ctx, c, limit)
	if err != nil {
		return nil, "", err
	}
	return s.statuses(ctx, found), next, nil
}

// PoolNames is Pools without their levels: names alone, at one read a page.
func (s *Service) PoolNames(ctx context.Context, c Cursor, limit int) (names []PoolName, next Cursor, err error) {
	found, next, err := s.poolsFrom(ctx, c, limit)
	for _, p := range found {
		names = append(names, p.Name)
	}
	return names, next, err
}

// BarePools is Pools without their levels, at one read a page: how each is configured, and its state.
func (s *Service) BarePools(ctx context.Context, c Cursor, limit int) (pools []Pool, next Cursor, err error) {
	return s.poolsFrom(ctx, c, limit)
}

// poolsFrom is a page of the pools that are not deleted and that the caller may read.
func (s *Service) poolsFrom(ctx context.Context, c Cursor, limit int) ([]Pool, Cursor, error) {
	return readable(ctx, s, listPools, c, limit, s.store.ListPools, func(p Pool) entry[PoolName] {
		return entry[PoolName]{position: p.Name, name: string(p.Name), hidden: p.State == PoolDeleted}
	})
}

// statuses reads the levels of the pools.
func (s *Service) statuses(ctx context.Context, pools []Pool) []PoolStatus {
	return someAtOnce(pools, func(p Pool) PoolStatus { return s.status(ctx, p, false) })
}

// ClaimRequest is what a client asks of a pool.
type ClaimRequest struct {
	Pool     PoolName
	Count    Count
	Owner    string
	Metadata map[string]string
	Hold     time.Duration // how long the IDs are held for a confirmation, see ClaimOrder; 0 to claim them for good
	Key      string        // Idempotency-Key; "" for none
	Print    string        // canonical form of the request, compared when the key comes again
}

// Claim takes IDs, or holds them; see Claims.Claim. Needs ActionClaim. CodeQuotaExceeded where the caller's hourly quota
// is used up; a repeat with a key is answered all the same, and not charged.
func (s *Service) Claim(ctx context.Context, r ClaimRequest) (claim Claim, err error) {
	caller, err := s.admit(ctx, ActionClaim, string(r.Pool))
	if err != nil {
		return Claim{}, err
	}
	o := ClaimOrder{Pool: r.Pool, Count: r.Count, Owner: r.Owner, Metadata: r.Metadata, Hold: r.Hold, By: caller.Client}
	if err := CheckClaimOrder(o); err != nil {
		return Claim{}, err
	}
	if o.Key, err = keyFor(caller, "claim", aPool.target(string(r.Pool)), r.Key, r.Print); err != nil {
		return Claim{}, err
	}
	s.quotas.charge(ctx, caller, o.Count, func(refusal *Error) bool {
		o.Refusal = refusal
		claim, err = s.store.Claim(ctx, o)
		return isUsed(err, claim.Replayed)
	})
	return claim, err
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
	r, err := s.store.Inspect(ctx, pool, id)
	if Is(err, CodeIDNotFound) {
		return IDRecord{}, p.unknownID().Because(err)
	}
	return r, err
}

// RecentTaken is of how many IDs that were claimed last one after the other RecentClaims misses none.
const RecentTaken = 16

// RecentClaims returns IDs of the pool that were taken last and that somebody has still; see Claims.RecentClaims for what it may miss. At most
// limit, 1 to 100. The tokens are left out: who has one owns the ID. Needs ActionRead.
func (s *Service) RecentClaims(ctx context.Context, pool PoolName, limit int) ([]IDRecord, error) {
	if _, err := s.admit(ctx, ActionRead, string(pool)); err != nil {
		return nil, err
	}
	if err := checkPage(limit); err != nil {
		return nil, err
	}
	records, err := s.store.RecentClaims(ctx, pool, limit)
	for i := range records {
		records[i].Token = ""
	}
	return records, err
}

// Sweep sweeps one pool; see Claims.Sweep. Needs ActionTend.
func (s *Service) Sweep(ctx context.Context, pool PoolName) (SweepReport, error) {
	if _, err := s.admit(ctx, ActionTend, string(pool)); err != nil {
		return SweepReport{}, err
	}
	return s.store.Sweep(ctx, pool)
}
