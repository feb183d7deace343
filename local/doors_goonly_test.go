//go:build goonly

package main

import "testing"

// doorData are the stores behind the doors: here the one that needs Go alone.
func doorData() map[string]func(testing.TB) data {
	return map[string]func(testing.TB) data{"sqlite": sqliteData}
}
