package dynamo

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"idpool/alloc"
)

// head is a pool's head as it was read; pool.Config is without its settings. Chunks lo to nx−1 are leased and not all settled, nx to tl−1 are published.
// In a series that a rebuild has made, chunks −base to −1 list what was settled then; nobody leases them.
type head struct {
	pool       alloc.Pool
	series     int64
	lo, nx, tl int64
	published  int64 // listings in all published chunks
	seeded     int64
	rebuilding bool
	rebuild    string // the job that rebuilds it; "" for none
	base       int64
	rebuilt    int64 // the tail with which a rebuild has made the series; -1 where none has
	wanted     bool
	leasedAt   time.Time
	dirtyFrom  int64
	dirtyTo    int64
	counted    counts
	restored   int64 // see AttrRestored; 0 for never
	retired    int64
	retiredBy  string
	token      string // of the creation
	settings   string // names the rest of the configuration; "" for none
	said       bool   // it has a policy of its own, and not the default's
	voiding    string // source of the chunk at the tail that is being voided; "" for none
}

// counts are those of the last sweep.
type counts struct {
	windowFree, dead, held, gone int64
	at                           time.Time
}

// newPoolItem is the head of an empty pool.
func newPoolItem(name alloc.PoolName, c alloc.PoolConfig, now time.Time, token string) Item {
	it := Item{
		AttrPoolState: string(alloc.PoolActive), AttrVersion: int64(1), AttrBorn: now.UnixMilli(), AttrToken: token,
		AttrPolicy: string(c.Policy), AttrFold: c.FoldCase,
		AttrSeries: int64(1), AttrLow: int64(0), AttrNext: int64(0), AttrTail: int64(0), AttrPublished: int64(0), AttrSeeded: int64(0),
		AttrRetired: int64(0),
	}
	maps.Copy(it, changeable(c))
	return item(headKey(name), it)
}

// changeable is the part of a configuration that ChangePool may change. Without settings it does not name them.
func changeable(c alloc.PoolConfig) map[string]any {
	set := map[string]any{
		AttrMaxBatch: int64(c.MaxBatch), AttrDescription: c.Description, AttrOnRelease: string(c.OnRelease), AttrRequireKey: c.RequireKey,
	}
	if name := settingsOf(c).name(); name != "" {
		set[AttrSettings] = name
	}
	return set
}

func decodeHead(name alloc.PoolName, it Item) *head {
	_, rebuilding := it[AttrRebuild]
	_, wanted := it[AttrWanted]
	rebuilt := int64(-1)
	if it.isOf(AttrRebuilt) {
		rebuilt = it.Int(AttrRebuilt)
	}
	return &head{
		pool: alloc.Pool{
			Name:   name,
			Config: poolConfigOf(it),
			State:  alloc.PoolState(it.Str(AttrPoolState)), Version: alloc.Version(it.Int(AttrVersion)), Created: fromMilli(it.Int(AttrBorn)),
		},
		series: it.Int(AttrSeries), lo: it.Int(AttrLow), nx: it.Int(AttrNext), tl: it.Int(AttrTail),
		published: it.Int(AttrPublished), seeded: it.Int(AttrSeeded),
		rebuilding: rebuilding, rebuild: it.Str(AttrRebuild), base: it.Int(AttrBase), rebuilt: rebuilt, wanted: wanted, leasedAt: fromMilli(it.Int(AttrLeasedAt)),
		restored: it.Int(AttrRestored), dirtyFrom: it.Int(AttrDirtyFrom), dirtyTo: it.Int(AttrDirtyTo), token: it.Str(AttrToken),
		retired: it.Int(AttrRetired), retiredBy: it.Str(AttrRetiredBy), settings: it.Str(AttrSettings), voiding: it.Str(AttrVoiding), said: it.Str(AttrPolicy) != "",
		counted: counts{
			windowFree: it.Int(AttrWindowFree), dead: it.Int(AttrDead), held: it.Int(AttrHeld),
			gone: it.Int(AttrGone), at: fromMilli(it.Int(AttrCountedAt)),
		},
	}
}

// standing is the part of a condition that every update of a head has: the series of chunks that the caller knows is
// still the one in use, and no rebuild is on. So a write that set out before a rebuild cannot land after it.
func (h *head) standing(more ...Cond) Cond {
	return All(append([]Cond{Eq(AttrSeries, h.series), Absent(AttrRebuild)}, more...)...)
}

// updateHead changes the head of h's pool. Where the condition failed, the head as it was is returned with moved set.
func (s *Store) updateHead(ctx context.Context, h *head, u Update, more ...Cond) (now *head, moved bool, err error) {
	name := h.pool.Name
	it, err := s.table.Update(ctx, headKey(name), u, h.standing(more...))
	if failed, ok := errors.AsType[*ConditionFailed](err); ok {
		if failed.Old == nil {
			return nil, false, poolDamaged(name)
		}
		return decodeHead(name, failed.Old), true, nil
	}
	if err != nil {
		return nil, false, err
	}
	return decodeHead(name, it), false, nil
}

