package alloc

import (
	"fmt"
	"time"
)

// Gaps is what an audit that goes up a ledger has met of numbers which the counter has passed, and of which the ledger has no entry. They are
// of leases that failed or were cut off between the counter and the ledger, and nobody has them; or of entries that were lost, and then somebody has:
// nothing tells the two apart. What a rebuild has left out is none: it lies between two epochs. The zero Gaps is that of before the
// first entry; as text it is what String says.
type Gaps struct {
	count      Count
	numbers    Count
	start, end Number // of the first
	next       Number // behind the highest entry until now
	epoch      Epoch  // of the last entry; 0 before the first, and after one that cannot be read, of which it is not known how far it goes
	blind      bool   // there was one
}

// gapAge is how old an entry has to be before what is missing below it counts: leases that are on their way are not there yet, and clocks may be
// wrong by five minutes; see Audits.
const gapAge = 6 * time.Minute

// Plus is the gaps after the entry that follows; start is the sequence's first number.
func (g Gaps) Plus(e LeaseRecord, start Number, now time.Time) Gaps {
	switch settled := now.Sub(e.At) >= gapAge; {
	case e.isDamaged():
		g.epoch, g.blind = 0, true
		return g
	case !settled:
	case g.epoch == 0 && !g.blind && e.Epoch == 1:
		g = g.from(start, e.Start)
	case g.epoch == e.Epoch:
		g = g.from(g.next, e.Start)
	}
	g.next, g.epoch = max(g.next, e.End.plus(1)), e.Epoch
	return g
}

// Until is the gaps at the end of the ledger, where mark is known to be used in the epoch since the time.
func (g Gaps) Until(mark Number, epoch Epoch, at, now time.Time) Gaps {
	if now.Sub(at) >= gapAge && epoch == g.epoch {
		return g.from(g.next, mark.plus(1))
	}
	return g
}

func (g Gaps) from(start, next Number) Gaps {
	n := burned(start, next)
	if n == 0 {
		return g
	}
	if g.count == 0 {
		g.start, g.end = start, next-1
	}
	g.count++
	g.numbers += n
	return g
}

// Finding tells of the gaps; ok is false where there is none.
func (g Gaps) Finding(name SequenceName) (f Finding, ok bool) {
	return Finding{Kind: FindGaps, On: string(name), Detail: fmt.Sprintf(
		"%s in the ledger, of %s, the first of %d to %d: of leases that failed or were cut off, or of entries that are lost; nothing tells which",
		several(g.count, "gap", "gaps"), several(g.numbers, "number", "numbers"), g.start, g.end)}, g.count > 0
}

// String is the gaps as GapsFrom reads them.
func (g Gaps) String() string {
	return fmt.Sprintf("%d.%d.%d.%d.%d.%d.%t", g.count, g.numbers, g.start, g.end, g.next, g.epoch, g.blind)
}

// GapsFrom reads what String has made. CodeInvalidRequest.
func GapsFrom(text string) (g Gaps, err error) {
	n, err := fmt.Sscanf(text, "%d.%d.%d.%d.%d.%d.%t", &g.count, &g.numbers, &g.start, &g.end, &g.next, &g.epoch, &g.blind)
	if err != nil || n != 7 || g.String() != text {
		return Gaps{}, Errorf(CodeInvalidRequest, "%s is no step of the audit of a sequence; begin it anew", quoteShort(text)).Because(err)
	}
	return g, nil
}
