package sql

import (
	dbsql "database/sql"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
)

// clocked opens a Store whose clock the test moves.
func clocked(t *testing.T) (s *Store, path string, now *time.Time) {
	t.Helper()
	path, now = newFile(t), new(time.Unix(1_800_000_000, 0))
	return openAt(t, Config{Path: path, Now: func() time.Time { return *now }}), path, now
}

// forgetting makes a pool that forgets, with the IDs.
func forgetting(t *testing.T, s *Store, ids ...alloc.ID) {
	t.Helper()
	if _, _, err := s.CreatePool(t.Context(), "p", alloc.PoolConfig{Policy: alloc.PolicyForget}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "j", IDs: ids}); err != nil {
		t.Fatal(err)
	}
}

// A key answers with the IDs that are still its own and names the others, until there is none.
func TestKeyEndsWithItsLastID(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(s *Store, first alloc.Claim, id alloc.ID)
		want alloc.State
	}{
		{"retired", func(s *Store, first alloc.Claim, id alloc.ID) {
			settle(t, s, alloc.EventRetire, "p", first.Token, id)
		}, alloc.StateRetired},
		{"on its way back", func(s *Store, first alloc.Claim, id alloc.ID) {
			settle(t, s, alloc.EventRelease, "p", first.Token, id)
		}, alloc.StateReturning},
		{"back", func(s *Store, first alloc.Claim, id alloc.ID) {
			settle(t, s, alloc.EventRelease, "p", first.Token, id)
			sweepOut(t, s, "p")
		}, alloc.StateReturning},
		{"somebody else's", func(s *Store, first alloc.Claim, id alloc.ID) {
			settle(t, s, alloc.EventRelease, "p", first.Token, id)
			sweepOut(t, s, "p")
			claimed(t, s, one("p"))
		}, alloc.StateReturning},
		{"retired by somebody else", func(s *Store, first alloc.Claim, id alloc.ID) {
			settle(t, s, alloc.EventRelease, "p", first.Token, id)
			sweepOut(t, s, "p")
			settle(t, s, alloc.EventRetire, "p", claimed(t, s, one("p")).Token, id)
		}, alloc.StateReturning},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, path := storeOn(t)
			filled(t, s, "p", 3)
			first := claimed(t, s, keyed(3, "k"))
			var ended []alloc.EndedID
			for _, id := range []alloc.ID{first.IDs[1], first.IDs[0]} {
				c.end(s, first, id)
				ended = append([]alloc.EndedID{{ID: id, State: c.want}}, ended...)
				again, err := s.Claim(t.Context(), keyed(3, "k"))
				if err != nil || !again.Replayed || !slices.Equal(again.IDs, first.IDs) || again.Token != first.Token ||
					again.State != first.State || !slices.Equal(again.Ended, ended) {
					t.Fatalf("got %+v and %v, want the first answer with %v ended", again, err, ended)
				}
			}
			c.end(s, first, first.IDs[2])
			wantCode(t, second(s.Claim(t.Context(), keyed(3, "k"))), alloc.CodeKeyEnded)
			wantCounts(t, s, path, "p")
		})
	}
}

// In a pool that forgets an ID can have come back, been claimed by somebody else without a key, and be gone.
func TestKeyWhoseIDWasForgottenForAnotherHasEnded(t *testing.T) {
	s, path := storeOn(t)
	forgetting(t, s, "a")
	first := claimed(t, s, keyed(1, "k"))
	settle(t, s, alloc.EventRelease, "p", first.Token, "a")
	sweepOut(t, s, "p")
	claimed(t, s, one("p"))
	wantCode(t, second(s.Claim(t.Context(), keyed(1, "k"))), alloc.CodeKeyEnded)
	wantCounts(t, s, path, "p")
}

// An ID that is back is handed out after all that have been free for longer, and a walk meets it once wherever it stands.
func TestReturnedIDsGoToTheEnd(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 4)
	first := claimed(t, s, held("p", 2, time.Hour))
	page, mark, err := s.WalkIDs(t.Context(), "p", "", "", 2)
	if err != nil || len(page) != 2 || mark == "" {
		t.Fatalf("walk: got %v, %q and %v", page, mark, err)
	}
	settle(t, s, alloc.EventRelease, "p", first.Token, first.IDs...)
	sweepOut(t, s, "p")
	for next := mark; next != ""; {
		var more []alloc.IDRecord
		more, next, err = s.WalkIDs(t.Context(), "p", alloc.StateFree, next, 1)
		if err != nil {
			t.Fatal(err)
		}
		page = append(page, more...)
	}
	if len(page) != 4 {
		t.Errorf("walk: got %v, want each of 4 once", page)
	}
	var order []alloc.ID
	for range 4 {
		order = append(order, claimed(t, s, one("p")).IDs...)
	}
	if want := []alloc.ID{"id-00002", "id-00003", "id-00000", "id-00001"}; !slices.Equal(order, want) {
		t.Errorf("order: got %v, want %v", order, want)
	}
	wantCounts(t, s, path, "p")
}

