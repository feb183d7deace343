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
type sequenceHead struct {
	alloc.Sequence
	last int64
	t    string
}

func sequenceKey(name alloc.SequenceName) Key { return Key{PK: "S#" + string(name), SK: "H"} }

// newHead is the item of a sequence that has leased nothing.
func newHead(name alloc.SequenceName, c alloc.SequenceConfig, now time.Time) Item {
	it := Item{
		"pk": sequenceKey(name).PK, "sk": sequenceKey(name).SK,
		"last": int64(c.Start) - 1, "ep": int64(1), "st": string(alloc.SequenceActive), "ver": int64(1), "born": now.UnixNano(),
		"t": string(alloc.NewToken()),
	}
	if c.PeriodOf != "" {
		it["per"] = string(c.PeriodOf)
	}
	maps.Copy(it, configAttrs(c))
	return it
}

func configAttrs(c alloc.SequenceConfig) map[string]any {
	return map[string]any{
		"lim": int64(c.Limit), "beg": int64(c.Start), "zero": c.StartAtZero,
		"maxl": int64(c.MaxLease), "seg": int64(c.Segment), "desc": c.Description, "key": c.RequireKey,
		"auto": c.AutoRebuild, "rsh": int64(c.ResumeShare),
	}
}

// readHead decodes a head. One without a counter, limit, epoch or state has been damaged by hand, which is as bad as no
// head at all: CodeSequenceStopped, never a position that was made up.
func readHead(name alloc.SequenceName, it Item) (*sequenceHead, error) {
	for _, attr := range []string{"last", "lim", "ep", "beg"} {
		if _, ok := it[attr].(int64); !ok {
			return nil, alloc.Stopped(name)
		}
	}
	if it.Str("st") == "" {
		return nil, alloc.Stopped(name)
	}
	h := &sequenceHead{last: it.Int("last"), t: it.Str("t")}
	h.Sequence = alloc.Sequence{
		Name: name,
		Config: alloc.SequenceConfig{
			Description: it.Str("desc"), Start: alloc.Number(it.Int("beg")), StartAtZero: it.Bool("zero"),
			Limit: alloc.Number(it.Int("lim")), MaxLease: alloc.Count(it.Int("maxl")), Segment: alloc.Count(it.Int("seg")),
			RequireKey: it.Bool("key"), PeriodOf: alloc.SequenceName(it.Str("per")),
			AutoRebuild: it.Bool("auto"), ResumeShare: int(it.Int("rsh")),
		}.WithDefaults(),
		State: alloc.SequenceState(it.Str("st")), Version: alloc.Version(it.Int("ver")), Epoch: alloc.Epoch(it.Int("ep")),
		Next: behind(h.last), Created: time.Unix(0, it.Int("born")).UTC(),
	}
	return h, nil
}

// behind returns the number behind last, unsigned: there is one behind the greatest, and before the first stands −1.
func behind(last int64) alloc.Number { return alloc.Number(max(last, -1)) + 1 }

// sequenceHeads is what a process remembers of heads: configuration, limit, epoch and state, so that a lease takes one
// round trip less. It is never trusted: the increment tests what it relies on, and what it would refuse by it is read
// again first.
type sequenceHeads struct{ m sync.Map } // alloc.SequenceName → *sequenceHead, which nobody changes

func (c *sequenceHeads) get(name alloc.SequenceName) *sequenceHead {
	h, _ := c.m.Load(name)
	head, _ := h.(*sequenceHead)
	return head
}

func (c *sequenceHeads) keep(h *sequenceHead) { c.m.Store(h.Name, h) }

func (c *sequenceHeads) drop(name alloc.SequenceName) { c.m.Delete(name) }
