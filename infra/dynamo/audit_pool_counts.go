package dynamo

import (
	"context"

	"idpool/alloc"
)

// What the head counts is held against the IDs in a pool that keeps them. There no item ever goes, and one is retired for good: so there are at
// least as many as the head knew of before the scan began, whatever goes on. That there are not more is only true of those whose batches
// have been carried to their end: these are counted in a second scan, where the first one has met more than there should be.

// counts ends the scan.
func (a *auditing) counts(ctx context.Context) error {
	a.Phase = auditOver
	if a.Headless || a.Forgets || a.Recounts || a.Sample < 100 && a.Sample > 0 {
		return nil
	}
	if a.Seeded > a.Met {
		a.find(alloc.FindCounts, string(a.pool), alloc.RemedyRebuild, "the head says that %d IDs were ever added, and there are %d", a.Seeded, a.Met)
		return nil
	}
	if a.Retired > a.RetiredMet {
		a.find(alloc.FindCounts, string(a.pool), alloc.RemedyRebuild, "the head says that %d IDs are retired, and %d are", a.Retired, a.RetiredMet)
	}
	h, err := a.s.poolHead(ctx, a.pool)
	if err != nil {
		return a.unlessLost(err)
	}
	if a.Met-a.Loose > h.seeded {
		a.scanFrom(auditRecount)
	}
	return nil
}

// unlessLost is the error, unless it says that the head is lost: then the next audit says so.
func (a *auditing) unlessLost(err error) error {
	if alloc.Is(err, alloc.CodePoolDamaged) {
		return nil
	}
	return err
}

// recount counts IDs of batches that were carried to their end.
func (a *auditing) recount(ctx context.Context, items []Item) error {
	settled := map[string]bool{}
	for _, it := range items {
		if loose(it) {
			continue
		}
		ok, err := a.batchSettled(ctx, it, settled)
		if err != nil {
			return err
		}
		if ok {
			a.Settled++
		}
	}
	return nil
}

// recounted holds the head, as it is after that, against them.
func (a *auditing) recounted(ctx context.Context) error {
	a.Phase = auditOver
	h, err := a.s.poolHead(ctx, a.pool)
	switch {
	case err != nil:
		return a.unlessLost(err)
	case h.rebuilding:
		return poolRebuilding(a.pool)
	case a.Settled > h.seeded:
		a.find(alloc.FindCounts, string(a.pool), alloc.RemedyRebuild, "the head says that %d IDs were ever added, and there are %d of batches that were carried to their end", h.seeded, a.Settled)
	}
	return nil
}
