package alloctest

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"idpool/alloc"
	"idpool/alloc/generator"
)

var refillCases = []testCase{
	{"a refill of which no record was kept is of version 0 and empty, whether there is such a pool or not", func(w *world) {
		w.full("p", 1)
		w.changeRefill(0, w.fullRefill("other", 2))
		for _, pool := range []alloc.PoolName{"p", "missing"} {
			w.isRefill(alloc.Refill{Pool: pool})
		}
	}},
	{"a refill's record is read back as it was kept, in every field and to the byte", func(w *world) {
		for i, r := range []alloc.Refill{
			w.fullRefill("p0", alloc.MaxRefillIDs),
			{Pool: "p1"},
			{Pool: "p2", Filling: true, Updated: w.clock.Now()},
			{Pool: "p3", Dry: "the sequence “n” ended\n\t€", DrySince: w.clock.Now().Add(-time.Hour), Generator: someGenerator()},
			{Pool: "p4", Batch: "b/1#ä", IDs: []alloc.ID{"x"}, UpTo: 1 << 53, Generator: generator.Config{Kind: generator.UUIDv7}},
			{Pool: "p5", Batch: "b", IDs: slices.DeleteFunc(slices.Clone(lookAlikes), func(id alloc.ID) bool { return len(id) > longestRefilled }), UpTo: 1},
		} {
			r.Version = 7 // is the Store's to set
			w.changeRefill(0, r)
			w.isRefill(versioned(r, 1))
			if i > 0 { // a change replaces all
				w.changeRefill(1, alloc.Refill{Pool: r.Pool, Filling: !r.Filling})
				w.isRefill(versioned(alloc.Refill{Pool: r.Pool, Filling: !r.Filling}, 2))
			}
		}
		emptied := alloc.Refill{Pool: "p0", Updated: w.clock.Now()}
		w.changeRefill(1, emptied)
		w.isRefill(versioned(emptied, 2))
	}},
	{"ChangeRefill raises the version, and a repeat of the last change succeeds in any process", func(w *world) {
		warm := w.open()
		r := w.fullRefill("p", 20)
		for v := range alloc.Version(6) {
			r.Updated, r.Filling = r.Updated.Add(time.Minute), v%2 == 0
			r.IDs, r.UpTo = someIDs(fmt.Sprintf("%d-", v), int(v)*7), alloc.Count(v)
			for _, s := range []alloc.Store{warm, w.open(), warm} {
				got, err := s.ChangeRefill(w.Context(), v, r)
				w.ok(err, "ChangeRefill")
				w.sameRefill(got, versioned(r, v+1))
			}
			w.isRefill(versioned(r, v+1))
		}
	}},
	{"a change of a refill is known again though its times are finer than an engine keeps", func(w *world) {
		r := w.fullRefill("p", 2)
		r.Updated = r.Updated.Add(123_456_789 * time.Nanosecond).In(time.FixedZone("elsewhere", 3600))
		r.DrySince = r.DrySince.Add(987_654_321 * time.Nanosecond)
		for v := range alloc.Version(2) {
			for range 2 {
				w.changeRefill(v, r)
			}
			w.isRefill(versioned(r, v+1))
			r.Filling = !r.Filling
		}
	}},
	{"ChangeRefill from another version is version_mismatch and changes nothing", func(w *world) {
		first := w.fullRefill("p", 5)
		for _, from := range []alloc.Version{1, 2, 1 << 40} {
			w.refuseRefill(from, first, 0)
		}
		w.isRefill(alloc.Refill{Pool: "p"})
		w.changeRefill(0, first)
		second := first
		second.IDs, second.Filling = nil, false
		for _, from := range []alloc.Version{0, 2, 3, 1 << 40} {
			w.refuseRefill(from, second, 1)
		}
		w.isRefill(versioned(first, 1))
		w.changeRefill(1, second)
		w.refuseRefill(0, first, 2) // a repeat, but not of the last change
		w.refuseRefill(0, second, 2)
		w.refuseRefill(1, first, 2)
		w.isRefill(versioned(second, 2))
	}},
	{"a change of a refill that differs in one field alone is no repeat", func(w *world) {
		for name, change := range refillChanges {
			r := w.fullRefill(alloc.PoolName(name), 3)
			w.changeRefill(0, r)
			other := r
			other.IDs = slices.Clone(r.IDs)
			change(&other)
			w.refuseRefill(0, other, 1)
			w.changeRefill(1, other)
			w.isRefill(versioned(other, 2))
		}
	}},
	{"of many changes of a refill at once, one wins", func(w *world) {
		n := w.callers() / 5
		stores := w.processes(n)
		for v := range alloc.Version(3) {
			var winner atomic.Int64
			w.together(n, func(i int) {
				r := alloc.Refill{Pool: "p", Batch: alloc.JobID(fmt.Sprint("batch ", i)), IDs: someIDs(fmt.Sprint(i, "-"), 9), UpTo: 9}
				switch _, err := stores[i].ChangeRefill(w.Context(), v, r); {
				case err == nil:
					if !winner.CompareAndSwap(0, int64(i)+1) {
						w.Errorf("ChangeRefill from version %d beside others: two succeeded, want one", v)
					}
				case !alloc.Is(err, alloc.CodeVersionMismatch):
					w.Errorf("ChangeRefill beside others: got %v, want success or version_mismatch", err)
				}
			})
			i := winner.Load() - 1
			w.isRefill(alloc.Refill{Pool: "p", Version: v + 1, Batch: alloc.JobID(fmt.Sprint("batch ", i)), IDs: someIDs(fmt.Sprint(i, "-"), 9), UpTo: 9})
		}
	}},
	{"of many equal changes of a refill at once, all succeed as one", func(w *world) {
		n := w.callers() / 5
		stores := w.processes(n)
		r := w.fullRefill("p", 9)
		for v := range alloc.Version(2) {
			w.together(n, func(i int) {
				if _, err := stores[i].ChangeRefill(w.Context(), v, r); err != nil {
					w.Errorf("ChangeRefill beside equal ones: got %v, want success", err)
				}
			})
			w.isRefill(versioned(r, v+1))
			r.Filling = !r.Filling
		}
	}},
	{"C51 the refills of pools whose names begin alike do not mix", func(w *world) {
		for i, name := range listNames {
			w.changeRefill(0, alloc.Refill{Pool: alloc.PoolName(name), UpTo: alloc.Count(i + 1)})
		}
		for i, name := range listNames {
			w.isRefill(alloc.Refill{Pool: alloc.PoolName(name), Version: 1, UpTo: alloc.Count(i + 1)})
		}
	}},
	{"a refill's record stays for good, and the states of its pool do not touch it", func(w *world) {
		w.full("p", 3)
		r := w.fullRefill("p", 3)
		w.changeRefill(0, r)
		w.setState("p", alloc.PoolDraining)
		w.clock.Advance(2 * alloc.SampleRetention)
		w.settle("p")
		w.setState("p", alloc.PoolDeleted)
		w.settle("p")
		w.isRefill(versioned(r, 1))
		w.changeRefill(1, r)
	}},
	{"a change of a refill whose answer is lost, or that is refused, is repeated and stands once", func(w *world) {
		for i, faults := range faultSeries() {
			r := w.fullRefill(alloc.PoolName(fmt.Sprintf("p-%d", i)), 5)
			f := NewFaulty(w.open(), nil)
			for v := range alloc.Version(2) {
				f.SetPlan(Script("ChangeRefill", faults...))
				w.untilDone("ChangeRefill", func() error { _, err := f.ChangeRefill(w.Context(), v, r); return err })
				w.isRefill(versioned(r, v+1))
				r.Filling = !r.Filling
			}
		}
	}},
}

