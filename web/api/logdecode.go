package api

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"idpool/alloc"
)

// logLine is a line of a log as it is read: its first or its last, or of an ID or of a lease. given has the names of its members.
type logLine struct {
	head  alloc.LogHead
	tail  alloc.LogTail
	whole bool
	bad   bool
	id    alloc.IDRecord
	lease alloc.LeaseRecord
	name  alloc.SequenceName
	given map[string]bool
}

// decodeLogLine reads a line that is as the encoders write it: with members that are known, each once, and nothing missing. What it
// lets through can be stored.
func decodeLogLine(line []byte) (alloc.LogLine, error) {
	if !utf8.Valid(line) || lostHalf(line) {
		return alloc.LogLine{}, alloc.Errorf(alloc.CodeInvalidRequest, "the line has a character that is not valid Unicode; send the log as it was fetched")
	}
	l := logLine{given: map[string]bool{}}
	if err := readMembers("the line", "", line, l.fields()); err != nil {
		return alloc.LogLine{}, err
	}
	switch {
	case l.given["log"]:
		return l.ofHead()
	case l.given["whole"]:
		return l.ofTail()
	case l.given["sequence"]:
		return l.ofLease()
	}
	return l.ofID()
}

// The members of the kinds of lines: those that each line has, and the others.
var (
	headMembers  = lineMembers{[]string{"log", "begun", "job"}, []string{"pool", "sequence", "since"}}
	tailMembers  = lineMembers{[]string{"whole", "lines", "digest"}, []string{"unreadable"}}
	idMembers    = lineMembers{[]string{"pool", "id", "state", "generation"}, []string{"job", "token", "by", "owner", "metadata", "at", "held_until"}}
	badMembers   = lineMembers{[]string{"sequence", "start", "unreadable"}, nil}
	leaseMembers = lineMembers{[]string{"sequence", "start", "end", "epoch", "proven"}, []string{"token", "by", "at"}}
)

type lineMembers struct{ required, optional []string }

func (l *logLine) fields() []field {
	var token alloc.Token
	var by alloc.ClientID
	var at time.Time
	var pool alloc.PoolName
	var job alloc.JobID
	both := func(f field, set func()) field {
		return field{f.name, func(value []byte) error {
			err := f.read(value)
			set()
			return err
		}}
	}
	all := []field{
		whole("log", &l.head.Format), moment("since", &l.head.Since), moment("begun", &l.head.Begun),
		flag("whole", &l.whole), whole("lines", &l.tail.Lines), exact("digest", &l.tail.Digest),
		exact("id", &l.id.ID), exact("state", &l.id.State), digits("generation", &l.id.Generation),
		unreadable(&l.bad, &l.tail.Unreadable),
		both(exact("pool", &pool), func() { l.id.Pool, l.head.Pool = pool, pool }),
		both(exact("job", &job), func() { l.id.Job, l.head.Job = job, job }),
		exact("owner", &l.id.Owner), exactMap("metadata", &l.id.Metadata), moment("held_until", &l.id.HeldUntil),
		exact("sequence", &l.name), digits("start", &l.lease.Start), digits("end", &l.lease.End), digits("epoch", &l.lease.Epoch), flag("proven", &l.lease.Proven),
		both(exact("token", &token), func() { l.id.Token, l.lease.Token = token, token }),
		both(exact("by", &by), func() { l.id.By, l.lease.By = by, by }),
		both(moment("at", &at), func() { l.id.At, l.lease.At = at, at }),
	}
	for i, f := range all {
		all[i] = both(f, func() { l.given[f.name] = true })
	}
	return all
}

// check refuses a line that lacks what one of its kind has, or has what is of the other kind.
func (l *logLine) check(m lineMembers) error {
	missing := len(m.required)
	for name := range l.given {
		switch {
		case slices.Contains(m.required, name):
			missing--
		case !slices.Contains(m.optional, name):
			return alloc.Errorf(alloc.CodeInvalidRequest, "the line has the field %s, which belongs to another kind of line; send the log as it was fetched", name)
		}
	}
	if missing > 0 {
		return alloc.Errorf(alloc.CodeInvalidRequest, "the line must have the fields %s", strings.Join(m.required, ", "))
	}
	return nil
}

