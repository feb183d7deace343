package dynamo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// writeUnit is how large an item may be for one write unit.
const writeUnit = 1024

// longest is a string of the greatest length with a number in it.
func longest(limit, n int) string {
	s := fmt.Sprintf("%d-", n)
	return s + strings.Repeat("x", limit-len(s))
}

func TestNoItemOnThePathOfAClaimIsLargerThanOneWriteUnit(t *testing.T) {
	for _, policy := range []alloc.Policy{alloc.PolicyKeep, alloc.PolicyForget} {
		for _, pool := range []alloc.PoolName{"p", alloc.PoolName(longest(alloc.MaxNameBytes, 1))} {
			for _, length := range []int{8, 40, 41, 100, alloc.MaxIDBytes} {
				t.Run(fmt.Sprintf("%s, pool of %d bytes, IDs of %d bytes", policy, len(pool), length), func(t *testing.T) {
					b := newBench(t)
					s := b.open()
					config := alloc.PoolConfig{Policy: policy, MaxBatch: 1000, Description: longest(alloc.MaxDescription, 1)}
					if _, _, err := s.CreatePool(t.Context(), pool, config); err != nil {
						t.Fatal(err)
					}
					ids := make([]alloc.ID, 1200)
					for i := range ids {
						ids[i] = alloc.ID(longest(length, i))
					}
					batch := alloc.SeedBatch{Pool: pool, Job: alloc.JobID(alloc.NewToken()), IDs: ids}
					if _, err := s.Seed(t.Context(), batch); err != nil {
						t.Fatal(err)
					}
					claimLargest(t, s, pool)
					if _, err := s.Sweep(t.Context(), pool); err != nil {
						t.Fatal(err)
					}
					checkSizes(t, b.mem, length)
				})
			}
		}
	}
}

// largestOrder is a claim with as much about it as there may be.
func largestOrder(pool alloc.PoolName) alloc.ClaimOrder {
	meta := map[string]string{}
	for i := range alloc.MaxMetadataKeys {
		meta[fmt.Sprint(i)] = strings.Repeat("m", alloc.MaxMetadataBytes/alloc.MaxMetadataKeys-1)
	}
	return alloc.ClaimOrder{
		Pool: pool, Count: 3, Owner: longest(alloc.MaxOwnerBytes, 1), By: alloc.ClientID(longest(128, 1)), Metadata: meta,
	}
}

// claimLargest claims with and without a key, with as much about the claim as there may be.
func claimLargest(t *testing.T, s *dynamo.Store, pool alloc.PoolName) {
	t.Helper()
	o := largestOrder(pool)
	if err := alloc.CheckClaimOrder(o); err != nil {
		t.Fatal(err)
	}
	for _, key := range []*alloc.Key{nil, alloc.NewKey(o.By, "claim", "pool/"+string(pool), "k", "body")} {
		o.Key = key
		if _, err := s.Claim(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// claimLargestWithAKey claims so too, with a key that is new, and for a time where there is one.
func claimLargestWithAKey(t *testing.T, s *dynamo.Store, pool alloc.PoolName, n alloc.Count, hold time.Duration) alloc.Claim {
	t.Helper()
	o := largestOrder(pool)
	o.Count, o.Hold = n, hold
	o.Key = alloc.NewKey(o.By, "claim", "pool/"+string(pool), string(alloc.NewToken()), "body")
	c, err := s.Claim(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func checkSizes(t *testing.T, mem *dynamotest.Memory, idBytes int) {
	t.Helper()
	chunks, listings := 0, 0
	for _, it := range mem.Items() {
		if size := dynamotest.Size(it); size > writeUnit && it.Str("sk") != "K" {
			t.Errorf("the item %s %s has %d bytes, want at most %d", it.Str("pk"), it.Str("sk"), size, writeUnit)
		}
		if it.Str("sk") == "C" {
			chunks++
			listings += len(it.List(dynamo.AttrListings))
		}
	}
	if each := listings / chunks; idBytes <= 40 && each < 15 {
		t.Errorf("chunks of IDs of %d bytes: got %d listings each, want about 20", idBytes, each)
	}
}

func TestAnIDWithEverythingThereMayBeStaysBelowOneWriteUnit(t *testing.T) {
	// The longest job of our own making has 26 characters, the longest that is stored has 32. An ID that came back keeps
	// the token that it came back from.
	for _, policy := range []alloc.Policy{alloc.PolicyKeep, alloc.PolicyForget} {
		for _, hold := range []time.Duration{0, alloc.MaxHold} {
			b := newBench(t)
			pool := alloc.PoolName(longest(alloc.MaxNameBytes, 1))
			s := b.open()
			if _, _, err := s.CreatePool(t.Context(), pool, alloc.PoolConfig{Policy: policy}.WithDefaults()); err != nil {
				t.Fatal(err)
			}
			for i, job := range []alloc.JobID{alloc.JobID(alloc.NewToken()), alloc.JobID(strings.Repeat("j", 200))} {
				var ids []alloc.ID
				for j := range 3 {
					ids = append(ids, alloc.ID(longest(alloc.MaxIDBytes, 10*i+j)))
				}
				if _, err := s.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: job, IDs: ids}); err != nil {
					t.Fatal(err)
				}
			}
			for _, e := range []alloc.Event{alloc.EventRelease, alloc.EventRelease, alloc.EventConfirm, alloc.EventRetire} {
				c := claimLargestWithAKey(t, s, pool, 6, hold)
				checkSizes(t, b.mem, alloc.MaxIDBytes)
				if _, err := s.Settle(t.Context(), alloc.SettleOrder{Pool: pool, Event: e, IDs: c.IDs, Token: c.Token}); err != nil {
					t.Fatalf("%s: %v", e, err)
				}
				checkSizes(t, b.mem, alloc.MaxIDBytes)
				if e == alloc.EventConfirm { // the same IDs again
					if _, err := s.Settle(t.Context(), alloc.SettleOrder{Pool: pool, Event: alloc.EventRelease, IDs: c.IDs, Token: c.Token}); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := s.Sweep(t.Context(), pool); err != nil {
					t.Fatal(err)
				}
				checkSizes(t, b.mem, alloc.MaxIDBytes)
			}
		}
	}
}