// From the moment on at which an ID is forgotten it is absent, whether or not a sweep has removed it: for reads, for
// walks, for its owner, and for a seeding.
func TestForgottenCountsAsAbsentFromThenOn(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		order   alloc.ClaimOrder
		confirm time.Duration // from the claim; 0 for not
	}{
		"claimed with a key":        {keyed(1, "k"), 0},
		"confirmed, with a key":     {keyedHold("k", 7*day), time.Hour},
		"confirmed after its key":   {keyedHold("k", 7*day), 25 * time.Hour},
		"confirmed without a key":   {held("p", 1, day), time.Hour},
		"confirmed after its hold":  {held("p", 1, time.Minute), time.Hour},
		"claimed, and confirmed so": {keyed(1, "k"), time.Nanosecond}, // which is a repeat
	} {
		t.Run(name, func(t *testing.T) {
			s, path, now := clocked(t)
			*now = now.Add(900 * time.Millisecond)
			forgetting(t, s, "a")
			first := claimed(t, s, c.order)
			if c.confirm > 0 {
				at := *now
				*now = now.Add(c.confirm)
				settle(t, s, alloc.EventConfirm, "p", first.Token, "a")
				if c.order.Hold == 0 {
					*now = at
				}
			}
			*now = now.Add(day - time.Nanosecond)
			sweepOut(t, s, "p")
			settle(t, s, alloc.EventConfirm, "p", first.Token, "a")
			*now = now.Add(time.Nanosecond)
			wantCode(t, second(s.Inspect(t.Context(), "p", "a")), alloc.CodeIDNotFound)
			if page, _, err := s.WalkIDs(t.Context(), "p", "", "", 10); err != nil || len(page) != 0 {
				t.Errorf("walk: got %v and %v, want nothing", page, err)
			}
			for _, e := range []alloc.Event{alloc.EventConfirm, alloc.EventRelease, alloc.EventRetire} {
				order := alloc.SettleOrder{Pool: "p", Event: e, IDs: first.IDs, Token: first.Token}
				wantCode(t, second(s.Settle(t.Context(), order)), alloc.CodeIDNotFound)
			}
			got, err := s.Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "again", IDs: []alloc.ID{"a"}})
			if err != nil || got[0] != alloc.SeedAdded {
				t.Errorf("seeding: got %v and %v, want it added", got, err)
			}
			wantCounts(t, s, path, "p")
			if l, err := s.Level(t.Context(), "p"); err != nil || l.Seeded != 2 || l.Available != 1 || l.Forgotten != 1 {
				t.Errorf("level: got %+v and %v, want 2 seeded, 1 free, 1 forgotten", l, err)
			}
			claimed(t, s, one("p"))
		})
	}
}

// What came back or was retired in between is not forgotten when its time comes.
func TestWhatIsSettledIsNotForgotten(t *testing.T) {
	s, path, now := clocked(t)
	forgetting(t, s, "a", "b", "c", "d")
	claim := claimed(t, s, keyed(2, "k"))
	hold := claimed(t, s, held("p", 2, time.Hour))
	settle(t, s, alloc.EventConfirm, "p", hold.Token, hold.IDs...)
	for _, c := range []alloc.Claim{claim, hold} {
		settle(t, s, alloc.EventRelease, "p", c.Token, c.IDs[0])
		settle(t, s, alloc.EventRetire, "p", c.Token, c.IDs[1])
	}
	*now = now.Add(alloc.KeyRetention)
	sweepOut(t, s, "p")
	if got := census(t, path, "p"); got[alloc.StateFree] != 2 || got[alloc.StateRetired] != 2 {
		t.Errorf("got %v, want 2 free, 2 retired", got)
	}
	wantCounts(t, s, path, "p")
}

func keyedHold(key string, hold time.Duration) alloc.ClaimOrder {
	o := keyed(1, key)
	o.Hold = hold
	return o
}

// One order has one answer. Where a release is a retirement, IDs that were released before that was so are no part of it.
func TestReleaseOfWhatComesBackAndWhatIsToBeRetired(t *testing.T) {
	for name, between := range map[string]func(s *Store){
		"on its way back": func(*Store) {},
		"back":            func(s *Store) { sweepOut(t, s, "p") },
	} {
		t.Run(name, func(t *testing.T) {
			s, path := storeOn(t)
			filled(t, s, "p", 3)
			c := claimed(t, s, alloc.ClaimOrder{Pool: "p", Count: 3, By: "test"})
			settle(t, s, alloc.EventRelease, "p", c.Token, c.IDs[1])
			config := alloc.PoolConfig{MaxBatch: alloc.MaxBatchLimit, OnRelease: alloc.ReleaseRetires}.WithDefaults()
			if _, err := s.ChangePool(t.Context(), "p", 1, config); err != nil {
				t.Fatal(err)
			}
			between(s)
			before := census(t, path, "p")
			_, err := s.Settle(t.Context(), alloc.SettleOrder{Pool: "p", Event: alloc.EventRelease, IDs: c.IDs, Token: c.Token})
			refused := wantCode(t, err, alloc.CodeNotOwner)
			if want := []alloc.IDFault{{ID: c.IDs[1], Code: alloc.CodeNotOwner}}; !slices.Equal(refused.IDs, want) {
				t.Errorf("got %v refused, want %v", refused.IDs, want)
			}
			if after := census(t, path, "p"); !maps.Equal(before, after) {
				t.Errorf("got %v after the refusal, before it was %v", after, before)
			}
			for i, want := range []alloc.State{alloc.StateRetired, alloc.StateReturning, alloc.StateRetired} {
				if got := settle(t, s, alloc.EventRelease, "p", c.Token, c.IDs[i]); got != want {
					t.Errorf("%s alone: got %s, want %s", c.IDs[i], got, want)
				}
			}
			wantCounts(t, s, path, "p")
		})
	}
}

