package api

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"idpool/alloc"
)

// field is a member that a JSON body may have, and how it is read.
type field struct {
	name string
	read func(value []byte) error
}

// whole reads a JSON number without fraction. Its range is for the service to check.
func whole[T ~int | ~int64](name string, to *T) field {
	return field{name, func(value []byte) error {
		if kindOf(value) != "a number" {
			return wrongType(name, "a whole number such as 5", value)
		}
		digits, negative := strings.CutPrefix(string(value), "-")
		if strings.Trim(digits, "0123456789") != "" {
			return alloc.Errorf(alloc.CodeInvalidRequest, "%s must be a whole number such as 5, without fraction or exponent", name)
		}
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil { // out of range
			n = math.MaxInt64
			if negative {
				n = math.MinInt64
			}
		}
		*to = T(n)
		return nil
	}}
}

// percent reads a share of a configuration, where the domain takes zero for "not given".
func percent(name string, to *int) field {
	read := whole(name, to).read
	return field{name, func(value []byte) error {
		if err := read(value); err != nil {
			return err
		}
		if *to < 1 || *to > 100 {
			return alloc.Errorf(alloc.CodeInvalidConfig, "%s must be 1 to 100 percent; leave it out for its default", name)
		}
		return nil
	}}
}

// positive reads a whole number of a configuration, where the domain takes zero for "not given".
func positive(name string, to *alloc.Count) field {
	read := whole(name, to).read
	return field{name, func(value []byte) error {
		if err := read(value); err != nil {
			return err
		}
		if *to < 1 {
			return alloc.Errorf(alloc.CodeInvalidConfig, "%s must be at least 1; leave it out for its default", name)
		}
		return nil
	}}
}

// bounded reads a whole number within its bounds, where the domain takes zero for "not given".
func bounded[T ~int | ~int64](name string, least, most T, to *T) field {
	return boundedOr(name, least, most, "its default", to)
}

// boundedOr is bounded where to leave it out means what without says.
func boundedOr[T ~int | ~int64](name string, least, most T, without string, to *T) field {
	read := whole(name, to).read
	return field{name, func(value []byte) error {
		if err := read(value); err != nil {
			return err
		}
		if *to < least || *to > most {
			return alloc.Errorf(alloc.CodeInvalidRequest, "%s must be %d to %d; leave it out for %s", name, least, most, without)
		}
		return nil
	}}
}

// boundedGiven reads a whole number within its bounds, of which it counts whether it was given.
func boundedGiven[T ~int | ~int64](name string, least, most T, to **T) field {
	var n T
	read := boundedOr(name, least, most, "what its description says", &n).read
	return field{name, func(value []byte) error {
		*to = &n
		return read(value)
	}}
}

// number reads a number of a sequence: a string of digits, since JSON readers lose digits above 2^53.
func number(name string, given func(alloc.Number) error) field {
	return field{name, func(value []byte) error {
		if kindOf(value) != "a string" {
			return wrongType(name, `a string of digits such as "1000"`, value)
		}
		s, err := readString(name, value)
		if err != nil {
			return err
		}
		n, err := parseNumber(name, s)
		if err != nil {
			return err
		}
		return given(n)
	}}
}

// parseNumber reads the one form in which a number is written: decimal digits without sign and leading zeros.
func parseNumber(name, s string) (alloc.Number, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > uint64(alloc.MaxNumber) || strconv.FormatUint(n, 10) != s {
		return 0, alloc.Errorf(alloc.CodeInvalidRequest, "%s must be a whole number from 0 to %d, in digits without sign or leading zeros", name, alloc.MaxNumber)
	}
	return alloc.Number(n), nil
}

// seconds reads a number of seconds within its bounds; without says what it means to leave it out.
func seconds(name string, least int64, most time.Duration, without string, to *int64) field {
	read := whole(name, to).read
	return field{name, func(value []byte) error {
		if err := read(value); err != nil {
			return err
		}
		if bound := int64(most / time.Second); *to < least || *to > bound {
			return alloc.Errorf(alloc.CodeInvalidRequest, "%s must be %d to %d seconds; left out, %s", name, least, bound, without)
		}
		return nil
	}}
}

// moment reads a point in time, as RFC 3339 writes it. The first second of the year 1 is none: it would be taken for "not
// given".
func moment(name string, to *time.Time) field {
	return field{name, func(value []byte) error {
		s, err := readString(name, value)
		if err != nil {
			return err
		}
		t, err := parseMoment(name, s)
		if err == nil {
			*to = t
		}
		return err
	}}
}

