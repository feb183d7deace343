package api

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

func TestWhichFormatIsWanted(t *testing.T) {
	tests := map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/csv": true, "text/*": true, "text/csv, application/json": false,
		"text/csv, */*": false, "text/csv, */*;q=0.1": true, "text/csv;q=0.9, application/json": false, "text/csv, application/json;q=0.9": true,
		"text/csv;q=0": false, "text/*, text/csv;q=0": false, "text/html": false, "Text/CSV": true, ";;;, text/csv": true, "text/csv; header=present": true,
	}
	for accept, want := range tests {
		got := preference(accept, "text", "csv") > preference(accept, "application", "json")
		if got != want {
			t.Errorf("Accept %q: CSV %t, want %t", accept, got, want)
		}
	}
}

// What an encoder makes of some IDs and of others, one after the other, is what it makes of all.
func TestEncodersGoOn(t *testing.T) {
	var ids []alloc.IDRecord
	for i := range 10 {
		ids = append(ids, alloc.IDRecord{
			Pool: "p", ID: alloc.ID(fmt.Sprintf("=%d,\"", i)), State: alloc.StateHeld, Generation: 3, Job: "J", Token: "a-secret-token", By: "shop",
			Owner: "@o", Metadata: map[string]string{"b": "2", "a": "<&>"}, At: time.Unix(1, 5).In(time.FixedZone("", 3600)), HeldUntil: time.Unix(61, 0),
		})
	}
	ids = append(ids, alloc.IDRecord{Pool: "p", ID: "free", State: alloc.StateFree})
	first := map[string]string{
		formatCSV:  "\"'=0,\"\"\",held,3,J,shop,'@o,\"{\"\"a\"\":\"\"<&>\"\",\"\"b\"\":\"\"2\"\"}\",1970-01-01T00:00:01.000000005Z,1970-01-01T00:01:01Z",
		formatJSON: `{"pool":"p","id":"=0,\"","state":"held","generation":3,"job":"J","client":"shop","owner":"@o","metadata":{"a":"<&>","b":"2"},"claimed_at":"1970-01-01T00:00:01.000000005Z","held_until":"1970-01-01T00:01:01Z"}`,
	}
	for format, encode := range Encoders() {
		whole, err := encode(ids)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(strings.ReplaceAll(string(whole), "\r\n", "\n"), "\n"); got != first[format] {
			t.Errorf("%s:\n got %s\nwant %s", format, got, first[format])
		}
		if bytes.Contains(whole, []byte("secret")) {
			t.Errorf("%s tells the token: %s", format, whole)
		}
		for cut := range ids {
			a, errA := encode(ids[:cut])
			b, errB := encode(ids[cut:])
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if diff := cmp.Diff(string(whole), string(a)+string(b)); diff != "" {
				t.Errorf("%s cut at %d:\n%s", format, cut, diff)
			}
		}
	}
}
