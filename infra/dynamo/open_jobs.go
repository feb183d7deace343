package dynamo

import (
	"context"

	"idpool/alloc"
)

// The jobs that have not ended are the partition N#open, with an item for each ID. It is put before the job and removed
// when that has ended, so that of no open job it is missing; where its removal was cut off, whoever lists it next does it. It
// expires with the job. A job that has ended is never open again.
const openCatalogue = "N#open"

// OpenJobs implements alloc.Jobs.
func (s *Store) OpenJobs(ctx context.Context, after alloc.JobID, limit int) (list []alloc.Job, err error) {
	q := Query{PK: openCatalogue, From: string(after)}
	err = s.behind(ctx, q, limit, func(id string) Key { return jobKey(alloc.JobID(id)) }, func(entry, it Item) (given bool, err error) {
		now := s.now()
		id := alloc.JobID(entry.Str(AttrSK))
		switch {
		case expired(entry, now):
			s.noMoreOpen(ctx, entry)
			return false, nil
		case it == nil || expired(it, now):
			return false, nil // its creation is under way, or was cut off: then the entry goes when it expires
		}
		if alloc.JobState(it.Str("st")).Ended() {
			s.noMoreOpen(ctx, entry)
			return false, nil
		}
		list = append(list, listedJob(id, it))
		return true, nil
	})
	return list, err
}

func openEntry(j alloc.Job) Item {
	return Item{AttrPK: openCatalogue, AttrSK: string(j.ID), AttrExpires: jobExpiry(j.Created)}
}

// noMoreOpen removes an entry, unless it has become that of a later job. That it could not is no error: it is found again.
func (s *Store) noMoreOpen(ctx context.Context, entry Item) {
	_, _ = s.table.Delete(ctx, entry.Key(), Eq(AttrExpires, entry.Int(AttrExpires))) //nolint:errcheck // whoever lists it does it
}
