package dynamo_test

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// onTables runs a test on a fresh table of every kind that this build has.
func onTables(t *testing.T, test func(t *testing.T, table dynamo.Table)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { test(t, dynamotest.NewMemory()) })
	for name, open := range engineTables() {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// process opens a Store with nothing in memory over the table.
func process(t testing.TB, table dynamo.Table) *dynamo.Store { return processAt(t, table, nil) }

func processAt(t testing.TB, table dynamo.Table, now func() time.Time) *dynamo.Store {
	t.Helper()
	s, err := dynamo.New(dynamo.Config{Table: table, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sequence makes a sequence named "s" from what the configuration changes of the defaults.
func sequence(t testing.TB, s alloc.Sequences, c alloc.SequenceConfig) {
	t.Helper()
	if _, _, err := s.CreateSequence(t.Context(), "s", c.WithDefaults()); err != nil {
		t.Fatal(err)
	}
}

func order(n alloc.Count) alloc.LeaseOrder {
	return alloc.LeaseOrder{Sequence: "s", Count: n, By: "tester"}
}

func keyed(n alloc.Count, key string) alloc.LeaseOrder {
	o := order(n)
	o.Key = alloc.NewKey("tester", "lease", "sequence/s", key, "lease", "s", string(rune('0'+n)))
	return o
}

// lease takes n numbers, which succeeds.
func lease(t testing.TB, s alloc.Sequences, o alloc.LeaseOrder) alloc.Range {
	t.Helper()
	r, err := s.Lease(t.Context(), o)
	if err != nil {
		t.Fatalf("lease of %d: %v", o.Count, err)
	}
	return r
}

// refused demands the code of an error.
func refused(t testing.TB, err error, want alloc.Code) {
	t.Helper()
	if alloc.CodeOf(err) != want {
		t.Fatalf("got %v, want %s", err, want)
	}
}

// setCounter sets the counter by hand, so that next would be handed out next.
func setCounter(t testing.TB, table dynamo.Table, next int64) {
	t.Helper()
	_, err := table.Update(t.Context(), dynamo.Key{PK: "S#s", SK: "H"}, dynamo.Update{Set: map[string]any{"last": next - 1}}, dynamo.Exists("pk"))
	if err != nil {
		t.Fatal(err)
	}
}

// disjoint demands that no number was answered twice.
func disjoint(t testing.TB, ranges []alloc.Range) {
	t.Helper()
	for i, a := range ranges {
		if a.Start > a.End {
			t.Errorf("the range %d–%d is empty", a.Start, a.End)
		}
		for _, b := range ranges[:i] {
			if a.Start <= b.End && b.Start <= a.End {
				t.Errorf("%d–%d and %d–%d were both answered", b.Start, b.End, a.Start, a.End)
			}
		}
	}
}
