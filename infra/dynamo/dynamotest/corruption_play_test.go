package dynamotest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// harm is one thing that is lost or damaged, and what comes of it when it is the only one.
type harm struct {
	what  string // "… is lost", "… are damaged"
	which func(p *corruptionPlay, it dynamo.Item) bool
	how   func(it dynamo.Item) // nil: the items are lost
	most  int                  // so many of the items at most; 0 for all

	caller   alloc.Code // what a caller in a process without memory is told, of a claim or a lease; "" for nothing
	schedule alloc.Code // what the sweep or the watch is told
	near     alloc.Code // what it may be told if something else has brought it there
	audit    string     // what the audit finds, in the order of the kinds
	remains  string     // what it finds after the rebuild, as nobody can repair it
	others   bool       // the repeat of a key may be given other IDs: nothing shows any more that the first ones are its own
	back     bool       // IDs are free again that somebody has
	blinds   bool       // after it nothing tells such an ID from others
	unasked  bool       // a seeding is not to be repeated: its IDs would be counted again, though none is given twice
}

// corruptionPlay is a pool and a sequence with several processes at work on them, one after the other by a seed. Harm is done in the middle
// of what one of them does.
type corruptionPlay struct {
	*auditStage
	g      *given
	rng    *rand.Rand
	stores []*dynamo.Store
	fuse   atomic.Int64 // so many calls of the table until the harm; none when it has been done
	harms  []harm
	hit    []int                           // how many items each has met
	mutate func(dynamo.Table) dynamo.Table // what the processes have in place of a table; nil for the table

	n      int
	owned  []alloc.Claim
	keyed  map[string]alloc.Claim
	leases map[string]alloc.Range
	held   []alloc.Claim
	back   []alloc.ID    // set back
	kept   []alloc.Claim // held, and settled by nobody

	headBefore   dynamo.Item  // when the harm was about to be done
	ledgerBefore []dynamo.Key // likewise
	tested       alloc.JobID  // the rebuild whose test numbers are known
}

func newCorruptionPlay(t testing.TB, seed uint64, harms []harm, mutate func(dynamo.Table) dynamo.Table) *corruptionPlay {
	t.Helper()
	s := newAuditStage(t, 120, alloc.PoolConfig{Marks: alloc.Marks{Low: 5}})
	p := &corruptionPlay{
		auditStage: s, g: &given{t, map[alloc.ID]string{}, map[alloc.Number]string{}}, rng: rand.New(rand.NewPCG(seed, 16)), //nolint:gosec // a schedule, no secret
		harms: harms, hit: make([]int, len(harms)), keyed: map[string]alloc.Claim{}, leases: map[string]alloc.Range{}, mutate: mutate,
	}
	if _, _, err := s.open().CreateSequence(t.Context(), counted, alloc.SequenceConfig{Start: 1}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.stores = append(p.stores, p.process())
	}
	return p
}

// process is one that does the harm when its turn comes, and whose steps of a rebuild are small.
func (p *corruptionPlay) process() *dynamo.Store {
	p.Helper()
	var table dynamo.Table = Through(func(ctx context.Context, c Call) Answer {
		if c.Op == OpPut && kindOf(c.Key()) == kindRebuild {
			c.Item["lm"] = int64(2)
		}
		if p.fuse.Load() > 0 && p.fuse.Add(-1) == 0 {
			p.doHarm()
		}
		return c.Do(ctx, p.mem)
	})
	if p.mutate != nil {
		table = p.mutate(table)
	}
	store, err := dynamo.New(dynamo.Config{Table: table, Now: p.clock.Now, IntN: func(int) int { return 0 }})
	if err != nil {
		p.Fatal(err)
	}
	return store
}

func (p *corruptionPlay) doHarm() {
	for i, h := range p.harms {
		var items []dynamo.Item
		for _, it := range p.mem.Items() {
			if h.which(p, it) {
				items = append(items, it)
			}
		}
		if h.most > 0 {
			items = items[max(0, len(items)-h.most):]
		}
		p.hit[i] = len(items)
		for _, it := range items {
			if h.how == nil {
				p.mem.Drop(it.Key())
				continue
			}
			h.how(it)
			p.mem.Set(it)
			if h.back {
				p.back = append(p.back, alloc.ID(it.Str("pk")[len(idItem("").PK):]))
			}
		}
	}
}

// traffic is so many steps of what pools, or sequences, are for.
func (p *corruptionPlay) traffic(n int, steps []func(*dynamo.Store) error) {
	p.Helper()
	for range n {
		p.n++
		p.clock.Advance(time.Second)
		if err := steps[p.rng.IntN(len(steps))](p.stores[p.n%len(p.stores)]); err != nil && !slices.Contains(toldOfHarm, alloc.CodeOf(err)) {
			p.Errorf("step %d got %v", p.n, err)
		}
	}
}

