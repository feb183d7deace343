package dynamo

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"idpool/alloc"
)

// auditEntries is how many entries of a ledger one step of an audit reads.
const auditEntries = 1000

// ledgerAudit is how far the audit of a sequence has come. Its text is the step's mark: all that a later step is to know.
type ledgerAudit struct {
	mark  string      // sort key of the last entry read
	reach int64       // greatest end of the proven entries; −1 for none
	epoch alloc.Epoch // the latest of all entries
	top   int64       // greatest end of its entries
	gaps  alloc.Gaps

	step alloc.AuditStep
}

func (a *ledgerAudit) String() string {
	return fmt.Sprintf("%d %d %d %s %s", a.reach, a.epoch, a.top, a.gaps, a.mark)
}

func auditFrom(step string) (*ledgerAudit, error) {
	a := &ledgerAudit{reach: -1, top: -1}
	if step == "" {
		return a, nil
	}
	parts := strings.SplitN(step, " ", 5)
	var err1, err2, err3, err4 error
	if len(parts) == 5 {
		var epoch int64
		a.reach, err1 = strconv.ParseInt(parts[0], 10, 64)
		epoch, err2 = strconv.ParseInt(parts[1], 10, 64)
		a.top, err3 = strconv.ParseInt(parts[2], 10, 64)
		a.gaps, err4 = alloc.GapsFrom(parts[3])
		a.epoch, a.mark = alloc.Epoch(epoch), parts[4]
	}
	if len(parts) != 5 || err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return nil, alloc.Errorf(alloc.CodeInvalidRequest, "%q is no step of the audit of a sequence; begin it anew", step)
	}
	return a, nil
}

// AuditSequence implements alloc.Audits. Each step reads a stretch of the ledger, and then the head: a healthy counter was raised before an
// entry was put, and never falls, so whatever was read before it is below it. The last step judges the counter by all of the ledger.
func (s *Store) AuditSequence(ctx context.Context, name alloc.SequenceName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	a, err := auditFrom(o.Step)
	if err != nil {
		return alloc.AuditStep{}, err
	}
	items, next, err := s.ledgerPage(ctx, name, a.mark, auditEntries)
	if err != nil {
		return alloc.AuditStep{}, err
	}
	mark, err := s.table.Get(ctx, markKey(name))
	if err != nil {
		return alloc.AuditStep{}, err
	}
	h, err := s.headAfter(ctx, name)
	if err != nil {
		return alloc.AuditStep{}, err
	}
	for i, it := range items {
		a.entry(h, it, next == "" && i == len(items)-1, o.Sample)
		a.gap(h, it, s.now())
	}
	if a.mark = next; next != "" {
		a.step.Next = a.String()
	} else {
		a.counter(name, h, highWaterOf(mark))
		a.lacks(name, highWaterOf(mark), s.now())
	}
	return a.step, nil
}

// headAfter reads the head, after all else; nil where it is lost or damaged.
func (s *Store) headAfter(ctx context.Context, name alloc.SequenceName) (*sequenceHead, error) {
	h, err := s.sequenceHead(ctx, name)
	if alloc.Is(err, alloc.CodeSequenceStopped) {
		return nil, nil
	}
	return h, err
}

func (a *ledgerAudit) found(kind alloc.FindingKind, on string, remedy alloc.Remedy, format string, args ...any) {
	a.step.Findings = append(a.step.Findings, alloc.Finding{Kind: kind, On: on, Detail: fmt.Sprintf(format, args...), Remedy: remedy})
}

// entry looks at one entry, if it is drawn; last says that none is above it. What it shows of the whole ledger is noted of each.
func (a *ledgerAudit) entry(h *sequenceHead, it Item, last bool, sample int) {
	r, fault := ledgerRecord(it)
	if isDrawn(it.Str("sk"), sample) {
		a.step.Done++
		a.judge(h, it.Str("sk"), r, fault, last)
	}
	if fault != "" {
		return
	}
	if r.Proven {
		a.reach = max(a.reach, int64(r.End))
	}
	switch {
	case r.Epoch > a.epoch:
		a.epoch, a.top = r.Epoch, int64(r.End)
	case r.Epoch == a.epoch:
		a.top = max(a.top, int64(r.End))
	}
}

func (a *ledgerAudit) judge(h *sequenceHead, sk string, r alloc.LeaseRecord, fault string, last bool) {
	switch {
	case fault != "":
		// A lease stops at the last entry where it cannot be read, unless the counter was put above it since.
		mends := h != nil && (r.Start >= h.Next || h.State == alloc.SequenceStopped || last && int64(r.Start) > h.base)
		remedy, advice := alloc.Unreadable(mends)
		a.found(alloc.FindLease, sk, remedy, "the entry cannot be read: %s; %s", fault, advice)
	case r.Proven && int64(r.Start) <= a.reach:
		a.found(alloc.FindOverlap, sk, alloc.RemedyNone, "the lease of %d to %d overlaps one that begins before it; numbers up to %d were leased there", r.Start, r.End, a.reach)
	case h != nil && (r.Start < h.Config.Start || r.End > h.Config.Limit):
		a.found(alloc.FindLease, sk, alloc.RemedyNone, "the lease of %d to %d is outside of the sequence, which has the numbers %d to %d", r.Start, r.End, h.Config.Start, h.Config.Limit)
	}
}

// gap notes whether the ledger lacks something before the entry.
func (a *ledgerAudit) gap(h *sequenceHead, it Item, now time.Time) {
	r, _ := ledgerRecord(it)
	start := r.Start // of a sequence whose first number is not known nothing is missing before the first entry
	if h != nil {
		start = h.Config.Start
	}
	a.gaps = a.gaps.Plus(r, start, now)
}

// lacks tells what the ledger lacks.
func (a *ledgerAudit) lacks(name alloc.SequenceName, mark highWater, now time.Time) {
	if mark.last > noMark {
		a.gaps = a.gaps.Until(alloc.Number(mark.last), mark.epoch, mark.at, now)
	}
	if f, ok := a.gaps.Finding(name); ok {
		a.step.Findings = append(a.step.Findings, f)
	}
}

// counter judges the counter by all that the ledger and the mark have shown.
func (a *ledgerAudit) counter(name alloc.SequenceName, h *sequenceHead, mark highWater) {
	on := string(name)
	if h == nil {
		a.found(alloc.FindCounter, on, alloc.RemedyRebuild, "the counter is lost or damaged")
		return
	}
	used := max(a.reach, h.base)
	if a.epoch >= h.Epoch {
		used = max(used, a.top)
	}
	switch {
	case max(a.epoch, mark.epoch) > h.Epoch:
		a.found(alloc.FindCounter, on, alloc.RemedyRebuild, "the counter is of the epoch %d, and there are leases or a mark of the epoch %d", h.Epoch, max(a.epoch, mark.epoch))
	case used > h.last:
		a.found(alloc.FindCounter, on, alloc.RemedyRebuild, "the counter would give %d next, and %d is leased, or given up", h.Next, used)
	}
	if mark.last > h.last {
		a.found(alloc.FindMark, on, alloc.RemedyRebuild, "the counter would give %d next, and the high-water mark says that %d is used", h.Next, mark.last)
	}
}

// isDrawn reports whether what is named is in a sample of so many percent: always the same.
func isDrawn(name string, percent int) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never returns an error
	return int(h.Sum32()%100) < percent
}
