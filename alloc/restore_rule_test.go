package alloc_test

import (
	"fmt"
	"testing"
	"time"

	"idpool/alloc"
)

const (
	ruleMine, ruleOther alloc.Token = "mine", "other" // of whoever has the ID in the pool, and of somebody else
	ruleGeneration                  = 5               // of the ID in the pool
)

// ruleCase is what a pool has of an ID, and what is said of it.
type ruleCase struct {
	r    alloc.Standing
	said alloc.IDRecord
}

func (c ruleCase) String() string {
	return fmt.Sprintf("here %s of %d by %q at %s, carried %t, ahead %d; said to be %s of %d by %q",
		c.r.State, c.r.Generation, c.r.Token, c.r.At.Format(time.RFC3339), c.r.Carried, c.r.Ahead, c.said.State, c.said.Generation, c.said.Token)
}

var rulePoint = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

// ruleCases are all of them: each state with a token and without, where there may be one, in all relations of generations, tokens and times.
func ruleCases() (all []ruleCase) {
	var here []alloc.Standing
	for _, state := range []alloc.State{"", alloc.StateFree, alloc.StateHeld, alloc.StateClaimed, alloc.StateReturning, alloc.StateRetired} {
		r := alloc.Standing{IDRecord: alloc.IDRecord{ID: "x", State: state}}
		if state == "" || state == alloc.StateFree {
			r.Generation = map[alloc.State]alloc.Generation{alloc.StateFree: ruleGeneration}[state]
			here = append(here, r)
			continue
		}
		r.Generation = ruleGeneration
		if state == alloc.StateRetired { // burned
			here = append(here, r)
		}
		r.Token = ruleMine
		for _, at := range []time.Time{rulePoint.Add(-time.Hour), rulePoint, rulePoint.Add(time.Hour)} {
			r.At = at
			here = append(here, r)
			for _, ahead := range []alloc.Generation{0, 1, 2} {
				carried := r
				carried.Carried, carried.Ahead = true, ahead
				here = append(here, carried)
			}
		}
	}
	for _, r := range here {
		for _, state := range []alloc.State{alloc.StateFree, alloc.StateHeld, alloc.StateClaimed, alloc.StateReturning, alloc.StateRetired} {
			for _, generation := range []alloc.Generation{ruleGeneration - 1, ruleGeneration, ruleGeneration + 1} {
				for _, token := range []alloc.Token{"", ruleMine, ruleOther} {
					if (token == "") != (state == alloc.StateFree) && (token != "" || state != alloc.StateRetired) {
						continue
					}
					all = append(all, ruleCase{r, alloc.IDRecord{ID: "x", State: state, Generation: generation, Token: token, At: rulePoint.Add(time.Minute)}})
				}
			}
		}
	}
	return all
}

// has reports whether somebody has the ID, or had it to the end.
func has(r alloc.IDRecord) bool {
	return r.State == alloc.StateHeld || r.State == alloc.StateClaimed || r.State == alloc.StateRetired && r.Token != ""
}

// over reports whether it is certain that what is said is of a life that is over: the pool has a later one, which it had at the point or which a
// carry has brought.
func (c ruleCase) over() bool {
	return c.said.Generation < c.r.Generation-c.r.Ahead && c.said.Token != c.r.Token && (c.r.State == alloc.StateHeld || c.r.State == alloc.StateClaimed || c.r.State == alloc.StateReturning) && !c.here()
}

// here reports whether somebody has taken the ID since the restore.
func (c ruleCase) here() bool {
	return c.r.Token != "" && !c.r.Carried && c.r.At.After(rulePoint)
}

