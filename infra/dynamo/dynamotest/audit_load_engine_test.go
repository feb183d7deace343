//go:build !goonly

package dynamotest

import (
	"testing"

	"idpool/alloc"
)

// The same on the engine, with fewer IDs, as each is a write there.
func TestTheAuditFindsNothingOnAHealthyPoolUnderLoadOnTheEngine(t *testing.T) {
	table, _, _ := NewTable(t)
	newAuditLoad(t, table, 5_000, alloc.PoolConfig{}).run(t)
}
