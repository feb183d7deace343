package alloc

import "context"

// PoolRefill returns where the pool's refill stands: its version is 0 where it was never filled. Of a generator that the pool
// has no longer, nothing is told. Needs ActionRead.
func (s *Service) PoolRefill(ctx context.Context, name PoolName) (RefillStanding, error) {
	p, err := s.readablePool(ctx, name)
	if err != nil {
		return RefillStanding{}, err
	}
	r, err := s.store.Refill(ctx, name)
	if err != nil {
		return RefillStanding{}, err
	}
	standing := RefillStanding{Pool: name, Version: r.Version, Updated: r.Updated}
	if p.Config.Generator.IsZero() || r.Generator != p.Config.Generator {
		return standing, nil
	}
	standing.Filling, standing.Waiting, standing.Dry, standing.DrySince = r.Filling, Count(len(r.IDs)), r.Dry, r.DrySince
	return standing, nil
}
