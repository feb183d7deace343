package dynamo

import (
	"context"
	"fmt"
	"time"

	"idpool/alloc"
)

// A rebuild makes the pool's queue anew from the items of its IDs, which are the truth, in a series of chunks of its own.
//
//  1. The item P#pool M says which job rebuilds the pool, in which series, and which step is next. It is changed on condition
//     of all three. While it says that a rebuild is on, it also has the configuration that the head will have.
//  2. The head is marked, or made anew and marked where it is lost. From then on nobody else changes it: every update of a head tests
//     that it has no mark.
//  3. Steps look back at what the old series has passed, for IDs that were set back to free; see rebuild_pool_back.go.
//  4. A step scans a stretch of the table. What is to be listed of it is put into an item, the step's page, if there is none:
//     the first one stands. Then the chunks that the page names are put, if absent, and last M says that the step is done.
//     So whoever does a step again, at the same time or hours later, writes the same chunks or none. Chunks of what can be claimed, now or
//     when it has come back, are numbered up from 0; those of what is settled down from −1: nobody leases them, but each ID is
//     listed once, and a walk and the repeat of a seeding find it.
//  5. The head is replaced, on condition of the mark and the old series, by one of the new series.
//
// What set out for the old series, and arrives after that, finds another series in the head and is refused; a chunk that it puts
// is in no queue. What the scan has missed, as it was put after it had passed, belongs to a seeding that cannot have
// published it: the head was marked. So its batch is open, and its repeat lists what the new series does not.
//
// A rebuild that is abandoned leaves the old series as it was. M says so first, and then the head counts it (AttrAbandons), on
// which a mark is conditional that is set by who has read the head before M. So no mark comes after that.

// attrPositions is where each segment of the scan goes on, of the rebuild's state and of a page; see position.
const attrPositions = "ps"

// Attributes of the rebuild's state that nothing else has.
const (
	attrChange  = "mv" // raised with every change
	attrOld     = "os" // the series that is replaced; 0 where it is not known
	attrStep    = "sn" // the step that is next; 0 until the head is marked
	attrGiven   = "ab" // the job whose rebuild was abandoned last
	attrSize    = "tt" // how many IDs the pool had, as far as was known
	attrExpect  = "xp" // how many of them the scan will meet: without those that the pool has forgotten
	attrScan    = "lm" // how many items a segment reads at once
	attrOffered = "nf" // how many of the IDs met are free or returning,
	attrNHeld   = "nh" // held,
	attrNTaken  = "nc" // claimed,
	attrNReturn = "nr" // returning,
	attrNOut    = "nx" // retired, and of these
	attrNLost   = "nl" // lost
)

// Attributes of a page, of either kind.
const (
	attrLooked = "lk" // IDs that the step has looked at
	attrLeft   = "lf" // how many there were to look at after it, as far as was known
)

// What the state says of a rebuild.
const (
	rebuildOn    = "o"
	rebuildDone  = "d"
	rebuildEnded = "e" // abandoned
)

// desertedAfter is how long the rebuild of a job that is gone has stood still when another takes its place.
const desertedAfter = time.Hour

// rebuilding is the state of a pool's rebuild as it was read.
type rebuilding struct {
	it     Item // nil where the pool never had one
	pool   alloc.PoolName
	job    string
	phase  string
	series int64
	old    int64
	step   int64

	tail, base int64 // chunks of the new series: numbered up from 0, and down from −1
	published  int64 // listings in the former
	met        int64 // IDs listed in both
	counts     tally
	size       int64
	expect     int64
	scan       int64
	positions  []position
	at         time.Time
	back       lookedBack
}

