package generator

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// format is a format of Sequence, taken apart. Of all its parts only the number may differ in length, and there is one
// number; so an ID can be taken apart in one way only, and two numbers of a period never make the same ID.
type format []part

// part is a piece of text or a placeholder.
type part struct {
	text   string // of a piece of text
	field  field
	places int // of the number; 0 for as many as it has digits
}

// field is a placeholder's name; "" for none.
type field string

const (
	number   field = "n"
	year     field = "yyyy"
	yearOf2  field = "yy" // without the century
	month    field = "mm"
	day      field = "dd"
	advice         = "use {n} or {n:6} (6 places), {yyyy}, {yy}, {mm} and {dd}"
	onePlace       = "format needs one {n}, or {n:6} for 6 places, where the number stands"
)

// format parses and checks that of the configuration.
func (c Config) format() (format, error) {
	if c.Format == "" {
		return nil, errors.New(onePlace)
	}
	if len(c.Format) > MaxFormatBytes {
		return nil, fmt.Errorf("format must be at most %d bytes; it has %d", MaxFormatBytes, len(c.Format))
	}
	if !trimmed(c.Format) {
		return nil, errors.New("format must not begin or end with a space")
	}
	f, err := parseFormat(c.Format)
	if err != nil {
		return nil, err
	}
	return f, f.check()
}

// parseFormat takes a format apart.
func parseFormat(s string) (format, error) {
	var f format
	for s != "" {
		text, rest, open := strings.Cut(s, "{")
		if strings.Contains(text, "}") {
			return nil, errors.New("format has a } without its {; " + advice)
		}
		if text != "" {
			f = append(f, part{text: text})
		}
		if !open {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, errors.New("format has a { without its }; " + advice)
		}
		p, err := parsePlaceholder(name)
		if err != nil {
			return nil, err
		}
		f, s = append(f, p), after
	}
	return f, nil
}

func parsePlaceholder(name string) (part, error) {
	switch p := (part{field: field(name)}); p.field {
	case number, year, yearOf2, month, day:
		return p, nil
	}
	places, ok := strings.CutPrefix(name, string(number)+":")
	if !ok {
		return part{}, fmt.Errorf("format has the placeholder {%s}, which is not known; "+advice, short(name))
	}
	n, err := strconv.Atoi(places)
	if err != nil || strconv.Itoa(n) != places || n < 1 || n > MaxPlaces {
		return part{}, fmt.Errorf("format has {%s}: a number may have 1 to %d places, as {n:6}", short(name), MaxPlaces)
	}
	return part{field: number, places: n}, nil
}

// check refuses what cannot be told apart or leads to no period.
func (f format) check() error {
	switch n := f.count(number); {
	case n == 0:
		return errors.New(onePlace)
	case n > 1:
		return fmt.Errorf("format has {n} %d times; write it once", n)
	case f.count(month) > 0 && f.count(year)+f.count(yearOf2) == 0:
		return errors.New("format has {mm} without a year, so that its numbers would come again each year; put {yyyy} or {yy} into it")
	case f.count(day) > 0 && f.count(month) == 0:
		return errors.New("format has {dd} without {mm}, so that its numbers would come again each month; put {mm} into it")
	}
	for _, p := range f { // each by itself: what is cut in two by a placeholder is no character
		if err := checkText("format", p.text); err != nil {
			return err
		}
	}
	return nil
}

func (f format) count(of field) int {
	n := 0
	for _, p := range f {
		if p.field == of {
			n++
		}
	}
	return n
}

// period is the layout, as of package time, that names a period; "" without a date.
func (f format) period() string {
	switch {
	case f.count(day) > 0:
		return time.DateOnly
	case f.count(month) > 0:
		return "2006-01"
	case f.count(year)+f.count(yearOf2) > 0:
		return "2006"
	}
	return ""
}

// places are those of the number.
func (f format) places() int {
	for _, p := range f {
		if p.field == number {
			return p.places
		}
	}
	return 0
}

// date writes a field of a date.
func (f field) date(at time.Time) string {
	switch f {
	case year:
		return fmt.Sprintf("%04d", at.Year())
	case yearOf2:
		return fmt.Sprintf("%02d", at.Year()%100)
	case month:
		return fmt.Sprintf("%02d", at.Month())
	}
	return fmt.Sprintf("%02d", at.Day())
}

// len is how many bytes the field of a date has.
func (f field) len() int {
	if f == year {
		return 4
	}
	return 2
}
