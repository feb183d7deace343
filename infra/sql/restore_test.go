package sql

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// What a restored pool has of an ID, what the log says of it, and what becomes of it.
func TestCarry(t *testing.T) {
	const mine, other = alloc.Token("mine"), alloc.Token("other")
	free, held, claimed, returning, retired := alloc.StateFree, alloc.StateHeld, alloc.StateClaimed, alloc.StateReturning, alloc.StateRetired
	for name, c := range map[string]struct {
		has, says         alloc.State // has "": the pool does not know it
		hasOf, saysOf     alloc.Generation
		hasToken, saysTok alloc.Token
		want              alloc.CarryOutcome
		since             bool // whoever has it has taken it since the restore
	}{
		"free, and was claimed since":                                       {free, claimed, 0, 0, "", mine, alloc.CarryDone, false},
		"free, and was held since":                                          {free, held, 0, 0, "", mine, alloc.CarryDone, false},
		"free, and was released since":                                      {free, returning, 0, 0, "", mine, alloc.CarryDone, false},
		"free, and is burned":                                               {free, retired, 0, 0, "", "", alloc.CarryDone, false},
		"free, and has come back and was claimed since":                     {free, claimed, 0, 2, "", mine, alloc.CarryDone, false},
		"held, and was confirmed since":                                     {held, claimed, 1, 1, mine, mine, alloc.CarryDone, false},
		"held, and was retired since":                                       {held, retired, 1, 1, mine, mine, alloc.CarryDone, false},
		"claimed, and was released since: it may have been confirmed here":  {claimed, returning, 0, 0, mine, mine, alloc.CarryKnown, false},
		"held, and was released since":                                      {held, returning, 0, 0, mine, mine, alloc.CarryDone, false},
		"on its way back, and was confirmed since":                          {returning, claimed, 0, 0, mine, mine, alloc.CarryDone, false},
		"claimed, and is another's by now":                                  {claimed, claimed, 0, 1, mine, other, alloc.CarryDone, false},
		"returning, and was claimed again":                                  {returning, held, 0, 1, mine, other, alloc.CarryDone, false},
		"returning, and is burned":                                          {returning, retired, 0, 0, mine, mine, alloc.CarryDone, false},
		"retired, of an earlier life":                                       {retired, claimed, 0, 1, mine, other, alloc.CarryKnown, false},
		"retired since the restore by one, and another's":                   {retired, claimed, 0, 1, mine, other, alloc.CarryClash, true},
		"claimed since the restore, and another's of a later life":          {claimed, claimed, 0, 1, mine, other, alloc.CarryClash, true},
		"claimed since the restore, and another's of an earlier life":       {claimed, claimed, 1, 0, mine, other, alloc.CarryClash, true},
		"claimed long before, and said of an earlier life":                  {claimed, claimed, 1, 0, mine, other, alloc.CarryBehind, false},
		"not known, and was claimed since":                                  {"", claimed, 0, 3, "", mine, alloc.CarryDone, false},
		"not known, and was free":                                           {"", free, 0, 3, "", "", alloc.CarryDone, false},
		"claimed, as it was said":                                           {claimed, claimed, 0, 0, mine, mine, alloc.CarryKnown, false},
		"claimed, and was held":                                             {claimed, held, 0, 0, mine, mine, alloc.CarryKnown, false},
		"retired, and was claimed":                                          {retired, claimed, 0, 0, mine, mine, alloc.CarryKnown, false},
		"burned, and was claimed":                                           {retired, claimed, 0, 0, "", mine, alloc.CarryKnown, false},
		"free, and was free":                                                {free, free, 0, 0, "", "", alloc.CarryKnown, false},
		"claimed, and was free of a later life":                             {claimed, free, 0, 1, mine, "", alloc.CarryKnown, false},
		"free of a later life, as a hold has ended here that was confirmed": {free, claimed, 2, 1, "", mine, alloc.CarryDone, false},
		"free of a later life, and on its way back":                         {free, returning, 2, 1, "", mine, alloc.CarryBehind, false},
		"claimed by somebody else since the restore":                        {claimed, claimed, 0, 0, other, mine, alloc.CarryClash, false},
		"held by somebody else since the restore":                           {held, claimed, 0, 0, other, mine, alloc.CarryClash, false},
		"released by somebody else since the restore":                       {returning, claimed, 0, 0, other, mine, alloc.CarryDone, true},
		"to be burned, and claimed by somebody meanwhile":                   {claimed, retired, 0, 0, other, "", alloc.CarryClash, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(1_800_000_000, 0).UTC()
			path := newFile(t)
			s := openAt(t, Config{Path: path, Now: func() time.Time { return now }})
			filled(t, s, "p", 3)
			has := alloc.IDRecord{ID: "x", State: c.has, Generation: c.hasOf, Token: c.hasToken, At: now, HeldUntil: now.Add(time.Hour), By: "before", Job: "first"}
			if c.has != "" {
				put(t, path, has)
			}
			says := alloc.IDRecord{ID: "x", State: c.says, Generation: c.saysOf, Token: c.saysTok, At: now.Add(time.Minute), By: "since", Owner: "o", Metadata: map[string]string{"a": "b"}, Job: "second"}
			if c.says == held {
				says.HeldUntil = now.Add(2 * time.Hour)
			}
			before := contents(t, path)
			point := now
			if c.since {
				point = now.Add(-time.Minute)
			}
			outcomes, err := s.Carry(t.Context(), "p", point, []alloc.IDRecord{says})
			if err != nil || len(outcomes) != 1 || outcomes[0] != c.want {
				t.Fatalf("got %v and %v, want %s", outcomes, err, c.want)
			}
			wantCounts(t, s, path, "p")
			if c.want != alloc.CarryDone {
				if contents(t, path) != before {
					t.Error("something was changed")
				}
				return
			}
			want := says
			want.Pool, want.Changed = "p", now // when it was carried
			if c.has != "" {
				want.Job = "first"
			}
			if c.says == free {
				want.State = retired // it may have been taken since
			}
			want.Generation = max(want.Generation, c.hasOf)
			if c.hasToken != "" && c.hasToken != want.Token && want.Generation == c.hasOf {
				want.Generation++ // in one generation nobody else ever has it
			}
			got, err := s.Inspect(t.Context(), "p", "x")
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("after it: %v (-want +got):\n%s", err, diff)
			}
			after := contents(t, path)
			again, err := s.Carry(t.Context(), "p", point, []alloc.IDRecord{says})
			if err != nil || again[0] != alloc.CarryKnown || contents(t, path) != after {
				t.Errorf("again: got %v and %v, want it known, and nothing changed", again, err)
			}
		})
	}
}

