package dynamo

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"idpool/alloc"
)

// maxCarry is how many records one call carries.
const maxCarry = 1000

// LookUp implements alloc.Restores.
func (s *Store) LookUp(ctx context.Context, pool alloc.PoolName, ids []alloc.ID) (found []alloc.IDRecord, err error) {
	if _, err := s.poolHead(ctx, pool); err != nil {
		return nil, err
	}
	states := make(map[alloc.ID]Item, len(ids))
	if err := s.readIDs(ctx, pool, ids, states); err != nil {
		return nil, err
	}
	now := s.now()
	for id, it := range states {
		if it != nil && !loose(it) && it.Str(AttrState) != StateForgotten && !expired(it, now) {
			found = append(found, decodeID(pool, id, it))
		}
	}
	return found, nil
}

// Carry implements alloc.Restores. What it changes of an ID that the pool knows is one conditional write of its item. IDs that the
// pool does not know, or that are as good as absent, it adds as a seeding does: their items are put, taken as they are, then listed for the
// record, so that each is counted once and a walk meets it. The batch's record is named after all that is carried, so a repeat knows
// its own.
func (s *Store) Carry(ctx context.Context, pool alloc.PoolName, point time.Time, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	if len(taken) > maxCarry {
		return nil, alloc.Errorf(alloc.CodeInvalidRequest, "at most %d IDs are carried at once", maxCarry)
	}
	outcomes := make([]alloc.CarryOutcome, len(taken))
	for _, part := range apart(taken) {
		records := make([]alloc.IDRecord, len(part))
		for i, n := range part {
			records[i] = taken[n]
		}
		some, err := s.carry(ctx, pool, point, records)
		if err != nil {
			return nil, err
		}
		for i, n := range part {
			outcomes[n] = some[i]
		}
	}
	return outcomes, nil
}

// apart splits records into parts that have each ID once, in their order. Of none it is one part without any: what refuses the call does so
// all the same.
func apart(taken []alloc.IDRecord) [][]int {
	parts, times := [][]int{nil}, map[alloc.ID]int{}
	for n, r := range taken {
		at := times[r.ID]
		times[r.ID]++
		if at == len(parts) {
			parts = append(parts, nil)
		}
		parts[at] = append(parts[at], n)
	}
	return parts
}

// carry carries records of different IDs.
func (s *Store) carry(ctx context.Context, pool alloc.PoolName, point time.Time, records []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	for range seedTries {
		h, err := s.poolHead(ctx, pool)
		if err != nil {
			return nil, err
		}
		if err := h.pool.CheckThere(); err != nil { // deleted
			return nil, err
		}
		if h.rebuilding {
			return nil, poolRebuilding(pool)
		}
		c := s.newCarrying(h, point, records)
		err = c.run(ctx)
		if c.retired > 0 {
			s.tallyRetired(ctx, c.head, c.token[:8], c.retired)
		}
		if !errors.Is(err, errTakenOver) {
			return c.results, err
		}
		if err := c.letBe(ctx); err != nil {
			return nil, err
		}
	}
	return nil, unsettled(poolContended(pool))
}

// carrying is one call for records of different IDs. It is a run over a batch, as far as it adds IDs.
type carrying struct {
	*seeding
	point   time.Time // to which the backup was restored
	records []alloc.IDRecord
	results []alloc.CarryOutcome
	states  map[alloc.ID]Item
	retired int64 // by this call

	now time.Time // of the call
}

func (s *Store) newCarrying(h *head, point time.Time, records []alloc.IDRecord) *carrying {
	var ids []alloc.ID
	var parts []string
	for _, r := range records {
		ids = append(ids, r.ID)
		parts = append(parts, string(r.ID), string(r.State), strconv.FormatInt(int64(r.Generation), 36), string(r.Token))
	}
	job := "carry-" + digestOf(parts...)[:16]
	return &carrying{
		seeding: newSeeding(s, alloc.SeedBatch{Pool: h.pool.Name, Job: alloc.JobID(job), IDs: ids}, h),
		point:   point, records: records, results: make([]alloc.CarryOutcome, len(records)), states: map[alloc.ID]Item{}, now: s.now(),
	}
}

