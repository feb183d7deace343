package dynamo_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

func (b *bench) job(id alloc.JobID) alloc.Job {
	return alloc.Job{
		ID: id, Kind: alloc.JobExport, Pool: "p", Of: alloc.StateFree, Format: "csv", By: "client", State: alloc.JobQueued, Version: 1,
		Created: b.clock.Now().UTC(), Updated: b.clock.Now().UTC(),
	}
}

func TestJobsAreListedFromTheNewestAndCountAsAbsentAfterAWeek(t *testing.T) {
	b := newBench(t)
	s, ctx := b.open(), t.Context()
	var want []alloc.Job
	for i := range 9 {
		j := b.job(alloc.JobID(fmt.Sprintf("2026-%02d", i)))
		refused(t, s.CreateJob(ctx, j), "")
		refused(t, s.CreateJob(ctx, j), "") // a repeat
		refused(t, s.PutPart(ctx, j.ID, 0, alloc.Part{Data: []byte("x"), IDs: 1, Next: "n"}), "")
		want = append(want, j)
		b.clock.Advance(time.Hour)
	}
	slices.Reverse(want)
	list := func(want []alloc.Job) {
		t.Helper()
		for _, limit := range []int{1, 2, 3, 9, 100} {
			var got []alloc.Job
			for before := alloc.JobID(""); ; {
				page, err := b.open().ListJobs(ctx, before, limit)
				refused(t, err, "")
				got = append(got, page...)
				if len(page) < limit {
					break
				}
				before = page[len(page)-1].ID
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("in pages of %d: -want +got:\n%s", limit, diff)
			}
		}
	}
	list(want)
	b.clock.Advance(alloc.JobRetention - 7*time.Hour) // the first three are over
	list(want[:6])
	over := want[8]
	_, err := s.Job(ctx, over.ID)
	refused(t, err, alloc.CodeJobNotFound)
	_, err = s.ChangeJob(ctx, 1, over)
	refused(t, err, alloc.CodeJobNotFound)
	_, err = s.Part(ctx, over.ID, 0)
	refused(t, err, alloc.CodeJobNotFound)
	refused(t, s.PutPart(ctx, over.ID, 1, alloc.Part{}), alloc.CodeJobNotFound)
	anew := b.job(over.ID)
	refused(t, s.CreateJob(ctx, anew), "")
	refused(t, s.PutPart(ctx, over.ID, 0, alloc.Part{Data: []byte("new")}), "")
	if p, err := s.Part(ctx, over.ID, 0); err != nil || string(p.Data) != "new" {
		t.Errorf("the part of a job made anew: %+v, %v", p, err)
	}
	if got, err := s.Job(ctx, over.ID); err != nil || !cmp.Equal(got, anew) {
		t.Errorf("a job made anew: %+v, %v", got, err)
	}
}

func TestAJobChangesAtItsVersionOnly(t *testing.T) {
	b := newBench(t)
	s, ctx, j := b.open(), t.Context(), b.job("job")
	refused(t, s.CreateJob(ctx, j), "")
	j.State, j.Mark, j.Done, j.Parts, j.Failure = alloc.JobRunning, "m", 20, 1, "why"
	j.Tries, j.Verdict = 3, alloc.VerdictHealthy
	j.Spec = alloc.JobSpec{
		Sequence: "s", Sample: 7, Since: b.clock.Now().UTC(), Source: alloc.RestoreBurn, AtMost: 9, Policy: alloc.PolicyForget, FoldCase: true,
	}
	for range 2 {
		got, err := s.ChangeJob(ctx, 1, j)
		j.Version = 2
		if diff := cmp.Diff(j, got); err != nil || diff != "" {
			t.Errorf("changed: %v, -want +got:\n%s", err, diff)
		}
	}
	j.State = alloc.JobDone
	_, err := s.ChangeJob(ctx, 1, j)
	if e := asError(t, err); e.Code != alloc.CodeVersionMismatch || e.Current != 2 {
		t.Errorf("a change of an old version: %v, want a mismatch with version 2", err)
	}
	_, err = s.ChangeJob(ctx, 1, b.job("none"))
	refused(t, err, alloc.CodeJobNotFound)
}

func TestAPartIsKeptByteForByteAndTheFirstStays(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		s, ctx := process(t, table), t.Context()
		j := alloc.Job{ID: "job", Kind: alloc.JobExport, Created: time.Now()}
		refused(t, s.CreateJob(ctx, j), "")
		want := alloc.Part{Data: bytes.Repeat([]byte{0xff, 0}, alloc.MaxPartBytes/2), IDs: 7, Next: "next"}
		refused(t, s.PutPart(ctx, "job", 3, want), "")
		refused(t, s.PutPart(ctx, "job", 3, alloc.Part{Data: []byte("other")}), "")
		got, err := process(t, table).Part(ctx, "job", 3)
		if err != nil || !bytes.Equal(got.Data, want.Data) || got.IDs != want.IDs || got.Next != want.Next {
			t.Errorf("got %d bytes, %d, %q, %v", len(got.Data), got.IDs, got.Next, err)
		}
		_, err = s.Part(ctx, "job", 4)
		refused(t, err, alloc.CodeJobNotFound)
	})
}

func TestAJobSurvivesAFaultAtEveryWrite(t *testing.T) {
	atEachWrite(t, func(t *testing.T, b *bench) {
		ctx, j := t.Context(), b.job("job")
		insist(b, func(s *dynamo.Store) (bool, error) { return true, s.CreateJob(ctx, j) })
		insist(b, func(s *dynamo.Store) (bool, error) {
			return true, s.PutPart(ctx, "job", 0, alloc.Part{Data: []byte("data"), IDs: 3, Next: "n"})
		})
		j.State, j.Mark, j.Parts = alloc.JobRunning, "n", 1
		insist(b, func(s *dynamo.Store) (alloc.Job, error) { return s.ChangeJob(ctx, 1, j) })
		j.Version = 2
		list, err := b.open().ListJobs(ctx, "", 10)
		if diff := cmp.Diff([]alloc.Job{j}, list); err != nil || diff != "" {
			t.Errorf("listed: %v, -want +got:\n%s", err, diff)
		}
		p, err := b.open().Part(ctx, "job", 0)
		if diff := cmp.Diff(alloc.Part{Data: []byte("data"), IDs: 3, Next: "n"}, p); err != nil || diff != "" {
			t.Errorf("part: %v, -want +got:\n%s", err, diff)
		}
	})
}
