package alloctest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"idpool/alloc"
)

// attempts is how often operators try before the test takes it that something does not end.
const attempts = 40

// insistently does something by one process after the other until it is done. Beside it goes on what goes on.
func (t *traveller) insistently(what string, do func(p *process) error) {
	t.Helper()
	var err error
	for try := range attempts {
		p := t.operator(try)
		err = do(p)
		dead := p.fuse.died()
		t.note("%s: %s: %s, dead %t", p.name, what, says(err), dead)
		if err == nil && !dead {
			return
		}
		t.clock.Advance(time.Minute)
		if t.era == astray && t.plan.dirty > 0 && t.chance(30) {
			t.beside()
		}
	}
	t.Fatalf("%s does not end: %v", what, err)
}

// beside is what no pause keeps from.
func (t *traveller) beside() {
	t.Helper()
	dirty := t.plan.dirty
	t.plan.dirty = 1
	t.act()
	t.plan.dirty = dirty
}

// pause pauses all.
func (t *traveller) pause() {
	t.Helper()
	for _, pool := range travelPools {
		t.insistently("pause "+string(pool.name), func(p *process) error {
			_, err := p.service.SetPoolState(p.ctx, pool.name, 0, alloc.PoolPaused)
			if alloc.Is(err, alloc.CodePoolRebuilding) { // the backup was made in the middle of it
				t.rebuilt(pool.name)
			}
			return err
		})
	}
	for _, name := range travelSequences {
		t.insistently("pause "+string(name), func(p *process) error {
			_, err := p.service.SetSequenceState(p.ctx, name, 0, alloc.SequencePaused)
			if alloc.Is(err, alloc.CodeSequenceRebuilding) || alloc.Is(err, alloc.CodeSequenceStopped) {
				return nil // nobody is served, or it is ended before it is rebuilt
			}
			return err
		})
	}
	t.clock.Advance(stateDelay)
}

// procedure is what docs/runbook.md says.
func (t *traveller) procedure() {
	t.Helper()
	t.pause()
	for _, pool := range travelPools {
		t.endRebuild(pool.name)
		t.endSeedings(pool.name)
		source := t.plan.source
		if source == alloc.RestoreLog && pool.config.Policy == alloc.PolicyForget {
			source = alloc.RestoreBurn
		}
		t.restore(alloc.RestoreRequest{Pool: pool.name, Source: source, Point: t.point})
	}
	for _, name := range travelSequences {
		t.restore(alloc.RestoreRequest{Sequence: name, Source: t.plan.source, Point: t.point})
		t.restart(name)
	}
	for _, pool := range travelPools {
		t.rebuilt(pool.name)
	}
	t.note("resumed")
	for _, pool := range travelPools {
		t.insistently("resume "+string(pool.name), func(p *process) error {
			_, err := p.service.SetPoolState(p.ctx, pool.name, 0, alloc.PoolActive)
			return err
		})
	}
	t.clock.Advance(stateDelay)
}

// endRebuild ends the rebuild of a pool that the backup was made in the middle of.
func (t *traveller) endRebuild(pool alloc.PoolName) {
	t.Helper()
	e, err := t.fixture.Open(t, t.clock.Now).PoolEvidence(t.Context(), pool)
	if err != nil {
		t.Fatalf("PoolEvidence: %v", err)
	}
	if e.Rebuilding != "" {
		t.rebuilt(pool)
	}
}

// endSeedings cancels what was being seeded, where nobody knows what of it was taken.
func (t *traveller) endSeedings(pool alloc.PoolName) {
	t.Helper()
	for _, j := range t.openJobs() {
		if j.Kind == alloc.JobSeed && j.Pool == pool && t.blind(pool) {
			t.insistently("cancel a seeding of "+string(pool), func(p *process) error {
				_, err := p.service.CancelJob(p.ctx, j.ID)
				return err
			})
		}
	}
}

func (t *traveller) openJobs() []alloc.Job {
	t.Helper()
	open, err := t.fixture.Open(t, t.clock.Now).OpenJobs(t.Context(), "", 100)
	if err != nil {
		t.Fatalf("OpenJobs: %v", err)
	}
	return open
}

// toTheEnd carries a job on until it has ended.
func (t *traveller) toTheEnd(id alloc.JobID) (j alloc.Job) {
	t.Helper()
	t.insistently("work", func(p *process) (err error) {
		if j, err = p.service.Job(p.ctx, id); err != nil || j.State.Ended() {
			return err
		}
		if err := p.service.Work(p.ctx, alloc.Step{Job: id, Version: j.Version}); err != nil {
			return err
		}
		if j, err = p.service.Job(p.ctx, id); err == nil && !j.State.Ended() {
			err = alloc.Errorf(alloc.CodeBusy, "the job is %s", j.State)
		}
		return err
	})
	if j.State != alloc.JobDone {
		t.Fatalf("the job has ended as %+v", j)
	}
	return j
}

// rebuilt rebuilds a pool.
func (t *traveller) rebuilt(pool alloc.PoolName) {
	t.Helper()
	var j alloc.Job
	intent := alloc.NewToken()
	t.insistently("rebuild "+string(pool), func(p *process) (err error) {
		j, err = p.service.RebuildPool(p.ctx, alloc.PoolRebuildRequest{Pool: pool, Intent: intent})
		return err
	})
	t.toTheEnd(j.ID)
}

