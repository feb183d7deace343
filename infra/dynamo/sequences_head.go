package dynamo

import (
	"maps"
	"sync"
	"time"

	"idpool/alloc"
)

// The head of a sequence is the item S#NAME / H:
//
//	last  highest number leased; start − 1 at first, so that every position fits a signed number
//	lim   configured limit         ep   epoch          st    state
//	beg   configured start         zero it may be 0    maxl  greatest lease     seg  segment    desc  description
//	key   a lease must have a key; absent in heads from before there was that, as are the next two
//	auto  the schedule rebuilds it      rsh  percent of the callers that it serves first after that
//	per   of which sequence the refill made it to count a period; absent for none
//	ver   version of the configuration                 born  when it was made, in nanoseconds
//	t     token of the last lease (of the creation, until there is one), by which a repeated write knows itself
//
// What a rebuild leaves in it is absent until there is one:
//
//	rb   the rebuild that froze it last            re  the rebuild that let it go last
//	rt   a fresh token of each step of a rebuild: a write of one that comes late fails
//	was  of a frozen one: the state before; absent once the counter was restarted       shr  of a resuming one: percent of the callers
//	met  of a frozen one: a lease that was under way has met another's numbers; as was
//	base last number before the first of the epoch: numbers up to it are given up or somebody's, whatever the ledger says
type sequenceHead struct {
	alloc.Sequence
	last int64
	t    string

	froze alloc.JobID // rb
	ended alloc.JobID // re
	step  string      // rt
	was   alloc.SequenceState
	met   bool
	base  int64

	// mark is a number that was known to be used at markAt, by the high-water mark; noMark for none.
	mark   int64
	markAt time.Time
}

// noMark is below every number.
const noMark int64 = -1

func sequenceKey(name alloc.SequenceName) Key { return Key{PK: "S#" + string(name), SK: skHead} }

// newHead is the item of a sequence that has leased nothing.
func newHead(name alloc.SequenceName, c alloc.SequenceConfig, born alloc.SequenceState, now time.Time) Item {
	it := item(sequenceKey(name), Item{
		"last": int64(c.Start) - 1, "ep": int64(1), "st": string(born), "ver": int64(1), "born": now.UnixNano(),
		"t": string(alloc.NewToken()),
	})
	maps.Copy(it, wholeConfigAttrs(c))
	return it
}

// configAttrs is the part of a configuration that ChangeSequence may change, and the start.
func configAttrs(c alloc.SequenceConfig) map[string]any {
	return map[string]any{
		"lim": int64(c.Limit), "beg": int64(c.Start), "zero": c.StartAtZero,
		"maxl": int64(c.MaxLease), "seg": int64(c.Segment), "desc": c.Description, "key": c.RequireKey,
		"auto": c.AutoRebuild, "rsh": int64(c.ResumeShare),
	}
}

func wholeConfigAttrs(c alloc.SequenceConfig) map[string]any {
	set := configAttrs(c)
	if c.PeriodOf != "" {
		set["per"] = string(c.PeriodOf)
	}
	return set
}

// Attributes without which there is no configuration, and no head. The others may be absent; of another type they are as bad.
var (
	configNumbers = []string{"lim", "beg", "maxl", "seg", "ver"}
	headNumbers   = []string{"last", "ep"}
)

func hasNumbers(it Item, attrs []string) bool {
	for _, attr := range attrs {
		if _, ok := it[attr].(int64); !ok {
			return false
		}
	}
	return true
}

// absentOr reports whether each attribute is missing or of the type.
func absentOr[T any](it Item, attrs ...string) bool {
	for _, attr := range attrs {
		if v, there := it[attr]; there {
			if _, ok := v.(T); !ok {
				return false
			}
		}
	}
	return true
}

