package dynamo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/generator"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// longestConfig has the longest of everything that a pool's configuration may have; n tells two of them apart.
func longestConfig(n int) alloc.PoolConfig {
	var alphabet, words []string
	for c := '!'; len(alphabet) < 64; c++ {
		if c != '-' {
			alphabet = append(alphabet, string(c))
		}
	}
	for i := range 200 {
		words = append(words, fmt.Sprintf("%d%03dwords", n, i))
	}
	return alloc.PoolConfig{
		MaxBatch: alloc.MaxBatchLimit, RequireKey: true, Description: longest(alloc.MaxDescription, n),
		Generator: generator.Config{
			Kind: generator.Random, Alphabet: strings.Join(alphabet, ""), Length: 64, Prefix: longest(32, n), Group: 8, Separator: "-",
			Block: strings.Join(words, " "),
		},
		Marks: alloc.Marks{Low: alloc.MaxTarget - 1, Target: alloc.MaxTarget, LowHours: alloc.MaxRunwayHours - 1, TargetHours: alloc.MaxRunwayHours},
	}.WithDefaults()
}

// generated is a configuration whose generator and marks are of that number.
func generated(n int) alloc.PoolConfig {
	return alloc.PoolConfig{
		Description: longest(20, n), Generator: generator.Config{Kind: generator.Random, Length: 10 + n, Block: "bad worse"}.WithDefaults(),
		Marks: alloc.Marks{Low: alloc.Count(n), Target: 10_000},
	}.WithDefaults()
}

func TestAPoolKeepsItsGeneratorAndMarks(t *testing.T) {
	b := newBench(t)
	s, ctx := b.open(), t.Context()
	first, second, none := generated(1), generated(2), generated(3)
	none.Generator, none.Marks = generator.Config{}, alloc.Marks{}
	same := func(got alloc.Pool, err error, want alloc.PoolConfig) {
		t.Helper()
		if err != nil || got.Config != want {
			t.Errorf("got %v and %s", err, cmp.Diff(want, got.Config))
		}
	}
	for try := range 2 {
		p, created, err := s.CreatePool(ctx, "p", first)
		same(p, err, first)
		if created != (try == 0) {
			t.Errorf("creation %d: created is %t", try, created)
		}
	}
	_, _, err := s.CreatePool(ctx, "p", second)
	refused(t, err, alloc.CodePoolExists)
	for from, config := range []alloc.PoolConfig{second, first, none, second} {
		for range 2 { // a repeat
			p, err := s.ChangePool(ctx, "p", alloc.Version(from+1), config)
			same(p, err, config)
		}
		p, err := b.open().Pool(ctx, "p")
		same(p, err, config)
		if _, _, err := s.CreatePool(ctx, "other", none); err != nil {
			t.Fatal(err)
		}
		list, err := b.open().ListPools(ctx, "", 10)
		if err != nil || len(list) != 2 {
			t.Fatalf("ListPools: got %v, %v", list, err)
		}
		same(list[0], nil, none)
		same(list[1], nil, config)
	}
	p, err := s.SetPoolState(ctx, "p", 0, alloc.PoolPaused)
	same(p, err, second)
	p, err = s.SetPoolState(ctx, "p", 0, alloc.PoolPaused) // a repeat
	same(p, err, second)
}

func TestAChangeCutOffAtAnyWriteLeavesTheConfigurationOfTheVersion(t *testing.T) {
	for _, fault := range cutFaults {
		for n := range 10 {
			b := newBench(t)
			ctx := t.Context()
			if _, _, err := b.open().CreatePool(ctx, "p", generated(1)); err != nil {
				t.Fatal(err)
			}
			b.table.Plan(dynamotest.Nth(n, dynamotest.Call.Write, fault))
			_, err := b.open().ChangePool(ctx, "p", 1, generated(2))
			b.table.Plan(nil)
			whole := err == nil
			p, err := b.open().Pool(ctx, "p")
			if err != nil {
				t.Fatal(err)
			}
			if want := generated(int(p.Version)); p.Config != want || p.Version > 2 {
				t.Errorf("%s at write %d: version %d has another configuration: %s", fault, n, p.Version, cmp.Diff(want, p.Config))
			}
			if p, err = b.open().ChangePool(ctx, "p", 1, generated(2)); err != nil || p.Config != generated(2) || p.Version != 2 {
				t.Errorf("%s at write %d: the repeat got version %d, %v", fault, n, p.Version, err)
			}
			if whole {
				if n != 2 {
					t.Errorf("a change of the settings has %d writes, want 2", n)
				}
				break
			}
		}
	}
}

func TestAHeadThatNamesSettingsThatAreNotThereIsDamage(t *testing.T) {
	b := newBench(t)
	if _, _, err := b.open().CreatePool(t.Context(), "p", generated(1)); err != nil {
		t.Fatal(err)
	}
	key := dynamo.Key{PK: "P#p", SK: "G#" + b.head().Str(dynamo.AttrSettings)}
	if _, err := b.mem.Delete(t.Context(), key, dynamo.Exists("pk")); err != nil {
		t.Fatal(err)
	}
	_, err := b.open().Pool(t.Context(), "p")
	refused(t, err, alloc.CodePoolDamaged)
	if !strings.Contains(errors.Unwrap(err).Error(), key.SK) {
		t.Errorf("the cause is %v, want one that names %s", errors.Unwrap(err), key.SK)
	}
}

// A claim pays for leases of chunks, each a write of the head: it must stay within one write unit.
func TestTheLongestConfigurationCostsAClaimNothing(t *testing.T) {
	usage := func(config alloc.PoolConfig) dynamotest.Usage {
		b := newBench(t)
		pool := alloc.PoolName(longest(alloc.MaxNameBytes, 1))
		s := b.open()
		config.RequireKey = false
		if _, _, err := s.CreatePool(t.Context(), pool, config); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "job", IDs: someIDs(3000)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Sweep(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		head := b.mem.Item(dynamo.Key{PK: "P#" + string(pool), SK: "H"})
		head[dynamo.AttrVoiding] = string(alloc.NewToken()) // as it may be at any time
		head[dynamo.AttrWanted], head[dynamo.AttrRetiredBy] = int64(1)<<62, "12345678"
		for _, attr := range []string{dynamo.AttrLow, dynamo.AttrNext, dynamo.AttrTail, dynamo.AttrPublished, dynamo.AttrSeeded, dynamo.AttrHeld, dynamo.AttrGone} {
			head[attr] = int64(999_999_999_999)
		}
		if size := dynamotest.Size(head); size > writeUnit {
			t.Errorf("the head has %d bytes, want at most %d", size, writeUnit)
		}
		claimer := b.open()
		b.mem.ResetUsage()
		for range 1000 {
			if _, err := claimer.Claim(t.Context(), alloc.ClaimOrder{Pool: pool, Count: 1, By: "client"}); err != nil {
				t.Fatal(err)
			}
		}
		return b.mem.Usage()
	}
	plain := longestConfig(1)
	plain.Generator, plain.Marks = generator.Config{}, alloc.Marks{}
	with, without := usage(longestConfig(1)), usage(plain)
	t.Logf("%+v", with)
	if with != without {
		t.Errorf("a thousand claims: got %+v with a generator, %+v without, want no difference", with, without)
	}
	if with.WriteUnits > 1060 {
		t.Errorf("a thousand claims: got %d write units, want at most 1060", with.WriteUnits)
	}
}
