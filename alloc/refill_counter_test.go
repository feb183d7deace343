package alloc_test

import (
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
)

// maker may manage the pool "bobs", and lease of the sequences.
func maker(p *plant, sequences ...string) (scopes []alloc.Scope) {
	scopes = append(scopes, alloc.Scope{Action: alloc.ActionManage, Pattern: "bobs"})
	for _, name := range sequences {
		scopes = append(scopes, alloc.Scope{Action: alloc.ActionLease, Pattern: name})
	}
	return scopes
}

func (p *plant) sequence(name alloc.SequenceName) alloc.Sequence {
	p.t.Helper()
	q, err := p.model.Sequence(p.ctx, name)
	if err != nil {
		p.t.Fatal(err)
	}
	return q
}

func (p *plant) createSequence(name alloc.SequenceName, c alloc.SequenceConfig) {
	p.t.Helper()
	if _, _, err := p.CreateSequence(p.ctx, name, c); err != nil {
		p.t.Fatal(err)
	}
}

// A sequence that has the name of a period's counter, and was made by hand, is not for who may lease of its base.
func TestASequenceCalledLikeAPeriodIsNotDrained(t *testing.T) {
	p := newPlant(t, filled(1, 2, uuids))
	p.clock.Advance(time.Date(2037, time.June, 1, 0, 0, 0, 0, time.UTC).Sub(p.clock.Now()))
	for _, name := range []alloc.SequenceName{"team", "team.2037", "team.2038"} {
		p.createSequence(name, alloc.SequenceConfig{})
	}
	bob := as(t.Context(), "bob", maker(p, "team")...)
	of := func(format string) alloc.PoolConfig {
		return filled(10, 50, generator.Config{Kind: generator.Sequence, Sequence: "team", Format: format})
	}
	if _, err := p.PreviewGenerator(bob, alloc.PreviewRequest{Pool: "bobs", Config: of("x-{yyyy}-{n}")}); !alloc.Is(err, alloc.CodeInvalidConfig) {
		t.Errorf("a preview of it: %v", err)
	}
	if _, _, err := p.CreatePool(bob, "bobs", of("x-{yyyy}-{n}")); !alloc.Is(err, alloc.CodeInvalidConfig) || !strings.Contains(err.Error(), `"team.2037" was not made to count`) {
		t.Errorf("a generator that would drain it: %v", err)
	}

	// Of a month nothing is in the way, until somebody is faster than the refill.
	if _, _, err := p.CreatePool(bob, "bobs", of("x-{yyyy}-{mm}-{n}")); err != nil {
		t.Fatal(err)
	}
	p.createSequence("team.2037-06", alloc.SequenceConfig{})
	r := p.run()
	if f := r.Refills[0]; f.Pool != "bobs" || f.Added != 0 || !f.DryNow || !strings.Contains(f.Dry, `"team.2037-06" was not made to count a period of "team"`) {
		t.Errorf("the run tells of %+v", r.Refills)
	}
	if q := p.sequence("team.2037-06"); q.Next != q.Config.Start {
		t.Errorf("%d numbers of it were taken", q.Next-q.Config.Start)
	}

	// The next month's is the refill's own: bob's pool has its numbers, but he himself may not lease of it.
	p.clock.Advance(31 * 24 * time.Hour)
	if r = p.run(); r.Refills[0].Added != 50 || r.Refills[0].Dry != "" {
		t.Errorf("in the next month the run tells of %+v", r.Refills)
	}
	if q := p.sequence("team.2037-07"); q.Config.PeriodOf != "team" || q.Next != 51 {
		t.Errorf("its counter is %+v", q)
	}
	for _, name := range []alloc.SequenceName{"team.2037", "team.2037-06", "team.2037-07"} {
		if _, err := p.Lease(bob, alloc.LeaseRequest{Sequence: name, Count: 1}); !alloc.Is(err, alloc.CodeForbidden) {
			t.Errorf("bob leases of %s: %v", name, err)
		}
		if _, _, err := p.Next(bob, alloc.LeaseRequest{Sequence: name, Count: 1}); !alloc.Is(err, alloc.CodeForbidden) {
			t.Errorf("bob takes numbers of %s: %v", name, err)
		}
	}
}

