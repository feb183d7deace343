package alloctest

import (
	"context"
	"slices"
	"strings"

	"idpool/alloc"
)

var poolMutants = []mutant{
	{"a second creation replaces the configuration", []string{"CreatePool with another configuration", "C05 of many callers who create one name with"}, func(m *Model) alloc.Store {
		return replacingCreate{m}
	}},
	{"a deleted pool can be created again", []string{"C53 a deleted pool"}, func(m *Model) alloc.Store {
		return recreating{m}
	}},
	{"a change is not tested against the version", []string{"ChangePool from another version", "of many callers who change one version"}, func(m *Model) alloc.Store {
		return unversioned{m}
	}},
	{"a pause is known to the process that made it only", []string{"a paused pool refuses claims"}, func(m *Model) alloc.Store {
		return &remembering{Model: m, pools: map[alloc.PoolName]alloc.Pool{}}
	}},
	{"pools are listed in the order of an alphabet", []string{"ListPools gives every pool"}, func(m *Model) alloc.Store {
		return alphabetic{m}
	}},
	{"seeding resets what is claimed", []string{"C32 an ID that is there", "C33 the same job repeated", "C32 an exhausted pool seeded"}, func(m *Model) alloc.Store {
		return resetting{m}
	}},
	{"a second seeding replaces the first", []string{"C34 a second seeding"}, func(m *Model) alloc.Store {
		return replacingSeed{m}
	}},
	{"a repeated job finds its own IDs to be duplicates", []string{"C33 the same job repeated", "C33 a seeding whose answer is lost"}, func(m *Model) alloc.Store {
		return forgetfulSeed{m}
	}},
	{"a seeding stores the first 25 IDs of a batch only", []string{"every added ID can be claimed", "C35 the largest batch"}, func(m *Model) alloc.Store {
		return truncatingSeed{m}
	}},
	{"IDs are folded to one case", []string{"C51 IDs that look alike", "C51 an ID in another normal form"}, func(m *Model) alloc.Store {
		return folding{m}
	}},
	{"the level counts what is claimed as free", []string{"Level is exact", "C23 a claim answers"}, func(m *Model) alloc.Store {
		return miscounting{m}
	}},
	{"a record of the trail is overwritten by its repeat", []string{"a repeat with the same ID changes nothing"}, func(m *Model) alloc.Store {
		return overwriting{m}
	}},
	{"the trail comes oldest first", []string{"records come newest first"}, func(m *Model) alloc.Store {
		return oldestFirst{m}
	}},
	{"an ended context is not looked at", []string{"a call whose context has ended"}, func(m *Model) alloc.Store {
		return deaf{m}
	}},
	{"a context's end comes as its bare error", []string{"a call whose context has ended", "C46 claims cut off"}, func(m *Model) alloc.Store {
		return bareErrors{m}
	}},
	{"a cut-off claim is carried out and reported as not carried out", []string{"C46 claims cut off"}, func(m *Model) alloc.Store {
		return liar{m}
	}},
}

type replacingCreate struct{ *Model }

func (s replacingCreate) CreatePool(ctx context.Context, name alloc.PoolName, config alloc.PoolConfig) (alloc.Pool, bool, error) {
	p, created, err := s.Model.CreatePool(ctx, name, config)
	if alloc.Is(err, alloc.CodePoolExists) {
		s.data.mu.Lock()
		defer s.data.mu.Unlock()
		s.data.pools[name].Config = config
		return s.data.pools[name].Pool, false, nil
	}
	return p, created, err
}

type recreating struct{ *Model }

func (s recreating) CreatePool(ctx context.Context, name alloc.PoolName, config alloc.PoolConfig) (alloc.Pool, bool, error) {
	p, created, err := s.Model.CreatePool(ctx, name, config)
	if alloc.Is(err, alloc.CodePoolDeleted) {
		s.data.mu.Lock()
		delete(s.data.pools, name)
		s.data.mu.Unlock()
		return s.Model.CreatePool(ctx, name, config)
	}
	return p, created, err
}

type unversioned struct{ *Model }

func (s unversioned) ChangePool(ctx context.Context, name alloc.PoolName, _ alloc.Version, config alloc.PoolConfig) (alloc.Pool, error) {
	p, err := s.Pool(ctx, name)
	if err != nil {
		return p, err
	}
	return s.Model.ChangePool(ctx, name, p.Version, config)
}

// remembering keeps the first state of a pool that it saw, for ever.
type remembering struct {
	*Model
	pools map[alloc.PoolName]alloc.Pool
}

