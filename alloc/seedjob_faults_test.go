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
	file benchFile
	job  alloc.JobID
}

// benchFile is the file of a bench, in parts, and what is to become of it in a pool of the policy.
type benchFile struct {
	policy alloc.Policy
	parts  []string
	tally  alloc.Tally
}

// benchMixed has IDs that are in the pool, and some that stand in two parts or twice in one. In a pool that forgets they could be
// added again once they were claimed, so benchPlain has none.
var (
	benchMixed = benchFile{alloc.PolicyKeep, []string{
		"code,x\nA1,1\nA2,1\nA1,1\n",
		"A3,1\nthere-1,1\nA2,1\n",
		"A4,1\nA5,1\n",
		"there-2,1\nA6,1\nbad\x01,1\nA4,1\n,1",
	}, alloc.Tally{Added: 6, Duplicate: 5, Invalid: 2}}
	benchPlain = benchFile{alloc.PolicyForget, []string{
		"code,x\nA1,1\nA2,1\nA1,1\n",
		"A3,1\n",
		"A4,1\nbad\x01,1\nA5,1\n",
		"A6,1\n,1",
	}, alloc.Tally{Added: 6, Duplicate: 1, Invalid: 2}}
)

func newBench(t testing.TB, file benchFile) *bench {
	t.Helper()
	b := &bench{mill: newMill(t, alloc.PoolConfig{Policy: file.policy}, "there-1", "there-2"), file: file}
	j := b.mill.file(t, alloc.SeedFormat{CSV: true}, file.parts...)
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
	want := b.file.tally
	all := want.Added + want.Duplicate + want.Invalid
	j, err := b.model.Job(t.Context(), b.job)
	if err != nil || j.State != alloc.JobDone || j.Done != all || j.Total != all || j.Failure != "" {
		t.Errorf("the job is %+v, %v, want it done with %d entries", j, err, all)
	}
	if j.Tally != want {
		t.Errorf("the tally is %+v, want %+v", j.Tally, want)
	}
	if n := len(b.rejects(t, b.job)); n != int(all-want.Added) {
		t.Errorf("%d entries are said not to be added, want %d", n, all-want.Added)
	}
	if added := b.added(t); added != want.Added {
		t.Errorf("the job has brought %d IDs into the pool, want %d", added, want.Added)
	}
}

// added is how many IDs the job has brought into the pool, as the pool shows; of what others put there after the beginning, in a pool
// that does not forget.
func (b *bench) added(t rapid.TB) (ours alloc.Count) {
	t.Helper()
	if _, err := b.model.Sweep(b.ctx, pool); err != nil {
		t.Fatal(err)
	}
	level, err := b.model.Level(b.ctx, pool)
	if err != nil {
		t.Fatal(err)
	}
	if b.file.policy == alloc.PolicyForget {
		return level.Seeded - 2 // that were there
	}
	ids, _, err := b.model.WalkIDs(b.ctx, pool, "", "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ids {
		if strings.HasPrefix(string(r.Job), string(b.job)+".") {
			ours++
		}
	}
	return ours
}

// everyFault does the same with each call of the Store going wrong in each way, until no call is left.
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
	for _, file := range []benchFile{benchMixed, benchPlain} {
		t.Run(string(file.policy), func(t *testing.T) {
			everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
				b := newBench(t, file)
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
		b := newBench(t, benchMixed)
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
		b := &bench{mill: newMill(t, alloc.PoolConfig{}, "there-1", "there-2"), file: benchMixed}
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
		for n, part := range b.file.parts {
			repeat(func() error {
				_, _, err := b.ReceivePart(b.ctx, b.job, n, []byte(part))
				return err
			})
		}
		repeat(func() error {
			_, err := b.StartJob(b.ctx, b.job, len(b.file.parts))
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
