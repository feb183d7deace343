package alloc

import "time"

// State is the state of one ID.
type State string

// The states of an ID: free → held → claimed → retired, free → claimed, held | claimed → returning → free (of the next
// generation), held → retired.
const (
	StateFree      State = "free"
	StateHeld      State = "held"
	StateClaimed   State = "claimed"
	StateReturning State = "returning"
	StateRetired   State = "retired"
)

// Generation counts how often an ID has come back to its pool, from 0 (from the second of the seeding job in a pool
// with PolicyForget). A listing of an older generation can do nothing.
type Generation int64

// Token proves who took an ID: 128 random bits, as 26 characters. Whoever has it may confirm, release or retire.
type Token string

// IDRecord is what is known of one ID.
type IDRecord struct {
	Pool       PoolName
	ID         ID
	State      State
	Generation Generation
	Job        JobID // the seeding that brought it

	// Set once it is taken:
	Token     Token
	By        ClientID
	Owner     string
	Metadata  map[string]string
	At        time.Time
	HeldUntil time.Time // of a hold

	// Changed is when the last write was made by which it is taken as it is, where that was later than At: a confirmation, a retirement, a repeat of a request that
	// carried out what the first had begun, or a restore, which carries here what was taken before. Zero where none was, or a version that did not keep it made it.
	Changed time.Time
}