func (c *carrying) run(ctx context.Context) error {
	if err := c.s.readIDs(ctx, c.pool, c.ids, c.states); err != nil {
		return err
	}
	if slices.ContainsFunc(c.ids, func(id alloc.ID) bool { return c.unknown(c.states[id]) || c.added(c.states[id]) }) {
		if err := c.open(ctx); err != nil {
			return unsettledBut(err)
		}
	}
	if err := c.outdate(ctx); err != nil {
		return unsettledBut(err)
	}
	if err := c.soil(ctx); err != nil {
		return unsettledBut(err)
	}
	errs := make([]error, len(c.records))
	retired := make([]bool, len(c.records))
	each(len(c.records), seedWidth, func(i int) {
		c.results[i], retired[i], errs[i] = c.one(ctx, c.records[i], c.states[c.records[i].ID])
	})
	for _, r := range retired {
		if r {
			c.retired++
		}
	}
	if err := firstOf(errs); err != nil {
		return unsettledBut(err)
	}
	return unsettledBut(c.list(ctx))
}

// unsettledBut is unsettled for all but errTakenOver.
func unsettledBut(err error) error {
	if err == nil || errors.Is(err, errTakenOver) {
		return err
	}
	return unsettled(err)
}

// unknown reports whether the item is that of an ID which the pool does not know.
func (c *carrying) unknown(it Item) bool {
	return it == nil || loose(it) || it.Str(AttrState) == StateForgotten || expired(it, c.s.now())
}

// added reports whether this batch has put the ID.
func (c *carrying) added(it Item) bool {
	tag, _ := batchOf(it)
	return it != nil && tag == c.tag
}

// open opens the batch's record, and finds what of it is listed.
func (c *carrying) open(ctx context.Context) error {
	finisher, err := c.begin(ctx)
	if err != nil {
		return err
	}
	if finisher != "" {
		if err := c.takeOver(ctx); err != nil {
			return err
		}
	}
	return c.findListed(ctx)
}

// one carries one record. What it finds changed meanwhile it judges anew.
func (c *carrying) one(ctx context.Context, r alloc.IDRecord, it Item) (o alloc.CarryOutcome, retired bool, err error) {
	for range changeTries {
		to, o := c.judge(r, it)
		if o != alloc.CarryDone {
			return o, false, nil
		}
		if c.unknown(it) && c.listed == nil { // the batch is not open
			return "", false, errTakenOver // it has gone since it was read: all of it again
		}
		if err := c.announce(ctx, to); err != nil {
			return "", false, err
		}
		now, err := c.write(ctx, to, to.Generation-r.Generation, it)
		if err != nil || now == nil {
			return alloc.CarryDone, err == nil && to.State == alloc.StateRetired, err
		}
		if it = now; now.Str(AttrPK) == "" {
			it = nil
		}
	}
	return "", false, poolContended(c.pool)
}

// judge says what is to become of an ID, and what is to be written where that is CarryDone.
func (c *carrying) judge(r alloc.IDRecord, it Item) (alloc.IDRecord, alloc.CarryOutcome) {
	r.Token = alloc.Token(tokenOf(r))
	if r.State == alloc.StateHeld && r.HeldUntil.IsZero() { // its end is not known
		r.HeldUntil = c.now.Add(alloc.MaxHold)
	}
	var has alloc.Standing
	if !c.unknown(it) {
		has.State, has.Generation = stateOf[it.Str(AttrState)], alloc.Generation(it.Int(AttrGeneration))
		has.Token, has.At, has.Changed, has.Carried = alloc.Token(it.Str(AttrToken)), fromMilli(it.Int(AttrTaken)), fromMilli(it.Int(AttrWritten)), it.isOf(AttrCarried)
		has.Ahead = alloc.Generation(max(0, it.Int(AttrCarried)-1))
	}
	return has.Carry(r, c.point)
}

// noToken stands for the owner of an ID that is taken, where the record does not say who that is: nobody can settle it then.
const noToken = "carried"

func tokenOf(r alloc.IDRecord) string {
	if r.Token == "" && r.State != alloc.StateRetired && r.State != alloc.StateFree {
		return noToken
	}
	return string(r.Token)
}

// announce puts the return item by which an ID comes back that is held or on its way back: before it is that, so that nothing is left
// which nobody brings back.
func (c *carrying) announce(ctx context.Context, r alloc.IDRecord) error {
	l, where := listing{r.ID, int64(r.Generation)}, Absent(AttrPK)
	var it Item
	switch r.State {
	case alloc.StateHeld:
		it = returnItem(c.pool, l, tokenOf(r), ReasonHold, r.HeldUntil.UnixMilli())
	case alloc.StateReturning:
		it = returnItem(c.pool, l, tokenOf(r), ReasonRelease, 0)
		where = Any(where, Eq(AttrReason, ReasonHold))
	default:
		return nil
	}
	err := c.insist(ctx, func() error { return c.s.table.Put(ctx, it, where) })
	old, met := refusedBy(err)
	if met && old != nil && old.Str(AttrToken) != tokenOf(r) { // of whoever had it here, who has it no more
		err = c.insist(ctx, func() error { return c.s.table.Put(ctx, it, Eq(AttrToken, old.Str(AttrToken))) })
		_, met = refusedBy(err)
	}
	if met {
		return nil
	}
	return err
}

