package alloc

import (
	"fmt"
	"time"

	"idpool/alloc/generator"
)

// Count is a number of IDs, numbers or items.
type Count int64

// Version counts the changes of a configuration, from 1. A change names the version that it was made against.
type Version int64

// Policy says what becomes of a claimed ID.
type Policy string

// The policies of a pool.
const (
	PolicyKeep   Policy = "keep"   // a claimed ID stays known for ever and can never be seeded again; the default
	PolicyForget Policy = "forget" // a claimed ID is removed; who seeds it again, hands it out again
)

// PoolState is what a pool does at present.
type PoolState string

// The states of a pool. Rebuilding is not one of them: it is a mark of the store beside the state.
const (
	PoolActive   PoolState = "active"
	PoolPaused   PoolState = "paused"   // claims refused; seeding and sweeps go on
	PoolDraining PoolState = "draining" // claims go on; seeding refused
	PoolDeleted  PoolState = "deleted"  // tombstone
	PoolDamaged  PoolState = "damaged"  // its head is lost; of lists alone, and never stored
)

// Bounds of a pool's configuration.
const (
	MaxBatchLimit   Count = 1000
	DefaultMaxBatch Count = 100
	MaxDescription        = 200 // bytes
)

// PoolConfig is what an administrator decides about a pool. The zero value of a field means its default.
type PoolConfig struct {
	Description string    // free text, at most MaxDescription bytes
	Policy      Policy    // default PolicyKeep; fixed at creation
	FoldCase    bool      // IDs are brought to lower case; fixed at creation
	MaxBatch    Count     // most IDs one claim may take, 1 to MaxBatchLimit; default DefaultMaxBatch
	OnRelease   OnRelease // default ReleaseReturns
	RequireKey  bool      // a claim without an Idempotency-Key is refused

	Generator generator.Config // makes IDs for the pool; zero for none
	Marks     Marks            // between which levels the pool is kept
}

// Pool is a pool as stored.
type Pool struct {
	Name    PoolName
	Config  PoolConfig
	State   PoolState
	Version Version
	Created time.Time
}

// WithDefaults fills in the defaults.
func (c PoolConfig) WithDefaults() PoolConfig {
	if c.Policy == "" {
		c.Policy = PolicyKeep
	}
	if c.MaxBatch == 0 {
		c.MaxBatch = DefaultMaxBatch
	}
	if c.OnRelease == "" {
		c.OnRelease = ReleaseReturns
	}
	c.Generator = c.Generator.WithDefaults()
	return c
}

// Check refuses a configuration (defaults filled in) that cannot work, with CodeInvalidConfig.
func (c PoolConfig) Check() error {
	if c.Policy != PolicyKeep && c.Policy != PolicyForget {
		return Errorf(CodeInvalidConfig, "policy must be %q or %q", PolicyKeep, PolicyForget)
	}
	if c.OnRelease != ReleaseReturns && c.OnRelease != ReleaseRetires {
		return Errorf(CodeInvalidConfig, "on_release must be %q or %q", ReleaseReturns, ReleaseRetires)
	}
	if c.MaxBatch < 1 || c.MaxBatch > MaxBatchLimit {
		return Errorf(CodeInvalidConfig, "max_batch must be 1 to %d", MaxBatchLimit)
	}
	if err := checkDescription(c.Description); err != nil {
		return err
	}
	return c.checkFilling()
}

// words says in words what the configuration is, for the trail.
func (c PoolConfig) words() string {
	return fmt.Sprintf("policy %s, fold_case %t, max_batch %d, on_release %s, require_key %t%s, description %q",
		quoteShort(string(c.Policy)), c.FoldCase, c.MaxBatch, quoteShort(string(c.OnRelease)), c.RequireKey, c.fillingWords(), c.Description)
}

// CheckChange refuses, with CodeInvalidConfig, a change of what is fixed at creation.
func (c PoolConfig) CheckChange(to PoolConfig) error {
	if c.Policy != to.Policy || c.FoldCase != to.FoldCase {
		return Errorf(CodeInvalidConfig, "policy and fold_case are fixed when a pool is created; this one has policy %q and fold_case %t: "+
			"send them as they are (what is left out counts as its default), or make a new pool", c.Policy, c.FoldCase)
	}
	return to.Check()
}