// toldOfHarm is what a caller may be told while something is lost.
var toldOfHarm = []alloc.Code{
	alloc.CodePoolDamaged, alloc.CodePoolRebuilding, alloc.CodePoolExhausted, alloc.CodePoolNotFound, alloc.CodeBusy, alloc.CodeUnavailable,
	alloc.CodeIDNotFound, alloc.CodeNotOwner, alloc.CodeIDRetired, alloc.CodeKeyBusy, alloc.CodeKeyEnded,
	alloc.CodeSequenceStopped, alloc.CodeSequenceNotFound, alloc.CodeSequenceRebuilding, alloc.CodeSequenceResuming,
}

// poolSteps are claims with and without a key, repeats of them, holds, confirmations, releases, retirements, seedings and sweeps.
func (p *corruptionPlay) poolSteps() []func(*dynamo.Store) error {
	claim := func(s *dynamo.Store) error {
		c, err := p.take(s, order(alloc.Count(1+p.rng.IntN(2)), ""))
		if err == nil {
			p.owned = append(p.owned, c)
		}
		return err
	}
	hold := func(s *dynamo.Store) error {
		c, err := p.take(s, heldOrder(1, time.Hour))
		if err == nil {
			p.held = append(p.held, c)
		}
		return err
	}
	key := func(s *dynamo.Store) error {
		name := fmt.Sprint("key", p.rng.IntN(6))
		c, err := s.Claim(p.Context(), order(2, name))
		if err != nil {
			return err
		}
		if first, ok := p.keyed[name]; !c.Replayed {
			p.g.claimed(name, c)
		} else if !ok || !slices.Equal(first.IDs, c.IDs) {
			if !p.any(func(h harm) bool { return h.others }) {
				p.Errorf("the key %s replays %v, and gave %v", name, c.IDs, first.IDs)
			}
			for _, id := range first.IDs { // some of them may be among the others
				delete(p.g.ids, id)
			}
			p.g.claimed(name, c)
			for _, id := range first.IDs {
				p.g.ids[id] = name
			}
		}
		p.keyed[name] = c
		return nil
	}
	settle := func(e alloc.Event, from *[]alloc.Claim) func(s *dynamo.Store) error {
		return func(s *dynamo.Store) error {
			if len(*from) == 0 {
				return nil
			}
			c := (*from)[0]
			*from = (*from)[1:]
			if e == alloc.EventRelease { // from here on somebody else may get them
				for _, id := range c.IDs {
					delete(p.g.ids, id)
				}
			}
			_, err := s.Settle(p.Context(), alloc.SettleOrder{Pool: pool, Event: e, IDs: c.IDs, Token: c.Token})
			return err
		}
	}
	seed := func(s *dynamo.Store) error {
		_, err := s.Seed(p.Context(), alloc.SeedBatch{Pool: pool, Job: alloc.JobID(fmt.Sprint("more", p.n)), IDs: ids(fmt.Sprint("more", p.n), 8)})
		return err
	}
	sweep := func(s *dynamo.Store) error {
		_, err := s.Sweep(p.Context(), pool)
		return err
	}
	return []func(*dynamo.Store) error{
		claim, claim, claim, hold, hold, key, key, seed, sweep,
		settle(alloc.EventRelease, &p.owned), settle(alloc.EventRetire, &p.owned), settle(alloc.EventConfirm, &p.held), settle(alloc.EventRelease, &p.held),
	}
}

func (p *corruptionPlay) take(s *dynamo.Store, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Claim(p.Context(), o)
	if err == nil {
		p.g.claimed(fmt.Sprint("at step ", p.n), c)
	}
	return c, err
}

// sequenceSteps are leases with and without a key, repeats of them, and watches.
func (p *corruptionPlay) sequenceSteps() []func(*dynamo.Store) error {
	lease := func(s *dynamo.Store) error {
		r, err := s.Lease(p.Context(), alloc.LeaseOrder{Sequence: counted, Count: alloc.Count(1 + p.rng.IntN(9)), By: "client"})
		if err == nil {
			p.g.leased(fmt.Sprint("at step ", p.n), r)
		}
		return err
	}
	key := func(s *dynamo.Store) error {
		name := fmt.Sprint("key", p.rng.IntN(6))
		r, err := s.Lease(p.Context(), alloc.LeaseOrder{Sequence: counted, Count: 5, By: "client", Key: alloc.NewKey("client", "lease", string(counted), name, "5")})
		if err != nil {
			return err
		}
		if first, ok := p.leases[name]; !r.Replayed {
			p.g.leased(name, r)
		} else if !ok || first.Start != r.Start || first.End != r.End {
			p.Errorf("the key %s replays %d to %d, and gave %d to %d", name, r.Start, r.End, first.Start, first.End)
		}
		p.leases[name] = r
		return nil
	}
	watch := func(s *dynamo.Store) error {
		_, err := s.Watch(p.Context(), counted)
		return err
	}
	return []func(*dynamo.Store) error{lease, lease, lease, key, key, watch}
}

