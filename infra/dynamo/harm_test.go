package dynamo_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"idpool/alloc/alloctest"
	"idpool/infra/dynamo"
)

// harm is what a kind of damage is here: it changes the items that match, each to what change returns, nil for gone.
type harm struct {
	matches func(d alloctest.Damage, k dynamo.Key) bool
	change  func(it dynamo.Item) dynamo.Item
}

var harms = map[alloctest.DamageKind]harm{
	alloctest.LoseHead:  {isItem("P#%[1]s", "H"), gone},
	alloctest.LoseCopy:  {func(d alloctest.Damage, k dynamo.Key) bool { return k.PK == "N#pool" && k.SK == string(d.Pool) }, only("s")},
	alloctest.LoseQueue: {isChunk, gone},
	alloctest.SkewCount: {isItem("P#%[1]s", "H"), func(it dynamo.Item) dynamo.Item {
		it[dynamo.AttrSeeded] = it.Int(dynamo.AttrSeeded) + 1
		return it
	}},
	alloctest.LoseID: {isItem("I#%[1]s#%[2]s", "I"), gone},

	alloctest.LoseSequenceCopy: {
		func(d alloctest.Damage, k dynamo.Key) bool { return k.PK == "N#seq" && k.SK == string(d.Sequence) }, only("mark", "born"),
	},
	alloctest.LoseMark: {isItem("S#%[3]s", "W"), gone},
	alloctest.CutLedger: {func(d alloctest.Damage, k dynamo.Key) bool {
		return k.PK == "S#"+string(d.Sequence)+"#L" && k.SK >= fmt.Sprintf("%020d", d.Number)
	}, gone},
	alloctest.DamageLease: {func(d alloctest.Damage, k dynamo.Key) bool {
		return k.PK == "S#"+string(d.Sequence)+"#L" && k.SK == fmt.Sprintf("%020d", d.Number)
	}, without("t")},

	alloctest.LoseRecord: {isTrailRecord, gone},
	alloctest.ChangeRecord: {isTrailRecord, func(it dynamo.Item) dynamo.Item {
		it["det"] = "changed by hand"
		return it
	}},
}

// isItem matches the item whose partition has the pool, the ID and the sequence where the format says.
func isItem(pk, sk string) func(alloctest.Damage, dynamo.Key) bool {
	return func(d alloctest.Damage, k dynamo.Key) bool {
		return k.SK == sk && k.PK == strings.NewReplacer("%[1]s", string(d.Pool), "%[2]s", string(d.ID), "%[3]s", string(d.Sequence)).Replace(pk)
	}
}

func isChunk(d alloctest.Damage, k dynamo.Key) bool {
	return k.SK == "C" && strings.HasPrefix(k.PK, "P#"+string(d.Pool)+"#")
}

func isTrailRecord(d alloctest.Damage, k dynamo.Key) bool {
	return k.PK == "A#"+d.Month && k.SK == fmt.Sprintf("%020d", d.Position)
}

func gone(dynamo.Item) dynamo.Item { return nil }

// only leaves the key and the attributes.
func only(attrs ...string) func(dynamo.Item) dynamo.Item {
	attrs = append(attrs, "pk", "sk")
	return func(it dynamo.Item) dynamo.Item {
		maps.DeleteFunc(it, func(name string, _ any) bool { return !slices.Contains(attrs, name) })
		return it
	}
}

func without(attr string) func(dynamo.Item) dynamo.Item {
	return func(it dynamo.Item) dynamo.Item {
		delete(it, attr)
		return it
	}
}

// damage does harm to the table as alloctest.Fixture asks for it.
func damage(t testing.TB, table dynamo.Table, d alloctest.Damage) bool {
	t.Helper()
	h, possible := harms[d.Kind]
	if !possible {
		return false
	}
	met := 0
	for _, it := range wholeTable(t, table) {
		if k := it.Key(); h.matches(d, k) {
			met++
			overwrite(t, table, k, h.change(it))
		}
	}
	if met == 0 {
		t.Fatalf("%s: there is nothing of that kind: %+v", d.Kind, d)
	}
	return true
}

// overwrite puts an item by hand, or removes what is there for nil.
func overwrite(t testing.TB, table dynamo.Table, k dynamo.Key, it dynamo.Item) {
	t.Helper()
	var err error
	if it == nil {
		_, err = table.Delete(t.Context(), k, dynamo.Cond{})
	} else {
		err = table.Put(t.Context(), it, dynamo.Cond{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// wholeTable reads all that is in it.
func wholeTable(t testing.TB, table dynamo.Table) (all []dynamo.Item) {
	t.Helper()
	for from, more := (dynamo.Key{}), true; more; more = from != (dynamo.Key{}) {
		items, next, err := table.Scan(t.Context(), dynamo.Scan{Total: 1, From: from})
		if err != nil {
			t.Fatal(err)
		}
		all, from = append(all, items...), next
	}
	return all
}

// snapshot keeps a copy of the table, and returns what puts it back.
func snapshot(t testing.TB, table dynamo.Table) func(testing.TB) {
	t.Helper()
	kept := wholeTable(t, table)
	return func(t testing.TB) {
		t.Helper()
		for _, it := range wholeTable(t, table) {
			overwrite(t, table, it.Key(), nil)
		}
		for _, it := range kept {
			overwrite(t, table, it.Key(), it)
		}
	}
}
