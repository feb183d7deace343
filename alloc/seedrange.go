package alloc

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxRangeIDs is how many IDs the ranges of a file make at most, or those of a part where it comes in parts.
const MaxRangeIDs = 100_000

// rangeDigits is how many digits an end of a range has at most.
const rangeDigits = 18

// span is a line of two numbers with a hyphen between: a range, where the format says that such lines are, and else an ID of that form.
type span struct {
	from, to string
}

// spanOf reads a line of digits, a hyphen and digits.
func spanOf(raw string) (s span, ok bool) {
	s.from, s.to, ok = strings.Cut(strings.TrimSpace(raw), "-")
	return s, ok && isDigits(s.from) && isDigits(s.to)
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

func (s span) String() string { return s.from + "-" + s.to }

// rises reports whether the line may be meant as a range.
func (s span) rises() bool { return len(s.from) == len(s.to) && s.from < s.to }

// spreader writes out the ranges of a file, each number with as many digits as the ends have. Where the format does not say that there are any,
// it counts the lines that look like one.
type spreader struct {
	on    bool
	lines int // that are ranges, or look like one
	made  int // IDs, of ranges
	first string
	err   error // of the first range that cannot be written out
}

// add gives each entry that e stands for.
func (r *spreader) add(e SeedEntry, each func(SeedEntry)) {
	s, is := spanOf(e.Raw)
	if is && (r.on || s.rises()) {
		if r.lines++; r.lines == 1 {
			r.first = fmt.Sprintf("%s on line %d", quoteShort(s.String()), e.Line)
		}
	}
	if !is || !r.on {
		each(e)
		return
	}
	if r.err == nil {
		r.err = r.write(s, e.Line, each)
	}
}

func (r *spreader) write(s span, line int, each func(SeedEntry)) error {
	switch {
	case len(s.from) != len(s.to):
		return Errorf(CodeInvalidRequest, "line %d: both ends of the range %s need the same number of digits; write 08-11, not 8-11", line, quoteShort(s.String()))
	case len(s.from) > rangeDigits:
		return Errorf(CodeInvalidRequest, "line %d: the ends of a range have at most %d digits", line, rangeDigits)
	case s.from > s.to:
		return Errorf(CodeInvalidRequest, "line %d: the range %s runs backwards; write the smaller number first", line, s)
	}
	from, err1 := strconv.ParseInt(s.from, 10, 64)
	to, err2 := strconv.ParseInt(s.to, 10, 64)
	if err1 != nil || err2 != nil {
		return Errorf(CodeInternal, "line %d: the range cannot be read", line)
	}
	if to-from >= int64(MaxRangeIDs-r.made) {
		return Errorf(CodeInvalidRequest, "line %d: the ranges make more than %d IDs; cut the file at ends of lines, and send it in parts, or write a longer range as several", line, MaxRangeIDs)
	}
	r.made += int(to-from) + 1
	for n := from; n <= to; n++ {
		each(SeedEntry{Line: line, Raw: fmt.Sprintf("%0*d", len(s.from), n)})
	}
	return nil
}

// warnings say how lines of two numbers were taken.
func (r *spreader) warnings() []string {
	switch {
	case r.lines == 0:
		return nil
	case r.on:
		return []string{fmt.Sprintf("%s taken as %s, %s, and written out to %s",
			several(r.lines, "line was", "lines were"), choose(r.lines == 1, "a range", "ranges"), choose(r.lines == 1, r.first, "the first "+r.first), several(r.made, "ID", "IDs"))}
	default:
		return []string{fmt.Sprintf("%s a range of numbers, %s, and %s taken as an ID, as it stands; if ranges are meant, send it anew with ranges written out",
			several(r.lines, "line looks like", "lines look like"), choose(r.lines == 1, r.first, "the first "+r.first), choose(r.lines == 1, "was", "each was"))}
	}
}

func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
