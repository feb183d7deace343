package dynamotest

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"idpool/infra/dynamo"
)

// Op names a method of dynamo.Table.
type Op string

// The methods of dynamo.Table.
const (
	OpGet     Op = "get"
	OpGetMany Op = "getmany"
	OpPut     Op = "put"
	OpUpdate  Op = "update"
	OpDelete  Op = "delete"
	OpQuery   Op = "query"
	OpScan    Op = "scan"
)

// Call is one call of a table as data, so that a wrapper can match, hold, repeat and change it. What an Op does not
// take is zero.
type Call struct {
	Op     Op
	Keys   []dynamo.Key // one but for GetMany; none for Query and Scan
	Item   dynamo.Item  // of a Put
	Update dynamo.Update
	Cond   dynamo.Cond
	Query  dynamo.Query
	Scan   dynamo.Scan
}

// Answer is what a Call returned. What the Op does not return is zero.
type Answer struct {
	Item  dynamo.Item
	Items []dynamo.Item
	Page  dynamo.Page
	Next  dynamo.Key
	Err   error
}

// Write tells whether the call may change the table.
func (c Call) Write() bool { return c.Op == OpPut || c.Op == OpUpdate || c.Op == OpDelete }

// Key is the key of the one item that the call is about; of a Query the partition, of a Scan where it begins.
func (c Call) Key() dynamo.Key {
	if c.Op == OpScan {
		return c.Scan.From
	}
	if c.Op == OpQuery {
		return dynamo.Key{PK: c.Query.PK}
	}
	if len(c.Keys) == 0 {
		return dynamo.Key{}
	}
	return c.Keys[0]
}

// String is a line for a trace: what is written and on which condition.
func (c Call) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", c.Op, c.Key().PK, c.Key().SK)
	if n := len(c.Keys); n > 1 {
		fmt.Fprintf(&b, " and %d more", n-1)
	}
	if c.Op == OpScan {
		fmt.Fprintf(&b, " segment %d of %d", c.Scan.Segment, c.Scan.Total)
	}
	if c.Op == OpPut {
		fmt.Fprintf(&b, " %v", map[string]any(c.Item))
	}
	if len(c.Update.Set) > 0 {
		fmt.Fprintf(&b, " set %v", c.Update.Set)
	}
	if len(c.Update.Add) > 0 {
		fmt.Fprintf(&b, " add %v", c.Update.Add)
	}
	if len(c.Update.Remove) > 0 {
		fmt.Fprintf(&b, " remove %v", c.Update.Remove)
	}
	if c.Cond.Op != dynamo.OpTrue {
		fmt.Fprintf(&b, " if %s", condString(c.Cond))
	}
	return b.String()
}

func condString(c dynamo.Cond) string {
	switch c.Op {
	case dynamo.OpTrue:
		return "true"
	case dynamo.OpAll, dynamo.OpAny:
		parts := make([]string, len(c.Of))
		for i, p := range c.Of {
			parts[i] = condString(p)
		}
		return "(" + strings.Join(parts, " "+string(c.Op)+" ") + ")"
	case dynamo.OpAbsent, dynamo.OpExists:
		return c.Attr + " " + string(c.Op)
	}
	return fmt.Sprintf("%s %s %v", c.Attr, c.Op, c.Value)
}

// String is a line for a trace.
func (a Answer) String() string {
	switch {
	case a.Err != nil:
		return a.Err.Error()
	case a.Item != nil:
		return fmt.Sprint(map[string]any(a.Item))
	case a.Items != nil:
		return fmt.Sprintf("%d items", len(a.Items))
	case a.Page.Items != nil:
		return fmt.Sprintf("page of %d, more %v", len(a.Page.Items), a.Page.More)
	}
	return "nothing"
}

// Do makes the call.
func (c Call) Do(ctx context.Context, t dynamo.Table) Answer {
	var a Answer
	switch c.Op {
	case OpGet:
		a.Item, a.Err = t.Get(ctx, c.Keys[0])
	case OpGetMany:
		a.Items, a.Err = t.GetMany(ctx, c.Keys)
	case OpPut:
		a.Err = t.Put(ctx, c.Item, c.Cond)
	case OpUpdate:
		a.Item, a.Err = t.Update(ctx, c.Keys[0], c.Update, c.Cond)
	case OpDelete:
		a.Item, a.Err = t.Delete(ctx, c.Keys[0], c.Cond)
	case OpQuery:
		a.Page, a.Err = t.Query(ctx, c.Query)
	case OpScan:
		a.Items, a.Next, a.Err = t.Scan(ctx, c.Scan)
	default:
		a.Err = invalid("the operation %q", c.Op)
	}
	return a
}

// Through is a dynamo.Table that hands every call as data to the function, which answers it: mostly by Call.Do on
// another table, before, after or instead of something else. The call's contents are the function's own: whoever
// called may change what it gave as soon as it has its answer, so items and updates are copied.
type Through func(ctx context.Context, c Call) Answer

var _ dynamo.Table = Through(nil)

// Get implements dynamo.Table.
func (f Through) Get(ctx context.Context, k dynamo.Key) (dynamo.Item, error) {
	a := f(ctx, Call{Op: OpGet, Keys: []dynamo.Key{k}})
	return a.Item, a.Err
}

// GetMany implements dynamo.Table.
func (f Through) GetMany(ctx context.Context, keys []dynamo.Key) ([]dynamo.Item, error) {
	a := f(ctx, Call{Op: OpGetMany, Keys: append([]dynamo.Key(nil), keys...)})
	return a.Items, a.Err
}

// Put implements dynamo.Table.
func (f Through) Put(ctx context.Context, it dynamo.Item, c dynamo.Cond) error {
	return f(ctx, Call{Op: OpPut, Keys: []dynamo.Key{it.Key()}, Item: clone(it), Cond: c}).Err
}

// Update implements dynamo.Table.
func (f Through) Update(ctx context.Context, k dynamo.Key, u dynamo.Update, c dynamo.Cond) (dynamo.Item, error) {
	a := f(ctx, Call{Op: OpUpdate, Keys: []dynamo.Key{k}, Update: cloneUpdate(u), Cond: c})
	return a.Item, a.Err
}

// Delete implements dynamo.Table.
func (f Through) Delete(ctx context.Context, k dynamo.Key, c dynamo.Cond) (dynamo.Item, error) {
	a := f(ctx, Call{Op: OpDelete, Keys: []dynamo.Key{k}, Cond: c})
	return a.Item, a.Err
}

// Query implements dynamo.Table.
func (f Through) Query(ctx context.Context, q dynamo.Query) (dynamo.Page, error) {
	a := f(ctx, Call{Op: OpQuery, Query: q})
	return a.Page, a.Err
}

// Scan implements dynamo.Table.
func (f Through) Scan(ctx context.Context, sc dynamo.Scan) ([]dynamo.Item, dynamo.Key, error) {
	sc.Prefixes = append([]string(nil), sc.Prefixes...)
	a := f(ctx, Call{Op: OpScan, Scan: sc})
	return a.Items, a.Next, a.Err
}

func cloneUpdate(u dynamo.Update) dynamo.Update {
	c := dynamo.Update{Remove: append([]string(nil), u.Remove...), Quiet: u.Quiet}
	if u.Set != nil {
		c.Set = clone(u.Set)
	}
	if u.Add != nil {
		c.Add = make(map[string]int64, len(u.Add))
		maps.Copy(c.Add, u.Add)
	}
	return c
}
