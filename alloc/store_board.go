package alloc

import (
	"context"
	"time"
)

// BoardRetention is how long a board counts.
const BoardRetention = 24 * time.Hour

// MaxBoardBytes is the greatest size of a board.
const MaxBoardBytes = 8 << 20

// Boards is the one record of how everything stood at the end of a run of the schedule, for pages that show much at once. It is a
// copy: nothing is decided by it.
type Boards interface {
	// PutBoard replaces the board by one of 1 to MaxBoardBytes bytes that was written at the time, unless one that was written then or later
	// is there, which stays. It counts until BoardRetention after that time.
	PutBoard(ctx context.Context, at time.Time, data []byte) error

	// Board returns the board that counts, whole: never parts of two. Nil for none.
	Board(ctx context.Context) ([]byte, error)

	// PoolLevels reads at most 100 different pools with their levels, in the order of the names: each as Pool and Level do, but without
	// generator and marks. A pool that cannot be read has only its name, and an Err as theirs; it stops no other.
	PoolLevels(ctx context.Context, names []PoolName) ([]PoolLevel, error)
}

// PoolLevel is how a pool stands, without what fills it.
type PoolLevel struct {
	Pool  Pool // its Generator and its Marks are left out
	Level Level
	Err   error
}
