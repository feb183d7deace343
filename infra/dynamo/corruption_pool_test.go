package dynamo_test

import (
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// corruption is one kind of item of a pool that is lost or damaged, and what is noticed of that before the rebuild.
type corruption struct {
	name  string
	which func(b *bench, it dynamo.Item) bool
	harm  func(it dynamo.Item) dynamo.Item // nil: it is lost

	claim alloc.Code // what a caller in a new process sees; "" for nothing
	sweep alloc.Code // what the schedule sees
	seen  bool       // PoolEvidence says so
}

func atKey(pk, sk string) func(*bench, dynamo.Item) bool {
	return func(_ *bench, it dynamo.Item) bool { return it.Str("pk") == pk && it.Str("sk") == sk }
}

func inState(state string) func(*bench, dynamo.Item) bool {
	return func(_ *bench, it dynamo.Item) bool {
		return strings.HasPrefix(it.Str("pk"), "I#p#") && it.Str("s") == state
	}
}

func chunksFrom(attr, before string) func(*bench, dynamo.Item) bool {
	return func(b *bench, it dynamo.Item) bool {
		n, ok := strings.CutPrefix(it.Str("pk"), "P#p#1#")
		if !ok || it.Str("sk") != "C" {
			return false
		}
		at, from, to := int64(0), b.mem.Item(dynamo.Key{PK: "P#p", SK: "H"}).Int(attr), b.mem.Item(dynamo.Key{PK: "P#p", SK: "H"}).Int(before)
		for _, c := range n {
			at = 10*at + int64(c-'0')
		}
		return at >= from && at < to
	}
}

func mangled(attr string, v any) func(dynamo.Item) dynamo.Item {
	return func(it dynamo.Item) dynamo.Item {
		if it[attr] = v; v == nil {
			delete(it, attr)
		}
		return it
	}
}

var corruptions = []corruption{
	{name: "head", which: atKey("P#p", "H"), claim: alloc.CodePoolDamaged, sweep: alloc.CodePoolDamaged, seen: true},
	{name: "head without a tail", which: atKey("P#p", "H"), harm: mangled("tl", nil), claim: alloc.CodePoolDamaged, sweep: alloc.CodePoolDamaged, seen: true},
	{name: "leased chunks", which: chunksFrom("lo", "nx"), sweep: alloc.CodePoolDamaged, seen: true},
	{name: "chunks to be leased", which: chunksFrom("nx", "tl"), claim: alloc.CodePoolDamaged, sweep: alloc.CodePoolDamaged, seen: true},
	{name: "a chunk that is leased later", which: func(b *bench, it dynamo.Item) bool { return it.Str("pk") == "P#p#1#40" }, sweep: alloc.CodePoolDamaged, seen: true},
	{name: "listings of chunks", which: chunksFrom("nx", "tl"), harm: mangled("l", []string{"?"}), claim: alloc.CodePoolExhausted, seen: true},
	{name: "catalogue", which: atKey("N#pool", "p"), seen: true},
	{name: "return items", which: func(_ *bench, it dynamo.Item) bool { return it.Str("pk") == "P#p#R" }},
	{name: "key record", which: func(_ *bench, it dynamo.Item) bool { return strings.HasPrefix(it.Str("pk"), "K#") }},
	{name: "free IDs", which: inState("f"), claim: alloc.CodePoolExhausted},
	{name: "claimed IDs", which: inState("c")},
	{name: "held IDs", which: inState("h")},
	{name: "IDs in no state", which: inState("c"), harm: mangled("s", "?")},
	{name: "claimed IDs that are made free", which: inState("c"), harm: mangled("s", "f")},
	{name: "batch record", which: func(_ *bench, it dynamo.Item) bool { return strings.HasPrefix(it.Str("sk"), "B#p#") }},
	{name: "refill record", which: atKey("P#p", "F")},
}

func (c corruption) do(b *bench) {
	var items []dynamo.Item
	for _, it := range b.mem.Items() {
		if c.which(b, it) {
			items = append(items, it)
		}
	}
	for _, it := range items {
		if c.harm == nil {
			b.mem.Drop(it.Key())
		} else {
			b.mem.Set(c.harm(it))
		}
	}
}

// TestWhatIsLostIsNoticedAndRebuilt harms every kind of item of a pool, and every two of them, while several processes claim, and
// rebuilds: no ID is handed out twice, and what was taken is never free.
func TestWhatIsLostIsNoticedAndRebuilt(t *testing.T) {
	for i, first := range corruptions {
		t.Run(first.name, func(t *testing.T) { rebuiltAfter(t, first) })
		for _, second := range corruptions[i+1:] {
			t.Run(first.name+" and "+second.name, func(t *testing.T) { rebuiltAfter(t, first, second) })
		}
	}
}

func rebuiltAfter(t *testing.T, harms ...corruption) {
	b, taken := mixed(t)
	var given []alloc.ID
	for id, state := range taken {
		if state != alloc.StateReturning {
			given = append(given, id)
		}
	}
	warm := b.open()
	claims := func(s *dynamo.Store) (code alloc.Code) {
		c, err := s.Claim(t.Context(), want(1))
		given = append(given, c.IDs...)
		return alloc.CodeOf(err)
	}
	claims(warm)
	for _, c := range harms {
		c.do(b)
	}
	claims(warm)
	code := claims(b.open())
	e, err := b.open().PoolEvidence(t.Context(), "p")
	if err != nil {
		t.Fatalf("PoolEvidence: %v", err)
	}
	_, swept := b.open().Sweep(t.Context(), "p")
	if len(harms) == 1 {
		got := corruption{claim: code, sweep: alloc.CodeOf(swept), seen: len(e.Damage) > 0}
		if c := harms[0]; got.claim != c.claim || got.sweep != c.sweep || got.seen != c.seen {
			t.Errorf("a claim got %q, a sweep %q, and it is seen at a glance: %v %v; want %q, %q, %v", got.claim, got.sweep, got.seen, e.Damage, c.claim, c.sweep, c.seen)
		}
	}
	s := b.open()
	r, err := s.RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "j", Policy: alloc.PolicyKeep})
	if err != nil {
		t.Fatalf("the rebuild: %v", err)
	}
	claims(warm)
	b.rebuildFrom(b.open(), alloc.PoolRebuildOrder{Pool: "p", Job: "j", Step: r.Next})
	claims(warm)
	b.sweep()
	given = append(given, b.drain(b.open())...)
	distinct(t, given)
	b.walk()
	if e, err := b.open().PoolEvidence(t.Context(), "p"); err != nil || !e.Head || len(e.Damage) > 0 {
		t.Errorf("after the rebuild the evidence is %+v, %v", e, err)
	}
	if _, err := b.open().Sweep(t.Context(), "p"); err != nil {
		t.Errorf("after the rebuild a sweep: %v", err)
	}
}
