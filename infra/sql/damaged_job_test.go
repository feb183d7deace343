package sql

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
)

// Lists have a job whose record cannot be read beside the others, with what else is known of it; read alone it is a fault of ours.
func TestOneDamagedJobDoesNotHideTheOthers(t *testing.T) {
	for _, column := range []string{"tally", "log", "input", "inputs"} {
		path, now := newFile(t), time.Unix(1_800_000_000, 0).UTC()
		s := openAt(t, Config{Path: path, Now: func() time.Time { return now }})
		var ids []alloc.JobID
		for i := range 3 {
			j := alloc.Job{ID: alloc.JobID(fmt.Sprint("job-", i)), Kind: alloc.JobSeed, Pool: "p", By: "shop", State: alloc.JobQueued, Created: now, Updated: now}
			if err := s.CreateJob(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, j.ID)
		}
		edit(t, path, `UPDATE jobs SET `+column+` = '{[1' WHERE id = $1`, ids[1])
		open, err := s.OpenJobs(t.Context(), "", 10)
		all, allErr := s.ListJobs(t.Context(), "", 10)
		before, beforeErr := s.ListJobs(t.Context(), ids[2], 10)
		slices.Reverse(all)
		if err != nil || allErr != nil || beforeErr != nil || len(open) != 3 || len(all) != 3 || len(before) != 2 {
			t.Fatalf("%s: %d open ones, %v; %d in all, %v; %d before the last, %v", column, len(open), err, len(all), allErr, len(before), beforeErr)
		}
		for i, j := range append(open, all...) {
			want := alloc.JobQueued
			if i%3 == 1 {
				want = alloc.JobDamaged
			}
			if j.ID != ids[i%3] || j.State != want || j.Kind != alloc.JobSeed || j.Pool != "p" || j.By != "shop" || !j.Created.Equal(now) {
				t.Errorf("%s: number %d is %+v, want it %s", column, i, j, want)
			}
		}
		if _, err := s.Job(t.Context(), ids[1]); !alloc.Is(err, alloc.CodeInternal) {
			t.Errorf("%s: read alone: %v", column, err)
		}
	}
}
