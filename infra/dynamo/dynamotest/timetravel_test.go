package dynamotest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// copied is a table with the same items, as the restore of a backup makes one.
func copied(m *Memory) *Memory {
	c := NewMemory()
	for _, it := range m.Items() {
		c.Set(it)
	}
	return c
}

// given is every ID that was answered to somebody who has not given it back, and every number.
type given struct {
	testing.TB
	ids     map[alloc.ID]string
	numbers map[alloc.Number]string
}

func (g *given) claimed(era string, c alloc.Claim) {
	for _, id := range c.IDs {
		if first, twice := g.ids[id]; twice {
			g.Errorf("%s is given %s, and was given %s", id, era, first)
		}
		g.ids[id] = era
	}
}

func (g *given) leased(era string, r alloc.Range) {
	for n := r.Start; n <= r.End; n++ {
		if first, twice := g.numbers[n]; twice {
			g.Errorf("the number %d is given %s, and was given %s", n, era, first)
		}
		g.numbers[n] = era
	}
}

const counted alloc.SequenceName = "numbers"

// The table is restored to a point before which, and after which, IDs were claimed, released, held, retired and seeded, and numbers leased.
// Whatever is then carried forward, of the old table, of a log of it or of nothing, and after the rebuild of both: nothing is given twice.
func TestTimeTravel(t *testing.T) {
	for _, source := range []string{"the old table", "a log", "nothing"} {
		t.Run("carried from "+source, func(t *testing.T) { travel(t, source, nil) })
	}
}

// A Store that loses what is carried, and does not say so, is found out. (That what was written cannot be read it says itself.)
func TestMutantsAreCaughtByTimeTravel(t *testing.T) {
	for what, lose := range map[string]func(l alloc.LeaseRecord) []alloc.LeaseRecord{
		"no lease is entered": func(alloc.LeaseRecord) []alloc.LeaseRecord { return nil },
		"a lease is entered without its last number": func(l alloc.LeaseRecord) []alloc.LeaseRecord {
			l.End--
			return []alloc.LeaseRecord{l}
		},
	} {
		for _, source := range []string{"the old table", "a log"} {
			failed := failuresOf(t, func(t testing.TB) { travel(t, source, lose) })
			if !slices.ContainsFunc(failed, func(s string) bool {
				return strings.HasPrefix(s, "the number ") && strings.Contains(s, "and was given")
			}) {
				t.Errorf("%s, carried from %s: it is said %q, want a number that is given twice", what, source, failed)
			}
		}
	}
}

