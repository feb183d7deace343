package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// decodedLines reads lines as a restore does.
func decodedLines(t *testing.T, data []byte) (lines []alloc.LogLine) {
	t.Helper()
	for line := range bytes.Lines(data) {
		l, err := LogCodec().Decode(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// someText is one that the domain takes, and that JSON has to escape.
func someText(r *rand.Rand) string {
	runes := []rune(`aZ09 "\/<>&'` + "é\u2028\uFFFD🎫訂\u200D\u0301")
	var b strings.Builder
	b.WriteByte('x')
	for range r.IntN(12) {
		b.WriteRune(runes[r.IntN(len(runes))])
	}
	b.WriteByte('y')
	return b.String()
}

// someID is a text that is an ID.
func someID(r *rand.Rand) alloc.ID {
	for {
		if s := someText(r); alloc.CheckID(s) == nil {
			return alloc.ID(s)
		}
	}
}

func someTime(r *rand.Rand) time.Time {
	return time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).In(time.FixedZone("", r.IntN(86400)-43200))
}

// What is written of IDs and of leases is read as what it was, to the last character and the last digit.
func TestALogIsReadAsItWasWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	states := []alloc.State{alloc.StateFree, alloc.StateHeld, alloc.StateClaimed, alloc.StateReturning, alloc.StateRetired}
	var ids []alloc.IDRecord
	var leases []alloc.LeaseRecord
	var want []alloc.LogLine
	for range 2000 {
		id := alloc.IDRecord{Pool: "p", ID: someID(r), State: states[r.IntN(len(states))], Generation: alloc.Generation(r.Int64())}
		if r.IntN(2) == 0 {
			id.Job, id.Token, id.By, id.Owner, id.At = "J", alloc.NewToken(), "shop", someText(r), someTime(r)
		}
		if r.IntN(2) == 0 {
			id.Metadata, id.HeldUntil = map[string]string{someText(r): someText(r), "": ""}, someTime(r)
		}
		ids, want = append(ids, id), append(want, alloc.LogLine{ID: &id})
	}
	for range 2000 {
		start := alloc.Number(r.Int64())
		lease := alloc.LeaseRecord{
			Start: start, End: start + alloc.Number(r.Int64N(int64(alloc.MaxNumber-start)+1)), Epoch: alloc.Epoch(r.Int64()), Proven: r.IntN(2) == 0,
		}
		if r.IntN(2) == 0 {
			lease.Token, lease.By, lease.At = alloc.NewToken(), "shop", someTime(r)
		}
		leases, want = append(leases, lease), append(want, alloc.LogLine{Lease: &lease, Sequence: "s"})
	}
	for range 10 { // that cannot be read
		lease := alloc.LeaseRecord{Start: alloc.Number(r.Int64())}
		leases, want = append(leases, lease), append(want, alloc.LogLine{Lease: &lease, Sequence: "s"})
	}
	heads := []alloc.LogHead{{Format: 1, Pool: "p", Since: someTime(r), Begun: someTime(r), Job: "J"}, {Format: 1, Sequence: "s", Begun: someTime(r), Job: "J"}}
	tail := alloc.LogTail{Lines: 1 << 60, Unreadable: 10, Digest: "0aff"}
	want = slices.Concat([]alloc.LogLine{{Head: &heads[0]}, {Head: &heads[1]}, {Tail: &tail}}, want)
	codec := LogCodec()
	var log []byte
	for _, write := range []func() ([]byte, error){
		func() ([]byte, error) { return codec.EncodeHead(heads[0]) },
		func() ([]byte, error) { return codec.EncodeHead(heads[1]) },
		func() ([]byte, error) { return codec.EncodeTail(tail) },
		func() ([]byte, error) { return codec.EncodeIDs(ids) },
		func() ([]byte, error) { return codec.EncodeLeases("s", leases) },
	} {
		lines, err := write()
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, lines...)
	}
	sameTime := cmp.Comparer(time.Time.Equal)
	if diff := cmp.Diff(want, decodedLines(t, log), sameTime); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

// What is written of some and of others, one after the other, is what is written of all.
func TestALogGoesOn(t *testing.T) {
	codec := LogCodec()
	encode := map[string]func(from, to int) ([]byte, error){
		"IDs": func(from, to int) ([]byte, error) {
			return codec.EncodeIDs([]alloc.IDRecord{{Pool: "p", ID: "A", State: "held"}, {Pool: "p", ID: "B", State: "free"}, {Pool: "p", ID: "C"}}[from:to])
		},
		"leases": func(from, to int) ([]byte, error) {
			return codec.EncodeLeases("s", []alloc.LeaseRecord{{Start: 1, End: 5}, {Start: 6, End: 6}, {Start: 7, End: 9}}[from:to])
		},
		"findings": func(from, to int) ([]byte, error) {
			return codec.EncodeFindings([]alloc.Finding{{Kind: "head"}, {Kind: "chunk", On: "5"}, {Kind: "key", Detail: "d"}}[from:to])
		},
		"carries": func(from, to int) ([]byte, error) {
			return codec.EncodeCarries([]alloc.CarryLine{{Pool: "p", ID: "A"}, {Sequence: "s", End: 5}, {Detail: "d"}}[from:to])
		},
	}
	for what, encode := range encode {
		whole, err := encode(0, 3)
		if err != nil || bytes.Count(whole, []byte("\n")) != 3 || !bytes.HasSuffix(whole, []byte("\n")) {
			t.Errorf("%s: %q, %v; want three lines", what, whole, err)
		}
		for cut := range 4 {
			a, errA := encode(0, cut)
			b, errB := encode(cut, 3)
			if errA != nil || errB != nil || !bytes.Equal(append(a, b...), whole) {
				t.Errorf("%s cut at %d: %q and %q, want %q", what, cut, a, b, whole)
			}
		}
	}
}

// The lines, as people and programs of others see them.
func TestTheLinesOfALog(t *testing.T) {
	noon := time.Date(2026, 11, 29, 13, 0, 0, 5, time.FixedZone("", 3600))
	codec := LogCodec()
	tests := map[string]struct {
		got  func() ([]byte, error)
		want string
	}{
		"the first line": {func() ([]byte, error) {
			return codec.EncodeHead(alloc.LogHead{Format: 1, Pool: "p", Since: noon.Add(-time.Hour), Begun: noon, Job: "J"})
		}, `{"log":1,"pool":"p","since":"2026-11-29T11:00:00.000000005Z","begun":"2026-11-29T12:00:00.000000005Z","job":"J"}`},
		"the first line of all leases": {func() ([]byte, error) {
			return codec.EncodeHead(alloc.LogHead{Format: 1, Sequence: "s", Begun: noon, Job: "J"})
		}, `{"log":1,"sequence":"s","begun":"2026-11-29T12:00:00.000000005Z","job":"J"}`},
		"the last line": {func() ([]byte, error) {
			return codec.EncodeTail(alloc.LogTail{Lines: 5, Digest: "ab"})
		}, `{"whole":true,"lines":5,"digest":"ab"}`},
		"an ID with all of it": {func() ([]byte, error) {
			return codec.EncodeIDs([]alloc.IDRecord{{
				Pool: "p", ID: `<"é">`, State: "held", Generation: 1 << 60, Job: "J", Token: "T", By: "shop", Owner: "o",
				Metadata: map[string]string{"b": "2", "a": "1"}, At: noon, HeldUntil: noon.Add(time.Minute),
			}})
		}, `{"pool":"p","id":"<\"é\">","state":"held","generation":"1152921504606846976","job":"J","token":"T","by":"shop","owner":"o","metadata":{"a":"1","b":"2"},"at":"2026-11-29T12:00:00.000000005Z","held_until":"2026-11-29T12:01:00.000000005Z"}`},
		"an ID that nobody has": {func() ([]byte, error) {
			return codec.EncodeIDs([]alloc.IDRecord{{Pool: "p", ID: "A", State: "free"}})
		}, `{"pool":"p","id":"A","state":"free","generation":"0"}`},
		"a lease": {func() ([]byte, error) {
			return codec.EncodeLeases("s", []alloc.LeaseRecord{{Start: 0, End: alloc.MaxNumber, Token: "T", By: "shop", At: noon, Epoch: 2, Proven: true}})
		}, `{"sequence":"s","start":"0","end":"9223372036854775807","epoch":"2","token":"T","by":"shop","at":"2026-11-29T12:00:00.000000005Z","proven":true}`},
		"a lease that cannot be read": {func() ([]byte, error) {
			return codec.EncodeLeases("s", []alloc.LeaseRecord{{Start: 7}})
		}, `{"sequence":"s","start":"7","unreadable":true}`},
		"the last line of a log with one": {func() ([]byte, error) {
			return codec.EncodeTail(alloc.LogTail{Lines: 5, Unreadable: 1, Digest: "ab"})
		}, `{"whole":true,"lines":5,"digest":"ab","unreadable":1}`},
		"a finding": {func() ([]byte, error) {
			return codec.EncodeFindings([]alloc.Finding{{Kind: alloc.FindUnlisted, On: "<A>", Detail: "it is in no chunk", Remedy: alloc.RemedyRebuild}})
		}, `{"kind":"unlisted","on":"<A>","detail":"it is in no chunk","remedy":"rebuild"}`},
		"a finding without a remedy": {func() ([]byte, error) {
			return codec.EncodeFindings([]alloc.Finding{{Kind: alloc.FindKey, On: "k", Detail: "d"}})
		}, `{"kind":"key","on":"k","detail":"d"}`},
		"what became of an ID": {func() ([]byte, error) {
			return codec.EncodeCarries([]alloc.CarryLine{{Pool: "p", ID: "A", Outcome: alloc.CarryClash, Detail: "in two hands"}})
		}, `{"pool":"p","id":"A","outcome":"clash","detail":"in two hands"}`},
		"what became of a lease": {func() ([]byte, error) {
			return codec.EncodeCarries([]alloc.CarryLine{{Sequence: "s", Start: 0, End: 5, Detail: "it stays"}})
		}, `{"sequence":"s","start":"0","end":"5","detail":"it stays"}`},
		"what became of a lease that cannot be read": {func() ([]byte, error) {
			return codec.EncodeCarries([]alloc.CarryLine{{Sequence: "s", Start: 5, Outcome: alloc.CarryUnreadable, Detail: "d"}})
		}, `{"sequence":"s","start":"5","outcome":"unreadable","detail":"d"}`},
	}
	for name, tt := range tests {
		got, err := tt.got()
		if err != nil || string(got) != tt.want+"\n" {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, tt.want)
		}
	}
}

