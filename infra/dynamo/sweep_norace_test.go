//go:build !race

package dynamo_test

const raced = false