// refillChanges change one field of a refill each.
var refillChanges = map[string]func(r *alloc.Refill){
	"batch":      func(r *alloc.Refill) { r.Batch += "2" },
	"up-to":      func(r *alloc.Refill) { r.UpTo++ },
	"filling":    func(r *alloc.Refill) { r.Filling = !r.Filling },
	"dry":        func(r *alloc.Refill) { r.Dry += " still" },
	"dry-since":  func(r *alloc.Refill) { r.DrySince = r.DrySince.Add(time.Second) },
	"updated":    func(r *alloc.Refill) { r.Updated = r.Updated.Add(time.Second) },
	"generator":  func(r *alloc.Refill) { r.Generator.Block += " more" },
	"none":       func(r *alloc.Refill) { r.Generator = generator.Config{} },
	"last-id":    func(r *alloc.Refill) { r.IDs[len(r.IDs)-1] += "x" },
	"fewer-ids":  func(r *alloc.Refill) { r.IDs = r.IDs[:len(r.IDs)-1] },
	"order":      func(r *alloc.Refill) { slices.Reverse(r.IDs) },
	"without":    func(r *alloc.Refill) { r.IDs = nil },
	"burning":    func(r *alloc.Refill) { r.Burning = "" },
	"never-dry":  func(r *alloc.Refill) { r.DrySince = time.Time{} },
	"ambiguous":  func(r *alloc.Refill) { r.Generator.WithoutAmbiguous = !r.Generator.WithoutAmbiguous },
	"characters": func(r *alloc.Refill) { r.Generator.Length++ },
}

