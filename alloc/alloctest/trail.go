package alloctest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"idpool/alloc"
)

var trailCases = []testCase{
	{"a record is read back as it was appended", func(w *world) {
		full := w.record(0)
		full.Detail, full.Result = `{Description:größer "x" MaxBatch:7}`, string(alloc.CodePoolExists)
		w.clock.Advance(time.Second)
		bare := alloc.AuditRecord{ID: w.record(1).ID, At: w.clock.Now(), Client: "c", Action: "a", Target: "t", Result: "ok"}
		w.append(full)
		w.append(bare)
		w.sameTrail(w.trail(10), []alloc.AuditRecord{bare, full})
	}},
	{"a repeat with the same ID changes nothing", func(w *world) {
		first := w.record(0)
		w.append(first)
		w.append(first)
		changed := first
		changed.Detail, changed.Result = "something else", "internal"
		w.append(changed)
		w.sameTrail(w.trail(10), []alloc.AuditRecord{first})
	}},
	{"an empty trail has no records", func(w *world) {
		w.sameTrail(w.trail(10), nil)
	}},
	{"records come newest first, page by page, from whatever process, over days and years", func(w *world) {
		var want []alloc.AuditRecord
		waits := []time.Duration{0, time.Second, time.Second, 0, time.Hour, 26 * time.Hour, 45 * 24 * time.Hour, 400 * 24 * time.Hour, time.Second}
		for i, d := range waits {
			w.clock.Advance(d)
			for j := range 2 {
				r := w.record(2*i + j)
				w.append(r)
				want = append(want, r)
			}
		}
		slices.Reverse(want)
		for _, limit := range []int{1, 4, len(want), 100} {
			w.sameTrail(w.trail(limit), want)
		}
		got, err := w.open().Records(w.Context(), "", 3)
		w.ok(err, "Records")
		w.sameTrail(got, want[:3])
		got, err = w.open().Records(w.Context(), w.trail(100)[6].Place(), 2)
		w.ok(err, "Records before a record")
		w.sameTrail(got, want[7:9])
	}},
	{"records of many callers at once are all kept", func(w *world) {
		n := w.callers()
		stores := w.processes(n)
		want := make([]alloc.AuditRecord, n)
		for i := range want {
			want[n-1-i] = w.record(i)
		}
		w.together(n, func(i int) {
			if err := stores[i].Record(w.Context(), want[i]); err != nil {
				w.Errorf("Record beside others: got %v, want no error", err)
			}
		})
		got := w.trail(100) // in whatever order they came
		slices.SortFunc(got, func(a, b alloc.AuditRecord) int { return strings.Compare(b.ID, a.ID) })
		w.sameTrail(got, want)
	}},
}

// record makes the nth record, at the present time, with an ID as Service makes it.
func (w *world) record(n int) alloc.AuditRecord {
	at := w.clock.Now()
	return alloc.AuditRecord{
		ID: fmt.Sprintf("%s-%05d", at.Format("20060102T150405.000000Z"), n), At: at,
		Client: "client", Action: "pool.create", Target: fmt.Sprintf("pool/p-%d", n), Detail: "what changed",
		Result: "ok", Request: fmt.Sprintf("request %d", n), Address: "2001:db8::1",
	}
}

func (w *world) append(r alloc.AuditRecord) {
	w.Helper()
	w.ok(w.open().Record(w.Context(), r), "Record")
}

// trail reads the whole trail in pages.
func (w *world) trail(limit int) []alloc.AuditRecord {
	w.Helper()
	return pages(w, "Records", limit, func(before string) ([]alloc.AuditRecord, error) {
		return w.open().Records(w.Context(), before, limit)
	}, alloc.AuditRecord.Place)
}

// sameTrail compares all but where the records stand.
func (w *world) sameTrail(got, want []alloc.AuditRecord) {
	w.Helper()
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(sameTime), cmpopts.IgnoreTypes(alloc.Link{})); diff != "" {
		w.Fatalf("records (-want +got):\n%s", diff)
	}
}
