package alloctest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"idpool/alloc"
)

var upToMutants = []mutant{
	{"the level of a batch is not looked at", []string{
		"a batch up to a level adds its IDs", "a batch up to a level that is reached", "C38 plain seedings done before",
		"C33 one set of IDs", "batches up to a level beside claims", "the largest batch of a refill",
	}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			b.UpTo = 0
			return m.Seed(ctx, b)
		}}
	}},
	{"a pool is filled to one more than its level", []string{
		"a batch up to a level adds its IDs", "a repeat of a batch with a higher level", "C38 of many batches at once", "C38 a batch up to a level whose answer",
		"C11 a batch that was held", "C46 batches up to a level", "a batch up to a level whose answer was lost", "a paused pool is filled",
	}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			if b.UpTo > 0 {
				b.UpTo++
			}
			return m.Seed(ctx, b)
		}}
	}},
	{"a batch is filled up in whole chunks", []string{"a batch up to a level adds its IDs", "the largest batch of a refill"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			const chunk = 20
			if free := m.available(b.Pool); free < b.UpTo {
				b.UpTo = free + (b.UpTo-free+chunk-1)/chunk*chunk
			}
			return m.Seed(ctx, b)
		}}
	}},
	{"IDs are added in the order of their names", []string{"a batch up to a level adds its IDs"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			given := b.IDs
			b.IDs = slices.Sorted(slices.Values(given))
			sorted, err := m.Seed(ctx, b)
			outcomes := slices.Clone(sorted)
			for i := range outcomes {
				outcomes[i] = sorted[slices.Index(b.IDs, given[i])]
			}
			return outcomes, err
		}}
	}},
	{"unneeded IDs are put all the same", []string{"a batch up to a level adds its IDs", "an unneeded ID is not known", "batches up to a level beside claims"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			outcomes, err := m.Seed(ctx, b)
			b.UpTo = 0
			if _, err := m.Seed(ctx, b); err != nil {
				return nil, err
			}
			return outcomes, err
		}}
	}},
	{"an unneeded ID is reserved for its batch", []string{"an unneeded ID that somebody else seeds"}, func(m *Model) alloc.Store {
		return seedingBy{m, m.reserve}
	}},
	{"a repeat of a batch is answered as before", []string{"a repeat of a batch with a higher level", "a repeat of a batch goes on", "a batch up to a level whose answer was lost"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			m.data.mu.Lock()
			before := m.data.pools[b.Pool].batches[fmt.Sprintf("%q %q", b.Job, b.IDs)]
			m.data.mu.Unlock()
			if before != nil {
				return slices.Clone(before), nil
			}
			return m.Seed(ctx, b)
		}}
	}},
	{"a repeat of a batch counts its IDs again", []string{"a repeat of a batch with a higher level", "a repeat of a batch goes on"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			m.data.mu.Lock()
			p := m.data.pools[b.Pool]
			if before := p.batches[fmt.Sprintf("%q %q", b.Job, b.IDs)]; before != nil {
				p.seeded++
			}
			m.data.mu.Unlock()
			return m.Seed(ctx, b)
		}}
	}},
	{"a batch up to a level is known in its process only", []string{"C38 many runs of one batch", "a repeat of a batch with a higher level"}, func(m *Model) alloc.Store {
		process := alloc.JobID(alloc.NewToken())
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			if b.UpTo > 0 {
				b.Job += process
			}
			return m.Seed(ctx, b)
		}}
	}},
	{"what was ever seeded counts for the level", []string{"a repeat of a batch goes on", "only what is free counts"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			return m.Seed(ctx, m.lowered(b, func(p *modelPool) alloc.Count { return p.seeded - alloc.Count(len(p.free())) }))
		}}
	}},
	{"what is held counts for the level", []string{"only what is free counts"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			return m.Seed(ctx, m.lowered(b, func(p *modelPool) alloc.Count { return p.in(alloc.StateHeld) }))
		}}
	}},
	{"what is on its way back counts for the level", []string{"only what is free counts"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			return m.Seed(ctx, m.lowered(b, func(p *modelPool) alloc.Count { return p.in(alloc.StateReturning) }))
		}}
	}},
	{"what is there is unneeded where the level is reached", []string{"of a batch up to a level what is there"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			reached := b.UpTo > 0 && m.available(b.Pool) >= b.UpTo
			outcomes, err := m.Seed(ctx, b)
			for i, o := range outcomes {
				if reached && o != alloc.SeedAdded {
					outcomes[i] = alloc.SeedUnneeded
				}
			}
			return outcomes, err
		}}
	}},
	{"a batch up to a level stops at an ID that is there", []string{"of a batch up to a level what is there", "an unneeded ID that somebody else seeds"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			for i, id := range b.IDs {
				if r, err := m.Inspect(ctx, b.Pool, id); b.UpTo > 0 && err == nil && r.Job != b.Job {
					all := len(b.IDs)
					b.IDs = b.IDs[:i+1]
					outcomes, err := m.Seed(ctx, b)
					return append(outcomes, slices.Repeat([]alloc.SeedOutcome{alloc.SeedUnneeded}, all-i-1)...), err
				}
			}
			return m.Seed(ctx, b)
		}}
	}},
	{"the level is read, then filled", []string{"C38 of many batches at once", "C38 plain seedings done before"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			if b.UpTo == 0 {
				return m.Seed(ctx, b)
			}
			fits := max(0, min(alloc.Count(len(b.IDs)), b.UpTo-m.available(b.Pool)))
			meetAnother()
			all := len(b.IDs)
			b.IDs, b.UpTo = b.IDs[:fits], 0
			outcomes, err := m.Seed(ctx, b)
			return append(outcomes, slices.Repeat([]alloc.SeedOutcome{alloc.SeedUnneeded}, all-len(b.IDs))...), err
		}}
	}},
	{"the level of a refill stays the pool's", []string{"a plain seeding adds all", "C38 batches up to a level beside plain"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			type limited struct {
				*modelData
				alloc.PoolName
			}
			if b.UpTo > 0 {
				levels.Store(limited{m.data, b.Pool}, b.UpTo)
			} else if level, ok := levels.Load(limited{m.data, b.Pool}); ok {
				b.UpTo = level.(alloc.Count)
			}
			return m.Seed(ctx, b)
		}}
	}},
	{"a repeat puts again what a pool has forgotten", []string{"a pool that forgets is filled", "a repeat of a batch by its job"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			m.data.mu.Lock()
			if p := m.data.pools[b.Pool]; p != nil {
				clear(p.batches)
			}
			m.data.mu.Unlock()
			return m.Seed(ctx, b)
		}}
	}},
	{"a draining pool is filled up", []string{"a paused pool is filled"}, func(m *Model) alloc.Store {
		return seedingBy{m, func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
			outcomes, err := m.Seed(ctx, b)
			if b.UpTo > 0 && alloc.Is(err, alloc.CodePoolDraining) {
				return slices.Repeat([]alloc.SeedOutcome{alloc.SeedUnneeded}, len(b.IDs)), nil
			}
			return outcomes, err
		}}
	}},
}

