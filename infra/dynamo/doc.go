// Package dynamo keeps idpool's promises on one DynamoDB table; design and reasons are in ARCHITECTURE.md.
package dynamo
