package alloc_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// nextStep is one step of a schedule: a change of the sequence, a wait, or callers who ask a process at once.
type nextStep struct {
	wait   time.Duration
	state  alloc.SequenceState
	config alloc.SequenceConfig // with Segment set: a change to it

	process int
	callers []nextCaller
}

type nextCaller struct {
	n        alloc.Count
	key      string // "" for none; every request with one is for as many
	patience time.Duration
}

// drawNextStep draws a step with callers who use the keys; "" stands for none.
func drawNextStep(t *rapid.T, keys []string) nextStep {
	var s nextStep
	switch rapid.SampledFrom([]string{"take", "take", "take", "wait", "state", "change"}).Draw(t, "step") {
	case "take":
		s.process = rapid.IntRange(0, 2).Draw(t, "process")
		s.callers = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) nextCaller {
			c := nextCaller{
				n:        alloc.Count(rapid.IntRange(1, 12).Draw(t, "n")),
				key:      rapid.SampledFrom(keys).Draw(t, "key"),
				patience: rapid.SampledFrom([]time.Duration{time.Hour, time.Hour, 15 * time.Millisecond, 0}).Draw(t, "patience"),
			}
			if c.key != "" {
				c.n = alloc.Count(slices.Index(keys, c.key))
			}
			return c
		}), 1, 8).Draw(t, "callers")
	case "wait":
		s.wait = rapid.SampledFrom([]time.Duration{time.Second, 30 * time.Second, 11 * time.Minute}).Draw(t, "wait")
	case "state":
		s.state = rapid.SampledFrom([]alloc.SequenceState{alloc.SequencePaused, alloc.SequenceActive, alloc.SequenceActive}).Draw(t, "state")
	case "change":
		s.config = drawSequenceConfig(t)
	}
	return s
}

func drawSequenceConfig(t *rapid.T) alloc.SequenceConfig {
	return alloc.SequenceConfig{
		Segment:  alloc.Count(rapid.IntRange(1, 20).Draw(t, "segment")),
		MaxLease: alloc.Count(rapid.IntRange(1, 30).Draw(t, "max lease")),
		Limit:    alloc.Number(rapid.SampledFrom([]int{100, 500, 1 << 40}).Draw(t, "limit")),
	}.WithDefaults()
}

// Whatever happens (several processes, failing and half-failing calls, callers that leave, pauses, changes, long waits, a
// limit): no number is handed out twice, numbers rise within a process, and each was leased by then.
func TestNextNeverRepeatsANumber(t *testing.T) { checkNext(t, []string{""}, true) }

// With keys besides: every answer to a key is the same, and nobody else ever gets a number of it. What a request did not
// need after all comes back later, so numbers need not rise.
func TestKeyedNextNeverRepeatsANumber(t *testing.T) {
	checkNext(t, []string{"", "a", "b", "c", "d", "e", "f"}, false)
}

func checkNext(t *testing.T, keys []string, rising bool) {
	rapid.Check(t, func(rt *rapid.T) {
		config := drawSequenceConfig(rt)
		seed := rapid.Uint64().Draw(rt, "faults")
		often := rapid.SampledFrom([]int{3, 10, 1000}).Draw(rt, "one call in")
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) nextStep { return drawNextStep(t, keys) }), 1, 30).Draw(rt, "steps")
		var fault string
		synctest.Test(t, func(t *testing.T) {
			w := newNextWorld(t, config, seed, often)
			w.rising = rising
			for i, s := range steps {
				if fault = w.do(t.Context(), s); fault != "" {
					fault = fmt.Sprintf("step %d: %s", i, fault)
					break
				}
			}
			time.Sleep(time.Minute) // a call goes on when its callers have left; it ends before the bubble does
		})
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}

type nextWorld struct {
	model     *alloctest.Model
	processes []*alloc.Service
	version   alloc.Version
	highest   []alloc.Number // of each process
	taken     map[alloc.Number]bool
	kept      map[string][]alloc.Number // by key
	rising    bool
}

func newNextWorld(t *testing.T, config alloc.SequenceConfig, seed uint64, often int) *nextWorld {
	w := &nextWorld{model: alloctest.NewModel(nil), version: 1, highest: make([]alloc.Number, 3), taken: map[alloc.Number]bool{}, kept: map[string][]alloc.Number{}}
	for i := range w.highest {
		faults := rand.New(rand.NewPCG(seed, uint64(i)))
		plan := alloctest.Sometimes(faults.IntN, often, alloctest.Refused, alloctest.RefusedUnknown, alloctest.AppliedButFailed, alloctest.Throttled)
		w.processes = append(w.processes, newService(t, alloctest.NewFaulty(&lane{Store: w.model, takes: 10 * time.Millisecond}, plan)))
	}
	if _, _, err := w.model.CreateSequence(t.Context(), "orders", config); err != nil {
		t.Fatal(err)
	}
	return w
}

// do carries out a step and says what was wrong with it.
func (w *nextWorld) do(ctx context.Context, s nextStep) string {
	time.Sleep(s.wait)
	if s.state != "" {
		if _, err := w.model.SetSequenceState(ctx, "orders", 0, s.state); err != nil {
			return err.Error()
		}
	}
	if s.config.Segment > 0 {
		q, err := w.model.ChangeSequence(ctx, "orders", w.version, s.config)
		switch {
		case err == nil:
			w.version = q.Version
		case !alloc.Is(err, alloc.CodeInvalidConfig): // a limit below what is leased
			return err.Error()
		}
	}
	fresh, fault := w.ask(ctx, w.processes[s.process], s.callers)
	if fault != "" {
		return fault
	}
	return w.judge(ctx, s.process, fresh)
}

func (w *nextWorld) ask(ctx context.Context, process *alloc.Service, callers []nextCaller) (fresh []alloc.Number, fault string) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, c := range callers {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, c.patience)
			defer cancel()
			numbers, replayed, err := nextKeyed(ctx, process, c.n, c.key)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && alloc.Count(len(numbers)) != c.n, err != nil && len(numbers) > 0, !slices.IsSorted(numbers):
				fault = fmt.Sprintf("asked for %d, got %v, %v", c.n, numbers, err)
			case alloc.Is(err, alloc.CodeInternal):
				fault = err.Error()
			}
			before, known := w.kept[c.key]
			switch {
			case err != nil:
			case c.key == "" && replayed, known && !slices.Equal(before, numbers):
				fault = fmt.Sprintf("with the key %q: got %v, replayed %t; want %v", c.key, numbers, replayed, before)
			case !known:
				fresh = append(fresh, numbers...)
				if c.key != "" {
					w.kept[c.key] = numbers
				}
			}
		})
	}
	wg.Wait()
	return fresh, fault
}

func (w *nextWorld) judge(ctx context.Context, process int, fresh []alloc.Number) string {
	q, err := w.model.Sequence(ctx, "orders")
	if err != nil {
		return err.Error()
	}
	before := w.highest[process]
	for _, n := range fresh {
		switch {
		case w.taken[n]:
			return fmt.Sprintf("%d was handed out twice", n)
		case w.rising && n <= before:
			return fmt.Sprintf("%d came after %d in the same process", n, before)
		case n >= q.Next:
			return fmt.Sprintf("%d was handed out, the next to lease is %d", n, q.Next)
		}
		w.taken[n] = true
		w.highest[process] = max(w.highest[process], n)
	}
	return ""
}