func checkDescription(s string) error {
	if len(s) > MaxDescription {
		return Errorf(CodeInvalidConfig, "description must be at most %d bytes", MaxDescription)
	}
	if s == "" {
		return nil
	}
	if err := CheckID(s); err != nil {
		return Errorf(CodeInvalidConfig, "description must be printable UTF-8 in normal form C without surrounding space")
	}
	return nil
}

// CheckClaim is the one rule for whether a pool takes a new claim: every Store calls it on the pool's state as it knows
// it (at most 30 seconds old) before it takes anything.
func (p Pool) CheckClaim(o ClaimOrder) error {
	switch p.State {
	case PoolDeleted:
		return p.deleted()
	case PoolPaused:
		return Errorf(CodePoolPaused, "the pool %q is paused; try again when an administrator has resumed it", p.Name)
	}
	if o.Count < 1 || o.Count > p.Config.MaxBatch {
		return Errorf(CodeInvalidCount, "count must be 1 to %d for the pool %q", p.Config.MaxBatch, p.Name)
	}
	if p.Config.RequireKey && o.Key == nil {
		return keyRequired("pool", string(p.Name))
	}
	if o.Refusal != nil {
		return o.Refusal
	}
	return nil
}

// keyRequired is the error for a request without an Idempotency-Key where the configuration demands one.
func keyRequired(what, name string) error {
	return Errorf(CodeKeyRequired, "the %s %q takes requests with an Idempotency-Key only; nothing was taken; send the header with a key of your own for each request, "+
		"and the same key when you repeat it", what, name)
}

// CheckSeed is the one rule for whether a pool takes new IDs.
func (p Pool) CheckSeed() error {
	switch p.State {
	case PoolDeleted:
		return p.deleted()
	case PoolDraining:
		return Errorf(CodePoolDraining, "the pool %q is being drained and takes no new IDs; resume it first", p.Name)
	}
	return nil
}

// CheckTo is the one rule for changes of state: anything but from deleted, to whatever state, deleted included, and
// but for the deletion of a pool that is active: what cannot be undone takes two steps, of which the first can. A change of another pool
// to its present state is allowed and changes nothing.
func (p Pool) CheckTo(to PoolState) error {
	if err := p.CheckThere(); err != nil {
		return err
	}
	if to == PoolDeleted && p.State == PoolActive {
		return Errorf(CodePoolActive, "the pool %q serves claims; pause or drain it first, and delete it once nobody misses it", p.Name)
	}
	return nil
}

// CheckThere refuses a pool that was deleted.
func (p Pool) CheckThere() error {
	if p.State == PoolDeleted {
		return p.deleted()
	}
	return nil
}

func (p Pool) deleted() error {
	return Errorf(CodePoolDeleted, "the pool %q was deleted; its name is not used again, choose another", p.Name)
}

// unknownID is the error for an ID that the pool does not know. What may be the reason depends on the configuration.
func (p Pool) unknownID() *Error {
	spelling, forgotten := "check the spelling", ""
	if !p.Config.FoldCase {
		spelling += ", upper and lower case differ"
	}
	if p.Config.Policy == PolicyForget {
		forgotten = "; this pool forgets an ID once it is claimed"
	}
	return Errorf(CodeIDNotFound, "the pool %q does not know this ID; %s%s", p.Name, spelling, forgotten)
}

// Exhausted is the error of every Store for a claim of n IDs where fewer are free.
func Exhausted(pool PoolName, n Count) *Error {
	fewer := ""
	if n > 1 {
		fewer = "ask for fewer, or "
	}
	return Errorf(CodePoolExhausted, "fewer IDs are free in the pool %q than were asked for (%d); nothing was taken; %stry again when it has been filled", pool, n, fewer)
}

// Level says how full a pool is. Available is current to within what the Store's contract states; the counts below it
// are those of the last sweep, at CountedAt.
type Level struct {
	Available Count // free IDs that no claim has taken
	Seeded    Count // IDs ever added
	Held      Count
	Claimed   Count
	Returning Count
	Retired   Count
	Forgotten Count // taken from a pool with PolicyForget
	CountedAt time.Time
}

// Unlisted is how many IDs are neither available nor anybody's: they are in the memory of an environment since the last sweep, or nothing lists them.
func (l Level) Unlisted() Count {
	return max(0, l.Seeded-l.Available-l.Held-l.Claimed-l.Returning-l.Retired-l.Forgotten)
}
