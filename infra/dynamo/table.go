package dynamo

import (
	"context"
	"fmt"
)

// Table is the seam below the Store: single-item calls on the one table, with conditions as data. sdk.go has it over
// the SDK client; dynamotest has it in memory, and wrappers that fault, hold back and mutate single writes.
//
// A call whose condition fails returns *ConditionFailed. Every other error is an *alloc.Error: CodeThrottled (not
// applied), CodeUnavailable (with Unknown set where a write may have been applied), CodeInternal. An implementation may
// repeat a call by itself after a lost answer: so a ConditionFailed may be the work of this very call, and whoever
// writes puts something of its own (a token) into the item by which it recognises it.
type Table interface {
	// Get reads one item, strongly. A missing item is nil without error.
	Get(ctx context.Context, k Key) (Item, error)

	// GetMany reads up to 100 items, strongly, in the order of the keys; a missing one is nil.
	GetMany(ctx context.Context, keys []Key) ([]Item, error)

	// Put writes the whole item if the condition holds of what is there.
	Put(ctx context.Context, it Item, c Cond) error

	// Update changes attributes if the condition holds and returns the item after it. Every Update of the Store has a
	// condition that implies that the item exists: none creates one.
	Update(ctx context.Context, k Key, u Update, c Cond) (Item, error)

	// Delete removes the item if the condition holds and returns what it was.
	Delete(ctx context.Context, k Key, c Cond) (Item, error)

	// Query reads items of one partition in the order of their sort keys, strongly.
	Query(ctx context.Context, q Query) (Page, error)

	// Scan reads items of all partitions, strongly: whatever was written before the call began is in its answer. next is
	// where the following page begins, the zero Key after the last one. A page may be empty and yet not the last. An item of which something cannot be read, as
	// nothing here writes such, is returned with its key alone.
	Scan(ctx context.Context, sc Scan) (items []Item, next Key, err error)
}

// Key is the primary key of an item.
type Key struct{ PK, SK string }

// Item is an item without NULLs; "pk" and "sk" are among its attributes.
//
// A value is one of string (S), int64 (N), bool (BOOL), []byte (B), []string (L of S), map[string]string (M of S).
type Item map[string]any

// Update says what a write changes. An attribute stands in one of the three only.
type Update struct {
	Set    map[string]any
	Add    map[string]int64 // SET a = a + n, never the ADD action: on a missing attribute the call fails
	Remove []string

	// Quiet says that the item after it is of no use to the caller: nil is returned in its place.
	Quiet bool
}

// Query asks for a page of one partition.
type Query struct {
	PK         string
	From, To   string // bounds of the sort key, both included; "" for none
	Descending bool
	Limit      int // most items of the page; 0 for as many as fit
}

// Page is an answer of Query. More says that there may be further items beyond the last.
type Page struct {
	Items []Item
	More  bool
}

// Scan asks for a page of the whole table, in an order of the table's own that stays. A scan in several segments may be
// made side by side: each item is in one of them, whichever that is.
type Scan struct {
	Segment, Total int      // this part of so many; 0 and 1 for all
	From           Key      // where the page before said that this one begins; zero for the beginning
	Prefixes       []string // only items are returned whose partition key begins with one of these; none for all. What they leave out is read and paid for
	Limit          int      // most items that are read for the page; 0 for as many as fit
}

// ConditionFailed says that the condition did not hold: nothing was written by this attempt. Old is the item as it was
// then, nil if there was none.
type ConditionFailed struct{ Old Item }

// Error names the key at most: an item may hold what is not to be logged.
func (e *ConditionFailed) Error() string {
	if e.Old == nil {
		return "condition failed: no item"
	}
	return fmt.Sprintf("condition failed on %s %s", e.Old.Str("pk"), e.Old.Str("sk"))
}

// Key returns the item's primary key.
func (it Item) Key() Key { return Key{PK: it.Str("pk"), SK: it.Str("sk")} }

// Str returns a string attribute, "" if it is missing.
func (it Item) Str(name string) string { s, _ := it[name].(string); return s }

// Int returns a number attribute, 0 if it is missing.
func (it Item) Int(name string) int64 { n, _ := it[name].(int64); return n }

// Bool returns a boolean attribute, false if it is missing.
func (it Item) Bool(name string) bool { b, _ := it[name].(bool); return b }

// Bytes returns a binary attribute, nil if it is missing.
func (it Item) Bytes(name string) []byte { b, _ := it[name].([]byte); return b }

// List returns a list attribute, nil if it is missing.
func (it Item) List(name string) []string { l, _ := it[name].([]string); return l }

// Map returns a map attribute, nil if it is missing.
func (it Item) Map(name string) map[string]string { m, _ := it[name].(map[string]string); return m }
