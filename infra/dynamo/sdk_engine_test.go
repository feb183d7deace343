//go:build !goonly

package dynamo_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// TestTheEngineAndMemoryAnswerAlike makes the same random calls of both: what the model check proves on Memory then
// holds of a real server.
func TestTheEngineAndMemoryAnswerAlike(t *testing.T) {
	engine, _, _ := dynamotest.NewTable(t)
	memory := dynamotest.NewMemory()
	var runs atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		g := callGen{T: rt, pk: fmt.Sprintf("run-%d", runs.Add(1))}
		for range rapid.IntRange(1, 40).Draw(rt, "calls") {
			c := g.call()
			want, got := outcome(c.Do(t.Context(), memory)), outcome(c.Do(t.Context(), engine))
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				rt.Fatalf("%s\n-memory +engine:\n%s", c, diff)
			}
		}
	})
}

// outcome is what is comparable of an answer.
func outcome(a dynamotest.Answer) map[string]any {
	out := map[string]any{"item": a.Item, "items": a.Items, "page": a.Page}
	if failed, ok := errors.AsType[*dynamo.ConditionFailed](a.Err); ok {
		out["failed"] = failed.Old
	} else {
		out["code"] = alloc.CodeOf(a.Err)
	}
	return out
}

// callGen draws calls of one partition with few keys and attributes, so that they meet.
type callGen struct {
	*rapid.T
	pk string
}

func (g callGen) call() dynamotest.Call {
	switch op := rapid.SampledFrom([]dynamotest.Op{
		dynamotest.OpGet, dynamotest.OpGetMany, dynamotest.OpPut, dynamotest.OpPut, dynamotest.OpUpdate, dynamotest.OpUpdate,
		dynamotest.OpDelete, dynamotest.OpQuery,
	}).Draw(g.T, "op"); op {
	case dynamotest.OpGetMany:
		keys := rapid.SliceOfNDistinct(rapid.Custom(func(*rapid.T) dynamo.Key { return g.key() }), 1, 3, rapid.ID).Draw(g.T, "keys")
		return dynamotest.Call{Op: op, Keys: keys}
	case dynamotest.OpPut:
		k := g.key()
		it := dynamo.Item{"pk": k.PK, "sk": k.SK}
		for range rapid.IntRange(0, 4).Draw(g.T, "attributes") {
			it[g.attr()] = g.value()
		}
		return dynamotest.Call{Op: op, Keys: []dynamo.Key{k}, Item: it, Cond: g.cond(2)}
	case dynamotest.OpUpdate:
		// As all Updates of the Store, it implies that the item exists.
		c := dynamo.All(dynamo.Exists("pk"), g.cond(2))
		return dynamotest.Call{Op: op, Keys: []dynamo.Key{g.key()}, Update: g.update(), Cond: c}
	case dynamotest.OpQuery:
		q := dynamo.Query{PK: g.pk, Descending: rapid.Bool().Draw(g.T, "descending"), Limit: rapid.IntRange(0, 3).Draw(g.T, "limit")}
		if rapid.Bool().Draw(g.T, "bounded below") {
			q.From = g.key().SK
		}
		if rapid.Bool().Draw(g.T, "bounded above") {
			q.To = g.key().SK
		}
		if q.From > q.To && q.To != "" {
			q.From, q.To = q.To, q.From
		}
		return dynamotest.Call{Op: op, Query: q}
	case dynamotest.OpDelete:
		return dynamotest.Call{Op: op, Keys: []dynamo.Key{g.key()}, Cond: g.cond(2)}
	default:
		return dynamotest.Call{Op: op, Keys: []dynamo.Key{g.key()}}
	}
}

func (g callGen) key() dynamo.Key {
	return dynamo.Key{PK: g.pk, SK: rapid.SampledFrom([]string{"a", "b", "B", "aa", "é", "00000000000000000010", "~"}).Draw(g.T, "sk")}
}

