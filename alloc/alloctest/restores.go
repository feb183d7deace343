package alloctest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

var restoreCases = []testCase{
	{"Stock gives the IDs that are free, each once, in the order in which they would be handed out", func(w *world) {
		m := w.mixture("p")
		w.full("q", 3)
		w.settle("p")
		want := map[alloc.ID]bool{}
		for _, r := range w.walk("p", alloc.StateFree, 100) {
			want[r.ID] = true
		}
		equal(w, len(want), nFree+nReturned, "free IDs")
		for _, limit := range []int{1, 7, 100} {
			got := map[alloc.ID]bool{}
			for _, r := range w.stock("p", limit) {
				if r.State != alloc.StateFree || r.Pool != "p" || !want[r.ID] || got[r.ID] {
					w.Fatalf("stock in pages of %d: got %+v, want each free ID once", limit, r)
				}
				got[r.ID] = true
				w.sameRecord(r, w.inspect("p", r.ID))
			}
			equal(w, len(got), len(want), fmt.Sprintf("stock in pages of %d", limit))
		}
		w.drain(w.open(), "p")
		equal(w, len(w.stock("p", 7)), 0, "stock of an empty pool")
		w.confirm(w.open(), m.held)
		_, _, err := w.open().Stock(w.Context(), "none", "", 10)
		w.want(err, alloc.CodePoolNotFound, "Stock of a pool that is not there")
	}},
	{"LookUp gives what Inspect gives of each, and nothing of what the pool does not know", func(w *world) {
		w.mixture("p")
		ids := []alloc.ID{"no such ID"}
		for _, r := range w.walk("p", "", 100) {
			ids = append(ids, r.ID)
		}
		found, err := w.open().LookUp(w.Context(), "p", ids)
		w.ok(err, "LookUp")
		equal(w, len(found), mixed, "IDs found")
		for _, r := range found {
			w.sameRecord(r, w.inspect("p", r.ID))
		}
		w.forgetting("f", 6)
		gone := w.claim(w.open(), order("f", 2))
		kept := w.claim(w.open(), keyedOrder("f", 2, "k"))
		for _, want := range []int{2, 0} {
			found, err := w.open().LookUp(w.Context(), "f", append(slices.Clone(gone.IDs), kept.IDs...))
			w.ok(err, "LookUp")
			equal(w, len(found), want, "IDs of a pool that forgets")
			w.pass(alloc.KeyRetention)
		}
		_, err = w.open().LookUp(w.Context(), "none", ids)
		w.want(err, alloc.CodePoolNotFound, "LookUp in a pool that is not there")
	}},
	{"Carry makes each ID what is said of it, as the one rule says, and nothing else", func(w *world) {
		for _, c := range carries() {
			w.carriesAs(c)
		}
	}},
	{"of several logs the later one is right, also where the pool was further on when the earlier one was carried, and in whatever order they are carried again", func(w *world) {
		ids := w.full("p", 1)
		first := w.claim(w.open(), holdOrder("p", 1, holdTime))
		w.unbooked("p")
		point := w.clock.Now().Add(time.Minute)
		earlier := w.inspect("p", ids[0])
		w.pass(holdTime)
		w.settle("p") // the hold has ended here, and another has the ID since
		other := w.claim(w.open(), order("p", 1))
		w.release(w.open(), other)
		later := w.said(earlier, alloc.StateHeld, 1)
		for i, c := range []struct {
			said alloc.IDRecord
			want alloc.CarryOutcome
			has  alloc.Token
		}{
			{earlier, alloc.CarryDone, first.Token},
			{later, alloc.CarryDone, later.Token},
			{later, alloc.CarryKnown, later.Token},
			{earlier, alloc.CarryBehind, later.Token},
			{later, alloc.CarryKnown, later.Token},
		} {
			got, err := w.open().Carry(w.Context(), "p", point, []alloc.IDRecord{c.said})
			w.ok(err, "Carry")
			equal(w, got[0], c.want, fmt.Sprintf("outcome of the log %d", i))
			equal(w, w.inspect("p", ids[0]).Token, c.has, fmt.Sprintf("who has the ID after the log %d", i))
		}
		w.settlesTo(alloc.SettleOrder{Pool: "p", Event: alloc.EventConfirm, IDs: ids, Token: later.Token}, alloc.StateClaimed)
	}},
	{"what an earlier log has brought, and its owner has released here, is to every Store what the one rule says", func(w *world) {
		ids := w.full("p", 1)
		first := w.claim(w.open(), holdOrder("p", 1, holdTime))
		w.unbooked("p")
		point := w.clock.Now().Add(time.Minute)
		earlier := w.inspect("p", ids[0])
		w.pass(holdTime)
		w.settle("p")
		w.release(w.open(), w.claim(w.open(), order("p", 1)))
		later := w.said(earlier, alloc.StateClaimed, 1)
		carry := func(said alloc.IDRecord) alloc.CarryOutcome {
			got, err := w.open().Carry(w.Context(), "p", point, []alloc.IDRecord{said})
			w.ok(err, "Carry")
			return got[0]
		}
		equal(w, carry(later), alloc.CarryDone, "outcome of the later log")
		w.settlesTo(alloc.SettleOrder{Pool: "p", Event: alloc.EventRelease, IDs: ids, Token: later.Token}, alloc.StateReturning)
		has := alloc.Standing{IDRecord: w.inspect("p", ids[0])} // its owner has settled it here
		_, want := has.Carry(earlier, point)
		equal(w, carry(earlier), want, "outcome of the earlier log, of "+string(first.Token))
	}},
	{"an unknown ID is added as it is said to be, or as retired where it is said to be free, and is counted as seeded", func(w *world) {
		w.full("p", 4)
		w.unbooked("p")
		for i, state := range stages {
			r := alloc.IDRecord{
				Pool: "p", ID: alloc.ID(fmt.Sprint("new-", state)), State: state, Generation: alloc.Generation(i), Job: "job", Token: alloc.NewToken(), By: "other",
				Owner: "somebody else", Metadata: map[string]string{"größe": "x y"}, At: w.clock.Now(),
			}
			w.book.offer("p", []alloc.ID{r.ID})
			want := r
			switch state {
			case alloc.StateHeld:
				r.HeldUntil = w.clock.Now().Add(holdTime)
				want.HeldUntil = r.HeldUntil
			case alloc.StateFree:
				r.Token, r.By, r.Owner, r.Metadata, r.At = "", "", "", nil, time.Time{}
				want = r
				want.State = alloc.StateRetired
			}
			want.Changed = w.clock.Now()
			w.carriedAs("p", r, alloc.CarryDone)
			w.sameCarried(w.inspect("p", r.ID), want)
			w.carriedAs("p", r, alloc.CarryKnown)
			w.sameCarried(w.inspect("p", r.ID), want)
		}
		w.sweep("p")
		equal(w, w.fits("p").Seeded, 4+5, "Seeded")
		equal(w, w.inspect("p", "new-returning").State, alloc.StateFree, "state of the returning one after a sweep")
		w.pass(holdTime)
		w.settle("p")
		equal(w, w.drain(w.open(), "p"), 4+2, "IDs that can be claimed: what was there, and what came back")
	}},
	{"who owns what was carried settles it by his token, and his hold ends by itself", func(w *world) {
		ids := w.full("p", 5)
		w.unbooked("p")
		token := alloc.NewToken()
		said := func(i int, state alloc.State) alloc.IDRecord {
			return alloc.IDRecord{Pool: "p", ID: ids[i], State: state, Token: token, By: "client", Owner: "o", At: w.clock.Now(), HeldUntil: heldUntil(w, state)}
		}
		got, err := w.open().Carry(w.Context(), "p", w.point(), []alloc.IDRecord{said(0, alloc.StateClaimed), said(1, alloc.StateHeld), said(2, alloc.StateHeld), said(3, alloc.StateRetired)})
		w.ok(err, "Carry")
		for _, outcome := range got {
			equal(w, outcome, alloc.CarryDone, "outcome")
		}
		o := alloc.SettleOrder{Pool: "p", Event: alloc.EventRelease, IDs: ids[:1], Token: token}
		w.settlesTo(o, alloc.StateReturning)
		o.Event, o.IDs = alloc.EventConfirm, ids[1:2]
		w.settlesTo(o, alloc.StateClaimed)
		w.pass(holdTime)
		w.settle("p")
		for i, state := range []alloc.State{alloc.StateFree, alloc.StateClaimed, alloc.StateFree, alloc.StateRetired, alloc.StateFree} {
			equal(w, w.inspect("p", ids[i]).State, state, fmt.Sprintf("state of %q", ids[i]))
		}
		w.fits("p")
		equal(w, w.drain(w.open(), "p"), 3, "IDs that can be claimed")
	}},
	{"a burning retires what is free, and takes nothing that somebody has claimed since", func(w *world) {
		w.full("p", 10)
		stock := w.stock("p", 100)
		mine := w.claim(w.open(), order("p", 3))
		w.unbooked("p")
		for _, r := range stock {
			r.State = alloc.StateRetired
			want, before := alloc.CarryDone, w.inspect("p", r.ID)
			if slices.Contains(mine.IDs, r.ID) {
				want = alloc.CarryClash
			}
			w.carriedAs("p", r, want)
			if want == alloc.CarryClash {
				w.sameCarried(w.inspect("p", r.ID), before)
			} else {
				equal(w, w.inspect("p", r.ID).State, alloc.StateRetired, "state of what was burned")
			}
		}
		w.settle("p")
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of a pool that was burned")
		w.settle("p") // what was burned may count as available until a claim has met it
		w.fits("p")
	}},
	{"a burning beside callers takes no ID that one of them gets, and leaves none to be claimed", func(w *world) {
		const callers = 6
		w.full("p", 60)
		stock, stores := w.stock("p", 100), w.processes(callers+2)
		var book claimedBy
		w.together(len(stores), func(i int) {
			if i < callers {
				for range 5 {
					if c, err := w.patiently(stores[i], order("p", 1)); err == nil {
						book.add(c)
					}
				}
				return
			}
			for batch := range slices.Chunk(stock, 7) {
				burned := slices.Clone(batch)
				for n := range burned {
					burned[n].State = alloc.StateRetired
				}
				w.carryPatiently(stores[i], "p", burned)
			}
		})
		w.unbooked("p")
		for id, token := range book.tokens {
			if r := w.inspect("p", id); r.Token != token || r.State != alloc.StateClaimed {
				w.Errorf("the ID %q, claimed by %s: got %+v", id, token, r)
			}
		}
		w.settle("p")
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of a pool that was burned")
		w.settle("p") // what was burned may count as available until a claim has met it
		w.fits("p")
	}},
	{"many who carry the same at once end as one, and it is claimed no more", func(w *world) {
		ids := w.full("p", 30)
		warm := w.open() // with stock in its memory
		first := w.claim(warm, order("p", 1))
		w.unbooked("p")
		var taken []alloc.IDRecord
		for _, id := range slices.DeleteFunc(ids, func(id alloc.ID) bool { return slices.Contains(first.IDs, id) })[:20] {
			taken = append(taken, alloc.IDRecord{Pool: "p", ID: id, State: alloc.StateClaimed, Token: alloc.NewToken(), By: "client", At: w.clock.Now()})
		}
		stores := w.processes(6)
		w.together(len(stores), func(i int) { w.carryPatiently(stores[i], "p", taken) })
		w.settle("p")
		equal(w, w.drain(warm, "p")+w.drain(w.open(), "p"), 9, "IDs that can be claimed")
		w.settle("p")
		w.fits("p")
		for _, r := range taken {
			equal(w, w.inspect("p", r.ID).Token, r.Token, "token of what was carried")
		}
	}},
	{"nothing is carried into a pool that is not there, deleted or damaged", func(w *world) {
		w.full("deleted", 2)
		w.setState("deleted", alloc.PoolDeleted)
		record := []alloc.IDRecord{{ID: "deleted-00000", State: alloc.StateClaimed, Token: alloc.NewToken(), At: w.clock.Now()}}
		for pool, code := range map[alloc.PoolName]alloc.Code{"none": alloc.CodePoolNotFound, "deleted": alloc.CodePoolDeleted} {
			_, err := w.open().Carry(w.Context(), pool, w.point(), record)
			w.want(err, code, "Carry into "+string(pool))
		}
		w.full("damaged", 2)
		if w.damage(Damage{Kind: LoseHead, Pool: "damaged"}) {
			record[0].ID = "damaged-00000"
			_, err := w.open().Carry(w.Context(), "damaged", w.point(), record)
			w.want(err, alloc.CodePoolDamaged, "Carry into a damaged pool")
			w.rebuildPool(alloc.PoolRebuildOrder{Pool: "damaged", Job: "rebuild"})
		}
	}},
	{"a thousand IDs are carried at once", func(w *world) {
		w.pool("p", alloc.PoolConfig{})
		w.unbooked("p")
		var taken []alloc.IDRecord
		for _, id := range someIDs("x-", 1000) {
			taken = append(taken, alloc.IDRecord{Pool: "p", ID: id, State: alloc.StateClaimed, Token: alloc.NewToken(), By: "client", At: w.clock.Now()})
		}
		for _, want := range []alloc.CarryOutcome{alloc.CarryDone, alloc.CarryKnown} {
			got, err := w.open().Carry(w.Context(), "p", w.point(), taken)
			w.ok(err, "Carry")
			equal(w, len(got), 1000, "outcomes")
			for i, outcome := range got {
				equal(w, outcome, want, fmt.Sprintf("outcome of the ID %d", i))
			}
		}
		w.sweep("p")
		equal(w, w.fits("p").Claimed, 1000, "Claimed")
	}},
}

// heldUntil is the end of a hold that is on.
func heldUntil(w *world, state alloc.State) time.Time {
	if state == alloc.StateHeld {
		return w.clock.Now().Add(holdTime)
	}
	return time.Time{}
}

func (w *world) sameCarried(got, want alloc.IDRecord) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(sameTime)); diff != "" {
		w.Fatalf("ID that was carried (-want +got):\n%s", diff)
	}
}