// What a release did stays done when the pool's configuration changes what releases do.
func TestReleaseIsRepeatedAfterAChangeOfPolicy(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 2)
	c := claimed(t, s, alloc.ClaimOrder{Pool: "p", Count: 2, By: "test"})
	settle(t, s, alloc.EventRelease, "p", c.Token, c.IDs[0])
	config := alloc.PoolConfig{MaxBatch: alloc.MaxBatchLimit, OnRelease: alloc.ReleaseRetires}.WithDefaults()
	if _, err := s.ChangePool(t.Context(), "p", 1, config); err != nil {
		t.Fatal(err)
	}
	for range 2 { // on its way, and back
		if got := settle(t, s, alloc.EventRelease, "p", c.Token, c.IDs[0]); got != alloc.StateReturning {
			t.Errorf("the release of before: got %s, want %s", got, alloc.StateReturning)
		}
		sweepOut(t, s, "p")
	}
	if got := settle(t, s, alloc.EventRelease, "p", c.Token, c.IDs[1]); got != alloc.StateRetired {
		t.Errorf("a release from then on: got %s, want %s", got, alloc.StateRetired)
	}
	wantCounts(t, s, path, "p")
}

// One sweep ends and frees a bounded number, says that there are more, and counts each statement that it ran.
func TestReturnsAreBounded(t *testing.T) {
	s, path, now := clocked(t)
	filled(t, s, "p", 1500)
	for range 3 {
		claimed(t, s, held("p", 500, time.Minute))
	}
	*now = now.Add(time.Minute)
	for _, want := range []alloc.SweepReport{
		{Pool: "p", Returned: 1000, More: true, Calls: 1016, Writes: 1003}, // 1 ends the holds, 1 counts, 1 keeps a sample
		{Pool: "p", Returned: 500, Calls: 516, Writes: 502},                // the minute has its sample
	} {
		got, err := s.Sweep(t.Context(), "p")
		if err != nil || got != want {
			t.Fatalf("got %+v and %v, want %+v", got, err, want)
		}
		wantCounts(t, s, path, "p")
	}
}

// The schema lets an ID go where State.On does and nowhere else.
func TestSchemaFollowsTheStateMachine(t *testing.T) {
	states := []alloc.State{alloc.StateFree, alloc.StateHeld, alloc.StateClaimed, alloc.StateReturning, alloc.StateRetired}
	events := []alloc.Event{
		alloc.EventClaim, alloc.EventHold, alloc.EventConfirm, alloc.EventRelease, alloc.EventRetire, alloc.EventExpire, alloc.EventFree,
	}
	s, path := storeOn(t)
	filled(t, s, "p", 0)
	for _, from := range states {
		for _, to := range states {
			want := slices.ContainsFunc(events, func(e alloc.Event) bool {
				return from.On(e) == alloc.Transition{Effect: alloc.EffectMove, To: to}
			})
			if got := mayMove(t, path, from, to, 0, to == alloc.StateFree); got != want {
				t.Errorf("from %s to %s: allowed %t, want %t", from, to, got, want)
			}
			if mayMove(t, path, from, to, 0, to != alloc.StateFree) {
				t.Errorf("from %s to %s: allowed with the wrong generation", from, to)
			}
			if from != alloc.StateFree && to != alloc.StateFree && mayMove(t, path, from, to, 1, false) {
				t.Errorf("from %s to %s: allowed with another token", from, to)
			}
		}
	}
}

// mayMove tries to move an ID by hand, and undoes it.
func mayMove(t *testing.T, path string, from, to alloc.State, token int, next bool) (allowed bool) {
	t.Helper()
	hold := func(s alloc.State) *int { return map[bool]*int{true: new(1)}[s == alloc.StateHeld] }
	byHand(t, path, func(db *dbsql.DB) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(t.Context(), `INSERT INTO ids (pool, id, state, generation, job, token, hold_until) VALUES (1, 'a', $1, 0, 'j', '0', $2)`,
			from, hold(from))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(t.Context(), `UPDATE ids SET state = $1, generation = generation + $2, token = $3, hold_until = $4`,
			to, next, fmt.Sprint(token), hold(to))
		allowed = err == nil
		return tx.Rollback()
	})
	return allowed
}