// After a carry nothing that is said to be somebody's is free or becomes free by itself, nobody who has taken an ID since the restore loses it, both
// at once are told, and nothing else is; a repeat changes nothing.
func TestACarryTakesNothingFromAnybody(t *testing.T) {
	count := map[alloc.CarryOutcome]int{}
	for _, c := range ruleCases() {
		to, outcome := c.r.Carry(c.said, rulePoint)
		count[outcome]++
		after := c.r
		if outcome == alloc.CarryDone {
			after = alloc.Standing{IDRecord: to, Carried: true, Ahead: to.Generation - c.said.Generation}
		}
		apart := c.said.Token != c.r.Token // two of whom both cannot have it
		switch returns := after.State == alloc.StateReturning; {
		case has(c.said) && after.State == alloc.StateFree:
			t.Errorf("%s: it is free: %s", c, outcome)
		case has(c.said) && returns && (apart || c.said.State != alloc.StateHeld) && !c.over():
			t.Errorf("%s: it becomes free: %s", c, outcome)
		case has(c.said) && has(after.IDRecord) && after.Token != c.said.Token && outcome != alloc.CarryClash && !c.over() && !burnt(after.IDRecord) &&
			(after.State != alloc.StateRetired || c.here()):
			t.Errorf("%s: another has it, and nobody is told: %s", c, outcome)
		case c.here() && has(c.r.IDRecord) && apart && outcome == alloc.CarryDone:
			t.Errorf("%s: who took it since the restore loses it", c)
		case outcome == alloc.CarryClash && !(has(c.r.IDRecord) && (has(c.said) || c.said.State == alloc.StateRetired) && apart):
			t.Errorf("%s: a clash of what nobody has here, or is said to have", c)
		case c.r.State == alloc.StateRetired && outcome == alloc.CarryDone:
			t.Errorf("%s: what is retired for good was changed", c)
		}
		if outcome == alloc.CarryDone {
			c.isWritten(t, to)
		}
		if again, o := after.Carry(c.said, rulePoint); o == alloc.CarryDone || outcome == alloc.CarryDone && o != alloc.CarryKnown {
			t.Errorf("%s: %s, and a repeat is %s: %+v", c, outcome, o, again)
		}
	}
	for _, o := range []alloc.CarryOutcome{alloc.CarryDone, alloc.CarryKnown, alloc.CarryClash, alloc.CarryBehind} {
		if count[o] < 10 {
			t.Errorf("%d cases of %s: the test shows little of it", count[o], o)
		}
	}
}

func burnt(r alloc.IDRecord) bool { return r.State == alloc.StateRetired && r.Token == "" }

// isWritten looks that what is written is what is said, in a generation that no listing outruns.
func (c ruleCase) isWritten(t *testing.T, to alloc.IDRecord) {
	t.Helper()
	want := c.said
	if c.said.State == alloc.StateFree {
		want.State = alloc.StateRetired
	}
	want.Generation = max(want.Generation, c.r.Generation)
	if c.r.Token != "" && c.r.Token != want.Token && want.Generation == c.r.Generation {
		want.Generation++ // in one generation nobody else ever has it
	}
	if fmt.Sprint(to) != fmt.Sprint(want) {
		t.Errorf("%s: it is to be %+v, want %+v", c, to, want)
	}
}

