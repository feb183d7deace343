//go:build !race

package dynamotest

const raced = false