// write makes the ID what the record says, if its item is as it was read. Else it is returned as it is; one that is gone is an item
// without attributes.
func (c *carrying) write(ctx context.Context, r alloc.IDRecord, ahead alloc.Generation, it Item) (now Item, err error) {
	set := c.attrs(r)
	set[AttrCarried] = 1 + int64(ahead)
	if it == nil || c.unknown(it) {
		set[AttrBatch] = c.ownTag()
		set[AttrJob] = string(r.Job)
		if r.Job == "" || len(r.Job) > maxJobBytes {
			set[AttrJob] = c.job
		}
		if it == nil {
			set[AttrBatch] = c.tag
			err = c.insist(ctx, func() error { return c.s.table.Put(ctx, item(idKey(c.pool, r.ID), set), Absent(AttrPK)) })
			old, met := refusedBy(err)
			if met && old.has(set) {
				return nil, nil // by this very call, whose answer was lost
			}
			if met {
				return old, nil
			}
			return nil, err
		}
	}
	if token := it.Str(AttrToken); token != "" && token != tokenOf(r) { // whoever had it has it no more
		if err := c.insist(ctx, func() error { return c.s.endRecord(ctx, it.Str(AttrKey), token) }); err != nil {
			return nil, err
		}
	}
	u := Update{Set: set}
	for _, attr := range append([]string{AttrLast, AttrPut, AttrSource}, ownership...) {
		if _, is := set[attr]; !is && (attr != AttrKey || it.Str(AttrToken) != tokenOf(r)) { // his key ends with what he has by it
			u.Remove = append(u.Remove, attr)
		}
	}
	as := []Cond{Eq(AttrGeneration, it.Int(AttrGeneration)), Eq(AttrState, it.Str(AttrState)), Absent(AttrToken), Absent(AttrPut)}
	if token := it.Str(AttrToken); token != "" {
		as[2] = Eq(AttrToken, token)
	}
	if put := it.Str(AttrPut); put != "" {
		as[3] = Eq(AttrPut, put)
	}
	now, err = c.updateID(ctx, r.ID, u, All(as...))
	if now != nil && now.has(set) {
		return nil, nil
	}
	return now, err
}

// attrs is what the record says of the ID.
func (c *carrying) attrs(r alloc.IDRecord) Item {
	set := Item{AttrState: storedState[r.State], AttrGeneration: int64(r.Generation), AttrWritten: c.now.UnixMilli()}
	if token := tokenOf(r); token != "" {
		set[AttrToken] = token
	}
	if !r.At.IsZero() {
		set[AttrTaken] = r.At.UnixMilli()
	}
	if r.By != "" {
		set[AttrBy] = string(r.By)
	}
	if r.Owner != "" {
		set[AttrOwner] = r.Owner
	}
	if len(r.Metadata) > 0 {
		set[AttrMetadata] = r.Metadata
	}
	if r.State == alloc.StateHeld {
		set[AttrHoldEnd] = r.HeldUntil.UnixMilli()
	}
	if r.State == alloc.StateRetired {
		set[AttrSource] = c.token[:8] // of several that carry the same, one counts it
	}
	if c.forget && r.State == alloc.StateClaimed {
		set[AttrExpires] = keyExpiry(r.At)
	}
	return set
}

// storedState is how the items of IDs have the states.
var storedState = func() map[alloc.State]string {
	m := map[alloc.State]string{}
	for text, state := range stateOf {
		m[state] = text
	}
	return m
}()

// list lists what the batch has put, for the record: it is taken, so nobody gets it by that.
func (c *carrying) list(ctx context.Context) error {
	if c.listed == nil {
		return nil
	}
	if err := c.s.readIDs(ctx, c.pool, c.ids, c.states); err != nil {
		return err
	}
	var ls []listing
	for _, id := range c.ids {
		it := c.states[id]
		if _, listed := c.listed[id]; !listed && c.added(it) {
			ls = append(ls, listing{id, it.Int(AttrGeneration)})
		}
	}
	if len(ls) > 0 {
		mark := func(ctx context.Context) error { return c.mark(ctx, len(c.ids)) }
		h, err := c.s.publish(ctx, c.head, relisted(c.counted(ls, c.head.seeded+int64(len(ls)))), mark, nil)
		if err != nil {
			return err
		}
		c.head = h
	}
	return c.finish(ctx)
}
