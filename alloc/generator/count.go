package generator

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"slices"
	"strings"
)

// maxTable bounds the table of a counter, in words of 8 bytes.
const maxTable = 4 << 20

// counter knows how many IDs there are, and each of them by its rank. It walks an ID's characters through two automata at
// once, of the words that are blocked and of the check character, and keeps for each place and each pair of states how many ways
// lead on from there to an allowed end. Numbers have a fixed width of so many words, lowest first: addition and
// subtraction are those of the ring, and every result fits.
type counter struct {
	alphabet string
	length   int
	scheme   scheme // noScheme where no ID is refused for its check character
	reader   *reader
	value    []int // of each character of the alphabet in the scheme
	goes     []int // node*len(alphabet) + character → node
	start    int   // node behind the prefix
	width    int
	ways     [][]uint64 // at each place, (node*states + state)*width
}

// newCounter needs fields that were checked. ok is false where the table would be too large.
func newCounter(c Config) (k *counter, ok bool) {
	k = &counter{alphabet: c.drawnFrom(), length: c.Length, scheme: noScheme()}
	k.reader = newReader(c.possibleWords())
	if k.reader.nodes() > 1 || c.WithoutAmbiguous {
		k.scheme = c.scheme()
	}
	k.width = (c.strings().BitLen() + 63) / 64
	if (k.length+1)*k.reader.nodes()*k.scheme.states*k.width > maxTable {
		return nil, false
	}
	k.start = k.reader.read(0, c.Prefix)
	for i := range len(k.alphabet) {
		k.value = append(k.value, strings.IndexByte(k.scheme.symbols, k.alphabet[i]))
	}
	for node := range k.reader.nodes() {
		for i := range len(k.alphabet) {
			k.goes = append(k.goes, k.reader.read(node, k.alphabet[i:i+1]))
		}
	}
	k.count(c.WithoutAmbiguous)
	return k, true
}

// possibleWords are the blocked words without those that no ID could have.
func (c Config) possibleWords() []string {
	can := readable(c.Prefix + c.Alphabet + c.scheme().symbols)
	return slices.DeleteFunc(c.words(), func(w string) bool {
		return strings.ContainsFunc(w, func(r rune) bool { return !strings.ContainsRune(can, r) })
	})
}

// at is where the number of ways from a pair of states is, at a place.
func (k *counter) at(place, node, state int) []uint64 {
	i := (node*k.scheme.states + state) * k.width
	return k.ways[place][i : i+k.width]
}

// count fills in the table from the last place to the first.
func (k *counter) count(plain bool) {
	k.ways = make([][]uint64, k.length+1)
	for place := range k.ways {
		k.ways[place] = make([]uint64, k.reader.nodes()*k.scheme.states*k.width)
	}
	for node := range k.reader.nodes() {
		for state := range k.scheme.states {
			if k.ends(node, state, plain) {
				k.at(k.length, node, state)[0] = 1
			}
		}
	}
	turns := k.turns()
	for place := k.length - 1; place >= 0; place-- {
		for node := range k.reader.nodes() {
			if k.reader.bad[node] {
				continue
			}
			for state := range k.scheme.states {
				k.countFrom(place, node, state, turns[node])
			}
		}
	}
}

// ends reports whether the characters drawn may end in the states: the check character makes no blocked word, and is no
// ambiguous one where none is wanted.
func (k *counter) ends(node, state int, plain bool) bool {
	if k.reader.bad[node] || k.scheme.symbols == "" {
		return !k.reader.bad[node]
	}
	v := k.scheme.final(state)
	char := k.scheme.symbols[v : v+1]
	return !(plain && strings.Contains(ambiguous, char)) && !k.reader.bad[k.reader.read(node, char)]
}

// turns are, for each node, the characters by which it goes elsewhere than the node it falls back to; for node 0 all.
func (k *counter) turns() [][]int {
	turns := make([][]int, k.reader.nodes())
	for node := range turns {
		for i := range len(k.alphabet) {
			if node == 0 || k.to(node, i) != k.to(k.reader.fall[node], i) {
				turns[node] = append(turns[node], i)
			}
		}
	}
	return turns
}

func (k *counter) to(node, char int) int { return k.goes[node*len(k.alphabet)+char] }

// countFrom counts the ways from a pair of states as those from the node that it falls back to, put right for the
// characters by which the two differ. These are few, so that the whole costs about as much as the words have letters.
func (k *counter) countFrom(place, node, state int, turns []int) {
	ways := k.at(place, node, state)
	fall := k.reader.fall[node]
	if node > 0 {
		copy(ways, k.at(place, fall, state))
	}
	for _, char := range turns {
		then := k.scheme.step(state, k.value[char], k.length-1-place)
		add(ways, k.at(place+1, k.to(node, char), then))
		if node > 0 {
			subtract(ways, k.at(place+1, k.to(fall, char), then))
		}
	}
}

// total is how many IDs there are.
func (k *counter) total() *big.Int {
	ways := k.at(0, k.start, k.scheme.start)
	b := make([]byte, 0, 8*len(ways))
	for _, w := range slices.Backward(ways) {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return new(big.Int).SetBytes(b)
}

// drawn returns the characters of the ID with the rank, from 0 and below the total, in the order of the alphabet.
func (k *counter) drawn(rank *big.Int) string {
	left := make([]uint64, k.width)
	b := rank.FillBytes(make([]byte, 8*k.width))
	for i := range left {
		left[i] = binary.BigEndian.Uint64(b[8*(k.width-1-i):])
	}
	drawn := make([]byte, 0, k.length)
	node, state := k.start, k.scheme.start
	for place := range k.length {
		for char := range len(k.alphabet) {
			to, then := k.to(node, char), k.scheme.step(state, k.value[char], k.length-1-place)
			ways := k.at(place+1, to, then)
			if less(left, ways) {
				drawn = append(drawn, k.alphabet[char])
				node, state = to, then
				break
			}
			subtract(left, ways)
		}
	}
	return string(drawn)
}

func add(to, x []uint64) {
	var carry uint64
	for i := range to {
		to[i], carry = bits.Add64(to[i], x[i], carry)
	}
}

func subtract(from, x []uint64) {
	var borrow uint64
	for i := range from {
		from[i], borrow = bits.Sub64(from[i], x[i], borrow)
	}
}

func less(x, y []uint64) bool {
	for i := range slices.Backward(x) {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}
