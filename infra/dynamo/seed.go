package dynamo

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"strconv"
	"time"

	"idpool/alloc"
)

const (
	// groupSize is how many IDs of a batch are put before any of them is published. Groups are published in order. It is a
	// multiple of 8: no two groups share a byte of seeding.theirs.
	groupSize = 16 * maxListings

	// groupsAhead is how many groups are being put while one is published, and seedWidth how many puts are under way.
	groupsAhead = 2
	seedWidth   = 32

	// seedTries bounds how often a run begins anew because another took the batch over, and takeoverAfter is how long
	// it lets that one be without seeing it get on.
	seedTries     = 20
	takeoverAfter = 2 * time.Second
	takeoverPoll  = 50 * time.Millisecond

	// maxJobBytes is the longest name of a job that an ID's item has room for; a longer one stands there by its digest.
	maxJobBytes = 32

	// maxRefillBytes is how long an ID of a batch with UpTo may be.
	maxRefillBytes = 128
)

// errTakenOver says that another run is at work on the batch.
var errTakenOver = errors.New("another run has taken the batch over")

// Seed implements alloc.Claims. Every ID is put if the pool does not know it, then listed in chunks, and the batch's
// record says how far that is. A run that repeats one that was cut off takes the record over, closes the tail to that one,
// knows the IDs that the batch has put, and finds in the chunks since then which of them are listed. So each ID is counted
// once, and a pool that forgets does not put again what was claimed meanwhile.
func (s *Store) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	if err := checkBatch(b); err != nil {
		return nil, err
	}
	for range seedTries {
		h, err := s.poolHead(ctx, b.Pool)
		if err != nil {
			return nil, err
		}
		if err := h.pool.CheckSeed(); err != nil {
			return nil, err
		}
		if h.rebuilding {
			return nil, poolRebuilding(b.Pool)
		}
		sd := newSeeding(s, b, h)
		outcomes, err := sd.run(ctx)
		if !errors.Is(err, errTakenOver) {
			return outcomes, err
		}
		if err := sd.letBe(ctx); err != nil {
			return nil, err
		}
	}
	return nil, unsettled(poolContended(b.Pool))
}

func checkBatch(b alloc.SeedBatch) error {
	most, longest := alloc.MaxSeedIDs, alloc.MaxIDBytes
	if b.UpTo != 0 {
		most, longest = alloc.MaxRefillIDs, maxRefillBytes
	}
	if len(b.IDs) < 1 || len(b.IDs) > most || b.Job == "" || b.UpTo < 0 {
		return alloc.Errorf(alloc.CodeInvalidRequest, "a seeding must name its job and have 1 to %d IDs", most)
	}
	seen := make(map[alloc.ID]bool, len(b.IDs))
	for _, id := range b.IDs {
		if len(id) > longest {
			return alloc.Errorf(alloc.CodeInvalidRequest, "an ID of this seeding may have %d bytes at most", longest)
		}
		if seen[id] {
			return alloc.Errorf(alloc.CodeInvalidRequest, "a seeding must name each ID once")
		}
		seen[id] = true
	}
	return nil
}

// seeding is one run over a batch.
type seeding struct {
	s       *Store
	pool    alloc.PoolName
	forget  bool
	job     string // as it stands in the items
	key     Key    // of the batch's record
	tag     string // of the batch, in its IDs and chunks
	ids     []alloc.ID
	keyless bool // see alloc.SeedBatch
	upTo    int64

	token    string // token of this run
	gen      int64  // generation that new IDs begin with: the second of the job's beginning in a pool that forgets, else 0
	from     int64  // first chunk that may publish the batch
	series   int64
	marked   int                // IDs, from the first, that were put before, and may have been published
	again    bool               // it was carried to its end before
	tried    bool               // some of the batch may have been published before
	cutOff   bool               // by a run that may be at work still: see findListed
	fills    bool               // a run of the batch had UpTo, and may have let go what it had put
	turn     int64              // how many runs were at work before this one
	met      Item               // the batch's record as this run has met it; nil where it has opened it
	clean    bool               // what was put before was listed too, as far as anybody knows; see batchParked
	listed   map[alloc.ID]int64 // of which generation at most, by chunks of this batch before this run
	theirs   bits               // of the IDs marked, those that others have put, or that were let go
	mixed    bool               // there were some
	head     *head              // as last seen
	outcomes []alloc.SeedOutcome
	puts     slot // as wide as seedWidth

	others map[string]*otherJob // jobs whose IDs were met
}

