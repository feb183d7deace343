package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// Of a first request at any part of a second, a repeat before the retention is over is a replay; after it, by two seconds
// at most, as the table counts in whole ones, it is not.
func TestAKeyIsKeptForItsWholeRetention(t *testing.T) {
	kinds := map[string]func(b *bench) func(s *dynamo.Store) bool{
		"claim": func(b *bench) func(s *dynamo.Store) bool {
			return func(s *dynamo.Store) bool { return b.claim(s, wantKeyed(1, "k")).Replayed }
		},
		"lease": func(b *bench) func(s *dynamo.Store) bool {
			if _, _, err := b.open().CreateSequence(t.Context(), "s", alloc.SequenceConfig{}.WithDefaults()); err != nil {
				b.Fatal(err)
			}
			o := alloc.LeaseOrder{Sequence: "s", Count: 1, By: "client", Key: alloc.NewKey("client", "lease", "sequence/s", "k", "1")}
			return func(s *dynamo.Store) bool {
				r, err := s.Lease(t.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				return r.Replayed
			}
		},
		"kept answer": func(b *bench) func(s *dynamo.Store) bool {
			return func(s *dynamo.Store) bool {
				mine := alloc.NewToken()
				k, err := s.OpenKey(t.Context(), aKept("k", "body"), mine, []byte("answer"))
				if err != nil {
					b.Fatal(err)
				}
				return k.Token != mine
			}
		},
	}
	for kind, prepare := range kinds {
		for _, part := range []time.Duration{0, 1, time.Millisecond, 900 * time.Millisecond, 999_999_999} {
			t.Run(fmt.Sprintf("%s at %s", kind, part), func(t *testing.T) {
				b := filled(t, 100, alloc.PoolConfig{})
				now := b.clock.Now().Add(part)
				do := prepare(b)
				ask := func() bool { return do(processAt(t, b.table, func() time.Time { return now })) }
				born := now
				for _, step := range []struct {
					after time.Duration
					want  bool
				}{{0, false}, {time.Second, true}, {alloc.KeyRetention - time.Nanosecond, true}, {alloc.KeyRetention + 2*time.Second, false}} {
					now = born.Add(step.after)
					if got := ask(); got != step.want {
						t.Errorf("after %s: replayed %t, want %t", step.after, got, step.want)
					}
				}
			})
		}
	}
}

func TestAConfirmedHoldIsKnownForItsWholeRetentionInAPoolThatForgets(t *testing.T) {
	for _, part := range []time.Duration{0, 1, time.Millisecond, 900 * time.Millisecond, 999_999_999} {
		b := filled(t, 100, alloc.PoolConfig{Policy: alloc.PolicyForget})
		now := b.clock.Now().Add(part)
		open := func() *dynamo.Store { return processAt(t, b.table, func() time.Time { return now }) }
		c := b.claim(open(), wantKeyedHold(1, time.Hour, "k"))
		record, confirmed := b.mem.Item(dynamo.Key{PK: "K#" + wantKeyedHold(1, time.Hour, "k").Key.Hash, SK: "K"}), now
		b.settle(open(), alloc.EventConfirm, c.Token, c.IDs...)
		if id := b.mem.Item(idItem(c.IDs[0])); id.Int(dynamo.AttrExpires) < record.Int(dynamo.AttrExpires) {
			t.Errorf("at %s: the ID expires at %d, before its key at %d", part, id.Int(dynamo.AttrExpires), record.Int(dynamo.AttrExpires))
		}
		now = confirmed.Add(alloc.KeyRetention - time.Nanosecond)
		b.settle(open(), alloc.EventConfirm, c.Token, c.IDs...)
		now = confirmed.Add(alloc.KeyRetention + time.Second)
		b.refuseSettle(open(), alloc.EventConfirm, c.Token, c.IDs, alloc.CodeIDNotFound)
	}
}
