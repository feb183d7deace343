package generator

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // so that a time zone is known wherever the program runs
)

// ErrOverflow is what Number's error is where the number has more digits than its format has places, or is none of a
// sequence. Every higher number has it too.
var ErrOverflow = errors.New("the number has no room in the format")

// numbering checks a configuration of Sequence, and gives what numbers are written by.
func (c Config) numbering() (format, *time.Location, error) {
	if c.Kind != Sequence {
		return nil, nil, fmt.Errorf("only a generator of kind %s has numbers", Sequence)
	}
	mine := Config{Kind: Sequence, Sequence: c.Sequence, Format: c.Format, Overflow: c.Overflow, TimeZone: c.TimeZone}
	if c != mine {
		return nil, nil, fmt.Errorf("a generator of kind %s takes sequence, format, overflow and time_zone only; leave out the other fields, or make it the kind %s", Sequence, Random)
	}
	if c.Sequence == "" {
		return nil, nil, errors.New("sequence must name the sequence whose numbers are used")
	}
	if c.Overflow != OverflowRefuse && c.Overflow != OverflowGrow {
		return nil, nil, fmt.Errorf("overflow must be %q or %q", OverflowRefuse, OverflowGrow)
	}
	f, err := c.format()
	if err != nil {
		return nil, nil, err
	}
	zone, err := c.location()
	if err != nil {
		return nil, nil, err
	}
	if f.period() == "" && c.TimeZone != utc {
		return nil, nil, errors.New("time_zone is of no use: format has no date; leave it out, or put {yyyy} into format")
	}
	return f, zone, nil
}

// zones keeps what was read of time zones, by their names: to read one takes longer than to write a number.
var zones sync.Map

// location is that of the time zone. The machine's own is none: it differs from machine to machine.
func (c Config) location() (*time.Location, error) {
	if zone, ok := zones.Load(c.TimeZone); ok {
		return zone.(*time.Location), nil
	}
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil || c.TimeZone == "Local" {
		return nil, fmt.Errorf("time_zone %q is not known; use an IANA name such as Europe/Berlin, or %s", short(c.TimeZone), utc)
	}
	zones.Store(c.TimeZone, zone)
	return zone, nil
}

// room is how many numbers a format has room for.
func (c Config) room(f format) *big.Int {
	all := new(big.Int).SetUint64(math.MaxInt64 + 1)
	if c.Overflow == OverflowGrow || f.places() == 0 {
		return all
	}
	room := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(f.places())), nil)
	if room.Cmp(all) > 0 {
		return all
	}
	return room
}

// Period names the period that a time is in, in the time zone of the configuration: 2026, 2026-11 or 2026-11-30, by the finest
// field of a date in the format. It is "" without one, and where Check refuses the configuration. Numbers begin anew with each period.
func (c Config) Period(at time.Time) string {
	f, zone, err := c.WithDefaults().numbering()
	if err != nil {
		return ""
	}
	return at.In(zone).Format(f.period())
}

// Number writes a number of the period that the time is in. Errors are Check's and ErrOverflow.
func (c Config) Number(n uint64, at time.Time) (string, error) {
	c = c.WithDefaults()
	f, zone, err := c.numbering()
	if err != nil {
		return "", err
	}
	if at = at.In(zone); at.Year() < 0 || at.Year() > 9999 {
		return "", errors.New("the year has more than 4 digits; set the clock")
	}
	if room := c.room(f); new(big.Int).SetUint64(n).Cmp(room) >= 0 {
		return "", fmt.Errorf("%w: %d is above %d, the highest that %q can show", ErrOverflow, n, room.Sub(room, big.NewInt(1)), c.Format)
	}
	var b strings.Builder
	for _, p := range f {
		switch p.field {
		case "":
			b.WriteString(p.text)
		case number:
			fmt.Fprintf(&b, "%0*d", p.places, n)
		default:
			b.WriteString(p.field.date(at))
		}
	}
	return b.String(), nil
}

// verifyNumber takes the ID apart from both ends, up to the number.
func (c Config) verifyNumber(id string) error {
	f, _, err := c.numbering()
	if err != nil {
		return err
	}
	behind := f.length() // of what has not been read, without the number
	read := map[field]string{}
	for _, p := range f {
		width := p.length()
		if p.field == number {
			width = len(id) - behind
		}
		if width < 0 || width > len(id) {
			return errors.New("it is shorter than its format")
		}
		piece := id[:width]
		if p.field == "" && piece != p.text {
			return fmt.Errorf("it should have %q where it has %q", p.text, short(piece))
		}
		if was, again := read[p.field]; again && p.field != "" && was != piece {
			return fmt.Errorf("it has two different dates, %q and %q", short(was), short(piece))
		}
		read[p.field], id, behind = piece, id[width:], behind-p.length()
	}
	if id != "" {
		return errors.New("it is longer than its format")
	}
	if err := c.verifyDigits(read[number], f); err != nil {
		return err
	}
	return verifyDate(read)
}

// length is how many bytes it has, of a number none.
func (p part) length() int {
	switch p.field {
	case "":
		return len(p.text)
	case number:
		return 0
	}
	return p.field.len()
}

func (f format) length() int {
	n := 0
	for _, p := range f {
		n += p.length()
	}
	return n
}

func (c Config) verifyDigits(s string, f format) error {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || s != fmt.Sprintf("%0*d", f.places(), n) || new(big.Int).SetUint64(n).Cmp(c.room(f)) >= 0 {
		return fmt.Errorf("it has %q where its number should be", short(s))
	}
	return nil
}

// verifyDate tests that there is such a date, in whatever century if that is not said.
func verifyDate(read map[field]string) error {
	full, hasFull := read[year]
	two, hasTwo := read[yearOf2]
	if hasFull && hasTwo && !strings.HasSuffix(full, two) {
		return fmt.Errorf("it has two different years, %q and %q", short(full), short(two))
	}
	if !hasFull {
		full = "2000"
		if hasTwo {
			full = "20" + two
		}
	}
	text := full + "-" + either(read[month], "01") + "-" + either(read[day], "01")
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return fmt.Errorf("its date is none: %q", short(text))
	}
	return nil
}

func either(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
