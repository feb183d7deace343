package admin

import (
	"strconv"
	"strings"

	"idpool/alloc"
	"idpool/templates"
)

// call is a request to the API that does the same as a step of a page.
type call struct {
	method, path string
	version      alloc.Version // sent as If-Match; 0 for none
	keyed        bool          // it takes an Idempotency-Key
	body         string        // JSON; "" for none
}

// twin writes it for a shell.
func (c call) twin() templates.Call {
	lines := []string{"curl -X " + c.method + " " + doubleQuoted(c.path), "  -H \"Authorization: Bearer $TOKEN\""}
	if c.version != 0 {
		lines = append(lines, "  -H 'If-Match: \""+strconv.FormatInt(int64(c.version), 10)+"\"'")
	}
	if c.keyed {
		lines = append(lines, "  -H \"Idempotency-Key: $(uuidgen)\"")
	}
	if c.body != "" {
		lines = append(lines, "  -H 'Content-Type: application/json'", "  -d "+quoted(c.body))
	}
	return templates.Call{Text: strings.Join(lines, " \\\n")}
}

// quoted is a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// doubleQuoted is a path on this system, whose address is in IDPOOL. A path that was escaped has nothing that a shell reads.
func doubleQuoted(path string) string { return `"$IDPOOL` + path + `"` }
