package dynamotest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// chunksOf finds chunks of the queue between two marks of the head. Of a head that another harm has met before, nothing tells.
func chunksOf(from, to string) func(*corruptionPlay, dynamo.Item) bool {
	return func(p *corruptionPlay, it dynamo.Item) bool {
		if kindOf(it.Key()) != kindChunk {
			return false
		}
		head := p.headBefore
		n := chunkNumber(it.Key())
		return n >= head.Int(from) && n < head.Int(to)
	}
}

// leasedLater finds a chunk in the middle of those that are to be leased.
func leasedLater(p *corruptionPlay, it dynamo.Item) bool {
	next, tail := p.headBefore.Int(dynamo.AttrNext), p.headBefore.Int(dynamo.AttrTail)
	return kindOf(it.Key()) == kindChunk && chunkNumber(it.Key()) == (next+tail)/2
}

func idsIn(state string) func(*corruptionPlay, dynamo.Item) bool {
	return func(_ *corruptionPlay, it dynamo.Item) bool {
		return kindOf(it.Key()) == kindID && it.Str(dynamo.AttrState) == state
	}
}

// passedClaims finds claimed IDs that are listed below the low mark alone.
func passedClaims(p *corruptionPlay, it dynamo.Item) bool {
	if !idsIn(dynamo.StateClaimed)(p, it) {
		return false
	}
	listing := fmt.Sprintf("%d %s", it.Int(dynamo.AttrGeneration), it.Str("pk")[len(idItem("").PK):])
	low, passed := p.headBefore.Int(dynamo.AttrLow), false
	for _, c := range p.mem.Items() {
		if kindOf(c.Key()) == kindChunk && slices.Contains(c.List(dynamo.AttrListings), listing) {
			if chunkNumber(c.Key()) >= low {
				return false
			}
			passed = true
		}
	}
	return passed
}

const ownPK = "P#" + string(pool)

var poolHarms = []harm{
	{what: "the head is lost", which: at(ownPK, "H"), caller: alloc.CodePoolDamaged, schedule: alloc.CodePoolDamaged, audit: "head", blinds: true},
	{what: "the head has no tail", which: at(ownPK, "H"), how: lacking(dynamo.AttrTail), caller: alloc.CodePoolDamaged, schedule: alloc.CodePoolDamaged, audit: "head", blinds: true},
	{what: "leased chunks are lost", which: chunksOf(dynamo.AttrLow, dynamo.AttrNext), schedule: alloc.CodePoolDamaged, audit: "chunk unlisted", blinds: true},
	{what: "leased chunks are damaged", which: chunksOf(dynamo.AttrLow, dynamo.AttrNext), how: setTo(dynamo.AttrListings, []string{"?"}), audit: "chunk unlisted", blinds: true},
	{what: "chunks that are to be leased are lost", which: chunksOf(dynamo.AttrNext, dynamo.AttrTail), caller: alloc.CodeBusy, schedule: alloc.CodePoolDamaged, audit: "chunk unlisted", blinds: true},
	{what: "chunks that are to be leased are damaged", which: chunksOf(dynamo.AttrNext, dynamo.AttrTail), how: setTo(dynamo.AttrListings, []string{"?"}), caller: alloc.CodeBusy, audit: "chunk unlisted", blinds: true},
	{what: "the settings are lost", which: under(ownPK, "G#"), audit: "head"},
	{what: "the catalogue has lost it", which: at("N#pool", string(pool))},
	{what: "return items are lost", which: under(ownPK+"#R", "I#"), audit: "no_return"},
	{what: "the item of a key that is given up is lost", which: under(ownPK+"#R", "V#"), audit: "no_return"},
	{what: "key records are lost", which: under("K#", "K"), audit: "key", remains: "key"},
	{what: "key records are damaged", which: under("K#", "K"), how: setTo(dynamo.AttrListings, []string{"?"}), audit: "key", remains: "key"},
	{what: "a free ID is lost", which: idsIn(dynamo.StateFree), most: 1, audit: "counts lost_id"},
	{what: "claimed IDs are lost", which: idsIn(dynamo.StateClaimed), audit: "counts lost_id", others: true},
	{what: "held IDs are lost", which: idsIn(dynamo.StateHeld), audit: "counts lost_id"},
	{what: "a free ID is damaged", which: idsIn(dynamo.StateFree), how: setTo(dynamo.AttrState, "?"), most: 1, audit: "damaged_id", remains: "damaged_id"},
	{what: "claimed IDs are damaged", which: idsIn(dynamo.StateClaimed), how: lacking(dynamo.AttrToken), audit: "damaged_id", remains: "damaged_id", others: true},
	{what: "held IDs are damaged", which: idsIn(dynamo.StateHeld), how: lacking(dynamo.AttrHoldEnd), audit: "damaged_id", remains: "damaged_id"},
	{what: "claimed IDs are made free by hand", which: idsIn(dynamo.StateClaimed), how: setTo(dynamo.AttrState, dynamo.StateFree), audit: "damaged_id", remains: "damaged_id"},
	{what: "held IDs are made free by hand", which: idsIn(dynamo.StateHeld), how: setTo(dynamo.AttrState, dynamo.StateFree), audit: "damaged_id", remains: "damaged_id"},
	{what: "IDs that the queue has passed are set back", which: passedClaims, how: asBefore, back: true, audit: "set_back", others: true},
	{what: "batch records are lost", which: under("J#", "B#"), unasked: true},
	{what: "the refill's record is lost", which: at(ownPK, "F")},
	{what: "a chunk that is leased later is lost", which: leasedLater, near: alloc.CodePoolDamaged, audit: "chunk unlisted", blinds: true},
}

