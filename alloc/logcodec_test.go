package alloc_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// testLine is a line of the tests' own log.
type testLine struct {
	Head     *alloc.LogHead
	Tail     *alloc.LogTail
	ID       *alloc.IDRecord
	Lease    *alloc.LeaseRecord
	Sequence alloc.SequenceName
}

// logCodec writes what is to be written as JSON, a line each.
var logCodec = alloc.LogCodec{
	EncodeHead: func(h alloc.LogHead) ([]byte, error) {
		return jsonLines([]alloc.LogHead{h}, func(h alloc.LogHead) any { return testLine{Head: &h} })
	},
	EncodeTail: func(l alloc.LogTail) ([]byte, error) {
		return jsonLines([]alloc.LogTail{l}, func(l alloc.LogTail) any { return testLine{Tail: &l} })
	},
	EncodeIDs: func(ids []alloc.IDRecord) ([]byte, error) {
		return jsonLines(ids, func(r alloc.IDRecord) any { return testLine{ID: &r} })
	},
	EncodeLeases: func(name alloc.SequenceName, leases []alloc.LeaseRecord) ([]byte, error) {
		return jsonLines(leases, func(r alloc.LeaseRecord) any { return testLine{Lease: &r, Sequence: name} })
	},
	EncodeFindings: func(found []alloc.Finding) ([]byte, error) {
		return jsonLines(found, func(f alloc.Finding) any { return f })
	},
	EncodeCarries: func(lines []alloc.CarryLine) ([]byte, error) {
		return jsonLines(lines, func(l alloc.CarryLine) any { return l })
	},
	Decode: func(line []byte) (alloc.LogLine, error) {
		var l testLine
		err := json.Unmarshal(line, &l)
		return alloc.LogLine(l), err
	},
}

func jsonLines[T any](all []T, line func(T) any) ([]byte, error) {
	var text bytes.Buffer
	for _, one := range all {
		data, err := json.Marshal(line(one))
		if err != nil {
			return nil, err
		}
		text.Write(append(data, '\n'))
	}
	return text.Bytes(), nil
}

// readLines reads what jsonLines has written.
func readLines[T any](t testing.TB, text []byte) []T {
	t.Helper()
	var all []T
	for line := range bytes.Lines(text) {
		var one T
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("the line %q: %v", line, err)
		}
		all = append(all, one)
	}
	return all
}

func TestACodecIsWholeOrNotThere(t *testing.T) {
	half := logCodec
	half.Decode = nil
	if _, err := alloc.NewService(alloc.Config{Store: alloctest.NewModel(nil), Log: half}); err == nil {
		t.Error("a codec that cannot read is taken")
	}
	if _, err := alloc.NewService(alloc.Config{Store: alloctest.NewModel(nil)}); err != nil {
		t.Errorf("a process without a codec: %v", err)
	}
}
