package api

import (
	"bytes"
	"strings"

	"idpool/alloc"
	"idpool/web"
)

// The formats of an export.
const (
	formatCSV  = "csv"
	formatJSON = "json" // one object a line
)

// Encoders are the formats of an export, for alloc.Config. CSV is for people and their spreadsheets (see harmless), its
// head comes with the first part; JSON lines have every text exactly. Both leave the tokens out.
func Encoders() map[string]alloc.Encoder {
	return map[string]alloc.Encoder{formatCSV: encodeCSV, formatJSON: encodeLines}
}

var idColumns = []column[idAnswer]{
	{"id", func(r idAnswer) string { return string(r.ID) }},
	{"state", func(r idAnswer) string { return string(r.State) }},
	{"generation", func(r idAnswer) string { return decimal(r.Generation) }},
	{"job", func(r idAnswer) string { return string(r.Job) }},
	{"client", func(r idAnswer) string { return string(r.Client) }},
	{"owner", func(r idAnswer) string { return r.Owner }},
	{"metadata", metadataCell},
	{"claimed_at", func(r idAnswer) string { return when(r.Claimed) }},
	{"held_until", func(r idAnswer) string { return when(r.Held) }},
}

// metadataCell is the metadata as one JSON object, "" for none.
func metadataCell(r idAnswer) string {
	if len(r.Metadata) == 0 {
		return ""
	}
	data, err := encode(r.Metadata)
	if err != nil {
		panic(err) // strings are nothing that JSON cannot say
	}
	return strings.TrimSuffix(string(data), "\n")
}

func encodeCSV(ids []alloc.IDRecord) ([]byte, error) {
	return web.WriteCSV(listOf("", idColumns, idAnswers(ids), "").rows)
}

// headOfCSV is the row of names that a CSV export begins with.
func headOfCSV() ([]byte, error) {
	return web.WriteCSV([][]string{listOf("", idColumns, nil, "").header})
}

func encodeLines(ids []alloc.IDRecord) ([]byte, error) {
	var b bytes.Buffer
	for _, a := range idAnswers(ids) {
		line, err := encode(a)
		if err != nil {
			return nil, err
		}
		b.Write(line)
	}
	return b.Bytes(), nil
}

func idAnswers(ids []alloc.IDRecord) []idAnswer {
	answers := make([]idAnswer, len(ids))
	for i, r := range ids {
		answers[i] = newIDAnswer(r)
	}
	return answers
}
