// Package demo fills a store with what a company has after a day's work: pools that are full, that run out, that refill
// themselves, and sequences at all stages. It is what one looks around in before one has data of one's own, and what
// screenshots and the tests of pages are made with.
package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// Span is the time that is played.
const Span = 24 * time.Hour

// step is the time between two runs of the schedule of that day.
const step = 10 * time.Minute

// Clock is a clock that Fill moves. Store and Service have to go by it.
type Clock struct{ now time.Time }

// NewClock returns a clock that stands Span before the time.
func NewClock(until time.Time) *Clock { return &Clock{until.Add(-Span)} }

// Now is the time by the clock.
func (c *Clock) Now() time.Time { return c.now }

// pool is one that is played.
type pool struct {
	name   alloc.PoolName
	config alloc.PoolConfig
	seed   int
	code   func(n int) string
	a      int // claims an hour, by day
	hold   bool
	state  alloc.PoolState
}

var pools = []pool{
	{
		name: "voucher-spring", config: alloc.PoolConfig{Description: "text codes, imported", Marks: alloc.Marks{Low: 250, Target: 1000}},
		seed: 1400, code: func(n int) string { return fmt.Sprintf("SPRING-%05d", n*7919%100000) }, a: 55, hold: true,
	},
	{
		name: "phone-numbers-de", config: alloc.PoolConfig{Description: "imported, no generator", MaxBatch: 10},
		seed: 800, code: func(n int) string { return fmt.Sprintf("+4930%07d", 1000000+n*37) }, a: 8,
	},
	{
		name: "case-2026", config: alloc.PoolConfig{
			Description: "numbers of the sequence case", Marks: alloc.Marks{Low: 300, Target: 1200},
			Generator: generator.Config{Kind: generator.Sequence, Sequence: "case", Format: "CASE-{yyyy}-{n:6}"},
		}, a: 60,
	},
	{
		name: "licence-pro", config: alloc.PoolConfig{
			Description: "made at random, with a check character", Marks: alloc.Marks{Low: 500, Target: 2000},
			Generator: generator.Config{Kind: generator.Random, Length: 20, Group: 5, CheckChar: generator.CheckMod3736, WithoutAmbiguous: true},
		}, a: 2,
	},
	{
		name: "iccid-lot-7", config: alloc.PoolConfig{Description: "imported"},
		seed: 400, code: func(n int) string { return fmt.Sprintf("894310000000%07d", n) }, state: alloc.PoolPaused,
	},
}

// sequence is one that is played.
type sequence struct {
	name   alloc.SequenceName
	config alloc.SequenceConfig
	begin  alloc.Count // leased before the day
	a      alloc.Count // an hour
}

var sequences = []sequence{
	{"case", alloc.SequenceConfig{Description: "behind the pool case-2026"}, 0, 0},
	{"invoice-de", alloc.SequenceConfig{Description: "invoices, Germany", Limit: 9_999_999}, 860_000, 1_900},
	{"order", alloc.SequenceConfig{Description: "orders of all shops", Start: 7_204_990_000_000_000}, 0, 88_400},
	{"shipment-nl", alloc.SequenceConfig{Description: "six digits, ends soon", Limit: 999_999}, 885_000, 600},
}

// Fill plays the day.
func Fill(ctx context.Context, svc *alloc.Service, clock *Clock) error {
	ctx = alloc.WithCaller(ctx, alloc.Caller{Client: "admin-1", Scopes: alloc.AllScopes()})
	d := day{svc: svc, clock: clock, random: rand.New(rand.NewPCG(7, 42))} //nolint:gosec // it is the same day each time
	if err := d.begin(ctx); err != nil {
		return fmt.Errorf("begin the day: %w", err)
	}
	for end := clock.now.Add(Span); clock.now.Before(end); clock.now = clock.now.Add(step) {
		if err := d.work(ctx); err != nil {
			return fmt.Errorf("work at %s: %w", clock.now.Format(time.TimeOnly), err)
		}
		if _, err := svc.Tend(ctx); err != nil {
			return fmt.Errorf("run the schedule at %s: %w", clock.now.Format(time.TimeOnly), err)
		}
	}
	return d.end(ctx)
}

type day struct {
	svc    *alloc.Service
	clock  *Clock
	random *rand.Rand
	held   []alloc.Claim
}

func (d *day) begin(ctx context.Context) error {
	for _, q := range sequences {
		if _, _, err := d.svc.CreateSequence(ctx, q.name, q.config); err != nil {
			return err
		}
		if q.begin > 0 {
			if _, err := d.svc.Lease(ctx, alloc.LeaseRequest{Sequence: q.name, Count: q.begin}); err != nil {
				return err
			}
		}
	}
	for _, p := range pools {
		if _, _, err := d.svc.CreatePool(ctx, p.name, p.config); err != nil {
			return err
		}
		var entries []alloc.SeedEntry
		for n := range p.seed {
			entries = append(entries, alloc.SeedEntry{Line: n + 1, Raw: p.code(n)})
		}
		if len(entries) > 0 {
			if _, err := d.svc.Seed(ctx, alloc.SeedRequest{Pool: p.name, Entries: entries}); err != nil {
				return err
			}
		}
	}
	return nil
}

// work is what callers do in one step.
func (d *day) work(ctx context.Context) error {
	busy := 0.25 // at night
	if h := d.clock.now.UTC().Hour(); h >= 7 && h < 20 {
		busy = 1.4
	}
	caller := alloc.WithCaller(ctx, alloc.Caller{Client: "shop-eu", Scopes: alloc.AllScopes()})
	some := func(an int) int {
		mean := float64(an) * busy * step.Hours()
		return int(mean*(0.7+0.6*d.random.Float64()) + d.random.Float64())
	}
	for _, p := range pools {
		for range some(p.a) {
			r := alloc.ClaimRequest{Pool: p.name, Count: 1, Owner: fmt.Sprintf("customer-%d", d.random.IntN(5000))}
			if p.hold && d.random.IntN(3) == 0 {
				r.Hold = 15 * time.Minute
			}
			c, err := d.svc.Claim(caller, r)
			if alloc.Is(err, alloc.CodePoolExhausted) || alloc.Is(err, alloc.CodePoolPaused) {
				break
			}
			if err != nil {
				return err
			}
			if r.Hold > 0 {
				d.held = append(d.held, c)
			}
		}
	}
	for i, c := range d.held {
		if i%2 == 0 {
			if _, err := d.svc.Settle(caller, alloc.SettleRequest{Pool: c.Pool, IDs: c.IDs, Token: c.Token, Event: alloc.EventConfirm}); err != nil {
				return err
			}
		}
	}
	d.held = nil
	for _, q := range sequences {
		n := alloc.Count(some(int(q.a)))
		if n == 0 {
			continue
		}
		if _, err := d.svc.Lease(caller, alloc.LeaseRequest{Sequence: q.name, Count: n}); err != nil {
			return err
		}
	}
	return nil
}

// end is what an administrator does in the evening.
func (d *day) end(ctx context.Context) error {
	for _, p := range pools {
		if p.state != "" {
			if _, err := d.svc.SetPoolState(ctx, p.name, 0, p.state); err != nil {
				return err
			}
		}
	}
	return nil
}
