package alloc

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// What a job that takes a file leaves in the trail beside its end: that it was opened, and started with which bytes. The parts
// of its file leave none of their own.

// shownDigests is of how many parts the digests are shown, one by one.
const shownDigests = 40

// digests says which bytes the job's file has: of each part the first 16 hexadecimal digits of its SHA-256, or of one part all;
// of very many parts the SHA-256 of all their digests, a line each.
func (j Job) digests() string {
	var text strings.Builder
	switch n := len(j.Inputs); {
	case n == 1:
		return "sha256 " + j.Inputs[0].Digest
	case n > shownDigests:
		for _, in := range j.Inputs {
			text.WriteString(in.Digest + "\n")
		}
		sum := sha256.Sum256([]byte(text.String()))
		return "sha256 of their digests " + hex.EncodeToString(sum[:])
	}
	text.WriteString("sha256")
	for _, in := range j.Inputs {
		fmt.Fprintf(&text, " %.16s", in.Digest)
	}
	return text.String()
}
