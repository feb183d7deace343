package alloc

import (
	"slices"
	"time"
)

// piece is the rest of a range that was leased as a segment: next to end are to be handed out.
type piece struct {
	next, end Number
	epoch     Epoch
	at        time.Time // before the call that leased it
}

// stock is what a process has in memory of one sequence, in the order in which it was leased.
type stock []piece

// count is how many numbers there are.
func (k stock) count() Count {
	var n Count
	for _, p := range k {
		n += Count(p.end-p.next) + 1
	}
	return n
}

// pop takes the first n numbers; there are as many.
func (k *stock) pop(n Count) []Number {
	numbers := make([]Number, 0, n)
	for Count(len(numbers)) < n {
		p := &(*k)[0]
		numbers = append(numbers, p.next)
		if p.next == p.end {
			*k = (*k)[1:]
			continue
		}
		p.next++
	}
	return numbers
}

// drop removes the pieces for which is holds; their numbers become a gap.
func (k *stock) drop(is func(piece) bool) { *k = slices.DeleteFunc(*k, is) }