// What becomes of an ID where it is easily got wrong.
func TestTheRuleOfACarry(t *testing.T) {
	before, since := rulePoint.Add(-time.Hour), rulePoint.Add(time.Hour)
	here := func(state alloc.State, g alloc.Generation, token alloc.Token, at time.Time) alloc.Standing {
		return alloc.Standing{IDRecord: alloc.IDRecord{State: state, Generation: g, Token: token, At: at}}
	}
	said := func(state alloc.State, g alloc.Generation, token alloc.Token) alloc.IDRecord {
		return alloc.IDRecord{State: state, Generation: g, Token: token, At: since}
	}
	carried := func(r alloc.Standing) alloc.Standing { r.Carried = true; return r }
	ahead := func(r alloc.Standing) alloc.Standing { r.Carried, r.Ahead = true, 2; return r }
	const free, held, claimed, returning, retired = alloc.StateFree, alloc.StateHeld, alloc.StateClaimed, alloc.StateReturning, alloc.StateRetired
	for what, c := range map[string]struct {
		r    alloc.Standing
		said alloc.IDRecord
		want alloc.CarryOutcome
	}{
		"a hold that has ended here, and was confirmed":                                           {here(free, 1, "", time.Time{}), said(claimed, 0, ruleMine), alloc.CarryDone},
		"one that is ending":                                                                      {here(returning, 0, ruleMine, before), said(claimed, 0, ruleMine), alloc.CarryDone},
		"one that has ended, of which another has taken the ID here":                              {here(claimed, 1, ruleOther, since), said(claimed, 0, ruleMine), alloc.CarryClash},
		"the same, who has given it back":                                                         {here(returning, 1, ruleOther, since), said(claimed, 0, ruleMine), alloc.CarryDone},
		"the same, who has retired it":                                                            {here(retired, 1, ruleOther, since), said(claimed, 0, ruleMine), alloc.CarryClash},
		"taken here, and in a later life there":                                                   {here(claimed, 0, ruleOther, since), said(claimed, 3, ruleMine), alloc.CarryClash},
		"taken here, and burned there in a later life":                                            {here(claimed, 0, ruleOther, since), said(retired, 3, ""), alloc.CarryClash},
		"taken here, and given back there":                                                        {here(claimed, 0, ruleOther, since), said(returning, 3, ruleMine), alloc.CarryKnown},
		"taken here, and free there":                                                              {here(claimed, 0, ruleOther, since), said(free, 3, ""), alloc.CarryKnown},
		"of the backup, and in a later life there":                                                {here(claimed, 0, ruleOther, before), said(claimed, 3, ruleMine), alloc.CarryDone},
		"of the backup, and given back there by another: it may be confirmed here":                {here(claimed, 0, ruleOther, before), said(returning, 3, ruleMine), alloc.CarryKnown},
		"of the backup, and given back there: it may be confirmed here":                           {here(claimed, 0, ruleMine, before), said(returning, 0, ruleMine), alloc.CarryKnown},
		"of an earlier log, and in a later life by a later one":                                   {carried(here(claimed, 0, ruleOther, since)), said(claimed, 1, ruleMine), alloc.CarryDone},
		"of an earlier log, in the generation that the pool had, and in that by a later one":      {carried(here(claimed, 1, ruleOther, since)), said(claimed, 1, ruleMine), alloc.CarryDone},
		"of an earlier log, where the pool was further on, and in a later life by a later one":    {ahead(here(held, 2, ruleOther, before)), said(held, 1, ruleMine), alloc.CarryDone},
		"of a later log, where the pool was further on, and in an earlier life by an earlier one": {ahead(here(held, 3, ruleOther, before)), said(claimed, 0, ruleMine), alloc.CarryBehind},
		"of a log, where the pool was further on, and burned":                                     {ahead(here(claimed, 2, ruleOther, since)), said(retired, 2, ""), alloc.CarryClash},
		"of a log, and burned":                                                                    {carried(here(claimed, 1, ruleOther, since)), said(retired, 1, ""), alloc.CarryClash},
		"of a later log, and in an earlier life by an earlier one":                                {carried(here(claimed, 1, ruleOther, since)), said(claimed, 0, ruleMine), alloc.CarryBehind},
		"of the backup, and another's of the same generation, which cannot be":                    {here(claimed, 0, ruleOther, before), said(claimed, 0, ruleMine), alloc.CarryClash},
		"of nobody knows whom, and burned":                                                        {here(claimed, 0, "", before), said(retired, 0, ""), alloc.CarryClash},
		"of a log from before the backup":                                                         {here(held, 1, ruleOther, before), said(claimed, 0, ruleMine), alloc.CarryBehind},
		"on its way back of an earlier life":                                                      {here(free, 1, "", time.Time{}), said(returning, 0, ruleMine), alloc.CarryBehind},
		"what was taken after its burning, of the generation that it had":                         {here(claimed, 0, ruleOther, since), said(retired, 0, ""), alloc.CarryClash},
		"a burning of what has come back since it was met":                                        {here(free, 1, "", time.Time{}), said(retired, 0, ruleMine), alloc.CarryDone},
		"what a burning has met, as it was claimed, by whoever may have it for good":              {here(retired, 0, "", since), said(claimed, 0, ruleMine), alloc.CarryKnown},
	} {
		if _, got := c.r.Carry(c.said, rulePoint); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}
