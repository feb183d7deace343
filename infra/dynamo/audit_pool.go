package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"idpool/alloc"
)

// The verification of a pool goes over its chunks, as they stood when it began, then over the items of its IDs in a scan of
// the table. A chunk is never changed below the tail, and what an ID's item says is decided there alone: so most of what is wrong shows
// for certain where it is met. For the rest there are candidates: IDs that are free, or held without a return item. Such a one has to be
// listed in a chunk that is still to be used, and has been all the time. So they are gathered, some 100,000 at a time, and struck off by the
// chunks from the low mark to the tail of a head that is read after that; what is left is read again. See audit_pool_listed.go.
//
// What a step leaves behind, for the next one and for its own repeat, is an item of the job's, which expires as a job does:
//
//	J#job   A#run#number       data  JSON: what the audit knows after that step, and what that step has answered
//	J#job   A#run#token.part   ids   candidates that a step has gathered
//	J#job   Y#run#digest       at    the chunk for which an ID was reported as lost, so that it is once
//
// A run begins with the first step, whose repeat begins another one.
const (
	auditChunks   = 400 // chunks that a step reads of the queue with all IDs that they list
	auditSlice    = 40  // of which so many at once
	auditFindings = 200 // after so many findings a step ends
)

// poolAudit is what an audit knows after a step.
type poolAudit struct {
	Phase    auditPhase
	Sample   int
	Forgets  bool
	Deleted  bool
	Headless bool // there is no head to go by

	Latest int64 // the latest time, in milliseconds, that anything has shown which was met: it is later by now, whatever the clock here says

	// Of the head with which it began.
	Series, Base, Tail         int64
	Published, Seeded, Retired int64

	At       int64 // chunk to go on with
	Sum      int64 // listings of the chunks before it, from 0
	Added    int64 // what they count as added
	Holes    bool  // one of them is lost or damaged
	Recounts bool  // what is said of the counts was said

	Positions   []position
	Met         int64 // IDs that were there, and with them
	Loose       int64 // those that count as absent
	RetiredMet  int64
	Settled     int64 // IDs of batches that were carried to their end, of the second scan
	Pieces      []string
	Candidates  int
	Struck      bits // those that need no look any more
	Round       int
	QueueSeries int64 // of the head by which they are struck off
	QueueAt     int64
	QueueTail   int64
	QueueLow    int64
	QueueBase   int64
	Torn        bool // a chunk of it, from the low mark on, cannot be read as a whole
	SetBack     bits // candidates that a chunk below the low mark lists
}

// auditPhase is what the next step does.
type auditPhase string

const (
	auditQueue   auditPhase = "queue"   // looks at chunks
	auditIDs     auditPhase = "ids"     // scans IDs
	auditListed  auditPhase = "listed"  // strikes off candidates
	auditAgain   auditPhase = "again"   // looks at those that are left again
	auditPassed  auditPhase = "passed"  // looks which of those that are left then the queue has passed
	auditTell    auditPhase = "tell"    // reports those that are left at last
	auditRecount auditPhase = "recount" // scans IDs again, for the counts
	auditOver    auditPhase = "over"
)

// auditing is a step.
type auditing struct {
	poolAudit
	s    *Store
	pool alloc.PoolName
	job  alloc.JobID
	run  string
	step alloc.AuditStep

	ids []string // candidates that the step has gathered
}

// auditKept is the data of a step's item.
type auditKept struct {
	After poolAudit
	Step  alloc.AuditStep
}

// AuditPool implements alloc.Audits.
func (s *Store) AuditPool(ctx context.Context, pool alloc.PoolName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	a := &auditing{s: s, pool: pool, job: o.Job, run: string(alloc.NewToken())}
	if o.Step == "" {
		a.Sample = o.Sample
		if err := a.begin(ctx); err != nil {
			return alloc.AuditStep{}, err
		}
		return a.keep(ctx, 0)
	}
	run, number, _ := strings.Cut(o.Step, ".")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return alloc.AuditStep{}, internal(fmt.Errorf("%q is no step of an audit", o.Step))
	}
	a.run = run
	items, err := s.table.GetMany(ctx, []Key{a.key(n), a.key(n - 1)})
	if err != nil {
		return alloc.AuditStep{}, err
	}
	if items[0] != nil {
		kept, err := decodeAuditStep(items[0])
		return kept.Step, err
	}
	before, err := decodeAuditStep(items[1])
	if err != nil {
		return alloc.AuditStep{}, err
	}
	a.poolAudit = before.After
	if err := a.next(ctx); err != nil {
		return alloc.AuditStep{}, err
	}
	return a.keep(ctx, n)
}

func (a *auditing) key(n int) Key {
	return Key{PK: jobKey(a.job).PK, SK: fmt.Sprintf("A#%s#%08d", a.run, n)}
}

func decodeAuditStep(it Item) (kept auditKept, err error) {
	if it == nil {
		return kept, internal(errors.New("what the last step of an audit has left is gone"))
	}
	if err := json.Unmarshal(it.Bytes("data"), &kept); err != nil {
		return kept, internal(fmt.Errorf("step of an audit: %w", err))
	}
	return kept, nil
}

// keep keeps what the step leaves behind, and returns its answer: or that of the one who has done it at the same time.
func (a *auditing) keep(ctx context.Context, n int) (alloc.AuditStep, error) {
	if err := a.keepCandidates(ctx); err != nil {
		return alloc.AuditStep{}, err
	}
	if a.Phase != auditOver {
		a.step.Next = a.run + "." + strconv.Itoa(n+1)
	}
	data, err := json.Marshal(auditKept{After: a.poolAudit, Step: a.step})
	if err != nil {
		return alloc.AuditStep{}, internal(err)
	}
	old, err := a.scratch(ctx, a.key(n), Item{"data": data})
	if err != nil || old == nil {
		return a.step, err
	}
	kept, err := decodeAuditStep(old)
	return kept.Step, err
}

// scratch puts an item of the job's, unless there is one, which is returned then.
func (a *auditing) scratch(ctx context.Context, k Key, it Item) (old Item, err error) {
	it[AttrExpires] = jobExpiry(a.s.now())
	err = a.s.insist(ctx, func() error { return a.s.table.Put(ctx, item(k, it), Absent(AttrPK)) })
	if old, met := refusedBy(err); met {
		return old, nil
	}
	return nil, err
}

// next does what the phase says.
func (a *auditing) next(ctx context.Context) error {
	switch a.Phase {
	case auditQueue:
		return a.queue(ctx)
	case auditIDs, auditRecount:
		return a.scan(ctx)
	case auditListed:
		return a.strike(ctx)
	case auditAgain:
		return a.again(ctx)
	case auditPassed:
		return a.passed(ctx)
	case auditTell:
		return a.tell(ctx)
	}
	return internal(fmt.Errorf("an audit has no phase %q", a.Phase))
}

func (a *auditing) find(kind alloc.FindingKind, on string, remedy alloc.Remedy, format string, args ...any) {
	a.step.Findings = append(a.step.Findings, alloc.Finding{Kind: kind, On: on, Remedy: remedy, Detail: fmt.Sprintf(format, args...)})
}

// full reports whether the step has found as much as it may.
func (a *auditing) full() bool { return len(a.step.Findings) >= auditFindings }

// scanFrom makes the next phase one that scans the table from its beginning.
func (a *auditing) scanFrom(p auditPhase) {
	a.Phase, a.Positions = p, make([]position, scanSegments)
}
