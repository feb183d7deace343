package alloctest

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// lookAlikes are IDs that some engine, key format or URL might take for one another, or for something of its own. All
// pass alloc.CheckID.
var lookAlikes = []alloc.ID{
	"é", "e", "É", "è", "ё",
	"abc", "ABC", "Abc", "ａｂｃ", "аbc", // full width, and a Cyrillic а
	"ﬁ", "fi", "ß", "ss", "ı", "i", "I", "İ",
	"a/b", "a%2Fb", "a%2fb", "a%252Fb", `a\b`, "a//b", "/a", "a/", "a/../b", "b", "..", ".", "../..",
	"a#b", "a##b", "#", "#a", "I#p#a", "p#a", "a#", "C", "H", "K", "P#p",
	"0", "00", "1", "01", "1.0", "1e0", "+1", "-1", "0x1", "007", "7",
	"a b", "a  b", "a+b", "a%20b", "a_b", "a-b", "a.b", "a%", "a%b", "a_", "*", "a*", "?",
	"NULL", "null", "nil", "true", `"`, `'`, `''`, `a'b`, `a"b`, "a;b", "a,b", "a|b", "a||b", "--", "$1", ":id", "@id",
	"订单", "订單", "🎟", "🎟🎟", "👩‍💻", "zz" + "z",
}

func init() {
	// "👩‍💻" has a joiner that alloc.CheckID refuses; keep only what a Store can be given.
	lookAlikes = slices.DeleteFunc(lookAlikes, func(id alloc.ID) bool { return alloc.CheckID(string(id)) != nil })
}

var nameCases = []testCase{
	{"C51 IDs that look alike are different IDs", func(w *world) {
		ids := slices.Clone(lookAlikes)
		slices.Sort(ids)
		w.pool("p", alloc.PoolConfig{MaxBatch: alloc.MaxBatchLimit})
		w.seedNew("p", "first", ids)
		s := w.open()
		for _, id := range ids {
			r, err := s.Inspect(w.Context(), "p", id)
			w.ok(err, fmt.Sprintf("Inspect of %q", id))
			equal(w, r.ID, id, "ID that Inspect answers")
		}
		half := len(ids) / 2
		got := slices.Concat(w.claim(w.open(), order("p", alloc.Count(half))).IDs, w.claim(s, keyedOrder("p", alloc.Count(len(ids)-half), "k")).IDs)
		slices.Sort(got)
		if diff := cmp.Diff(ids, got); diff != "" {
			w.Fatalf("claimed IDs (-seeded +claimed):\n%s", diff)
		}
	}},
	{"C51 an ID in another normal form or another case is not known", func(w *world) {
		w.pool("p", alloc.PoolConfig{})
		w.seedNew("p", "first", []alloc.ID{"caf\u00e9", "Abc"})
		for _, other := range []alloc.ID{"cafe\u0301", "cafe", "CAF\u00c9", "abc", "ABC", "Abc ", "Ab", "Abcd", "Abc#", "Abc/"} {
			_, err := w.open().Inspect(w.Context(), "p", other)
			w.want(err, alloc.CodeIDNotFound, fmt.Sprintf("Inspect of %q", other))
		}
	}},
	{"C51 pools whose names begin alike do not mix, also with the same IDs", func(w *world) {
		names := []alloc.PoolName{"a", "a-b", "a.b", "a_b", "ab", "a1", "a11", "1", "11"}
		ids := []alloc.ID{"x", "b#x", "#x", "1", "11", "b", "-b"}
		for _, name := range names {
			w.pool(name, alloc.PoolConfig{})
			w.seedNew(name, "first", ids)
		}
		w.claim(w.open(), order("a", 7))
		w.refuse(w.open(), order("a", 1), alloc.CodePoolExhausted, "Claim of the emptied pool")
		for _, name := range names[1:] {
			equal(w, w.free(name), 7, fmt.Sprintf("free IDs of %q", name))
			r, err := w.open().Inspect(w.Context(), name, "x")
			w.ok(err, "Inspect")
			equal(w, r.Pool, name, "pool that Inspect answers")
			equal(w, r.State, alloc.StateFree, "state in another pool")
		}
		for _, name := range names[1:] {
			w.claim(w.open(), order(name, 7))
		}
	}},
	{"C51 a pool and a sequence of one name are two things", func(w *world) {
		w.full("n", 2)
		w.sequence("n", alloc.SequenceConfig{})
		w.claim(w.open(), order("n", 1))
		w.setState("n", alloc.PoolPaused)
		w.lease(w.open(), leaseOrder("n", 5))
		equal(w, w.readSequence("n").State, alloc.SequenceActive, "state of the sequence")
		w.setState("n", alloc.PoolActive)
	}},
	{"the longest names, IDs, owners and metadata are kept and claimed", func(w *world) {
		name := alloc.PoolName(slices.Repeat([]byte("n"), alloc.MaxNameBytes))
		w.pool(name, alloc.PoolConfig{})
		var ids []alloc.ID
		for i := range 45 {
			ids = append(ids, long(fmt.Sprintf("%02d-", i)))
		}
		w.seedNew(name, "first", ids)
		o := keyedOrder(name, 20, "k")
		o.Owner = string(slices.Repeat([]byte("o"), alloc.MaxOwnerBytes))
		o.Metadata = map[string]string{}
		for i := range alloc.MaxMetadataKeys {
			const each = alloc.MaxMetadataBytes / alloc.MaxMetadataKeys
			o.Metadata[fmt.Sprint(i)] = string(slices.Repeat([]byte("m"), each-1))
		}
		w.ok(alloc.CheckClaimOrder(o), "the order with the longest of everything")
		c := w.claim(w.open(), o)
		r, err := w.open().Inspect(w.Context(), name, c.IDs[0])
		w.ok(err, "Inspect")
		equal(w, r.Owner, o.Owner, "owner")
		if diff := cmp.Diff(o.Metadata, r.Metadata); diff != "" {
			w.Fatalf("metadata (-want +got):\n%s", diff)
		}
		equal(w, w.drain(w.open(), name), 25, "IDs left")
	}},
}
