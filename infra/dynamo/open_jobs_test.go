package dynamo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/generator"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// openEntries are the IDs of the jobs in the index of open ones.
func (b *bench) openEntries() (ids []string) {
	b.mem.Each(func(it dynamo.Item) {
		if it.Str("pk") == "N#open" {
			ids = append(ids, it.Str("sk"))
		}
	})
	slices.Sort(ids)
	return ids
}

// isOpen demands that these jobs, and no others, are found open.
func (b *bench) isOpen(want ...alloc.Job) {
	b.Helper()
	for _, limit := range []int{1, 100} {
		var got []alloc.Job
		for after := alloc.JobID(""); ; {
			page, err := b.open().OpenJobs(b.Context(), after, limit)
			if err != nil {
				b.Fatal(err)
			}
			got = append(got, page...)
			if len(page) < limit {
				break
			}
			after = page[len(page)-1].ID
		}
		if diff := cmp.Diff(want, got); diff != "" {
			b.Errorf("open jobs (-want +got):\n%s", diff)
		}
	}
}

func TestAJobIsFoundOpenUntilItEndsWhereverThatIsCutOff(t *testing.T) {
	for _, fault := range cutFaults {
		for n := range 5 {
			b := newBench(t)
			s, ctx := b.open(), t.Context()
			j := b.job("2026-01")
			b.table.Plan(dynamotest.Nth(n, dynamotest.Call.Write, fault))
			err := s.CreateJob(ctx, j)
			b.table.Plan(nil)
			if there, jerr := s.Job(ctx, j.ID); jerr == nil {
				b.isOpen(there)
			} else if err == nil {
				t.Fatalf("%s at write %d: the job was made, and is not there: %v", fault, n, jerr)
			}
			refused(t, s.CreateJob(ctx, j), "") // a repeat
			b.isOpen(j)
			ended := j
			ended.State = alloc.JobDone
			b.table.Plan(dynamotest.Nth(n-3, dynamotest.Call.Write, fault))
			_, err = s.ChangeJob(ctx, 1, ended)
			b.table.Plan(nil)
			if now, jerr := s.Job(ctx, j.ID); jerr != nil || err == nil && now.State != alloc.JobDone {
				t.Fatalf("%s at write %d: the job is %s, %v", fault, n, now.State, jerr)
			}
			ended, err = s.ChangeJob(ctx, 1, ended)
			refused(t, err, "")
			b.isOpen()
			if left := b.openEntries(); len(left) > 0 {
				t.Errorf("%s at write %d: entries left: %v", fault, n, left)
			}
			refused(t, s.CreateJob(ctx, j), "") // one that comes late
			b.isOpen()
			b.isOpen()
			if left := b.openEntries(); len(left) > 0 {
				t.Errorf("%s at write %d: entries left after a late creation: %v", fault, n, left)
			}
		}
	}
}

func TestWhatFindingOpenJobsCostsDoesNotDependOnThoseThatHaveEnded(t *testing.T) {
	b := newBench(t)
	s, ctx := b.open(), t.Context()
	var open []alloc.Job
	for i := range 300 {
		j := b.job(alloc.JobID(fmt.Sprintf("2026-%03d", i)))
		refused(t, s.CreateJob(ctx, j), "")
		if i%100 == 50 {
			open = append(open, j)
			continue
		}
		j.State = alloc.JobFailed
		_, err := s.ChangeJob(ctx, 1, j)
		refused(t, err, "")
	}
	b.isOpen(open...)
	b.mem.ResetUsage()
	if _, err := s.OpenJobs(ctx, "", 100); err != nil {
		t.Fatal(err)
	}
	if u := b.mem.Usage(); u.RoundTrips() > 2 || u.ReadUnits > 5 {
		t.Errorf("got %+v, want a query and a read of three jobs", u)
	}
	b.clock.Advance(alloc.JobRetention)
	b.isOpen()
	if left := b.openEntries(); len(left) > 0 {
		t.Errorf("entries of expired jobs: %v", left)
	}
}