// A line that is not as it was written is refused, with what is wrong about it.
func TestALineOfALogThatIsRefused(t *testing.T) {
	const id = `"pool":"p","id":"A","state":"held","generation":"0"`
	const lease = `"sequence":"s","start":"1","end":"5","epoch":"1","proven":true`
	tests := map[string]string{
		`{` + id + `,"nope":1}`:                              `the field "nope" is not known`,
		`{` + id + `,"pool":"q"}`:                            `has the field "pool" twice`,
		`{` + id + `,"proven":true}`:                         "belongs to another kind of line",
		`{"log":1,"begun":"2026-11-29T12:00:00Z","job":"J"}`: "either the field pool or the field sequence",
		`{"log":1,"pool":"p","sequence":"s","begun":"2026-11-29T12:00:00Z","job":"J"}`: "either the field pool or the field sequence",
		`{"log":1,"pool":"p"}`:   "must have the fields log, begun, job",
		`{"log":"1","pool":"p"}`: "log must be a whole number",
		`{"log":1,"pool":"P","begun":"2026-11-29T12:00:00Z","job":"J"}`: `the name "P" is not allowed`,
		`{"whole":true}`:                                          "must have the fields whole, lines, digest",
		`{"whole":false,"lines":1,"digest":"a"}`:                  "whole must be true",
		`{"whole":true,"lines":1,"digest":"a","pool":"p"}`:        "belongs to another kind of line",
		`{` + lease + `,"unreadable":true}`:                       "belongs to another kind of line",
		`{"sequence":"s","start":"1","unreadable":false}`:         "unreadable must be true",
		`{"sequence":"s","unreadable":true}`:                      "must have the fields sequence, start, unreadable",
		`{"whole":true,"lines":1,"digest":"a","unreadable":true}`: "unreadable a number",
		`{` + lease + `,"owner":"o"}`:                             "belongs to another kind of line",
		`{` + id + `,` + lease + `}`:                              "belongs to another kind of line",
		`{"pool":"p","id":"A"}`:                                   "must have the fields pool, id, state, generation",
		`{"sequence":"s","start":"1"}`:                            "must have the fields sequence, start, end, epoch, proven",
		`{}`:                                                      "must have the fields pool, id",
		``:                                                        "not valid JSON",
		`null`:                                                    "must be a JSON object, not null",
		`[]`:                                                      "must be a JSON object, not a list",
		`{` + id:                                                  "ends too early",
		`{` + id + `} {}`:                                         "something after its JSON value",
		`{` + id + `,"owner":"\ud83d"}`:                           "not valid Unicode",
		`{` + id + `,"owner":"\ud83dx\udfab"}`:                    "not valid Unicode",
		`{` + id + `,"owner":"\udfab\ud83d"}`:                     "not valid Unicode",
		`{` + id + `,"metadata":{"\ud83d":"x"}}`:                  "not valid Unicode",
		`{` + id + ",\"owner\":\"\xff\"}":                         "not valid Unicode",
		`{` + id + `,"owner":5}`:                                  "owner must be a string, not a number",
		`{` + id + `,"metadata":[]}`:                              "metadata must be a JSON object",
		`{` + id + `,"metadata":{"a":1}}`:                         "metadata.a must be a string",
		`{` + id + `,"metadata":{"a":"1","a":"2"}}`:               `has the field "a" twice`,
		`{` + id + `,"at":"yesterday"}`:                           "at must be a time",
		`{` + id + `,"token":null}`:                               "token must be a string, not null",
		`{"pool":"P","id":"A","state":"held","generation":"0"}`:   `the name "P" is not allowed`,
		`{"pool":"p","id":" A","state":"held","generation":"0"}`:  "begins or ends with white space",
		`{"pool":"p","id":"A","state":"gone","generation":"0"}`:   `not "gone"`,
		`{"pool":"p","id":"A","state":"held","generation":0}`:     "generation must be a string of digits",
		`{"pool":"p","id":"A","state":"held","generation":"-1"}`:  "generation must be a whole number",
		`{"pool":"p","id":"A","state":"held","generation":"9223372036854775808"}`: "generation must be a whole number",
		`{"sequence":"S","start":"1","end":"5","epoch":"1","proven":true}`:        `the name "S" is not allowed`,
		`{"sequence":"s","start":"6","end":"5","epoch":"1","proven":true}`:        "end must not be below start",
		`{"sequence":"s","start":"01","end":"5","epoch":"1","proven":true}`:       "without sign or leading zeros",
		`{"sequence":"s","start":"1","end":"5","epoch":"1","proven":"true"}`:      "proven must be true or false",
	}
	for line, want := range tests {
		got, err := LogCodec().Decode([]byte(line))
		if e := alloc.CodeOf(err); e != alloc.CodeInvalidRequest && e != alloc.CodeInvalidName && e != alloc.CodeInvalidID {
			t.Errorf("%s: %+v, %v; want it refused", line, got, err)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	// What others write in another way is read all the same.
	for line, want := range map[string]string{
		` { "state" : "held", "generation":"0", "id":"A", "pool":"p", "owner":"\ud83c\udfab \\ud83d \ufffd" } `: `🎫 \ud83d ` + "\uFFFD",
		`{` + id + `,"metadata":{},"owner":"\u003c"}` + "\r":                                                    "<",
	} {
		if got, err := LogCodec().Decode([]byte(line)); err != nil || got.ID.Owner != want || got.ID.Metadata != nil {
			t.Errorf("%s: %+v, %v; want the owner %q", line, got.ID, err, want)
		}
	}
}

// writtenLine is the line as the codec writes it.
func writtenLine(t *testing.T, l alloc.LogLine) (line []byte) {
	t.Helper()
	codec := LogCodec()
	var err error
	switch {
	case l.Head != nil:
		line, err = codec.EncodeHead(*l.Head)
	case l.Tail != nil:
		line, err = codec.EncodeTail(*l.Tail)
	case l.ID != nil:
		line, err = codec.EncodeIDs([]alloc.IDRecord{*l.ID})
	default:
		line, err = codec.EncodeLeases(l.Sequence, []alloc.LeaseRecord{*l.Lease})
	}
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// FuzzALogLine: whatever comes in, what is taken for a line is what would be written of it.
func FuzzALogLine(f *testing.F) {
	for _, line := range []string{
		`{"pool":"p","id":"A","state":"held","generation":"0","token":"T","metadata":{"a":"\ud83c\udfab"},"at":"2026-11-29T12:00:00.5Z"}`,
		`{"sequence":"s","start":"1","end":"5","epoch":"1","proven":true}`, `{"log":1,"pool":"p","begun":"2026-11-29T12:00:00Z","job":"J"}`,
		`{"whole":true,"lines":5,"digest":"ab"}`, `{"pool":"p","id":"\u00e9","state":"free","generation":"1"}`, `{"owner":"\`, `{"owner":"\ud83c\u`, `[]`,
	} {
		f.Add([]byte(line))
	}
	codec := LogCodec()
	f.Fuzz(func(t *testing.T, line []byte) {
		read, err := codec.Decode(line)
		if err != nil {
			if alloc.CodeOf(err) == alloc.CodeInternal {
				t.Fatalf("%q: %v", line, err)
			}
			return
		}
		again := writtenLine(t, read)
		if diff := cmp.Diff([]alloc.LogLine{read}, decodedLines(t, again)); diff != "" {
			t.Fatalf("%q is written as %q and that is another:\n%s", line, again, diff)
		}
	})
}

// What the contract shows of logs, findings and restores is what is written, byte for byte.
func TestTheExamplesOfALogAreTrue(t *testing.T) {
	data, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	type content map[string]struct {
		Example  any
		Examples map[string]struct{ Value any }
	}
	var doc struct {
		Paths map[string]struct {
			Get struct {
				Responses map[string]struct{ Content content }
			}
			Put struct{ RequestBody struct{ Content content } }
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for name, example := range doc.Paths[job+"/parts/{part}"].Get.Responses["200"].Content[mediaLines].Examples {
		shown[name] = fmt.Sprint(example.Value)
	}
	codec := LogCodec()

	written := map[string]string{}
	for _, name := range []string{"log", "leases"} {
		var log []byte
		for _, l := range decodedLines(t, []byte(shown[name])) {
			if l.Tail != nil {
				sum := sha256.Sum256(log)
				l.Tail = &alloc.LogTail{Lines: alloc.Count(bytes.Count(log, []byte("\n")) - 1), Digest: hex.EncodeToString(sum[:])}
			}
			log = append(log, writtenLine(t, l)...)
		}
		written[name] = string(log)
	}
	var found findingLine
	if err := json.Unmarshal([]byte(shown["audit"]), &found); err != nil {
		t.Fatal(err)
	}
	audit, err := codec.EncodeFindings([]alloc.Finding{alloc.Finding(found)})
	if err != nil {
		t.Fatal(err)
	}
	var carried carryLine
	if err := json.Unmarshal([]byte(shown["restore"]), &carried); err != nil {
		t.Fatal(err)
	}
	restore, err := codec.EncodeCarries([]alloc.CarryLine{{Pool: carried.Pool, ID: carried.ID, Outcome: carried.Outcome, Detail: carried.Detail}})
	if err != nil {
		t.Fatal(err)
	}
	written["audit"], written["restore"] = string(audit), string(restore)
	for name, got := range written {
		if want := shown[name]; got != want || want == "" {
			t.Errorf("%s: the contract shows %q, written is %q", name, want, got)
		}
	}
	if sent := doc.Paths[job+"/input/{input}"].Put.RequestBody.Content[mediaLines].Example; sent != shown["log"] {
		t.Errorf("as input it shows %q", sent)
	}
}
