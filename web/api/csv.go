package api

import "time"

// The media types of files.
const (
	mediaCSV   = "text/csv; charset=utf-8; header=present"
	mediaRows  = "text/csv; charset=utf-8; header=absent"
	mediaLines = "application/x-ndjson"
)

// when writes a time as JSON has it, "" for none.
func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
