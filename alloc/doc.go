// Package alloc is the domain of idpool: it hands out identifiers, each exactly once, to many callers at once.
//
// A pool holds ready-made IDs that callers claim; a claimed ID never goes to anybody else. A sequence leases number
// ranges; ranges never overlap. [Service] has the operations; each begins with the permission check of its caller and
// an administrative one ends with its audit record, so that no handler can forget either. [Store] is what Service
// needs from an engine: each of its methods is one whole business step, repeatable and recoverable by itself.
//
// The package does no I/O and imports the standard library only (and golang.org/x/text/unicode/norm).
package alloc
