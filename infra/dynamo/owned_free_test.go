package dynamo_test

import (
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// TestAnIDThatIsFreeAndOwnedIsNeverHandedOut makes claimed IDs free by hand: only their state, so they have their owners still. They are
// handed out neither out of a chunk that lists them by hand, nor after a rebuild; and as for the level they are gone.
func TestAnIDThatIsFreeAndOwnedIsNeverHandedOut(t *testing.T) {
	for name, relist := range map[string]func(*bench){
		"listed in a leased chunk": func(b *bench) {},
		"listed in a chunk that is to be leased": func(b *bench) {
			b.edit(b.head().Key(), func(it dynamo.Item) { it[dynamo.AttrNext] = int64(0) })
		},
		"rebuilt": func(b *bench) { b.rebuild("j") },
	} {
		t.Run(name, func(t *testing.T) {
			b := filled(t, 20, alloc.PoolConfig{})
			keyed := b.claim(b.open(), wantKeyed(2, "k"))
			given := append(b.claim(b.open(), want(3)).IDs, keyed.IDs...)
			for _, id := range given {
				b.edit(idItem(id), func(it dynamo.Item) { it[dynamo.AttrState] = dynamo.StateFree })
			}
			relist(b)
			got := b.drain(b.open())
			b.sweep()
			got = append(got, b.drain(b.open())...)
			if distinct(t, append(got, given...)); len(got) != 15 {
				t.Errorf("%d IDs were claimed, want 15", len(got))
			}
			if l, err := b.open().Level(t.Context(), "p"); err != nil || l.Available != 0 || l.Claimed != 20 {
				t.Errorf("the level is %+v, %v; want 20 claimed", l, err)
			}
			if c := b.claim(b.open(), wantKeyed(2, "k")); !c.Replayed || c.Token != keyed.Token {
				t.Errorf("the repeat of the key got %+v, want what %+v got", c, keyed)
			}
		})
	}
}
