package alloc

import (
	"fmt"
	"math/big"
	"strings"
)

// MaxRangeIDs is how many IDs the ranges of a file make at most, or those of a part where it comes in parts.
const MaxRangeIDs = 100_000

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
	case len(s.from) > MaxIDBytes:
		return Errorf(CodeInvalidRequest, "line %d: the ends of a range have at most %d digits, as an ID has", line, MaxIDBytes)
	case s.from > s.to:
		return Errorf(CodeInvalidRequest, "line %d: the range %s runs backwards; write the smaller number first", line, s)
	}
	steps := s.steps()
	if steps.Cmp(big.NewInt(int64(MaxRangeIDs-r.made))) >= 0 {
		return Errorf(CodeInvalidRequest, "line %d: the ranges make more than %d IDs; cut the file at ends of lines, and send it in parts, or write a longer range as several", line, MaxRangeIDs)
	}
	r.made += int(steps.Int64()) + 1
	for n := s.from; ; n = following(n) {
		each(SeedEntry{Line: line, Raw: n})
		if n == s.to {
			return nil
		}
	}
}

// steps is how far it is from the one end to the other, which may have more digits than any integer of the machine.
func (s span) steps() *big.Int {
	from, _ := new(big.Int).SetString(s.from, 10)
	to, _ := new(big.Int).SetString(s.to, 10)
	return to.Sub(to, from)
}

// following is the number after n, with as many digits; n is not all nines.
func following(n string) string {
	digits := []byte(n)
	for i := len(digits) - 1; ; i-- {
		if digits[i] != '9' {
			digits[i]++
			return string(digits)
		}
		digits[i] = '0'
	}
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