// fullRefill has every field set, and n IDs of the greatest length.
func (w *world) fullRefill(pool alloc.PoolName, n int) alloc.Refill {
	ids := someIDs("größer-", n)
	for i := range ids {
		ids[i] += alloc.ID(strings.Repeat("x", longestRefilled-len(ids[i])))
	}
	return alloc.Refill{
		Pool: pool, Updated: w.clock.Now(), Batch: "refill/1 ä", IDs: ids, UpTo: alloc.MaxTarget, Filling: true, Burning: "restore ö",
		Dry: "all 1,000 codes are made; ask for longer ones", DrySince: w.clock.Now().Add(-90 * time.Minute), Generator: someGenerator(),
	}
}

// someGenerator has every field set, each at its longest where it has a length. No such one can work, which is no affair of
// a Store's.
func someGenerator() generator.Config {
	return generator.Config{
		Kind: generator.Random, Alphabet: "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`", Length: 64,
		Prefix: strings.Repeat("ä", 16), Group: 4, Separator: "~", CheckChar: generator.CheckMod3736, WithoutAmbiguous: true,
		Block: strings.Repeat("damned ", 285) + "word", Sequence: strings.Repeat("s", alloc.MaxNameBytes),
		Format: "INV-{yyyy}-{mm}-{dd}-{n:19}", Overflow: generator.OverflowGrow, TimeZone: "America/Argentina/ComodRivadavia",
	}
}

func versioned(r alloc.Refill, v alloc.Version) alloc.Refill {
	r.Version = v
	return r
}

// changeRefill keeps a record from a cold process, and checks the answer.
func (w *world) changeRefill(from alloc.Version, r alloc.Refill) {
	w.Helper()
	got, err := w.open().ChangeRefill(w.Context(), from, r)
	w.ok(err, "ChangeRefill")
	w.sameRefill(got, versioned(r, from+1))
}

func (w *world) refuseRefill(from alloc.Version, r alloc.Refill, current alloc.Version) {
	w.Helper()
	_, err := w.open().ChangeRefill(w.Context(), from, r)
	equal(w, w.wantError(err, alloc.CodeVersionMismatch, fmt.Sprintf("ChangeRefill from %d", from)).Current, current, "Current")
}

// isRefill stops the test unless the record of a pool is as wanted.
func (w *world) isRefill(want alloc.Refill) {
	w.Helper()
	got, err := w.elsewhere().Refill(w.Context(), want.Pool)
	w.ok(err, "Refill")
	w.sameRefill(got, want)
}

func (w *world) sameRefill(got, want alloc.Refill) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(sameTime), cmpopts.EquateEmpty()); diff != "" {
		w.Fatalf("refill (-want +got):\n%s", diff)
	}
}
