//go:build !goonly

package dynamotest

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"idpool/infra/dynamo"
)

// shared is the engine of this process. It runs while a test uses it, and starts in milliseconds.
var shared struct {
	sync.Mutex
	users  int
	server *Server
}

// Engine returns the URL of a DynamoDB-compatible server for as long as the test runs: the one that
// IDPOOL_DYNAMODB_ENDPOINT names, else a dynoxide in memory that the tests of this process share.
func Engine(t testing.TB) string {
	t.Helper()
	if url := os.Getenv("IDPOOL_DYNAMODB_ENDPOINT"); url != "" {
		return url
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		s, err := startServer("")
		if err != nil {
			t.Fatal(err)
		}
		shared.server = s
	}
	shared.users++
	t.Cleanup(func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.users--; shared.users == 0 {
			shared.server.Kill()
			shared.server = nil
		}
	})
	return shared.server.URL
}

// StartServer starts a dynoxide of the test's own, in memory or, with a path, on that file. It ends with the test.
func StartServer(t testing.TB, path string) *Server {
	t.Helper()
	s, err := startServer(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// PatientLimits are for tests on busy machines: they fail because something is wrong, never because something is slow.
func PatientLimits() dynamo.Limits {
	return dynamo.Limits{FirstAttempt: 20 * time.Second, Attempt: 20 * time.Second, Operation: time.Minute, Reserve: time.Millisecond}
}

// NewClient returns a client of the server at the URL, with patient limits where the configuration has none.
func NewClient(t testing.TB, url string, c dynamo.ClientConfig) *dynamodb.Client {
	t.Helper()
	c.Endpoint = url
	if c.Limits == (dynamo.Limits{}) {
		c.Limits = PatientLimits()
	}
	client, err := dynamo.NewClient(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// NewTable makes a fresh table on the Engine, which is dropped when the test ends.
func NewTable(t testing.TB) (dynamo.Table, *dynamodb.Client, string) {
	t.Helper()
	client := NewClient(t, Engine(t), dynamo.ClientConfig{})
	name := NewTableFor(t, client)
	return dynamo.NewSDKTable(client, name), client, name
}

// NewTableFor makes a fresh table with the client and returns its name. The table is dropped when the test ends.
func NewTableFor(t testing.TB, client *dynamodb.Client) string {
	t.Helper()
	name := "idpool-test-" + strings.ToLower(rand.Text())
	if err := dynamo.CreateTable(t.Context(), client, name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dropTable(t, client, name) })
	return name
}

func dropTable(t testing.TB, client *dynamodb.Client, name string) {
	ctx := context.WithoutCancel(t.Context()) // which has ended by now
	_, err := client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: aws.String(name), DeletionProtectionEnabled: aws.Bool(false)})
	if err != nil {
		t.Errorf("lift the deletion protection of table %s: %v", name, err)
		return
	}
	if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(name)}); err != nil {
		t.Errorf("drop table %s: %v", name, err)
	}
}