// attr draws names of which most are reserved words of DynamoDB.
func (g callGen) attr() string {
	return rapid.SampledFrom([]string{"t", "state", "last", "end", "g"}).Draw(g.T, "attribute")
}

func (g callGen) value() any {
	return rapid.OneOf(
		rapid.Map(rapid.SampledFrom([]string{"", "x", "y", "é", "10", "9"}), func(s string) any { return s }),
		rapid.Map(rapid.SampledFrom([]int64{-1, 0, 1, 9, 10, 1<<53 + 1, 1<<63 - 100}), func(n int64) any { return n }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y"}), 0, 2), func(l []string) any { return l }),
		rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"x", "y"}), rapid.Just("v"), 0, 2), func(m map[string]string) any { return m }),
	).Draw(g.T, "value")
}

func (g callGen) cond(depth int) dynamo.Cond {
	ops := []dynamo.Op{dynamo.OpTrue, dynamo.OpAbsent, dynamo.OpExists, dynamo.OpEq, dynamo.OpNe, dynamo.OpLt, dynamo.OpLe, dynamo.OpGt, dynamo.OpGe}
	if depth > 0 {
		ops = append(ops, dynamo.OpAll, dynamo.OpAny)
	}
	c := dynamo.Cond{Op: rapid.SampledFrom(ops).Draw(g.T, "operator")}
	switch c.Op {
	case dynamo.OpTrue:
		return c
	case dynamo.OpAll, dynamo.OpAny:
		for range rapid.IntRange(1, 3).Draw(g.T, "parts") {
			c.Of = append(c.Of, g.cond(depth-1))
		}
		return c
	}
	c.Attr = rapid.SampledFrom([]string{"pk", "t", "state", "last", "end", "g"}).Draw(g.T, "of")
	switch c.Op {
	case dynamo.OpAbsent, dynamo.OpExists:
	case dynamo.OpEq, dynamo.OpNe:
		c.Value = g.value()
	default: // only strings and numbers have an order
		c.Value = rapid.OneOf(rapid.Map(rapid.SampledFrom([]string{"x", "10", "9"}), func(s string) any { return s }),
			rapid.Map(rapid.SampledFrom([]int64{0, 9, 10, 1 << 53}), func(n int64) any { return n })).Draw(g.T, "bound")
	}
	return c
}

func (g callGen) update() dynamo.Update {
	u := dynamo.Update{Set: map[string]any{}, Add: map[string]int64{}}
	for _, attr := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"t", "state", "last", "end", "g"}), 1, 4, rapid.ID).Draw(g.T, "changed") {
		switch rapid.IntRange(0, 2).Draw(g.T, "how") {
		case 0:
			u.Set[attr] = g.value()
		case 1:
			u.Add[attr] = rapid.Int64Range(-2, 2).Draw(g.T, "by")
		default:
			u.Remove = append(u.Remove, attr)
		}
	}
	return u
}

// lossy is the network to the engine: it may lose the answer of a request that the engine has carried out, or change
// it.
type lossy struct {
	next http.RoundTripper
	lose func(op string) bool
	edit func(op string, body []byte) []byte
}