func decodeRebuilding(pool alloc.PoolName, it Item) *rebuilding {
	r := &rebuilding{
		it: it, pool: pool, job: it.Str(AttrJob), phase: it.Str(AttrState), series: it.Int(AttrSeries), old: it.Int(attrOld), step: it.Int(attrStep),
		tail: it.Int(AttrTail), base: it.Int(AttrBase), published: it.Int(AttrPublished), met: it.Int(AttrSeeded),
		size: it.Int(attrSize), expect: it.Int(attrExpect), scan: it.Int(attrScan), at: fromMilli(it.Int(AttrDue)),
	}
	for i, name := range tallyAttrs {
		r.counts[i] = it.Int(name)
	}
	r.back = decodeBack(it)
	for _, text := range it.List(attrPositions) {
		r.positions = append(r.positions, position(text))
	}
	return r
}

func (r *rebuilding) on() bool { return r.phase == rebuildOn }

// scanned reports whether the scan has come to its end.
func (r *rebuilding) scanned() bool {
	for _, p := range r.positions {
		if p != scanEnd {
			return false
		}
	}
	return true
}

// total is how many IDs will be met in all, where that is known; 0 where there are more than was known, with those that a step has met, and
// in a pool that forgets.
func (r *rebuilding) total(more int64) alloc.Count {
	if r.met+more > r.size || r.forgets() {
		return 0
	}
	return alloc.Count(r.size)
}

func (r *rebuilding) forgets() bool { return r.it.Str(AttrPolicy) == string(alloc.PolicyForget) }

// toScan is how many IDs the scan is still to meet when it has met more than the state says, as far as is known.
func (r *rebuilding) toScan(more int64) int64 { return max(0, r.expect-r.met-more) }

// ended is what the last step has done. What was counted and is neither met nor listed is missing; what was forgotten is like that too.
func (r *rebuilding) ended() alloc.PoolRebuilt {
	done := alloc.PoolRebuilt{Total: r.total(0)}
	if !r.forgets() {
		done.Tally.Missing = alloc.Count(max(0, r.size-r.met))
	}
	return done
}

// mark names the step that is next.
func (r *rebuilding) mark() string { return stepMark(r.series, r.step) }

func stepMark(series, step int64) string { return fmt.Sprintf("%d.%d", series, step) }

// asked is the step that a mark names, of this very series.
func (r *rebuilding) asked(mark string) (step int64, ok bool) {
	var series int64
	n, err := fmt.Sscanf(mark, "%d.%d", &series, &step)
	return step, err == nil && n == 2 && series == r.series && step > 0
}

// advance says that the step is done and sets what has come of it, if it is still the one that is next. Where it is not, another has done it.
func (s *Store) advance(ctx context.Context, r *rebuilding, set map[string]any) error {
	set[AttrDue] = s.now().UnixMilli()
	err := s.insist(ctx, func() error {
		_, err := s.table.Update(ctx, rebuildKey(r.pool), Update{Set: set, Add: map[string]int64{attrChange: 1}, Quiet: true},
			All(Eq(AttrJob, r.job), Eq(AttrSeries, r.series), Eq(AttrState, rebuildOn), Eq(attrStep, r.step)))
		return err
	})
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}

// tally counts IDs, in the order of tallyAttrs.
type tally [6]int64

var tallyAttrs = [...]string{attrOffered, attrNHeld, attrNTaken, attrNReturn, attrNOut, attrNLost}

const (
	tallyNone = iota - 1
	tallyFree
	tallyHeld
	tallyClaimed
	tallyReturning
	tallyRetired
	tallyLost
)

func (t tally) plus(u tally) tally {
	for i, n := range u {
		t[i] += n
	}
	return t
}

func (t tally) in(set map[string]any) map[string]any {
	for i, name := range tallyAttrs {
		set[name] = t[i]
	}
	return set
}

func (t tally) of() alloc.Tally {
	return alloc.Tally{
		Free: alloc.Count(t[tallyFree]), Held: alloc.Count(t[tallyHeld]), Claimed: alloc.Count(t[tallyClaimed]),
		Returning: alloc.Count(t[tallyReturning]), Retired: alloc.Count(t[tallyRetired]), Lost: alloc.Count(t[tallyLost]),
	}
}

