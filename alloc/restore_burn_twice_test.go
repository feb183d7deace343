package alloc_test

import (
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// raced makes two jobs of requests that were made at the same moment: neither has met the other's.
func (d *disaster) raced(t *testing.T, one, two alloc.RestoreRequest) (a, b alloc.Job) {
	t.Helper()
	var err1, err2 error
	beside, office, made := *d, *d.office, false
	office.store = alloctest.NewFaulty(d.model, nil)
	beside.mill = &mill{office: &office}
	d.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		if c.Method == "CreateJob" && !made {
			made = true
			b, err2 = beside.service(t).Restore(d.ctx, two)
		}
		return alloctest.Pass
	})
	a, err1 = d.service(t).Restore(d.ctx, one)
	d.store.SetPlan(nil)
	if err1 != nil || err2 != nil || a.ID == b.ID {
		t.Fatalf("the jobs are %s, %v, and %s, %v, want two", a.ID, err1, b.ID, err2)
	}
	return a, b
}

// Two burns that are asked for at the same moment retire as many as one, whatever fails: the second ends, and says which job does it.
func TestTwoBurnsOfTheSameMomentRetireOnce(t *testing.T) {
	everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
		d := newDisaster(t) // of 40: 4 held, 3 claimed, 33 free
		r := alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn, Point: d.point, AtMost: new(alloc.Count(5))}
		a, b := d.raced(t, r, r)
		plan(d.store)
		d.toTheEnd(t)
		d.store.SetPlan(nil)
		if got := d.states(t); got[alloc.StateFree] != 28 || got[alloc.StateRetired] != 9 {
			t.Errorf("the pool has %v, want 28 free and 9 retired", got)
		}
		states := map[alloc.JobState]int{}
		for _, id := range []alloc.JobID{a.ID, b.ID} {
			j, err := d.model.Job(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			states[j.State]++
		}
		if states[alloc.JobDone] != 1 || states[alloc.JobFailed] != 1 {
			t.Errorf("the jobs are %v, want one done and one that says so", states)
		}
	})
}

// Asked for again after the end, it retires as many more; and of two that are not the same the one waits for the other.
func TestBurnsThatFollowEachOther(t *testing.T) {
	d := newDisaster(t)
	r := alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn, Point: d.point, AtMost: new(alloc.Count(5))}
	more := r
	more.AtMost = new(alloc.Count(7))
	d.raced(t, r, more)
	d.toTheEnd(t)
	if got := d.states(t); got[alloc.StateFree] != 21 {
		t.Errorf("the pool has %v, want 21 free", got)
	}
	d.clock.Advance(2 * 1e9)
	d.restore(t, r)
	if got := d.states(t); got[alloc.StateFree] != 16 {
		t.Errorf("the pool has %v, want 16 free", got)
	}
}
