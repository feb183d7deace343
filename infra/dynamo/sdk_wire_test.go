package dynamo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"idpool/infra/dynamo"
)

// wire is a server in place of the network: it sees every attempt that the client sends and answers it.
type wire struct {
	answer func(n int, r request) (*http.Response, error) // n counts the attempts from 1

	mu   sync.Mutex
	seen []request
}

// request is one attempt.
type request struct {
	Op   string // "PutItem" …
	Host string
	Body string
	At   time.Time
	ctx  context.Context
}

// Do implements dynamodb.HTTPClient.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	req := request{Op: op, Host: r.URL.Host, Body: string(body), At: time.Now(), ctx: r.Context()}
	w.mu.Lock()
	w.seen = append(w.seen, req)
	n := len(w.seen)
	w.mu.Unlock()
	return w.answer(n, req)
}

func (w *wire) requests() []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]request(nil), w.seen...)
}

// silence never answers.
func silence(_ int, r request) (*http.Response, error) {
	<-r.ctx.Done()
	return nil, r.ctx.Err()
}

func reply(status int, body string) (*http.Response, error) {
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}}
	header.Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(body))))
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader([]byte(body)))}, nil
}

// fault is an error as DynamoDB writes it; more is further members.
func fault(status int, kind, message string, more map[string]any) (*http.Response, error) {
	body := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + kind}
	if message != "" {
		body["message"] = message
	}
	maps.Copy(body, more)
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return reply(status, string(b))
}

// always answers every attempt alike.
func always(answer func() (*http.Response, error)) func(int, request) (*http.Response, error) {
	return func(int, request) (*http.Response, error) { return answer() }
}

// wired returns a table whose client talks to the wire.
func wired(t testing.TB, w *wire) *dynamo.SDKTable {
	t.Helper()
	client, err := dynamo.NewClient(t.Context(), dynamo.ClientConfig{Region: "eu-west-1", Endpoint: "http://dynamodb.test", HTTPClient: w})
	if err != nil {
		t.Fatal(err)
	}
	return dynamo.NewSDKTable(client, "ids")
}

// each calls every method of a table; a write's are those that may have been applied.
var methods = []struct {
	name  string
	write bool
	call  func(ctx context.Context, table dynamo.Table) error
}{
	{"Get", false, func(ctx context.Context, table dynamo.Table) error {
		_, err := table.Get(ctx, aKey)
		return err
	}},
	{"GetMany", false, func(ctx context.Context, table dynamo.Table) error {
		_, err := table.GetMany(ctx, []dynamo.Key{aKey})
		return err
	}},
	{"Query", false, func(ctx context.Context, table dynamo.Table) error {
		_, err := table.Query(ctx, dynamo.Query{PK: "p"})
		return err
	}},
	{"Put", true, func(ctx context.Context, table dynamo.Table) error {
		return table.Put(ctx, dynamo.Item{"pk": "p", "sk": "s"}, dynamo.Absent("pk"))
	}},
	{"Update", true, func(ctx context.Context, table dynamo.Table) error {
		_, err := table.Update(ctx, aKey, dynamo.Update{Set: map[string]any{"a": "b"}}, dynamo.Exists("pk"))
		return err
	}},
	{"Delete", true, func(ctx context.Context, table dynamo.Table) error {
		_, err := table.Delete(ctx, aKey, dynamo.Exists("pk"))
		return err
	}},
}

var aKey = dynamo.Key{PK: "p", SK: "s"}