// put makes a row of the ID by hand, and counts it.
func put(t *testing.T, path string, r alloc.IDRecord) {
	t.Helper()
	var token, held any
	if r.State != alloc.StateFree {
		token = r.Token
	}
	if r.State == alloc.StateHeld {
		held = instant(r.HeldUntil)
	}
	edit(t, path, `INSERT INTO ids (pool, id, state, generation, job, token, client, owner, taken, hold_until) VALUES (1, $1, $2, $3, $4, $5, $6, '', $7, $8)`,
		r.ID, r.State, r.Generation, r.Job, token, r.By, instant(r.At), held)
	edit(t, path, `UPDATE levels SET n_seeded = n_seeded + 1, n_`+string(r.State)+` = n_`+string(r.State)+` + 1`)
}

// In a pool that forgets a carried ID is forgotten as one that was claimed there, and one that was is added anew.
func TestCarryIntoAPoolThatForgets(t *testing.T) {
	s, path, now := clocked(t)
	forgetting(t, s, "a", "b")
	c := claimed(t, s, keyed(1, "k"))
	*now = now.Add(alloc.KeyRetention)
	taken := []alloc.IDRecord{
		{ID: c.IDs[0], State: alloc.StateClaimed, Generation: 1, Token: "t", At: *now},
		{ID: "new", State: alloc.StateClaimed, Generation: 1, Token: "t", At: *now},
		{ID: "held", State: alloc.StateHeld, Generation: 1, Token: "t"}, // until when was lost
	}
	outcomes, err := s.Carry(t.Context(), "p", time.Time{}, taken)
	if err != nil || !slices.Equal(outcomes, []alloc.CarryOutcome{alloc.CarryDone, alloc.CarryDone, alloc.CarryDone}) {
		t.Fatalf("got %v and %v", outcomes, err)
	}
	wantCounts(t, s, path, "p")
	if r, err := s.Inspect(t.Context(), "p", "held"); err != nil || !r.HeldUntil.Equal(now.Add(alloc.MaxHold)) {
		t.Errorf("a hold without an end: got %+v and %v, want it for as long as there are holds", r, err)
	}
	*now = now.Add(alloc.KeyRetention)
	sweepOut(t, s, "p")
	wantCounts(t, s, path, "p")
	if l, err := s.Level(t.Context(), "p"); err != nil || l.Claimed != 0 || l.Forgotten != 3 {
		t.Errorf("level: got %+v and %v, want what was claimed forgotten: three times", l, err)
	}
	edit(t, path, `UPDATE pools SET state = 'deleted'`)
	wantCode(t, second(s.Carry(t.Context(), "p", time.Time{}, taken)), alloc.CodePoolDeleted)
}