// Lists have a job whose record cannot be read beside the others, with what else is known of it; read alone it is a fault of ours.
func TestOneDamagedJobDoesNotHideTheOthers(t *testing.T) {
	for _, attr := range []string{"tally", "in", "log", "ins"} {
		b := newBench(t)
		s, ctx := b.open(), t.Context()
		want := make([]alloc.Job, 4)
		for i := range want {
			want[i] = b.job(alloc.JobID(fmt.Sprintf("2026-%d", i)))
			refused(t, s.CreateJob(ctx, want[i]), "")
		}
		want[3].State = alloc.JobDone
		_, err := s.ChangeJob(ctx, 1, want[3])
		refused(t, err, "")
		for _, i := range []int{1, 3} {
			_, err := b.table.Update(ctx, dynamo.Key{PK: "J#" + string(want[i].ID), SK: "H"}, dynamo.Update{Set: map[string]any{attr: "{[1"}}, dynamo.Exists("pk"))
			refused(t, err, "")
			_, err = s.Job(ctx, want[i].ID)
			refused(t, err, alloc.CodeInternal)
			want[i].State = alloc.JobDamaged
		}
		want[3].Version = 2
		b.isOpen(want[:3]...)
		slices.Reverse(want)
		if got, err := s.ListJobs(ctx, "", 10); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %v, all jobs (-want +got):\n%s", attr, err, cmp.Diff(want, got))
		}
	}
}

func TestAJobKeepsAllThatItIs(t *testing.T) {
	b := newBench(t)
	s, ctx := b.open(), t.Context()
	j := b.job("2026-01")
	refused(t, s.CreateJob(ctx, j), "")
	j.Kind, j.State, j.Version, j.Why, j.Started, j.Total, j.Column = alloc.JobSeed, alloc.JobReceiving, 2, "why", b.clock.Now().UTC(), 7, 3
	j.Tries, j.Faults, j.Change = 3, 2, alloc.NewToken()
	j.Tally = alloc.Tally{Added: 1, Duplicate: 2, Conflict: 3, Invalid: 4, Free: 5, Held: 6, Claimed: 7, Returning: 8, Retired: 9}
	j.Input = alloc.SeedFormat{CSV: true, Column: "code", Header: alloc.HeaderYes}
	for i := range alloc.MaxJobEvents {
		j.Log = append(j.Log, alloc.JobEvent{At: b.clock.Now().UTC().Add(time.Duration(i)), Text: strings.Repeat("ä", 200)})
	}
	for i := range alloc.MaxJobInputs {
		j.Inputs = append(j.Inputs, alloc.JobInput{Digest: strings.Repeat("f", 64), Pieces: i, Entries: 1_000_000, Lines: 1_000_000})
	}
	for range 2 {
		got, err := s.ChangeJob(ctx, 1, j)
		if diff := cmp.Diff(j, got); err != nil || diff != "" {
			t.Fatalf("%v, -want +got:\n%s", err, diff)
		}
	}
	got, err := b.open().Job(ctx, j.ID)
	if diff := cmp.Diff(j, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	another := j
	another.Log = j.Log[:1]
	_, err = s.ChangeJob(ctx, 1, another)
	refused(t, err, alloc.CodeVersionMismatch)
}

func TestTheLargestRefillIsKept(t *testing.T) {
	b := newBench(t)
	s, ctx := b.open(), t.Context()
	want := alloc.Refill{
		Pool: "p", Version: 1, Updated: b.clock.Now().UTC(), Batch: "job", UpTo: alloc.MaxTarget, Filling: true, Dry: strings.Repeat("d", 500),
		DrySince: b.clock.Now().UTC(), Generator: longestConfig(1).Generator,
	}
	for i := range alloc.MaxRefillIDs {
		want.IDs = append(want.IDs, alloc.ID(longest(128, i)))
	}
	for range 2 {
		got, err := s.ChangeRefill(ctx, 0, want)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v, -want +got:\n%s", err, diff)
		}
	}
	got, err := b.open().Refill(ctx, "p")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	done := alloc.Refill{Pool: "p", Updated: want.Updated}
	if _, err = s.ChangeRefill(ctx, 1, done); err != nil {
		t.Fatal(err)
	}
	_, err = s.ChangeRefill(ctx, 1, want)
	refused(t, err, alloc.CodeVersionMismatch)
	if current := asError(t, err).Current; current != 2 {
		t.Errorf("Current: got %d, want 2", current)
	}
	got, err = s.Refill(ctx, "p")
	if done.Version = 2; err != nil || !cmp.Equal(done, got) || got.Generator != (generator.Config{}) {
		t.Errorf("got %+v, %v, want %+v", got, err, done)
	}
}