func (s *remembering) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	if _, known := s.pools[o.Pool]; !known {
		p, err := s.Pool(ctx, o.Pool)
		if err != nil {
			return alloc.Claim{}, err
		}
		s.pools[o.Pool] = p
	}
	c, err := s.Model.Claim(ctx, o)
	if alloc.Is(err, alloc.CodePoolPaused) && s.pools[o.Pool].State == alloc.PoolActive {
		if _, err := s.SetPoolState(ctx, o.Pool, 0, alloc.PoolActive); err != nil {
			return alloc.Claim{}, err
		}
		c, err = s.Model.Claim(ctx, o)
		if _, err := s.SetPoolState(ctx, o.Pool, 0, alloc.PoolPaused); err != nil {
			return alloc.Claim{}, err
		}
	}
	return c, err
}

type alphabetic struct{ *Model }

func (s alphabetic) ListPools(ctx context.Context, after alloc.PoolName, limit int) ([]alloc.Pool, error) {
	pools, err := s.Model.ListPools(ctx, after, limit)
	letters := func(n alloc.PoolName) string {
		return strings.NewReplacer("-", "", ".", "", "_", "").Replace(string(n))
	}
	slices.SortStableFunc(pools, func(a, b alloc.Pool) int { return strings.Compare(letters(a.Name), letters(b.Name)) })
	return pools, err
}

type resetting struct{ *Model }

func (s resetting) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	outcomes, err := s.Model.Seed(ctx, b)
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	for _, id := range b.IDs {
		if p := s.data.pools[b.Pool]; p != nil && p.ids[id] != nil {
			p.ids[id].State = alloc.StateFree
		}
	}
	return outcomes, err
}

type replacingSeed struct{ *Model }

func (s replacingSeed) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	s.data.mu.Lock()
	if p := s.data.pools[b.Pool]; p != nil {
		for _, id := range p.free() {
			delete(p.ids, id)
		}
	}
	s.data.mu.Unlock()
	return s.Model.Seed(ctx, b)
}

type forgetfulSeed struct{ *Model }

func (s forgetfulSeed) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	again := make([]bool, len(b.IDs))
	for i, id := range b.IDs {
		_, err := s.Inspect(ctx, b.Pool, id)
		again[i] = err == nil
	}
	outcomes, err := s.Model.Seed(ctx, b)
	for i := range outcomes {
		if again[i] {
			outcomes[i] = alloc.SeedDuplicate
		}
	}
	return outcomes, err
}

type truncatingSeed struct{ *Model }

func (s truncatingSeed) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	all := len(b.IDs)
	b.IDs = b.IDs[:min(25, all)]
	outcomes, err := s.Model.Seed(ctx, b)
	for err == nil && len(outcomes) < all {
		outcomes = append(outcomes, alloc.SeedAdded)
	}
	return outcomes, err
}

type folding struct{ *Model }

func fold(id alloc.ID) alloc.ID { return alloc.ID(strings.ToLower(string(id))) }

func (s folding) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	b.IDs = slices.Clone(b.IDs)
	for i, id := range b.IDs {
		b.IDs[i] = fold(id)
	}
	return s.Model.Seed(ctx, b)
}

func (s folding) Inspect(ctx context.Context, pool alloc.PoolName, id alloc.ID) (alloc.IDRecord, error) {
	r, err := s.Model.Inspect(ctx, pool, fold(id))
	r.ID = id
	return r, err
}

type miscounting struct{ *Model }

func (s miscounting) Level(ctx context.Context, name alloc.PoolName) (alloc.Level, error) {
	l, err := s.Model.Level(ctx, name)
	l.Available += l.Claimed
	return l, err
}

type overwriting struct{ *Model }

func (s overwriting) Record(ctx context.Context, r alloc.AuditRecord) error {
	return s.step(ctx, func(d *modelData) error {
		for _, chain := range d.trail.chains {
			for i := range chain {
				if chain[i].ID == r.ID {
					r.Link = chain[i].Link
					chain[i] = r
				}
			}
		}
		if !d.trail.known[r.ID] {
			d.trail.append(r, alloc.MonthOf(s.now()))
		}
		return nil
	})
}

type oldestFirst struct{ *Model }

func (s oldestFirst) Records(ctx context.Context, before string, limit int) ([]alloc.AuditRecord, error) {
	records, err := s.Model.Records(ctx, before, limit)
	slices.Reverse(records)
	return records, err
}

type deaf struct{ *Model }

func (s deaf) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	return s.Model.Claim(context.WithoutCancel(ctx), o)
}

type bareErrors struct{ *Model }

func (s bareErrors) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	if err := ctx.Err(); err != nil {
		return alloc.Claim{}, err
	}
	return s.Model.Claim(ctx, o)
}

// liar takes IDs for a call that it reports as not carried out.
type liar struct{ *Model }

func (s liar) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	if ctx.Err() != nil {
		if _, err := s.Model.Claim(context.WithoutCancel(ctx), o); err != nil {
			return c, err
		}
	}
	return c, err
}
