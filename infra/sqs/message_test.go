package sqs_test

import (
	"testing"

	"idpool/alloc"
	"idpool/infra/sqs"
)

func TestMessage(t *testing.T) {
	step := alloc.Step{Job: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Version: 12}
	body, err := sqs.Encode(step)
	if want := `{"job":"ABCDEFGHIJKLMNOPQRSTUVWXYZ","version":12}`; err != nil || body != want {
		t.Fatalf("%s, %v; want %s", body, err, want)
	}
	if got, err := sqs.Decode(body); err != nil || got != step {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, body := range []string{`{"job":"A","version":1}`, `{}`, ``, `[]`, `{"job":"A"}`, `{"job":"","version":1}`, `{"job":"A","version":-1}`, `{"job":1,"version":1}`, `{"job":"A","version":1e99}`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s, err := sqs.Decode(body)
		if (err == nil) != (s.Job != "" && s.Version > 0) {
			t.Errorf("%q: %+v, %v", body, s, err)
		}
	})
}
