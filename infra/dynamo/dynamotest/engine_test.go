//go:build !goonly

package dynamotest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

func TestAnItemComesBackFromTheEngineAsItWasPut(t *testing.T) {
	table, _, _ := dynamotest.NewTable(t)
	want := dynamo.Item{
		"pk": "p", "sk": "s", "text": "é", "empty": "", "n": int64(9223372036854775807), "yes": true, "no": false,
		"list": []string{"b", "a"}, "none": []string{}, "map": map[string]string{"k": "v"}, "bare": map[string]string{},
	}
	if err := table.Put(t.Context(), want, dynamo.Absent("pk")); err != nil {
		t.Fatal(err)
	}
	got, err := table.Get(t.Context(), dynamo.Key{PK: "p", SK: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-put +got:\n%s", diff)
	}
}

func TestAnEngineOnAFileKeepsWhatItAcknowledged(t *testing.T) {
	path := t.TempDir() + "/data"
	first := dynamotest.StartServer(t, path)
	client := dynamotest.NewClient(t, first.URL, dynamo.ClientConfig{})
	if err := dynamo.CreateTable(t.Context(), client, "kept"); err != nil {
		t.Fatal(err)
	}
	item := dynamo.Item{"pk": "p", "sk": "s"}
	if err := dynamo.NewSDKTable(client, "kept").Put(t.Context(), item, dynamo.Absent("pk")); err != nil {
		t.Fatal(err)
	}
	first.Kill()
	second := dynamotest.StartServer(t, path)
	got, err := dynamo.NewSDKTable(dynamotest.NewClient(t, second.URL, dynamo.ClientConfig{}), "kept").Get(t.Context(), item.Key())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(item, got); diff != "" {
		t.Errorf("-put +got:\n%s", diff)
	}
}