func parseMoment(name, s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	t = t.UTC()
	if err != nil || t.Year() < 1 || t.Year() > 9999 || t.Truncate(time.Second).IsZero() {
		return time.Time{}, alloc.Errorf(alloc.CodeInvalidRequest, "%s must be a time such as 2030-01-31T12:00:00Z", name)
	}
	return t, nil
}

// text reads a string.
func text[T ~string](name string, to *T) field {
	return field{name, func(value []byte) error {
		s, err := readString(name, value)
		*to = T(s)
		return err
	}}
}

// flag reads true or false.
func flag(name string, to *bool) field {
	return field{name, func(value []byte) error {
		if kindOf(value) != "a boolean" {
			return wrongType(name, "true or false", value)
		}
		*to = value[0] == 't'
		return nil
	}}
}

// orNull is a field that may be null too, which takes back what was said of it before.
func orNull(f field, isNull func()) field {
	return field{f.name, func(value []byte) error {
		if kindOf(value) == "null" {
			isNull()
			return nil
		}
		return f.read(value)
	}}
}

// maybe reads a flag that may be left open, which false is not.
func maybe(name string, to **bool) field {
	return field{name, func(value []byte) error {
		*to = new(bool)
		return flag(name, *to).read(value)
	}}
}

// object reads an object with members of its own, or null for none. The names of its fields have its own before them, with
// a dot between: so a refusal says where in the body it is.
func object[T any, P body[T]](name string, to **T) field {
	return field{name, func(value []byte) error {
		switch kindOf(value) {
		case "null":
			*to = nil
			return nil
		case "an object":
		default:
			return wrongType(name, "an object, or null for none", value)
		}
		in := new(T)
		if err := readMembers(name, name+".", value, P(in).fields()); err != nil {
			return err
		}
		*to = in
		return nil
	}}
}

// textMap reads an object whose values are strings.
func textMap(name string, to *map[string]string) field {
	return field{name, func(value []byte) error {
		if kindOf(value) != "an object" {
			return wrongType(name, "an object of strings", value)
		}
		m := map[string]string{}
		err := readObject(name, value, func(key string, value []byte) error {
			if strings.ContainsRune(key, utf8.RuneError) {
				return notUnicode("a name in " + name)
			}
			s, err := readString(name+"."+printable(key), value)
			m[key] = s
			return err
		})
		if len(m) > 0 {
			*to = m
		}
		return err
	}}
}

// texts reads a list of strings.
func texts[T ~string](name string, to *[]T) field {
	return field{name, func(value []byte) error {
		if kindOf(value) != "a list" {
			return wrongType(name, "a list of strings", value)
		}
		var raw []json.RawMessage
		if err := json.Unmarshal(value, &raw); err != nil {
			return notRead(name, err)
		}
		list := make([]T, len(raw))
		for i, value := range raw {
			s, err := readString(name+"["+strconv.Itoa(i)+"]", value)
			if err != nil {
				return err
			}
			list[i] = T(s)
		}
		*to = list
		return nil
	}}
}

func readString(name string, value []byte) (string, error) {
	if kindOf(value) != "a string" {
		return "", wrongType(name, "a string", value)
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", notRead(name, err)
	}
	if strings.ContainsRune(s, utf8.RuneError) {
		return "", notUnicode(name)
	}
	return s, nil
}

// notUnicode refuses what encoding/json replaces silently (half a surrogate pair), and text that was damaged in the same
// way before.
func notUnicode(what string) error {
	return alloc.Errorf(alloc.CodeInvalidRequest, "%s has a character that is not valid Unicode, or the mark U+FFFD of one that was lost", what)
}

func wrongType(name, want string, value []byte) error {
	return alloc.Errorf(alloc.CodeInvalidRequest, "%s must be %s, not %s", name, want, kindOf(value))
}

// kindOf names the kind of a JSON value by how it begins.
func kindOf(value []byte) string {
	for _, c := range value {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			return "an object"
		case '[':
			return "a list"
		case '"':
			return "a string"
		case 't', 'f':
			return "a boolean"
		case 'n':
			return "null"
		default:
			return "a number"
		}
	}
	return "nothing"
}

// quote quotes a client's text for a message, printable and cut short.
func quote(s string) string { return `"` + printable(s) + `"` }

func printable(s string) string {
	const limit = 40
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > limit {
			b.WriteString("…")
			break
		}
		if r == '"' || r == '\\' || !unicode.IsPrint(r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String()
}
