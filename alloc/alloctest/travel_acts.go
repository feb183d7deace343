package alloctest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// travelPool is a pool of every history.
type travelPool struct {
	name   alloc.PoolName
	config alloc.PoolConfig
	ids    int // seeded at the beginning
}

const serials, numbers alloc.SequenceName = "serials", "numbers"

var (
	travelPools = []travelPool{
		{"keep", alloc.PoolConfig{MaxBatch: 5}, 24},
		{"forget", alloc.PoolConfig{MaxBatch: 5, Policy: alloc.PolicyForget}, 16},
		{"filled", alloc.PoolConfig{
			MaxBatch: 5, Generator: generator.Config{Kind: generator.Sequence, Sequence: string(serials), Format: "S-{n}"},
			Marks: alloc.Marks{Low: 4, Target: 8},
		}, 0},
	}
	travelSequences = []alloc.SequenceName{serials, numbers}
)

func travelConfig(pool alloc.PoolName) alloc.PoolConfig {
	i := slices.IndexFunc(travelPools, func(p travelPool) bool { return p.name == pool })
	return travelPools[i].config.WithDefaults()
}

// found makes what there is at the beginning.
func (t *traveller) found() {
	t.Helper()
	for range 3 {
		t.crew = append(t.crew, t.process(t.fixture, nil))
	}
	s := t.crew[0].store
	for _, name := range travelSequences {
		if _, _, err := s.CreateSequence(t.Context(), name, alloc.SequenceConfig{Segment: 10, ResumeShare: 100}.WithDefaults()); err != nil {
			t.Fatalf("CreateSequence: %v", err)
		}
	}
	for _, p := range travelPools {
		if _, _, err := s.CreatePool(t.Context(), p.name, p.config.WithDefaults()); err != nil {
			t.Fatalf("CreatePool: %v", err)
		}
		if p.ids > 0 {
			if _, err := s.Seed(t.Context(), alloc.SeedBatch{Pool: p.name, Job: "first", IDs: someIDs(string(p.name)+"-", p.ids)}); err != nil {
				t.Fatalf("Seed: %v", err)
			}
		}
	}
}

// act is something that clients, operators or the schedule do. In the era between the restore and the procedure a pause keeps from
// those that are closed.
type act struct {
	name   string
	weight int
	closed bool // not while it is paused
	early  bool // also after the restore
	do     func(t *traveller, p *process) string
}

var acts = []act{
	{"claim", 30, true, true, (*traveller).claim},
	{"repeat", 5, true, true, (*traveller).repeat},
	{"settle", 25, false, true, (*traveller).settle},
	{"sweep", 12, false, true, (*traveller).sweep},
	{"seed", 5, false, false, (*traveller).seed},
	{"lease", 6, true, true, (*traveller).lease},
	{"next", 8, true, true, (*traveller).number},
	{"wait", 12, false, true, (*traveller).wait},
	{"tend", 4, false, true, (*traveller).tend},
	{"seed by a job", 2, false, false, (*traveller).seedJob},
	{"rebuild a pool", 2, false, false, (*traveller).rebuildPool},
	{"rebuild a sequence", 1, false, false, (*traveller).rebuildSequence},
	{"work", 4, false, true, (*traveller).work},
}

// traffic does some of all there is.
func (t *traveller) traffic(n int) {
	t.Helper()
	for range n {
		t.act()
	}
}

func (t *traveller) act() {
	t.Helper()
	weights := make([]int, len(acts))
	for i, a := range acts {
		if t.era == astray && (!a.early || a.closed && t.plan.dirty < 2) {
			continue
		}
		weights[i] = a.weight
	}
	a := acts[t.pick(weights...)]
	p := t.somebody()
	what := a.do(t, p)
	dead := ""
	if p.fuse.died() {
		dead = " and dies"
	}
	t.note("%s: %s %s%s", p.name, a.name, what, dead)
}

// says puts an outcome into words.
func says(err error) string {
	if err == nil {
		return "ok"
	}
	if e := asError(err); e != nil {
		if e.Unknown {
			return "unknown"
		}
		return string(e.Code)
	}
	return err.Error()
}

func (t *traveller) aPool() alloc.PoolName { return travelPools[t.pick(60, 25, 15)].name }

