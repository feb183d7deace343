//go:build race

package api_test

// raced says that the race detector watches.
const raced = true