// restore carries forward what was taken, by each of the logs where it is by logs.
func (t *traveller) restore(r alloc.RestoreRequest) {
	t.Helper()
	on := cmp.Or(string(r.Pool), string(r.Sequence))
	times := 1
	if t.plan.twice && r.Source != alloc.RestoreBurn {
		times = 2
	}
	switch r.Source {
	case alloc.RestoreLog:
		for _, log := range t.logs[on] {
			t.restoreOnce(on, r, log)
		}
	default:
		for range times {
			t.restoreOnce(on, r, "")
		}
	}
}

func (t *traveller) restoreOnce(on string, r alloc.RestoreRequest, log string) {
	t.Helper()
	r.Intent = alloc.NewToken()
	if r.Source == alloc.RestoreLog && r.Pool != "" {
		r.AtMost = new(alloc.Count(0)) // the log was written when nobody was served any more
	}
	var j alloc.Job
	t.insistently(fmt.Sprintf("restore %s from %s", on, r.Source), func(p *process) (err error) {
		if j, err = p.service.Restore(p.ctx, r); err != nil || r.Source != alloc.RestoreLog || j.State != alloc.JobReceiving {
			return err
		}
		if log == "" {
			_, err := p.service.CancelJob(p.ctx, j.ID)
			return err
		}
		half := strings.LastIndex(log[:len(log)/2], "\n") + 1
		n := min(half, 1)
		for range n {
			if _, _, err = p.service.ReceivePart(p.ctx, j.ID, 0, []byte(log[:half])); err != nil {
				return err
			}
		}
		if _, _, err = p.service.ReceivePart(p.ctx, j.ID, n, []byte(log[half:])); err != nil {
			return err
		}
		_, err = p.service.StartJob(p.ctx, j.ID, n+1)
		return err
	})
	if log == "" && r.Source == alloc.RestoreLog {
		return
	}
	j = t.toTheEnd(j.ID)
	t.note("restored %s: %+v", on, j.Tally)
	for n := range j.Parts {
		var part []byte
		t.insistently("read what it tells", func(p *process) (err error) {
			part, err = p.service.JobPart(p.ctx, j.ID, n)
			return err
		})
		for line := range strings.Lines(string(part)) {
			var told alloc.CarryLine
			if err := json.Unmarshal([]byte(line), &told); err != nil {
				t.Fatalf("the line %q: %v", line, err)
			}
			t.note("it tells %+v", told)
			t.clashes[on] = append(t.clashes[on], told)
		}
	}
}

// restart rebuilds a sequence, whatever rebuild the backup was made in the middle of.
func (t *traveller) restart(name alloc.SequenceName) {
	t.Helper()
	r := alloc.RebuildRequest{Sequence: name, Since: t.point, Margin: 1}
	if t.plan.burned { // there is no other source than who uses the numbers
		r.Reported, r.HasReported = t.book.highest(name)
		if name == serials {
			for _, q := range t.last["filled"] {
				var n alloc.Number
				if _, err := fmt.Sscanf(string(q.ID), "S-%d", &n); err == nil && (n > r.Reported || !r.HasReported) {
					r.Reported, r.HasReported = n, true
				}
			}
		}
	} else if t.chance(50) {
		r.Since = time.Time{}
	}
	t.insistently("restart "+string(name), func(p *process) error {
		ctx := p.ctx
		plan, err := p.service.PlanRebuild(ctx, r)
		if alloc.Is(err, alloc.CodeRebuildStep) {
			return cmp.Or(t.endRestart(ctx, p, name), err)
		}
		if err != nil {
			return err
		}
		if _, err = p.service.ApplyRebuild(ctx, alloc.RebuildApproval{Sequence: name, Plan: plan.Plan.ID}); err != nil {
			return err
		}
		if _, err = p.service.ResumeRebuild(ctx, name, 100); err != nil {
			return err
		}
		_, err = p.service.SetSequenceState(ctx, name, 0, alloc.SequenceActive)
		return err
	})
}

// endRestart ends the rebuild that is on.
func (t *traveller) endRestart(ctx context.Context, p *process, name alloc.SequenceName) error {
	on, err := p.service.Rebuild(ctx, name)
	if err != nil {
		return err
	}
	if on.Step == alloc.RebuildApplied {
		if on, err = p.service.ApplyRebuild(ctx, alloc.RebuildApproval{Sequence: name, Plan: on.Plan.ID}); err != nil {
			return err
		}
	}
	_, err = p.service.ResumeRebuild(ctx, name, 100)
	return err
}

// writeLogs has the old world write its logs.
func (t *traveller) writeLogs() {
	t.Helper()
	if t.plan.source != alloc.RestoreLog {
		return
	}
	for _, pool := range travelPools {
		if pool.config.Policy != alloc.PolicyForget {
			t.writeLog(string(pool.name), alloc.LogRequest{Pool: pool.name})
		}
	}
	for _, name := range travelSequences {
		t.writeLog(string(name), alloc.LogRequest{Sequence: name})
	}
}

func (t *traveller) writeLog(on string, r alloc.LogRequest) {
	t.Helper()
	if t.plan.since {
		r.Since = t.point
	}
	p := t.process(t.fixture, nil)
	j, err := p.service.LogTaken(p.ctx, r)
	if err == nil {
		err = p.service.Work(p.ctx, alloc.Step{Job: j.ID, Version: j.Version})
	}
	if err == nil {
		j, err = p.service.Job(p.ctx, j.ID)
	}
	if err != nil || j.State != alloc.JobDone {
		t.Fatalf("a log of %s: %+v, %v", on, j, err)
	}
	var text strings.Builder
	for n := range j.Parts {
		part, err := p.service.JobPart(p.ctx, j.ID, n)
		if err != nil {
			t.Fatalf("a part of a log: %v", err)
		}
		text.Write(part)
	}
	t.logs[on] = append(t.logs[on], text.String())
}
