package api

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"idpool/alloc"
)

// What the contract shows of an export is what the encoders write, byte for byte: both examples are of the same ID.
func TestTheExamplesOfAnExportAreTrue(t *testing.T) {
	data, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]struct {
			Get struct {
				Responses map[string]struct {
					Content map[string]struct {
						Example  json.RawMessage
						Examples map[string]struct{ Value json.RawMessage }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for media, content := range doc.Paths[job+"/parts/{part}"].Get.Responses["200"].Content {
		var text string
		example := content.Example
		if example == nil {
			example = content.Examples["export"].Value
		}
		if err := json.Unmarshal(example, &text); err != nil {
			t.Fatalf("the example of %s: %v", media, err)
		}
		shown[media] = text
	}

	var a idAnswer
	d := json.NewDecoder(bytes.NewReader([]byte(shown[mediaLines])))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		t.Fatalf("%q: %v", shown[mediaLines], err)
	}
	ids := []alloc.IDRecord{{
		Pool: a.Pool, ID: a.ID, State: a.State, Generation: a.Generation, Job: a.Job,
		By: a.Client, Owner: a.Owner, Metadata: a.Metadata, At: a.Claimed, HeldUntil: a.Held,
	}}
	head, err := headOfCSV()
	if err != nil {
		t.Fatal(err)
	}
	for media, format := range map[string]string{"text/csv": formatCSV, mediaLines: formatJSON} {
		got, err := Encoders()[format](ids)
		if err != nil {
			t.Fatal(err)
		}
		if format == formatCSV {
			got = append(head, got...)
		}
		if want := shown[media]; string(got) != want {
			t.Errorf("%s: the contract shows %q, written is %q", media, want, got)
		}
	}
	// Nothing that can be written is left out of the example.
	if a.Pool == "" || a.ID == "" || a.State == "" || a.Job == "" || a.Client == "" || a.Owner == "" || len(a.Metadata) == 0 || a.Claimed.IsZero() || a.Held.IsZero() {
		t.Errorf("the example leaves something out: %+v", a)
	}
}
