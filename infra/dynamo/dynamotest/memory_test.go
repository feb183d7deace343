package dynamotest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

func TestAConditionIsEvaluatedAsDynamoDBDoes(t *testing.T) {
	it := dynamo.Item{"pk": "p", "sk": "s", "n": int64(5), "s": "m", "b": true, "l": []string{"x"}, "m": map[string]string{"k": "v"}}
	for name, row := range map[string]struct {
		c    dynamo.Cond
		want bool
	}{
		"nothing always holds":                         {dynamo.Cond{}, true},
		"absent of a missing attribute":                {dynamo.Absent("x"), true},
		"absent of one that is there":                  {dynamo.Absent("n"), false},
		"exists of a missing attribute":                {dynamo.Exists("x"), false},
		"exists of one that is there":                  {dynamo.Exists("n"), true},
		"equal numbers":                                {dynamo.Eq("n", int64(5)), true},
		"a number never equals a string":               {dynamo.Eq("n", "5"), false},
		"nothing equals a missing attribute":           {dynamo.Eq("x", int64(5)), false},
		"equal lists":                                  {dynamo.Eq("l", []string{"x"}), true},
		"equal maps":                                   {dynamo.Eq("m", map[string]string{"k": "v"}), true},
		"equal booleans":                               {dynamo.Eq("b", true), true},
		"a missing attribute differs from everything":  {dynamo.Ne("x", int64(5)), true},
		"another type differs":                         {dynamo.Ne("n", "5"), true},
		"equal values do not differ":                   {dynamo.Ne("n", int64(5)), false},
		"lower":                                        {dynamo.Lt("n", int64(6)), true},
		"lower than itself":                            {dynamo.Lt("n", int64(5)), false},
		"not higher than itself":                       {dynamo.Le("n", int64(5)), true},
		"higher":                                       {dynamo.Gt("n", int64(4)), true},
		"not lower than itself":                        {dynamo.Ge("n", int64(5)), true},
		"a missing attribute is not lower":             {dynamo.Lt("x", int64(6)), false},
		"a string is not lower than a number":          {dynamo.Lt("s", int64(6)), false},
		"strings are ordered by bytes":                 {dynamo.Lt("s", "n"), true},
		"all of two that hold":                         {dynamo.All(dynamo.Eq("n", int64(5)), dynamo.Exists("s")), true},
		"all of which one fails":                       {dynamo.All(dynamo.Eq("n", int64(5)), dynamo.Absent("s")), false},
		"any of which one holds":                       {dynamo.Any(dynamo.Eq("n", int64(4)), dynamo.Exists("s")), true},
		"any of which none holds":                      {dynamo.Any(dynamo.Eq("n", int64(4)), dynamo.Absent("s")), false},
		"nested, with an empty condition among others": {dynamo.All(dynamo.Cond{}, dynamo.Any(dynamo.Absent("s"), dynamo.Ge("n", int64(5)))), true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Holds(row.c, it)
			if err != nil || got != row.want {
				t.Errorf("got %v, %v; want %v", got, err, row.want)
			}
		})
	}
}

func TestAnInvalidConditionIsRefusedWhateverTheItem(t *testing.T) {
	for name, c := range map[string]dynamo.Cond{
		"no parts":                 dynamo.All(),
		"no attribute":             {Op: dynamo.OpEq, Value: "x"},
		"an int":                   dynamo.Eq("n", 5),
		"an order of booleans":     dynamo.Lt("b", true),
		"an unknown operator":      {Op: "~", Attr: "n", Value: int64(1)},
		"an invalid part":          dynamo.Any(dynamo.Exists("n"), dynamo.Eq("n", 5)),
		"an invalid part of parts": dynamo.All(dynamo.Absent("n"), dynamo.Any()),
	} {
		for _, it := range []dynamo.Item{nil, {"pk": "p", "sk": "s", "n": int64(5), "b": true}} {
			if _, err := Holds(c, it); !alloc.Is(err, alloc.CodeInternal) {
				t.Errorf("%s: got %v, want an internal error", name, err)
			}
		}
	}
}

