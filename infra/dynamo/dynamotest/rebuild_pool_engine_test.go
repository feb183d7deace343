//go:build !goonly

package dynamotest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// What the rebuild of a large pool may need: see the test.
const (
	largePool   = 200_000
	livePool    = 1000     // IDs of it that are seeded, as the others are laid by hand
	otherPool   = 20_000   // IDs of another pool in the table, beside one that is in use
	mostHeap    = 64 << 20 // that the heap grows by
	mostUnits   = 0.25     // write units for each ID
	killedAfter = 20       // steps that are done before the rebuild is killed and resumed
)

// TestARebuildOfALargePool rebuilds 200,000 IDs on the engine, with another pool in the table, and one that is seeded and claimed from all
// the time: the rebuild is killed in the middle of a step and resumed by another process, needs a bounded memory, tells how far it is, and lists
// each ID once. Claims from what a process has in memory of it go on, and nothing is handed out twice.
func TestARebuildOfALargePool(t *testing.T) {
	table, client, name := NewTable(t)
	layLargePool(t, table, client, name)
	traffic := beginTraffic(t, table)
	var units atomic.Int64
	var steps atomic.Int64
	counted := Through(func(ctx context.Context, c Call) Answer {
		if c.Write() {
			size := Size(c.Item)
			units.Add(int64((size + writeUnit - 1) / writeUnit))
			if c.Op != OpPut {
				units.Add(1)
			}
		}
		return c.Do(ctx, table)
	})
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak := watchHeap(t)
	began := time.Now()
	o := alloc.PoolRebuildOrder{Pool: pool, Job: "job"}
	var met, last alloc.Count
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	for {
		s, err := dynamo.New(dynamo.Config{Table: counted})
		if err != nil {
			t.Fatal(err)
		}
		if steps.Add(1) == killedAfter {
			time.AfterFunc(10*time.Millisecond, kill)
		}
		r, err := s.RebuildPool(ctx, o)
		if err != nil {
			if ctx.Err() == nil || t.Context().Err() != nil {
				t.Fatal(err)
			}
			ctx = t.Context() // another process comes and goes on
			continue
		}
		met += r.Met
		traffic.claimWarm()
		if r.Total < met {
			t.Errorf("%d IDs were met of %d in all", met, r.Total)
		}
		last = r.Total
		if o.Step = r.Next; r.Next == "" {
			break
		}
	}
	took := time.Since(began)
	traffic.end()
	grown := int64(peak()) - int64(before.HeapAlloc)
	perID := float64(units.Load()) / largePool
	t.Logf("%d IDs in %d steps: %.1f s, %.3f write units for each, the heap grew by %d MB at most; %d claims and %d seedings beside it, %d of its own IDs",
		met, steps.Load(), took.Seconds(), perID, grown>>20, traffic.claims.Load(), traffic.seedings.Load(), len(traffic.given))
	if met != largePool+livePool || last < met {
		t.Errorf("met %d IDs, of %d; want %d", met, last, largePool+livePool)
	}
	if grown > mostHeap {
		t.Errorf("the heap grew by %d bytes, want at most %d", grown, mostHeap)
	}
	if perID > mostUnits {
		t.Errorf("%.3f write units for each ID, want at most %.2f", perID, mostUnits)
	}
	listsEachOnce(t, table, len(traffic.given))
	traffic.claimCold()
}

// layLargePool writes a pool as seeding makes it, but for its chunks, which are lost.
func layLargePool(t *testing.T, table dynamo.Table, client *dynamodb.Client, name string) {
	t.Helper()
	s, err := dynamo.New(dynamo.Config{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.CreatePool(t.Context(), pool, alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	batch := dynamo.Item{"pk": "J#job", "sk": "B#" + string(pool) + "#abcdef", "s": "d"}
	if err := table.Put(t.Context(), batch, dynamo.Cond{}); err != nil {
		t.Fatal(err)
	}
	u := dynamo.Update{Set: map[string]any{dynamo.AttrSeeded: int64(largePool)}, Quiet: true}
	if _, err := table.Update(t.Context(), headKey, u, dynamo.Exists("pk")); err != nil {
		t.Fatal(err)
	}
	layAll(t, client, name, pool, largePool)
	layAll(t, client, name, "other", otherPool)
}

func layAll(t *testing.T, client *dynamodb.Client, name string, of alloc.PoolName, n int) {
	for from := 0; from < n; from += 25 * 400 {
		var writing sync.WaitGroup
		for first := from; first < from+25*400; first += 25 * 100 {
			writing.Go(func() { layIDs(t, client, name, of, first, first+25*100) })
		}
		writing.Wait()
	}
}

// layIDs writes IDs, one in four of them claimed, 25 at once.
func layIDs(t *testing.T, client *dynamodb.Client, name string, of alloc.PoolName, from, to int) {
	str := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for ; from < to; from += 25 {
		var puts []types.WriteRequest
		for n := from; n < from+25; n++ {
			k := dynamo.Key{PK: fmt.Sprintf("I#%s#ticket-%08d", of, n), SK: "I"}
			it := map[string]types.AttributeValue{
				"pk": str(k.PK), "sk": str(k.SK), "s": str("f"), "g": &types.AttributeValueMemberN{Value: "0"}, "j": str("job"), "n": str("abcdef"),
			}
			if n%4 == 0 {
				it["s"], it["t"], it["a"] = str("c"), str("token"), &types.AttributeValueMemberN{Value: "1"}
			}
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
		}
		if _, err := client.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{name: puts}}); err != nil {
			t.Error(err)
			return
		}
	}
}

// watchHeap samples the heap until the function that it returns is called, which gives the most.
func watchHeap(t *testing.T) (peak func() uint64) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		var m runtime.MemStats
		for {
			select {
			case <-stop:
				done <- most
				return
			case <-time.After(20 * time.Millisecond):
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-done
	}
}

// listsEachOnce reads the chunks of the new series. Of the IDs that were free so many at most were claimed meanwhile, some of them before they were
// listed.
func listsEachOnce(t *testing.T, table dynamo.Table, most int) {
	t.Helper()
	head, err := table.Get(t.Context(), headKey)
	if err != nil {
		t.Fatal(err)
	}
	var keys []dynamo.Key
	series := head.Int(dynamo.AttrSeries)
	for n := -head.Int(dynamo.AttrBase); n < head.Int(dynamo.AttrTail); n++ {
		keys = append(keys, dynamo.Key{PK: fmt.Sprintf("P#%s#%d#%d", pool, series, n), SK: "C"})
	}
	listed := map[alloc.ID]bool{}
	for some := range slices.Chunk(keys, 100) {
		items, err := table.GetMany(t.Context(), some)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			for _, l := range listingsOf(it) {
				if listed[l.id] {
					t.Fatalf("%s is listed twice", l.id)
				}
				listed[l.id] = true
			}
		}
	}
	free, published := int64(largePool*3/4+livePool), head.Int(dynamo.AttrPublished)
	if len(listed) != largePool+livePool || published > free || published < free-int64(most) || head.Int(dynamo.AttrSeeded) != largePool+livePool {
		t.Errorf("%d IDs are listed, and the head says %v", len(listed), head)
	}
}