// RoundTrip implements http.RoundTripper.
func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	resp, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if cerr := resp.Body.Close(); err != nil || cerr != nil {
		return nil, errors.Join(err, cerr)
	}
	if l.lose != nil && l.lose(op) {
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	if l.edit != nil {
		body = l.edit(op, body)
		resp.Header.Del("X-Amz-Crc32")
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// lossyTable is a fresh table of the engine behind the network.
func lossyTable(t *testing.T, l *lossy) dynamo.Table {
	t.Helper()
	_, _, name := dynamotest.NewTable(t)
	l.next = http.DefaultTransport
	client := dynamotest.NewClient(t, dynamotest.Engine(t), dynamo.ClientConfig{HTTPClient: &http.Client{Transport: l}})
	return dynamo.NewSDKTable(client, name)
}

func TestA26AWriteRepeatedAfterAResetIsAFailedConditionWithOurOwnToken(t *testing.T) {
	var lost atomic.Bool
	table := lossyTable(t, &lossy{lose: func(op string) bool { return op == "PutItem" && lost.CompareAndSwap(false, true) }})
	mine := dynamo.Item{"pk": "p", "sk": "s", "t": "mine"}
	err := table.Put(t.Context(), mine, dynamo.Absent("pk"))
	failed, ok := errors.AsType[*dynamo.ConditionFailed](err)
	if !ok || !lost.Load() {
		t.Fatalf("got %v, want a failed condition after a lost answer", err)
	}
	if diff := cmp.Diff(mine, failed.Old); diff != "" {
		t.Errorf("-ours +told:\n%s", diff)
	}
}

func TestA26ALeaseSurvivesTheLossOfEachOfItsAnswers(t *testing.T) {
	for n := range int64(plainCalls) {
		var count atomic.Int64
		count.Store(1 << 20) // none, until the sequence is there
		table := lossyTable(t, &lossy{lose: func(string) bool { return count.Add(-1) == 0 }})
		s := process(t, table)
		sequence(t, s, alloc.SequenceConfig{Limit: 6})
		lease(t, s, order(3))
		count.Store(n + 1)
		if r := lease(t, s, order(3)); r.Start != 4 || r.End != 6 {
			t.Errorf("answer %d lost: got %d–%d, want 4–6", n, r.Start, r.End)
		}
	}
}

func TestA27AnEngineThatNeverTellsTheItemIsReadFrom(t *testing.T) {
	var cut, reads atomic.Int64
	table := lossyTable(t, &lossy{edit: func(op string, body []byte) []byte {
		if op == "GetItem" {
			reads.Add(1)
		}
		var answer map[string]any
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Error(err)
			return body
		}
		if _, is := answer["__type"]; !is {
			return body
		}
		cut.Add(1)
		delete(answer, "Item")
		body, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		return body
	}})
	item := dynamo.Item{"pk": "p", "sk": "s", "t": "theirs"}
	if err := table.Put(t.Context(), item, dynamo.Absent("pk")); err != nil {
		t.Fatal(err)
	}
	err := table.Put(t.Context(), dynamo.Item{"pk": "p", "sk": "s", "t": "ours"}, dynamo.Absent("pk"))
	failed, ok := errors.AsType[*dynamo.ConditionFailed](err)
	if !ok || cut.Load() != 1 || reads.Load() != 1 {
		t.Fatalf("got %v after %d cut answers and %d reads, want a failed condition after one of each", err, cut.Load(), reads.Load())
	}
	if diff := cmp.Diff(item, failed.Old); diff != "" {
		t.Errorf("-there +told:\n%s", diff)
	}
}

func TestCreateTableIsMadeOnceByManyAtOnceAndChecksWhatIsThere(t *testing.T) {
	server := dynamotest.StartServer(t, "")
	client := dynamotest.NewClient(t, server.URL, dynamo.ClientConfig{})
	errs := make([]error, 8)
	together(len(errs), func(i int) { errs[i] = dynamo.CreateTable(t.Context(), client, "ids") })
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String("ids")})
	if err != nil || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != "exp" {
		t.Errorf("items expire on %+v (%v), want exp", ttl, err)
	}
	_, err = client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("other"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := dynamo.CreateTable(t.Context(), client, "other"); err == nil {
		t.Error("a table with other keys was taken")
	}
}

func TestAMissingTableIsNamedAsTheCause(t *testing.T) {
	client := dynamotest.NewClient(t, dynamotest.Engine(t), dynamo.ClientConfig{})
	table := dynamo.NewSDKTable(client, "missing")
	for _, m := range methods {
		err := m.call(t.Context(), table)
		e, ok := errors.AsType[*alloc.Error](err)
		if !ok || e.Code != alloc.CodeUnavailable || e.Unknown || !strings.Contains(e.Message, "table does not exist") {
			t.Errorf("%s: got %#v", m.name, err)
		}
	}
}
