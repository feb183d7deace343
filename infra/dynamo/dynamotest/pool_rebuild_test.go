package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// poolRebuilds are the rebuilds of a random schedule: several processes do the steps of one at the same time, it is
// abandoned, or left alone and another one takes its place. In some schedules the head or chunks are lost before.
type poolRebuilds struct {
	n    int
	job  alloc.JobID // "" where none was begun
	step string
	over map[alloc.JobID]bool // jobs whose end was begun: cut off before the last step
	done map[alloc.JobID]bool
	harm bool
}

// explain reports whether rebuilds, or the harm before them, explain the error.
func (b *poolRebuilds) explain(err error) bool {
	return b != nil && (alloc.Is(err, alloc.CodePoolRebuilding) || b.harm && alloc.Is(err, alloc.CodePoolDamaged))
}

func rebuilt(t *testing.T, seed uint64, mutate func(dynamo.Table) dynamo.Table) runner {
	r := newPoolRun(t, seed, smallSteps(mutate))
	r.rebuildsToo()
	return r
}

func rebuiltFills(t *testing.T, seed uint64, mutate func(dynamo.Table) dynamo.Table) runner {
	r := newFillRun(t, seed, smallSteps(mutate))
	r.rebuildsToo()
	return r
}

// smallSteps makes steps read one item of each segment at a time, so that a small pool takes several.
func smallSteps(mutate func(dynamo.Table) dynamo.Table) func(dynamo.Table) dynamo.Table {
	return func(next dynamo.Table) dynamo.Table {
		small := Through(func(ctx context.Context, c Call) Answer {
			if c.Op == OpPut && kindOf(c.Key()) == kindRebuild {
				c.Item["lm"] = int64(1)
			}
			return c.Do(ctx, next)
		})
		if mutate == nil {
			return small
		}
		return mutate(small)
	}
}

// rebuildsToo adds rebuilds to what the schedule does.
func (r *poolRun) rebuildsToo() {
	r.rebuilds = &poolRebuilds{over: map[alloc.JobID]bool{}, done: map[alloc.JobID]bool{}, harm: r.chance(30)}
	r.jumps = max(r.jumps, 20*time.Hour)
	for range 3 + r.rng.IntN(6) {
		r.forms = append(r.forms, r.rebuild)
	}
	if r.chance(30) {
		r.forms = append(r.forms, r.abandon)
	}
	if r.rebuilds.harm {
		r.forms = append(r.forms, r.harm)
	}
	r.left += 10
}

// rebuild does a step: the next one, or now and then one before it.
func (r *poolRun) rebuild(p *process) {
	b := r.rebuilds
	if b.job == "" || b.over[b.job] {
		r.newRebuild()
	}
	o := alloc.PoolRebuildOrder{Pool: pool, Job: b.job, Step: b.step, Policy: r.policy}
	if r.chance(10) {
		o.Step = ""
	}
	r.rebuildStep(p, o)
}

// newRebuild makes a job that is to rebuild the pool.
func (r *poolRun) newRebuild() {
	b := r.rebuilds
	b.n++
	b.job, b.step = alloc.JobID(fmt.Sprintf("rebuild%d", b.n)), ""
	r.jobIs(b.job, alloc.JobRunning)
}

// jobIs says what the job's own record is.
func (r *poolRun) jobIs(id alloc.JobID, state alloc.JobState) {
	s, err := dynamo.New(dynamo.Config{Table: r.mem})
	if err != nil {
		r.fail("%v", err)
		return
	}
	ctx := context.Background() // beside the schedule
	j, err := s.Job(ctx, id)
	if alloc.Is(err, alloc.CodeJobNotFound) {
		err = s.CreateJob(ctx, alloc.Job{ID: id, Kind: alloc.JobRebuild, Pool: pool, State: state, Created: time.Now()})
	} else if err == nil {
		j.State = state
		_, err = s.ChangeJob(ctx, j.Version, j)
	}
	if err != nil {
		r.fail("the record of %s: %v", id, err)
	}
}

func (r *poolRun) rebuildStep(p *process, o alloc.PoolRebuildOrder) *act {
	b := r.rebuilds
	return do(r.chaos, p, fmt.Sprintf("%s %q", o.Job, o.Step), func(ctx context.Context, s *dynamo.Store) (alloc.PoolRebuilt, error) {
		return s.RebuildPool(ctx, o)
	}, func(_ *act, done alloc.PoolRebuilt, err error) {
		switch {
		case p.dead || err != nil:
			if alloc.Is(err, alloc.CodeJobEnded) && !b.over[o.Job] && !b.done[o.Job] {
				r.fail("%s has ended by itself: %v", o.Job, err)
			}
			if !slices.Contains(rebuildRefusals, alloc.CodeOf(err)) {
				r.fail("%s: %v", o.Job, err)
			}
		case o.Job != b.job || o.Step != b.step: // one before the next
		case done.Next == "" && !b.over[o.Job]:
			r.saw("a rebuild carried to its end")
			b.job, b.step, b.done[o.Job] = "", "", true
			r.jobIs(o.Job, alloc.JobDone)
		default:
			b.step = done.Next
		}
	})
}

