package dynamo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
)

// TestOnlySingleItemOperationsAreUsed is case A28: a failed transaction tells what happened in CancellationReasons
// alone, and conflicts of transactions are not repeated by the SDK (A29). None of that needs code here, because there are
// no transactions: every step is a conditional write of one item, which costs half as much, and whoever comes after a
// crash finds by tokens how far it came. Nor is there BatchWriteItem, which has no conditions and would set a claimed ID
// back to free. Scan, whose price grows with the table, is for what an administrator asks for: a rebuild of a pool and an
// audit; no claim, lease, seeding or sweep makes one. Whoever adds an operation adds it to this list, with the faults
// that it brings.
func TestOnlySingleItemOperationsAreUsed(t *testing.T) {
	want := []string{
		"BatchGetItem", "CreateTable", "DeleteItem", "DescribeTable", "DescribeTimeToLive", "GetItem", "PutItem", "Query", "Scan",
		"UpdateContinuousBackups", "UpdateItem", "UpdateTimeToLive",
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, operationsIn(t, string(text))...)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("operations of DynamoDB that the package uses (-want +got):\n%s", diff)
	}
}

// operationsIn are the names in a source that are operations of the SDK's client, or the input of one.
func operationsIn(t *testing.T, source string) []string {
	t.Helper()
	operations := map[string]bool{}
	for m := range reflect.TypeFor[*dynamodb.Client]().Methods() {
		operations[m.Name] = m.Name != "Options"
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if name := strings.TrimSuffix(sel.Sel.Name, "Input"); operations[name] {
				found = append(found, name)
			}
		}
		return true
	})
	return found
}

func TestOperationsAreFoundInASource(t *testing.T) {
	const source = `package p
func f() {
	c.TransactWriteItems(ctx, nil)
	g(c.BatchWriteItem)
	_ = dynamodb.TransactGetItemsInput{}
	_ = types.TransactionConflictException{}
	c.Options()
}`
	want := []string{"TransactWriteItems", "BatchWriteItem", "TransactGetItems"}
	if diff := cmp.Diff(want, operationsIn(t, source)); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}
