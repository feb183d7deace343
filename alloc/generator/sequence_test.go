package generator_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"idpool/alloc/generator"
)

func numbers(format string) generator.Config {
	return generator.Config{Kind: generator.Sequence, Sequence: "invoices", Format: format}
}

func in(zone string, c generator.Config) generator.Config {
	c.TimeZone = zone
	return c
}

func growing(c generator.Config) generator.Config {
	c.Overflow = generator.OverflowGrow
	return c
}

func TestNumber(t *testing.T) {
	at := time.Date(2026, 2, 3, 23, 30, 0, 0, time.UTC)
	tests := map[string]struct {
		config generator.Config
		n      uint64
		want   string // "" for ErrOverflow
	}{
		"as many digits as it has":      {numbers("{n}"), 17, "17"},
		"zero":                          {numbers("{n}"), 0, "0"},
		"filled with zeros":             {numbers("{n:6}"), 17, "000017"},
		"zero filled":                   {numbers("{n:3}"), 0, "000"},
		"all dates":                     {numbers("{yyyy}/{yy}/{mm}/{dd}/{n}"), 5, "2026/26/02/03/5"},
		"a day later in Berlin":         {in("Europe/Berlin", numbers("{yyyy}{mm}{dd}-{n}")), 5, "20260204-5"},
		"text around it":                {numbers("№ {n:2} Ü"), 5, "№ 05 Ü"},
		"the last that fits":            {numbers("{n:2}"), 99, "99"},
		"the first that does not":       {numbers("{n:2}"), 100, ""},
		"it grows":                      {growing(numbers("A{n:2}")), 100, "A100"},
		"it grows from its places":      {growing(numbers("A{n:2}")), 7, "A07"},
		"the highest of a sequence":     {numbers("{n}"), math.MaxInt64, "9223372036854775807"},
		"the highest in 19 places":      {numbers("{n:19}"), math.MaxInt64, "9223372036854775807"},
		"a number of no sequence":       {numbers("{n}"), math.MaxInt64 + 1, ""},
		"the same with 19 places":       {numbers("{n:19}"), math.MaxUint64, ""},
		"the same where numbers grow":   {growing(numbers("{n:3}")), math.MaxInt64 + 1, ""},
		"a number of 18 places is full": {numbers("{n:18}"), 1e18, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tt.config.Number(tt.n, at)
			if got != tt.want || errors.Is(err, generator.ErrOverflow) != (tt.want == "") {
				t.Fatalf("Number = %q, %v, want %q", got, err, tt.want)
			}
			if tt.want == "" {
				return
			}
			if err := tt.config.Verify(got); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOverflowSaysWhatIsFull: the words go to whoever is to change the format.
func TestOverflowSaysWhatIsFull(t *testing.T) {
	_, err := numbers("INV-{n:3}").Number(1000, time.Unix(0, 0))
	if err == nil || !strings.Contains(err.Error(), `1000 is above 999`) || !strings.Contains(err.Error(), `"INV-{n:3}"`) {
		t.Errorf("error = %v", err)
	}
}

func TestNumberOfAYearThatDoesNotFit(t *testing.T) {
	for _, year := range []int{-1, 10000} {
		id, err := numbers("{yyyy}-{n}").Number(1, time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC))
		if err == nil || errors.Is(err, generator.ErrOverflow) {
			t.Errorf("year %d: %q, %v, want an error that is no overflow", year, id, err)
		}
	}
}

func TestPeriod(t *testing.T) {
	const daily = "{yyyy}{mm}{dd}-{n}"
	tests := map[string]struct {
		config generator.Config
		at     string
		want   string
	}{
		"no date":                                  {numbers("{n}"), "2026-11-30T12:00:00Z", ""},
		"a year":                                   {numbers("{yyyy}-{n}"), "2026-11-30T12:00:00Z", "2026"},
		"a year of two digits is told in full":     {numbers("{yy}-{n}"), "2026-11-30T12:00:00Z", "2026"},
		"a month":                                  {numbers("{yy}{mm}-{n}"), "2026-11-30T12:00:00Z", "2026-11"},
		"a day":                                    {numbers(daily), "2026-11-30T12:00:00Z", "2026-11-30"},
		"the last second of a year":                {numbers("{yyyy}-{n}"), "2026-12-31T23:59:59Z", "2026"},
		"the first second of a year":               {numbers("{yyyy}-{n}"), "2027-01-01T00:00:00Z", "2027"},
		"a new year in Auckland":                   {in("Pacific/Auckland", numbers("{yyyy}-{n}")), "2026-12-31T11:00:00Z", "2027"},
		"the second before":                        {in("Pacific/Auckland", numbers("{yyyy}-{n}")), "2026-12-31T10:59:59Z", "2026"},
		"an old year in Honolulu":                  {in("Pacific/Honolulu", numbers("{yyyy}-{n}")), "2027-01-01T09:59:59Z", "2026"},
		"the time is given in another zone":        {numbers(daily), "2026-07-01T01:00:00+02:00", "2026-06-30"},
		"winter in Berlin, before midnight":        {in("Europe/Berlin", numbers(daily)), "2026-01-15T22:59:59Z", "2026-01-15"},
		"winter in Berlin, midnight":               {in("Europe/Berlin", numbers(daily)), "2026-01-15T23:00:00Z", "2026-01-16"},
		"summer in Berlin, midnight":               {in("Europe/Berlin", numbers(daily)), "2026-07-15T22:00:00Z", "2026-07-16"},
		"the day of 25 hours ends an hour later":   {in("Europe/Berlin", numbers(daily)), "2026-10-25T22:59:59Z", "2026-10-25"},
		"and then it is over":                      {in("Europe/Berlin", numbers(daily)), "2026-10-25T23:00:00Z", "2026-10-26"},
		"the day of 23 hours ends an hour earlier": {in("Europe/Berlin", numbers(daily)), "2026-03-29T22:00:00Z", "2026-03-30"},
		"a midnight that there is not: before":     {in("America/Santiago", numbers(daily)), "2026-09-06T03:59:59Z", "2026-09-05"},
		"a midnight that there is not: one o'clock": {
			in("America/Santiago", numbers(daily)), "2026-09-06T04:00:00Z", "2026-09-06",
		},
		"a midnight that comes twice: the first": {in("America/Santiago", numbers(daily)), "2026-04-05T02:59:59Z", "2026-04-04"},
		"it goes back an hour, and the day is still the old": {
			in("America/Santiago", numbers(daily)), "2026-04-05T03:30:00Z", "2026-04-04",
		},
		"until it comes again":         {in("America/Santiago", numbers(daily)), "2026-04-05T04:00:00Z", "2026-04-05"},
		"a zone of half an hour":       {in("Asia/Kolkata", numbers(daily)), "2026-11-30T18:30:00Z", "2026-12-01"},
		"random ones have none":        {generator.Config{Kind: generator.Random}, "2026-11-30T12:00:00Z", ""},
		"nor has what Check refuses":   {numbers("{yyyy}"), "2026-11-30T12:00:00Z", ""},
		"a day of February every leap": {numbers(daily), "2028-02-29T00:00:00Z", "2028-02-29"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, tt.at)
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.config.Period(at); got != tt.want {
				t.Errorf("Period = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestVerifyNumber(t *testing.T) {
	tests := map[string]struct {
		config generator.Config
		id     string
		ok     bool
	}{
		"right":                        {numbers("INV-{yyyy}-{n:4}"), "INV-2026-0017", true},
		"another text":                 {numbers("INV-{yyyy}-{n:4}"), "REC-2026-0017", false},
		"text missing at the end":      {numbers("{n}-A"), "17", false},
		"more behind it":               {numbers("{n:2}"), "017", false},
		"too few places":               {numbers("{n:4}"), "017", false},
		"leading zeros without places": {numbers("{n}"), "017", false},
		"zero":                         {numbers("{n}"), "0", true},
		"no digits":                    {numbers("A{n}"), "A", false},
		"a sign":                       {numbers("{n:2}"), "+1", false},
		"digits of another script":     {numbers("{n}"), "١٧", false},
		"grown":                        {growing(numbers("{n:2}")), "100", true},
		"grown with a zero":            {growing(numbers("{n:2}")), "010", false},
		"not grown":                    {growing(numbers("{n:2}")), "1", false},
		"a number of no sequence":      {numbers("{n}"), "9223372036854775808", false},
		"the 13th month":               {numbers("{yy}{mm}-{n}"), "2613-1", false},
		"the month 0":                  {numbers("{yy}{mm}-{n}"), "2600-1", false},
		"a leap day":                   {numbers("{yyyy}{mm}{dd}-{n}"), "20280229-1", true},
		"none":                         {numbers("{yyyy}{mm}{dd}-{n}"), "20260229-1", false},
		"one in the century's year":    {numbers("{yy}{mm}{dd}-{n}"), "000229-1", true},
		"two years":                    {numbers("{yyyy}{yy}-{n}"), "202627-1", false},
		"two months":                   {numbers("{yyyy}{mm}{mm}-{n}"), "20261112-1", false},
		"the month two times":          {numbers("{yyyy}{mm}{mm}-{n}"), "20261111-1", true},
		"a year of letters":            {numbers("{yyyy}-{n}"), "abcd-1", false},
		"nothing":                      {numbers("{yyyy}-{n}"), "", false},
		"a part of it":                 {numbers("{yyyy}-{n}-{mm}"), "202", false},
		"digits that touch":            {numbers("{yyyy}{n}{mm}"), "20261234512", true},
		"the old year 0000":            {numbers("{yyyy}-{n}"), "0000-1", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := tt.config.Verify(tt.id); (err == nil) != tt.ok {
				t.Errorf("Verify(%q) = %v, want ok: %t", tt.id, err, tt.ok)
			}
		})
	}
}

// sequenceConfig draws formats of all kinds.
func sequenceConfig() *rapid.Generator[generator.Config] {
	return rapid.Custom(func(t *rapid.T) generator.Config {
		dates := rapid.SampledFrom([][]string{
			{}, {"{yyyy}"}, {"{yy}"}, {"{yyyy}", "{mm}"}, {"{yy}", "{mm}", "{dd}"}, {"{yyyy}", "{yy}", "{mm}", "{dd}", "{dd}"},
		}).Draw(t, "dates")
		n := "{n}"
		if places := rapid.IntRange(0, generator.MaxPlaces).Draw(t, "places"); places > 0 {
			n = fmt.Sprintf("{n:%d}", places)
		}
		pieces := append([]string{n}, dates...)
		pieces = append(pieces, rapid.SliceOfN(rapid.SampledFrom([]string{"-", "A", "7", "0", "é", "2026"}), 0, 4).Draw(t, "texts")...)
		c := numbers(strings.Join(rapid.Permutation(pieces).Draw(t, "format"), ""))
		c.Overflow = rapid.SampledFrom([]generator.Overflow{generator.OverflowRefuse, generator.OverflowGrow}).Draw(t, "overflow")
		if len(dates) > 0 {
			c.TimeZone = rapid.SampledFrom([]string{"", "Europe/Berlin", "America/Santiago", "Pacific/Kiritimati"}).Draw(t, "zone")
		}
		return c
	})
}

const century = 946684800 // 2000-01-01 UTC

// TestNumbersAreDistinct: two numbers, or the same in two periods of a century, never make the same ID; and each verifies.
func TestNumbersAreDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := sequenceConfig().Draw(t, "config")
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		type made struct {
			n      uint64
			period string
		}
		by := map[string]made{}
		for i := range 20 {
			n := rapid.OneOf(rapid.Uint64Range(0, 12), rapid.Uint64()).Draw(t, fmt.Sprint("n", i))
			at := time.Unix(rapid.Int64Range(century+86400, century+3155760000-2*86400).Draw(t, fmt.Sprint("at", i)), 0)
			id, err := c.Number(n, at)
			if errors.Is(err, generator.ErrOverflow) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Verify(id); err != nil {
				t.Fatal(err)
			}
			this := made{n, c.Period(at)}
			if other, again := by[id]; again && other != this {
				t.Fatalf("%s is made of %v and of %v", id, this, other)
			}
			by[id] = this
		}
	})
}

// TestRoomForNumbers: Space is where overflow begins.
func TestRoomForNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := sequenceConfig().Draw(t, "config")
		space := c.Space()
		if space.Sign() <= 0 || !space.IsUint64() {
			t.Fatalf("Space = %s", space)
		}
		at := time.Unix(1e9, 0)
		if _, err := c.Number(space.Uint64()-1, at); err != nil {
			t.Fatalf("the last of %s: %v", space, err)
		}
		if id, err := c.Number(space.Uint64(), at); !errors.Is(err, generator.ErrOverflow) {
			t.Fatalf("the first beyond %s: %q, %v", space, id, err)
		}
	})
}
