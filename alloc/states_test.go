package alloc_test

import (
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"idpool/alloc"
)

// matrix is the whole state machine, as the comment of State.On has it.
const matrix = `
            claim    hold     confirm  release    retire   expire     free
free        claimed  held     refuse   refuse     refuse   refuse     repeat
held        refuse   refuse   claimed  returning  retired  returning  refuse
claimed     refuse   refuse   repeat   returning  retired  refuse     refuse
returning   refuse   refuse   refuse   repeat     refuse   repeat     free
retired     refuse   refuse   refuse   refuse     repeat   refuse     refuse
`

var (
	states = []alloc.State{alloc.StateFree, alloc.StateHeld, alloc.StateClaimed, alloc.StateReturning, alloc.StateRetired}
	events = []alloc.Event{
		alloc.EventClaim, alloc.EventHold, alloc.EventConfirm, alloc.EventRelease, alloc.EventRetire, alloc.EventExpire, alloc.EventFree,
	}
)

func TestEveryEventInEveryState(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(matrix), "\n")
	named := strings.Fields(lines[0])
	if len(lines) != len(states)+1 || len(named) != len(events) {
		t.Fatalf("the matrix has %d states and %d events, want %d and %d", len(lines)-1, len(named), len(states), len(events))
	}
	for i, line := range lines[1:] {
		cells := strings.Fields(line)
		s := states[i]
		if cells[0] != string(s) {
			t.Fatalf("row %d is of %s, want %s", i, cells[0], s)
		}
		for j, cell := range cells[1:] {
			want := alloc.Transition{Effect: alloc.EffectMove, To: alloc.State(cell)}
			if effect := alloc.Effect(cell); effect == alloc.EffectRepeat || effect == alloc.EffectRefuse {
				want = alloc.Transition{Effect: effect, To: s}
			}
			if got := s.On(alloc.Event(named[j])); got != want {
				t.Errorf("%s in the state %s: got %+v, want %+v", named[j], s, got, want)
			}
		}
	}
}

func TestTheCommentHasTheMatrix(t *testing.T) {
	source, err := os.ReadFile("states.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(matrix), "\n") {
		if !strings.Contains(string(source), line) {
			t.Errorf("the comment of State.On lacks the line %q", line)
		}
	}
}

func TestWhatIsNoStateAndNoEventIsRefused(t *testing.T) {
	for _, s := range append([]alloc.State{"", "lost"}, states...) {
		for _, e := range append([]alloc.Event{"", "lose"}, events...) {
			known := s != "" && s != "lost" && e != "" && e != "lose"
			if got := s.On(e); !known && got != (alloc.Transition{Effect: alloc.EffectRefuse, To: s}) {
				t.Errorf("%q in the state %q: got %+v, want it refused", e, s, got)
			}
		}
	}
}

// item is an ID as a Store keeps it: each change tests state, token and generation.
type item struct {
	state      alloc.State
	token      int
	generation int
}

// asked is an event as it leaves whoever asks for it: with what it knows of the ID, which may be long ago.
type asked struct {
	event      alloc.Event
	token      int
	generation int
}

func (i item) apply(a asked) item {
	taking := a.event == alloc.EventClaim || a.event == alloc.EventHold
	if a.generation != i.generation || !taking && a.token != i.token {
		return i
	}
	t := i.state.On(a.event)
	if t.Effect != alloc.EffectMove {
		return i
	}
	i.state = t.To
	switch {
	case taking:
		i.token = a.token
	case t.To == alloc.StateFree:
		i.generation++
	}
	return i
}

// rank is how far an ID is within its generation.
var rank = map[alloc.State]int{alloc.StateFree: 0, alloc.StateHeld: 1, alloc.StateClaimed: 2, alloc.StateReturning: 3, alloc.StateRetired: 3}

// Events come in any order, each any number of times and as late as it likes: no ID ever goes back, nobody gets one that
// another has, and what is retired stays so.
func TestNoRepeatPushesAnIDBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := item{state: alloc.StateFree}
		var sent []asked
		owner := map[int]int{} // by generation
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			var a asked
			if len(sent) > 0 && rapid.Bool().Draw(t, "again") {
				a = rapid.SampledFrom(sent).Draw(t, "an old one")
			} else {
				a = asked{event: rapid.SampledFrom(events).Draw(t, "event"), token: now.token, generation: now.generation}
				if a.event == alloc.EventClaim || a.event == alloc.EventHold {
					a.token = rapid.IntRange(1, 1000).Draw(t, "token")
				}
				sent = append(sent, a)
			}
			before := now
			now = now.apply(a)
			switch {
			case now.generation < before.generation, now.generation == before.generation && rank[now.state] < rank[before.state]:
				t.Fatalf("%+v pushed the ID back from %+v to %+v", a, before, now)
			case now.generation > before.generation && before.state != alloc.StateReturning:
				t.Fatalf("%+v freed the ID from %+v", a, before)
			case before.state == alloc.StateRetired && now != before:
				t.Fatalf("%+v changed the retired %+v to %+v", a, before, now)
			case now.apply(a) != now:
				t.Fatalf("%+v did two things at %+v", a, before)
			}
			if first, taken := owner[now.generation]; now.state != alloc.StateFree && taken && first != now.token {
				t.Fatalf("%+v gave the ID of %d to %d in one generation", a, first, now.token)
			}
			if now.state != alloc.StateFree {
				owner[now.generation] = now.token
			}
		}
	})
}

// A walk can come to every state and back to a free ID, and a retired one is the only end.
func TestEveryStateIsReachedAndLeft(t *testing.T) {
	reached := map[alloc.State]bool{alloc.StateFree: true}
	for range states {
		for s := range reached {
			for _, e := range events {
				reached[s.On(e).To] = true
			}
		}
	}
	for _, s := range states {
		if !reached[s] {
			t.Errorf("no walk from a free ID comes to %s", s)
		}
		leaves := false
		for _, e := range events {
			leaves = leaves || s.On(e).Effect == alloc.EffectMove
		}
		if leaves == (s == alloc.StateRetired) {
			t.Errorf("%s can be left: %t", s, leaves)
		}
	}
}
