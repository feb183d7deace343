package alloctest

import (
	"sync/atomic"
	"time"
)

// Clock is a clock that stands still until a test moves it. It is safe for concurrent use.
type Clock struct{ nanoseconds atomic.Int64 }

// NewClock returns a Clock that shows half an hour before the second 2^31 (in 2038): times that do not fit 32 bits are
// near, and no engine's own clock has come so far that it would expire what the test's clock has not.
func NewClock() *Clock {
	var c Clock
	c.nanoseconds.Store((1<<31 - 1800) * int64(time.Second))
	return &c
}

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time { return time.Unix(0, c.nanoseconds.Load()).UTC() }

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) { c.nanoseconds.Add(int64(d)) }

// The waits that the contract names, each with a second more so that they are over.
const (
	stateDelay = 31 * time.Second             // a change has reached every process
	staleStock = 15 * time.Minute             // whatever a process took into memory is given up
	expiry     = 24*time.Hour + 1*time.Second // a key has expired
	beforeEnd  = 24*time.Hour - 1*time.Second // a key has not expired
)
