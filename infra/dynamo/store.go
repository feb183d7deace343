package dynamo

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"idpool/alloc"
)

// Config is what a Store is made of.
type Config struct {
	Table Table            // required
	Now   func() time.Time // default time.Now
	IntN  func(n int) int  // a random number from 0 to n−1; default rand.IntN. Spreads callers, decides nothing
}

// Store is alloc.Store on one DynamoDB table. What it holds in memory (warm stock, heads of at most 30 seconds of age)
// saves round trips and is never trusted for uniqueness. It holds no mutex across a call of its Table.
type Store struct {
	table     Table
	now       func() time.Time
	intN      func(n int) int
	sequences sequenceHeads
	pools     poolMemories
}

var _ alloc.Store = (*Store)(nil)

// New returns a Store with nothing in memory.
func New(c Config) (*Store, error) {
	if c.Table == nil {
		return nil, errors.New("dynamo: Config.Table is required")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.IntN == nil {
		c.IntN = rand.IntN
	}
	return &Store{table: c.Table, now: c.Now, intN: c.IntN}, nil
}

// Ready makes one cheap read.
func (s *Store) Ready(ctx context.Context) error {
	_, err := s.table.Get(ctx, Key{PK: "N#pool", SK: "."})
	return err
}

// notFound is for reads of things that were never made.
func notFound(code alloc.Code, what string, name string) error {
	return alloc.Errorf(code, "there is no %s %q; create it first", what, name)
}