func newSeeding(s *Store, b alloc.SeedBatch, h *head) *seeding {
	job := string(b.Job)
	if len(job) > maxJobBytes {
		job = digestOf(job)[:maxJobBytes-10]
	}
	parts := make([]string, 0, len(b.IDs)+1)
	parts = append(parts, job)
	for _, id := range b.IDs {
		parts = append(parts, string(id))
	}
	digest := digestOf(parts...)
	return &seeding{
		s: s, pool: b.Pool, forget: h.pool.Config.Policy == alloc.PolicyForget, job: job,
		key: batchKey(job, b.Pool, digest), tag: digest[:6], ids: b.IDs, keyless: b.Keyless, upTo: int64(b.UpTo), token: string(alloc.NewToken()), head: h,
		outcomes: make([]alloc.SeedOutcome, len(b.IDs)), theirs: make(bits, (len(b.IDs)+7)/8), puts: make(slot, seedWidth), others: map[string]*otherJob{},
	}
}

func digestOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		io.WriteString(h, strconv.Itoa(len(p))+":"+p) //nolint:errcheck // a hash never fails
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// begin opens the batch's record, or takes it over from a run that was cut off. finisher is the run that has carried it
// to its end, if one has.
func (sd *seeding) begin(ctx context.Context) (finisher string, err error) {
	it := item(sd.key, Item{
		AttrState: batchOpen, AttrRun: sd.token, AttrFrom: sd.head.tl, AttrSeries: sd.head.series,
		AttrGeneration: sd.s.now().Unix(), AttrMarked: int64(0),
	})
	if sd.upTo > 0 {
		it[AttrUpTo] = sd.upTo
	}
	err = sd.insist(ctx, func() error { return sd.s.table.Put(ctx, it, Absent(AttrPK)) })
	old, met := refusedBy(err)
	switch {
	case err != nil && !met:
		return "", err
	case !met, old.Str(AttrRun) == sd.token:
		sd.know(it)
		sd.clean = true
		return "", nil
	}
	sd.met = old
	if old.Str(AttrState) == batchDone {
		return old.Str(AttrRun), nil
	}
	sd.clean = old.Str(AttrState) == batchParked
	return "", sd.takeOver(ctx)
}

// takeOver makes this run the one at work on a batch that was cut off, or carried to its end.
func (sd *seeding) takeOver(ctx context.Context) error {
	var it Item
	from, state, turn := sd.met.Str(AttrRun), sd.met.Str(AttrState), sd.met.Int(AttrTurn)
	set := map[string]any{AttrRun: sd.token, AttrState: batchOpen, AttrTurn: turn + 1}
	if sd.upTo > 0 {
		set[AttrUpTo] = sd.upTo
	}
	if state == batchDone {
		set[AttrAgain] = true
	}
	err := sd.insist(ctx, func() (err error) {
		it, err = sd.s.table.Update(ctx, sd.key, Update{Set: set},
			All(Eq(AttrRun, from), Eq(AttrState, state), countIs(AttrTurn, turn)))
		return err
	})
	if now, met := refusedBy(err); met {
		if now.Str(AttrRun) != sd.token {
			return errTakenOver
		}
		it = now
	} else if err != nil {
		return err
	}
	sd.know(it)
	sd.cutOff = from != "" && state == batchOpen
	return nil
}

