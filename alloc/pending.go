package alloc

import "context"

// What is not built yet.

func pending() error { return Errorf(CodeInternal, "not built yet") }

// PlanRebuild begins the rebuild of a sequence, or goes on with the one that is on: it freezes the sequence, gathers what every source says, and
// makes the plan. Where a long ledger takes more than the time of the request, the step is RebuildGathering still; the same request, or the schedule, goes
// on. The same request again gives the same plan; another one makes a new plan, as long as none was applied. Needs ActionManage. CodeSequenceNotFound,
// CodeSequenceDeleted, CodeInvalidRequest, CodeInvalidConfig; CodeNoEvidence where the counter alone is known; CodeRebuildStep where it was applied already.
func (s *Service) PlanRebuild(ctx context.Context, r RebuildRequest) (Rebuild, error) {
	return Rebuild{}, pending()
}

// Rebuild returns the last rebuild of a sequence. Needs ActionRead. CodeRebuildStep where there never was one; CodeSequenceNotFound.
func (s *Service) Rebuild(ctx context.Context, name SequenceName) (Rebuild, error) {
	return Rebuild{}, pending()
}

// ApplyRebuild carries out the plan of the ID and verifies it: the step after it is RebuildVerified. A repeat, by whomever, is a success that changes nothing. Needs
// ActionManage. CodePlanChanged, CodeRebuildStep.
func (s *Service) ApplyRebuild(ctx context.Context, name SequenceName, plan string) (Rebuild, error) {
	return Rebuild{}, pending()
}

// ResumeRebuild serves a share of the callers, in percent: 0 for what the configuration says, 100 for all, with which the rebuild is done. It never serves fewer than
// before. Needs ActionManage. CodeRebuildStep before it was verified.
func (s *Service) ResumeRebuild(ctx context.Context, name SequenceName, share int) (Rebuild, error) {
	return Rebuild{}, pending()
}

// CancelRebuild ends a rebuild that was not applied: the sequence is as it was before. Needs ActionManage. CodeRebuildStep where it was applied.
func (s *Service) CancelRebuild(ctx context.Context, name SequenceName) (Rebuild, error) {
	return Rebuild{}, pending()
}

// PoolEvidence tells how a pool is at a glance. Needs ActionManage.
func (s *Service) PoolEvidence(ctx context.Context, pool PoolName) (PoolEvidence, error) {
	return PoolEvidence{}, pending()
}

// RebuildPool makes a job that rebuilds a pool. Of a pool that is being rebuilt it returns the job that does it. Needs ActionManage.
func (s *Service) RebuildPool(ctx context.Context, r PoolRebuildRequest) (Job, error) {
	return Job{}, pending()
}

// Audit makes a job that verifies a pool or a sequence, and the trail; with neither, the trail alone. Needs ActionManage on it; the trail alone on all.
func (s *Service) Audit(ctx context.Context, r AuditRequest) (Job, error) { return Job{}, pending() }

// LogTaken makes a job that writes a log. The log has tokens: who has it, owns the IDs. Needs ActionManage, to get it too.
func (s *Service) LogTaken(ctx context.Context, r LogRequest) (Job, error) { return Job{}, pending() }

// Restore makes a job that carries forward what was taken after a restore. With RestoreLog it is JobReceiving, and takes the log by ReceivePart. Needs ActionManage.
func (s *Service) Restore(ctx context.Context, r RestoreRequest) (Job, error) {
	return Job{}, pending()
}