func TestWhateverAPoolLosesNoIDIsGivenTwice(t *testing.T) {
	eachAndPairs(t, poolHarms, playPool)
}

// playPool does harm to a pool in use, lets all go on, rebuilds it with all going on, and claims all that is left.
func playPool(t *testing.T, seed uint64, harms []harm) {
	p := newCorruptionPlay(t, seed, harms, nil)
	if _, err := p.open().ChangeRefill(t.Context(), 0, alloc.Refill{Pool: pool, Filling: true, Batch: "fill", UpTo: 5}); err != nil {
		t.Fatal(err)
	}
	steps := p.poolSteps()
	p.traffic(40, steps)
	p.unfinished()
	p.headBefore = p.mem.Item(headKey)
	p.strike(steps)
	if p.any(func(h harm) bool { return h.blinds }) {
		for _, id := range p.back { // nothing tells of these
			delete(p.g.ids, id)
		}
	}
	c, caller := p.take(p.process(), order(1, ""))
	if caller == nil {
		p.owned = append(p.owned, c)
	}
	found, _ := p.findings(100)
	_, schedule := p.process().Sweep(t.Context(), pool)
	p.traffic(12, steps)
	p.rebuildAmid(steps)
	p.traffic(20, steps)
	if !p.any(func(h harm) bool { return h.unasked }) {
		p.repeatSeeding()
	}
	p.end()
	left, _ := p.findings(100)
	p.expect(caller, schedule, found, left)
}

// unfinished leaves what a return item or a void item brings back.
func (p *corruptionPlay) unfinished() {
	p.Helper()
	for _, held := range []bool{false, true} {
		o := order(2, "")
		if held {
			o = heldOrder(2, time.Hour)
		}
		c, err := p.take(p.open(), o)
		if err != nil {
			p.Fatal(err)
		}
		if held {
			p.kept = append(p.kept, c)
			continue
		}
		for _, id := range c.IDs {
			delete(p.g.ids, id)
		}
		if _, err := p.open().Settle(p.Context(), alloc.SettleOrder{Pool: pool, Event: alloc.EventRelease, IDs: c.IDs, Token: c.Token}); err != nil {
			p.Fatal(err)
		}
	}
	o := order(1, "given up")
	c := p.claim(o)
	for _, it := range p.mem.Items() {
		if isRecord := kindOf(it.Key()) == kindRecord; !isRecord || it.Str(dynamo.AttrToken) != string(c.Token) {
			continue
		}
		p.set(it.Key(), dynamo.AttrState, dynamo.RecordVoid)
		hash := it.Str("pk")[len("K#"):]
		p.mem.Set(dynamo.Item{
			"pk": ownPK + "#R", "sk": "V#" + hash + "#" + string(c.Token), dynamo.AttrReason: dynamo.ReasonVoid, dynamo.AttrKey: hash,
			dynamo.AttrToken: string(c.Token), dynamo.AttrVersion: it.Int(dynamo.AttrVersion), dynamo.AttrDue: p.clock.Now().UnixMilli(),
		})
	}
}

// rebuildAmid rebuilds the pool, with something going on between two steps.
func (p *corruptionPlay) rebuildAmid(steps []func(*dynamo.Store) error) {
	p.Helper()
	o := alloc.PoolRebuildOrder{Pool: pool, Job: "rebuild", Policy: alloc.PolicyKeep}
	for n := 0; ; n++ {
		done, err := p.process().RebuildPool(p.Context(), o)
		if err != nil {
			p.Fatal("the rebuild: ", err)
		}
		if o.Step = done.Next; o.Step == "" {
			return
		}
		if n > 1000 {
			p.Fatal("the rebuild does not end")
		}
		p.traffic(1, steps)
	}
}

// repeatSeeding repeats a seeding of long ago: what is lost of it is known and never put again.
func (p *corruptionPlay) repeatSeeding() {
	p.Helper()
	if _, err := p.open().Seed(p.Context(), alloc.SeedBatch{Pool: pool, Job: "setup", IDs: ids("id", 120)}); err != nil {
		p.Error(err)
	}
}

// end lets the holds run out and claims all that can be claimed.
func (p *corruptionPlay) end() {
	p.Helper()
	for _, c := range append(p.held, p.kept...) {
		for _, id := range c.IDs {
			delete(p.g.ids, id)
		}
	}
	p.held = nil
	p.clock.Advance(2 * time.Hour)
	for range 3 {
		p.sweep()
	}
	got := 0
	for s := p.process(); ; got++ {
		if _, err := p.take(s, order(1, "")); err != nil {
			if !alloc.Is(err, alloc.CodePoolExhausted) {
				p.Error("at last: ", err)
			}
			break
		}
	}
	if got == 0 {
		p.Error("after the rebuild nothing can be claimed")
	}
	p.sweep()
	for _, r := range p.walked() {
		if r.State == alloc.StateFree && r.At.IsZero() { // one that is taken, and free, is damaged
			p.Errorf("%s is free and nobody gets it", r.ID)
		}
	}
}
