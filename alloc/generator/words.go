package generator

import (
	"strings"
	"unicode"
)

// A blocked word is looked for as a person reads: in the letters and digits of the whole ID, from its prefix to its check
// character, in whatever case, and over the separators and whatever else stands between them. So it is found where it
// stands as it is, and where a separator cuts it in two.

// readable is what of a text is read.
func readable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

// words are the blocked ones, as they are looked for.
func (c Config) words() []string {
	var words []string
	for w := range strings.FieldsSeq(c.Block) {
		words = append(words, strings.Map(unicode.ToLower, w))
	}
	return words
}

// blocked is the first blocked word that the text has; "" for none.
func (c Config) blocked(text string) string {
	text = readable(text)
	for _, w := range c.words() {
		if strings.Contains(text, w) {
			return w
		}
	}
	return ""
}

// reader is the automaton of Aho and Corasick for a set of words. A node stands for the longest end of what was read that
// is the beginning of a word. Node 0 is the empty one; nodes are in the order of their lengths, so that each stands behind the node it
// falls back to.
type reader struct {
	class   [256]int // of a byte, from 1; 0 for one that no word has
	classes int
	next    []int // node*classes + class → node
	fall    []int // the longest proper end of the node that is a node
	bad     []bool
}

func newReader(words []string) *reader {
	r := &reader{classes: 1}
	for _, w := range words {
		for i := range len(w) {
			if r.class[w[i]] == 0 {
				r.class[w[i]] = r.classes
				r.classes++
			}
		}
	}
	r.grow(words)
	r.link()
	return r
}

// grow makes the tree of the words, length by length. Nothing is grown behind a whole word.
func (r *reader) grow(words []string) {
	r.node()
	at := make([]int, len(words)) // the node of each word's beginning
	for depth, more := 0, true; more; depth++ {
		more = false
		for i, w := range words {
			if depth >= len(w) || r.bad[at[i]] {
				continue
			}
			edge := at[i]*r.classes + r.class[w[depth]]
			if r.next[edge] == 0 {
				r.next[edge] = r.node()
			}
			at[i], more = r.next[edge], true
			if depth == len(w)-1 {
				r.bad[at[i]] = true
			}
		}
	}
}

func (r *reader) node() int {
	r.next = append(r.next, make([]int, r.classes)...)
	r.fall = append(r.fall, 0)
	r.bad = append(r.bad, false)
	return len(r.bad) - 1
}

// link fills in where each node falls back to, and where it goes by the bytes that do not carry its word on.
func (r *reader) link() {
	for n := range r.bad {
		for k := range r.classes {
			edge := n*r.classes + k
			back := 0
			if n > 0 {
				back = r.next[r.fall[n]*r.classes+k]
			}
			child := r.next[edge]
			if child <= n { // none grew: children come after their node
				r.next[edge] = back
				continue
			}
			r.fall[child] = back
			r.bad[child] = r.bad[child] || r.bad[back]
		}
	}
}

func (r *reader) nodes() int { return len(r.bad) }

// read goes from a node on by a text.
func (r *reader) read(node int, text string) int {
	text = readable(text)
	for i := range len(text) {
		node = r.next[node*r.classes+r.class[text[i]]]
		if r.bad[node] {
			return node
		}
	}
	return node
}
