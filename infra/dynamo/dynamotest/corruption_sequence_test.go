package dynamotest

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

const countedPK = "S#" + string(counted)

// entryAt finds a record of the ledger, counted from the top.
func entryAt(fromTop int) func(*corruptionPlay, dynamo.Item) bool {
	return func(p *corruptionPlay, it dynamo.Item) bool {
		n := len(p.ledgerBefore) - 1 - fromTop
		return n >= 0 && it.Key() == p.ledgerBefore[n]
	}
}

var sequenceHarms = []harm{
	{what: "the counter is lost", which: at(countedPK, "H"), caller: alloc.CodeSequenceStopped, schedule: alloc.CodeSequenceStopped, audit: "counter"},
	{what: "the counter is set back", which: at(countedPK, "H"), how: func(it dynamo.Item) { it[attrLast] = it.Int(attrLast) / 2 }, caller: alloc.CodeSequenceStopped, schedule: alloc.CodeSequenceStopped, audit: "counter mark"},
	{what: "the counter is no number", which: at(countedPK, "H"), how: setTo(attrLast, "ten"), caller: alloc.CodeSequenceStopped, schedule: alloc.CodeSequenceStopped, audit: "counter"},
	{what: "the counter has no epoch", which: at(countedPK, "H"), how: lacking("ep"), caller: alloc.CodeSequenceStopped, schedule: alloc.CodeSequenceStopped, audit: "counter"},
	{what: "the top of the ledger is lost", which: entryAt(0), audit: "gaps", remains: "gaps"},
	{what: "the top of the ledger is damaged", which: entryAt(0), how: setTo("end", "?"), caller: alloc.CodeSequenceStopped, schedule: alloc.CodeSequenceStopped, audit: "lease", remains: "lease"},
	{what: "the middle of the ledger is lost", which: entryAt(3), audit: "gaps", remains: "gaps"},
	{what: "the middle of the ledger is damaged", which: entryAt(3), how: setTo("end", "?"), audit: "lease", remains: "lease"},
	{what: "the mark is lost", which: at(countedPK, "W")},
	{what: "the mark is damaged", which: at(countedPK, "W"), how: setTo("last", "?")},
	{what: "key records are lost", which: under("K#", "")},
	{what: "the catalogue has lost it", which: at("N#seq", string(counted))},
	{what: "the record of the rebuild is lost", which: at(countedPK, "B")},
	{what: "the record of the rebuild is damaged", which: at(countedPK, "B"), how: setTo("doc", "?")},
}

func TestWhateverASequenceLosesNoNumberIsGivenTwice(t *testing.T) {
	eachAndPairs(t, sequenceHarms, func(t *testing.T, seed uint64, harms []harm) { playSequence(t, seed, harms, nil) })
}

// playSequence does harm to a sequence in use while a rebuild is planned or was cancelled, lets all go on, rebuilds it, and leases on.
func playSequence(t testing.TB, seed uint64, harms []harm, mutate func(dynamo.Table) dynamo.Table) {
	p := newCorruptionPlay(t, seed, harms, mutate)
	steps := p.sequenceSteps()
	p.traffic(25, steps)
	request := alloc.RebuildRequest{Sequence: counted, Why: "corruption", Margin: 1 /* a plan that is low is not saved by that */, Config: alloc.SequenceConfig{Start: 1}.WithDefaults()}
	if _, err := rebuildBy(operator(t.Context()), p.process(), request, 0, true); err != nil {
		t.Fatal("a rebuild that is cancelled: ", err)
	}
	if _, err := p.open().Watch(t.Context(), counted); err != nil { // what is used since, and lost in counter and ledger, nobody can know
		t.Fatal(err)
	}
	for _, it := range p.mem.Items() {
		if it.Str("pk") == countedPK+"#L" {
			p.ledgerBefore = append(p.ledgerBefore, it.Key())
		}
	}
	p.strike(steps)
	found := p.sequenceFindings()
	q, schedule := p.process().Watch(t.Context(), counted)
	if schedule == nil && q.State == alloc.SequenceStopped {
		schedule = alloc.Stopped(counted)
	}
	r, caller := p.process().Lease(t.Context(), alloc.LeaseOrder{Sequence: counted, Count: 3, By: "client"})
	if caller == nil {
		p.g.leased("after the harm", r)
	}
	p.traffic(10, steps)
	service := func(depth int) {
		t.Helper()
		done, err := rebuildBy(operator(t.Context()), p.process(), request, depth, false)
		if err != nil {
			t.Fatalf("the rebuild, at %s: %v", done.Step, err)
		}
		if len(done.Tested) == 2 && p.tested != done.ID {
			p.tested = done.ID
			p.g.leased("as a test", alloc.Range{Start: done.Tested[0], End: done.Tested[1]})
		}
	}
	for _, depth := range []int{0, 1, 1, 1, 6} { // each by another process
		service(depth)
		p.traffic(5, steps)
	}
	p.traffic(10, steps)
	r, err := p.process().Lease(t.Context(), alloc.LeaseOrder{Sequence: counted, Count: 3, By: "client"})
	if err != nil {
		t.Error("at last: ", err)
	}
	p.g.leased("at last", r)
	if q, err := p.open().Watch(t.Context(), counted); err != nil || q.State != alloc.SequenceActive {
		t.Errorf("at last it is %s, %v", q.State, err)
	}
	p.expect(caller, schedule, found, p.sequenceFindings())
}

func (p *corruptionPlay) sequenceFindings() (found []alloc.Finding) {
	p.Helper()
	p.clock.Advance(10 * time.Minute) // what is missing is no lease on its way
	for o := (alloc.AuditOrder{Job: "audit", Sample: 100}); ; {
		step, err := p.open().AuditSequence(p.Context(), counted, o)
		if err != nil {
			p.Fatal(err)
		}
		found = append(found, step.Findings...)
		if o.Step = step.Next; o.Step == "" {
			return found
		}
	}
}