func TestWhatASequencePeriodIsOfIsNotForClients(t *testing.T) {
	p := newPlant(t, filled(1, 2, yearly))
	if _, _, err := p.CreateSequence(p.ctx, "s", alloc.SequenceConfig{PeriodOf: "invoices"}); !alloc.Is(err, alloc.CodeInvalidConfig) {
		t.Errorf("to create one: %v", err)
	}
	p.run()
	name := alloc.SequenceName("invoices." + p.clock.Now().Format("2006"))
	config := p.sequence(name).Config
	config.PeriodOf, config.MaxLease = "", 7
	for range 2 {
		if q, err := p.ChangeSequence(p.ctx, name, 1, config); err != nil || q.Version != 2 || q.Config.MaxLease != 7 || q.Config.PeriodOf != "invoices" {
			t.Errorf("to change what is a client's: %+v, %v", q, err)
		}
	}
	if _, _, err := p.CreateSequence(p.ctx, name, config); !alloc.Is(err, alloc.CodeSequenceExists) {
		t.Errorf("to create what the refill has made: %v", err)
	}
}

// The counter of a period has the limit that its sequence had when it was made, and takes over a higher one. A lower one it
// does not.
func TestARaisedLimitIsThatOfThePeriodsToo(t *testing.T) {
	p := newPlant(t, filled(1, 2, uuids))
	p.createSequence("invoices", alloc.SequenceConfig{Limit: 25})
	if _, _, err := p.CreatePool(p.ctx, "bills", filled(6, 20, yearly)); err != nil {
		t.Fatal(err)
	}
	name := alloc.SequenceName("invoices." + p.clock.Now().Format("2006"))
	bills := func() alloc.RefillReport { return p.run().Refills[0] }
	if r := bills(); r.Added != 20 {
		t.Errorf("at first: %+v", r)
	}
	if _, err := p.model.Claim(p.ctx, alloc.ClaimOrder{Pool: "bills", Count: 20}); err != nil {
		t.Fatal(err)
	}
	if r := bills(); r.Added != 5 || !strings.Contains(r.Dry, string(name)) {
		t.Errorf("of the last five numbers: %+v", r)
	}
	limit := func(n alloc.Number) {
		t.Helper()
		if _, err := p.ChangeSequence(p.ctx, "invoices", p.sequence("invoices").Version, alloc.SequenceConfig{Limit: n}); err != nil {
			t.Fatal(err)
		}
		p.clock.Advance(time.Minute)
	}
	limit(1000)
	if got, err := p.PreviewGenerator(p.ctx, alloc.PreviewRequest{Pool: "bills", Config: filled(6, 20, yearly)}); err != nil || len(got.Examples) != 5 {
		t.Errorf("a preview before the counter has the limit: %v, %v", got.Examples, err)
	}
	p.store.SetPlan(alloctest.Script("ChangeSequence", alloctest.AppliedButFailed))
	if _, err := p.Tend(p.ctx); err != nil {
		t.Fatal(err)
	}
	p.store.SetPlan(nil)
	if r := bills(); r.Added != 15 || r.Dry != "" {
		t.Errorf("with a higher limit: %+v", r)
	}
	if q := p.sequence(name); q.Config.Limit != 1000 || q.Version != 2 || q.Config.PeriodOf != "invoices" {
		t.Errorf("the counter is %+v", q)
	}
	limit(30)
	p.clock.Advance(time.Minute)
	if r := bills(); r.Dry != "" || p.sequence(name).Version != 2 {
		t.Errorf("with a lower limit: %+v, the counter %+v", r, p.sequence(name))
	}
}

// An order of last year waits, and a lease of the sequence may not have as many numbers as are wanted.
func TestAnOrderOfAPeriodThatIsOverWithShortLeases(t *testing.T) {
	for what, later := range map[string]time.Duration{"an hour later": time.Hour, "days later": 3 * alloc.KeyRetention} {
		p := newPlant(t, filled(1, 2, uuids))
		p.clock.Advance(time.Date(2037, time.December, 31, 23, 30, 0, 0, time.UTC).Sub(p.clock.Now()))
		p.createSequence("invoices", alloc.SequenceConfig{MaxLease: 3})
		if _, _, err := p.CreatePool(p.ctx, "bills", filled(6, 20, yearly)); err != nil {
			t.Fatal(err)
		}
		p.store.SetPlan(alloctest.Script("Lease", alloctest.Refused))
		if r, err := p.Tend(p.ctx); err != nil || r.Refills[0].Err == nil {
			t.Fatalf("%s: %+v, %v", what, r.Refills, err)
		}
		p.store.SetPlan(nil)
		p.clock.Advance(later)
		if r := p.run(); r.Refills[0].Added != 20 {
			t.Errorf("%s: the run tells of %+v", what, r.Refills)
		}
	}
}
