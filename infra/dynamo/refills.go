package dynamo

import (
	"context"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// The record of a pool's refill is the item P#pool F, made with its first change. It does not expire.
//
//	v     version     upd  when it was changed     job  the batch on its way    ids  of it      up  to what level
//	fill  below low   dry  why no more is made     dryw since when              gen  the generator, as JSON
//
// Times are in nanoseconds, 0 for none.

func refillKey(pool alloc.PoolName) Key { return Key{PK: headKey(pool).PK, SK: "F"} }

func refillItem(r alloc.Refill) Item {
	ids := make([]string, len(r.IDs))
	for i, id := range r.IDs {
		ids[i] = string(id)
	}
	return item(refillKey(r.Pool), Item{
		AttrVersion: int64(r.Version), "upd": nanos(r.Updated), "job": string(r.Batch), "ids": ids, "up": int64(r.UpTo), "fill": r.Filling,
		"dry": r.Dry, "dryw": nanos(r.DrySince), "gen": document(storedGenerator(r.Generator)), "burn": string(r.Burning),
	})
}

func decodeRefill(pool alloc.PoolName, it Item) (alloc.Refill, error) {
	gen, err := fromDocument[storedGenerator](it, "gen")
	r := alloc.Refill{
		Pool: pool, Version: alloc.Version(it.Int(AttrVersion)), Updated: fromNanos(it.Int("upd")), Batch: alloc.JobID(it.Str("job")),
		UpTo: alloc.Count(it.Int("up")), Filling: it.Bool("fill"), Dry: it.Str("dry"), DrySince: fromNanos(it.Int("dryw")),
		Generator: generator.Config(gen), Burning: alloc.JobID(it.Str("burn")),
	}
	for _, id := range it.List("ids") {
		r.IDs = append(r.IDs, alloc.ID(id))
	}
	return r, err
}

// Refill implements alloc.Refills.
func (s *Store) Refill(ctx context.Context, pool alloc.PoolName) (alloc.Refill, error) {
	it, err := s.table.Get(ctx, refillKey(pool))
	if err != nil {
		return alloc.Refill{}, err
	}
	return decodeRefill(pool, it)
}

// ChangeRefill implements alloc.Refills.
func (s *Store) ChangeRefill(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
	r.Version = from + 1
	it, cond := refillItem(r), Eq(AttrVersion, int64(from))
	if from == 0 {
		cond = Absent(AttrPK)
	}
	err := s.table.Put(ctx, it, cond)
	old, met := refusedBy(err)
	switch {
	case err == nil, met && old.has(it):
		return decodeRefill(r.Pool, it)
	case !met:
		return alloc.Refill{}, err
	}
	return alloc.Refill{}, alloc.VersionMismatch("refill", string(r.Pool), alloc.Version(old.Int(AttrVersion)))
}