// strike does the harm in the middle of a step or, if that has too few calls, of the next.
func (p *corruptionPlay) strike(steps []func(*dynamo.Store) error) {
	p.Helper()
	p.fuse.Store(1 + p.rng.Int64N(6))
	for p.fuse.Load() > 0 {
		p.traffic(1, steps)
	}
	for i, h := range p.harms {
		if p.hit[i] == 0 && len(p.harms) == 1 {
			p.Errorf("nothing is there of which %q could be", h.what)
		}
	}
}

func (p *corruptionPlay) any(is func(harm) bool) bool { return slices.ContainsFunc(p.harms, is) }

// kinds are the kinds of findings, each once.
func kinds(found []alloc.Finding) string {
	var list []string
	for _, f := range found {
		list = append(list, string(f.Kind))
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

// expect compares what one harm alone has led to, and demands of two that no more is left than each of them leaves.
func (p *corruptionPlay) expect(caller, schedule error, found, left []alloc.Finding) {
	p.Helper()
	if len(p.harms) == 1 {
		h := p.harms[0]
		got := harm{caller: alloc.CodeOf(caller), schedule: alloc.CodeOf(schedule), audit: kinds(found), remains: kinds(left)}
		if h.near != "" && got.schedule == h.near {
			got.schedule = h.schedule
		}
		if got.caller != h.caller || got.schedule != h.schedule || got.audit != h.audit || got.remains != h.remains {
			p.Errorf("caller: %q, schedule: %q, audit: %q, remains: %q,\nwant %q, %q, %q, %q\n%s\nleft %s", got.caller, got.schedule, got.audit, got.remains,
				h.caller, h.schedule, h.audit, h.remains, words(found), words(left))
		}
		return
	}
	a, b := p.harms[0], p.harms[1]
	if codes := []alloc.Code{"", a.caller, b.caller, a.schedule, b.schedule}; !slices.Contains(codes, alloc.CodeOf(caller)) {
		p.Errorf("the caller is told %v, and of one alone %q or %q", caller, a.caller, b.caller)
	}
	if codes := []alloc.Code{"", a.schedule, b.schedule, a.near, b.near}; !slices.Contains(codes, alloc.CodeOf(schedule)) {
		p.Errorf("the schedule is told %v, and of one alone %q or %q", schedule, a.schedule, b.schedule)
	}
	if (a.audit != "" && p.hit[0] > 0 || b.audit != "" && p.hit[1] > 0) && len(found) == 0 {
		p.Errorf("the audit finds nothing, and %q or %q of one alone", a.audit, b.audit)
	}
	may := strings.Fields(a.remains + " " + b.remains)
	for _, f := range left {
		if !slices.Contains(may, string(f.Kind)) {
			p.Errorf("after the rebuild the audit finds %s", words([]alloc.Finding{f}))
		}
	}
}

// eachAndPairs runs a play of each harm, and of every two.
func eachAndPairs(t *testing.T, harms []harm, play func(*testing.T, uint64, []harm)) {
	for i, a := range harms {
		t.Run(a.what, func(t *testing.T) { t.Parallel(); play(t, uint64(i), []harm{a}) })
		for j, b := range harms[i+1:] {
			seed := uint64(1000*(i+1) + j) //nolint:gosec // small
			t.Run(a.what+", and "+b.what, func(t *testing.T) { t.Parallel(); play(t, seed, []harm{a, b}) })
		}
	}
}

// at finds the item of the key.
func at(pk, sk string) func(*corruptionPlay, dynamo.Item) bool {
	return func(_ *corruptionPlay, it dynamo.Item) bool { return it.Str("pk") == pk && it.Str("sk") == sk }
}

// under finds items by how their keys begin.
func under(pk, sk string) func(*corruptionPlay, dynamo.Item) bool {
	return func(_ *corruptionPlay, it dynamo.Item) bool {
		return strings.HasPrefix(it.Str("pk"), pk) && strings.HasPrefix(it.Str("sk"), sk)
	}
}

func lacking(attr string) func(dynamo.Item) { return func(it dynamo.Item) { delete(it, attr) } }

func setTo(attr string, v any) func(dynamo.Item) { return func(it dynamo.Item) { it[attr] = v } }