func (t *traveller) claim(p *process) string {
	t.Helper()
	o := order(t.aPool(), alloc.Count(1+t.rng.IntN(3)))
	o.By = alloc.ClientID(p.name)
	if t.chance(35) {
		o = keyedOrder(o.Pool, o.Count, fmt.Sprint("k", t.next()))
		t.keyed = append(t.keyed, keyedTravel{o, t.era})
	}
	if t.chance(35) {
		o.Hold = []time.Duration{time.Hour, 12 * time.Hour, 5 * 24 * time.Hour, alloc.MaxHold}[t.rng.IntN(4)]
	}
	return t.order(p, o)
}

func (t *traveller) order(p *process, o alloc.ClaimOrder) string {
	t.Helper()
	c, err := p.store.Claim(p.ctx, o)
	if err == nil {
		t.claimed(o, c)
	}
	return fmt.Sprintf("%d of %s, hold %s, keyed %t: %s %v %.6s %s", o.Count, o.Pool, o.Hold, o.Key != nil, says(err), c.IDs, c.Token, c.HeldUntil.Format("02T15:04:05"))
}

// repeat repeats a claim with a key.
func (t *traveller) repeat(p *process) string {
	t.Helper()
	if len(t.keyed) == 0 {
		return "nothing"
	}
	return t.order(p, t.keyed[t.rng.IntN(len(t.keyed))].order)
}

// settle confirms, releases or retires.
func (t *traveller) settle(p *process) string {
	t.Helper()
	var some []*grant
	for _, g := range t.book.grants {
		if t.era != astray || g.has[0].era != old {
			some = append(some, g)
		}
	}
	if len(some) == 0 {
		return "nothing"
	}
	return t.settleOf(p, some[t.rng.IntN(len(some))])
}

func (t *traveller) settleOf(p *process, g *grant) string {
	t.Helper()
	o := g.pending
	if o == nil {
		o = &alloc.SettleOrder{Pool: g.pool, Token: g.token, Event: []alloc.Event{alloc.EventConfirm, alloc.EventRelease, alloc.EventRetire}[t.pick(40, 45, 15)]}
		for _, h := range g.has {
			told := o.Event == alloc.EventRelease && t.clash(h.pool, h.id) // whoever was told of it does not give it back
			if !h.over && !told && (len(o.IDs) == 0 || t.chance(70)) {
				o.IDs = append(o.IDs, h.id)
			}
		}
		if len(o.IDs) == 0 {
			return "nothing"
		}
	}
	for _, h := range g.has { // from here on it may be so
		if slices.Contains(o.IDs, h.id) {
			h.changed = t.era
			h.unsure = true
			h.over = h.over || o.Event == alloc.EventRelease
		}
	}
	settled, err := p.store.Settle(p.ctx, *o)
	g.pending = nil
	switch e := asError(err); {
	case err == nil:
		for _, h := range g.has {
			if slices.Contains(o.IDs, h.id) {
				h.unsure = false
				if h.state != alloc.StateRetired { // whose owner may ask for something else, where that is not known any more
					h.state = settled.State
				}
			}
		}
	case e != nil && !e.Unknown: // it may have lost them
		for _, h := range g.has {
			h.over = h.over || t.era == astray && e.Code == alloc.CodeNotOwner && slices.Contains(o.IDs, h.id) // and is told so
		}
	default:
		g.pending = o
	}
	return fmt.Sprintf("%s %v of %s by %.6s: %s", o.Event, o.IDs, o.Pool, o.Token, says(err))
}

func (t *traveller) sweep(p *process) string {
	t.Helper()
	pool := t.aPool()
	r, err := p.store.Sweep(p.ctx, pool)
	return fmt.Sprintf("%s: %s, returned %d, relisted %d, voided %d", pool, says(err), r.Returned, r.Relisted, r.Voided)
}

// seed adds new IDs, or repeats a batch, or seeds again what a pool has forgotten.
func (t *traveller) seed(p *process) string {
	t.Helper()
	n := t.next()
	pool := travelPools[t.pick(60, 40)].name
	b := alloc.SeedBatch{Pool: pool, Job: alloc.JobID(fmt.Sprint("job-", n)), IDs: someIDs(fmt.Sprint(pool, n, "-"), 1+t.rng.IntN(5))}
	gone := t.book.gone[pool]
	switch {
	case len(t.batches) > 0 && t.chance(30):
		b = t.batches[t.rng.IntN(len(t.batches))]
	case len(gone) > 0 && t.chance(50):
		b.IDs = []alloc.ID{gone[t.rng.IntN(len(gone))]}
	case t.chance(20):
		b.UpTo = alloc.Count(5 + t.rng.IntN(20))
	case t.chance(20):
		b.Keyless = true
	}
	if b.Keyless {
		b.Job = alloc.JobID("keyless-" + b.IDs[0])
	}
	t.batches = append(t.batches, b)
	return t.seeding(p, b)
}

