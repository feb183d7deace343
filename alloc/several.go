package alloc

import "strconv"

// several is so many of a thing in words: 1 part, 2 parts.
func several[N ~int | ~int64](n N, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(int64(n), 10) + " " + more
}
