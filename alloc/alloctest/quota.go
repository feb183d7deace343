package alloctest

import (
	"fmt"
	"sync/atomic"
	"time"

	"idpool/alloc"
)

var quotaCases = []testCase{
	{"TakeQuota gives what is asked for as long as there is enough, then the rest, then nothing", func(w *world) {
		hour := w.hour()
		for i, step := range []struct{ n, want alloc.Count }{{40, 40}, {1, 1}, {40, 40}, {0, 0}, {40, 19}, {1, 0}, {1 << 40, 0}} {
			w.takes("aaaaaaaaaaaa", hour, step.n, 100, step.want, fmt.Sprintf("taking %d, step %d", step.n, i))
		}
	}},
	{"one call gets no more than there is", func(w *world) {
		w.takes("aaaaaaaaaaaa", w.hour(), 1000, 100, 100, "taking 1000 of 100")
		w.takes("bbbbbbbbbbbb", w.hour(), alloc.MaxQuota, alloc.MaxQuota, alloc.MaxQuota, "taking the largest quota")
		w.takes("bbbbbbbbbbbb", w.hour(), 1, alloc.MaxQuota, 0, "taking one more")
	}},
	{"each hour and each credential has its own", func(w *world) {
		hour := w.hour()
		for _, id := range []alloc.CredentialID{"aaaaaaaaaaaa", "aaaaaaaaaaab", "baaaaaaaaaaa"} {
			for i := range 3 {
				at := hour.Add(time.Duration(i) * time.Hour)
				w.takes(id, at, 7, 10, 7, "taking 7")
				w.takes(id, at.In(time.FixedZone("far", 7*3600)), 7, 10, 3, "taking what is left, in another time zone")
			}
		}
		w.takes("aaaaaaaaaaaa", hour, 1, 10, 0, "taking of an hour that is used up")
	}},
	{"a limit that was changed counts from then on", func(w *world) {
		hour := w.hour()
		w.takes("aaaaaaaaaaaa", hour, 50, 100, 50, "taking 50 of 100")
		w.takes("aaaaaaaaaaaa", hour, 10, 30, 0, "taking of 30, of which 50 are taken")
		w.takes("aaaaaaaaaaaa", hour, 50, 70, 20, "taking of 70")
		w.takes("aaaaaaaaaaaa", hour, 50, 1000, 50, "taking of 1000")
	}},
	{"of many takers at once, all together never get more than there is, and all of it", func(w *world) {
		n := w.callers()
		hour := w.hour()
		for name, each := range map[alloc.CredentialID]alloc.Count{"one-by-one": 1, "by-threes": 3, "by-many": 1000} {
			limit := alloc.Count(n) + 1
			var got atomic.Int64
			stores := w.processes(n)
			w.together(n, func(i int) {
				for range 3 {
					k, err := stores[i].TakeQuota(w.Context(), name, hour, each, limit)
					switch {
					case err != nil && !repeatable(err):
						w.Errorf("TakeQuota beside others: got %v, want some or none", err)
					case k < 0 || k > each:
						w.Errorf("TakeQuota of %d: got %d", each, k)
					}
					got.Add(int64(k))
				}
			})
			equal(w, alloc.Count(got.Load()) <= limit, true, fmt.Sprintf("%d taken of %d, which is not more than there is", got.Load(), limit))
			rest, err := w.open().TakeQuota(w.Context(), name, hour, limit, limit)
			w.ok(err, "TakeQuota")
			equal(w, alloc.Count(got.Load())+rest, limit, "taken in all")
		}
	}},
	{"what a call with an unknown outcome took is lost, and never given twice", func(w *world) {
		hour := w.hour()
		f := NewFaulty(w.open(), Script("TakeQuota", AppliedButFailed, Refused, RefusedUnknown, Throttled))
		for range 4 {
			if _, err := f.TakeQuota(w.Context(), "aaaaaaaaaaaa", hour, 10, 25); !Injected(err) {
				w.Fatalf("TakeQuota: got %v, want the injected fault", err)
			}
		}
		w.takes("aaaaaaaaaaaa", hour, 10, 25, 10, "taking 10")
		w.takes("aaaaaaaaaaaa", hour, 10, 25, 5, "taking the rest")
	}},
}

// hour is the present one's beginning.
func (w *world) hour() time.Time { return w.clock.Now().Truncate(time.Hour) }

// takes takes of a quota in another process and stops the test unless it gets so many.
func (w *world) takes(id alloc.CredentialID, hour time.Time, n, limit, want alloc.Count, what string) {
	w.Helper()
	got, err := w.elsewhere().TakeQuota(w.Context(), id, hour, n, limit)
	w.ok(err, "TakeQuota")
	equal(w, got, want, what)
}
