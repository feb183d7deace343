package dynamotest

import (
	"fmt"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// scanAll makes a whole scan in that many segments, in pages of so many items, and counts what it meets.
func scanAll(t *testing.T, table dynamo.Table, total, limit int, prefixes ...string) map[dynamo.Key]int {
	t.Helper()
	met := map[dynamo.Key]int{}
	for segment := range total {
		sc := dynamo.Scan{Segment: segment, Total: total, Limit: limit, Prefixes: prefixes}
		for {
			items, next, err := table.Scan(t.Context(), sc)
			if err != nil {
				t.Fatal(err)
			}
			if limit > 0 && len(items) > limit {
				t.Fatalf("a page has %d items", len(items))
			}
			for _, it := range items {
				met[it.Key()]++
			}
			if sc.From = next; next == (dynamo.Key{}) {
				break
			}
		}
	}
	return met
}

func scanTable(t *testing.T, table dynamo.Table) {
	t.Helper()
	want := map[string]int{}
	for n := range 300 {
		pk := fmt.Sprintf("%c#%d", 'A'+n%3, n)
		for _, sk := range []string{"1", "2"} {
			if err := table.Put(t.Context(), dynamo.Item{"pk": pk, "sk": sk, "n": int64(n)}, dynamo.Absent("pk")); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []string{"", "A", "B#"} {
			if strings.HasPrefix(pk, p) {
				want[p] += 2
			}
		}
	}
	for _, total := range []int{1, 4, 7} {
		for _, limit := range []int{0, 1, 33} {
			for _, prefixes := range [][]string{nil, {"A"}, {"A", "B#"}} {
				met := scanAll(t, table, total, limit, prefixes...)
				n := want[""]
				if prefixes != nil {
					n = 0
					for _, p := range prefixes {
						n += want[p]
					}
				}
				if len(met) != n {
					t.Errorf("in %d segments, pages of %d, with %v: met %d items, want %d", total, limit, prefixes, len(met), n)
				}
				for k, times := range met {
					if times != 1 {
						t.Errorf("in %d segments, pages of %d, with %v: met %v %d times", total, limit, prefixes, k, times)
					}
				}
			}
		}
	}
}

func TestAScanMeetsEachItemOnce(t *testing.T) { scanTable(t, NewMemory()) }

func TestAScanGoesOnFromAnItemThatIsGone(t *testing.T) {
	m := NewMemory()
	for n := range 100 {
		m.Set(dynamo.Item{"pk": fmt.Sprint(n), "sk": "s"})
	}
	met := 0
	var from dynamo.Key
	for {
		items, next, err := m.Scan(t.Context(), dynamo.Scan{From: from, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			met++
			m.Drop(it.Key())
		}
		if from = next; next == (dynamo.Key{}) {
			break
		}
	}
	if met != 100 {
		t.Errorf("met %d items of 100", met)
	}
	if _, _, err := m.Scan(t.Context(), dynamo.Scan{Segment: 2, Total: 2}); alloc.CodeOf(err) != alloc.CodeInternal {
		t.Errorf("a segment that is none: %v", err)
	}
	if got := m.Usage().Scans; got != 101 {
		t.Errorf("%d scans were counted, want 101", got)
	}
}
