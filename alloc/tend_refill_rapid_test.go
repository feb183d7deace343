package alloc_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// stage is a plant on which runs, claims and seedings by hand take their steps in a drawn order.
type stage struct {
	*plant
	draw    *rapid.T
	target  alloc.Count
	runs    []*puppet
	claimed map[alloc.ID]bool
	byHand  int
	said    int // that the generator is dry
}

// start starts a run of another process.
func (s *stage) start() {
	s.runs = append(s.runs, pull(s.model, func(store alloc.Store) {
		r, err := s.another(store).Tend(s.ctx)
		if err != nil {
			s.t.Errorf("a run: %v", err)
		}
		for _, f := range r.Refills {
			if f.DryNow {
				s.said++ // only one run is not waiting at any time
			}
		}
	}))
}

// step lets one of the runs do its next call.
func (s *stage) step(run int, f fate) {
	if _, over := s.runs[run].next(); over {
		s.runs = slices.Delete(s.runs, run, run+1)
		return
	}
	s.runs[run].fate <- f
}

func (s *stage) finish() {
	for _, r := range s.runs {
		r.toEnd()
	}
	s.runs = nil
}

func (s *stage) take(n alloc.Count) {
	c, err := s.model.Claim(s.ctx, alloc.ClaimOrder{Pool: pool, Count: n})
	if alloc.Is(err, alloc.CodePoolExhausted) {
		return
	}
	if err != nil {
		s.t.Fatal(err)
	}
	for _, id := range c.IDs {
		if s.claimed[id] {
			s.t.Fatalf("%s was handed out twice", id)
		}
		s.claimed[id] = true
	}
}

func (s *stage) sequenceState(state alloc.SequenceState) {
	if name := s.config().Generator.Sequence; name != "" {
		if _, err := s.model.SetSequenceState(s.ctx, alloc.SequenceName(name), 0, state); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *stage) config() alloc.PoolConfig {
	p, err := s.model.Pool(s.ctx, pool)
	if err != nil {
		s.t.Fatal(err)
	}
	return p.Config
}

// play takes drawn steps.
func (s *stage) play(claims bool) {
	actions := []string{"run", "step", "step", "step", "step", "step", "step", "fail", "state", "wait", "hand"}
	if claims {
		actions = append(actions, "claim", "claim")
	}
	for range rapid.IntRange(0, 120).Draw(s.draw, "steps") {
		switch a := rapid.SampledFrom(actions).Draw(s.draw, "action"); {
		case a == "claim":
			s.take(alloc.Count(rapid.IntRange(1, 9).Draw(s.draw, "claim")))
		case a == "state":
			s.sequenceState(rapid.SampledFrom([]alloc.SequenceState{alloc.SequenceActive, alloc.SequencePaused}).Draw(s.draw, "state"))
		case a == "wait":
			s.clock.Advance(rapid.SampledFrom([]time.Duration{time.Second, 20 * time.Minute}).Draw(s.draw, "wait"))
		case a == "hand" && s.byHand < 3:
			s.byHand++
			s.seedByHand("by hand", alloc.ID(fmt.Sprintf("hand-%d", s.byHand)))
		case a == "run" && len(s.runs) < 4:
			s.start()
		case a == "step" && len(s.runs) > 0:
			s.step(rapid.IntRange(0, len(s.runs)-1).Draw(s.draw, "of"), passes)
		case a == "fail" && len(s.runs) > 0:
			f := rapid.SampledFrom([]fate{refused, lost, crashes, dies}).Draw(s.draw, "fate")
			s.step(rapid.IntRange(0, len(s.runs)-1).Draw(s.draw, "of"), f)
		}
	}
}

// wantWhole fails the test unless the numbers of each period were made one after the other, from the first on. What was leased
// is in the pool or in the record.
func (s *stage) wantWhole(format string, all bool) {
	made := slices.Concat(s.ids(""), s.refill().IDs)
	slices.Sort(made)
	made = slices.Compact(made)
	for _, period := range []string{"", "2037", "2038"} {
		name, want := alloc.SequenceName("invoices"), "inv-"
		if period != "" {
			name, want = name+"."+alloc.SequenceName(period), want+period+"-"
		}
		count := 0
		for slices.Contains(made, alloc.ID(fmt.Sprintf(want+"%06d", count+1))) {
			count++
		}
		of := slices.DeleteFunc(slices.Clone(made), func(id alloc.ID) bool {
			return len(id) != len(want)+6 || string(id[:len(want)]) != want
		})
		if len(of) != count {
			s.t.Fatalf("of %s there are %d IDs, but only the first %d have no gap: %v", want, len(of), count, of)
		}
		if q, err := s.model.Sequence(s.ctx, name); err == nil && all && q.Next != alloc.Number(count+1) {
			s.t.Fatalf("of %s there are %d IDs, and the next number is %d: some were lost", want, count, q.Next)
		}
	}
}

// Whatever the order in which up to four runs of several processes, claims, seedings by hand, pauses of the sequence and
// turns of the year take their steps, and wherever runs fail or crash: no ID is handed out twice, no number is lost, what is dry is said once, and
// the pool ends exactly at its target.
func TestRefillsInAnyOrder(t *testing.T) {
	small := generator.Config{Kind: generator.Random, Alphabet: "0123456789", Length: 3}
	for _, g := range []generator.Config{plain, yearly, uuids, small} {
		for _, claims := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %s claims %t", g.Kind, g.Format, claims), func(t *testing.T) {
				rapid.Check(t, func(draw *rapid.T) {
					target := alloc.Count(rapid.SampledFrom([]int{2, 12, 12, 60}).Draw(draw, "target"))
					s := &stage{plant: newPlantFor(t.Context(), draw, filled((target+1)/2, target, g)), draw: draw, target: target, claimed: map[alloc.ID]bool{}}
					s.play(claims)
					s.finish()
					s.sequenceState(alloc.SequenceActive)
					s.run()
					least, most := target, target+alloc.Count(s.byHand)
					if claims || s.byHand > 0 { // above the low mark nothing is filled
						least = (target + 1) / 2
					}
					if got := s.available(); got < least || got > most {
						s.t.Fatalf("%d IDs are available, want %d to %d", got, least, most)
					}
					for s.available() > 0 {
						s.take(1)
					}
					s.run()
					s.wantAvailable(target, "at the end, from nothing")
					if g.Kind == generator.Sequence {
						s.wantWhole(g.Format, g == plain)
					}
					s.wantSaidOnce()
				})
			})
		}
	}
}

// wantSaidOnce fails the test if the trail has more or fewer records that the generator is dry than runs have said so, but for those
// that were cut off in between.
func (s *stage) wantSaidOnce() {
	records, err := s.model.Records(s.ctx, "", 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	noted := 0
	for _, r := range records {
		if r.Action == "pool.refill-dry" {
			noted++
		}
	}
	if noted > s.said {
		s.t.Fatalf("the trail has %d records of a dry generator, runs have said so %d times", noted, s.said)
	}
}
