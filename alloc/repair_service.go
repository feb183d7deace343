package alloc

import (
	"context"
	"fmt"
)

// PoolEvidence tells how a pool is at a glance: no ID of it and no token. Needs ActionRead. CodePoolNotFound, CodePoolDeleted; a head that is lost is no error.
func (s *Service) PoolEvidence(ctx context.Context, pool PoolName) (PoolEvidence, error) {
	if _, err := s.admit(ctx, ActionRead, string(pool)); err != nil {
		return PoolEvidence{}, err
	}
	return s.poolEvidence(ctx, pool)
}

// poolEvidence reads what is known of a pool that is not deleted.
func (s *Service) poolEvidence(ctx context.Context, pool PoolName) (PoolEvidence, error) {
	e, err := s.store.PoolEvidence(ctx, pool)
	if err == nil && e.Configured && e.Pool.State == PoolDeleted {
		err = e.Pool.deleted()
	}
	if err != nil {
		return PoolEvidence{}, err
	}
	return e, nil
}

// RebuildPool makes a job that rebuilds a pool. Of a pool that is being rebuilt, or waits for that, it returns the job that does it. Needs
// ActionManage. CodeInvalidRequest; CodeInvalidConfig where the head is lost, without a copy, and policy or case folding is not said, and where they are known to be others; CodePoolNotFound, CodePoolDeleted;
// CodeBusy as in Export.
func (s *Service) RebuildPool(ctx context.Context, r PoolRebuildRequest) (j Job, err error) {
	id := newJobID(r.Intent, s.now())
	st := step{need: ActionManage, on: aPool, name: string(r.Pool), verb: "rebuild", reason: said(&r.Why), detail: func() string {
		if j.ID != "" && j.ID != id {
			return fmt.Sprintf("the job %s of %s does it already", j.ID, j.By)
		}
		return fmt.Sprintf("job %s%s", id, r.saidConfig())
	}}
	err = s.administer(ctx, st, func() (err error) {
		wanted := Job{ID: id, Kind: JobRebuild, Pool: r.Pool, Why: r.Why, Spec: JobSpec{Policy: r.Policy, FoldCase: r.FoldCase != nil && *r.FoldCase}}
		var on Job
		if j, err = s.makeJob(ctx, wanted, r.Intent, func() (err error) {
			on, err = s.checkRebuild(ctx, r)
			return err
		}); err != nil && on.ID != "" {
			j, err = on, nil
		}
		if err == nil {
			s.tell(ctx, j)
		}
		return err
	})
	return j, err
}

// saidConfig is what was said of the configuration, in words.
func (r PoolRebuildRequest) saidConfig() (words string) {
	if r.Policy != "" {
		words += ", policy " + quoteShort(string(r.Policy))
	}
	if r.FoldCase != nil {
		words += fmt.Sprintf(", fold_case %t", *r.FoldCase)
	}
	return words
}

// checkConfig refuses a request that leaves open what nothing else tells, and one that says another thing than what is known: a rebuild
// changes neither.
func (r PoolRebuildRequest) checkConfig(e PoolEvidence) error {
	c := e.Pool.Config
	switch {
	case !e.Configured && (r.Policy == "" || r.FoldCase == nil):
		return Errorf(CodeInvalidConfig, "the configuration of the pool is lost, and there is no copy of it; say its policy and its fold_case, both as it was made with")
	case e.Configured && (r.Policy != "" && r.Policy != c.Policy || r.FoldCase != nil && *r.FoldCase != c.FoldCase):
		return Errorf(CodeInvalidConfig, "the configuration of the pool is known, with policy %q and fold_case %t, and a rebuild does not change it; leave both out", c.Policy, c.FoldCase)
	}
	return nil
}

// checkRebuild refuses a rebuild that cannot be made, and one of a pool of which another is on; that is returned.
func (s *Service) checkRebuild(ctx context.Context, r PoolRebuildRequest) (on Job, err error) {
	if err := checkWhy(r.Why); err != nil {
		return Job{}, err
	}
	switch r.Policy {
	case "", PolicyKeep, PolicyForget:
	default:
		return Job{}, Errorf(CodeInvalidConfig, "there is no policy %s; it is %q or %q, as the pool was made with", quoteShort(string(r.Policy)), PolicyKeep, PolicyForget)
	}
	e, err := s.poolEvidence(ctx, r.Pool)
	if err != nil {
		return Job{}, err
	}
	if err := r.checkConfig(e); err != nil {
		return Job{}, err
	}
	err = s.eachOpenJob(ctx, func(j Job) (more bool, err error) {
		if j.Kind == JobRebuild && j.Pool == r.Pool && on.ID == "" {
			on = j
		}
		return on.ID == "", nil
	})
	if err == nil && on.ID != "" {
		err = Errorf(CodePoolRebuilding, "the job %s rebuilds the pool", on.ID)
	}
	return on, err
}
