package dynamotest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// auditLoadSize is how many IDs the pool has. Under the race detector, which is ten times slower, there are fewer.
func auditLoadSize() int {
	if raced {
		return 10_000
	}
	return 100_000
}

// A pool of 100,000 IDs is audited while claims, with keys and without, holds, confirmations, releases, retirements, seedings and sweeps go on
// in several processes: there is nothing to be found, and nothing is counted that is not there.
func TestTheAuditFindsNothingOnAHealthyPoolUnderLoad(t *testing.T) {
	for _, policy := range []alloc.Policy{alloc.PolicyKeep, alloc.PolicyForget} {
		t.Run(string(policy), func(t *testing.T) {
			size := auditLoadSize()
			if policy == alloc.PolicyForget {
				size /= 10
			}
			s := newAuditStage(t, size, alloc.PoolConfig{Policy: policy})
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			var done [7]atomic.Int64
			for n := range 4 {
				running.Go(func() { s.load(ctx, n, &done) })
			}
			var found []alloc.Finding
			var err error
			audits := 0
			for begun := time.Now(); audits < 1 || time.Since(begun) < 3*time.Second; audits++ {
				var some []alloc.Finding
				some, _, err = auditWith(t, func() alloc.Store { return s.open() }, alloc.JobID(fmt.Sprint("under-load-", audits)), 100, nil)
				if found = append(found, some...); err != nil || len(found) > 0 {
					break
				}
			}
			stop()
			running.Wait()
			if err != nil || len(found) > 0 {
				t.Fatalf("under load: %v, %s", err, words(found))
			}
			sum := int64(0)
			for i := range done {
				sum += done[i].Load()
			}
			t.Logf("%d audits beside %d claims, %d with a key, %d holds, %d settlements, %d seedings, %d sweeps", audits,
				done[0].Load(), done[1].Load(), done[2].Load(), done[3].Load(), done[4].Load(), done[5].Load())
			if sum < 200 {
				t.Errorf("only %d operations went on beside", sum)
			}
			s.sweep()
			if found, _ := s.findings(100); len(found) > 0 {
				t.Errorf("after it: %s", words(found))
			}
		})
	}
}

// load is one process that does whatever a pool is for, until the context ends.
func (s *auditStage) load(ctx context.Context, n int, done *[7]atomic.Int64) {
	store, err := dynamo.New(dynamo.Config{Table: s.mem, Now: s.clock.Now})
	if err != nil {
		s.Error(err)
		return
	}
	rng := rand.New(rand.NewPCG(uint64(n), 7)) //nolint:gosec // a schedule, no secret
	var have []alloc.Claim
	fine := func(err error) bool {
		switch alloc.CodeOf(err) {
		case "", alloc.CodeBusy, alloc.CodePoolExhausted, alloc.CodeNotOwner, alloc.CodeIDNotFound, alloc.CodeIDRetired, alloc.CodeUnavailable:
			return true
		}
		s.Errorf("beside the audit: %v", err)
		return false
	}
	for i := 0; ctx.Err() == nil; i++ {
		what := rng.IntN(100)
		switch {
		case what < 30:
			o, kind := order(alloc.Count(1+rng.IntN(3)), ""), 0
			if what < 10 {
				o, kind = order(2, fmt.Sprint(n, "-", i)), 1
			} else if what < 20 {
				o, kind = heldOrder(2, time.Hour), 2
			}
			c, err := store.Claim(context.WithoutCancel(ctx), o)
			if !fine(err) {
				return
			}
			if err == nil {
				have = append(have, c)
				done[kind].Add(1)
			}
		case what < 80 && len(have) > 0:
			c := have[len(have)-1]
			have = have[:len(have)-1]
			event := []alloc.Event{alloc.EventRelease, alloc.EventRelease, alloc.EventConfirm, alloc.EventRetire}[rng.IntN(4)]
			_, err := store.Settle(context.WithoutCancel(ctx), alloc.SettleOrder{Pool: pool, Event: event, IDs: c.IDs, Token: c.Token})
			if !fine(err) {
				return
			}
			done[3].Add(1)
		case what < 90:
			b := alloc.SeedBatch{Pool: pool, Job: alloc.JobID(fmt.Sprint("job-", n, "-", i)), IDs: ids(fmt.Sprint("more-", rng.IntN(200)), 60)}
			if _, err := store.Seed(context.WithoutCancel(ctx), b); !fine(err) {
				return
			}
			done[4].Add(1)
		case what < 92:
			s.clock.Advance(time.Second)
			if _, err := store.Sweep(context.WithoutCancel(ctx), pool); !fine(err) {
				return
			}
			done[5].Add(1)
		}
	}
}