// travel goes back to a point, and on. Of each lease that is carried, lose says what is; nil for all of it.
func travel(t testing.TB, source string, lose func(l alloc.LeaseRecord) []alloc.LeaseRecord) {
	t.Helper()
	s := newAuditStage(t, 300, alloc.PoolConfig{})
	g := &given{t, map[alloc.ID]string{}, map[alloc.Number]string{}}
	if _, _, err := s.open().CreateSequence(t.Context(), counted, alloc.SequenceConfig{Start: 1}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	frozen := s.open() // a process that sleeps through the restore with stock in memory
	s.era(g, "before the backup", s.open())
	s.cutSeeding("cut", ids("cut", 40))
	g.claimed("before the backup", s.claimBy(frozen, 1))
	backup := copied(s.mem)
	s.point = s.clock.Now()

	s.clock.Advance(time.Minute)
	s.era(g, "after the backup", s.open())
	s.seed("cut", ids("cut", 40)...)
	s.seed("later", ids("later", 40)...)
	s.era(g, "after the backup, of what was seeded", s.open())
	old := &auditStage{TB: t, mem: s.mem, clock: s.clock}

	s.mem = backup // Stores that are open go on with what they remember, on the restored table
	switch source {
	case "nothing":
		s.burn()
	default:
		s.forward(old, source == "a log")
		s.carryLeases(old, lose)
	}
	s.rebuild()
	s.restart(old, source == "nothing")
	s.clock.Advance(time.Minute)
	awake, err := dynamo.New(dynamo.Config{Table: s.mem, Now: s.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	s.era(g, "after the restore", awake)
	s.drain(g)
	if found, _ := s.findings(100); len(found) > 0 {
		t.Errorf("the audit finds %s", words(found))
	}
}

func (s *auditStage) claimBy(store *dynamo.Store, n alloc.Count) alloc.Claim {
	s.Helper()
	c, err := store.Claim(s.Context(), order(n, ""))
	if err != nil {
		if alloc.Is(err, alloc.CodePoolExhausted) {
			return alloc.Claim{}
		}
		s.Fatal(err)
	}
	return c
}

// era does some of all that a pool and a sequence are for.
func (s *auditStage) era(g *given, era string, store *dynamo.Store) {
	s.Helper()
	for i := range 24 {
		o := order(2, "")
		if i%4 == 3 {
			o = heldOrder(2, time.Hour)
		}
		c, err := store.Claim(s.Context(), o)
		if alloc.Is(err, alloc.CodePoolExhausted) {
			break
		}
		if err != nil {
			s.Fatal(err)
		}
		g.claimed(era, c)
		event := []alloc.Event{"", alloc.EventRelease, alloc.EventRetire, alloc.EventConfirm}[i%4]
		if event == "" || i%8 == 7 {
			continue
		}
		if _, err := store.Settle(s.Context(), alloc.SettleOrder{Pool: pool, Event: event, IDs: c.IDs, Token: c.Token}); err != nil {
			s.Fatal(err)
		}
		if event == alloc.EventRelease {
			for _, id := range c.IDs {
				delete(g.ids, id)
			}
		}
	}
	s.sweep()
	for range 5 {
		r, err := store.Lease(s.Context(), alloc.LeaseOrder{Sequence: counted, Count: 7, By: "client"})
		if err != nil {
			s.Fatal(era, err)
		}
		g.leased(era, r)
	}
}

// cutSeeding puts IDs, of which nothing is listed.
func (s *auditStage) cutSeeding(job alloc.JobID, list []alloc.ID) {
	s.Helper()
	b := alloc.SeedBatch{Pool: pool, Job: job, IDs: list}
	cut := NewFaults(s.mem, func(c Call) Fault {
		if c.Op == OpPut && kindOf(c.Key()) == kindChunk {
			return Refused
		}
		return None
	})
	store, err := dynamo.New(dynamo.Config{Table: cut, Now: s.clock.Now})
	if err != nil {
		s.Fatal(err)
	}
	if _, err := store.Seed(s.Context(), b); err == nil {
		s.Fatal("the seeding was not cut off")
	}
}

// forward carries what was taken in the old table, or only what a log has of it: what was taken after the backup, and what is not settled.
func (s *auditStage) forward(old *auditStage, log bool) {
	s.Helper()
	var list []alloc.IDRecord
	for _, r := range old.walked() {
		settled := r.State == alloc.StateClaimed || r.State == alloc.StateRetired
		if log && (r.State == alloc.StateFree || settled && r.At.Before(s.point.Truncate(time.Millisecond))) {
			continue
		}
		list = append(list, r)
	}
	for part := range slices.Chunk(list, 100) {
		for i, o := range s.carry(part...) {
			if o == alloc.CarryClash {
				s.Errorf("a clash on %+v", part[i])
			}
		}
	}
}

// carryLeases carries the whole ledger, as far as it is not lost.
func (s *auditStage) carryLeases(old *auditStage, lose func(l alloc.LeaseRecord) []alloc.LeaseRecord) {
	s.Helper()
	var leases []alloc.LeaseRecord
	for _, l := range old.ledger() {
		if lose == nil {
			leases = append(leases, l)
		} else {
			leases = append(leases, lose(l)...)
		}
	}
	if _, err := s.open().SetSequenceState(s.Context(), counted, 0, alloc.SequencePaused); err != nil {
		s.Fatal(err)
	}
	if _, err := s.open().CarryLeases(s.Context(), counted, leases); err != nil {
		s.Fatal(err)
	}
}

// ledger is every entry of it.
func (s *auditStage) ledger() (leases []alloc.LeaseRecord) {
	s.Helper()
	for mark := ""; ; {
		page, next, err := s.open().WalkLedger(s.Context(), counted, mark, 100)
		if err != nil {
			s.Fatal(err)
		}
		if leases, mark = append(leases, page...), next; mark == "" {
			return leases
		}
	}
}

// burn retires all that may have been taken: what is free, and what was held or on its way back.
func (s *auditStage) burn() {
	s.Helper()
	for _, r := range s.walked() {
		if r.State == alloc.StateHeld || r.State == alloc.StateReturning {
			r.State, r.HeldUntil = alloc.StateRetired, time.Time{}
			s.carry(r)
		}
	}
	s.burnFree()
	if left := s.stock(100); len(left) > 0 {
		s.Errorf("%d free IDs are left", len(left))
	}
}

func (s *auditStage) burnFree() {
	s.Helper()
	for part := range slices.Chunk(s.stock(100), 100) {
		var list []alloc.IDRecord
		for _, id := range part {
			r := s.inspect(id)
			r.State = alloc.StateRetired
			list = append(list, r)
		}
		s.carry(list...)
	}
}

// rebuild rebuilds the pool.
func (s *auditStage) rebuild() {
	s.Helper()
	for o := (alloc.PoolRebuildOrder{Pool: pool, Job: "rebuild"}); ; {
		done, err := s.open().RebuildPool(s.Context(), o)
		if err != nil {
			s.Fatal(err)
		}
		if o.Step = done.Next; o.Step == "" {
			return
		}
	}
}

// restart puts the counter right above every lease that the ledger has. Where nothing was carried it is put above all that the old one gave: somebody
// reports it.
func (s *auditStage) restart(old *auditStage, reported bool) {
	s.Helper()
	next := alloc.Number(1)
	for _, l := range s.ledger() {
		next = max(next, l.End+1)
	}
	if reported {
		last, err := old.open().Sequence(s.Context(), counted)
		if err != nil {
			s.Fatal(err)
		}
		next = last.Next
	}
	ctx := s.Context()
	was, err := s.open().Freeze(ctx, counted, "rebuild")
	if err != nil {
		s.Fatal(err)
	}
	if _, err := s.open().Restart(ctx, alloc.RestartOrder{Sequence: counted, Rebuild: "rebuild", From: was.Epoch, To: was.Epoch + 1, Next: next, Config: was.Config}); err != nil {
		s.Fatal(err)
	}
	if _, err := s.open().Thaw(ctx, counted, "rebuild", alloc.SequenceActive, 0); err != nil {
		s.Fatal(err)
	}
}

// drain claims all that is left, and seeds what was seeded after the backup once more, as a job would that was restored too.
func (s *auditStage) drain(g *given) {
	s.Helper()
	s.seed("cut", ids("cut", 40)...)
	s.sweep()
	for {
		c := s.claimBy(s.open(), 1)
		if len(c.IDs) == 0 {
			return
		}
		g.claimed("at last", c)
	}
}
