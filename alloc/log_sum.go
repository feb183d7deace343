package alloc

import (
	"crypto/sha256"
	"encoding"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	running "hash"
	"strconv"
	"strings"
)

// logSum is what has been written of a log, or read of one, summed up: so much that its tail can be made, or compared. It goes on after any
// step, in another process too: its text is part of a job's mark.
type logSum struct {
	lines      Count        // of IDs and leases
	unreadable Count        // of them, about entries that cannot be read
	run        running.Hash // nil before the first line
}

// begun reports whether there is anything of the log.
func (l *logSum) begun() bool { return l.run != nil }

// add counts text, with the ends of its lines, of which so many are about IDs or leases.
func (l *logSum) add(text []byte, lines Count) {
	if l.run == nil {
		l.run = sha256.New()
	}
	_, _ = l.run.Write(text) // never returns an error
	l.lines += lines
}

// tail is what the last line says after all that was added.
func (l *logSum) tail() LogTail {
	return LogTail{Lines: l.lines, Unreadable: l.unreadable, Digest: hex.EncodeToString(l.run.Sum(nil))}
}

// String is the sum as text without spaces.
func (l *logSum) String() string {
	if l.run == nil {
		return "-"
	}
	state, err := l.run.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		panic(err) // that of the standard library never fails
	}
	text := fmt.Sprintf("%d:%s", l.lines, base64.RawStdEncoding.EncodeToString(state))
	if l.unreadable > 0 { // the version before reads it without
		text += ":" + strconv.FormatInt(int64(l.unreadable), 10)
	}
	return text
}

// readLogSum reads what String has written.
func readLogSum(text string) (l logSum, err error) {
	if text == "-" {
		return l, nil
	}
	lines, state, _ := strings.Cut(text, ":")
	state, bad, some := strings.Cut(state, ":")
	var unreadable int64
	if some {
		unreadable, err = strconv.ParseInt(bad, 10, 64)
	}
	n, err1 := strconv.ParseInt(lines, 10, 64)
	data, err2 := base64.RawStdEncoding.DecodeString(state)
	l = logSum{lines: Count(n), unreadable: Count(unreadable), run: sha256.New()}
	if err != nil || err1 != nil || err2 != nil || l.run.(encoding.BinaryUnmarshaler).UnmarshalBinary(data) != nil {
		return logSum{}, Errorf(CodeInternal, "where the job goes on is not known")
	}
	return l, nil
}

// logMark is where a log goes on: what was written of it, and the mark of the Store.
type logMark struct {
	sum  logSum
	mark string
}

func (m *logMark) String() string { return m.sum.String() + " " + m.mark }

func readLogMark(text string) (m logMark, err error) {
	if text == "" {
		return m, nil
	}
	sum, mark, _ := strings.Cut(text, " ")
	m.mark = mark
	m.sum, err = readLogSum(sum)
	return m, err
}
