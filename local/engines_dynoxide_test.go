//go:build !goonly

package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// engines are the stores that a test runs on.
func engines() map[string]func(testing.TB) engine {
	return map[string]func(testing.TB) engine{"sqlite": newSQLite, "dynamodb": newDynoxide}
}

// dynoxide keeps its data in a file, and can be killed like the program itself.
type dynoxide struct {
	dir    string
	server *dynamotest.Server
	table  string
	copies int
}

func newDynoxide(t testing.TB) engine {
	d := &dynoxide{dir: t.TempDir(), table: "idpool"}
	d.server = dynamotest.StartServer(t, d.file())
	return d
}

func (d *dynoxide) file() string { return filepath.Join(d.dir, "dynamodb.db") }

func (d *dynoxide) flags() []string {
	return []string{"-data", d.dir, "-dynamodb-endpoint", d.server.URL, "-table", d.table}
}

func (d *dynoxide) crash(t testing.TB) {
	d.server.Kill()
	d.server = dynamotest.StartServer(t, d.file())
}

func (d *dynoxide) client(t testing.TB) *dynamodb.Client {
	return dynamotest.NewClient(t, d.server.URL, dynamo.ClientConfig{})
}

// snapshot is another table of the same server: so are restored backups.
func (d *dynoxide) snapshot(t testing.TB) engine {
	t.Helper()
	d.copies++
	copied := &dynoxide{dir: t.TempDir(), server: d.server, table: fmt.Sprintf("%s-%d", d.table, d.copies)}
	client := d.client(t)
	if err := dynamo.CreateTable(t.Context(), client, copied.table); err != nil {
		t.Fatal(err)
	}
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: aws.String(d.table), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(copied.table), Item: item}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return copied
}

func (d *dynoxide) old() string { return d.table }

func (d *dynoxide) remove(t testing.TB, pk, sk string) {
	t.Helper()
	out, err := d.client(t).DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(d.table), ReturnValues: types.ReturnValueAllOld,
		Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}},
	})
	if err != nil || len(out.Attributes) == 0 {
		t.Fatalf("%s %s was not there to be deleted: %v", pk, sk, err)
	}
}

func (d *dynoxide) loseCounter(t testing.TB, sequence string) { d.remove(t, "S#"+sequence, "H") }

func (d *dynoxide) loseHead(t testing.TB, pool string) { d.remove(t, "P#"+pool, "H") }
