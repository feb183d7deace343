//go:build !goonly

package dynamotest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// largeTraffic is what goes on beside the rebuild of a large pool: claims of that pool by a process that has stock of it in memory, and
// claims and seedings of another pool.
type largeTraffic struct {
	*testing.T
	table    dynamo.Table
	warm     *dynamo.Store
	given    map[alloc.ID]bool // of the pool that is rebuilt
	stop     chan struct{}
	all      sync.WaitGroup
	claims   atomic.Int64
	seedings atomic.Int64
}

const busyPool alloc.PoolName = "busy"

func (tr *largeTraffic) open() *dynamo.Store {
	tr.Helper()
	s, err := dynamo.New(dynamo.Config{Table: tr.table})
	if err != nil {
		tr.Fatal(err)
	}
	return s
}

func beginTraffic(t *testing.T, table dynamo.Table) *largeTraffic {
	t.Helper()
	tr := &largeTraffic{T: t, table: table, given: map[alloc.ID]bool{}, stop: make(chan struct{})}
	tr.warm = tr.open()
	if _, err := tr.warm.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "live", IDs: ids("live", livePool)}); err != nil {
		t.Fatal(err)
	}
	tr.claimWarm() // it has the rest of a chunk in memory from now on
	s := tr.open()
	if _, _, err := s.CreatePool(t.Context(), busyPool, alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Seed(t.Context(), alloc.SeedBatch{Pool: busyPool, Job: "first", IDs: ids("first", 100)}); err != nil {
		t.Fatal(err)
	}
	tr.all.Go(tr.seeds)
	tr.all.Go(tr.claimsBusy)
	return tr
}

// goesOn reports whether the traffic is still on.
func (tr *largeTraffic) goesOn() bool {
	select {
	case <-tr.stop:
		return false
	default:
		return true
	}
}

func (tr *largeTraffic) seeds() {
	s := tr.open()
	for n := 0; tr.goesOn(); n++ {
		name := fmt.Sprint("more", n)
		if _, err := s.Seed(tr.Context(), alloc.SeedBatch{Pool: busyPool, Job: alloc.JobID(name), IDs: ids(name, 40)}); err != nil {
			tr.Error(err)
			return
		}
		tr.seedings.Add(1)
	}
}

func (tr *largeTraffic) claimsBusy() {
	s, given := tr.open(), map[alloc.ID]bool{}
	for tr.goesOn() {
		c, err := s.Claim(tr.Context(), alloc.ClaimOrder{Pool: busyPool, Count: 1, By: "client"})
		switch {
		case alloc.Is(err, alloc.CodePoolExhausted) || alloc.Is(err, alloc.CodeBusy):
		case err != nil:
			tr.Error(err)
			return
		case given[c.IDs[0]]:
			tr.Errorf("%s of the other pool was given twice", c.IDs[0])
			return
		default:
			given[c.IDs[0]] = true
			tr.claims.Add(1)
		}
	}
}

func (tr *largeTraffic) end() {
	close(tr.stop)
	tr.all.Wait()
}

// claimWarm claims an ID of the pool by the process that has stock of it, as long as that lasts.
func (tr *largeTraffic) claimWarm() {
	tr.Helper()
	c, err := tr.warm.Claim(tr.Context(), alloc.ClaimOrder{Pool: pool, Count: 1, By: "client"})
	if err == nil {
		tr.give(c)
	} else if !alloc.Is(err, alloc.CodePoolRebuilding) {
		tr.Errorf("a claim out of memory: %v", err)
	}
}

// claimCold claims in new processes after the rebuild.
func (tr *largeTraffic) claimCold() {
	tr.Helper()
	for range 5 {
		c, err := tr.open().Claim(tr.Context(), alloc.ClaimOrder{Pool: pool, Count: 100, By: "client"})
		if err != nil {
			tr.Fatal(err)
		}
		tr.give(c)
	}
}

func (tr *largeTraffic) give(c alloc.Claim) {
	for _, id := range c.IDs {
		if tr.given[id] {
			tr.Errorf("%s was given twice", id)
		}
		tr.given[id] = true
	}
}