func (sd *seeding) know(it Item) {
	sd.from, sd.series, sd.marked, sd.tried = it.Int(AttrFrom), it.Int(AttrSeries), int(it.Int(AttrMarked)), it.Bool(AttrTried)
	sd.turn, sd.fills, sd.again = it.Int(AttrTurn), it.Int(AttrUpTo) > 0, it.Bool(AttrAgain)
	sd.gen = 0
	if sd.forget {
		// The second in which this run began, not the one of the batch's first: when a batch goes on days later, an ID of
		// it may have been listed by another, claimed, forgotten and removed. What it is put as then is a life of its own.
		sd.gen = max(it.Int(AttrGeneration), sd.s.now().Unix())
	}
	sd.mixed = it.Str(AttrOthers) != ""
	if others, err := base64.RawURLEncoding.DecodeString(it.Str(AttrOthers)); err == nil {
		copy(sd.theirs, others)
	}
}

// ownTag names the batch and this run in the items of IDs that it puts in the place of others.
func (sd *seeding) ownTag() string { return sd.tag + "/" + runTag(sd.token) }

// runTag is the part of a run's token by which an ID names it.
func runTag(token string) string { return token[:min(6, len(token))] }

// mark writes into the record how many IDs of the batch are put, and which of them by others, if this run is still the
// one at work: whoever repeats the batch from now on closes the tail to this run and looks for the IDs among the
// published. It is asked after the tail is known and before a chunk is placed at it, and before an ID is let go. So the
// chunk finds its place taken by the run that came later or is found by it, and the ID is not let go once that has taken
// it: see findListed and take.
func (sd *seeding) mark(ctx context.Context, put int) error {
	set := map[string]any{AttrMarked: int64(max(sd.marked, put)), AttrTried: true}
	if sd.mixed = sd.mixed || sd.theirs.any(); sd.mixed {
		set[AttrOthers] = sd.encodeTheirs()
	}
	if met, _, err := sd.update(ctx, set); met || err != nil {
		return cmp.Or(err, errTakenOver)
	}
	return nil
}

func (sd *seeding) encodeTheirs() string { return base64.RawURLEncoding.EncodeToString(sd.theirs) }

// finish closes the record. One that another run has taken over has the answer of that one: what was somebody else's when
// this run looked may have become the batch's since.
func (sd *seeding) finish(ctx context.Context) error {
	met, ours, err := sd.update(ctx, map[string]any{AttrState: batchDone})
	if met && !ours {
		return errTakenOver
	}
	return err
}

// update changes the record while this run is the one at work. met says that it is not, and ours that it was the last: it has closed
// the record itself.
func (sd *seeding) update(ctx context.Context, set map[string]any) (met, ours bool, err error) {
	err = sd.insist(ctx, func() error {
		_, err := sd.s.table.Update(ctx, sd.key, Update{Set: set}, All(Eq(AttrRun, sd.token), Eq(AttrState, batchOpen)))
		return err
	})
	if now, met := refusedBy(err); met {
		return true, now.Str(AttrRun) == sd.token, nil
	}
	return false, false, err
}

// letBe waits for the run that has taken the batch over: until it is done, or has not got on for a while.
func (sd *seeding) letBe(ctx context.Context) error {
	var last Item
	var still time.Duration
	for still < takeoverAfter {
		it, err := sd.s.table.Get(ctx, sd.key)
		if err != nil {
			return unsettled(err)
		}
		if it.Str(AttrState) != batchOpen || it.Str(AttrRun) == "" {
			return nil
		}
		if last == nil || it.Str(AttrRun) != last.Str(AttrRun) || it.Int(AttrMarked) != last.Int(AttrMarked) {
			last, still = it, 0
		}
		if err := sd.s.wait(ctx, takeoverPoll); err != nil {
			return unsettled(err)
		}
		still += takeoverPoll
	}
	return nil
}

func (sd *seeding) insist(ctx context.Context, call func() error) error {
	return sd.s.insist(ctx, call)
}
