//go:build !goonly

package functions_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder stands between a function and the table's server, and keeps what the function calls. It can cut the function
// off from the table after a call, as a crash would.
type recorder struct {
	url  string
	next http.Handler

	mu    sync.Mutex
	calls map[access]bool
	last  *access // the call to cut off after; its key is a prefix
	off   bool
	hits  int // calls that the function was cut off from
}

// record starts a recorder before the server. It ends with the test.
func record(t *testing.T, server string) *recorder {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{calls: map[access]bool{}, next: &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if err := r.serve(w, req); err != nil {
			t.Errorf("a call of the table that is not understood: %v", err)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(proxy.Close)
	r.url = proxy.URL
	return r
}

func (r *recorder) serve(w http.ResponseWriter, req *http.Request) error {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	calls, err := accesses(req.Header.Get("X-Amz-Target"), body)
	if err != nil {
		return err
	}
	if !r.admit(calls) {
		w.WriteHeader(http.StatusBadRequest)
		_, err := io.WriteString(w, `{"__type": "com.amazon.coral.service#AccessDeniedException", "message": "cut off"}`)
		return err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	r.next.ServeHTTP(w, req)
	return nil
}

// admit keeps the calls and reports whether they are to be made.
func (r *recorder) admit(calls []access) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range calls {
		r.calls[c] = true
	}
	if r.off {
		r.hits++
		return false
	}
	if r.last != nil {
		r.off = slices.ContainsFunc(calls, func(c access) bool {
			return c.operation == r.last.operation && strings.HasPrefix(c.key, r.last.key)
		})
	}
	return true
}

// cutAfter cuts the function off from the table after its next call of that kind, while f runs. f has to come so far,
// and to go on.
func (r *recorder) cutAfter(t *testing.T, operation, prefix string, f func()) {
	t.Helper()
	r.mu.Lock()
	r.last, r.hits = &access{operation, prefix}, 0
	r.mu.Unlock()
	f()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.off || r.hits == 0 {
		t.Errorf("%s on %s… was not the last call of many: reached %t, %d calls after it", operation, prefix, r.off, r.hits)
	}
	r.last, r.off = nil, false
}

// recorded are the calls so far, in order.
func (r *recorder) recorded() []access {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []access
	for c := range r.calls {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b access) int { return strings.Compare(a.operation+" "+a.key, b.operation+" "+b.key) })
	return list
}

// theOldTable is the name of the table from before a restore.
const theOldTable = "idpool-old"

// tableKey is a key of the table as grants have it.
func tableKey(table, key string) string {
	if table == theOldTable {
		return ofOld + key
	}
	return key
}

// attribute is a string as DynamoDB writes it.
type attribute struct{ S *string }

// accesses are the calls of one request: one for each partition that it touches.
func accesses(target string, body []byte) ([]access, error) {
	_, operation, ok := strings.Cut(target, ".")
	if !ok {
		return nil, fmt.Errorf("its operation is %q", target)
	}
	var in struct {
		TableName                string
		Key, Item                map[string]json.RawMessage
		RequestItems             map[string]struct{ Keys []map[string]json.RawMessage }
		KeyConditionExpression   string
		ExpressionAttributeNames map[string]string

		ExpressionAttributeValues map[string]json.RawMessage
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	table := in.TableName
	var keys []json.RawMessage
	switch operation {
	case "Scan":
		if table == "" {
			return nil, errors.New("a scan of no table")
		}
		return []access{{operation, tableKey(table, everyKey)}}, nil
	case "GetItem", "UpdateItem", "DeleteItem":
		keys = append(keys, in.Key["pk"])
	case "PutItem":
		keys = append(keys, in.Item["pk"])
	case "BatchGetItem":
		for name, read := range in.RequestItems {
			table = name
			for _, key := range read.Keys {
				keys = append(keys, key["pk"])
			}
		}
	case "Query":
		first, _, _ := strings.Cut(in.KeyConditionExpression, " AND ")
		if name, value, _ := strings.Cut(first, " = "); in.ExpressionAttributeNames[name] == "pk" {
			keys = append(keys, in.ExpressionAttributeValues[value])
		}
	default:
		return nil, fmt.Errorf("%s is no operation that a function may call", operation)
	}
	var calls []access
	for _, raw := range keys {
		var key attribute
		if err := json.Unmarshal(raw, &key); err != nil || key.S == nil {
			return nil, fmt.Errorf("%s without a partition key: %s", operation, body)
		}
		calls = append(calls, access{operation, tableKey(table, *key.S)})
	}
	if len(calls) == 0 {
		return nil, fmt.Errorf("%s without a partition key: %s", operation, body)
	}
	return calls, nil
}

func TestRequestsAreUnderstoodOrRefused(t *testing.T) {
	tests := []struct {
		name, target, body string
		want               []access // nil for a refusal
	}{
		{"a read", "GetItem", `{"Key": {"sk": {"S": "H"}, "pk": {"S": "P#a"}}}`, []access{{"GetItem", "P#a"}}},
		{"a put", "PutItem", `{"Item": {"pk": {"S": "I#a#1"}, "g": {"N": "0"}}}`, []access{{"PutItem", "I#a#1"}}},
		{
			"a read of many", "BatchGetItem", `{"RequestItems": {"t": {"Keys": [{"pk": {"S": "a"}}, {"pk": {"S": "b"}}]}}}`,
			[]access{{"BatchGetItem", "a"}, {"BatchGetItem", "b"}},
		},
		{
			"a query", "Query", `{"KeyConditionExpression": "#0 = :0 AND #1 <= :1", "ExpressionAttributeNames": {"#0": "pk", "#1": "sk"},
			"ExpressionAttributeValues": {":0": {"S": "S#a#L"}, ":1": {"S": "x"}}}`, []access{{"Query", "S#a#L"}},
		},
		{
			"a query of another key", "Query", `{"KeyConditionExpression": "#0 = :0", "ExpressionAttributeNames": {"#0": "x"},
			"ExpressionAttributeValues": {":0": {"S": "y"}}}`, nil,
		},
		{"a write without a key", "UpdateItem", `{"Key": {}}`, nil},
		{"a scan", "Scan", `{"TableName": "t"}`, []access{{"Scan", everyKey}}},
		{"a scan of the old table", "Scan", `{"TableName": "idpool-old"}`, []access{{"Scan", "old:*"}}},
		{"a scan of no table", "Scan", `{}`, nil},
		{"a read of the old table", "GetItem", `{"TableName": "idpool-old", "Key": {"pk": {"S": "P#a"}}}`, []access{{"GetItem", "old:P#a"}}},
		{"a read of many of the old table", "BatchGetItem", `{"RequestItems": {"idpool-old": {"Keys": [{"pk": {"S": "a"}}]}}}`, []access{{"BatchGetItem", "old:a"}}},
		{"a transaction", "TransactWriteItems", `{"TransactItems": []}`, nil},
		{"a batch of writes", "BatchWriteItem", `{"RequestItems": {}}`, nil},
		{"no JSON", "GetItem", `x`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := accesses("DynamoDB_20120810."+tt.target, []byte(tt.body))
			if !slices.Equal(got, tt.want) || (err == nil) != (tt.want != nil) {
				t.Errorf("calls %v, error %v, want %v", got, err, tt.want)
			}
		})
	}
}