var rebuildRefusals = []alloc.Code{
	"", alloc.CodeUnavailable, alloc.CodeThrottled, alloc.CodeBusy, alloc.CodePoolRebuilding, alloc.CodeJobEnded,
}

// abandon ends the rebuild that is on.
func (r *poolRun) abandon(p *process) {
	if r.rebuilds.job != "" {
		r.abandons(p, r.rebuilds.job)
	}
}

func (r *poolRun) abandons(p *process, job alloc.JobID) *act {
	r.rebuilds.over[job] = true
	r.jobIs(job, alloc.JobCancelled)
	r.saw("a rebuild abandoned")
	return do(r.chaos, p, "abandon "+string(job), func(ctx context.Context, s *dynamo.Store) (struct{}, error) {
		return struct{}{}, s.AbandonRebuild(ctx, pool, job)
	}, func(_ *act, _ struct{}, err error) {
		if err != nil && !slices.Contains(rebuildRefusals, alloc.CodeOf(err)) {
			r.fail("abandoning %s: %v", job, err)
		}
	})
}

// harm loses the head, or a chunk.
func (r *poolRun) harm(*process) {
	r.saw("harm done")
	w := r.w
	if w.head == nil || w.head.Int(dynamo.AttrTail) == 0 || r.chance(30) {
		w.loseHead()
		r.note("the head is lost")
		return
	}
	n := r.rng.Int64N(w.head.Int(dynamo.AttrTail))
	w.loseChunk(n)
	r.note("chunk %d is lost", n)
}

// rebuiltAtLast ends what is on, in one way or another, and mends what was harmed.
func (r *poolRun) rebuiltAtLast() {
	b := r.rebuilds
	if b == nil {
		return
	}
	left := b.job
	for job := range b.over { // whoever abandons one comes again until it is done
		r.quietly(r.abandons(r.spawn(), job))
	}
	switch {
	case left == "" || b.over[left]:
		b.job = ""
	case r.chance(30):
		r.quietly(r.abandons(r.spawn(), left))
		b.job = ""
	case r.chance(30): // nobody carries it on
		r.saw("a rebuild that was left alone")
		r.jobIs(left, alloc.JobFailed)
		b.done[left], b.job = true, ""
	}
	marked := r.w.head.Str(dynamo.AttrRebuild) != ""
	if b.job == "" && !r.w.rebuilt.harmed && !marked && r.chance(50) {
		return
	}
	if b.job == "" {
		r.newRebuild()
	}
	r.carriedToItsEnd(b.job)
	if r.w.rebuilt.harmed && len(r.broken) == 0 { // the head had been switched before the harm was done
		r.newRebuild()
		r.carriedToItsEnd(b.job)
	}
	if r.w.rebuilt.harmed && len(r.broken) == 0 {
		r.fail("a rebuild that began after the harm has ended, and the pool is harmed")
	}
}

// carriedToItsEnd does what is left of the rebuild of the job.
func (r *poolRun) carriedToItsEnd(job alloc.JobID) {
	b := r.rebuilds
	for n := 0; b.job == job && len(r.broken) == 0; n++ {
		r.quietly(r.rebuildStep(r.spawn(), alloc.PoolRebuildOrder{Pool: pool, Job: job, Step: b.step, Policy: r.policy}))
		if r.reap(); n > 200 {
			r.fail("%s does not end", job)
		}
	}
}

// uncounted reports whether the head may count fewer than were seeded, as only a pool that forgets may after a rebuild.
func (r *poolRun) uncounted() bool {
	return r.policy == alloc.PolicyForget && (r.w.rebuilt.switched > 0 || r.w.rebuilt.unsure)
}

// beyond is what the head counts beyond the truth: a rebuild counts anew, where all is there to be counted.
func (r *poolRun) beyond() alloc.Count {
	if r.w.rebuilt.switched > 0 && r.policy == alloc.PolicyKeep {
		return 0
	}
	return r.extra
}

func TestRebuiltPoolsKeepTheirPromises(t *testing.T) {
	search(t, rebuilt, shortened(500), "a rebuilt pool", "a rebuild abandoned", "a rebuild that was left alone", "harm done", "a late write that was applied")
}

func TestRebuiltPoolsThatAreFilledCountEachIDOnce(t *testing.T) {
	search(t, rebuiltFills, shortened(300), "a rebuilt pool", "an ID that was let go, added by another batch")
}

func shortened(runs int) int {
	if raced {
		return runs / 5
	}
	return runs
}
