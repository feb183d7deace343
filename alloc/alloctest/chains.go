package alloctest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"idpool/alloc"
)

var chainCases = []testCase{
	{"each record has the hash of the one before it, over the turns of months and years, and the first of all has none", func(w *world) {
		var want []alloc.AuditRecord
		for i, d := range []time.Duration{0, time.Second, 24 * time.Hour, 40 * 24 * time.Hour, 0, 400 * 24 * time.Hour, time.Second} {
			w.clock.Advance(d)
			want = append(want, w.record(i))
			w.append(want[i])
		}
		w.sameTrail(w.chained(), want)
		months, err := w.open().Months(w.Context())
		w.ok(err, "Months")
		equal(w, len(months), 3, "months")
	}},
	{"every field of a record is stored exactly, so that it is intact when it is read", func(w *world) {
		full := filled[alloc.AuditRecord](w.clock.Now().Add(123456789 * time.Nanosecond))
		full.ID, full.Link = w.record(0).ID, alloc.Link{}
		bare := alloc.AuditRecord{ID: w.record(1).ID, At: w.clock.Now(), Client: "c", Action: "a", Target: "t", Result: "ok"}
		odd := bare
		odd.ID, odd.Detail, odd.Reason, odd.Before = w.record(2).ID, "a\tb\nc\x7f 😀 e\u0301", " space ", `{"größe": [1, "x"]}`
		for _, r := range []alloc.AuditRecord{full, bare, odd} {
			w.append(r)
		}
		w.sameTrail(w.chained(), []alloc.AuditRecord{full, bare, odd})
	}},
	{"what the caller says of a record's place is not believed", func(w *world) {
		r := w.record(0)
		r.Link = alloc.Link{Month: "2011-01", Position: 7, Previous: "forged", Hash: "forged"}
		w.append(r)
		w.sameTrail(w.chained(), []alloc.AuditRecord{r})
		equal(w, w.chained()[0].Position, 1, "Position")
	}},
	{"a clock that is behind appends to the last month that has a record", func(w *world) {
		w.clock.Advance(40 * 24 * time.Hour)
		w.append(w.record(0))
		behind := w.fixture.Open(w.TB, func() time.Time { return w.clock.Now().Add(-60 * 24 * time.Hour) })
		late := w.record(1)
		w.ok(behind.Record(w.Context(), late), "Record by a clock that is behind")
		all := w.chained()
		equal(w, len(all), 2, "records")
		equal(w, all[1].Month, all[0].Month, "month of the late one")
		equal(w, all[1].ID, late.ID, "the last record")
	}},
	{"records of many callers at once stand in one chain without a gap, each once, though some are repeated", func(w *world) {
		const callers, each = 20, 3
		stores := w.processes(callers)
		w.append(w.record(1000))
		w.together(callers, func(i int) {
			for n := range each {
				r := w.record(100*(i/2) + n) // two callers append the same
				for err := stores[i].Record(w.Context(), r); err != nil; err = stores[i].Record(w.Context(), r) {
					if !repeatable(err) {
						w.Errorf("Record beside others: got %v, want no error", err)
						return
					}
				}
			}
		})
		all := w.chained()
		equal(w, len(all), 1+callers/2*each, "records")
		ids := map[string]bool{}
		for _, r := range all {
			equal(w, ids[r.ID], false, "a record that stands twice")
			ids[r.ID] = true
		}
	}},
	{"a record whose answer is lost is repeated and stands once, also in the next month", func(w *world) {
		f := NewFaulty(w.open(), nil)
		n := 0
		for _, faults := range faultSeries() {
			r := w.record(n)
			f.SetPlan(Script("Record", faults...))
			w.untilDone("Record", func() error {
				defer w.clock.Advance(12 * 24 * time.Hour)
				return f.Record(w.Context(), r)
			})
			n++
			w.ok(w.open().Record(w.Context(), r), "Record again")
			equal(w, len(w.chained()), n, "records")
		}
	}},
	{"what is intended is known until it is recorded, and stands in no chain before", func(w *world) {
		var intents []alloc.AuditRecord
		for i := range 6 {
			intents = append(intents, w.record(i))
		}
		shuffled(len(intents), func(i int) {
			w.ok(w.open().Intend(w.Context(), intents[i]), "Intend")
			changed := intents[i]
			changed.Detail = "said anew"
			w.ok(w.open().Intend(w.Context(), changed), "Intend again")
		})
		equal(w, len(w.chained()), 0, "records")
		w.clock.Advance(time.Minute)
		w.sameTrail(w.intended(100), intents)
		w.sameTrail(w.intended(2), intents[:2])
		early, err := w.open().Intended(w.Context(), w.clock.Now().Add(-time.Hour), 100)
		w.ok(err, "Intended")
		equal(w, len(early), 0, "what was intended before that")
		done := intents[2]
		done.Result, done.After = string(alloc.CodePoolExists), "as it was"
		w.append(done)
		w.ok(w.open().Intend(w.Context(), intents[2]), "Intend of what was recorded")
		w.append(done)
		w.sameTrail(w.intended(100), slices.Delete(slices.Clone(intents), 2, 3))
		w.sameTrail(w.chained(), []alloc.AuditRecord{done})
	}},
	{"an intent whose answer is lost is repeated, and is ended by its record", func(w *world) {
		f := NewFaulty(w.open(), nil)
		for i, faults := range faultSeries() {
			r := w.record(i)
			f.SetPlan(Script("Intend", faults...))
			w.untilDone("Intend", func() error { return f.Intend(w.Context(), r) })
			w.clock.Advance(time.Second)
			w.sameTrail(w.intended(10), []alloc.AuditRecord{r})
			f.SetPlan(Script("Record", faults...))
			w.untilDone("Record", func() error { return f.Record(w.Context(), r) })
			equal(w, len(w.intended(10)), 0, "what is intended")
			equal(w, len(w.chained()), i+1, "records")
		}
	}},
	{"a record is known by its ID for as long as is promised, with an intent and without, in whatever month", func(w *world) {
		with, without := w.record(0), w.record(1)
		w.ok(w.open().Intend(w.Context(), with), "Intend")
		w.append(with)
		w.append(without)
		for range 8 {
			w.clock.Advance(alloc.IntentRetention / 9)
			w.append(with)
			w.append(w.record(int(w.clock.Now().Unix() % 90000)))
		}
		n := 0
		for _, r := range w.chained() {
			if r.ID == with.ID {
				n++
			}
		}
		equal(w, n, 1, "records with the ID")
	}},
	{"what is removed from a chain or changed shows, and is not hidden", func(w *world) {
		for i := range 6 {
			w.append(w.record(i))
		}
		month := alloc.MonthOf(w.clock.Now())
		equal(w, w.damage(Damage{Kind: ChangeRecord, Month: month, Position: 2}), true, "every engine has records to change")
		equal(w, w.damage(Damage{Kind: LoseRecord, Month: month, Position: 4}), true, "every engine has records to lose")
		equal(w, w.damage(Damage{Kind: LoseRecord, Month: month, Position: 6}), true, "every engine has records to lose")
		got, err := w.open().Chain(w.Context(), month, 0, 100)
		w.ok(err, "Chain")
		equal(w, len(got), 4, "records that are left")
		for i, position := range []int64{1, 2, 3, 5} {
			equal(w, got[i].Position, position, "Position")
			equal(w, got[i].Intact(), position != 2, fmt.Sprintf("whether the record at %d is intact", position))
		}
		months, err := w.open().Months(w.Context())
		w.ok(err, "Months")
		equal(w, months[0].Last, 6, "end of the month")
	}},
	{"a page of a chain begins after any position, and one of the trail before any place", func(w *world) {
		for i := range 7 {
			w.append(w.record(i))
		}
		w.clock.Advance(40 * 24 * time.Hour)
		for i := range 3 {
			w.append(w.record(10 + i))
		}
		all := w.chained()
		rng := rand.New(rand.NewPCG(1, 2))
		for range 10 {
			n := rng.IntN(len(all))
			got, err := w.open().Records(w.Context(), all[n].Place(), 3)
			w.ok(err, "Records")
			want := slices.Clone(all[max(0, n-3):n])
			slices.Reverse(want)
			w.sameTrail(got, want)
		}
		got, err := w.open().Chain(w.Context(), all[0].Month, 4, 2)
		w.ok(err, "Chain")
		w.sameTrail(got, all[4:6])
		got, err = w.open().Chain(w.Context(), "2001-01", 0, 2)
		w.ok(err, "Chain of a month without records")
		equal(w, len(got), 0, "records")
	}},
}

