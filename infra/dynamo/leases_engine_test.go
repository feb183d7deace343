//go:build !goonly

package dynamo_test

import (
	"testing"

	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"idpool/alloc"

	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

func engineTables() map[string]func(testing.TB) dynamo.Table {
	return map[string]func(testing.TB) dynamo.Table{"engine": func(t testing.TB) dynamo.Table {
		table, _, _ := dynamotest.NewTable(t)
		return table
	}}
}

func TestALeaseCostsThreeWriteUnitsOneReadUnitAndFourRoundTripsWhateverItsSize(t *testing.T) {
	var meter dynamotest.Meter
	client := dynamotest.NewClient(t, dynamotest.Engine(t), dynamo.ClientConfig{APIOptions: []func(*middleware.Stack) error{meter.Install}})
	s := process(t, dynamo.NewSDKTable(client, dynamotest.NewTableFor(t, client)))
	sequence(t, s, alloc.SequenceConfig{})
	lease(t, s, order(1))
	for _, n := range []alloc.Count{1, 1_000_000} {
		meter.Take()
		lease(t, s, order(n))
		want := dynamotest.Metered{RoundTrips: 4, WriteUnits: 3, ReadUnits: 1}
		if diff := cmp.Diff(want, meter.Take()); diff != "" {
			t.Errorf("a lease of %d: -want +got:\n%s", n, diff)
		}
	}
}
