//go:build race

package dynamo_test

// The race detector makes tests of much work many times slower: so with it they play a part of it.
const raced = true
