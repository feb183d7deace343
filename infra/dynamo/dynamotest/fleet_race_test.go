//go:build race

package dynamotest

// The race detector makes a day too long for a run of all tests: so with it the day has a few hours.
const raced = true
