package alloc

import (
	"cmp"
	"slices"
	"time"
)

// piece is the rest of a range that was leased as a segment: next to end are to be handed out.
type piece struct {
	next, end Number
	epoch     Epoch
	at        time.Time // before the call that leased it
}

func (p piece) count() Count { return Count(p.end-p.next) + 1 }

// follows reports whether the piece goes on where before ends, being the rest of the same lease.
func (p piece) follows(before piece) bool {
	return p.next == before.end+1 && p.epoch == before.epoch && p.at.Equal(before.at)
}

// stock is what a process has in memory of one sequence, in the order of the numbers, which is that of its leases.
type stock []piece

// count is how many numbers there are.
func (k stock) count() Count {
	var n Count
	for _, p := range k {
		n += p.count()
	}
	return n
}

// pop takes the first n numbers out; there are as many.
func (k *stock) pop(n Count) stock {
	var out stock
	for n > 0 {
		first := &(*k)[0]
		p := *first
		if have := p.count(); have > n {
			p.end = p.next + Number(n) - 1
			first.next = p.end + 1
		} else {
			*k = (*k)[1:]
		}
		out = append(out, p)
		n -= p.count()
	}
	return out
}

// put puts back what pop took out, where it belongs in the order of the numbers.
func (k *stock) put(back stock) {
	for _, p := range back {
		i, _ := slices.BinarySearchFunc(*k, p, func(a, b piece) int { return cmp.Compare(a.next, b.next) })
		if i < len(*k) && (*k)[i].follows(p) {
			(*k)[i].next = p.next
			continue
		}
		*k = slices.Insert(*k, i, p)
	}
}

// numbers lists them, in order.
func (k stock) numbers() []Number {
	all := make([]Number, 0, k.count())
	for _, p := range k {
		for n := p.next; n <= p.end; n++ {
			all = append(all, n)
		}
	}
	return all
}

// drop removes the pieces for which is holds; their numbers become a gap.
func (k *stock) drop(is func(piece) bool) { *k = slices.DeleteFunc(*k, is) }
