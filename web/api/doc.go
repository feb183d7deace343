// Package api is the JSON API of idpool. All routes stand in one table ([Routes]); each is served by one adapter that
// decodes strictly, calls alloc.Service, and encodes the answer or the problem. IDs, numbers and positions are strings.
//
// A handler of this package finds its caller in the context, where web.Bearer or the Lambda adapter put it, and belongs
// inside web.Stack. Bad input is never a 500, and never carried out in part.
//
// Every request that changes something may come with an Idempotency-Key, and one that changes what has a version with
// If-Match; the adapter sees to both (keyed.go), so that no endpoint can forget it. A GET with a key is answered as if it
// had none. Every list can be had as CSV, and goes on from the cursor that each page gives (list.go).
//
// A body is JSON of at most 1 MiB, but for files: those have up to 4 MiB, and one above 1 MiB becomes a job (seedings.go).
//
// openapi.yaml is the contract. Its tests hold the table against it, and every request and answer of the other tests.
package api
