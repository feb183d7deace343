package alloc

import "encoding/binary"

// numbersFormat is the first byte of numbers as a key's record keeps them, so that another form can follow.
const numbersFormat = 1

// encode writes the numbers for a key's record: for each run of consecutive ones, how many numbers
// lie between it and the one before, and how many it has beyond its first. So a thousand in a row take a few bytes.
func (k stock) encode() []byte {
	b := []byte{numbersFormat}
	var next Number // the least that the next run may begin with
	for i := 0; i < len(k); {
		run := k[i]
		for i++; i < len(k) && k[i].next == run.end+1; i++ {
			run.end = k[i].end
		}
		b = binary.AppendUvarint(b, uint64(run.next-next))
		b = binary.AppendUvarint(b, uint64(run.end-run.next))
		next = run.end + 1
	}
	return b
}

// decodeNumbers reads what encode wrote: 1 to MaxNext numbers in rising order.
func decodeNumbers(b []byte) ([]Number, error) {
	bad := Errorf(CodeInternal, "the numbers kept under the Idempotency-Key cannot be read")
	if len(b) == 0 || b[0] != numbersFormat {
		return nil, bad
	}
	var numbers []Number
	var next Number
	for b = b[1:]; len(b) > 0; {
		gap, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, bad
		}
		more, m := binary.Uvarint(b[n:])
		left := uint64(MaxNext) - uint64(len(numbers))
		if m <= 0 || more >= left || next > MaxNumber || gap > uint64(MaxNumber-next) || more > uint64(MaxNumber-next)-gap {
			return nil, bad
		}
		b = b[n+m:]
		next += Number(gap)
		for range more + 1 {
			numbers = append(numbers, next)
			next++
		}
	}
	if len(numbers) == 0 {
		return nil, bad
	}
	return numbers, nil
}