func (t *traveller) seeding(p *process, b alloc.SeedBatch) string {
	t.Helper()
	outcomes, err := p.store.Seed(p.ctx, b)
	for i, id := range b.IDs {
		forgets := travelConfig(b.Pool).Policy == alloc.PolicyForget
		if forgets && slices.Contains(t.book.gone[b.Pool], id) && (err != nil || outcomes[i] == alloc.SeedAdded) && t.era <= old {
			for _, h := range t.book.ids[b.Pool][id] { // another life of it, for whoever claims it next
				h.over, h.unsure = true, true
			}
		}
	}
	return fmt.Sprintf("%v into %s, up to %d: %s %v", b.IDs, b.Pool, b.UpTo, says(err), outcomes)
}

func (t *traveller) lease(p *process) string {
	t.Helper()
	o := leaseOrder(numbers, alloc.Count(1+t.rng.IntN(9)))
	r, err := p.store.Lease(p.ctx, o)
	if err == nil {
		t.leased(stretch{sequence: numbers, start: r.Start, end: r.End, by: p.name + " by a lease"})
	}
	return fmt.Sprintf("%s %d-%d", says(err), r.Start, r.End)
}

func (t *traveller) number(p *process) string {
	t.Helper()
	got, _, err := p.service.Next(p.ctx, alloc.LeaseRequest{Sequence: numbers, Count: alloc.Count(1 + t.rng.IntN(3))})
	for _, n := range got {
		t.leased(stretch{sequence: numbers, start: n, end: n, by: p.name + " by next"})
	}
	return fmt.Sprintf("%s %v", says(err), got)
}

func (t *traveller) wait(*process) string {
	waits := []time.Duration{time.Second, stateDelay, staleStock, time.Hour, 11 * time.Hour}
	if t.era == before {
		waits = append(waits, 30*time.Hour, 4*24*time.Hour)
	}
	d := waits[t.rng.IntN(len(waits))]
	t.clock.Advance(d)
	return d.String()
}

func (t *traveller) tend(p *process) string {
	_, err := p.service.Tend(p.ctx)
	return says(err)
}

func (t *traveller) seedJob(p *process) string {
	n := t.next()
	pool := travelPools[t.pick(60, 40)].name
	j, err := p.service.OpenSeeding(p.ctx, alloc.SeedJobRequest{Pool: pool})
	if err != nil {
		return says(err)
	}
	var text strings.Builder
	for _, id := range someIDs(fmt.Sprint("file", n, "-"), 6) {
		text.WriteString(string(id) + "\n")
	}
	if _, _, err = p.service.ReceivePart(p.ctx, j.ID, 0, []byte(text.String())); err == nil {
		_, err = p.service.StartJob(p.ctx, j.ID, 1)
	}
	return fmt.Sprintf("%s, %d: %s", pool, n, says(err))
}

func (t *traveller) rebuildPool(p *process) string {
	pool := t.aPool()
	j, err := p.service.RebuildPool(p.ctx, alloc.PoolRebuildRequest{Pool: pool})
	if err == nil {
		err = p.service.Work(p.ctx, alloc.Step{Job: j.ID, Version: j.Version})
	}
	return fmt.Sprintf("%s: %s", pool, says(err))
}

func (t *traveller) rebuildSequence(p *process) string {
	name := travelSequences[t.rng.IntN(2)]
	r, err := p.service.PlanRebuild(p.ctx, alloc.RebuildRequest{Sequence: name, Margin: 1})
	if err == nil && t.chance(80) {
		r, err = p.service.ApplyRebuild(p.ctx, alloc.RebuildApproval{Sequence: name, Plan: r.Plan.ID})
	}
	if err == nil && t.chance(90) {
		r, err = p.service.ResumeRebuild(p.ctx, name, 100)
	}
	return fmt.Sprintf("%s: %s %s", name, says(err), r.Step)
}

// work carries a job on.
func (t *traveller) work(p *process) string {
	open, err := p.store.OpenJobs(p.ctx, "", 100)
	if err != nil || len(open) == 0 {
		return "nothing " + says(err)
	}
	j := open[t.rng.IntN(len(open))]
	err = p.service.Work(p.ctx, alloc.Step{Job: j.ID, Version: j.Version})
	return fmt.Sprintf("%s of %s: %s", j.Kind, j.Pool, says(err))
}