// The whole way after a restore to an earlier file: what was taken since is carried, and nothing is handed out twice.
func TestRestoreAndCarry(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 100)
	if _, _, err := s.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	owner, used := map[alloc.ID]alloc.Token{}, alloc.Number(0)
	goOn := func() {
		t.Helper()
		for i := range 10 {
			c := claimed(t, s, one("p"))
			if before, twice := owner[c.IDs[0]]; twice {
				t.Errorf("%s was claimed twice, by %s and %s", c.IDs[0], before, c.Token)
			}
			owner[c.IDs[0]] = c.Token
			r, err := s.Lease(t.Context(), alloc.LeaseOrder{Sequence: "q", Count: alloc.Count(5 + i)})
			if err != nil || r.Start <= used {
				t.Fatalf("lease: got %+v and %v, want it above %d", r, err, used)
			}
			used = r.End
		}
	}
	goOn()
	restore, point := snapshot(t, path), time.Now()
	goOn()
	taken, _, err := s.WalkIDs(t.Context(), "p", alloc.StateClaimed, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	leases, _, err := s.WalkLedger(t.Context(), "q", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	restore(t)
	if l, err := s.Level(t.Context(), "p"); err != nil || l.Claimed != 10 {
		t.Fatalf("after the restore: got %+v and %v, want 10 claimed", l, err)
	}
	outcomes, err := s.Carry(t.Context(), "p", point, taken)
	if err != nil || len(outcomes) != 20 {
		t.Fatalf("carry: %v, %v", outcomes, err)
	}
	setSequence(t, s, alloc.SequencePaused)
	carried, err := s.CarryLeases(t.Context(), "q", leases)
	entered := 0
	for _, o := range carried {
		if o == alloc.CarryDone {
			entered++
		}
	}
	if err != nil || entered != 10 {
		t.Fatalf("carry of leases: got %v and %v, want the 10 that were lost", carried, err)
	}
	setSequence(t, s, alloc.SequenceActive)
	if q, err := s.Watch(t.Context(), "q"); err != nil || q.State != alloc.SequenceStopped {
		t.Errorf("watch: got %+v and %v, want it stopped: its counter is behind", q, err)
	}
	if _, err := s.Freeze(t.Context(), "q", "r"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restart(t.Context(), alloc.RestartOrder{Sequence: "q", Rebuild: "r", From: 1, To: 2, Next: used + 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Thaw(t.Context(), "q", "r", alloc.SequenceActive, 0); err != nil {
		t.Fatal(err)
	}
	goOn()
	wantCounts(t, s, path, "p")
	if got := append(audited(t, s, "p"), auditSequence(t, s, "q", 100).Findings...); got != nil {
		t.Errorf("audit: %+v", got)
	}
}

// What was leased again after a restore, before anybody carried the ledger, is in two hands: it stands there twice, is found, and
// nothing is leased in it or below it any more.
func TestCarriedLeasesMayOverlap(t *testing.T) {
	s, path := storeOn(t)
	if _, _, err := s.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	order := alloc.LeaseOrder{Sequence: "q", Count: 10}
	for range 3 { // to 30
		if _, err := s.Lease(t.Context(), order); err != nil {
			t.Fatal(err)
		}
	}
	lease := func(start, end alloc.Number, proven bool) alloc.LeaseRecord {
		return alloc.LeaseRecord{Start: start, End: end, Token: alloc.Token(fmt.Sprint("t", start)), By: "since", At: time.Unix(1, 0).UTC(), Epoch: 1, Proven: proven}
	}
	setSequence(t, s, alloc.SequencePaused)
	for _, c := range []struct {
		lease alloc.LeaseRecord
		want  alloc.CarryOutcome
	}{
		{lease(1, 10, true), alloc.CarryClash},
		{lease(1, 5, true), alloc.CarryClash},
		{lease(21, 35, true), alloc.CarryClash}, // ends later than the one that is there
		{lease(15, 18, true), alloc.CarryClash},
		{lease(41, 60, true), alloc.CarryDone},
		{lease(41, 61, true), alloc.CarryDone},
		{lease(45, 50, false), alloc.CarryClash},
		{alloc.LeaseRecord{Start: 70}, alloc.CarryDone}, // could not be read where it comes from
		{alloc.LeaseRecord{Start: 70}, alloc.CarryKnown},
		{lease(70, 75, true), alloc.CarryDone},
		{lease(70, 75, true), alloc.CarryKnown},
	} {
		got, err := s.CarryLeases(t.Context(), "q", []alloc.LeaseRecord{c.lease})
		if err != nil || len(got) != 1 || got[0] != c.want {
			t.Errorf("%+v: got %v and %v, want %s", c.lease, got, err, c.want)
		}
	}
	wantCode(t, second(s.CarryLeases(t.Context(), "q", []alloc.LeaseRecord{lease(80, alloc.MaxNumber+1, true)})), alloc.CodeInvalidRequest)
	want := []string{"1-10", "11-20", "15-18", "21-30", "31-35", "41-61", "45-50", "70-75"}
	var got []string
	for mark := ""; ; {
		page, next, err := s.WalkLedger(t.Context(), "q", mark, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range page {
			got = append(got, fmt.Sprintf("%d-%d", l.Start, l.End))
		}
		if mark = next; mark == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	proven, err := s.Leases(t.Context(), "q", alloc.MaxNumber+1, 100)
	if err != nil || len(proven) != 7 {
		t.Errorf("proven leases: got %d and %v, want all but one", len(proven), err)
	}
	overlaps := map[string]bool{}
	for _, f := range auditSequence(t, s, "q", 100).Findings {
		if f.Kind == alloc.FindOverlap {
			overlaps[f.On] = true
		}
	}
	if len(overlaps) != 1 {
		t.Errorf("overlaps: got %v, want the one that begins at 15", overlaps)
	}
	for _, position := range []int64{9, 14, 40, 44, 60 - 1, 74} { // wherever the counter is put: 36 to 40 alone were never leased
		edit(t, path, `UPDATE sequences SET state = 'active'`)
		edit(t, path, `UPDATE counters SET position = $1`, position)
		wantCode(t, second(s.Lease(t.Context(), order)), alloc.CodeSequenceStopped)
	}
	edit(t, path, `UPDATE sequences SET state = 'active'`)
	edit(t, path, `UPDATE counters SET position = 75`)
	if r, err := s.Lease(t.Context(), order); err != nil || r.Start != 76 {
		t.Errorf("above all of them: got %+v and %v", r, err)
	}
}

// setSequence changes the state of the sequence "q".
func setSequence(t testing.TB, s *Store, to alloc.SequenceState) {
	t.Helper()
	if _, err := s.SetSequenceState(t.Context(), "q", 0, to); err != nil {
		t.Fatal(err)
	}
}

func TestStockComesInTheOrderOfClaims(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 7)
	c := claimed(t, s, keyed(2, "k"))
	settle(t, s, alloc.EventRelease, "p", c.Token, c.IDs[0])
	sweepOut(t, s, "p") // it is behind all others now
	var stock []alloc.ID
	for mark := ""; ; {
		page, next, err := s.Stock(t.Context(), "p", mark, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			if r.State != alloc.StateFree || r.Pool != "p" {
				t.Errorf("got %+v, want it free and of the pool", r)
			}
			stock = append(stock, r.ID)
		}
		if mark = next; mark == "" {
			break
		}
	}
	for i, want := range stock {
		if c := claimed(t, s, one("p")); c.IDs[0] != want {
			t.Errorf("claim %d: got %s, want %s", i, c.IDs[0], want)
		}
	}
	if len(stock) != 6 {
		t.Errorf("got %d in stock, want 6", len(stock))
	}
	wantCounts(t, s, path, "p")
	_, _, err := s.Stock(t.Context(), "p", "nowhere", 3)
	wantCode(t, err, alloc.CodeInvalidRequest)
}