// RebuildPool implements alloc.Repairs.
func (s *Store) RebuildPool(ctx context.Context, o alloc.PoolRebuildOrder) (alloc.PoolRebuilt, error) {
	if o.Job == "" {
		return alloc.PoolRebuilt{}, alloc.Errorf(alloc.CodeInvalidRequest, "a rebuild must name its job")
	}
	for try := range changeTries {
		c, err := s.poolCondition(ctx, o.Pool)
		if err != nil {
			return alloc.PoolRebuilt{}, err
		}
		r := c.rebuild
		switch {
		case r.it.Str(attrGiven) == string(o.Job), r.job == string(o.Job) && r.phase == rebuildEnded:
			return alloc.PoolRebuilt{}, rebuildGiven(o.Pool)
		case r.job == string(o.Job) && r.phase == rebuildDone:
			return s.repeated(ctx, r, o.Step)
		case r.on() && r.job == string(o.Job):
		case o.Step != "" && r.job != "":
			return alloc.PoolRebuilt{}, rebuildGiven(o.Pool) // another has taken its place
		case try > 0:
			return alloc.PoolRebuilt{}, poolContended(o.Pool) // whether it is still to begin its caller has to look
		default:
			if err := s.beginRebuild(ctx, c, o); err != nil {
				return alloc.PoolRebuilt{}, err
			}
			continue
		}
		if r.step == 0 {
			if err := s.markHead(ctx, c); err != nil {
				return alloc.PoolRebuilt{}, err
			}
			continue
		}
		if step, ok := r.asked(o.Step); ok && step < r.step {
			return s.repeated(ctx, r, o.Step)
		}
		if o.Step == "" {
			return alloc.PoolRebuilt{Next: r.mark(), Total: r.total(0), Left: alloc.Count(r.back.left() + r.toScan(0))}, nil
		}
		done, again, err := s.rebuildStep(ctx, r)
		if err != nil || !again {
			return done, err
		}
	}
	return alloc.PoolRebuilt{}, poolContended(o.Pool)
}

// rebuildStep does the step that is next. again says that the rebuild has begun anew.
func (s *Store) rebuildStep(ctx context.Context, r *rebuilding) (done alloc.PoolRebuilt, again bool, err error) {
	if r.looksBack() {
		done, err = s.backStep(ctx, r)
		return done, false, err
	}
	if r.scanned() {
		again, err = s.switchSeries(ctx, r)
		return r.ended(), again, err
	}
	p, err := s.pageOf(ctx, r)
	if err != nil {
		return alloc.PoolRebuilt{}, false, err
	}
	if err := s.putChunks(ctx, r, p); err != nil {
		return alloc.PoolRebuilt{}, false, err
	}
	if err := s.advance(ctx, r, p.after(r)); err != nil {
		return alloc.PoolRebuilt{}, false, err
	}
	// Where another has moved it on, that was by this very page.
	return p.done(r, stepMark(r.series, r.step+1)), false, nil
}

// repeated answers a step that was done before.
func (s *Store) repeated(ctx context.Context, r *rebuilding, mark string) (alloc.PoolRebuilt, error) {
	step, ok := r.asked(mark)
	if !ok || step >= r.step {
		return r.ended(), nil // of a rebuild that is done, and only of that
	}
	items, err := s.table.GetMany(ctx, []Key{rebuiltPageKey(r.pool, r.series, step), backPageKey(r.pool, r.series, step)})
	if err != nil {
		return alloc.PoolRebuilt{}, err
	}
	if items[0] == nil && items[1] != nil {
		return r.backDone(items[1], step), nil
	}
	return decodePage(items[0]).done(r, stepMark(r.series, step+1)), nil
}

func rebuildGiven(pool alloc.PoolName) *alloc.Error {
	return alloc.Errorf(alloc.CodeJobEnded, "the rebuild of the pool %q by this job is over; begin another one", pool)
}