// poolHead reads a pool's head, strongly, and tells a pool that was never made from one that lost its head.
func (s *Store) poolHead(ctx context.Context, name alloc.PoolName) (*head, error) {
	it, err := s.table.Get(ctx, headKey(name))
	if err != nil {
		return nil, err
	}
	if it != nil {
		return headOf(name, it)
	}
	entry, err := s.table.Get(ctx, catalogueKey(name))
	if err != nil {
		return nil, err
	}
	switch made, err := s.wasMade(ctx, name, entry); {
	case err != nil:
		return nil, err
	case !made:
		return nil, notFound(alloc.CodePoolNotFound, "pool", string(name))
	}
	// It may have been made, and filled, since the head was read.
	if it, err = s.table.Get(ctx, headKey(name)); err != nil || it == nil {
		return nil, cmp.Or(err, error(poolDamaged(name)))
	}
	return headOf(name, it)
}

// headOf refuses a head that is damaged: what it says of the queue would make a full pool look empty.
func headOf(name alloc.PoolName, it Item) (*head, error) {
	h := decodeHead(name, it)
	if !h.whole() && !h.rebuilding {
		return nil, poolDamaged(name)
	}
	return h, nil
}

// chunk is one chunk as it was read.
type chunk struct {
	n        int64
	listings []listing
	before   int64
	added    int64
	relisted bool
	source   string
	batch    string
	upTo     int64
	void     bool
	tags     []string // of a chunk that a rebuild has made; see AttrTags
}

// counts reports whether listing i of the chunk is by what the IDs of the batch count as added.
func (c *chunk) counts(i int, batch string) bool {
	if len(c.tags) > 0 {
		return i < len(c.tags) && c.tags[i] == batch
	}
	return c.batch == batch
}

func decodeChunk(n int64, it Item) *chunk {
	c := &chunk{
		n: n, before: it.Int(AttrBefore), added: it.Int(AttrSeeded), relisted: it.Bool(AttrRelisted),
		source: it.Str(AttrSource), batch: it.Str(AttrBatch), upTo: it.Int(AttrUpTo), void: it.Bool(AttrVoid),
	}
	tags := it.List(AttrTags)
	for i, text := range it.List(AttrListings) {
		l, ok := parseListing(text)
		if !ok {
			continue
		}
		c.listings = append(c.listings, l)
		if i < len(tags) {
			c.tags = append(c.tags, tags[i])
		}
	}
	return c
}

func listingTexts(ls []listing) []string {
	texts := make([]string, len(ls))
	for i, l := range ls {
		texts[i] = l.String()
	}
	return texts
}

// decodeID turns an ID item into what the domain knows of it.
func decodeID(pool alloc.PoolName, id alloc.ID, it Item) alloc.IDRecord {
	r := alloc.IDRecord{Pool: pool, ID: id, State: stateOf[it.Str(AttrState)], Job: alloc.JobID(it.Str(AttrJob))}
	r.Generation = alloc.Generation(it.Int(AttrGeneration))
	if token := it.Str(AttrToken); token != "" || it.isOf(AttrTaken) { // what a restore has retired was nobody's
		r.Token, r.By, r.Owner = alloc.Token(token), alloc.ClientID(it.Str(AttrBy)), it.Str(AttrOwner)
		r.Metadata, r.At = it.Map(AttrMetadata), fromMilli(it.Int(AttrTaken))
	}
	if r.State == alloc.StateHeld {
		r.HeldUntil = fromMilli(it.Int(AttrHoldEnd))
	}
	r.Changed = fromMilli(it.Int(AttrWritten))
	return r
}

var stateOf = map[string]alloc.State{
	StateFree: alloc.StateFree, StateHeld: alloc.StateHeld, StateClaimed: alloc.StateClaimed,
	StateReturning: alloc.StateReturning, StateRetired: alloc.StateRetired,
}

// ownership names the attributes that an ID has only while somebody has it, or nobody ever will.
var ownership = []string{AttrToken, AttrTaken, AttrBy, AttrKey, AttrOwner, AttrMetadata, AttrHoldEnd, AttrExpires, AttrCarried, AttrWritten}

// owned reports whether the item has anything that an ID has only while somebody has it. One that is free and owned is damaged:
// somebody has made it free by hand, and its owner may have it.
func owned(it Item) bool {
	return slices.ContainsFunc(ownership, func(name string) bool { _, has := it[name]; return has })
}

// isFree reports whether the item is that of an ID which nobody has.
func isFree(it Item) bool { return it.Str(AttrState) == StateFree && !owned(it) }

// expired reports whether the item counts as absent although TTL has not removed it yet.
func expired(it Item, now time.Time) bool {
	exp, ok := it[AttrExpires].(int64)
	return ok && exp <= now.Unix()
}

// keyExpiry is when what was kept at a time for the retention of a key expires. The table counts in seconds, of which the
// last begun counts too: a repeat within the retention always finds it.
func keyExpiry(from time.Time) int64 {
	end := from.Add(alloc.KeyRetention)
	if end.Nanosecond() > 0 {
		return end.Unix() + 1
	}
	return end.Unix()
}

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
