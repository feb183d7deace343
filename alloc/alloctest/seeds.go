package alloctest

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

var seedCases = []testCase{
	{"every added ID can be claimed when Seed returns, and nothing else", func(w *world) {
		ids := w.full("p", 60)
		got := slices.Clone(w.claim(w.open(), order("p", 60)).IDs)
		slices.Sort(got)
		if diff := cmp.Diff(ids, got); diff != "" {
			w.Fatalf("claimed IDs (-seeded +claimed):\n%s", diff)
		}
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"an ID added to an exhausted pool can be claimed at once, also by who has just found it empty", func(w *world) {
		w.full("p", 3)
		found := w.open()
		w.claim(found, order("p", 3))
		w.refuse(found, order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
		w.seedNew("p", "second", []alloc.ID{"late"})
		w.claim(found, order("p", 1))
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"an added ID is free, of generation 0 and names its job", func(w *world) {
		w.full("p", 1)
		got, err := w.open().Inspect(w.Context(), "p", "p-00000")
		w.ok(err, "Inspect")
		want := alloc.IDRecord{Pool: "p", ID: "p-00000", State: alloc.StateFree, Job: "first"}
		if diff := cmp.Diff(want, got, noMetadata); diff != "" {
			w.Fatalf("free ID (-want +got):\n%s", diff)
		}
	}},
	{"C32 an ID that is there is a duplicate while free and a conflict once taken, and nothing about it changes", func(w *world) {
		w.full("p", 10)
		taken := w.claim(w.open(), order("p", 3)).IDs
		batch := append(someIDs("p-", 10), someIDs("new-", 5)...)
		outcomes := w.seed(w.open(), "p", "second", batch)
		for i, id := range batch {
			want := alloc.SeedDuplicate
			switch {
			case slices.Contains(taken, id):
				want = alloc.SeedConflict
			case i >= 10:
				want = alloc.SeedAdded
			}
			equal(w, outcomes[i], want, fmt.Sprintf("outcome of %q", id))
		}
		equal(w, w.drain(w.open(), "p"), 12, "IDs that can be claimed afterwards")
	}},
	{"C32 an exhausted pool seeded with all that it ever had stays exhausted", func(w *world) {
		ids := w.full("p", 8)
		w.claim(w.open(), order("p", 8))
		for _, o := range w.seed(w.open(), "p", "second", ids) {
			equal(w, o, alloc.SeedConflict, "outcome of a claimed ID")
		}
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim")
		w.settle("p")
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim after Sweep")
	}},
	{"C33 the same job repeated says added again and ends in the same pool", func(w *world) {
		ids := w.full("p", 12)
		for range 2 {
			w.seedNew("p", "first", ids)
		}
		w.claim(w.open(), order("p", 5))
		w.seedNew("p", "first", ids)
		equal(w, w.drain(w.open(), "p"), 7, "IDs left")
		w.seedNew("p", "first", ids)
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim after the repeat of a job whose IDs are all taken")
	}},
	{"C33 a batch without a key counts its IDs as added once, and as there when it comes again", func(w *world) {
		w.pool("p", alloc.PoolConfig{})
		b := alloc.SeedBatch{Pool: "p", Job: "named-after-its-IDs", IDs: someIDs("p-", 10), Keyless: true}
		for i, o := range w.seedPatiently(w.open(), b) {
			equal(w, o, alloc.SeedAdded, fmt.Sprintf("outcome of the new ID %q", b.IDs[i]))
		}
		taken := w.claim(w.open(), order("p", 3)).IDs
		for i, o := range w.seedPatiently(w.open(), b) {
			want := alloc.SeedDuplicate
			if slices.Contains(taken, b.IDs[i]) {
				want = alloc.SeedConflict
			}
			equal(w, o, want, fmt.Sprintf("outcome of %q when the batch comes again", b.IDs[i]))
		}
		equal(w, w.drain(w.open(), "p"), 7, "IDs left")
	}},
	{"C33 a job that goes on with more IDs adds those that are missing", func(w *world) {
		w.pool("p", alloc.PoolConfig{})
		ids := someIDs("p-", 9)
		w.seedNew("p", "job", ids[:4])
		w.claim(w.open(), order("p", 2))
		w.seedNew("p", "job", ids[2:])
		equal(w, w.drain(w.open(), "p"), 7, "IDs left")
	}},
	{"C34 a second seeding adds and does not replace", func(w *world) {
		first := w.full("p", 6)
		second := someIDs("second-", 4)
		w.seedNew("p", "second", second)
		got := slices.Clone(w.claim(w.open(), order("p", 10)).IDs)
		slices.Sort(got)
		if diff := cmp.Diff(append(first, second...), got); diff != "" {
			w.Fatalf("claimed IDs (-seeded +claimed):\n%s", diff)
		}
	}},
	{"C35 the largest batch is stored whole", func(w *world) {
		n := size(alloc.MaxSeedIDs)
		w.full("p", n)
		equal(w, w.free("p"), alloc.Count(n), "free IDs in the data")
	}},
	{"the outcomes stand in the order of the IDs", func(w *world) {
		w.pool("p", alloc.PoolConfig{})
		ids := someIDs("p-", 100)
		for i, id := range ids {
			if i%3 == 0 {
				w.seedNew("p", "first", []alloc.ID{id})
			}
		}
		slices.Reverse(ids)
		for i, o := range w.seed(w.open(), "p", "second", ids) {
			want := alloc.SeedAdded
			if (len(ids)-1-i)%3 == 0 {
				want = alloc.SeedDuplicate
			}
			equal(w, o, want, fmt.Sprintf("outcome of %q", ids[i]))
		}
	}},
	{"C33 two jobs with the same IDs at once add each ID once", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 1000})
		ids := someIDs("p-", 40)
		const jobs = 5
		stores := w.processes(jobs)
		added := make([]atomic.Int64, len(ids))
		w.together(jobs, func(i int) {
			for j, o := range w.seedPatiently(stores[i], alloc.SeedBatch{Pool: "p", Job: alloc.JobID(fmt.Sprintf("job-%d", i)), IDs: ids}) {
				switch o {
				case alloc.SeedAdded:
					added[j].Add(1)
				case alloc.SeedDuplicate:
				default:
					w.Errorf("outcome of %q: got %s, want added or duplicate", ids[j], o)
				}
			}
		})
		for j := range added {
			equal(w, added[j].Load(), 1, fmt.Sprintf("jobs that added %q", ids[j]))
		}
		equal(w, w.drain(w.open(), "p"), 40, "IDs that can be claimed")
	}},
	{"C33 one job run twice at once ends in the same pool", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 1000})
		ids := someIDs("p-", 40)
		stores := w.processes(4)
		w.together(len(stores), func(i int) {
			for j, o := range w.seedPatiently(stores[i], alloc.SeedBatch{Pool: "p", Job: "job", IDs: ids}) {
				if o != alloc.SeedAdded {
					w.Errorf("outcome of %q: got %s, want added", ids[j], o)
				}
			}
		})
		equal(w, w.drain(w.open(), "p"), 40, "IDs that can be claimed")
	}},
	{"C35 many small seedings at once lose nothing", func(w *world) {
		n := w.callers() / 3
		w.pool("p", alloc.PoolConfig{MaxBatch: 1000})
		stores := w.processes(n)
		w.together(n, func(i int) {
			job := fmt.Sprintf("job-%02d-", i)
			w.seedPatiently(stores[i], alloc.SeedBatch{Pool: "p", Job: alloc.JobID(job), IDs: someIDs(job, 3)})
		})
		equal(w, w.drain(w.open(), "p"), alloc.Count(3*n), "IDs that can be claimed")
	}},
	{"claims beside seedings take each added ID once", func(w *world) {
		const seeders, claimers, batches, each = 3, 5, 4, 10
		w.pool("p", alloc.PoolConfig{MaxBatch: 1000})
		stores := w.processes(seeders + claimers)
		var taken atomic.Int64
		w.together(len(stores), func(i int) {
			for b := range batches {
				if i < seeders {
					job := fmt.Sprintf("job-%d-%d-", i, b)
					w.seedPatiently(stores[i], alloc.SeedBatch{Pool: "p", Job: alloc.JobID(job), IDs: someIDs(job, each)})
					continue
				}
				for range each {
					switch _, err := w.patiently(stores[i], order("p", 1)); {
					case err == nil:
						taken.Add(1)
					case !alloc.Is(err, alloc.CodePoolExhausted):
						w.Errorf("Claim beside seedings: got %v, want an ID or pool_exhausted", err)
					}
				}
			}
		})
		left := w.drain(w.open(), "p")
		equal(w, left+alloc.Count(taken.Load()), seeders*batches*each, "IDs claimed beside and after the seedings")
	}},
}

// noMetadata lets an empty and a nil map be equal.
var noMetadata = cmp.Transformer("metadata", func(m map[string]string) []string {
	list := []string{}
	for k, v := range m {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	return list
})

// seedPatiently seeds and repeats as long as the answer allows it, with the same job. It may be called by many goroutines.
func (w *world) seedPatiently(s alloc.Store, b alloc.SeedBatch) (outcomes []alloc.SeedOutcome) {
	w.book.offer(b.Pool, b.IDs)
	var err error
	for range patience {
		if outcomes, err = s.Seed(w.Context(), b); !repeatable(err) {
			break
		}
	}
	if err != nil || len(outcomes) != len(b.IDs) {
		w.Errorf("Seed of job %q: got %d outcomes and %v, want %d", b.Job, len(outcomes), err, len(b.IDs))
		return nil
	}
	w.book.seeded(b.Pool, b.IDs, outcomes)
	return outcomes
}
