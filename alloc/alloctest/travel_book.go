package alloctest

import (
	"fmt"
	"slices"
	"time"

	"idpool/alloc"
)

// holding is what a client was told of one ID: that it has it.
type holding struct {
	pool    alloc.PoolName
	id      alloc.ID
	token   alloc.Token
	era     era // of the answer
	changed era // of the last thing that was done with it
	state   alloc.State
	until   time.Time // of a hold
	over    bool      // given back, or it may be
	unsure  bool      // what was last done with it has an outcome that is not known
}

func (h *holding) String() string {
	return fmt.Sprintf("%s of %s, %s, token %s, given %s, changed %s, until %s, unsure %t", h.id, h.pool, h.state, h.token[:6], h.era, h.changed, h.until.Format("02T15:04:05"), h.unsure)
}

// surely reports whether nobody else can have the ID rightly.
func (h *holding) surely(now time.Time) bool {
	return !h.over && (h.state != alloc.StateHeld || now.Before(h.until.Add(-slack)))
}

// stretch is numbers that a client was told that it has.
type stretch struct {
	sequence   alloc.SequenceName
	start, end alloc.Number
	era        era
	by         string
}

// twofold is an ID that is in two hands since before the procedure.
type twofold struct{ first, second *holding }

type travelBook struct {
	ids    map[alloc.PoolName]map[alloc.ID][]*holding
	spans  []stretch
	twice  []twofold
	twins  [][2]stretch
	grants []*grant
	gone   map[alloc.PoolName][]alloc.ID // claimed for good in a pool that forgets
}

// grant is an answer of a claim.
type grant struct {
	pool    alloc.PoolName
	token   alloc.Token
	has     []*holding
	pending *alloc.SettleOrder // whose outcome is not known: it is to be repeated before another
}

func newTravelBook() travelBook {
	return travelBook{ids: map[alloc.PoolName]map[alloc.ID][]*holding{}, gone: map[alloc.PoolName][]alloc.ID{}}
}

// claimed books an answer, and fails the test where it gives what somebody has.
func (t *traveller) claimed(o alloc.ClaimOrder, c alloc.Claim) {
	t.Helper()
	b := &t.book
	if b.ids[o.Pool] == nil {
		b.ids[o.Pool] = map[alloc.ID][]*holding{}
	}
	g := &grant{pool: o.Pool, token: c.Token}
	for _, id := range c.IDs {
		if slices.ContainsFunc(c.Ended, func(e alloc.EndedID) bool { return e.ID == id }) {
			continue
		}
		h := &holding{pool: o.Pool, id: id, token: c.Token, era: t.era, changed: t.era, state: c.State, until: c.HeldUntil}
		if slices.ContainsFunc(b.ids[o.Pool][id], func(other *holding) bool { return other.token == c.Token }) {
			continue // a repeat
		}
		for _, other := range b.ids[o.Pool][id] {
			if c.Replayed && t.clash(o.Pool, id) {
				continue // he has had it since before it was told, and hears of it now
			}
			t.meets(other, h)
		}
		b.ids[o.Pool][id] = append(b.ids[o.Pool][id], h)
		g.has = append(g.has, h)
		if travelConfig(o.Pool).Policy == alloc.PolicyForget && c.State == alloc.StateClaimed {
			b.gone[o.Pool] = append(b.gone[o.Pool], id)
		}
	}
	if len(g.has) > 0 {
		b.grants = append(b.grants, g)
	}
}

// meets judges that an ID is given that another was given before.
func (t *traveller) meets(other, h *holding) {
	t.Helper()
	switch {
	case !other.surely(t.clock.Now()):
	case t.era == resumed && t.unknowable(other):
	case t.era == astray && other.era <= old && (other.changed == old || other.changed == astray && other.unsure):
		t.note("in two hands: %v; %v", other, h)
		t.book.twice = append(t.book.twice, twofold{other, h})
	default:
		t.Fatalf("given twice: %v, and now %v", other, h)
	}
}

// unknowable reports whether nothing can know that somebody has the ID: he has taken it between the restore and the procedure, and the pool
// has forgotten it; he has confirmed it then, its hold was over in the old world, and a pool that forgets does not tell when he did; or it may be in two hands since then, where nothing
// tells what was taken in the old world.
func (t *traveller) unknowable(h *holding) bool {
	forgets := travelConfig(h.pool).Policy == alloc.PolicyForget
	forgotten := forgets && h.era == astray && h.state == alloc.StateClaimed
	confirmed := forgets && h.era == before && h.changed == astray && !h.until.IsZero()
	return forgotten || confirmed || t.givenBack(h) || t.blind(h.pool) && t.plan.dirty == 2
}

// givenBack reports whether it was told that an ID is in two hands, and whoever has taken it between the restore and the procedure may have
// given it back since, not knowing of the other.
func (t *traveller) givenBack(h *holding) bool {
	return t.clash(h.pool, h.id) && !slices.ContainsFunc(t.book.ids[h.pool][h.id], func(other *holding) bool {
		return other.era == astray && other.surely(t.clock.Now())
	})
}

// leased books numbers, and fails the test where somebody has one of them.
func (t *traveller) leased(s stretch) {
	t.Helper()
	s.era = t.era
	for _, other := range t.book.spans {
		if other.sequence != s.sequence || other.end < s.start || s.end < other.start {
			continue
		}
		if t.era == astray && other.era == old {
			t.note("numbers in two hands: %+v; %+v", other, s)
			t.book.twins = append(t.book.twins, [2]stretch{other, s})
			continue
		}
		t.Fatalf("numbers given twice: %+v, and now %+v", other, s)
	}
	t.book.spans = append(t.book.spans, s)
}

// highest is the highest number that was told of the sequence.
func (b *travelBook) highest(name alloc.SequenceName) (n alloc.Number, some bool) {
	for _, s := range b.spans {
		if s.sequence == name {
			n, some = max(n, s.end), true
		}
	}
	return n, some
}

// keyedTravel is a claim with a key, and when it was first made.
type keyedTravel struct {
	order alloc.ClaimOrder
	era   era
}
