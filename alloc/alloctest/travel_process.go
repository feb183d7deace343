package alloctest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"idpool/alloc"
)

// process is one with a memory and a clock of its own. It may die at any call.
type process struct {
	name    string
	store   alloc.Store
	service *alloc.Service
	ctx     context.Context
	fuse    fuse
}

// fuse counts the calls of a process down to its last one.
type fuse struct {
	mu      sync.Mutex
	left    int // calls before the last; -1 for no end
	applied bool
	dead    bool
	cancel  context.CancelFunc
}

// burn is asked before each call.
func (f *fuse) burn() Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.dead:
		f.cancel()
		return RefusedUnknown
	case f.left < 0:
		return Pass
	case f.left > 0:
		f.left--
		return Pass
	}
	f.dead = true
	if f.applied {
		return AppliedButFailed
	}
	f.cancel()
	return RefusedUnknown
}

func (f *fuse) light(left int, applied bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.applied = left, applied
}

// died reports whether the process is dead, and lets it live on if not.
func (f *fuse) died() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = -1
	return f.dead
}

// skews are how wrong clocks are.
var skews = []time.Duration{0, 0, 0, 2 * time.Minute, -2 * time.Minute, 5 * time.Minute, -5 * time.Minute}

// slack is how much two processes may be apart about a time, and more.
const slack = 11 * time.Minute

// posts is a queue that nobody reads: whoever plays knows which jobs there are.
type posts struct{}

func (posts) Send(context.Context, alloc.Step) error { return nil }

// process starts one over the engine; it knows the old one where there is one.
func (t *traveller) process(f Fixture, from *Fixture) *process {
	t.Helper()
	skew := skews[t.rng.IntN(len(skews))]
	now := func() time.Time { return t.clock.Now().Add(skew) }
	p := &process{name: fmt.Sprintf("p%d%+d", t.next(), int(skew.Minutes())), fuse: fuse{left: -1}}
	caller := alloc.Caller{Client: alloc.ClientID(p.name), Scopes: alloc.AllScopes(), Request: "r", Address: "192.0.2.1"}
	p.ctx, p.fuse.cancel = context.WithCancel(alloc.WithCaller(t.Context(), caller))
	t.Cleanup(p.fuse.cancel)
	if f.Through != nil {
		p.store = f.Through(t, now, p.fuse.burn)
	} else {
		p.store = NewFaulty(f.Open(t, now), func(Call) Fault { return p.fuse.burn() })
	}
	c := alloc.Config{Store: p.store, Now: now, Queue: posts{}, Log: travelCodec}
	if from != nil {
		c.Old = from.Open(t, t.clock.Now)
	}
	var err error
	if p.service, err = alloc.NewService(c); err != nil {
		t.Fatalf("NewService: %v", err)
	}
	return p
}

// somebody is a process of the crew, which may be about to die.
func (t *traveller) somebody() *process {
	t.Helper()
	i := t.rng.IntN(len(t.crew))
	if t.crew[i].fuse.died() || t.chance(5) {
		t.crew[i] = t.process(t.fixture, nil)
	}
	if p := t.crew[i]; t.chance(t.plan.deaths) {
		p.fuse.light(t.lastCall(), t.chance(50))
	}
	return t.crew[i]
}

// lastCall draws the number of calls before the last: few for most, and enough to get deep into a run of the schedule for some.
func (t *traveller) lastCall() int { return t.rng.IntN(4 << t.rng.IntN(5)) }

// operator is a process that carries the procedure out. After many tries it is one that lives.
func (t *traveller) operator(try int) *process {
	t.Helper()
	p := t.process(t.fixture, &t.old)
	if try < 6 && t.chance(t.plan.deaths) {
		p.fuse.light(t.lastCall(), t.chance(50))
	}
	return p
}

// travelLine is a line of a log.
type travelLine struct {
	Head     *alloc.LogHead     `json:",omitempty"`
	Tail     *alloc.LogTail     `json:",omitempty"`
	ID       *alloc.IDRecord    `json:",omitempty"`
	Lease    *alloc.LeaseRecord `json:",omitempty"`
	Sequence alloc.SequenceName `json:",omitempty"`
}

// travelCodec writes lines of JSON.
var travelCodec = alloc.LogCodec{
	EncodeHead: func(h alloc.LogHead) ([]byte, error) { return jsonLines([]travelLine{{Head: &h}}, asIs[travelLine]) },
	EncodeTail: func(l alloc.LogTail) ([]byte, error) { return jsonLines([]travelLine{{Tail: &l}}, asIs[travelLine]) },
	EncodeIDs: func(ids []alloc.IDRecord) ([]byte, error) {
		return jsonLines(ids, func(r alloc.IDRecord) any { return travelLine{ID: &r} })
	},
	EncodeLeases: func(name alloc.SequenceName, leases []alloc.LeaseRecord) ([]byte, error) {
		return jsonLines(leases, func(r alloc.LeaseRecord) any { return travelLine{Lease: &r, Sequence: name} })
	},
	EncodeFindings: func(found []alloc.Finding) ([]byte, error) {
		return jsonLines(found, asIs[alloc.Finding])
	},
	EncodeCarries: func(lines []alloc.CarryLine) ([]byte, error) {
		return jsonLines(lines, asIs[alloc.CarryLine])
	},
	Decode: func(line []byte) (alloc.LogLine, error) {
		var l travelLine
		err := json.Unmarshal(line, &l)
		return alloc.LogLine(l), err
	},
}

func asIs[T any](t T) any { return t }

func jsonLines[T any](all []T, line func(T) any) ([]byte, error) {
	var text bytes.Buffer
	for _, one := range all {
		data, err := json.Marshal(line(one))
		if err != nil {
			return nil, err
		}
		text.Write(append(data, '\n'))
	}
	return text.Bytes(), nil
}
