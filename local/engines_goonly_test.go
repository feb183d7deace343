//go:build goonly

package main

import "testing"

// engines are the stores that a test runs on: here the one that needs Go alone.
func engines() map[string]func(testing.TB) engine {
	return map[string]func(testing.TB) engine{"sqlite": newSQLite}
}
