//go:build !goonly

package dynamotest

import "testing"

func TestAScanOfTheEngineMeetsEachItemOnce(t *testing.T) {
	table, _, _ := NewTable(t)
	scanTable(t, table)
}