func (l *logLine) ofHead() (alloc.LogLine, error) {
	if err := l.check(headMembers); err != nil {
		return alloc.LogLine{}, err
	}
	if l.given["pool"] == l.given["sequence"] {
		return alloc.LogLine{}, alloc.Errorf(alloc.CodeInvalidRequest, "the line must have either the field pool or the field sequence")
	}
	l.head.Sequence = l.name
	if err := alloc.CheckName(cmp.Or(string(l.head.Pool), string(l.head.Sequence))); err != nil {
		return alloc.LogLine{}, err
	}
	return alloc.LogLine{Head: &l.head}, nil
}

func (l *logLine) ofTail() (alloc.LogLine, error) {
	if err := l.check(tailMembers); err != nil {
		return alloc.LogLine{}, err
	}
	if !l.whole || l.bad {
		return alloc.LogLine{}, alloc.Errorf(alloc.CodeInvalidRequest, "whole must be true, and unreadable a number")
	}
	return alloc.LogLine{Tail: &l.tail}, nil
}

func (l *logLine) ofID() (alloc.LogLine, error) {
	if err := l.check(idMembers); err != nil {
		return alloc.LogLine{}, err
	}
	if err := alloc.CheckName(string(l.id.Pool)); err != nil {
		return alloc.LogLine{}, err
	}
	if err := alloc.CheckID(string(l.id.ID)); err != nil {
		return alloc.LogLine{}, err
	}
	switch l.id.State {
	case alloc.StateFree, alloc.StateHeld, alloc.StateClaimed, alloc.StateReturning, alloc.StateRetired:
		return alloc.LogLine{ID: &l.id}, nil
	}
	return alloc.LogLine{}, alloc.Errorf(alloc.CodeInvalidRequest, "state must be free, held, claimed, returning or retired, not %s", quote(string(l.id.State)))
}

func (l *logLine) ofLease() (alloc.LogLine, error) {
	members := leaseMembers
	if l.given["unreadable"] {
		members = badMembers
	}
	if err := l.check(members); err != nil {
		return alloc.LogLine{}, err
	}
	if l.given["unreadable"] && !l.bad {
		return alloc.LogLine{}, alloc.Errorf(alloc.CodeInvalidRequest, "unreadable must be true")
	}
	if err := alloc.CheckName(string(l.name)); err != nil {
		return alloc.LogLine{}, err
	}
	if l.lease.End < l.lease.Start && !l.bad {
		return alloc.LogLine{}, alloc.Errorf(alloc.CodeInvalidRequest, "end must not be below start")
	}
	return alloc.LogLine{Lease: &l.lease, Sequence: l.name}, nil
}

// unreadable says of the line of a lease that its entry is so, and in the last line how many are.
func unreadable(is *bool, count *alloc.Count) field {
	return field{"unreadable", func(value []byte) error {
		if kindOf(value) == "a boolean" {
			return flag("unreadable", is).read(value)
		}
		return whole("unreadable", count).read(value)
	}}
}

// exact reads a string of a line of which decodeLogLine knows that no half of a character is missing.
func exact[T ~string](name string, to *T) field {
	return field{name, func(value []byte) error {
		if kindOf(value) != "a string" {
			return wrongType(name, "a string", value)
		}
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			return notRead(name, err)
		}
		*to = T(s)
		return nil
	}}
}

// exactMap reads an object of such strings. One without members is none.
func exactMap(name string, to *map[string]string) field {
	return field{name, func(value []byte) error {
		m := map[string]string{}
		err := readObject(name, value, func(key string, value []byte) error {
			var s string
			err := exact(name+"."+printable(key), &s).read(value)
			m[key] = s
			return err
		})
		if len(m) > 0 {
			*to = m
		}
		return err
	}}
}

// digits reads a number of up to 63 bits, which is a string.
func digits[T ~int64 | ~uint64](name string, to *T) field {
	return number(name, func(n alloc.Number) error {
		*to = T(n)
		return nil
	})
}

// lostHalf reports whether a text in JSON has the escape of one half of a surrogate pair without the other: encoding/json replaces it
// silently.
func lostHalf(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		first, ok := escaped(data[i:])
		if !ok {
			i++ // what is escaped may be a backslash
			continue
		}
		i += 5
		if !utf16.IsSurrogate(first) {
			continue
		}
		second, ok := escaped(data[i+1:])
		if !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
			return true
		}
		i += 6
	}
	return false
}

// escaped is the code unit that an escape in hexadecimal at the beginning of data stands for.
func escaped(data []byte) (rune, bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(n), err == nil
}