// configOf reads a configuration with its version, of a head or of the copy; ok is false where it is damaged.
func configOf(it Item) (c alloc.SequenceConfig, v alloc.Version, ok bool) {
	ok = hasNumbers(it, configNumbers) && absentOr[bool](it, "zero", "key", "auto") && absentOr[string](it, "desc", "per") &&
		absentOr[int64](it, "rsh") && it.Int("beg") >= 0 && it.Int("lim") >= 0 && it.Int("ver") > 0
	if !ok {
		return alloc.SequenceConfig{}, 0, false
	}
	c = alloc.SequenceConfig{
		Description: it.Str("desc"), Start: alloc.Number(it.Int("beg")), StartAtZero: it.Bool("zero"),
		Limit: alloc.Number(it.Int("lim")), MaxLease: alloc.Count(it.Int("maxl")), Segment: alloc.Count(it.Int("seg")),
		RequireKey: it.Bool("key"), PeriodOf: alloc.SequenceName(it.Str("per")),
		AutoRebuild: it.Bool("auto"), ResumeShare: int(it.Int("rsh")),
	}.WithDefaults()
	return c, alloc.Version(it.Int("ver")), true
}

// isSequenceState reports whether a head may be in the state.
func isSequenceState(st string) bool {
	switch alloc.SequenceState(st) {
	case alloc.SequenceActive, alloc.SequencePaused, alloc.SequenceStopped, alloc.SequenceDeleted, alloc.SequenceFrozen, alloc.SequenceResuming:
		return true
	}
	return false
}

// readHead decodes a head. One of which an attribute is missing that all have, or of another type, has been damaged by hand,
// which is as bad as no head at all: CodeSequenceStopped, never a position that was made up.
func readHead(name alloc.SequenceName, it Item) (*sequenceHead, error) {
	config, version, ok := configOf(it)
	if !ok || !hasNumbers(it, headNumbers) || !isSequenceState(it.Str("st")) || it.Int("ep") < 1 ||
		!absentOr[string](it, "t", "rb", "re", "rt", "was") || !absentOr[int64](it, "born", "shr", "base") || !absentOr[bool](it, "met") {
		return nil, alloc.Stopped(name)
	}
	h := &sequenceHead{
		last: it.Int("last"), t: it.Str("t"), froze: alloc.JobID(it.Str("rb")), ended: alloc.JobID(it.Str("re")), step: it.Str("rt"),
		was: alloc.SequenceState(it.Str("was")), met: it.Bool("met"), base: noMark, mark: noMark,
	}
	if base, ok := it["base"].(int64); ok {
		h.base = base
	}
	h.Sequence = alloc.Sequence{
		Name: name, Config: config, State: alloc.SequenceState(it.Str("st")), Version: version, Epoch: alloc.Epoch(it.Int("ep")),
		Next: behind(h.last), Created: time.Unix(0, it.Int("born")).UTC(),
	}
	switch h.State {
	case alloc.SequenceResuming:
		h.Share, h.Rebuild = int(it.Int("shr")), h.froze
	case alloc.SequenceFrozen:
		h.Rebuild = h.froze
	}
	return h, nil
}

// behind returns the number behind last, unsigned: there is one behind the greatest, and before the first stands −1.
func behind(last int64) alloc.Number { return alloc.Number(max(last, -1)) + 1 }

// markAge is for how long a process relies on the mark that it has read. A sequence that is leased from more seldom costs a read
// more a lease.
const markAge = time.Minute

// sequenceHeads is what a process remembers of heads: configuration, limit, epoch and state, so that a lease takes one
// round trip less. It is never trusted: the increment tests what it relies on, and what it would refuse by it is read
// again first.
type sequenceHeads struct{ m sync.Map } // alloc.SequenceName → *sequenceHead, which nobody changes

// get returns what is remembered, nil for nothing; one whose mark is too old counts as forgotten.
func (c *sequenceHeads) get(name alloc.SequenceName, now time.Time) *sequenceHead {
	v, _ := c.m.Load(name)
	h, _ := v.(*sequenceHead)
	if h == nil || now.Sub(h.markAt) >= markAge || h.markAt.After(now) {
		return nil
	}
	return h
}

func (c *sequenceHeads) keep(h *sequenceHead) { c.m.Store(h.Name, h) }

func (c *sequenceHeads) drop(name alloc.SequenceName) { c.m.Delete(name) }
