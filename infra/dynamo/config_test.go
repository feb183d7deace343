package dynamo_test

import (
	"context"
	"errors"
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// Heads that were written before a configuration had these read as if it had their defaults, and a creation that is
// repeated meets its own.
func TestAHeadFromBeforeANewFieldReadsAsItsDefault(t *testing.T) {
	b := newBench(t)
	s, ctx := b.open(), t.Context()
	b.pool(alloc.PoolConfig{})
	b.edit(b.head().Key(), func(it dynamo.Item) {
		delete(it, dynamo.AttrOnRelease)
		delete(it, dynamo.AttrRequireKey)
	})
	p, created, err := s.CreatePool(ctx, "p", alloc.PoolConfig{}.WithDefaults())
	if err != nil || created || p.Config != (alloc.PoolConfig{}).WithDefaults() {
		t.Errorf("got %+v, %t, %v", p, created, err)
	}
	want := alloc.PoolConfig{OnRelease: alloc.ReleaseRetires, RequireKey: true}.WithDefaults()
	if p, err = s.ChangePool(ctx, "p", 1, want); err != nil || p.Config != want {
		t.Errorf("changed to %+v, %v; want %+v", p.Config, err, want)
	}
	if p, err = b.open().Pool(ctx, "p"); err != nil || p.Config != want {
		t.Errorf("read %+v, %v; want %+v", p.Config, err, want)
	}
	sequence(t, s, alloc.SequenceConfig{})
	b.edit(dynamo.Key{PK: "S#s", SK: "H"}, func(it dynamo.Item) { delete(it, "key") })
	q, _, err := s.CreateSequence(ctx, "s", alloc.SequenceConfig{}.WithDefaults())
	if err != nil || q.Config != (alloc.SequenceConfig{}).WithDefaults() {
		t.Errorf("got %+v, %v", q, err)
	}
	keys := alloc.SequenceConfig{RequireKey: true}.WithDefaults()
	if _, err := s.ChangeSequence(ctx, "s", 1, keys); err != nil {
		t.Fatal(err)
	}
	_, err = b.open().Lease(ctx, order(1))
	refused(t, err, alloc.CodeKeyRequired)
	lease(t, b.open(), keyed(1, "k"))
}

// A state is set at the version that the caller knows, or not at all: also when the version changes between the look and
// the write.
func TestAStateIsSetAtAVersion(t *testing.T) {
	b := newBench(t)
	s, ctx := b.open(), t.Context()
	b.pool(alloc.PoolConfig{})
	sequence(t, s, alloc.SequenceConfig{})
	between := func() {} // the look and the write
	slow := dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
		if _, set := c.Update.Set["st"]; set {
			then := between
			between = func() {}
			then()
		}
		return c.Do(ctx, b.mem)
	})
	setPool := func(from alloc.Version) error {
		_, err := process(t, slow).SetPoolState(ctx, "p", from, alloc.PoolPaused)
		return err
	}
	setSequence := func(from alloc.Version) error {
		_, err := process(t, slow).SetSequenceState(ctx, "s", from, alloc.SequencePaused)
		return err
	}
	changePool := func(from alloc.Version) error {
		_, err := s.ChangePool(ctx, "p", from, alloc.PoolConfig{MaxBatch: alloc.Count(from) + 1}.WithDefaults())
		return err
	}
	changeSequence := func(from alloc.Version) error {
		_, err := s.ChangeSequence(ctx, "s", from, alloc.SequenceConfig{MaxLease: alloc.Count(from) + 1}.WithDefaults())
		return err
	}
	for name, do := range map[string]struct{ set, change func(alloc.Version) error }{
		"pool": {setPool, changePool}, "sequence": {setSequence, changeSequence},
	} {
		t.Run(name, func(t *testing.T) {
			mismatch := func(err error, current alloc.Version) {
				t.Helper()
				if e, ok := errors.AsType[*alloc.Error](err); !ok || e.Code != alloc.CodeVersionMismatch || e.Current != current {
					t.Errorf("got %v, want a mismatch with version %d", err, current)
				}
			}
			mismatch(do.set(2), 1)
			refused(t, do.change(1), "")
			mismatch(do.set(1), 2)
			between = func() { refused(t, do.change(2), "") }
			mismatch(do.set(2), 3)
			refused(t, do.set(3), "")
			refused(t, do.set(3), "") // a repeat
			mismatch(do.set(2), 3)    // of what is paused already, too
			refused(t, do.set(0), "")
		})
	}
}

func TestAStateSetSurvivesAFaultAtEveryWrite(t *testing.T) {
	atEachWrite(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		insist(b, func(s *dynamo.Store) (bool, error) {
			_, created, err := s.CreatePool(ctx, "p", alloc.PoolConfig{}.WithDefaults())
			return created, err
		})
		insist(b, func(s *dynamo.Store) (bool, error) {
			_, created, err := s.CreateSequence(ctx, "s", alloc.SequenceConfig{}.WithDefaults())
			return created, err
		})
		p := insist(b, func(s *dynamo.Store) (alloc.Pool, error) { return s.SetPoolState(ctx, "p", 1, alloc.PoolPaused) })
		q := insist(b, func(s *dynamo.Store) (alloc.Sequence, error) {
			return s.SetSequenceState(ctx, "s", 1, alloc.SequencePaused)
		})
		if p.State != alloc.PoolPaused || q.State != alloc.SequencePaused {
			t.Errorf("the pool is %s, the sequence %s", p.State, q.State)
		}
	})
}

func TestNothingIsLeasedBelowZeroAndAllIsBelowTheEnd(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		s, ctx := process(t, table), t.Context()
		sequence(t, s, alloc.SequenceConfig{StartAtZero: true, MaxLease: alloc.MaxLeaseLimit})
		lease(t, s, order(1))
		high := alloc.SequenceConfig{Start: alloc.MaxNumber - 1}.WithDefaults()
		if _, _, err := s.CreateSequence(ctx, "high", high); err != nil {
			t.Fatal(err)
		}
		o := order(2)
		o.Sequence = "high"
		last := lease(t, s, o)
		for _, row := range []struct {
			name  alloc.SequenceName
			below alloc.Number
			want  int
		}{
			{"s", 0, 0},
			{"s", 1, 1},
			{"s", alloc.MaxNumber + 1, 1},
			{"high", last.Start, 0},
			{"high", alloc.MaxNumber, 1},
			{"high", alloc.MaxNumber + 1, 1},
		} {
			got, err := s.Leases(ctx, row.name, row.below, 10)
			if err != nil || len(got) != row.want {
				t.Errorf("%s below %d: %v, %v; want %d", row.name, row.below, got, err, row.want)
			}
		}
		_, err := s.Leases(ctx, "none", 0, 10)
		refused(t, err, alloc.CodeSequenceNotFound)
	})
}