func TestAWriteTestsItsConditionAndReportsWhatWasThere(t *testing.T) {
	m, ctx := NewMemory(), t.Context()
	k := dynamo.Key{PK: "p", SK: "s"}
	first := dynamo.Item{"pk": "p", "sk": "s", "n": int64(1), "l": []string{"a"}}
	if err := m.Put(ctx, first, dynamo.Absent("pk")); err != nil {
		t.Fatal(err)
	}
	first["l"].([]string)[0] = "changed by its writer later"
	want := dynamo.Item{"pk": "p", "sk": "s", "n": int64(1), "l": []string{"a"}}
	failed, ok := errors.AsType[*dynamo.ConditionFailed](m.Put(ctx, first, dynamo.Absent("pk")))
	if !ok || !cmp.Equal(failed.Old, want) {
		t.Errorf("a second put got %v, want the item that was there", failed)
	}
	got, err := m.Update(ctx, k, dynamo.Update{Set: map[string]any{"s": "x"}, Add: map[string]int64{"n": 2}, Remove: []string{"l"}}, dynamo.Eq("n", int64(1)))
	want = dynamo.Item{"pk": "p", "sk": "s", "n": int64(3), "s": "x"}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("the update returned %v, %v; want %v", got, err, want)
	}
	if _, err := m.Delete(ctx, k, dynamo.Eq("n", int64(1))); err == nil {
		t.Error("a delete went through on a condition that fails")
	}
	got, err = m.Delete(ctx, k, dynamo.Eq("n", int64(3)))
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("the delete returned %v, %v; want %v", got, err, want)
	}
	if got, err := m.Get(ctx, k); got != nil || err != nil {
		t.Errorf("after the delete there is %v, %v", got, err)
	}
	if failed, ok := errors.AsType[*dynamo.ConditionFailed](m.Put(ctx, want, dynamo.Exists("pk"))); !ok || failed.Old != nil {
		t.Errorf("a put on condition of an item that is missing got %v", failed)
	}
}

func TestWhatDynamoDBRefusesIsAnInternalError(t *testing.T) {
	m, ctx := NewMemory(), t.Context()
	k := dynamo.Key{PK: "p", SK: "s"}
	m.Set(dynamo.Item{"pk": "p", "sk": "s", "n": int64(math.MaxInt64), "s": "x"})
	before := m.Items()
	update := func(k dynamo.Key, u dynamo.Update) error {
		_, err := m.Update(ctx, k, u, dynamo.Cond{})
		return err
	}
	query := func(q dynamo.Query) error {
		_, err := m.Query(ctx, q)
		return err
	}
	many := func(keys ...dynamo.Key) error {
		_, err := m.GetMany(ctx, keys)
		return err
	}
	hundred := make([]dynamo.Key, 101)
	for i := range hundred {
		hundred[i] = dynamo.Key{PK: "p", SK: fmt.Sprint(i)}
	}
	for name, err := range map[string]error{
		"a put without a sort key":       m.Put(ctx, dynamo.Item{"pk": "p"}, dynamo.Cond{}),
		"a put of an int":                m.Put(ctx, dynamo.Item{"pk": "p", "sk": "t", "n": 1}, dynamo.Cond{}),
		"a put of 400 KB":                m.Put(ctx, dynamo.Item{"pk": "p", "sk": "t", "s": strings.Repeat("x", 400<<10)}, dynamo.Cond{}),
		"a long sort key":                m.Put(ctx, dynamo.Item{"pk": "p", "sk": strings.Repeat("x", 1025)}, dynamo.Cond{}),
		"an update that would create":    update(dynamo.Key{PK: "p", SK: "t"}, dynamo.Update{Set: map[string]any{"n": int64(1)}}),
		"an update that changes nothing": update(k, dynamo.Update{}),
		"an update of the key":           update(k, dynamo.Update{Set: map[string]any{"pk": "q"}}),
		"an attribute named twice":       update(k, dynamo.Update{Set: map[string]any{"n": int64(1)}, Remove: []string{"n"}}),
		"adding to a missing attribute":  update(k, dynamo.Update{Add: map[string]int64{"x": 1}}),
		"adding to a string":             update(k, dynamo.Update{Add: map[string]int64{"s": 1}}),
		"adding beyond int64":            update(k, dynamo.Update{Add: map[string]int64{"n": 1}}),
		"a query of no partition":        query(dynamo.Query{}),
		"bounds the wrong way round":     query(dynamo.Query{PK: "p", From: "b", To: "a"}),
		"a key twice":                    many(k, k),
		"more than 100 keys":             many(hundred...),
	} {
		if !alloc.Is(err, alloc.CodeInternal) {
			t.Errorf("%s: got %v, want an internal error", name, err)
		}
	}
	if d := cmp.Diff(before, m.Items()); d != "" {
		t.Errorf("a refused call changed the table:\n%s", d)
	}
}

