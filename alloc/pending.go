package alloc

import (
	"context"
)

// What Service is to have and has not yet: each of these goes as its real one comes, with the same signature.

var errPending = Errorf(CodeInternal, "not built yet")

// ExportRequest asks for a file of a pool's IDs.
type ExportRequest struct {
	Pool   PoolName
	Of     State  // "" for all
	Format string // a name of Config.Encoders: "csv", "json"
	Intent Token  // of Keyed; "" for none
}

// Export makes the job. Needs ActionRead.
func (s *Service) Export(ctx context.Context, r ExportRequest) (Job, error) { return Job{}, errPending }

// Job returns one. Needs ActionRead on its pool, as all that follow.
func (s *Service) Job(ctx context.Context, id JobID) (Job, error) { return Job{}, errPending }

// Jobs returns at most limit, newest first.
func (s *Service) Jobs(ctx context.Context, c Cursor, limit int) ([]Job, Cursor, error) {
	return nil, "", errPending
}

// CancelJob ends a job that has not ended.
func (s *Service) CancelJob(ctx context.Context, id JobID) (Job, error) { return Job{}, errPending }

// JobPart returns part n, from 0, of a job's result.
func (s *Service) JobPart(ctx context.Context, id JobID, n int) ([]byte, error) {
	return nil, errPending
}
