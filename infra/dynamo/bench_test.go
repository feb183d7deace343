//go:build !goonly

package dynamo_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// BenchmarkDynamo measures what things cost, beside raw calls of the same engine through the same client, and prints one
// table. Every ratio is of pairs that were measured one right after the other; units and round trips are counted by
// middleware of the client. It says nothing of DynamoDB's own speed, and no figure decides a test.
func BenchmarkDynamo(b *testing.B) {
	w := newWorkbench(b)
	for b.Loop() {
		w.rows = nil
		w.seeding()
		w.claims()
		w.holds()
		w.sizes()
		w.shares()
		w.throughput()
		w.leases()
	}
	w.print()
}

// workbench is one engine with two clients of it: one that counts, and one that is only fast.
type workbench struct {
	*testing.B
	meter   dynamotest.Meter
	counted alloc.Store
	fast    alloc.Store
	table   dynamo.Table // the fast one
	raw     rawItems
	large   alloc.PoolName // the greatest pool
	names   atomic.Int64
	rows    [][3]string
}

func newWorkbench(b *testing.B) *workbench {
	b.Helper()
	w := &workbench{B: b}
	url := dynamotest.Engine(b)
	fast := dynamotest.NewClient(b, url, dynamo.ClientConfig{})
	counting := dynamotest.NewClient(b, url, dynamo.ClientConfig{APIOptions: []func(*middleware.Stack) error{w.meter.Install}})
	name := dynamotest.NewTableFor(b, fast)
	w.table = dynamo.NewSDKTable(fast, name)
	w.fast, w.counted = process(b, w.table), process(b, dynamo.NewSDKTable(counting, name))
	w.raw = rawItems{client: fast, table: name}
	return w
}

func (w *workbench) ctx() context.Context { return w.Context() }

// row adds a line to the table.
func (w *workbench) row(what, goal, format string, args ...any) {
	w.rows = append(w.rows, [3]string{what, fmt.Sprintf(format, args...), goal})
}

func (w *workbench) print() {
	var s strings.Builder
	s.WriteString("\n| what | measured | goal |\n| --- | --- | --- |\n")
	for _, r := range w.rows {
		fmt.Fprintf(&s, "| %s | %s | %s |\n", r[0], r[1], r[2])
	}
	if _, err := os.Stdout.WriteString(s.String() + "\n"); err != nil {
		w.Error(err)
	}
}

// used runs f, which makes n of something on the counting Store, and returns what one of them used. A write that its
// condition refused counts as a unit: DynamoDB charges it and does not say so.
func (w *workbench) used(n int, f func()) perOne {
	w.meter.Take()
	began := time.Now()
	f()
	took, m := time.Since(began), w.meter.Take()
	of := float64(n)
	return perOne{(m.WriteUnits + float64(m.Refused)) / of, m.ReadUnits / of, float64(m.RoundTrips) / of, took / time.Duration(n)}
}

// perOne is what one of many used on average.
type perOne struct {
	writes, reads, trips float64
	took                 time.Duration
}

func (p perOne) String() string {
	return fmt.Sprintf("%.2f write units, %.2f read units, %.2f round trips, %v",
		p.writes, p.reads, p.trips, p.took.Round(time.Microsecond))
}

// must ends the benchmark on an error.
func (w *workbench) must(err error) {
	if err != nil {
		w.Helper()
		w.Fatal(err)
	}
}

// workers runs f over and over in n goroutines for the time, and returns how often per second it was done.
func (w *workbench) workers(n int, d time.Duration, f func() error) float64 {
	w.Helper()
	var done atomic.Int64
	var failed sync.Once
	var wg sync.WaitGroup
	began := time.Now()
	for range n {
		wg.Go(func() {
			for time.Since(began) < d {
				if err := f(); err != nil {
					failed.Do(func() { w.Error(err) })
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	if w.Failed() {
		w.FailNow()
	}
	return float64(done.Load()) / time.Since(began).Seconds()
}

// paired measures two rates in turns, and returns the medians of both and of the ratios of the pairs: what the machine
// does beside it then hits both alike.
func paired(rounds int, one, other func() float64) (a, b, ratio float64) {
	var as, bs, ratios []float64
	for i := range rounds {
		var x, y float64
		if i%2 == 0 {
			x, y = one(), other()
		} else {
			y = other()
			x = one()
		}
		as, bs, ratios = append(as, x), append(bs, y), append(ratios, x/y)
	}
	return median(as), median(bs), median(ratios)
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
