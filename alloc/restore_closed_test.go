package alloc_test

import (
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
)

// counting is a disaster whose pool counts by days, that began so many days ago, and whose sequence is paused.
func counting(t testing.TB, days int) *disaster {
	t.Helper()
	g := generator.Config{Kind: generator.Sequence, Sequence: string(sequence), Format: "S-{yyyy}{mm}{dd}-{n}"}
	d := &disaster{mill: newMill(t, alloc.PoolConfig{MaxBatch: 50, Generator: g, Marks: alloc.Marks{Low: 5, Target: 10}}, "A-0"), taken: map[alloc.ID]alloc.IDRecord{}}
	if _, _, err := d.model.CreateSequence(t.Context(), sequence, alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	d.old = alloctest.NewModel(d.clock.Now)
	d.point = d.clock.Now().Add(-time.Duration(days) * 24 * time.Hour)
	d.setState(t, alloc.PoolPaused)
	if _, err := d.model.SetSequenceState(t.Context(), sequence, 0, alloc.SequencePaused); err != nil {
		t.Fatal(err)
	}
	return d
}

// Wherever a restore dies, and though nobody carries it on, no counter of a period that it has made can be leased of.
func TestARestoreThatDiesLeavesNoCounterOpen(t *testing.T) {
	everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
		d := counting(t, 3)
		j, err := d.service(t).Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn, Point: d.point})
		if err != nil {
			t.Fatal(err)
		}
		plan(d.store)
		for _, step := range d.post.take() {
			if err := d.service(t).Work(d.ctx, step); err != nil && !alloctest.Injected(err) {
				t.Fatal(err)
			}
		}
		d.store.SetPlan(nil)
		all, err := d.model.ListSequences(t.Context(), "", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range all {
			if q.State != alloc.SequencePaused {
				t.Errorf("%s is %s when the restore %s has died", q.Name, q.State, j.ID)
			}
		}
	})
}

// The note of many counters says how many there are, and where all are named.
func TestTheNoteOfManyClosedCountersIsWhole(t *testing.T) {
	d := counting(t, 90)
	j, _ := d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn})
	note := ""
	for _, e := range j.Log {
		if strings.Contains(e.Text, "made and paused") {
			note = e.Text
		}
	}
	if !strings.HasPrefix(note, "91 counters") && !strings.HasPrefix(note, "92 counters") || !strings.Contains(note, " more; the trail has a record of each") {
		t.Errorf("the note is %q", note)
	}
	all, err := d.model.ListSequences(t.Context(), "", 1000)
	if err != nil || len(all) < 92 {
		t.Errorf("there are %d sequences, %v", len(all), err)
	}
}
