package signin

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"idpool/alloc"
	"idpool/web"
)

// How many steps of a sign-in are let through by this process: so many at once, and one more after each interval. A sign-in takes two or three.
const (
	addressBurst    = 20
	addressInterval = 15 * time.Second
	globalBurst     = 200
	globalInterval  = time.Second / 2
	maxAddresses    = 4096 // addresses that are remembered
)

// bucket lets burst through at once, and one more after each interval.
type bucket struct {
	used time.Time // up to when it is used up: each step moves it on by an interval
}

// take lets one through, or says after how long it would.
func (b *bucket) take(now time.Time, burst int, interval time.Duration) (wait time.Duration) {
	from := b.used
	if from.Before(now) {
		from = now
	}
	next := from.Add(interval)
	if wait = next.Sub(now) - time.Duration(burst)*interval; wait > 0 {
		return wait
	}
	b.used = next
	return 0
}

// limiter bounds the steps of sign-ins, for each address and in all. Its memory is bounded too: while it has no room for another address,
// that one is bounded by the bound of all alone.
type limiter struct {
	now func() time.Time

	mu        sync.Mutex
	all       bucket
	addresses map[string]*bucket
}

func newLimiter(now func() time.Time) *limiter {
	return &limiter{now: now, addresses: map[string]*bucket{}}
}

// take lets a step from the address through, or says after how long it would. What is refused for its address is not counted to
// all, so that one address alone keeps nobody else out.
func (l *limiter) take(address string) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if b := l.of(group(address), now); b != nil {
		if wait := b.take(now, addressBurst, addressInterval); wait > 0 {
			return wait
		}
	}
	return l.all.take(now, globalBurst, globalInterval)
}

// of is the bucket of an address; nil where there is no room for it.
func (l *limiter) of(address string, now time.Time) *bucket {
	if b, ok := l.addresses[address]; ok {
		return b
	}
	if len(l.addresses) >= maxAddresses {
		for a, b := range l.addresses {
			if !b.used.After(now) { // full again: as good as a new one
				delete(l.addresses, a)
			}
		}
		if len(l.addresses) >= maxAddresses {
			return nil
		}
	}
	b := &bucket{}
	l.addresses[address] = b
	return b
}

// group is what is counted as one address: of version 6 the 64 bits that a site has.
func group(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return address[:min(len(address), 64)]
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return addr.String()
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return addr.String()
	}
	return prefix.String()
}

// limited lets through as much as the limiter does.
func (g *Gate) limited(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wait := g.limits.take(origin(r).Address); wait > 0 {
			g.Fail(w, r, alloc.Errorf(web.CodeTooManyRequests, "there were too many sign-ins from your address, or in all; wait a little and try again").After(wait))
			return
		}
		next(w, r)
	})
}
