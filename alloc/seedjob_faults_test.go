package alloc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// bench is a mill with a seeding of four pieces, which every way to its end is to bring to the same counts.
type bench struct {
	*mill
	job alloc.JobID
}

// What the file of a bench has: 13 entries, one of them blank text in its column.
var benchParts = []string{
	"code,x\nA1,1\nA2,1\nA1,1\n",
	"A3,1\nthere-1,1\nA2,1\n",
	"A4,1\nA5,1\n",
	"there-2,1\nA6,1\nbad\x01,1\nA4,1\n,1",
}

const benchAdded = 6

var benchTally = alloc.Tally{Added: benchAdded, Duplicate: 5, Invalid: 2}

func newBench(t testing.TB, policy alloc.Policy) *bench {
	t.Helper()
	b := &bench{mill: newMill(t, alloc.PoolConfig{Policy: policy}, "there-1", "there-2")}
	j := b.file(t, alloc.SeedFormat{CSV: true}, benchParts...)
	b.start(t, j)
	b.job = j.ID
	return b
}

// toTheEnd does what the schedule and the workers do in the course of time, with another process each time.
func (b *bench) toTheEnd(t rapid.TB) {
	t.Helper()
	for range 10 {
		b.clock.Advance(3 * time.Minute)
		s := b.another(t)
		if _, err := s.Tend(b.ctx); err != nil && !alloctest.Injected(err) {
			t.Fatal(err)
		}
		for _, step := range b.post.take() {
			if err := s.Work(b.ctx, step); err != nil && !alloctest.Injected(err) {
				t.Fatal(err)
			}
		}
	}
}

// wantDone fails the test unless the job is done, with the counts and the pool that there must be.
func (b *bench) wantDone(t testing.TB) {
	t.Helper()
	j, err := b.model.Job(t.Context(), b.job)
	if err != nil || j.State != alloc.JobDone || j.Done != 13 || j.Total != 13 || j.Failure != "" {
		t.Errorf("the job is %+v, %v, want it done with 13 entries", j, err)
	}
	if j.Tally != benchTally {
		t.Errorf("the tally is %+v, want %+v", j.Tally, benchTally)
	}
	if n := len(b.rejects(t, b.job)); n != 7 {
		t.Errorf("%d entries are said not to be added, want 7", n)
	}
	b.wantAdded(t, benchAdded)
}

// wantAdded fails the test unless the job has brought so many IDs into the pool.
func (b *bench) wantAdded(t testing.TB, want int) {
	t.Helper()
	ids, _, err := b.model.WalkIDs(t.Context(), pool, "", "", 100)
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for _, r := range ids {
		if strings.HasPrefix(string(r.Job), string(b.job)+".") {
			ours++
		}
	}
	if ours != want {
		t.Errorf("%d IDs in the pool are the job's, want %d", ours, want)
	}
}

// every does the same with each call of the Store going wrong in each way, until no call is left.
func everyFault(t *testing.T, do func(t *testing.T, plan func(s *alloctest.Faulty))) {
	t.Helper()
	for how, fault := range faults {
		for at := 0; ; at++ {
			hit := false
			t.Run(fmt.Sprintf("call %d %s", at, how), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					do(t, func(s *alloctest.Faulty) {
						n := 0
						s.SetPlan(func(alloctest.Call) alloctest.Fault {
							if n++; n == at+1 {
								hit = true
								return fault
							}
							return alloctest.Pass
						})
					})
				})
			})
			if !hit || t.Failed() {
				break
			}
		}
	}
}

func TestASeedingEndsExactlyWhateverFails(t *testing.T) {
	for _, policy := range []alloc.Policy{alloc.PolicyKeep, alloc.PolicyForget} {
		t.Run(string(policy), func(t *testing.T) {
			everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
				b := newBench(t, policy)
				plan(b.store)
				b.toTheEnd(t)
				b.store.SetPlan(nil)
				b.wantDone(t)
			})
		})
	}
}

// A process that dies between any two calls leaves what the next one goes on with.
func TestASeedingSurvivesItsProcess(t *testing.T) {
	for at := 0; ; at++ {
		b := newBench(t, alloc.PolicyKeep)
		ctx, die := context.WithCancel(b.ctx)
		n := 0
		b.store.SetPlan(func(alloctest.Call) alloctest.Fault {
			if n++; n > at {
				die()
				return alloctest.RefusedUnknown
			}
			return alloctest.Pass
		})
		for _, step := range b.post.take() {
			if err := b.Work(ctx, step); err != nil && !alloctest.Injected(err) {
				t.Fatal(err)
			}
		}
		died := ctx.Err() != nil
		die()
		b.store.SetPlan(nil)
		b.post.take() // with the process
		if j, err := b.model.Job(t.Context(), b.job); err != nil || j.Tries != 0 {
			t.Fatalf("died after %d calls: %+v, %v; it was no failure", at, j, err)
		}
		b.toTheEnd(t)
		if b.wantDone(t); t.Failed() {
			t.Fatalf("died after %d calls", at)
		}
		if !died {
			break
		}
	}
}

// However the sending of a file is cut off, a client that repeats what failed has one job with the whole file.
func TestAFileArrivesWhateverFails(t *testing.T) {
	everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
		b := &bench{mill: newMill(t, alloc.PoolConfig{}, "there-1", "there-2")}
		r := alloc.SeedJobRequest{Pool: pool, Format: alloc.SeedFormat{CSV: true}, Intent: alloc.NewIntent(b.clock.Now())}
		plan(b.store)
		repeat := func(do func() error) {
			t.Helper()
			err := do()
			for range 3 {
				if err == nil {
					return
				}
				if !alloctest.Injected(err) {
					t.Fatal(err)
				}
				b.clock.Advance(time.Second)
				err = do()
			}
			t.Fatal(err)
		}
		repeat(func() error {
			j, err := b.OpenSeeding(b.ctx, r)
			b.job = j.ID
			return err
		})
		for n, part := range benchParts {
			repeat(func() error {
				_, _, err := b.ReceivePart(b.ctx, b.job, n, []byte(part))
				return err
			})
		}
		repeat(func() error {
			_, err := b.StartJob(b.ctx, b.job, len(benchParts))
			return err
		})
		b.store.SetPlan(nil)
		b.deliver(t)
		b.wantDone(t)
		if jobs, err := b.model.ListJobs(t.Context(), "", 10); err != nil || len(jobs) != 1 {
			t.Errorf("there are %d jobs, %v, want one", len(jobs), err)
		}
	})
}
