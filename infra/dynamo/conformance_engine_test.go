//go:build !goonly

package dynamo_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"idpool/alloc/alloctest"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

func TestStoreKeepsTheContractOnTheEngine(t *testing.T) { alloctest.Run(t, onTheEngine) }

func TestStoreIsLinearizableOnTheEngine(t *testing.T) { alloctest.RunLinearizable(t, onTheEngine) }

func TestStoreTravelsInTimeOnTheEngine(t *testing.T) {
	alloctest.RunTimeTravels(t, alloctest.TimeTravels{Runs: 8}, onTheEngine)
}

func onTheEngine(t *testing.T) alloctest.Fixture { return onNewTable(t) }

func onNewTable(t testing.TB) alloctest.Fixture {
	table, client, name := dynamotest.NewTable(t)
	f := fixture(table, func(t testing.TB) []dynamo.Item { return scan(t, client, name) })
	f.Clone = func(t testing.TB) alloctest.Fixture {
		c, client, name := dynamotest.NewTable(t)
		for _, it := range wholeTable(t, table) {
			overwrite(t, c, it.Key(), it)
		}
		return fixture(c, func(t testing.TB) []dynamo.Item { return scan(t, client, name) })
	}
	return f
}

// scan reads the whole table, of each item the strings alone: enough for a census.
func scan(t testing.TB, client *dynamodb.Client, name string) []dynamo.Item {
	t.Helper()
	var items []dynamo.Item
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: aws.String(name), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, attrs := range page.Items {
			it := dynamo.Item{}
			for attr, v := range attrs {
				if s, ok := v.(*types.AttributeValueMemberS); ok {
					it[attr] = s.Value
				}
			}
			items = append(items, it)
		}
	}
	return items
}