// chained reads all chains, and stops the test unless they are whole: each record intact, at its position, behind the one
// before it, and the end of each month as it is kept. It returns the records, oldest first.
func (w *world) chained() (all []alloc.AuditRecord) {
	w.Helper()
	months, err := w.open().Months(w.Context())
	w.ok(err, "Months")
	previous, last := "", ""
	for _, m := range months {
		if m.Month <= last {
			w.Fatalf("months: got %q after %q, want them rising", m.Month, last)
		}
		last = m.Month
		position := int64(0)
		for {
			page, err := w.open().Chain(w.Context(), m.Month, position, 4)
			w.ok(err, "Chain")
			for _, r := range page {
				position++
				if r.Position != position || r.Month != m.Month || r.Previous != previous || !r.Intact() {
					w.Fatalf("record of the chain of %s: got %+v (intact: %t), want it at %d, behind %q", m.Month, r, r.Intact(), position, previous)
				}
				previous = r.Hash
				all = append(all, r)
			}
			if len(page) < 4 {
				break
			}
		}
		if m.Last != position || m.Hash != previous {
			w.Fatalf("end of %s: got %+v, want %d and %q", m.Month, m, position, previous)
		}
	}
	return all
}

// intended is what was intended until now and not recorded.
func (w *world) intended(limit int) []alloc.AuditRecord {
	w.Helper()
	got, err := w.open().Intended(w.Context(), w.clock.Now(), limit)
	w.ok(err, "Intended")
	return got
}