func TestAQueryReadsOnePartitionInOrder(t *testing.T) {
	m := NewMemory()
	for _, sk := range []string{"d", "a", "c", "e", "b"} {
		m.Set(dynamo.Item{"pk": "p", "sk": sk})
		m.Set(dynamo.Item{"pk": "q", "sk": sk + "!"})
	}
	for name, row := range map[string]struct {
		q    dynamo.Query
		want string
		more bool
	}{
		"all":                           {dynamo.Query{PK: "p"}, "abcde", false},
		"backwards":                     {dynamo.Query{PK: "p", Descending: true}, "edcba", false},
		"within bounds":                 {dynamo.Query{PK: "p", From: "b", To: "d"}, "bcd", false},
		"from a bound on":               {dynamo.Query{PK: "p", From: "bb"}, "cde", false},
		"up to a bound, backwards":      {dynamo.Query{PK: "p", To: "c", Descending: true}, "cba", false},
		"a page":                        {dynamo.Query{PK: "p", Limit: 2}, "ab", true},
		"a page, backwards":             {dynamo.Query{PK: "p", Limit: 2, Descending: true}, "ed", true},
		"a page that takes just all":    {dynamo.Query{PK: "p", Limit: 5}, "abcde", true},
		"a page with room":              {dynamo.Query{PK: "p", Limit: 6}, "abcde", false},
		"a partition that is not there": {dynamo.Query{PK: "x"}, "", false},
	} {
		page, err := m.Query(t.Context(), row.q)
		got := ""
		for _, it := range page.Items {
			got += it.Str("sk")
		}
		if err != nil || got != row.want || page.More != row.more {
			t.Errorf("%s: got %q, more %v, %v; want %q, %v", name, got, page.More, err, row.want, row.more)
		}
	}
}

func TestAPageEndsAtAMegabyte(t *testing.T) {
	m := NewMemory()
	for i := range 5 {
		m.Set(dynamo.Item{"pk": "p", "sk": fmt.Sprint(i), "s": strings.Repeat("x", 300<<10)})
	}
	page, err := m.Query(t.Context(), dynamo.Query{PK: "p"})
	if err != nil || len(page.Items) != 4 || !page.More {
		t.Errorf("got %d items, more %v, %v; want 4 and more", len(page.Items), page.More, err)
	}
}

func TestUsageFollowsThePublishedSizes(t *testing.T) {
	for name, row := range map[string]struct {
		it   dynamo.Item
		want int
	}{
		"none":      {nil, 0},
		"a string":  {dynamo.Item{"ab": "xyz"}, 5},
		"a number":  {dynamo.Item{"n": int64(12345)}, 1 + 4},
		"zeros":     {dynamo.Item{"n": int64(1000)}, 1 + 2},
		"negative":  {dynamo.Item{"n": int64(-12)}, 1 + 3},
		"a boolean": {dynamo.Item{"b": true}, 2},
		"a list":    {dynamo.Item{"l": []string{"a", "bc"}}, 1 + 3 + 2 + 3},
		"a map":     {dynamo.Item{"m": map[string]string{"k": "vv"}}, 1 + 3 + 4},
	} {
		if got := Size(row.it); got != row.want {
			t.Errorf("%s: got %d bytes, want %d", name, got, row.want)
		}
	}

	m, ctx := NewMemory(), t.Context()
	big := dynamo.Item{"pk": "p", "sk": "s", "s": strings.Repeat("x", 5000)}
	if err := m.Put(ctx, big, dynamo.Cond{}); err != nil {
		t.Fatal(err)
	}
	if err := m.Put(ctx, dynamo.Item{"pk": "p", "sk": "s"}, dynamo.Absent("pk")); err == nil {
		t.Fatal("the condition held")
	}
	if _, err := m.Get(ctx, big.Key()); err != nil {
		t.Fatal(err)
	}
	want := Usage{Puts: 2, Gets: 1, ConditionsFailed: 1, WriteUnits: 10, ReadUnits: 2}
	if d := cmp.Diff(want, m.Usage()); d != "" {
		t.Errorf("usage (-want +got):\n%s", d)
	}
}

func TestABackupIsRestoredWhole(t *testing.T) {
	m := NewMemory()
	m.Set(dynamo.Item{"pk": "p", "sk": "a", "exp": int64(100)})
	m.Set(dynamo.Item{"pk": "p", "sk": "b", "exp": int64(200)})
	backup := m.Snapshot()
	if gone := m.Expire(time.Unix(101, 0)); gone != 1 {
		t.Errorf("%d items expired, want 1", gone)
	}
	m.Set(dynamo.Item{"pk": "q", "sk": "c"})
	m.Restore(backup)
	var keys []string
	for _, it := range m.Items() {
		keys = append(keys, it.Str("pk")+it.Str("sk"))
	}
	if want := []string{"pa", "pb"}; !slices.Equal(keys, want) {
		t.Errorf("got %v, want %v", keys, want)
	}
}
