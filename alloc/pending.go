package alloc

import (
	"context"
	"time"
)

// What Service is to have and has not yet: each of these goes as its real one comes, with the same signature.

var errPending = Errorf(CodeInternal, "not built yet")

// Secret is a credential as its client sends it. It never shows itself in a log.
type Secret string

// CredentialRequest is what an administrator decides about a credential.
type CredentialRequest struct {
	Client      ClientID // fixed when it is made
	Description string
	Scopes      []Scope
	Quota       Count     // 0 for no bound
	Expires     time.Time // zero for never
	Intent      Token     // of Keyed, so that a repeat makes the same one; "" for none
}

// CreateCredential makes a credential and its secret, which is given this once; "" in a repeat, when it cannot be told
// any more. Needs ActionCredentials, and every scope that it is to have.
func (s *Service) CreateCredential(ctx context.Context, r CredentialRequest) (Credential, Secret, error) {
	return Credential{}, "", errPending
}

// Credential returns one, without its hashes. Needs ActionCredentials.
func (s *Service) Credential(ctx context.Context, id CredentialID) (Credential, error) {
	return Credential{}, errPending
}

// Credentials returns at most limit, without their hashes. Needs ActionCredentials.
func (s *Service) Credentials(ctx context.Context, c Cursor, limit int) ([]Credential, Cursor, error) {
	return nil, "", errPending
}

// ChangeCredential replaces description, scopes, quota and expiry of the one at version from. Needs ActionCredentials, and
// every scope that it has and is to have.
func (s *Service) ChangeCredential(ctx context.Context, id CredentialID, from Version, r CredentialRequest) (Credential, error) {
	return Credential{}, errPending
}

// RotateCredential gives it another secret; the one before works for overlap (0 to MaxOverlap) more, the one before that
// no longer. from 0 is whatever version it is at. In a repeat of an intent the secret is "".
func (s *Service) RotateCredential(ctx context.Context, id CredentialID, from Version, overlap time.Duration, intent Token) (Credential, Secret, error) {
	return Credential{}, "", errPending
}

// RevokeCredential ends it for good, for whoever verifies it afresh at once.
func (s *Service) RevokeCredential(ctx context.Context, id CredentialID, from Version) (Credential, error) {
	return Credential{}, errPending
}

// Verify says whose secret it is: CodeUnauthenticated for one that is not known, has expired or was revoked.
func (s *Service) Verify(ctx context.Context, secret string) (Caller, error) {
	return Caller{}, errPending
}

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
