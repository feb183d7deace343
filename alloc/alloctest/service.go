package alloctest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"idpool/alloc"
)

// serviceCases are about what alloc.Service makes of a Store.
var serviceCases = []testCase{
	{"C21 500 callers of one process take numbers at once from segments of 10, and each gets another", func(w *world) {
		n := size(500)
		w.sequence("s", alloc.SequenceConfig{Segment: 10})
		s, ctx := w.service(), w.asAdmin()
		var mu sync.Mutex
		var got []alloc.Number
		w.together(n, func(int) {
			numbers, replayed, err := s.Next(ctx, alloc.LeaseRequest{Sequence: "s", Count: 1})
			if err != nil || replayed || len(numbers) != 1 {
				w.Errorf("Next beside others: got %v, replayed %v, %v; want one number", numbers, replayed, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, numbers[0])
		})
		w.distinct(got, n)
		if position := w.readSequence("s").Next; position < alloc.Number(n)+1 || position > alloc.Number(n)+10 {
			w.Errorf("Next after %d numbers in segments of 10: got %d, want at most one segment beyond", n, position)
		}
	}},
	{"C21 callers of several processes take numbers at once from segments of 10, and each gets another", func(w *world) {
		const processes = 5
		n := size(500)
		w.sequence("s", alloc.SequenceConfig{Segment: 10})
		var services [processes]*alloc.Service
		for i := range services {
			services[i] = w.service()
		}
		ctx := w.asAdmin()
		var mu sync.Mutex
		var got []alloc.Number
		w.together(n, func(i int) {
			numbers, _, err := services[i%processes].Next(ctx, alloc.LeaseRequest{Sequence: "s", Count: 1})
			for range patience {
				if !repeatable(err) {
					break
				}
				numbers, _, err = services[i%processes].Next(ctx, alloc.LeaseRequest{Sequence: "s", Count: 1})
			}
			if err != nil {
				w.Errorf("Next beside other processes: got %v, want a number", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, numbers...)
		})
		w.distinct(got, n)
	}},
	{"C25 a sequence that cannot work is not created", func(w *world) {
		s, ctx := w.service(), w.asAdmin()
		for what, bad := range map[string]alloc.SequenceConfig{
			"a start above the limit":   {Start: 101, Limit: 100},
			"a start above all numbers": {Start: alloc.MaxNumber + 1},
			"a limit above all numbers": {Limit: alloc.MaxNumber + 1},
			"two starts":                {Start: 5, StartAtZero: true},
			"a lease below none":        {MaxLease: -1},
			"a lease above its limit":   {MaxLease: alloc.MaxLeaseLimit + 1},
			"a segment below none":      {Segment: -1},
			"a segment above its limit": {Segment: alloc.MaxSegment + 1},
			"a description of a mark":   {Description: "a\u202eb"},
		} {
			_, created, err := s.CreateSequence(ctx, "s", bad)
			w.want(err, alloc.CodeInvalidConfig, "CreateSequence with "+what)
			equal(w, created, false, "created")
			_, err = w.open().Sequence(w.Context(), "s")
			w.want(err, alloc.CodeSequenceNotFound, "Sequence after "+what)
		}
		_, created, err := s.CreateSequence(ctx, "s", alloc.SequenceConfig{Start: 100, Limit: 100, MaxLease: 1, Segment: 1})
		w.ok(err, "CreateSequence of one number")
		equal(w, created, true, "created")
		w.lease(w.open(), leaseOrder("s", 1))
		w.refuseLease(w.open(), leaseOrder("s", 1), alloc.CodeSequenceExhausted, "Lease after the one number")
	}},
	{"C25 a pool that cannot work is not created", func(w *world) {
		s, ctx := w.service(), w.asAdmin()
		for what, bad := range map[string]alloc.PoolConfig{
			"a batch below none":      {MaxBatch: -1},
			"a batch above its limit": {MaxBatch: alloc.MaxBatchLimit + 1},
			"a policy that is none":   {Policy: "burn"},
			"a description of a mark": {Description: "a\u202eb"},
		} {
			_, created, err := s.CreatePool(ctx, "p", bad)
			w.want(err, alloc.CodeInvalidConfig, "CreatePool with "+what)
			equal(w, created, false, "created")
			_, err = w.open().Pool(w.Context(), "p")
			w.want(err, alloc.CodePoolNotFound, "Pool after "+what)
		}
		_, created, err := s.CreatePool(ctx, "p", alloc.PoolConfig{MaxBatch: 1})
		w.ok(err, "CreatePool with the least batch")
		equal(w, created, true, "created")
	}},
	{"Pools and Sequences leave out what is deleted and lose nothing behind it, page by page", func(w *world) {
		for i, name := range listNames {
			w.pool(alloc.PoolName(name), alloc.PoolConfig{})
			w.sequence(alloc.SequenceName(name), alloc.SequenceConfig{})
			if i%4 != 1 {
				w.setState(alloc.PoolName(name), alloc.PoolDeleted)
				w.setSequence(alloc.SequenceName(name), alloc.SequenceDeleted)
			}
		}
		s, ctx := w.service(), w.asAdmin()
		for _, limit := range []int{1, 2, 100} {
			var pools, sequences []string
			for c, more := alloc.Cursor(""), true; more; more = c != "" {
				page, next, err := s.Pools(ctx, c, limit)
				w.ok(err, "Pools")
				for _, p := range page {
					w.ok(p.LevelError, "Level")
					pools = append(pools, string(p.Pool.Name))
				}
				c = next
			}
			for c, more := alloc.Cursor(""), true; more; more = c != "" {
				page, next, err := s.Sequences(ctx, c, limit)
				w.ok(err, "Sequences")
				for _, q := range page {
					sequences = append(sequences, string(q.Name))
				}
				c = next
			}
			want := fmt.Sprint([]string{listNames[1], listNames[5], listNames[9]})
			equal(w, fmt.Sprint(pools), want, fmt.Sprintf("pools in pages of %d", limit))
			equal(w, fmt.Sprint(sequences), want, fmt.Sprintf("sequences in pages of %d", limit))
		}
	}},
}

// service starts another process: a Service over a Store with nothing in memory.
func (w *world) service() *alloc.Service {
	w.Helper()
	s, err := alloc.NewService(alloc.Config{Store: w.open(), Now: w.clock.Now})
	w.ok(err, "NewService")
	return s
}

// asAdmin is the context of a caller with all scopes.
func (w *world) asAdmin() context.Context {
	return alloc.WithCaller(w.Context(), alloc.Caller{Client: "client", Scopes: alloc.AllScopes()})
}

// distinct fails the case unless there are n different numbers.
func (w *world) distinct(numbers []alloc.Number, n int) {
	w.Helper()
	slices.Sort(numbers)
	if different := len(slices.Compact(slices.Clone(numbers))); len(numbers) != n || different != n {
		w.Errorf("numbers: got %d, %d of them different, want %d: %v", len(numbers), different, n, numbers)
	}
}
