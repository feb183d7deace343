package dynamotest

import (
	"errors"
	"testing"
	"testing/synctest"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

func TestEachFaultDoesToTheTableAndTellsTheCallerWhatItSays(t *testing.T) {
	for _, row := range []struct {
		fault   Fault
		applied bool
		code    alloc.Code // "" for none
		unknown bool
	}{
		{None, true, "", false},
		{Refused, false, alloc.CodeUnavailable, false},
		{LostRequest, false, alloc.CodeUnavailable, true},
		{AppliedButFailed, true, alloc.CodeUnavailable, true},
		{Throttled, false, alloc.CodeThrottled, false},
		{Delayed, true, "", false},
	} {
		t.Run(row.fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := NewMemory()
				f := NewFaults(mem, Nth(1, Call.Write, row.fault))
				if err := f.Put(t.Context(), dynamo.Item{"pk": "p", "sk": "other"}, dynamo.Cond{}); err != nil {
					t.Fatalf("the write before failed: %v", err)
				}
				k := dynamo.Key{PK: "p", SK: "s"}
				err := f.Put(t.Context(), dynamo.Item{"pk": k.PK, "sk": k.SK}, dynamo.Absent("pk"))
				if applied := mem.Item(k) != nil; applied != row.applied {
					t.Errorf("applied: got %v, want %v", applied, row.applied)
				}
				if got := alloc.CodeOf(err); got != row.code {
					t.Fatalf("got %v, want code %q", err, row.code)
				}
				if e, ok := errors.AsType[*alloc.Error](err); ok && (e.Unknown != row.unknown || e.RetryAfter == 0) {
					t.Errorf("got unknown %v and a hint of %s, want unknown %v and a hint", e.Unknown, e.RetryAfter, row.unknown)
				}
			})
		})
	}
}

func TestARepeatedWriteMeetsItsOwnItem(t *testing.T) {
	f := NewFaults(NewMemory(), Nth(0, Call.Write, Repeated))
	err := f.Put(t.Context(), dynamo.Item{"pk": "p", "sk": "s", "t": "mine"}, dynamo.Absent("pk"))
	failed, ok := errors.AsType[*dynamo.ConditionFailed](err)
	if !ok || failed.Old.Str("t") != "mine" {
		t.Errorf("got %v, want a failed condition with the writer's own item", err)
	}
}

func TestFaultsRecordsTheCallsOfEachKind(t *testing.T) {
	mem := NewMemory()
	f, ctx := NewFaults(mem, nil), t.Context()
	k := dynamo.Key{PK: "p", SK: "s"}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(f.Put(ctx, dynamo.Item{"pk": "p", "sk": "s", "n": int64(1)}, dynamo.Absent("pk")))
	it, err := f.Update(ctx, k, dynamo.Update{Add: map[string]int64{"n": 1}}, dynamo.Exists("pk"))
	must(err)
	got, err := f.Get(ctx, k)
	must(err)
	if it.Int("n") != 2 || got.Int("n") != 2 {
		t.Errorf("through the wrapper the item is %v, then %v", it, got)
	}
	many, err := f.GetMany(ctx, []dynamo.Key{k, {PK: "p", SK: "t"}})
	must(err)
	if len(many) != 2 || many[0] == nil || many[1] != nil {
		t.Errorf("got %v, want the item and nothing", many)
	}
	page, err := f.Query(ctx, dynamo.Query{PK: "p"})
	must(err)
	if len(page.Items) != 1 {
		t.Errorf("the query found %d items, want 1", len(page.Items))
	}
	items, _, err := f.Scan(ctx, dynamo.Scan{From: dynamo.Key{PK: "p", SK: "!"}})
	must(err)
	if len(items) != 1 {
		t.Errorf("the scan found %d items, want 1", len(items))
	}
	_, err = f.Delete(ctx, k, dynamo.Exists("pk"))
	must(err)
	var ops []Op
	for _, c := range f.Seen() {
		ops = append(ops, c.Op)
		if c.Key().PK != "p" {
			t.Errorf("the key of %s is %v", c, c.Key())
		}
	}
	want := []Op{OpPut, OpUpdate, OpGet, OpGetMany, OpQuery, OpScan, OpDelete}
	if len(ops) != len(want) {
		t.Fatalf("got %v, want %v", ops, want)
	}
	for i := range want {
		if ops[i] != want[i] {
			t.Errorf("got %v, want %v", ops, want)
		}
	}
	if len(f.Seen()) != 0 {
		t.Error("Seen gives a call twice")
	}
}