// levels is what one mutant remembers.
var levels sync.Map

// seedingBy is a Model that seeds in another way.
type seedingBy struct {
	*Model
	by func(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error)
}

func (s seedingBy) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	return s.by(ctx, b)
}

// available is how many IDs of a pool are free.
func (m *Model) available(pool alloc.PoolName) alloc.Count {
	return m.Census(pool)[alloc.StateFree]
}

// lowered is a batch with a level that is so much lower, but not none.
func (m *Model) lowered(b alloc.SeedBatch, by func(p *modelPool) alloc.Count) alloc.SeedBatch {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	if p := m.data.pools[b.Pool]; p != nil && b.UpTo > 0 {
		b.UpTo = max(1, b.UpTo-by(p))
	}
	return b
}

// in counts the IDs in a state.
func (p *modelPool) in(state alloc.State) (n alloc.Count) {
	for _, r := range p.ids {
		if r.State == state {
			n++
		}
	}
	return n
}

// reserve says that an ID that another batch did not need is there.
func (m *Model) reserve(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	reserved := map[alloc.ID]bool{}
	m.data.mu.Lock()
	p := m.data.pools[b.Pool]
	for batch := range p.batches {
		for _, id := range b.IDs {
			own := strings.HasPrefix(batch, fmt.Sprintf("%q ", b.Job))
			reserved[id] = reserved[id] || !own && p.ids[id] == nil && strings.Contains(batch, fmt.Sprintf("%q", id))
		}
	}
	m.data.mu.Unlock()
	all := b.IDs
	b.IDs = slices.DeleteFunc(slices.Clone(all), func(id alloc.ID) bool { return reserved[id] })
	seeded, err := m.Seed(ctx, b)
	var outcomes []alloc.SeedOutcome
	for _, id := range all {
		o := alloc.SeedDuplicate
		if !reserved[id] && len(seeded) > 0 {
			o, seeded = seeded[0], seeded[1:]
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, err
}
