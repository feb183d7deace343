package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"idpool/alloc"
)

// What a client does: it claims, and settles later what it got, or forgets about it.

// Kinds of claims.
const (
	plainClaim = "plain"
	heldClaim  = "held"
	keyedClaim = "with a key"
	heldKeyed  = "held with a key"
)

// requestTime is how long a client waits for an answer.
const requestTime = 10 * time.Second

func (f *fleet) client() {
	o := alloc.ClaimOrder{Pool: pool, Count: f.howMany(), By: "client", Owner: "somebody"}
	kind := plainClaim
	if f.chance(250) {
		o.Hold = f.between(30*time.Second, 10*time.Minute).Truncate(time.Second)
		kind = heldClaim
	}
	if f.chance(350) {
		name := fmt.Sprint(f.roll(1 << 60))
		o.Key = alloc.NewKey("client", "claim", string(pool), name, "1")
		kind = map[string]string{plainClaim: keyedClaim, heldClaim: heldKeyed}[kind]
	}
	c, ok := f.claims(o, kind)
	if !ok {
		return
	}
	if o.Key != nil && f.chance(f.again) {
		f.doing.Go(func() { f.claimsAgain(o, c) })
	}
	f.settles(c)
}

func (f *fleet) howMany() alloc.Count {
	switch n := f.roll(100); {
	case n < 75:
		return 1
	case n < 97:
		return alloc.Count(2 + f.roll(4))
	}
	return alloc.Count(6 + f.roll(30))
}

// claims asks until it knows the answer, if it has a key, and once if it has none.
func (f *fleet) claims(o alloc.ClaimOrder, kind string) (alloc.Claim, bool) {
	tries := 1
	if o.Key != nil {
		tries = 8
	}
	before := f.books.claimBegins()
	doubt := false
	for try := range tries {
		if try > 0 {
			time.Sleep(f.between(time.Second, 4*time.Second))
		}
		e := f.pick()
		ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), pathKey{}, kind), requestTime)
		c, err := e.store.Claim(ctx, o)
		cancel()
		if e.dead.Load() {
			doubt = true
			continue // the answer never came
		}
		switch {
		case err == nil:
			f.books.answered(c, o)
			f.count(func(t *fleetTally) {
				t.claims++
				p := f.path(kind)
				p.claims++
				p.ids += len(c.IDs)
				if o.Key != nil {
					t.keyed++
				}
				if o.Hold > 0 {
					t.held++
				}
			})
			return c, true
		case alloc.Is(err, alloc.CodePoolExhausted) && !doubt:
			f.books.exhausted(before, o.Count)
			f.count(func(t *fleetTally) { t.refused++ })
			return alloc.Claim{}, false
		case alloc.Is(err, alloc.CodeInternal) || alloc.Is(err, alloc.CodePoolDamaged):
			f.books.fail("a claim answered %v", err)
			return alloc.Claim{}, false
		case unknown(err):
			doubt = true
		default:
			f.count(func(t *fleetTally) { t.busy++ })
		}
	}
	if doubt {
		f.books.unheard(o.Count)
		f.count(func(t *fleetTally) { t.unclear++ })
	}
	return alloc.Claim{}, false
}

// claimsAgain repeats a claim with its key: it gets the same.
func (f *fleet) claimsAgain(o alloc.ClaimOrder, first alloc.Claim) {
	time.Sleep(f.between(time.Second, 20*time.Minute))
	if f.over.Load() {
		return
	}
	e := f.pick()
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	c, err := e.store.Claim(ctx, o)
	switch {
	case err == nil && (c.Token != first.Token || !slices.Equal(c.IDs, first.IDs) || !c.Replayed):
		f.books.fail("a key was answered %v, and then %v", first, c)
	case err == nil:
		f.count(func(t *fleetTally) { t.replayed++ })
	case alloc.Is(err, alloc.CodePoolExhausted), alloc.Is(err, alloc.CodeKeyMismatch):
		f.books.fail("a key that was answered is refused: %v", err)
	}
}

// settles does later with a claim what its owner wants with it.
func (f *fleet) settles(c alloc.Claim) {
	var e alloc.Event
	switch n := f.roll(100); {
	case c.State == alloc.StateHeld && n < 50:
		e = alloc.EventConfirm
	case n < 10, c.State == alloc.StateHeld && n < 70:
		e = alloc.EventRelease
	case n < 11:
		e = alloc.EventRetire
	default:
		return
	}
	after := f.between(time.Second, 90*time.Minute)
	if c.State == alloc.StateHeld {
		after = f.between(time.Second, time.Until(c.HeldUntil)+maxSkew+time.Minute)
	}
	f.doing.Go(func() {
		time.Sleep(after)
		if !f.over.Load() {
			f.settle(c, e)
		}
	})
}

// settle asks for the event until it knows the answer. An owner who has not heard may believe in what is worse for him.
func (f *fleet) settle(c alloc.Claim, e alloc.Event) {
	for range 5 {
		if e == alloc.EventRelease {
			f.books.letsGo(c)
		}
		env := f.pick()
		ctx, cancel := context.WithTimeout(context.Background(), requestTime)
		_, err := env.store.Settle(ctx, alloc.SettleOrder{Pool: pool, Event: e, IDs: c.IDs, Token: c.Token})
		cancel()
		switch {
		case env.dead.Load():
		case err == nil:
			f.books.settled(c, e)
			f.count(func(t *fleetTally) {
				switch e {
				case alloc.EventConfirm:
					t.confirmed++
				case alloc.EventRelease:
					t.released++
				case alloc.EventRetire:
					t.retired++
				}
			})
			return
		case alloc.Is(err, alloc.CodeInternal):
			f.books.fail("a settlement answered %v", err)
			return
		case !unknown(err) && alloc.CodeOf(err) != alloc.CodeUnavailable && alloc.CodeOf(err) != alloc.CodeThrottled:
			f.books.refusedTo(c, e, err)
			return
		}
		time.Sleep(f.between(time.Second, 3*time.Second))
	}
}
