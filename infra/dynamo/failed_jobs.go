package dynamo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"idpool/alloc"
)

// The jobs that have ended badly are the partition N#failed, with an item for each end: its moment in 20 digits, and the ID. It is put before
// the change that ends the job, so that of no bad end it is missing. Where that change was refused or cut off, the job says another end, or none, and
// the item is passed over; it expires with the job.
const failedCatalogue = "N#failed"

// putFailed puts the entry of a job that is about to end badly. A repeat finds it there.
func (s *Store) putFailed(ctx context.Context, j alloc.Job) error {
	if !j.EndedBadly() {
		return nil
	}
	return s.putFresh(ctx, Item{AttrPK: failedCatalogue, AttrSK: j.EndPlace(), AttrExpires: jobExpiry(j.Created)})
}

// FailedJobs implements alloc.Jobs.
func (s *Store) FailedJobs(ctx context.Context, since time.Time, before string, limit int) (list []alloc.Job, err error) {
	q := Query{PK: failedCatalogue, From: fmt.Sprintf("%020d", max(0, nanos(since))), To: before, Descending: true}
	err = s.behind(ctx, q, limit, keyOfEnd, func(entry, it Item) (given bool, err error) {
		now := s.now()
		if expired(entry, now) || it == nil || expired(it, now) {
			return false, nil
		}
		_, id, _ := strings.Cut(entry.Str(AttrSK), "#")
		j := listedJob(alloc.JobID(id), it)
		if alloc.EndPlaceOf(j.Updated, j.ID) != entry.Str(AttrSK) || !endedBadly(it) {
			return false, nil
		}
		list = append(list, j)
		return true, nil
	})
	return list, err
}

func keyOfEnd(place string) Key {
	_, id, _ := strings.Cut(place, "#")
	return jobKey(alloc.JobID(id))
}

// endedBadly is EndedBadly of a stored job, also of one that cannot be read as a whole.
func endedBadly(it Item) bool {
	return alloc.Job{State: alloc.JobState(it.Str("st")), Verdict: it.Str("verd")}.EndedBadly()
}
